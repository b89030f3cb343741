#include "app/host.h"

#include "drivers/alloc/guard.h"
#include "drivers/clock/clock.h"
#include "drivers/dpdk/eal.h"
#include "drivers/dpdk/ring_lane.h"
#include "statebackend/hash/hash.h"
#include "statebackend/snapshot/ops.h"
#include "statebackend/snapshot/writer.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define IO_DEPTH    64u
#define CHUNK_BYTES (1u << 20)

/* ---- driver table ---- */

static struct weir_lane *
host_lane(void *arg, uint32_t depth, uint32_t from, uint32_t to)
{
	struct weir_host *h = arg;
	const uint64_t bytes = weir_ring_lane_bytes(depth);
	void *mem = aligned_alloc(WEIR_LINE_PAIR, weir_align_up(bytes, WEIR_LINE_PAIR));

	(void)from;
	(void)to;
	WEIR_ASSERT(mem != NULL);
	if (h->lane_cnt == h->lane_cap) {
		h->lane_cap = h->lane_cap == 0 ? 64 : h->lane_cap * 2;
		h->lanes = realloc(h->lanes, h->lane_cap * sizeof(*h->lanes));
		WEIR_ASSERT(h->lanes != NULL);
	}
	h->lanes[h->lane_cnt++] = mem;
	return weir_ring_lane_init(mem, depth);
}

static struct weir_io *
host_io(void *arg, uint32_t core)
{
	return ((struct weir_host *)arg)->io[core];
}

static struct weir_backend *
host_backend(void *arg, uint32_t core)
{
	return ((struct weir_host *)arg)->backend[core];
}

static struct weir_snap_writer *
host_writer(void *arg, uint32_t core)
{
	return ((struct weir_host *)arg)->writer[core];
}

static int64_t
host_clock(void)
{
	return weir_clock_now_ns();
}

/* ---- open ---- */

static int
open_eal(struct weir_host *h, struct weir_error *err)
{
	const struct weir_plan *plan = h->opt.plan;
	uint32_t cpus[WEIR_PLAN_CORES_MAX];
	const struct weir_eal_options eo = { .cpus = cpus,
					     .core_cnt = plan->core_cnt,
					     .control_cpus = h->opt.control_cpus,
					     .control_cnt = h->opt.control_cnt,
					     .huge = h->opt.huge };

	for (uint32_t c = 0; c < plan->core_cnt; c++)
		cpus[c] = plan->core[c].cpu;
	return weir_eal_start(&eo, err);
}

static int
open_core(struct weir_host *h, uint32_t c, struct weir_error *err)
{
	const struct weir_plan *plan = h->opt.plan;
	struct iovec staging;
	const struct weir_io_options io = { .backend = h->opt.io,
					    .depth = IO_DEPTH,
					    .cpus = h->opt.control_cpus,
					    .cpu_cnt = h->opt.control_cnt,
					    .regions = &staging,
					    /* Registered memory is there from the start. */
					    .region_cnt = h->opt.checkpoints ? 1 : 0 };
	struct weir_backend_hash_config bc = { .budget_key = "memory.state" };
	struct weir_snap_config sc = { .staging_bytes = WEIR_HOST_STAGING_BYTES,
				       .chunk_bytes = CHUNK_BYTES,
				       .seg_max = WEIR_HOST_SEGMENTS_MAX };
	int rc;

	/* Without checkpoints too: savepoints are asked for at any time. Untouched memory is none.
	 */
	rc = weir_region_map(WEIR_HOST_STAGING_BYTES, WEIR_HUGE_OFF, WEIR_REGION_NODE_ANY,
			     &h->staging[c], err);
	if (rc != 0)
		return weir_error_prefix(err, "staging memory of core %u", c);
	staging = (struct iovec){ h->staging[c].base, h->staging[c].bytes };
	rc = weir_io_open(&io, &h->io[c], c == 0 ? h->io_report : NULL, err);
	if (rc != 0)
		return weir_error_prefix(err, "file work of core %u", c);
	rc = weir_region_map(plan->state_bytes_core, h->opt.huge, WEIR_REGION_NODE_ANY,
			     &h->state[c], err);
	if (rc != 0)
		return weir_error_prefix(err, "state of core %u (memory.state)", c);
	bc.base = h->state[c].base;
	bc.bytes = h->state[c].bytes;
	h->backend[c] = weir_backend_hash_open(&bc, err);
	if (h->backend[c] == NULL)
		return err->code;
	h->segs[c] = calloc(WEIR_HOST_SEGMENTS_MAX, sizeof(*h->segs[c]));
	WEIR_ASSERT(h->segs[c] != NULL);
	sc.io = h->io[c];
	sc.staging = h->staging[c].base;
	sc.segs = h->segs[c];
	h->writer[c] = weir_snap_writer_create(&sc, err);
	return h->writer[c] == NULL ? err->code : 0;
}

int
weir_host_open(struct weir_host *h, const struct weir_host_options *opt, struct weir_error *err)
{
	const struct weir_plan *plan = opt->plan;
	const struct weir_io_options io = { .backend = opt->io,
					    .depth = IO_DEPTH,
					    .cpus = opt->control_cpus,
					    .cpu_cnt = opt->control_cnt,
					    .wakeup = true };
	const struct weir_frame_mem_options fo = { .frame_cnt = plan->frame_cnt + opt->more_frames,
						   .frame_bytes = plan->options.frame_bytes,
						   .node = WEIR_REGION_NODE_ANY,
						   .huge = opt->huge };
	int rc;

	memset(h, 0, sizeof(*h));
	h->opt = *opt;
	weir_clock_start();
	rc = open_eal(h, err);
	if (rc == 0)
		rc = weir_frame_mem_create(&fo, &h->frames, err);
	if (rc == 0)
		rc = weir_io_open(&io, &h->control_io, NULL, err);
	for (uint32_t c = 0; rc == 0 && c < plan->core_cnt; c++)
		rc = open_core(h, c, err);
	if (rc != 0)
		return rc;
	h->driver = (struct weir_driver){ .arg = h,
					  .lane = host_lane,
					  .frames = &h->frames->source,
					  .frame_base = h->frames->frames.base,
					  .io = host_io,
					  .backend = host_backend,
					  .writer = host_writer,
					  .snap = &weir_snap_writer_ops,
					  .clock = host_clock };
	return 0;
}

void
weir_host_close_io(struct weir_host *h)
{
	for (uint32_t c = 0; c < h->opt.plan->core_cnt; c++) {
		weir_io_close(h->io[c]);
		h->io[c] = NULL;
	}
	weir_io_close(h->control_io);
	h->control_io = NULL;
}

void
weir_host_close(struct weir_host *h, bool clean)
{
	for (uint32_t c = 0; c < h->opt.plan->core_cnt; c++) {
		if (h->writer[c] != NULL)
			weir_snap_writer_destroy(h->writer[c]);
		weir_region_unmap(&h->staging[c]);
		free(h->segs[c]);
		weir_region_unmap(&h->state[c]);
	}
	if (clean)
		weir_frame_mem_destroy(h->frames);
	else
		weir_frame_mem_discard(h->frames);
	for (uint32_t i = 0; i < h->lane_cnt; i++)
		free(h->lanes[i]);
	free(h->lanes);
}

/* ---- core threads ---- */

/*
 * The journal, the block layer, the workers of io_uring and the control thread need a CPU as well.
 * Where core threads have them all and spin without ever entering the kernel, fsync was seen to
 * take seconds. So a core that has nothing to do sleeps for a moment while file work is in flight,
 * and, with checkpoints, while others hold it up: there is nothing to be quick for. A core that has
 * work never enters the kernel, nor does one that waits in a job without files.
 */
static const struct timespec nap = { .tv_nsec = 50000 };
#define NAP_SLACK_NS 1000ul /* the kernel's own 50 us would double it */

static bool
may_sleep(const struct weir_host_core *hc, enum weir_regime regime)
{
	const struct weir_core *core = hc->core;

	return (regime == WEIR_REGIME_BACK_PRESSURED && core->data_dir != NULL) ||
	       (core->io != NULL && core->io->in_flight > 0) ||
	       atomic_load_explicit(hc->control_files, memory_order_relaxed);
}

/* Between two frames of a stream that flows a core is idle for less than that. */
#define IDLE_TURNS 64u

/*
 * Where cores share a CPU, who has nothing to do lets the others go on; not for long, for the
 * kernel's workers wait behind threads that yield. Beside thirteen busy cores on two CPUs an fsync
 * of another process took 3 to 4 ms (p99 28 to 42), and 1 ms (p99 10 to 12) when they sleep.
 */
#define YIELDS_MAX 16u

/* idle: turns in a row without work. */
static void
wait_a_little(const struct weir_host_core *hc, enum weir_regime regime, uint32_t idle)
{
	const bool waits = regime == WEIR_REGIME_BACK_PRESSURED || idle > IDLE_TURNS;

	if ((waits && may_sleep(hc, regime)) || (hc->yields && idle > YIELDS_MAX))
		nanosleep(&nap, NULL);
	else if (hc->yields)
		sched_yield();
	else
		__builtin_ia32_pause();
}

static int
core_main(void *arg)
{
	struct weir_host_core *hc = arg;
	struct weir_core *core = hc->core;
	const uint64_t *allocated = weir_alloc_thread_counter();
	const uint64_t before = allocated != NULL ? *allocated : 0;
	uint32_t idle = 0;

	hc->tid = gettid();
	(void)prctl(PR_SET_TIMERSLACK, NAP_SLACK_NS);
	while (!core->stopped) {
		const enum weir_regime r = weir_core_turn(core, weir_clock_now_ns());

		if (allocated != NULL && WEIR_UNLIKELY(*allocated != before))
			atomic_store_explicit(&hc->allocations, *allocated - before,
					      memory_order_relaxed);
		idle = r != WEIR_REGIME_BUSY && r != WEIR_REGIME_HOUSEKEEPING ? idle + 1 : 0;
		if (idle > 0)
			wait_a_little(hc, r, idle);
	}
	return 0;
}

void
weir_host_launch(struct weir_host *h, struct weir_runtime *rt)
{
	for (uint32_t c = 0; c < h->opt.plan->core_cnt; c++) {
		h->core[c].core = &rt->cores[c];
		h->core[c].control_files = &h->control_files;
		h->core[c].yields = h->opt.plan->core[c].shared > 1;
		weir_eal_core_launch(c, core_main, &h->core[c]);
		h->launched[c] = true;
	}
}

bool
weir_host_core_done(const struct weir_host *h, uint32_t core)
{
	return !h->launched[core] || weir_eal_core_done(core);
}

void
weir_host_join(struct weir_host *h)
{
	for (uint32_t c = 0; c < h->opt.plan->core_cnt; c++) {
		if (h->launched[c])
			(void)weir_eal_core_join(c);
		h->launched[c] = false;
	}
}

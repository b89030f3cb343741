#include "tests/unit/engine/core/world.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

#include "engine/base/hash.h"
#include "engine/core/restore.h"
#include "statebackend/hash/hash.h"
#include "statebackend/snapshot/ops.h"
#include "statebackend/snapshot/writer.h"
#include "statebackend/verify/verify.h"
#include "tests/unit/engine/core/world_disk.h"

#define STATE_BYTES  (4u << 20)
#define CHUNK_BYTES  (64u << 10)
#define CHUNKS	     6u
#define SEGMENTS_MAX 1024u
#define IO_DEPTH     32u
#define TURN_NS	     20000
#define MAIL_BEHIND  64u

/* ---- the job ---- */

WEIR_TYPE(number_type, WEIR_U64("key"), WEIR_U64("value"));

static const struct world *reading; /* one world at a time */

struct reader {
	uint64_t split, next;
};

static int
list_splits(const struct weir_params *params, uint32_t parallelism, struct weir_splits *splits)
{
	(void)params;
	(void)parallelism;
	for (uint32_t k = 0; k < reading->o.splits; k++) {
		char name[16];
		struct weir_split split = { .name = name, .word = { k } };
		int rc;

		snprintf(name, sizeof(name), "split%u", k);
		rc = weir_splits_add(splits, &split);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
open_split(struct weir_reader_ctx *ctx, void *reader, const struct weir_split *split,
	   const struct weir_position *position)
{
	(void)ctx;
	*(struct reader *)reader =
		(struct reader){ .split = split->word[0], .next = position->word[0] };
	return 0;
}

static int
read_split(struct weir_reader_ctx *ctx, void *reader, struct weir_read *b)
{
	struct reader *r = reader;

	(void)ctx;
	while (r->next < reading->o.rows && b->rows < reading->o.batch && b->rows < b->cap) {
		((uint64_t *)b->col[0])[b->rows] = (r->split + r->next) % WORLD_KEYS;
		((uint64_t *)b->col[1])[b->rows++] = r->next++;
	}
	b->bytes = b->rows;
	b->end = r->next == reading->o.rows;
	return 0;
}

static void
position_of(const void *reader, struct weir_position *position)
{
	*position = (struct weir_position){ .word = { ((const struct reader *)reader)->next } };
}

static const struct weir_connector connector = {
	.name = "numbers",
	.type = &number_type,
	.reader_bytes = sizeof(struct reader),
	.enumerate = list_splits,
	.open = open_split,
	.read = read_split,
	.position = position_of,
};

static uint32_t
format_count(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	size_t at = 0;
	uint32_t i = from;

	for (; i < in->selected && cap - at >= 64; i++) {
		const uint32_t r = weir_row(in, i);

		at += (size_t)snprintf(text + at, cap - at, "%" PRIu64 " %" PRIu64 "\n",
				       weir_u64(in, 0)[r], weir_u64(in, 1)[r]);
	}
	*bytes = at;
	return i - from;
}

static void
make_plan(struct world *w)
{
	struct weir_cpu cpus[WORLD_CORES] = {
		{ .os_idx = 0, .core = 0, .l2 = 0, .allowed = true },
		{ .os_idx = 1, .core = 1, .l2 = 1, .allowed = true },
	};
	const struct weir_topology topo = { .cpus = cpus,
					    .cpu_cnt = WORLD_CORES,
					    .allowed_cnt = WORLD_CORES,
					    .core_cnt = WORLD_CORES,
					    .node_cnt = 1 };
	static const uint32_t numbers[WORLD_CORES] = { 0, 1 };
	const struct weir_plan_options options = { .cpus = numbers,
						   .cpu_cnt = WORLD_CORES,
						   .parallelism = 2,
						   .frame_bytes = 2 * WEIR_PAGE,
						   .state_bytes = STATE_BYTES * WORLD_CORES,
						   .lane_depth = 16,
						   .checkpoints = true };
	struct weir_error err = { 0 };
	struct weir_stream *s;

	w->job = weir_job_create();
	s = weir_source(w->job, "numbers", &connector);
	s = weir_reduce(weir_key_by(s, 0), "counts",
			&(struct weir_reduce){ .emit = WEIR_EMIT_END,
					       .agg_cnt = 1,
					       .agg = { { WEIR_COUNT, 0 } } });
	weir_sink(s, "out", format_count);
	cr_assert_eq(weir_job_finish(w->job, &err), 0, "%s", err.text);
	w->plan = weir_plan_create(w->job, &topo, &options, &err);
	cr_assert_not_null(w->plan, "%s", err.text);
}

/* ---- the host ---- */

static struct weir_lane *
make_lane(void *arg, uint32_t depth, uint32_t from_core, uint32_t to_core)
{
	struct world *w = arg;

	(void)from_core;
	(void)to_core;
	cr_assert_lt(w->lane_cnt, 64);
	w->lanes[w->lane_cnt] = weir_sim_lane_create(depth, &w->lane_rng, 0);
	return w->lanes[w->lane_cnt++];
}

static struct weir_io *
give_io(void *arg, uint32_t core)
{
	return ((struct world *)arg)->io[core];
}

static struct weir_backend *
give_backend(void *arg, uint32_t core)
{
	return ((struct world *)arg)->backend[core];
}

static struct weir_snap_writer *
give_writer(void *arg, uint32_t core)
{
	return ((struct world *)arg)->writer[core];
}

static void
io_failed(void *arg, const struct weir_io_req *req, int error)
{
	struct world *w = arg;

	(void)error;
	w->faults++;
	for (uint32_t t = 0; t < w->plan->subtask_cnt; t++)
		w->fault_of_sink |=
			w->rt->tasks[t].text != NULL && req->user == w->rt->tasks[t].text;
	snprintf(w->fault_at, sizeof(w->fault_at), "%s %s", weir_sim_io_kind_name(req->kind),
		 req->path != NULL ? req->path : "");
}

static void
make_core(struct world *w, uint32_t c)
{
	struct weir_error err = { 0 };

	w->region[c] = aligned_alloc(WEIR_PAGE, STATE_BYTES);
	w->staging[c] = aligned_alloc(WEIR_PAGE, (size_t)CHUNKS * CHUNK_BYTES);
	w->segments[c] = calloc(SEGMENTS_MAX, sizeof(*w->segments[c]));
	w->backend[c] = weir_backend_hash_open(
		&(struct weir_backend_hash_config){
			.base = w->region[c], .bytes = STATE_BYTES, .budget_key = "memory.state" },
		&err);
	cr_assert_not_null(w->backend[c], "%s", err.text);
	w->writer[c] = weir_snap_writer_create(
		&(struct weir_snap_config){ .io = w->io[c],
					    .staging = w->staging[c],
					    .staging_bytes = (uint64_t)CHUNKS * CHUNK_BYTES,
					    .chunk_bytes = CHUNK_BYTES,
					    .segs = w->segments[c],
					    .seg_max = SEGMENTS_MAX },
		&err);
	cr_assert_not_null(w->writer[c], "%s", err.text);
}

static void
make_host(struct world *w)
{
	const struct weir_sim_io_config ic = { .disk = w->disk,
					       .rng = &w->lane_rng,
					       .depth = IO_DEPTH,
					       .delay_ns = w->o.io_delay_ns,
					       .spike_pct = w->o.io_spike_pct,
					       .faults = &w->o.fault,
					       .fault_cnt = 1,
					       .requests = &w->requests,
					       .failed = io_failed,
					       .arg = w };

	for (uint32_t c = 0; c <= WORLD_CORES; c++)
		w->io[c] = weir_sim_io_create(&ic);
	w->frames = weir_sim_frames_create(w->plan->frame_cnt, w->plan->options.frame_bytes);
	for (uint32_t c = 0; c < WORLD_CORES; c++)
		make_core(w, c);
	w->driver = (struct weir_driver){ .arg = w,
					  .lane = make_lane,
					  .frames = &w->frames->source,
					  .frame_base = w->frames->base,
					  .io = give_io,
					  .backend = give_backend,
					  .writer = give_writer,
					  .snap = &weir_snap_writer_ops,
					  .clock = weir_sim_clock_now };
}

/* ---- the attempt ---- */

static void
make_splits(struct world *w, const struct weir_manifest *from)
{
	struct weir_error err = { 0 };

	for (uint32_t o = 0; o < w->plan->op_cnt; o++) {
		const struct weir_plan_operator_info *info = &w->plan->op[o];
		int rc;

		if (info->vertex == UINT32_MAX ||
		    w->job->vertex[info->vertex].kind != WEIR_VERTEX_SOURCE)
			continue;
		w->enumerator.op = o;
		rc = from != NULL ? weir_restore_splits(w->plan, from, &w->enumerator, &err)
				  : weir_enumerator_list(&w->enumerator, &connector, NULL,
							 info->parallelism, &err);
		cr_assert_eq(rc, 0, "%s", err.text);
		weir_enumerator_ready(&w->enumerator);
		w->splits[o] = &w->enumerator.list;
	}
}

static void
restore(struct world *w, const struct weir_manifest *from)
{
	struct weir_error *err = &w->refused;
	const bool wrong = w->left_out > 0 || w->twice > 0 || w->loaded != NULL;

	cr_assert_eq(weir_restore_check(w->plan, from, NULL, err), 0, "%s", err->text);
	cr_assert_eq(weir_restore_begin(w->rt, from, &w->enumerator, 1, err), 0, "%s", err->text);
	if (world_load(w, from, err) != 0)
		cr_assert(wrong, "%s", err->text);
}

static void
make_runtime(struct world *w, const struct weir_manifest *from)
{
	const struct weir_runtime_config rc = { .plan = w->plan,
						.driver = &w->driver,
						.batches = 4,
						.job_name = WORLD_JOB,
						.attempt = w->attempt,
						.job_hash = weir_hash_bytes(WORLD_JOB,
									    strlen(WORLD_JOB)),
						.data_dir = WORLD_DATA_DIR,
						.sink_mode = WEIR_SINK_FILES,
						.output_dir = WORLD_OUT_DIR,
						.segment_max = SEGMENTS_MAX,
						.splits = w->splits };
	struct weir_error err = { 0 };

	w->rt = weir_runtime_create(&rc, &err);
	cr_assert_not_null(w->rt, "%s", err.text);
	w->refused = (struct weir_error){ 0 };
	if (from != NULL)
		restore(w, from);
	if (w->refused.code != WEIR_OK)
		return;
	world_sweep_output(w);
	cr_assert_eq(weir_runtime_start(w->rt, &err), 0, "%s", err.text);
}

static int
reserve_ids(void *arg, uint64_t next_id)
{
	struct world *w = arg;

	if (w->ids_fail)
		return WEIR_ERR_IO;
	if (next_id > w->next_id)
		w->next_id = next_id;
	return 0;
}

static void
checkpoint_pending(void *arg, const struct weir_checkpoint_done *so_far)
{
	struct world *w = arg;

	cr_assert_str_eq(so_far->status, "pending");
	if (so_far->id > w->announced)
		w->announced = so_far->id;
}

static void
checkpoint_done(void *arg, const struct weir_checkpoint_done *done)
{
	struct world *w = arg;

	/* A crash before this call would have left it in the history as pending (K16). */
	cr_assert_leq(done->id, w->announced);
	cr_assert_lt(w->done_cnt, WORLD_DONE_MAX);
	w->done[w->done_cnt++] = *done;
}

static void
warning(void *arg, const char *text)
{
	struct world *w = arg;

	w->warning_cnt++;
	snprintf(w->warning, sizeof(w->warning), "%s", text);
}

static void
make_master(struct world *w)
{
	struct weir_master_config mc = {
		.rt = w->rt,
		.enumerators = &w->enumerator,
		.enumerator_cnt = 1,
		.io = w->io[WORLD_CORES],
		.job_dir = WORLD_JOB_DIR,
		.job = WORLD_JOB,
		.run_id = "00112233445566778899aabbccddeeff",
		.next_id = w->next_id,
		.interval_ns = w->o.interval_ns < 0 ? 0 : w->o.interval_ns,
		.timeout_ns = 10000000000,
		.max_concurrent = w->o.max_concurrent,
		.tolerable_failures = w->o.tolerable,
		.retained = w->o.retained,
		.seed = w->o.seed,
		.own = (const struct weir_manifest *const *)w->own,
		.own_cnt = w->own_cnt,
		.reserve_ids = reserve_ids,
		.checkpoint_pending = checkpoint_pending,
		.checkpoint_done = checkpoint_done,
		.warning = warning,
		.arg = w,
	};

	if (w->o.tune != NULL)
		w->o.tune(&mc, w->o.arg);
	w->master = weir_master_create(&mc, w->now_ns, w->now_ns);
}

void
world_create(struct world *w, const struct world_options *o)
{
	/* The clock of the simulation is one for all worlds of a test. */
	*w = (struct world){ .o = *o, .next_id = 1, .now_ns = weir_sim_clock_now() + 1000000000 };
	if (w->o.splits == 0)
		w->o.splits = 3;
	if (w->o.rows == 0)
		w->o.rows = 400;
	if (w->o.batch == 0)
		w->o.batch = 8;
	if (w->o.interval_ns == 0)
		w->o.interval_ns = 2000000;
	if (w->o.retained == 0)
		w->o.retained = 1;
	if (w->o.max_concurrent == 0)
		w->o.max_concurrent = 1;
	w->rng.state = weir_mix(o->seed + 1);
	w->lane_rng.state = weir_mix(o->seed + 2);
	w->disk = weir_sim_disk_create(o->seed + 3);
	weir_sim_disk_mkdir(w->disk, WORLD_DATA_DIR);
	weir_sim_disk_mkdir(w->disk, WORLD_OUT_DIR);
	weir_sim_clock_set(w->now_ns);
}

void
world_destroy(struct world *w)
{
	if (w->rt != NULL)
		world_end(w);
	weir_sim_disk_destroy(w->disk);
}

void
world_begin(struct world *w)
{
	const struct weir_manifest *from;

	reading = w;
	w->attempt++;
	world_read_own(w);
	from = w->own_cnt > 0 ? w->own[w->own_cnt - 1] : NULL;
	make_plan(w);
	make_host(w);
	make_splits(w, from);
	make_runtime(w, from);
	if (w->refused.code == WEIR_OK)
		make_master(w);
}

static void
kill_io(struct world *w, uint32_t c)
{
	struct weir_io_req *done[16];
	uint32_t cnt;

	weir_sim_io_kill(w->io[c]);
	while ((cnt = weir_io_harvest(w->io[c], done, 16)) > 0)
		for (uint32_t i = 0; i < cnt; i++)
			if (c < WORLD_CORES && done[i]->user == w->writer[c])
				weir_snap_writer_done(w->writer[c], done[i]);
}

void
world_end(struct world *w)
{
	for (uint32_t c = 0; c <= WORLD_CORES; c++)
		kill_io(w, c);
	weir_sim_disk_kill(w->disk);
	if (w->master != NULL)
		weir_master_destroy(w->master);
	weir_runtime_destroy(w->rt);
	for (uint32_t i = 0; i < w->lane_cnt; i++)
		weir_sim_lane_destroy(w->lanes[i]);
	for (uint32_t c = 0; c < WORLD_CORES; c++) {
		weir_snap_writer_destroy(w->writer[c]);
		free(w->segments[c]);
		free(w->staging[c]);
		free(w->region[c]);
	}
	for (uint32_t c = 0; c <= WORLD_CORES; c++)
		weir_sim_io_destroy(w->io[c]);
	weir_sim_frames_destroy(w->frames);
	weir_enumerator_fini(&w->enumerator);
	w->enumerator = (struct weir_enumerator){ 0 };
	weir_plan_destroy(w->plan);
	weir_job_destroy(w->job);
	world_free_own(w);
	w->lane_cnt = 0;
	w->rt = NULL;
	w->master = NULL;
}

/* ---- steps ---- */

static void
advance_clock(struct world *w, int64_t to_ns)
{
	w->now_ns = to_ns;
	weir_sim_clock_set(to_ns);
	for (uint32_t c = 0; c <= WORLD_CORES; c++)
		weir_sim_io_progress(w->io[c], to_ns);
}

/* Cores wait for room in their mailbox without giving up the thread: there must be some. */
static bool
mail_is_behind(const struct world *w)
{
	for (uint32_t c = 0; c < WORLD_CORES; c++) {
		const struct weir_mailbox *box = &w->rt->from_core[c];

		if (atomic_load(&box->tail) - atomic_load(&box->head) > MAIL_BEHIND)
			return true;
	}
	return false;
}

void
world_step(struct world *w)
{
	const uint32_t who = (uint32_t)weir_rng_below(&w->rng, WORLD_CORES + 1);

	advance_clock(w, w->now_ns + 1 + (int64_t)weir_rng_below(&w->rng, TURN_NS));
	if (who < WORLD_CORES && !mail_is_behind(w))
		(void)weir_core_turn(&w->rt->cores[who], w->now_ns);
	else
		(void)weir_master_step(w->master, w->now_ns, w->now_ns);
}

enum weir_master_end
world_run(struct world *w, uint32_t steps, struct weir_error *err)
{
	for (uint32_t i = 0; i < steps; i++) {
		enum weir_master_end end;

		world_step(w);
		end = weir_master_ended(w->master, err);
		if (end != WEIR_END_NOT_YET)
			return end;
	}
	return WEIR_END_NOT_YET;
}

uint32_t
world_count(const struct world *w, const char *status)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->done_cnt; i++)
		n += strcmp(w->done[i].status, status) == 0;
	return n;
}

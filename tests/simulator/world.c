/* Attempts of the job: everything that one process would hold, made and thrown away. */

#include "tests/simulator/sim.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"
#include "statebackend/hash/hash.h"
#include "statebackend/snapshot/ops.h"
#include "statebackend/snapshot/writer.h"

#define CHUNK_BYTES  (64u * 1024)
#define SEGMENTS_MAX 4096u
#define RUN_ID	     "00112233445566778899aabbccddeeff"

/* ---- what a driver gives ---- */

static struct weir_lane *
make_lane(void *arg, uint32_t depth, uint32_t from_core, uint32_t to_core)
{
	struct sim_world *w = arg;

	(void)from_core;
	(void)to_core;
	w->lanes = realloc(w->lanes, (w->lane_cnt + 1) * sizeof(*w->lanes));
	WEIR_ASSERT(w->lanes != NULL);
	w->lanes[w->lane_cnt] =
		weir_sim_lane_create(depth, &w->lane_rng, w->quiet ? 0 : w->s.stingy_pct);
	return w->lanes[w->lane_cnt++];
}

static struct weir_io *
give_io(void *arg, uint32_t core)
{
	return ((struct sim_world *)arg)->io[core];
}

static struct weir_backend *
give_backend(void *arg, uint32_t core)
{
	return ((struct sim_world *)arg)->backend[core];
}

static struct weir_snap_writer *
give_writer(void *arg, uint32_t core)
{
	return ((struct sim_world *)arg)->writer[core];
}

static void
io_failed(void *arg, const struct weir_io_req *req, int error)
{
	struct sim_world *w = arg;

	w->faults_struck++;
	sim_event(w, "fault %s %s %s", weir_sim_io_kind_name(req->kind), strerrorname_np(error),
		  req->path != NULL ? req->path : "");
}

static bool
make_core(struct sim_world *w, uint32_t c)
{
	struct weir_error err;

	w->region[c] = aligned_alloc(WEIR_PAGE, w->s.state_bytes);
	w->staging[c] = aligned_alloc(WEIR_PAGE, (size_t)w->s.chunk_cnt * CHUNK_BYTES);
	w->segments[c] = calloc(SEGMENTS_MAX, sizeof(*w->segments[c]));
	WEIR_ASSERT(w->region[c] != NULL);
	WEIR_ASSERT(w->staging[c] != NULL);
	WEIR_ASSERT(w->segments[c] != NULL);
	w->backend[c] = weir_backend_hash_open(
		&(struct weir_backend_hash_config){ .base = w->region[c],
						    .bytes = w->s.state_bytes,
						    .budget_key = "state.memory" },
		&err);
	WEIR_ASSERT(w->backend[c] != NULL);
	w->writer[c] = weir_snap_writer_create(
		&(struct weir_snap_config){ .io = w->io[c],
					    .staging = w->staging[c],
					    .staging_bytes = (uint64_t)w->s.chunk_cnt * CHUNK_BYTES,
					    .chunk_bytes = CHUNK_BYTES,
					    .segs = w->segments[c],
					    .seg_max = SEGMENTS_MAX },
		&err);
	if (w->writer[c] == NULL)
		sim_finding(w, "no snapshot writer: %s", err.text);
	return w->writer[c] != NULL;
}

static bool
make_host(struct sim_world *w)
{
	struct weir_sim_io_config ic = { .disk = w->disk,
					 .rng = &w->lane_rng,
					 .depth = w->s.io_depth,
					 .delay_ns = w->s.io_delay_ns,
					 .spike_pct = w->s.io_spike_pct,
					 .faults = w->s.fault,
					 .fault_cnt = w->s.fault_cnt,
					 .requests = &w->requests,
					 .failed = io_failed,
					 .arg = w };

	if (w->quiet) {
		ic.fault_cnt = 0;
		ic.spike_pct = 0;
		ic.delay_ns /= 10;
	}
	for (uint32_t c = 0; c <= w->s.core_cnt; c++)
		w->io[c] = weir_sim_io_create(&ic);
	w->frames =
		weir_sim_frames_create(w->plan->frame_cnt + weir_recovery_frame_cnt(w->recovery),
				       w->plan->options.frame_bytes);
	for (uint32_t c = 0; c < w->s.core_cnt; c++)
		if (!make_core(w, c))
			return false;
	w->driver = (struct weir_driver){ .arg = w,
					  .lane = make_lane,
					  .frames = &w->frames->source,
					  .frame_base = w->frames->base,
					  .io = give_io,
					  .backend = give_backend,
					  .writer = give_writer,
					  .snap = &weir_snap_writer_ops,
					  .clock = weir_sim_clock_now };
	return true;
}

/* ---- job and plan ---- */

/* Operators in front of which the checkpoint holds frames (R3). */
static uint32_t
heads_of(const struct sim_world *w, const char **heads)
{
	return w->restored != NULL ? weir_recovery_heads(w->restored, heads, WEIR_OPERATORS_MAX)
				   : 0;
}

static bool
make_recovery(struct sim_world *w)
{
	struct weir_error err = { 0 };

	if (w->restored == NULL)
		return true;
	w->recovery = weir_recovery_create(w->plan, w->restored, &err);
	if (w->recovery == NULL)
		sim_finding(w, "frames in flight: %s", err.text);
	else
		w->in_flight += weir_recovery_in_flight(w->recovery);
	return w->recovery != NULL;
}

static bool
is_unaligned(const struct sim_scenario *s)
{
	return s->mode == SIM_UNALIGNED || s->mode == SIM_TIMEOUT;
}

static bool
make_plan(struct sim_world *w)
{
	struct weir_cpu cpus[SIM_CORES_MAX];
	const struct weir_topology topo = { .cpus = cpus,
					    .cpu_cnt = SIM_CORES_MAX,
					    .allowed_cnt = SIM_CORES_MAX,
					    .core_cnt = SIM_CORES_MAX,
					    .node_cnt = 1 };
	static const uint32_t numbers[SIM_CORES_MAX] = { 0, 1, 2 };
	const char *heads[WEIR_OPERATORS_MAX];
	const struct weir_plan_options options = { .cpus = numbers,
						   .cpu_cnt = w->s.core_cnt,
						   .parallelism = w->parallelism[0],
						   .frame_bytes = w->s.frame_bytes,
						   .state_bytes = w->s.state_bytes * w->s.core_cnt,
						   .lane_depth = w->s.lane_depth,
						   .combiner = w->s.combiner,
						   .checkpoints = w->s.checkpoints,
						   .unaligned = is_unaligned(&w->s),
						   .heads = heads,
						   .head_cnt = heads_of(w, heads) };
	struct weir_error err = { 0 };

	for (uint32_t i = 0; i < SIM_CORES_MAX; i++)
		cpus[i] = (struct weir_cpu){ .os_idx = i, .core = i, .l2 = i, .allowed = true };
	w->job = weir_job_create();
	sim_job_build(w->job, &w->s, w->parallelism);
	if (weir_job_finish(w->job, &err) == 0)
		w->plan = weir_plan_create(w->job, &topo, &options, &err);
	if (w->plan == NULL)
		sim_finding(w, "no plan: %s", err.text);
	return w->plan != NULL;
}

static bool
make_splits(struct sim_world *w)
{
	struct weir_error err = { 0 };

	w->enumerators = calloc(w->plan->op_cnt, sizeof(*w->enumerators));
	w->splits = calloc(w->plan->op_cnt, sizeof(*w->splits));
	WEIR_ASSERT(w->enumerators != NULL);
	WEIR_ASSERT(w->splits != NULL);
	for (uint32_t o = 0; o < w->plan->op_cnt; o++) {
		const struct weir_plan_operator_info *info = &w->plan->op[o];
		const struct weir_vertex *v =
			info->vertex == UINT32_MAX ? NULL : &w->plan->job->vertex[info->vertex];
		struct weir_enumerator *e = &w->enumerators[w->enumerator_cnt];
		int rc;

		if (v == NULL || v->kind != WEIR_VERTEX_SOURCE)
			continue;
		e->op = o;
		w->enumerator_cnt++;
		rc = w->restored != NULL
			     ? weir_restore_splits(w->plan, w->restored, e, &err)
			     : weir_enumerator_list(e, v->connector, NULL, info->parallelism, &err);
		if (rc != 0) {
			sim_finding(w, "splits: %s", err.text);
			return false;
		}
		weir_enumerator_ready(e);
		w->splits[o] = &e->list;
	}
	return true;
}

/* ---- runtime and master ---- */

static bool
make_runtime(struct sim_world *w)
{
	const struct weir_runtime_config rc = {
		.slice_rows = w->s.slice_rows,
		.batches = 4,
		.plan = w->plan,
		.driver = &w->driver,
		.job_name = SIM_JOB,
		.attempt = w->attempt,
		.job_hash = weir_hash_bytes(SIM_JOB, strlen(SIM_JOB)),
		.data_dir = w->s.checkpoints ? SIM_DATA_DIR : NULL,
		.sink_mode = WEIR_SINK_FILES,
		.output_dir = SIM_OUT_DIR,
		.linger_ns = w->s.linger_ns,
		.sink_rate = w->quiet ? 0 : w->s.sink_rate,
		.at_least_once = w->s.mode == SIM_AT_LEAST_ONCE,
		.segment_max = SEGMENTS_MAX,
		.recovery = w->recovery,
		.splits = w->splits,
	};
	struct weir_error err = { 0 };
	int rc_restore = 0;

	w->rt = weir_runtime_create(&rc, &err);
	if (w->rt == NULL) {
		sim_finding(w, "no runtime: %s", err.text);
		return false;
	}
	sim_post_open(w);
	if (w->restored != NULL) {
		rc_restore = weir_restore_check(w->plan, w->restored, NULL, &err);
		if (rc_restore == 0)
			rc_restore = weir_restore_begin(w->rt, w->restored, w->enumerators,
							w->enumerator_cnt, &err);
		if (rc_restore == 0)
			rc_restore = sim_load(w, &err);
		if (rc_restore == 0)
			rc_restore = weir_restore_end(w->rt, &err);
		if (rc_restore != 0) {
			sim_finding(w, "restore of %llu: %s",
				    (unsigned long long)w->restored->checkpoint_id, err.text);
			return false;
		}
		sim_check_restored(w);
	}
	sim_sweep(w);
	if (weir_runtime_start(w->rt, &err) != 0) {
		sim_finding(w, "start: %s", err.text);
		return false;
	}
	return true;
}

static int
reserve_ids(void *arg, uint64_t next_id)
{
	struct sim_world *w = arg;

	if (next_id > w->next_id)
		w->next_id = next_id;
	return 0;
}

static void
checkpoint_pending(void *arg, const struct weir_checkpoint_done *so_far)
{
	sim_rules_pending(arg, so_far);
}

static void
checkpoint_done(void *arg, const struct weir_checkpoint_done *done)
{
	struct sim_world *w = arg;

	sim_rules_done(w, done);
	if (strcmp(done->status, "completed") == 0 && !sim_is_save(done->kind))
		sim_check_completed(w, done->id);
	sim_event(w, "checkpoint %llu %s %s%s%s %lld us frames %llu", (unsigned long long)done->id,
		  done->kind, done->status, done->reason[0] != '\0' ? " " : "", done->reason,
		  (long long)(done->duration_ns / 1000), (unsigned long long)done->frames);
	w->completed += strcmp(done->status, "completed") == 0;
	w->unaligned += strcmp(done->status, "completed") == 0 && done->frames > 0;
	w->failed += strcmp(done->status, "failed") == 0;
	w->aborted += strcmp(done->status, "aborted") == 0;
	if ((strcmp(done->kind, "final") == 0 || strcmp(done->kind, "suspend") == 0 ||
	     strcmp(done->kind, "drain") == 0) &&
	    strcmp(done->status, "completed") == 0)
		w->last_id = done->id;
	/* The product refuses a cut that does not fit; without a fault of the disk there is none.
	 */
	if (strstr(done->reason, "FINALIZE") != NULL && w->faults_struck == w->faults_before)
		sim_finding(w, "checkpoint %llu could not be written, and the disk did nothing",
			    (unsigned long long)done->id);
	/* Liveness: whatever was lost before, the next one gets through; only that a stop was given
	 * up, who holds for it may hear not before the end of the next. */
	if (w->calm && (w->s.stop_pct == 0 || w->s.post_pct == 0) && !w->quiet &&
	    done->trigger_wall_ns > w->calm_ns && w->s.timeout_ns >= SIM_TIMEOUT_LONG &&
	    strstr(done->reason, "EXPIRED") != NULL)
		sim_finding(w, "checkpoint %llu expired when nothing went wrong any more",
			    (unsigned long long)done->id);
	w->expired += strstr(done->reason, "EXPIRED") != NULL;
}

static void
warning(void *arg, const char *text)
{
	sim_event(arg, "warning %s", text);
}

static void
make_master(struct sim_world *w)
{
	const struct weir_master_config mc = {
		.rt = w->rt,
		.enumerators = w->enumerators,
		.enumerator_cnt = w->enumerator_cnt,
		.io = w->s.checkpoints || w->s.save_steps > 0 ? w->io[w->s.core_cnt] : NULL,
		.job_dir = w->s.checkpoints ? SIM_JOB_DIR : NULL,
		.job = SIM_JOB,
		.run_id = RUN_ID,
		.next_id = w->next_id,
		.interval_ns = w->s.interval_ns,
		.timeout_ns = w->quiet ? 1000000000000 : w->s.timeout_ns,
		.min_pause_ns = w->s.min_pause_ns,
		.max_concurrent = w->s.max_concurrent,
		.at_least_once = w->s.mode == SIM_AT_LEAST_ONCE,
		.unaligned = is_unaligned(&w->s),
		.aligned_timeout_ns = w->s.aligned_timeout_ns,
		.tolerable_failures = w->s.tolerable,
		.retained = w->s.retained,
		.retention = WEIR_RETENTION_ALWAYS,
		.seed = weir_rng_next(&w->rng),
		.own = (const struct weir_manifest *const *)w->own,
		.own_cnt = w->own_cnt,
		.reserve_ids = reserve_ids,
		.checkpoint_pending = checkpoint_pending,
		.checkpoint_done = checkpoint_done,
		.warning = warning,
		.arg = w,
	};

	w->master = weir_master_create(&mc, w->now_ns, w->now_ns);
}

bool
sim_attempt_begin(struct sim_world *w)
{
	w->attempt++;
	w->faults_before = w->faults_struck;
	w->post_faults_before = w->post_faults;
	w->last_id = 0;
	sim_save_go_on(w);
	sim_rules_begin(w);
	w->half_dead = false;
	w->committing = false;
	w->heals_behind = UINT64_MAX;
	w->calm = w->quiet;
	w->expired = 0;
	for (uint32_t i = 0; i < 2; i++)
		w->parallelism[i] = w->s.rescale ? 1 + (uint32_t)weir_rng_below(&w->rng, 4)
						 : w->s.parallelism[i];
	if (!sim_recover(w))
		return false;
	sim_event(w, "attempt %llu from %llu parallelism %u %u", (unsigned long long)w->attempt,
		  (unsigned long long)(w->restored != NULL ? w->restored->checkpoint_id : 0),
		  w->parallelism[0], w->parallelism[1]);
	w->restores += w->restored != NULL;
	if (!make_plan(w) || !make_recovery(w) || !make_host(w) || !make_splits(w) ||
	    !make_runtime(w))
		return false;
	make_master(w);
	return true;
}

/* What is in flight may still happen; the writer has to know that nothing of its is any more. */
static void
kill_io(struct sim_world *w, uint32_t c)
{
	struct weir_io_req *done[16];
	uint32_t cnt;

	weir_sim_io_kill(w->io[c]);
	while ((cnt = weir_io_harvest(w->io[c], done, 16)) > 0)
		for (uint32_t i = 0; i < cnt; i++)
			if (c < w->s.core_cnt && done[i]->user == w->writer[c])
				weir_snap_writer_done(w->writer[c], done[i]);
}

void
sim_attempt_end(struct sim_world *w)
{
	for (uint32_t c = 0; c <= w->s.core_cnt; c++)
		if (w->io[c] != NULL)
			kill_io(w, c);
	weir_sim_disk_kill(w->disk);
	weir_master_destroy(w->master);
	if (w->master != NULL)
		sim_save_attempt_end(w);
	sim_post_close(w);
	weir_runtime_destroy(w->rt);
	sim_sink_attempt_end();
	for (uint32_t i = 0; i < w->lane_cnt; i++)
		weir_sim_lane_destroy(w->lanes[i]);
	for (uint32_t c = 0; c < w->s.core_cnt; c++) {
		if (w->writer[c] != NULL)
			weir_snap_writer_destroy(w->writer[c]);
		free(w->segments[c]);
		free(w->staging[c]);
		free(w->region[c]);
		w->writer[c] = NULL;
		w->segments[c] = NULL;
		w->staging[c] = NULL;
		w->region[c] = NULL;
	}
	for (uint32_t c = 0; c <= w->s.core_cnt; c++) {
		if (w->io[c] != NULL)
			weir_sim_io_destroy(w->io[c]);
		w->io[c] = NULL;
	}
	if (w->frames != NULL)
		weir_sim_frames_destroy(w->frames);
	for (uint32_t i = 0; i < w->enumerator_cnt; i++)
		weir_enumerator_fini(&w->enumerators[i]);
	free(w->enumerators);
	free(w->splits);
	free(w->lanes);
	if (w->plan != NULL)
		weir_plan_destroy(w->plan);
	if (w->job != NULL)
		weir_job_destroy(w->job);
	sim_recover_free(w);
	w->master = NULL;
	w->rt = NULL;
	w->lanes = NULL;
	w->lane_cnt = 0;
	w->frames = NULL;
	weir_recovery_destroy(w->recovery);
	w->recovery = NULL;
	w->enumerators = NULL;
	w->enumerator_cnt = 0;
	w->splits = NULL;
	w->plan = NULL;
	w->job = NULL;
}

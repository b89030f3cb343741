/*
 * The worker's inside: one attempt of a job, from the plan to its end.
 *
 *   find what to restore -> host (EAL, frames, rings, files) -> splits -> runtime -> restore
 *     -> start -> cores run; the control thread steps the master and sleeps, tells the supervisor
 *        how it goes, and stops the cores at the end
 */
#include "app/attempt.h"

#include "app/job_dir.h"
#include "app/worker_link.h"
#include "drivers/clock/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRESS_NS   200000000
#define STATISTICS_NS 1000000000
#define CANCEL_NS     20000000
#define SLEEP_MAX_NS  1000000
#define SLEEP_BUSY_NS 100000 /* while a checkpoint or the like is under way */
#define SLEEP_SHARE   16     /* of the time that one has been waited for, later on */
#define BUSY_FOR_NS   5000000
#define STUCK_NS      1000000000
#define SLACK_NS      1000ul /* of the sleeps above; the kernel's own is 50 us */

/* ---- callbacks of the master ---- */

static int
reserve_ids(void *arg, uint64_t next_id)
{
	struct weir_attempt_run *a = arg;
	struct weir_error err;
	uint64_t reserved;

	if (!a->checkpoints) /* ids of savepoints, told apart by their names too */
		return 0;
	if (weir_job_dir_reserve_ids(a->job_dir.text, next_id, &reserved, &err) == 0)
		return 0;
	weir_worker_warning(a->link, "checkpoint id counter: %s", err.text);
	return err.code;
}

static void
checkpoint_done(void *arg, const struct weir_checkpoint_done *done)
{
	struct weir_attempt_run *a = arg;

	weir_worker_checkpoint(a->link, weir_attempt_checkpoint(a->plan, done));
}

static void
master_warning(void *arg, const char *text)
{
	struct weir_attempt_run *a = arg;

	weir_worker_warning(a->link, "%s", text);
}

/* From core threads: rare (a damaged file), so the link's lock is good enough. */
static void
reader_warning(void *arg, const char *text)
{
	struct weir_attempt_run *a = arg;

	pthread_mutex_lock(&a->warning_lock);
	if (a->warning_cnt < WEIR_ATTEMPT_WARNINGS_MAX)
		snprintf(a->warnings[a->warning_cnt++], sizeof(a->warnings[0]), "%s", text);
	pthread_mutex_unlock(&a->warning_lock);
	weir_worker_warning(a->link, "%s", text);
}

/* ---- set-up ---- */

static int
open_host(struct weir_attempt_run *a, struct weir_error *err)
{
	const struct weir_config *cfg = &a->session->cfg;
	static const enum weir_huge huge[] = { WEIR_HUGE_AUTO, WEIR_HUGE_ON, WEIR_HUGE_OFF };
	static const enum weir_io_backend io[] = { WEIR_IO_AUTO, WEIR_IO_URING, WEIR_IO_POSIX };
	uint32_t *control = calloc(cfg->control_cores.cnt + 1, sizeof(*control));
	struct weir_host_options ho = { .plan = a->plan,
					.huge = huge[cfg->memory_hugepages],
					.io = io[cfg->io_backend],
					.control_cpus = control,
					.control_cnt = cfg->control_cores.cnt,
					.more_frames = weir_recovery_frame_cnt(a->recovery),
					.checkpoints = a->checkpoints };
	int rc;

	WEIR_ASSERT(control != NULL);
	for (uint32_t i = 0; i < cfg->control_cores.cnt; i++)
		control[i] = cfg->control_cores.cpu[i];
	rc = weir_host_open(&a->host, &ho, err);
	free(control);
	return rc;
}

static int
make_splits(struct weir_attempt_run *a, struct weir_error *err)
{
	a->enumerators = calloc(a->plan->op_cnt, sizeof(*a->enumerators));
	a->splits = calloc(a->plan->op_cnt, sizeof(*a->splits));
	WEIR_ASSERT(a->enumerators != NULL);
	WEIR_ASSERT(a->splits != NULL);
	for (uint32_t o = 0; o < a->plan->op_cnt; o++) {
		const struct weir_plan_operator_info *info = &a->plan->op[o];
		const struct weir_vertex *v =
			info->vertex == UINT32_MAX ? NULL : &a->plan->job->vertex[info->vertex];
		struct weir_enumerator *e = &a->enumerators[a->enumerator_cnt];
		bool known;
		int rc;

		if (v == NULL || v->kind != WEIR_VERTEX_SOURCE)
			continue;
		e->op = o;
		a->enumerator_cnt++;
		known = a->restored != NULL && weir_restore_knows(a->restored, info->id);
		if (a->restored != NULL && !known)
			weir_worker_warning(
				a->link,
				"source '%s' is not in what is restored: it starts from "
				"its beginning",
				info->id);
		rc = known ? weir_restore_splits(a->plan, a->restored, e, err)
			   : weir_enumerator_list(e, v->connector, &a->session->params,
						  info->parallelism, err);
		if (rc != 0)
			return weir_error_prefix(err, "source '%s'", info->id);
		for (uint32_t w = 0; w < e->list.warning_cnt; w++)
			weir_worker_warning(a->link, "%s", e->list.warning[w]);
		weir_enumerator_ready(e);
		a->splits[o] = &e->list;
	}
	return 0;
}

static int
make_runtime(struct weir_attempt_run *a, struct weir_error *err)
{
	const struct weir_config *cfg = &a->session->cfg;
	struct weir_runtime_config rc = {
		.plan = a->plan,
		.params = &a->session->params,
		.driver = &a->host.driver,
		.job_name = cfg->job_name,
		.attempt = a->launch->attempt,
		.job_hash = weir_hash_bytes(cfg->job_name, strlen(cfg->job_name)),
		.data_dir = a->checkpoints ? a->data_dir.text : NULL,
		.sink_mode = WEIR_SINK_FILES,
		.output_dir = cfg->job_output,
		.rate = cfg->job_rate,
		.sink_rate = cfg->job_sink_rate,
		.latency = cfg->job_latency,
		.at_least_once = cfg->checkpoint_mode == WEIR_CFG_MODE_AT_LEAST_ONCE,
		.linger_ns = cfg->exchange_linger,
		.full_checkpoints = !cfg->checkpoint_incremental,
		.sync_timeout_ns = cfg->checkpoint_sync_timeout,
		.segment_max = WEIR_HOST_SEGMENTS_MAX,
		.recovery = a->recovery,
		.splits = a->splits,
		.warn = reader_warning,
		.warn_arg = a,
	};

	if (strcmp(cfg->job_output, "-") == 0)
		rc.sink_mode = WEIR_SINK_STDOUT;
	else if (strcmp(cfg->job_output, "null") == 0)
		rc.sink_mode = WEIR_SINK_NULL;
	else if (mkdir(cfg->job_output, 0777) != 0 && errno != EEXIST)
		return weir_fail(err, WEIR_ERR_IO, "job.output %s: %s", cfg->job_output,
				 strerror(errno));
	a->rt = weir_runtime_create(&rc, err);
	return a->rt == NULL ? err->code : 0;
}

static enum weir_retention
retention_of(enum weir_cfg_retention r)
{
	switch (r) {
	case WEIR_CFG_RETAIN_NEVER:
		return WEIR_RETENTION_NEVER;
	case WEIR_CFG_RETAIN_ON_FAILURE:
		return WEIR_RETENTION_ON_FAILURE;
	case WEIR_CFG_RETAIN_ON_CANCEL:
		return WEIR_RETENTION_ON_CANCEL;
	case WEIR_CFG_RETAIN_ALWAYS:
		break;
	}
	return WEIR_RETENTION_ALWAYS;
}

static void
make_master(struct weir_attempt_run *a)
{
	const struct weir_config *cfg = &a->session->cfg;
	struct weir_master_config mc = {
		.rt = a->rt,
		.enumerators = a->enumerators,
		.enumerator_cnt = a->enumerator_cnt,
		.io = a->host.control_io,
		.job_dir = a->checkpoints ? a->job_dir.text : NULL,
		.job = cfg->job_name,
		.run_id = a->launch->run_id,
		.next_id = a->next_id,
		.interval_ns = cfg->checkpoint_interval,
		.has_backlog_interval =
			weir_config_is_set(cfg, WEIR_KEY_checkpoint_interval_during_backlog),
		.backlog_interval_ns = cfg->checkpoint_interval_during_backlog,
		.all_tasks_only = !cfg->checkpoint_after_tasks_finish,
		.timeout_ns = cfg->checkpoint_timeout,
		.min_pause_ns = cfg->checkpoint_min_pause,
		.max_concurrent = (uint32_t)cfg->checkpoint_max_concurrent,
		.tolerable_failures = (uint32_t)cfg->checkpoint_tolerable_failures,
		.retained = (uint32_t)cfg->checkpoint_retained,
		.retention = retention_of(cfg->checkpoint_retention),
		.at_least_once = cfg->checkpoint_mode == WEIR_CFG_MODE_AT_LEAST_ONCE,
		.unaligned = cfg->checkpoint_unaligned,
		.aligned_timeout_ns = cfg->checkpoint_aligned_timeout,
		.seed = (uint64_t)weir_clock_wall_ns(),
		.own = (const struct weir_manifest *const *)a->own,
		.own_cnt = a->own_cnt,
		.claimed = { .manifest = a->claimed,
			     .path = a->launch->base,
			     .data_dir = a->claimed_data.text,
			     .beside = (const struct weir_manifest *const *)a->beside,
			     .beside_cnt = a->beside_cnt },
		.reserve_ids = reserve_ids,
		.checkpoint_pending = checkpoint_done,
		.checkpoint_done = checkpoint_done,
		.warning = master_warning,
		.arg = a,
	};

	if (cfg->checkpoint_hook != NULL) {
		a->master_hook = weir_hook_master(&a->hook);
		mc.hooks = &a->master_hook;
		mc.hook_cnt = 1;
	}
	a->master = weir_master_create(&mc, weir_clock_now_ns(), weir_clock_wall_ns());
}

/* K15: before anything of the job runs. */
static int
start_hook(struct weir_attempt_run *a, struct weir_error *err)
{
	const struct weir_config *cfg = &a->session->cfg;
	const char *spec = cfg->checkpoint_hook;

	for (uint32_t i = 0; a->restored != NULL && i < a->restored->hook_cnt; i++) {
		const char *name = a->restored->hooks[i].name;

		if (spec != NULL && strncmp(spec, name, strlen(name)) == 0 &&
		    spec[strlen(name)] == ':')
			continue;
		if (!cfg->restore_allow_non_restored_state)
			return weir_fail(
				err, WEIR_ERR_DATA,
				"restore from %s: it holds the state of a hook '%s', which "
				"checkpoint.hook does not name; "
				"restore.allow-non-restored-state leaves it out",
				a->launch->restore, name);
		weir_worker_warning(a->link, "the state of the hook '%s' is left out", name);
	}
	if (spec == NULL)
		return 0;
	weir_hook_open(&a->hook, spec, cfg->job_name);
	return weir_hook_restore(&a->hook, a->restored, cfg->checkpoint_timeout, err);
}

static int
set_up(struct weir_attempt_run *a, struct weir_error *err)
{
	const struct weir_config *cfg = &a->session->cfg;
	int rc = 0;

	if (a->checkpoints) {
		rc = weir_layout_job(&a->job_dir, cfg->checkpoint_dir, cfg->job_name, err);
		if (rc == 0)
			rc = weir_layout_data_dir(&a->data_dir, a->job_dir.text, err);
		if (rc == 0 && mkdir(a->data_dir.text, 0777) != 0 && errno != EEXIST)
			rc = weir_fail(err, WEIR_ERR_IO, "checkpoint.dir %s: %s", a->data_dir.text,
				       strerror(errno));
	}
	if (rc == 0)
		rc = weir_attempt_find(a, err);
	if (rc == 0)
		rc = start_hook(a, err);
	if (rc == 0)
		rc = open_host(a, err);
	if (rc == 0)
		rc = make_splits(a, err);
	if (rc == 0)
		rc = make_runtime(a, err);
	if (rc == 0 && a->restored != NULL)
		rc = weir_attempt_restore(a, err);
	if (rc == 0)
		rc = weir_attempt_sweep_output(a, err);
	if (rc != 0)
		return rc;
	make_master(a);
	return weir_runtime_start(a->rt, err);
}

/* ---- running ---- */

static void
say_running(struct weir_attempt_run *a)
{
	json_t *restored = NULL;

	if (a->restored != NULL) {
		uint64_t bytes = 0;

		for (uint32_t f = 0; f < a->restored->file_cnt; f++)
			bytes += a->restored->files[f].length;
		restored = json_pack("{s:I, s:o, s:I, s:I}", "checkpoint",
				     (json_int_t)a->restored->checkpoint_id, "path",
				     weir_link_text(a->launch->restore), "frames_in_flight",
				     (json_int_t)weir_recovery_in_flight(a->recovery), "bytes",
				     (json_int_t)bytes);
	}
	weir_worker_running(a->link, restored);
	weir_worker_statistics(a->link, weir_attempt_statistics(a));
}

/* Cores acknowledge by mail, which wakes nobody: the control thread has to look. */
static bool
under_way(const struct weir_attempt_run *a)
{
	struct weir_master_counts n;

	weir_master_counts(a->master, &n);
	return n.triggered > n.completed + n.failed + n.aborted;
}

/* Looking takes a core's CPU some microseconds: what has been waited for long may be found a little
 * later. */
static int64_t
sleep_ns(const struct weir_attempt_run *a, int64_t quiet_ns)
{
	int64_t ns = quiet_ns / SLEEP_SHARE;

	if (!under_way(a))
		return quiet_ns < BUSY_FOR_NS ? SLEEP_BUSY_NS : SLEEP_MAX_NS;
	if (ns < SLEEP_BUSY_NS)
		ns = SLEEP_BUSY_NS;
	return ns < SLEEP_MAX_NS ? ns : SLEEP_MAX_NS;
}

static void
sleep_a_little(struct weir_attempt_run *a, int64_t now_ns, int64_t busy_ns)
{
	const int64_t due = weir_master_due_ns(a->master);
	int64_t ns = sleep_ns(a, now_ns - busy_ns);
	/* Harvest clears it, and is called only while something is in flight: else it may stay
	 * readable. */
	const int io = a->host.control_io->in_flight > 0 ? weir_io_wait_fd(a->host.control_io) : -1;
	struct pollfd fds[2] = { { .fd = weir_worker_link_fd(a->link), .events = POLLIN },
				 { .fd = io, .events = POLLIN } };
	struct timespec ts = { 0 };

	if (due - now_ns < ns)
		ns = due > now_ns ? due - now_ns : 0;
	ts.tv_nsec = ns;
	(void)ppoll(fds, 2, &ts, NULL);
}

static enum weir_master_end
control_loop(struct weir_attempt_run *a, struct weir_error *err)
{
	int64_t busy_ns = weir_clock_now_ns();
	int64_t cancel_ns = 0;
	bool said = false;
	enum weir_master_end end;

	(void)prctl(PR_SET_TIMERSLACK, SLACK_NS);
	a->progress_last_ns = a->statistics_last_ns = busy_ns;
	for (;;) {
		const int64_t now = weir_clock_now_ns();
		const bool any = weir_master_step(a->master, now, weir_clock_wall_ns());

		weir_host_note_files(&a->host);
		end = weir_master_ended(a->master, err);
		if (end != WEIR_END_NOT_YET)
			return end;
		if (any)
			busy_ns = now;
		if (!said && weir_master_running(a->master)) {
			said = true;
			say_running(a);
		}
		if (now - a->progress_last_ns >= PROGRESS_NS)
			weir_attempt_progress(a, now);
		if (now - a->statistics_last_ns >= STATISTICS_NS) {
			a->statistics_last_ns = now;
			weir_worker_statistics(a->link, weir_attempt_statistics(a));
		}
		if (now - cancel_ns >= CANCEL_NS) {
			cancel_ns = now;
			if (weir_worker_poll_cancel(a->link))
				weir_master_cancel(a->master);
			weir_attempt_commands(a);
		}
		if (!any)
			sleep_a_little(a, now, busy_ns);
	}
}

/* False: one of them does not come to the end of its turn; what it works with must stay. */
static bool
stop_cores(struct weir_attempt_run *a, int64_t patience_ns)
{
	const int64_t end_ns = weir_clock_now_ns() + patience_ns;
	const struct weir_mail stop = { .kind = WEIR_MAIL_STOP };
	struct weir_mail ignored;
	bool late = false;

	for (uint32_t c = 0; c < a->plan->core_cnt; c++)
		while (!late && !weir_mailbox_post(&a->rt->to_core[c], &stop)) {
			usleep(100);
			late = weir_clock_now_ns() > end_ns;
		}
	/* A core may wait for room in its mailbox. */
	for (uint32_t c = 0; c < a->plan->core_cnt; c++)
		while (!late && !weir_host_core_done(&a->host, c)) {
			while (weir_mailbox_take(&a->rt->from_core[c], &ignored))
				;
			usleep(50);
			late = weir_clock_now_ns() > end_ns;
		}
	if (!late)
		weir_host_join(&a->host);
	return !late;
}

/* Everything back, in the reverse order; file work has ended before the memory that it was for
 * goes. */
static void
tear_down(struct weir_attempt_run *a, bool finished)
{
	weir_host_close_io(&a->host);
	weir_master_destroy(a->master);
	weir_runtime_destroy(a->rt);
	weir_recovery_destroy(a->recovery);
	for (uint32_t i = 0; i < a->enumerator_cnt; i++)
		weir_enumerator_fini(&a->enumerators[i]);
	free(a->enumerators);
	free(a->splits);
	for (uint32_t i = 0; i < a->own_cnt; i++)
		weir_manifest_destroy(a->own[i]);
	free(a->own);
	for (uint32_t i = 0; i < a->beside_cnt; i++)
		weir_manifest_destroy(a->beside[i]);
	free(a->beside);
	if (a->restored != NULL)
		weir_manifest_destroy(a->restored);
	if (a->claimed != NULL)
		weir_manifest_destroy(a->claimed);
	if (a->hook.state != NULL)
		weir_hook_close(&a->hook);
	weir_host_close(&a->host, finished);
	pthread_mutex_destroy(&a->warning_lock);
	free(a);
}

static struct weir_attempt_run *left __attribute__((used));

int
weir_worker_main(struct weir_session *session, const struct weir_launch *launch,
		 struct weir_worker_link *link)
{
	struct weir_attempt_run *a = calloc(1, sizeof(*a));
	struct weir_error err = { 0 };
	enum weir_master_end end = WEIR_END_FAILED;
	int rc;

	WEIR_ASSERT(a != NULL);
	pthread_mutex_init(&a->warning_lock, NULL);
	a->session = session;
	a->launch = launch;
	a->link = link;
	a->plan = session->plan;
	a->checkpoints = session->cfg.checkpoint_interval > 0;
	rc = set_up(a, &err);
	if (rc == 0) {
		weir_host_launch(&a->host, a->rt);
		end = control_loop(a, &err);
		/* Whoever is well waits: a turn may be long. */
		if (!stop_cores(a, end == WEIR_END_FAILED ? STUCK_NS : INT64_MAX / 2)) {
			weir_worker_error(link, &err);
			_exit(err.code); /* T23: nothing that this core uses may be taken away */
		}
		for (uint32_t i = 0; i < a->plan->subtask_cnt; i++)
			weir_task_note_state(&a->rt->tasks[i]);
		weir_worker_statistics(link, weir_attempt_statistics(a));
	}
	if (end == WEIR_END_FAILED) {
		weir_worker_error(link, &err);
		/* Memory that the kernel may still write to is left to the end of the process; a
		 * leak checker finds it here. */
		left = a;
		return err.code;
	}
	weir_worker_finished(link, end == WEIR_END_FINISHED    ? "FINISHED"
				   : end == WEIR_END_SUSPENDED ? "SUSPENDED"
							       : "CANCELED");
	tear_down(a, end == WEIR_END_FINISHED);
	return 0;
}

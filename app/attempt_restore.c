#include "app/attempt.h"
#include "app/link.h"

#include "app/job_dir.h"
#include "app/session_open.h"
#include "drivers/store/store.h"
#include "statebackend/snapshot/reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAGING (8u << 20)
#define CHUNK	(1u << 20)

static int
find_own(struct weir_attempt_run *a, struct weir_error *err)
{
	struct weir_stored_ids ids;
	int rc = weir_stored_ids(a->job_dir.text, &ids, err);

	if (rc != 0)
		return rc;
	a->own = calloc(ids.cnt + 1, sizeof(*a->own));
	WEIR_ASSERT(a->own != NULL);
	for (uint32_t i = 0; i < ids.cnt; i++) {
		struct weir_path chk;
		struct weir_manifest *m = NULL;
		struct weir_error ignored;

		if (ids.id[i] >= a->next_id)
			a->next_id = ids.id[i] + 1;
		/* A damaged one of another run is no business of this run's; the newest is checked
		 * by restore. */
		if (weir_layout_checkpoint(&chk, a->job_dir.text, ids.id[i], err) != 0 ||
		    weir_stored_read(chk.text, &m, &ignored) != 0)
			continue;
		if (strcmp(m->run_id, a->launch->run_id) == 0)
			a->own[a->own_cnt++] = m;
		else
			weir_manifest_destroy(m);
	}
	weir_stored_ids_free(&ids);
	return 0;
}

/* R9: once, for the checkpoint that was named; not for those that this run makes itself. */
static bool
ignores_in_flight(struct weir_attempt_run *a)
{
	if (!a->session->cfg.restore_ignore_in_flight ||
	    strcmp(a->restored->run_id, a->launch->run_id) == 0)
		return false;
	weir_worker_warning(a->link,
			    "restore.ignore-in-flight: the rows of %llu frames in flight of "
			    "checkpoint %llu are dropped",
			    (unsigned long long)weir_manifest_in_flight(a->restored),
			    (unsigned long long)a->restored->checkpoint_id);
	return true;
}

/* R4: fixed for the life of the state; a job that does not say otherwise takes what that has. What
 * it does say is compared by weir_restore_check. 0: no need. */
static int
adopt_max_parallelism(struct weir_attempt_run *a, uint32_t *max, struct weir_error *err)
{
	const uint32_t was = a->restored->max_parallelism;

	*max = 0;
	if (weir_config_is_set(&a->session->cfg, WEIR_KEY_max_parallelism) ||
	    a->plan->max_parallelism == was)
		return 0;
	for (uint32_t o = 0; o < a->plan->op_cnt; o++)
		if (a->plan->op[o].parallelism > was)
			return weir_fail(err, WEIR_ERR_DATA,
					 "operator '%s' has parallelism %u, and the checkpoint's "
					 "max-parallelism is %u: it is fixed for the life of the "
					 "state",
					 a->plan->op[o].id, a->plan->op[o].parallelism, was);
	*max = was;
	return 0;
}

/* The plan that this checkpoint can be restored into. R3: where frames wait in front of an
 * operator, it has channels to take them from. */
static int
plan_for(struct weir_attempt_run *a, struct weir_error *err)
{
	const char *heads[WEIR_OPERATORS_MAX * 2];
	struct weir_replan how = { .heads = heads };
	int rc = adopt_max_parallelism(a, &how.max_parallelism, err);

	if (rc != 0)
		return rc;
	how.head_cnt = weir_recovery_heads(a->restored, heads, WEIR_ARRAY_CNT(heads));
	if (how.head_cnt > 0 && ignores_in_flight(a))
		how.head_cnt = 0;
	if (how.head_cnt == 0 && how.max_parallelism == 0)
		return 0;
	if (weir_session_replan(a->session, &how) != 0)
		return weir_fail(err, WEIR_ERR_CONFIG, "there is no plan for it");
	a->plan = a->session->plan;
	if (how.head_cnt == 0)
		return 0;
	a->recovery = weir_recovery_create(a->plan, a->restored, err);
	return a->recovery == NULL ? err->code : 0;
}

static void
left_out(void *arg, const char *text)
{
	struct weir_attempt_run *a = arg;

	weir_worker_warning(a->link, "left out: %s", text);
}

/* Other checkpoints of the claimed one's folder that this run does not own: they may name files of
 * it. One that cannot be read may, too: then nothing is claimed. */
static int
find_beside(struct weir_attempt_run *a, struct weir_error *err)
{
	struct weir_path dir;
	struct weir_stored_ids ids;
	int rc = 0;

	if (weir_manifest_is_savepoint(a->claimed->kind))
		return 0;
	if (weir_layout_parent(&dir, a->launch->base, err) != 0 ||
	    weir_stored_ids(dir.text, &ids, err) != 0)
		return err->code;
	a->beside = calloc(ids.cnt + 1, sizeof(*a->beside));
	WEIR_ASSERT(a->beside != NULL);
	for (uint32_t i = 0; i < ids.cnt && rc == 0; i++) {
		struct weir_path chk;
		struct weir_manifest *m = NULL;

		if (ids.id[i] == a->claimed->checkpoint_id)
			continue;
		rc = weir_layout_checkpoint(&chk, dir.text, ids.id[i], err);
		if (rc == 0)
			rc = weir_stored_read(chk.text, &m, err);
		if (rc == 0 && strcmp(m->run_id, a->launch->run_id) != 0)
			a->beside[a->beside_cnt++] = m;
		else
			weir_manifest_destroy(m);
	}
	weir_stored_ids_free(&ids);
	return rc;
}

/* S6: what the run was restored from belongs to it, until newer checkpoints replace it. */
static void
find_claimed(struct weir_attempt_run *a)
{
	struct weir_error err;

	if (!a->session->cfg.restore_claim || a->launch->base == NULL || !a->checkpoints)
		return;
	/* An earlier attempt may have deleted it. */
	if (weir_stored_read(a->launch->base, &a->claimed, &err) != 0)
		return;
	if (find_beside(a, &err) == 0 &&
	    weir_stored_data_dir(a->launch->base, a->claimed, &a->claimed_data, &err) == 0)
		return;
	weir_worker_warning(a->link,
			    "restore.claim: %s is not claimed and stays, other checkpoints may "
			    "name files of it: %s",
			    a->launch->base, err.text);
	weir_manifest_destroy(a->claimed);
	a->claimed = NULL;
}

int
weir_attempt_find(struct weir_attempt_run *a, struct weir_error *err)
{
	const struct weir_restore_options options = {
		.allow_non_restored = a->session->cfg.restore_allow_non_restored_state,
		.left_out = left_out,
		.arg = a,
	};
	int rc = 0;

	a->next_id = a->launch->newest_id + 1;
	if (a->checkpoints) {
		uint64_t reserved = 0;

		rc = weir_job_dir_reserve_ids(a->job_dir.text, 0, &reserved, err);
		if (rc == 0 && reserved > a->next_id)
			a->next_id = reserved; /* C20: ids are never given twice */
	}
	if (rc == 0 && a->checkpoints)
		rc = find_own(a, err);
	if (rc == 0 && a->launch->restore != NULL) {
		rc = weir_stored_read(a->launch->restore, &a->restored, err);
		if (rc == WEIR_ERR_DATA)
			rc = weir_stored_name_older(a->launch->restore, err);
		if (rc == 0)
			rc = plan_for(a, err);
		if (rc == 0)
			rc = weir_restore_check(a->plan, a->restored, &options, err);
		if (rc == 0)
			rc = weir_stored_settle(a->launch->restore, err);
		if (rc != 0)
			return weir_error_prefix(err, "restore from %s", a->launch->restore);
		if (a->restored->checkpoint_id >= a->next_id)
			a->next_id = a->restored->checkpoint_id + 1; /* C20 */
	}
	if (rc == 0)
		find_claimed(a);
	return rc;
}

/* ---- data files ---- */

struct load {
	struct weir_runtime *rt;
	const struct weir_manifest *m;
	const struct weir_snap_file *files; /* one per file of the manifest */
};

static int
load_part(void *arg, const struct weir_snap_file *file, const struct weir_segment *seg,
	  const void *bytes, struct weir_error *err)
{
	const struct load *l = arg;

	return weir_restore_segment(l->rt, l->m, (uint32_t)(file - l->files), seg, bytes, err);
}

static int
by_offset(const void *a, const void *b)
{
	const struct weir_segment *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* All segments of file f, in order of offset. */
static struct weir_segment *
segments_of(const struct weir_manifest *m, uint32_t f, uint32_t *cnt)
{
	struct weir_segment *list = NULL;

	*cnt = 0;
	for (int pass = 0; pass < 2; pass++) {
		uint32_t n = 0;

		for (uint32_t o = 0; o < m->operator_cnt; o++)
			for (uint32_t s = 0; s < m->operators[o].subtask_cnt; s++)
				for (uint32_t i = 0; i < m->operators[o].subtasks[s].segment_cnt;
				     i++) {
					const struct weir_manifest_segment *g =
						&m->operators[o].subtasks[s].segments[i];

					if (g->file_idx != f)
						continue;
					if (pass == 1) {
						list[n] = g->seg;
						list[n].operator_idx = o;
						list[n].subtask = s;
					}
					n++;
				}
		if (pass == 0) {
			list = calloc(n + 1, sizeof(*list));
			WEIR_ASSERT(list != NULL);
		}
		*cnt = n;
	}
	qsort(list, *cnt, sizeof(*list), by_offset);
	return list;
}

static int
read_files(struct weir_attempt_run *a, struct weir_snap_reader *r,
	   const struct weir_snap_file *files, uint32_t cnt, struct weir_error *err)
{
	struct load load = { a->rt, a->restored, files };
	struct weir_io *io = a->host.control_io;
	enum weir_snap_read_state state = WEIR_SNAP_READ_IDLE;

	weir_snap_reader_begin(r, files, cnt, load_part, &load);
	while (state != WEIR_SNAP_READ_DONE && state != WEIR_SNAP_READ_FAILED) {
		struct weir_io_req *done[16];
		uint32_t got;

		state = weir_snap_reader_step(r);
		got = weir_io_harvest(io, done, 16);
		for (uint32_t i = 0; i < got; i++)
			weir_snap_reader_done(r, done[i]);
		if (got == 0 && io->in_flight > 0)
			weir_io_wait(io, 10);
	}
	if (state == WEIR_SNAP_READ_FAILED) {
		*err = *weir_snap_reader_error(r);
		return err->code;
	}
	return 0;
}

int
weir_attempt_restore(struct weir_attempt_run *a, struct weir_error *err)
{
	const struct weir_manifest *m = a->restored;
	struct weir_snap_file *files = calloc(m->file_cnt + 1, sizeof(*files));
	struct weir_path *paths = calloc(m->file_cnt + 1, sizeof(*paths));
	struct weir_path data_dir;
	void *staging = aligned_alloc(WEIR_PAGE, STAGING);
	const struct weir_snap_reader_config rc_cfg = { .io = a->host.control_io,
							.staging = staging,
							.staging_bytes = STAGING,
							.chunk_bytes = CHUNK };
	struct weir_snap_reader *r = weir_snap_reader_create(&rc_cfg, err);
	int rc = r == NULL ? err->code : 0;

	WEIR_ASSERT(files != NULL);
	WEIR_ASSERT(paths != NULL);
	if (rc == 0)
		rc = weir_restore_begin(a->rt, m, a->enumerators, a->enumerator_cnt, err);
	if (rc == 0)
		rc = weir_stored_data_dir(a->launch->restore, m, &data_dir, err);
	for (uint32_t f = 0; rc == 0 && f < m->file_cnt; f++) {
		struct weir_data_name name = { 0 };

		rc = weir_layout_in(&paths[f], data_dir.text, m->files[f].name, err);
		(void)weir_layout_parse_data_name(m->files[f].name, &name);
		files[f] = (struct weir_snap_file){
			.path = paths[f].text,
			.id = { .job_hash = weir_hash_bytes(m->job, strlen(m->job)),
				.attempt = name.attempt,
				.checkpoint = name.checkpoint_id,
				.core = name.core },
		};
		files[f].segs = segments_of(m, f, &files[f].seg_cnt);
	}
	if (rc == 0)
		rc = read_files(a, r, files, m->file_cnt, err);
	if (rc == 0)
		rc = weir_restore_end(a->rt, err);
	if (rc == WEIR_ERR_DATA)
		rc = weir_stored_name_older(a->launch->restore, err);
	for (uint32_t f = 0; f < m->file_cnt; f++)
		free((void *)(uintptr_t)files[f].segs);
	if (r != NULL)
		weir_snap_reader_destroy(r);
	free(staging);
	free(paths);
	free(files);
	return rc;
}

/* ---- output directory ---- */

static bool
is_pending(const struct weir_attempt_run *a, const char *name)
{
	/* The sinks commit what the checkpoint names. */
	for (uint32_t i = 0; i < a->plan->subtask_cnt; i++)
		if (a->rt->tasks[i].sink != NULL &&
		    weir_text_sink_names(a->rt->tasks[i].sink, name))
			return true;
	return false;
}

/* Who starts from the beginning would write rows that are there. */
static int
refuse_output(const struct weir_attempt_run *a, const char *name, struct weir_error *err)
{
	if (a->launch->run_attempt == 1)
		return weir_fail(err, WEIR_ERR_CONFIG,
				 "job.output %s holds another run's output (%s): name another "
				 "directory, or restore",
				 a->rt->cfg.output_dir, name);
	/* T35: an attempt without checkpoints failed while it committed. */
	return weir_fail(err, WEIR_ERR_CONFIG,
			 "job.output %s holds output that an earlier attempt of this run committed "
			 "(%s), and no checkpoint says what is missing: name another directory",
			 a->rt->cfg.output_dir, name);
}

int
weir_attempt_sweep_output(struct weir_attempt_run *a, struct weir_error *err)
{
	const char *dir = a->rt->cfg.output_dir;
	char prefix[WEIR_SINK_PATH_MAX];
	bool deleted = false;
	struct dirent *e;
	int rc = 0;
	DIR *d;

	if (a->rt->cfg.sink_mode != WEIR_SINK_FILES)
		return 0;
	d = opendir(dir);
	if (d == NULL)
		return weir_fail(err, WEIR_ERR_IO, "job.output %s: %s", dir, strerror(errno));
	snprintf(prefix, sizeof(prefix), WEIR_SINK_TEMP_PREFIX "%s-", a->rt->cfg.job_name);
	while ((e = readdir(d)) != NULL) {
		/* restore.from=latest that found none starts from the beginning, as
		 * restore.from=none does. */
		if (a->restored == NULL &&
		    strncmp(e->d_name, WEIR_SINK_FINAL_PREFIX, strlen(WEIR_SINK_FINAL_PREFIX)) == 0)
			rc = refuse_output(a, e->d_name, err);
		if (strncmp(e->d_name, prefix, strlen(prefix)) == 0 && !is_pending(a, e->d_name))
			deleted |= unlinkat(dirfd(d), e->d_name, 0) == 0;
	}
	/* A job that writes no row makes no name durable later on: a power loss would bring them
	 * back, for nobody to delete. */
	if (rc == 0 && deleted && fsync(dirfd(d)) != 0)
		rc = weir_fail(err, WEIR_ERR_IO, "fsync of job.output %s: %s", dir,
			       strerror(errno));
	closedir(d);
	return rc;
}

/*
 * The supervisor's view of the job's folder: what the run begins with, where an attempt restores
 * from, what stays when it is over.
 */
#include "app/supervisor_priv.h"

#include "drivers/store/store.h"

#include <stdio.h>
#include <string.h>

/* Where the next attempt restores from: the run's own newest, else what the run began with. */
int
weir_run_choose_restore(struct weir_supervisor *s, struct weir_error *err)
{
	struct weir_watched *a = &s->attempt;
	struct weir_path chk;

	snprintf(a->restore, sizeof(a->restore), "%s", s->base);
	if (!s->has_dir)
		return 0;
	if (weir_job_dir_newest(s->dir.path.text, &s->newest_id, err) != 0)
		return err->code;
	if (s->newest_id <= s->start_id)
		return 0;
	if (weir_layout_checkpoint(&chk, s->dir.path.text, s->newest_id, err) != 0)
		return err->code;
	snprintf(a->restore, sizeof(a->restore), "%s", chk.text);
	return 0;
}

/*
 * What no manifest names: data files and manifests under construction of attempts that crashed or
 * gave a checkpoint up, of this run or an earlier one, and what could not be deleted then (K10).
 * Nothing of a checkpoint is touched, whoever's it is.
 */
void
weir_run_clean_up(struct weir_supervisor *s)
{
	struct weir_error err;

	if (s->has_dir && weir_job_dir_sweep(&s->dir, 0, &err) != 0)
		weir_display_line(&s->display, "could not clean up: %s", err.text);
}

/* The attempt is over: what it left pending was completed if its manifest is there, else aborted.
 */
void
weir_run_settle(struct weir_supervisor *s)
{
	const uint64_t before = s->newest_id;
	struct weir_error err;

	/* A folder that cannot be read now is found out, with its error, when the next attempt
	 * starts. */
	if (s->has_dir && weir_job_dir_newest(s->dir.path.text, &s->newest_id, &err) != 0)
		s->newest_id = before;
	s->attempt.progressed |= s->newest_id > before;
	weir_report_attempt_over(&s->report, s->newest_id, "TASK_FAILURE");
}

/*
 * Names of two-phase sinks hold the attempt, and the checkpoint may name some that wait for their
 * commit. One that cannot be read is the worker's to refuse.
 */
static void
note_base_attempt(struct weir_supervisor *s)
{
	struct weir_manifest *m;
	struct weir_error ignored;

	if (s->base[0] == '\0' || weir_stored_read(s->base, &m, &ignored) != 0)
		return;
	s->base_attempt = m->attempt;
	weir_manifest_destroy(m);
}

/* restore.from: the checkpoint that the first attempt restores, if any. */
int
weir_run_resolve_restore(struct weir_supervisor *s, struct weir_error *err)
{
	const struct weir_config *cfg = &s->session->cfg;
	struct weir_path folder, chk;
	uint64_t newest = 0;
	int rc;

	if (strcmp(cfg->restore_from, "none") == 0)
		return 0;
	if (strcmp(cfg->restore_from, "latest") != 0) {
		if (strlen(cfg->restore_from) >= sizeof(s->base))
			return weir_fail(err, WEIR_ERR_CONFIG,
					 "restore.from: the path is too long");
		snprintf(s->base, sizeof(s->base), "%s", cfg->restore_from);
		note_base_attempt(s);
		return 0;
	}
	rc = weir_layout_job(&folder, cfg->checkpoint_dir, cfg->job_name, err);
	if (rc == 0)
		rc = weir_job_dir_newest(folder.text, &newest, err);
	if (rc == 0 && newest == 0)
		weir_display_line(&s->display, "no checkpoint in %s: starting from the beginning",
				  folder.text);
	if (rc == 0 && newest != 0)
		rc = weir_layout_checkpoint(&chk, folder.text, newest, err);
	if (rc == 0 && newest != 0)
		snprintf(s->base, sizeof(s->base), "%s", chk.text);
	note_base_attempt(s);
	return rc;
}

/* The history is for people: a run does not fail for it. */
static void
history_ends(struct weir_supervisor *s, const struct weir_error *err)
{
	weir_display_line(&s->display, "warning: the history of checkpoints ends here: %s",
			  err->text);
}

static void
note_ended(void *arg, json_t *entry)
{
	struct weir_supervisor *s = arg;
	struct weir_error err;

	if (weir_history_add(&s->history, entry, weir_supervisor_now_ns(), &err) != 0)
		history_ends(s, &err);
}

void
weir_run_step_history(struct weir_supervisor *s)
{
	struct weir_error err;

	if (weir_history_step(&s->history, weir_supervisor_now_ns(), &err) != 0)
		history_ends(s, &err);
}

int
weir_run_open_folder(struct weir_supervisor *s, struct weir_error *err)
{
	const struct weir_config *cfg = &s->session->cfg;
	int rc;

	if (cfg->checkpoint_interval == 0)
		return 0;
	rc = weir_job_dir_open(&s->dir, cfg->checkpoint_dir, cfg->job_name, err);
	if (rc != 0)
		return rc;
	s->has_dir = true;
	rc = weir_job_dir_newest(s->dir.path.text, &s->start_id, err);
	s->newest_id = s->start_id;
	s->launch.newest_id = s->start_id;
	if (rc == 0)
		rc = weir_history_open(&s->history, s->dir.path.text, s->launch.run_id, s->start_id,
				       err);
	s->report.ended = note_ended;
	s->report.ended_arg = s;
	return rc;
}

/* checkpoint.retention (S5): do this run's checkpoints stay after this end? */
static bool
retained(enum weir_cfg_retention retention, const char *state)
{
	const bool failed = strcmp(state, "FAILED") == 0;
	const bool cancelled = strcmp(state, "CANCELED") == 0;

	switch (retention) {
	case WEIR_CFG_RETAIN_NEVER:
		return false;
	case WEIR_CFG_RETAIN_ON_FAILURE:
		return failed;
	case WEIR_CFG_RETAIN_ON_CANCEL:
		return failed || cancelled;
	case WEIR_CFG_RETAIN_ALWAYS:
		break;
	}
	return true;
}

void
weir_run_apply_retention(struct weir_supervisor *s, const char *state)
{
	struct weir_error err;

	if (!s->has_dir || s->first_attempt == 0 ||
	    retained(s->session->cfg.checkpoint_retention, state))
		return;
	if (weir_job_dir_discard(&s->dir, s->start_id, s->first_attempt, &err) != 0)
		weir_display_line(&s->display, "checkpoints could not be deleted: %s", err.text);
}

#ifndef WEIR_APP_SUPERVISOR_PRIV_H
#define WEIR_APP_SUPERVISOR_PRIV_H

/* What the files of the supervisor share. One thread. */

#include "app/checkpoint/history.h"
#include "app/job_dir.h"
#include "app/link.h"
#include "app/progress.h"
#include "app/report.h"
#include "app/restart.h"
#include "app/session.h"
#include "app/supervisor_control.h"
#include "app/worker.h"

#include <sys/types.h>
#include <time.h>

/* What is known about the attempt that runs. */
struct weir_watched {
	pid_t pid;
	struct weir_link link;
	bool reaped;
	int status;	       /* of waitpid */
	int64_t running_ns;    /* 0: not RUNNING yet */
	bool progressed;       /* completed a checkpoint */
	char state[16];	       /* of the finished message; empty: none */
	struct weir_error err; /* of the error message; code 0: none */
	char restore[WEIR_PATH_MAX];
};

struct weir_supervisor {
	struct weir_session *session;
	struct weir_report report;
	struct weir_restart restart;
	struct weir_display display;
	struct weir_job_dir dir;
	bool has_dir;		     /* checkpoints are on */
	struct weir_history history; /* has_dir: of the folder */
	uint64_t start_id;	  /* newest checkpoint in the folder at the start; of older runs */
	uint64_t newest_id;	  /* now */
	uint64_t first_attempt;	  /* this run's first, of the folder's count */
	char base[WEIR_PATH_MAX]; /* checkpoint the run was restored from; empty: none */
	uint64_t base_attempt;	  /* that wrote it; 0: none */
	struct weir_launch launch;
	char malloc_conf[160];
	int config_fd;
	int signal_fd;
	int cancel_signal; /* SIGINT, SIGTERM; 0: nobody asked */
	int64_t kill_at_ns;
	struct weir_watched attempt;
	struct weir_run_control control;
};

/* Monotonic. */
static inline int64_t
weir_supervisor_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* supervisor.c: end the run as signal_number would: the first call cancels, a second does not wait.
 */
void weir_supervisor_cancel(struct weir_supervisor *s, int signal_number);

/* run_folder.c: make and lock the job's folder, find what it holds. */
WEIR_MUST_USE int weir_run_open_folder(struct weir_supervisor *s, struct weir_error *err);
/* run_folder.c: what restore.from means here: s->base. */
WEIR_MUST_USE int weir_run_resolve_restore(struct weir_supervisor *s, struct weir_error *err);
/* run_folder.c: where the next attempt restores from: s->attempt.restore. */
WEIR_MUST_USE int weir_run_choose_restore(struct weir_supervisor *s, struct weir_error *err);
/* run_folder.c: what a crashed attempt of this run left, and no manifest names. */
void weir_run_clean_up(struct weir_supervisor *s);
/* run_folder.c: the attempt is over: what of it counts? */
void weir_run_settle(struct weir_supervisor *s);
/* run_folder.c: make durable what of the history is due. */
void weir_run_step_history(struct weir_supervisor *s);
/* run_folder.c: checkpoint.retention (S5). */
void weir_run_apply_retention(struct weir_supervisor *s, const char *state);

/* run_report.c: can the report be written? Found out before the run, not after hours of it. */
WEIR_MUST_USE int weir_run_try_report(const char *path, struct weir_error *err);
/* run_report.c: table and report (path NULL: none). */
void weir_run_finish(struct weir_supervisor *s, int code, const char *state, const char *path);

#endif /* WEIR_APP_SUPERVISOR_PRIV_H */

#ifndef WEIR_APP_SESSION_H
#define WEIR_APP_SESSION_H

/*
 * weir_session: what every command that has to do with a job needs: configuration, machine, job and
 * plan, and the errors found in all of them, which are printed together in one pass. It is opened
 * by session_open.h.
 *
 * Threads:   start-up only. Ownership: open/close; the plan borrows the job, the job the plug-in.
 */

#include "engine/config/config.h"
#include "engine/config/params.h"
#include "engine/graph/plan.h"

struct weir_session {
	struct weir_config cfg;
	struct weir_params params; /* the job's view of cfg */
	struct weir_topology topo;
	char cpu_why[320];   /* why a CPU cannot be named */
	const char *job_arg; /* as given; NULL: none */
	char job_name[128];  /* the job's own name */
	char config_path[4096];
	void *plugin;
	weir_job_fn build;
	struct weir_job *job;
	struct weir_plan *plan;
	int code;	    /* exit code of what was found; 0: nothing */
	uint32_t other_cnt; /* errors of cfg whose code is not 78 */
};

void weir_session_close(struct weir_session *s);

/* Add an error with an exit code other than 78 at a key's place. */
void weir_session_error(struct weir_session *s, int code, enum weir_config_key key,
			const char *hint, const char *fmt, ...) WEIR_PRINTF(5, 6);

/* Print an error that has no key of its own. */
void weir_session_fail(struct weir_session *s, int code, const char *text);

/* Print what was found; the exit code. */
int weir_session_conclude(struct weir_session *s);

#endif /* WEIR_APP_SESSION_H */

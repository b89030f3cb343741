#ifndef WEIR_APP_SESSION_H
#define WEIR_APP_SESSION_H

/*
 * weir_session: what every command that has to do with a job needs: configuration, machine, job and
 * plan, each made as far as asked, with all errors printed together in one pass. The same code
 * serves check, plan, run and the worker, so what check accepts run accepts.
 *
 * Threads:   start-up only. Ownership: open/close; the plan borrows the job, the job the plug-in.
 */

#include "app/cli.h"
#include "engine/config/config.h"
#include "engine/config/params.h"
#include "engine/graph/plan.h"

enum weir_session_depth {
	WEIR_SESSION_CONFIG, /* configuration and CPUs */
	WEIR_SESSION_PLAN,   /* and, if a job is named, the job and its plan */
	WEIR_SESSION_CHECK,  /* and directories, files */
	WEIR_SESSION_RUN,    /* and what stands in the way of a start: another run's output */
};

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

/*
 * Open for cli's job (first argument, if any), --config and --set. Returns 0, or an exit code after
 * all errors were printed to standard error; close is needed in both cases.
 */
int weir_session_open(struct weir_session *s, const struct weir_cli *cli,
		      enum weir_session_depth depth);

/* The worker's way: the configuration's text, already checked by the supervisor. */
int weir_session_open_text(struct weir_session *s, const char *job, const char *text, size_t len);

/* What a checkpoint wants of the plan into which it is restored. */
struct weir_replan {
	const char *const *heads; /* operators that are the first of their task: frames in flight
				     wait in front of them (R3) */
	uint32_t head_cnt;
	uint32_t max_parallelism; /* R4; 0: as configured */
};
/* Once more the plan. Returns 0, or an exit code after the errors were printed. */
WEIR_MUST_USE int weir_session_replan(struct weir_session *s, const struct weir_replan *how);

void weir_session_close(struct weir_session *s);

/* Add an error with an exit code other than 78 at a key's place. */
void weir_session_error(struct weir_session *s, int code, enum weir_config_key key,
			const char *hint, const char *fmt, ...) WEIR_PRINTF(5, 6);

/* app/machine.c: directories and files that the keys name. start: also other runs' output. */
void weir_session_check_machine(struct weir_session *s, bool start);
/* The same of the job: a source that reads job.input has one. */
void weir_session_check_sources(struct weir_session *s);

/* app/machine.c: what the host lacks for the plan's speed, in one line; false if nothing. */
bool weir_session_preflight(const struct weir_session *s, char *text, size_t cap);

/* app/job_table.c: the job called name ("wordcount", "./job.so"); NULL after setting why. */
weir_job_fn weir_job_lookup(const char *name, void **plugin, char own_name[static 128], char *why,
			    size_t why_cap);

#endif /* WEIR_APP_SESSION_H */

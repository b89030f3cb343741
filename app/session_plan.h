#ifndef WEIR_APP_SESSION_PLAN_H
#define WEIR_APP_SESSION_PLAN_H

/*
 * A session's job, made by its plug-in, and the plan of it. Errors are added to the session's, at
 * the key that they are about.
 *
 * Threads: start-up only.
 */

#include "app/session.h"

/* What a checkpoint wants of the plan into which it is restored. */
struct weir_replan {
	const char *const *heads; /* operators that are the first of their task: frames in flight
				     wait in front of them (R3) */
	uint32_t head_cnt;
	uint32_t max_parallelism; /* R4; 0: as configured */
};

/* The job; s->job, even if it has mistakes. */
void weir_session_make_job(struct weir_session *s);
/* The plan; s->plan, NULL after an error. */
void weir_session_make_plan(struct weir_session *s, const struct weir_replan *how);

#endif /* WEIR_APP_SESSION_PLAN_H */

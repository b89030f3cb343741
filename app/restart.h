#ifndef WEIR_APP_RESTART_H
#define WEIR_APP_RESTART_H

/*
 * Restart strategies (R6): after a failed attempt, is there another, and when? Pure: time comes in.
 *
 *   none               no
 *   fixed-delay        restart.delay later, restart.attempts times
 *   failure-rate       restart.delay later, unless more than restart.max-failures fell within
 *                      restart.failure-interval
 *   exponential-delay  restart.initial-backoff later, then multiplied up to restart.max-backoff;
 *                      restart.attempts times in a row without progress
 *
 * Progress is a checkpoint completed by the attempt, or having run for restart.reset-after: a job
 * that gets on restarts at once however often it is killed, one that cannot (a full disk) does not
 * loop.
 */

#include "engine/config/config.h"

struct weir_restart {
	const struct weir_config *cfg; /* borrowed */
	uint64_t in_a_row;	       /* restarts since the last progress; fixed-delay: in all */
	int64_t backoff_ns;
	int64_t *failed_at; /* ring of the last restart.max-failures + 1 failures */
	uint64_t failure_cnt;
};

/* How an attempt ended. */
struct weir_attempt_end {
	int code;	 /* exit code; of a signal 70 */
	int64_t now_ns;	 /* monotonic */
	int64_t ran_ns;	 /* since it was RUNNING; 0 if it never was */
	bool progressed; /* completed a checkpoint */
};

void weir_restart_init(struct weir_restart *r, const struct weir_config *cfg);
void weir_restart_fini(struct weir_restart *r);

/* Restart? Then *delay_ns is how long to wait; else *why says in words why not. */
bool weir_restart_next(struct weir_restart *r, const struct weir_attempt_end *end,
		       int64_t *delay_ns, const char **why);

#endif /* WEIR_APP_RESTART_H */

#ifndef WEIR_APP_REPORT_H
#define WEIR_APP_REPORT_H

/*
 * The report of a run (`--report FILE`): what the supervisor learns from its attempts, kept from
 * the first to the last and written at the end, also of a run that failed.
 *
 * Threads:   the supervisor's one.
 * Ownership: JSON values given to it are borrowed for the call; what it keeps it references itself.
 * Limits:    the last 1000 checkpoints are listed, all are counted.
 */

#include "engine/config/config.h"

#include <jansson.h>

#define WEIR_REPORT_CHECKPOINTS_MAX 1000u
#define WEIR_REPORT_WARNINGS_MAX    4096u

struct weir_report {
	json_t *restored;    /* of the last attempt, or NULL */
	json_t *restores;    /* array */
	json_t *checkpoints; /* array, oldest first */
	uint64_t triggered, completed, failed, aborted;
	json_t *parts; /* operators, tasks, edges, … by name */
	json_t *warnings;
	uint32_t attempts;
	int64_t running_ns; /* monotonic, of the first RUNNING; 0: never */
	/* A checkpoint has ended: its entry of the list, and its `tasks`; or NULL. */
	void (*ended)(void *arg, json_t *entry);
	void *ended_arg;
};

/* What only the end knows. */
struct weir_report_end {
	const char *job;
	const char *name;
	const char *state; /* FINISHED, CANCELED, FAILED, SUSPENDED */
	int exit_code;
	int64_t now_ns; /* monotonic */
	const struct weir_config *cfg;
};

void weir_report_init(struct weir_report *r);
void weir_report_fini(struct weir_report *r);

/* An attempt begins: pending checkpoints of the one before are aborted first, see below. */
void weir_report_attempt(struct weir_report *r);
/* The attempt is RUNNING; restored: the message's object, NULL or null if from the beginning. */
void weir_report_running(struct weir_report *r, json_t *restored, int64_t now_ns);
/* A checkpoint's entry: new, or in the place of the one with its id. */
void weir_report_checkpoint(struct weir_report *r, json_t *entry);
/* The attempt is over: pending checkpoints up to newest_id are completed (their manifests are
 * there), the others aborted. */
void weir_report_attempt_over(struct weir_report *r, uint64_t newest_id, const char *reason);
void weir_report_statistics(struct weir_report *r, json_t *parts);
void weir_report_warning(struct weir_report *r, const char *text);

/* What --report writes; the caller's. */
json_t *weir_report_json(const struct weir_report *r, const struct weir_report_end *end);

#endif /* WEIR_APP_REPORT_H */

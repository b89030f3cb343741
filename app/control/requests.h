#ifndef WEIR_APP_CONTROL_REQUESTS_H
#define WEIR_APP_CONTROL_REQUESTS_H

/*
 * weir_requests: the commands that were asked, by request id, and their outcomes: what makes a
 * command idempotent.
 *
 * Threads: one. Ownership: the table owns what is in it; an entry is valid until the next add.
 * Limits:  WEIR_CONTROL_REQUESTS entries; the oldest that is settled makes room.
 * Failure: add returns NULL and says why.
 */

#include "app/control/command.h"

struct weir_request_entry {
	uint64_t number; /* from 1; never given twice */
	struct weir_control_command command;
	json_t *outcome; /* NULL: not yet */
};

struct weir_requests {
	struct weir_request_entry *list; /* oldest first */
	uint32_t cnt;
	uint64_t last;
};

/* The entry of the command's id: a new one, or (*known) the one that is there. */
const struct weir_request_entry *weir_requests_add(struct weir_requests *r,
						   const struct weir_control_command *command,
						   bool *known, struct weir_error *err);

/* The outcome of request number; references it. */
void weir_requests_settle(struct weir_requests *r, uint64_t number, json_t *outcome);

void weir_requests_fini(struct weir_requests *r);

#endif /* WEIR_APP_CONTROL_REQUESTS_H */

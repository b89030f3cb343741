#ifndef WEIR_APP_MACHINE_H
#define WEIR_APP_MACHINE_H

/*
 * What only the machine can say about a configuration; errors are added to the session's.
 *
 * Threads: start-up only.
 */

#include "app/session.h"

/* Directories and files that the keys name. start: also other runs' output. */
void weir_session_check_machine(struct weir_session *s, bool start);
/* The same of the job: a source that reads job.input has one. */
void weir_session_check_sources(struct weir_session *s);

/* What the host lacks for the plan's speed, in one line; false if nothing. */
bool weir_session_preflight(const struct weir_session *s, char *text, size_t cap);

#endif /* WEIR_APP_MACHINE_H */

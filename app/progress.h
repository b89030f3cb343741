#ifndef WEIR_APP_PROGRESS_H
#define WEIR_APP_PROGRESS_H

/*
 * What a person sees of a run on standard error: one line that is redrawn on a terminal, plain
 * lines in a pipe (one a second at most), and a table at the end.
 *
 * Threads:   the supervisor's one. Failure: output that cannot be written is not an error.
 */

#include "engine/base/base.h"

#include <jansson.h>

struct weir_display {
	bool terminal;
	bool drawn;	     /* a progress line stands on the terminal */
	int64_t last_ns;     /* of the last plain line */
	char checkpoint[96]; /* "checkpoint 12 done in 3 ms" */
};

void weir_display_init(struct weir_display *d);

/* A line of its own, above the progress line. */
void weir_display_line(struct weir_display *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The worker's progress and checkpoint messages. */
void weir_display_progress(struct weir_display *d, json_t *message, int64_t now_ns);
void weir_display_checkpoint(struct weir_display *d, json_t *entry);

/* The final table, from the report's object. */
void weir_display_table(struct weir_display *d, json_t *report, const char *checkpoint_dir);

#endif /* WEIR_APP_PROGRESS_H */

#ifndef WEIR_ENGINE_BASE_LOG_H
#define WEIR_ENGINE_BASE_LOG_H

/*
 * Log lines for people who run a job. The engine does no I/O: the program installs a writer, before
 * it starts any thread. Never called per record or per batch.
 */

#include "engine/base/base.h"

enum weir_log_level { WEIR_LOG_ERROR, WEIR_LOG_WARN, WEIR_LOG_INFO, WEIR_LOG_DEBUG };

/* line: no newline at its end, borrowed for the call. Called from any thread; must be re-entrant.
 */
typedef void (*weir_log_fn)(void *arg, enum weir_log_level level, const char *line);

/* Install the writer (NULL: drop everything). Not thread-safe: call before threads start. */
void weir_log_set(weir_log_fn fn, void *arg);

void weir_log(enum weir_log_level level, const char *fmt, ...) WEIR_PRINTF(2, 3);

#endif /* WEIR_ENGINE_BASE_LOG_H */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/scenarios/barrier.h"

void
event_log_add(struct event_log *log, const char *fmt, ...)
{
	va_list args;

	if (log->cnt == log->cap) {
		log->cap = log->cap == 0 ? 64 : log->cap * 2;
		log->text = realloc(log->text, log->cap * sizeof(*log->text));
		if (log->text == NULL)
			abort();
	}
	va_start(args, fmt);
	if (vasprintf(&log->text[log->cnt++], fmt, args) < 0)
		abort();
	va_end(args);
}

const char *
event_log_next(const struct event_log *log)
{
	return log->idx < log->cnt ? log->text[log->idx] : NULL;
}

void
event_log_skip(struct event_log *log)
{
	if (log->idx < log->cnt)
		log->idx++;
}

void
event_log_free(struct event_log *log)
{
	for (uint32_t i = 0; i < log->cnt; i++)
		free(log->text[i]);
	free(log->text);
	*log = (struct event_log){ 0 };
}

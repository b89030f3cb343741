#include "engine/base/log.h"

#include <stdarg.h>
#include <stdio.h>

static weir_log_fn log_fn;
static void *log_arg;

void
weir_log_set(weir_log_fn fn, void *arg)
{
	log_fn = fn;
	log_arg = arg;
}

void
weir_log(enum weir_log_level level, const char *fmt, ...)
{
	char line[1200];
	va_list ap;

	if (log_fn == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log_fn(log_arg, level, line);
}

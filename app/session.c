#include "app/session.h"

#include "drivers/topology/topology.h"
#include "engine/base/error.h"
#include "engine/graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void
to_stderr(void *arg, const char *text, size_t len)
{
	(void)arg;
	fwrite(text, 1, len, stderr);
}

void
weir_session_error(struct weir_session *s, int code, enum weir_config_key key, const char *hint,
		   const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	weir_config_error_key(&s->cfg, key, hint, "%s", text);
	if (code == WEIR_ERR_CONFIG)
		return; /* counts as the others do */
	s->other_cnt++;
	if (s->code == 0)
		s->code = code;
}

void
weir_session_fail(struct weir_session *s, int code, const char *text)
{
	fprintf(stderr, "weir: error: %s\n", text);
	if (s->code == 0 || code == WEIR_ERR_USAGE)
		s->code = code;
}

int
weir_session_conclude(struct weir_session *s)
{
	weir_config_errors_write(&s->cfg, to_stderr, NULL);
	/* Of several codes: usage, then configuration, then what came first. */
	if (s->code != WEIR_ERR_USAGE && s->cfg.error_cnt > s->other_cnt)
		s->code = WEIR_ERR_CONFIG;
	return s->code;
}

void
weir_session_close(struct weir_session *s)
{
	if (s->plan != NULL)
		weir_plan_destroy(s->plan);
	if (s->job != NULL)
		weir_job_destroy(s->job);
	weir_topology_fini(&s->topo);
	weir_config_fini(&s->cfg);
	/* The plug-in stays loaded: its code may be on a stack that has yet to unwind. */
	memset(s, 0, sizeof(*s));
}

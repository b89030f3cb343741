#include "app/worker_link.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Send message, which is consumed. */
static void
send_message(struct weir_worker_link *link, json_t *message)
{
	WEIR_ASSERT(message != NULL);
	(void)weir_link_send(&link->link, message);
	json_decref(message);
}

void
weir_worker_running(struct weir_worker_link *link, json_t *restored)
{
	send_message(link, json_pack("{s:s, s:o?}", "type", "running", "restored", restored));
}

void
weir_worker_progress(struct weir_worker_link *link, const struct weir_progress *p)
{
	send_message(link, json_pack("{s:s, s:I, s:f, s:i, s:f, s:f}", "type", "progress", "rows",
				     (json_int_t)p->rows, "rows_per_s", p->rows_per_s,
				     "busiest_cpu", (int)p->busiest_cpu, "busiest", p->busiest,
				     "back_pressured", p->back_pressured));
}

void
weir_worker_checkpoint(struct weir_worker_link *link, json_t *entry)
{
	send_message(link, json_pack("{s:s, s:o}", "type", "checkpoint", "entry", entry));
}

void
weir_worker_statistics(struct weir_worker_link *link, json_t *parts)
{
	send_message(link, json_pack("{s:s, s:o}", "type", "statistics", "parts", parts));
}

void
weir_worker_warning(struct weir_worker_link *link, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	send_message(link,
		     json_pack("{s:s, s:o}", "type", "warning", "text", weir_link_text(text)));
}

void
weir_worker_error(struct weir_worker_link *link, const struct weir_error *err)
{
	send_message(link, json_pack("{s:s, s:i, s:o}", "type", "error", "code", err->code, "text",
				     weir_link_text(err->text)));
}

void
weir_worker_finished(struct weir_worker_link *link, const char *state)
{
	send_message(link, json_pack("{s:s, s:s}", "type", "finished", "state", state));
}

static void
keep_command(struct weir_worker_link *link, json_t *message)
{
	if (link->commands == NULL)
		link->commands = json_array();
	json_array_append(link->commands, message);
}

bool
weir_worker_poll_cancel(struct weir_worker_link *link)
{
	json_t *message;

	while (!link->cancelled && (message = weir_link_receive(&link->link)) != NULL) {
		const char *type = json_string_value(json_object_get(message, "type"));

		link->cancelled = type != NULL && strcmp(type, "cancel") == 0;
		if (type != NULL && strcmp(type, "request") == 0)
			keep_command(link, message);
		json_decref(message);
	}
	return link->cancelled;
}

bool
weir_worker_take_command(struct weir_worker_link *link, struct weir_control_command *command,
			 uint64_t *number)
{
	json_t *message = link->commands != NULL ? json_array_get(link->commands, 0) : NULL;
	struct weir_error err;

	if (message == NULL)
		return false;
	*number = (uint64_t)json_integer_value(json_object_get(message, "number"));
	json_object_del(message, "type");
	json_object_del(message, "number");
	/* The supervisor parsed the same object. */
	WEIR_ASSERT(weir_command_parse(message, command, &err) == 0);
	json_array_remove(link->commands, 0);
	return true;
}

void
weir_worker_outcome(struct weir_worker_link *link, uint64_t number, json_t *outcome)
{
	send_message(link, json_pack("{s:s, s:I, s:o}", "type", "outcome", "number",
				     (json_int_t)number, "outcome", outcome));
}

int
weir_worker_link_fd(const struct weir_worker_link *link)
{
	return link->link.fd;
}

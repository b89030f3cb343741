#include "app/supervisor_control.h"

#include "app/control/place.h"
#include "app/supervisor_priv.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Answer asked[i] and forget it; outcome is consumed. */
static void
settle(struct weir_run_control *c, uint32_t i, json_t *outcome)
{
	weir_control_answer(c->server, c->asked[i].number, outcome);
	c->asked_cnt--;
	memmove(&c->asked[i], &c->asked[i + 1], (c->asked_cnt - i) * sizeof(c->asked[0]));
}

static void
refuse(struct weir_run_control *c, uint64_t number, const char *text)
{
	weir_control_answer(c->server, number,
			    weir_control_outcome(WEIR_ERR_UNAVAILABLE, 0, NULL, "", text));
}

static void
forward(struct weir_supervisor *s, struct weir_asked *a)
{
	json_t *message = weir_command_json(&a->command);

	json_object_set_new(message, "type", json_string("request"));
	json_object_set_new(message, "number", json_integer((json_int_t)a->number));
	a->forwarded = true;
	/* A worker that is gone answers nothing: weir_run_control_lost does. */
	(void)weir_link_send(&s->attempt.link, message);
	json_decref(message);
}

static void
on_command(void *arg, uint64_t number, const struct weir_control_command *command)
{
	struct weir_supervisor *s = arg;
	struct weir_run_control *c = &s->control;
	struct weir_asked *a;

	if (command->kind != WEIR_COMMAND_CANCEL && s->cancel_signal != 0) {
		refuse(c, number, "the job is being cancelled");
		return;
	}
	if (command->kind != WEIR_COMMAND_CANCEL && c->stopping) {
		refuse(c, number, "the job is being stopped");
		return;
	}
	WEIR_ASSERT(c->asked_cnt < WEIR_CONTROL_REQUESTS); /* the server has no more */
	a = &c->asked[c->asked_cnt++];
	*a = (struct weir_asked){ .number = number, .command = *command };
	c->stopping |= command->kind == WEIR_COMMAND_STOP;
	weir_display_line(&s->display, "asked to %s",
			  command->kind == WEIR_COMMAND_TRIGGER	    ? "take a checkpoint"
			  : command->kind == WEIR_COMMAND_SAVEPOINT ? "take a savepoint"
			  : command->kind == WEIR_COMMAND_STOP	    ? "stop with a savepoint"
								    : "cancel");
	if (command->kind == WEIR_COMMAND_CANCEL && s->cancel_signal == 0)
		weir_supervisor_cancel(s, SIGTERM);
	else if (command->kind != WEIR_COMMAND_CANCEL && s->attempt.running_ns != 0 &&
		 !s->attempt.reaped)
		forward(s, a);
}

void
weir_run_open_control(struct weir_supervisor *s)
{
	struct weir_run_control *c = &s->control;
	struct weir_error err = { 0 };
	struct weir_path path;
	char text[1200];
	int rc;

	c->asked = calloc(WEIR_CONTROL_REQUESTS, sizeof(*c->asked));
	WEIR_ASSERT(c->asked != NULL);
	rc = s->has_dir ? weir_control_path_job(&path, s->dir.path.text, &err)
			: weir_control_path_runtime(&path, s->session->cfg.job_name, (long)getpid(),
						    &err);
	if (rc == 0)
		c->server = weir_control_open(path.text, on_command, s, &err);
	if (c->server != NULL)
		return;
	snprintf(text, sizeof(text), "this run takes no commands: %s", err.text);
	weir_display_line(&s->display, "warning: %s", text);
	weir_report_warning(&s->report, text);
}

void
weir_run_control_running(struct weir_supervisor *s)
{
	struct weir_run_control *c = &s->control;

	for (uint32_t i = 0; i < c->asked_cnt; i++)
		if (c->asked[i].command.kind != WEIR_COMMAND_CANCEL && !c->asked[i].forwarded)
			forward(s, &c->asked[i]);
}

void
weir_run_control_outcome(struct weir_supervisor *s, json_t *message)
{
	struct weir_run_control *c = &s->control;
	const json_int_t number = json_integer_value(json_object_get(message, "number"));
	json_t *outcome = json_object_get(message, "outcome");
	const bool ok = json_is_true(json_object_get(outcome, "ok"));

	for (uint32_t i = 0; i < c->asked_cnt; i++) {
		const bool stop = c->asked[i].command.kind == WEIR_COMMAND_STOP;

		if ((json_int_t)c->asked[i].number != number || !c->asked[i].forwarded)
			continue;
		if (stop && ok) {
			/* S4: whether the tasks finish is seen at the end of the run. */
			c->saved = json_incref(outcome);
			c->saved_path = json_string_value(json_object_get(outcome, "path"));
			weir_display_line(&s->display, "savepoint %s", c->saved_path);
			return;
		}
		c->stopping &= !stop;
		settle(c, i, json_incref(outcome));
		return;
	}
}

void
weir_run_control_lost(struct weir_supervisor *s)
{
	struct weir_run_control *c = &s->control;

	for (uint32_t i = 0; i < c->asked_cnt;) {
		const enum weir_command_kind kind = c->asked[i].command.kind;

		if (!c->asked[i].forwarded || kind == WEIR_COMMAND_CANCEL ||
		    (kind == WEIR_COMMAND_STOP && c->saved != NULL)) {
			i++;
			continue;
		}
		c->stopping &= kind != WEIR_COMMAND_STOP;
		settle(c, i,
		       weir_control_outcome(WEIR_ERR_FAILED, 0, NULL, "TASK_FAILURE",
					    "the worker ended before it was done"));
	}
}

/* How a stop or cancel went, now that the run is over. */
static json_t *
last_word(const struct weir_run_control *c, enum weir_command_kind kind, int code,
	  const char *state)
{
	const bool cancelled = strcmp(state, "CANCELED") == 0;
	char text[160];

	snprintf(text, sizeof(text), "the job is %s, exit code %d", state, code);
	if (kind == WEIR_COMMAND_CANCEL)
		return weir_control_outcome(cancelled ? 0 : WEIR_ERR_FAILED, 0, NULL, "", text);
	if (kind == WEIR_COMMAND_STOP && c->saved != NULL) {
		const json_int_t id = json_integer_value(json_object_get(c->saved, "checkpoint"));

		/* S4: the savepoint is there, whatever became of the job. */
		return weir_control_outcome(code == 0 ? 0 : WEIR_ERR_FAILED, (uint64_t)id,
					    c->saved_path, "", text);
	}
	return weir_control_outcome(WEIR_ERR_UNAVAILABLE, 0, NULL, "", text);
}

void
weir_run_close_control(struct weir_supervisor *s, int code, const char *state)
{
	struct weir_run_control *c = &s->control;

	while (c->server != NULL && c->asked_cnt > 0)
		settle(c, 0, last_word(c, c->asked[0].command.kind, code, state));
	weir_control_close(c->server);
	c->server = NULL;
	json_decref(c->saved);
	c->saved = NULL;
	free(c->asked);
	c->asked = NULL;
}

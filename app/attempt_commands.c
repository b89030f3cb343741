/* Commands from outside: what the supervisor hands over becomes requests of the master. */
#include "app/attempt.h"

#include "app/control/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A command that the master has; freed when it is done. */
struct command {
	struct weir_attempt_run *a;
	uint64_t number;
};

static int
code_of(const struct weir_master_outcome *o)
{
	if (o->reason != WEIR_REASON_NONE && o->code != 0)
		return o->code;
	switch (o->reason) {
	case WEIR_REASON_NONE:
		return 0;
	case WEIR_REASON_IO_EXCEPTION:
	case WEIR_REASON_FINALIZE_CHECKPOINT_FAILURE:
		return WEIR_ERR_IO;
	case WEIR_REASON_NOT_ALL_REQUIRED_TASKS_RUNNING:
	case WEIR_REASON_TOO_MANY_CHECKPOINT_REQUESTS:
		return WEIR_ERR_UNAVAILABLE;
	default:
		return WEIR_ERR_FAILED;
	}
}

static void
done(void *arg, const struct weir_master_outcome *o)
{
	struct command *c = arg;
	const bool ok = o->reason == WEIR_REASON_NONE;

	weir_worker_outcome(c->a->link, c->number,
			    weir_control_outcome(code_of(o), o->id, o->path,
						 ok ? "" : weir_reason_text(o->reason), o->why));
	free(c);
}

static enum weir_request_kind
kind_of(const struct weir_control_command *c)
{
	switch (c->kind) {
	case WEIR_COMMAND_SAVEPOINT:
		return WEIR_REQUEST_SAVEPOINT;
	case WEIR_COMMAND_STOP:
		return c->drain ? WEIR_REQUEST_DRAIN : WEIR_REQUEST_SUSPEND;
	case WEIR_COMMAND_TRIGGER:
	case WEIR_COMMAND_CANCEL:
		break;
	}
	/* An incremental one is what the configuration gives, where it can (S6). */
	return c->checkpoint == WEIR_COMMAND_FULL ? WEIR_REQUEST_FULL : WEIR_REQUEST_CHECKPOINT;
}

/* Where the savepoint goes, absolute: outcomes name it. NULL: nobody says. */
static const char *
directory(const struct weir_attempt_run *a, const struct weir_control_command *c,
	  struct weir_path *path)
{
	const char *dir = a->session->cfg.savepoint_dir;
	char here[WEIR_PATH_MAX];

	if (c->directory[0] != '\0')
		return c->directory;
	if (dir == NULL || dir[0] == '/' || getcwd(here, sizeof(here)) == NULL)
		return dir;
	if (snprintf(path->text, sizeof(path->text), "%s/%s", here, dir) >= (int)sizeof(path->text))
		return dir;
	return path->text;
}

static void
start(struct weir_attempt_run *a, const struct weir_control_command *c, uint64_t number)
{
	struct weir_master_request request = { .kind = kind_of(c),
					       .native = !c->canonical,
					       .done = done };
	struct weir_path path;
	struct command *arg;

	if (weir_request_is_savepoint(request.kind)) {
		request.dir = directory(a, c, &path);
		if (request.dir == NULL) {
			weir_worker_outcome(
				a->link, number,
				weir_control_outcome(WEIR_ERR_CONFIG, 0, NULL, "",
						     "no directory is named and the run has no "
						     "savepoint.dir"));
			return;
		}
	}
	arg = calloc(1, sizeof(*arg));
	WEIR_ASSERT(arg != NULL);
	*arg = (struct command){ .a = a, .number = number };
	request.arg = arg;
	weir_master_request(a->master, &request);
}

void
weir_attempt_commands(struct weir_attempt_run *a)
{
	struct weir_control_command c;
	uint64_t number;

	while (weir_worker_take_command(a->link, &c, &number))
		start(a, &c, number);
}

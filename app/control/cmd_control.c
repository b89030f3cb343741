#include "app/control/cmd_control.h"

#include "app/control/client.h"
#include "app/session_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static int
usage(const char *text)
{
	fprintf(stderr, "weir: %s\n", text);
	return WEIR_ERR_USAGE;
}

/* --request-id, or a new one that nobody has used. */
static int
take_request_id(const struct weir_cli *cli, struct weir_control_command *c)
{
	const char *given = cli->value[WEIR_OPT_REQUEST_ID];
	uint64_t random = 0;

	if (given == NULL) {
		(void)!getrandom(&random, sizeof(random), 0);
		snprintf(c->request_id, sizeof(c->request_id), "%08lx%016llx", (long)getpid(),
			 (unsigned long long)random);
		return 0;
	}
	if (!weir_request_id_ok(given))
		return usage("--request-id is 1 to 64 letters, digits, '.', '_' or '-'");
	snprintf(c->request_id, sizeof(c->request_id), "%s", given);
	return 0;
}

/* The job may run in another directory: what it gets is absolute. */
static int
take_directory(const char *dir, struct weir_control_command *c)
{
	char here[WEIR_PATH_MAX];
	int len;

	if (dir == NULL)
		return 0;
	if (dir[0] == '\0')
		return usage("the savepoint's directory has no name");
	if (dir[0] != '/' && getcwd(here, sizeof(here)) == NULL)
		return usage("the current directory has no path");
	len = snprintf(c->directory, sizeof(c->directory), "%s%s%s", dir[0] == '/' ? "" : here,
		       dir[0] == '/' ? "" : "/", dir);
	if (len >= (int)sizeof(c->directory))
		return usage("the savepoint's directory has too long a path");
	return 0;
}

/* Two options that exclude each other: which one? The first holds if neither is given. */
static int
one_of(const struct weir_cli *cli, enum weir_option a, enum weir_option b, bool *second)
{
	if (cli->given[a] && cli->given[b])
		return usage("two options exclude each other; --help says which there are");
	*second = cli->given[b];
	return 0;
}

static void
print_outcome(const char *what, const json_t *outcome)
{
	const char *path = json_string_value(json_object_get(outcome, "path"));
	const char *reason = json_string_value(json_object_get(outcome, "reason"));
	const char *text = json_string_value(json_object_get(outcome, "text"));
	const json_t *id = json_object_get(outcome, "checkpoint");
	const bool ok = json_is_true(json_object_get(outcome, "ok"));

	if (!ok) {
		fprintf(stderr, "weir: %s failed: %s%s%s%s%s\n", what, reason != NULL ? reason : "",
			reason != NULL && reason[0] != '\0' && text != NULL && text[0] != '\0'
				? ": "
				: "",
			text != NULL ? text : "", path != NULL ? "; the savepoint is " : "",
			path != NULL ? path : "");
		return;
	}
	if (json_is_integer(id))
		printf("%lld ", (long long)json_integer_value(id));
	if (path != NULL)
		printf("%s\n", path);
	else
		printf("%s\n", text != NULL ? text : "");
}

static int
ask(const struct weir_cli *cli, const char *dir, const struct weir_control_command *c)
{
	struct weir_error err = { 0 };
	json_t *outcome = NULL;
	int fd, code;

	if (weir_control_connect(dir, cli->arg[0], &fd, &err) == 0)
		outcome = weir_control_ask(fd, c, &err);
	if (outcome == NULL) {
		fprintf(stderr, "weir: %s: %s\n", weir_command_name(c->kind), err.text);
		return err.code;
	}
	code = (int)json_integer_value(json_object_get(outcome, "code"));
	if (cli->given[WEIR_OPT_JSON]) {
		json_object_set_new(outcome, "request_id", json_string(c->request_id));
		json_dumpf(outcome, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		print_outcome(weir_command_name(c->kind), outcome);
	}
	json_decref(outcome);
	return fflush(stdout) == 0 ? code : WEIR_ERR_IO;
}

/* The job's name is the argument; where its folder is says its configuration. */
static int
run(const struct weir_cli *cli, struct weir_control_command *c)
{
	struct weir_cli config = *cli;
	struct weir_session session;
	int rc = take_request_id(cli, c);

	if (rc != 0)
		return rc;
	config.arg_cnt = 0; /* the job itself is not needed, nor its plug-in */
	rc = weir_session_open(&session, &config, WEIR_SESSION_CONFIG);
	if (rc == 0)
		rc = ask(cli,
			 session.cfg.checkpoint_dir != NULL ? session.cfg.checkpoint_dir
							    : "./weir-checkpoints",
			 c);
	weir_session_close(&session);
	return rc;
}

int
weir_cmd_trigger(const struct weir_cli *cli)
{
	struct weir_control_command c = { .kind = WEIR_COMMAND_TRIGGER };
	bool incremental = false;
	const int rc = one_of(cli, WEIR_OPT_FULL, WEIR_OPT_INCREMENTAL, &incremental);

	if (rc != 0)
		return rc;
	if (cli->given[WEIR_OPT_FULL])
		c.checkpoint = WEIR_COMMAND_FULL;
	else if (incremental)
		c.checkpoint = WEIR_COMMAND_INCREMENTAL;
	return run(cli, &c);
}

int
weir_cmd_savepoint(const struct weir_cli *cli)
{
	struct weir_control_command c = { .kind = WEIR_COMMAND_SAVEPOINT };
	int rc = one_of(cli, WEIR_OPT_NATIVE, WEIR_OPT_CANONICAL, &c.canonical);

	if (rc == 0)
		rc = take_directory(cli->arg_cnt > 1 ? cli->arg[1] : NULL, &c);
	return rc != 0 ? rc : run(cli, &c);
}

int
weir_cmd_stop(const struct weir_cli *cli)
{
	struct weir_control_command c = { .kind = WEIR_COMMAND_STOP };
	int rc = one_of(cli, WEIR_OPT_NATIVE, WEIR_OPT_CANONICAL, &c.canonical);

	if (rc == 0)
		rc = one_of(cli, WEIR_OPT_SUSPEND, WEIR_OPT_DRAIN, &c.drain);
	if (rc == 0)
		rc = take_directory(cli->value[WEIR_OPT_SAVEPOINT], &c);
	return rc != 0 ? rc : run(cli, &c);
}

int
weir_cmd_cancel(const struct weir_cli *cli)
{
	struct weir_control_command c = { .kind = WEIR_COMMAND_CANCEL };

	return run(cli, &c);
}

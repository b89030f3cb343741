#include "app/commands.h"

#include "app/config_json.h"
#include "app/machine.h"
#include "app/session_open.h"
#include "app/supervisor.h"
#include "engine/base/error.h"
#include "jobs/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
to_stdout(void *arg, const char *text, size_t len)
{
	(void)arg;
	fwrite(text, 1, len, stdout);
}

int
weir_cmd_run(const struct weir_cli *cli)
{
	struct weir_session session;
	int rc = weir_session_open(&session, cli, WEIR_SESSION_RUN);

	if (rc == 0)
		rc = weir_supervise(&session, cli->value[WEIR_OPT_REPORT]);
	weir_session_close(&session);
	return rc;
}

int
weir_cmd_plan(const struct weir_cli *cli)
{
	struct weir_session session;
	int rc = weir_session_open(&session, cli, WEIR_SESSION_PLAN);
	size_t len;
	char *text;

	if (rc == 0) {
		len = weir_plan_print(session.plan, NULL, 0);
		text = malloc(len + 1);
		WEIR_ASSERT(text != NULL);
		weir_plan_print(session.plan, text, len + 1);
		fputs(text, stdout);
		free(text);
	}
	weir_session_close(&session);
	return rc;
}

int
weir_cmd_check(const struct weir_cli *cli)
{
	struct weir_session session;
	int rc = weir_session_open(&session, cli, WEIR_SESSION_CHECK);
	char text[1024];

	for (uint32_t i = 0; rc == 0 && session.plan != NULL && i < session.plan->warning_cnt; i++)
		fprintf(stderr, "weir: warning: %s\n", session.plan->warning[i]);
	if (rc == 0 && session.plan != NULL && weir_session_preflight(&session, text, sizeof(text)))
		fprintf(stderr, "weir: warning: %s\n", text);
	if (rc == 0)
		fprintf(stderr, "weir: the configuration is good\n");
	weir_session_close(&session);
	return rc;
}

int
weir_cmd_show_config(const struct weir_cli *cli)
{
	struct weir_session session;
	int rc = weir_session_open(&session, cli, WEIR_SESSION_CONFIG);

	if (rc == 0 && cli->given[WEIR_OPT_JSON]) {
		json_t *json = weir_config_json(&session.cfg);

		json_dumpf(json, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(json);
	} else if (rc == 0) {
		weir_config_write(&session.cfg, WEIR_PRINT_ALL, to_stdout, NULL);
	}
	weir_session_close(&session);
	return rc;
}

int
weir_cmd_jobs(const struct weir_cli *cli)
{
	(void)cli;
	for (uint32_t i = 0; i < weir_builtin_job_cnt; i++)
		printf("%-12s  %s\n", weir_builtin_jobs[i].name, weir_builtin_jobs[i].help);
	return 0;
}

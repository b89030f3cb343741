#include "app/checkpoint/cmd_checkpoint.h"
#include "app/cli.h"
#include "app/commands.h"
#include "app/control/cmd_control.h"
#include "app/spawn.h"
#include "bench/bench.h"

/* The `weir` program: the table of its commands. */

#include <stdio.h>
#include <string.h>

static int cmd_help(const struct weir_cli *cli);
static int cmd_version(const struct weir_cli *cli);

static int
checkpoint_list(const struct weir_cli *cli)
{
	return weir_cmd_checkpoint_list(cli->arg[0], cli->given[WEIR_OPT_JSON]);
}

static int
checkpoint_history(const struct weir_cli *cli)
{
	return weir_cmd_checkpoint_history(cli->arg[0], cli->given[WEIR_OPT_JSON]);
}

static int
checkpoint_inspect(const struct weir_cli *cli)
{
	return weir_cmd_checkpoint_inspect(cli->arg[0]);
}

static int
checkpoint_verify(const struct weir_cli *cli)
{
	return weir_cmd_checkpoint_verify(cli->arg[0], cli->given[WEIR_OPT_JSON]);
}

#define CONFIG_OPTIONS (WEIR_OPT(CONFIG) | WEIR_OPT(SET) | WEIR_OPT(HELP))

static const char *const exit_codes[] = {
	"exit codes: 0 finished; 130, 143 cancelled by SIGINT, SIGTERM; 64 usage, unknown command "
	"or",
	"job; 65 bad data; 66 input not there; 69 unavailable (another run holds the job); 70 the "
	"job",
	"failed; 74 I/O; 78 configuration",
	NULL,
};

#define COMMAND_OPTIONS (CONFIG_OPTIONS | WEIR_OPT(REQUEST_ID) | WEIR_OPT(JSON))

static const char *const running_job[] = {
	"JOB is the job.name of the run. Its socket is found by checkpoint.dir (--set, --config, "
	"or",
	"./weir-checkpoints), of a run without checkpoints in $XDG_RUNTIME_DIR/weir or",
	"/tmp/weir-UID; of several runs of one name, JOB@PROCESS is one. The command waits and "
	"prints",
	"the outcome: number and path, or the reason why not.",
	"exit codes: 0 done; 64 usage; 69 no such job runs, or it cannot now; 70 it failed; 74 "
	"I/O;",
	"78 no directory for the savepoint. A run that is stopped ends with 0, a cancelled one "
	"with "
	"143.",
	NULL,
};

static const struct weir_command commands[] = {
	{ "run", NULL, "JOB", "run a job here", 1, 1, CONFIG_OPTIONS | WEIR_OPT(REPORT), exit_codes,
	  weir_cmd_run, NULL },
	{ "plan", NULL, "JOB", "show what would run where", 1, 1, CONFIG_OPTIONS, NULL,
	  weir_cmd_plan, NULL },
	{ "check", NULL, "[JOB]", "validate a configuration, and a job with it", 0, 1,
	  CONFIG_OPTIONS, NULL, weir_cmd_check, NULL },
	{ "show-config", NULL, "[JOB]", "the effective configuration and where each value is from",
	  0, 1, CONFIG_OPTIONS | WEIR_OPT(JSON), NULL, weir_cmd_show_config, NULL },
	{ "list", "checkpoint", "DIR",
	  "the checkpoints below a checkpoint.dir or of a job's folder", 1, 1,
	  WEIR_OPT(JSON) | WEIR_OPT(HELP), NULL, checkpoint_list, NULL },
	{ "history", "checkpoint", "DIR",
	  "the newest checkpoints that have ended, how and in which phases", 1, 1,
	  WEIR_OPT(JSON) | WEIR_OPT(HELP), NULL, checkpoint_history, NULL },
	{ "inspect", "checkpoint", "PATH", "what the manifest of a chk-n says, as JSON", 1, 1,
	  WEIR_OPT(JSON) | WEIR_OPT(HELP), NULL, checkpoint_inspect, NULL },
	{ "verify", "checkpoint", "PATH", "read and check every byte that a chk-n uses", 1, 1,
	  WEIR_OPT(JSON) | WEIR_OPT(HELP), NULL, checkpoint_verify, NULL },
	{ "trigger", NULL, "JOB", "a checkpoint of a running job, now", 1, 1,
	  COMMAND_OPTIONS | WEIR_OPT(FULL) | WEIR_OPT(INCREMENTAL), running_job, weir_cmd_trigger,
	  NULL },
	{ "savepoint", NULL, "JOB [DIR]", "a savepoint of a running job", 1, 2,
	  COMMAND_OPTIONS | WEIR_OPT(NATIVE) | WEIR_OPT(CANONICAL), running_job, weir_cmd_savepoint,
	  NULL },
	{ "stop", NULL, "JOB", "stop a running job with a savepoint", 1, 1,
	  COMMAND_OPTIONS | WEIR_OPT(SUSPEND) | WEIR_OPT(DRAIN) | WEIR_OPT(SAVEPOINT) |
		  WEIR_OPT(NATIVE) | WEIR_OPT(CANONICAL),
	  running_job, weir_cmd_stop, NULL },
	{ "cancel", NULL, "JOB", "end a running job at once", 1, 1, COMMAND_OPTIONS, running_job,
	  weir_cmd_cancel, NULL },
	{ "bench", NULL, "NAME", "weir against hand-written programs, in turns", 0, 1, 0, NULL,
	  NULL, weir_bench_main },
	{ "jobs", NULL, "", "the jobs that ship", 0, 0, WEIR_OPT(HELP), NULL, weir_cmd_jobs, NULL },
	{ "version", NULL, "", "the version of weir", 0, 0, WEIR_OPT(HELP), NULL, cmd_version,
	  NULL },
	{ "help", NULL, "[COMMAND]", "this list, or the help of a command", 0, 2, WEIR_OPT(HELP),
	  NULL, cmd_help, NULL },
};

static int
cmd_version(const struct weir_cli *cli)
{
	(void)cli;
	printf("weir %s\n", WEIR_VERSION);
	return 0;
}

static int
cmd_help(const struct weir_cli *cli)
{
	if (cli->arg_cnt > 0 && strcmp(cli->arg[0], "keys") == 0) {
		weir_print_keys();
		return 0;
	}
	return weir_cli_help(commands, (uint32_t)WEIR_ARRAY_CNT(commands), cli->arg[0],
			     cli->arg[1]);
}

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "_worker") == 0)
		return weir_worker_start(argc, argv);
	return weir_cli_main(argc, argv, commands, (uint32_t)WEIR_ARRAY_CNT(commands));
}

#ifndef WEIR_APP_CLI_H
#define WEIR_APP_CLI_H

/*
 * The command line: one table of commands and one of options, from which parsing, --help and the
 * list of `weir help` are made. A word that is not in them is an error with a suggestion (64).
 *
 * Threads:   start-up only. Ownership: everything points into argv and the tables.
 */

#include "engine/base/base.h"

#define WEIR_CLI_SETS_MAX 256u
#define WEIR_CLI_ARGS_MAX 2u

/* Options, as bits in weir_command.options. Columns of weir_cli_options in cli.c. */
enum weir_option {
	WEIR_OPT_CONFIG,
	WEIR_OPT_SET,
	WEIR_OPT_REPORT,
	WEIR_OPT_JSON,
	WEIR_OPT_FULL,
	WEIR_OPT_INCREMENTAL,
	WEIR_OPT_NATIVE,
	WEIR_OPT_CANONICAL,
	WEIR_OPT_SUSPEND,
	WEIR_OPT_DRAIN,
	WEIR_OPT_SAVEPOINT,
	WEIR_OPT_REQUEST_ID,
	WEIR_OPT_HELP,
	WEIR_OPT_CNT
};

#define WEIR_OPT(name) (1u << WEIR_OPT_##name)

struct weir_cli {
	const struct weir_command *command;
	const char *arg[WEIR_CLI_ARGS_MAX];
	uint32_t arg_cnt;
	const char *value[WEIR_OPT_CNT]; /* of options that take one; NULL: not given */
	bool given[WEIR_OPT_CNT];
	const char *set[WEIR_CLI_SETS_MAX];
	uint32_t set_cnt;
};

struct weir_command {
	const char *name;
	const char *group; /* NULL, or "checkpoint": a command of two words */
	const char *args;  /* for the usage line */
	const char *summary;
	uint32_t args_min, args_max;
	uint32_t options;	 /* WEIR_OPT(…) | … */
	const char *const *more; /* further lines of its help, NULL-terminated; or NULL */
	int (*run)(const struct weir_cli *cli); /* returns the exit code */
	/* Instead of run: reads its words itself, argv[0] is the command's name. */
	int (*raw)(int argc, char **argv);
};

/*
 * Find the command and its options in argv and run it. Prints usage errors. Returns the exit code.
 * commands: cnt of them, in the order of `weir help`.
 */
int weir_cli_main(int argc, char **argv, const struct weir_command *commands, uint32_t cnt);

/* Print the list of commands, or the help of the one in arg. */
int weir_cli_help(const struct weir_command *commands, uint32_t cnt, const char *name,
		  const char *second);

#endif /* WEIR_APP_CLI_H */

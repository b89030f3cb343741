#ifndef WEIR_APP_COMMANDS_H
#define WEIR_APP_COMMANDS_H

/* The commands of `weir`: each takes the parsed command line and returns the exit code. */

#include "app/cli.h"

int weir_cmd_run(const struct weir_cli *cli);
int weir_cmd_plan(const struct weir_cli *cli);
int weir_cmd_check(const struct weir_cli *cli);
int weir_cmd_show_config(const struct weir_cli *cli);
int weir_cmd_jobs(const struct weir_cli *cli);

/* app/keys.c: the table of configuration keys, for `weir help keys` and docs/configuration.md. */
void weir_print_keys(void);

#endif /* WEIR_APP_COMMANDS_H */

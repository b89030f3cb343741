#ifndef WEIR_APP_CONTROL_CMD_CONTROL_H
#define WEIR_APP_CONTROL_CMD_CONTROL_H

/* weir trigger, savepoint, stop, cancel: a command line sent to a running job, the outcome printed.
 */

#include "app/cli.h"

int weir_cmd_trigger(const struct weir_cli *cli);
int weir_cmd_savepoint(const struct weir_cli *cli);
int weir_cmd_stop(const struct weir_cli *cli);
int weir_cmd_cancel(const struct weir_cli *cli);

#endif /* WEIR_APP_CONTROL_CMD_CONTROL_H */

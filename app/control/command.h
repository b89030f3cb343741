#ifndef WEIR_APP_CONTROL_COMMAND_H
#define WEIR_APP_CONTROL_COMMAND_H

/*
 * weir_command: what somebody outside asks of a running job, and its form on the line:
 *
 *   {"command": "trigger", "request_id": "a", "checkpoint": "configured" | "full" | "incremental"}
 *   {"command": "savepoint", "request_id": "b", "format": "native" | "canonical", "directory": …}
 *   {"command": "stop", "request_id": "c", "end": "suspend" | "drain", "format": …, "directory": …}
 *   {"command": "cancel", "request_id": "d"}
 *
 * `directory` may be left out: savepoint.dir of the job's configuration. A field that is not named
 * here is refused: a command is never half understood.
 *
 * Threads: any. Ownership: plain values. Failure: parse returns WEIR_ERR_USAGE and says why.
 */

#include "engine/base/error.h"
#include "engine/checkpoint/layout.h"

#include <jansson.h>

#define WEIR_REQUEST_ID_MAX 64u

enum weir_command_kind {
	WEIR_COMMAND_TRIGGER,
	WEIR_COMMAND_SAVEPOINT,
	WEIR_COMMAND_STOP,
	WEIR_COMMAND_CANCEL,
};

enum weir_command_checkpoint {
	WEIR_COMMAND_CONFIGURED,
	WEIR_COMMAND_FULL,
	WEIR_COMMAND_INCREMENTAL,
};

struct weir_control_command {
	enum weir_command_kind kind;
	char request_id[WEIR_REQUEST_ID_MAX + 1];
	enum weir_command_checkpoint checkpoint; /* TRIGGER */
	bool canonical;				 /* SAVEPOINT, STOP; else native */
	bool drain;				 /* STOP; else suspend */
	char directory[WEIR_PATH_MAX]; /* SAVEPOINT, STOP: absolute; empty: savepoint.dir */
};

/* "trigger", "savepoint", "stop", "cancel" */
const char *weir_command_name(enum weir_command_kind kind);

/* May it be a request id? 1 to 64 letters, digits, '.', '_', '-'. */
bool weir_request_id_ok(const char *text);

/* The object of a command; the caller's. */
json_t *weir_command_json(const struct weir_control_command *command);

WEIR_MUST_USE int weir_command_parse(const json_t *json, struct weir_control_command *command,
				     struct weir_error *err);

/* Do both ask the same (their request ids apart)? */
bool weir_command_same(const struct weir_control_command *a, const struct weir_control_command *b);

#endif /* WEIR_APP_CONTROL_COMMAND_H */

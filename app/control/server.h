#ifndef WEIR_APP_CONTROL_SERVER_H
#define WEIR_APP_CONTROL_SERVER_H

/*
 * weir_control_server: the socket on which a running job takes commands: one line of JSON in, one
 * line of JSON out, then the connection ends.
 *
 *   connection -> line -> known request id?  yes: its outcome, now or when it is there
 *                                            no:  handler(number, command), later answer(number)
 *
 * So a command is idempotent by its request id: whoever lost the connection asks again with the
 * same id and gets the first one's outcome. A peer that dies, stalls, sends too much or nonsense
 * harms nobody: its connection goes.
 *
 * Threads:   one; nothing blocks. Ownership: outcomes given to answer are the server's afterwards.
 * Limits:    WEIR_CONTROL_PEERS connections, WEIR_CONTROL_LINE bytes a line, WEIR_CONTROL_PATIENCE
 *            until the line is there, the last WEIR_CONTROL_REQUESTS requests are remembered.
 * Failure:   open returns WEIR_ERR_IO or WEIR_ERR_CONFIG; afterwards only connections fail.
 */

#include "app/control/command.h"

#define WEIR_CONTROL_PEERS	 32u
#define WEIR_CONTROL_LINE	 8192u
#define WEIR_CONTROL_PATIENCE_NS INT64_C(10000000000)
#define WEIR_CONTROL_REQUESTS	 1000u

struct weir_control_server;

/* A new command; answer it now or later. */
typedef void (*weir_control_fn)(void *arg, uint64_t number,
				const struct weir_control_command *command);

/* Listen at path, mode 0600; what stands there already is a socket that a crash left. NULL: *err.
 */
struct weir_control_server *weir_control_open(const char *path, weir_control_fn handler, void *arg,
					      struct weir_error *err);

/* Gives up what is not answered; the socket's name goes. NULL is fine. */
void weir_control_close(struct weir_control_server *s);

/* Readable when step has something to do. */
int weir_control_fd(const struct weir_control_server *s);
/* When step has something to do without that: INT64_MAX: never. Monotonic ns. */
int64_t weir_control_due_ns(const struct weir_control_server *s);
void weir_control_step(struct weir_control_server *s, int64_t now_ns);

/* The outcome of a command: everybody who waits for it gets it, and whoever asks again. */
void weir_control_answer(struct weir_control_server *s, uint64_t number, json_t *outcome);

/* The object of an outcome; checkpoint 0, path NULL: none. code 0: it went well. */
json_t *weir_control_outcome(int code, uint64_t checkpoint, const char *path, const char *reason,
			     const char *text);

#endif /* WEIR_APP_CONTROL_SERVER_H */

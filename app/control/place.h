#ifndef WEIR_APP_CONTROL_PLACE_H
#define WEIR_APP_CONTROL_PLACE_H

/*
 * Where a running job's socket is.
 *
 *   with checkpoints    <checkpoint.dir>/<job.name>/control
 *   without             <runtime>/weir/<job.name>@<process>, a folder of mode 0700; <runtime> is
 *                       $XDG_RUNTIME_DIR, else /tmp with weir-<uid> for weir
 *
 * The lock of the job's folder keeps a second run out, so `control` is unique and what a crash left
 * may be replaced; in the runtime folder several runs of one name may be, told apart by their
 * process.
 *
 * Limits:    a path may be longer than a socket's address: then it is reached through
 * /proc/self/fd. Failure:   WEIR_ERR_IO, WEIR_ERR_CONFIG (a path that is too long for everything).
 */

#include "engine/base/error.h"
#include "engine/checkpoint/layout.h"

#include <sys/socket.h>
#include <sys/un.h>

/* "<job_dir>/control" */
WEIR_MUST_USE int weir_control_path_job(struct weir_path *path, const char *job_dir,
					struct weir_error *err);

/* The runtime folders in which a job without checkpoints may be; the first is where this process
 * makes its own. Returns how many. */
uint32_t weir_control_runtime(struct weir_path folder[static 2]);

/* "<runtime>/<job>@<pid>", of the job's name the first 60 bytes; makes the folder. */
WEIR_MUST_USE int weir_control_path_runtime(struct weir_path *path, const char *job, long pid,
					    struct weir_error *err);

/* The address of path, for bind or connect. *dir_fd is -1 or to be closed after the call. */
WEIR_MUST_USE int weir_control_address(const char *path, struct sockaddr_un *addr, int *dir_fd,
				       struct weir_error *err);

#endif /* WEIR_APP_CONTROL_PLACE_H */

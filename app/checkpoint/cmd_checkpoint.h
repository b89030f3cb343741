#ifndef WEIR_APP_CHECKPOINT_CMD_CHECKPOINT_H
#define WEIR_APP_CHECKPOINT_CMD_CHECKPOINT_H

/*
 * `weir checkpoint list DIR`, `history DIR`, `inspect PATH`, `verify PATH`: what lies in a
 * checkpoint folder, seen without a running job. Results go to standard output, errors to standard
 * error.
 *
 * Return the exit code: 0; 65 damaged (file, part and reason are named); 66 not there; 74 could not
 * be read.
 */

#include "engine/base/base.h"

/*
 * dir: a checkpoint.dir, or one job's folder in it. Oldest first. A damaged checkpoint is listed as
 * damaged with the reason, and is no error of the list. json: a list of { job, id, path, status:
 * "ok" | "damaged", reason, kind, trigger_ms, attempt, run_id, operators, bytes }.
 */
int weir_cmd_checkpoint_list(const char *dir, bool json);

/*
 * dir as above. The newest checkpoints that have ended, of every job, whatever became of them, with
 * their phases (app/checkpoint/history.h); json: all that is known of them.
 */
int weir_cmd_checkpoint_history(const char *dir, bool json);

/*
 * path: a chk-<n>. Everything that its manifest says, as JSON, and `files`: [ { path, offset, bytes
 * }
 * ], every byte range of data files that the checkpoint uses, padding included, paths absolute.
 */
int weir_cmd_checkpoint_inspect(const char *path);

/* path: a chk-<n>. Every byte that it uses is read and checked. json: { path, ok, reason, ... }. */
int weir_cmd_checkpoint_verify(const char *path, bool json);

#endif /* WEIR_APP_CHECKPOINT_CMD_CHECKPOINT_H */

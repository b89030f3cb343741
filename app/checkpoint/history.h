#ifndef WEIR_APP_CHECKPOINT_HISTORY_H
#define WEIR_APP_CHECKPOINT_HISTORY_H

/*
 * The history of a job's checkpoints (K16): the newest that have ended, with the phases of every
 * subtask, in the file `history` of the job's folder, so that it outlives worker and supervisor.
 *
 *   one JSON object per line, as in the report's list, with `run_id` and `tasks`: [ { id,
 *   parallelism, start_delay_ms, alignment_ms, sync_ms, async_ms (the longest of its subtasks),
 *   processed_bytes, persisted_bytes, bytes, full_bytes (the sum), unaligned, subtasks: [ the same
 *   of each that has acknowledged, and `subtask` ] } ]
 *
 * Lines are appended, and the file is written anew when it has many more than are shown: under a
 * temporary name that replaces the old one once it is durable. What is appended becomes durable by
 * _step, at most WEIR_HISTORY_LAG_NS later, for all lines since the last time at once: no
 * checkpoint waits for it, and many a second cost no more than one. A line that does not parse is
 * left out: the last one of a killed supervisor, or of a power loss, may be torn.
 *
 * Threads:   the supervisor's one; a reader in another process.
 * Cost:      _open, _step and _close wait for the disk, _add only when it writes the file anew.
 * Failure:   _add and _step return an error when the file cannot be written any more, and none from
 *            then on; the list in memory goes on.
 */

#include "engine/base/error.h"
#include "engine/checkpoint/layout.h"

#include <jansson.h>

#define WEIR_HISTORY_SHOWN  10u
#define WEIR_HISTORY_LAG_NS INT64_C(1000000000)

struct weir_history {
	struct weir_path folder, path, tmp;
	const char *run_id;
	int fd;	      /* -1: it cannot be written */
	json_t *list; /* at most WEIR_HISTORY_SHOWN, oldest first; NULL: not open */
	uint32_t line_cnt;
	int64_t due_ns; /* when what was appended is to be durable; 0: it is */
};

/* folder: <checkpoint.dir>/<job>, locked by this run. newest_id: of the folder's checkpoints; one
 * that ended when nobody could note it any more is taken from its manifest. */
WEIR_MUST_USE int weir_history_open(struct weir_history *h, const char *folder, const char *run_id,
				    uint64_t newest_id, struct weir_error *err);
void weir_history_close(struct weir_history *h);

/* A checkpoint has ended; the newest entry of an id counts. */
WEIR_MUST_USE int weir_history_add(struct weir_history *h, const json_t *entry, int64_t now_ns,
				   struct weir_error *err);

/* When _step has something to do; INT64_MAX: nothing. Of a history that is not open, too. */
int64_t weir_history_due_ns(const struct weir_history *h);
WEIR_MUST_USE int weir_history_step(struct weir_history *h, int64_t now_ns, struct weir_error *err);

/* What is shown of a folder, oldest first; the caller's. None: an empty list. */
WEIR_MUST_USE int weir_history_read(const char *folder, json_t **list, struct weir_error *err);

#endif /* WEIR_APP_CHECKPOINT_HISTORY_H */

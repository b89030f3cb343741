#ifndef WEIR_APP_JOB_DIR_H
#define WEIR_APP_JOB_DIR_H

/*
 * The supervisor's side of <checkpoint.dir>/<job.name>: the lock that keeps a second run out, the
 * attempt counter that outlives every run, and which checkpoint is the newest. Layout:
 * engine/checkpoint/layout.h.
 *
 * Threads:   one. The lock is held through an open file that the worker inherits: it is free when
 *            both are gone, never before.
 * Cost:      system calls at the start of a run and of each attempt.
 * Failure:   WEIR_ERR_IO, WEIR_ERR_UNAVAILABLE when another run holds the lock.
 */

#include "engine/base/error.h"
#include "engine/checkpoint/layout.h"

struct weir_job_dir {
	struct weir_path path; /* <checkpoint.dir>/<job.name> */
	int lock_fd;	       /* -1: not locked */
};

/* Make the folder and lock it; waits up to two seconds for a predecessor that is dying. */
WEIR_MUST_USE int weir_job_dir_open(struct weir_job_dir *dir, const char *checkpoint_dir,
				    const char *job, struct weir_error *err);
void weir_job_dir_close(struct weir_job_dir *dir);

/* Count one more attempt, durably; *attempt is its number, from 1, and above `above`: that of a
 * checkpoint from elsewhere, whose names must not come again. */
WEIR_MUST_USE int weir_job_dir_next_attempt(struct weir_job_dir *dir, uint64_t above,
					    uint64_t *attempt, struct weir_error *err);

/* C20: ids below next_id may be given from now on, durably; *reserved is what the file then says
 * (more, if it said more; next_id 0 only asks). folder: <checkpoint.dir>/<job.name>, locked by this
 * run. */
WEIR_MUST_USE int weir_job_dir_reserve_ids(const char *folder, uint64_t next_id, uint64_t *reserved,
					   struct weir_error *err);

/* Id of the newest chk-<n> with a manifest below path; 0: there is none. A folder that is not there
 * holds none; one that cannot be read is an error (S8). */
WEIR_MUST_USE int weir_job_dir_newest(const char *path, uint64_t *id, struct weir_error *err);

/* Delete what a crash left: data files of attempts from first_attempt on that no manifest names.
 * Only while no worker runs. A failure is no more than a line for the log (K10). */
WEIR_MUST_USE int weir_job_dir_sweep(const struct weir_job_dir *dir, uint64_t first_attempt,
				     struct weir_error *err);

/* checkpoint.retention: delete this run's checkpoints, those above above_id, and their data. */
WEIR_MUST_USE int weir_job_dir_discard(const struct weir_job_dir *dir, uint64_t above_id,
				       uint64_t first_attempt, struct weir_error *err);

#endif /* WEIR_APP_JOB_DIR_H */

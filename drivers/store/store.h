#ifndef WEIR_DRIVERS_STORE_STORE_H
#define WEIR_DRIVERS_STORE_STORE_H

/*
 * weir_stored: the checkpoints that lie in a folder, for whoever looks before a job runs or without
 * one: restore, the offline commands, cleaning up. Layout: engine/checkpoint/layout.h (S12).
 *
 * What counts is the manifest: `chk-<n>` without one is nothing, files that no manifest names are
 * nothing (section 0). Nothing here writes, except weir_stored_sweep, which deletes.
 *
 * Threads:   none of its own; not for core threads.
 * Cost:      synchronous system calls, one small read per manifest; data files are only looked at
 *            from outside (there, and as long as the manifest says), never read.
 * Failure:   WEIR_ERR_IO: could not be read (S8: then nothing is known; it is never taken for
 * "none"). WEIR_ERR_DATA: damaged; err names file, part and reason. WEIR_ERR_NOINPUT: not there. A
 * failed call leaves its outputs as they were.
 */

#include "engine/base/error.h"
#include "engine/checkpoint/layout.h"
#include "engine/checkpoint/manifest.h"

/* The ids of a job's folder that have a manifest, ascending. */
struct weir_stored_ids {
	uint64_t *id; /* owned */
	uint32_t cnt;
};

/* A folder that is not there holds none. Give back with weir_stored_ids_free. */
WEIR_MUST_USE int weir_stored_ids(const char *job_dir, struct weir_stored_ids *ids,
				  struct weir_error *err);
void weir_stored_ids_free(struct weir_stored_ids *ids);

/* Names of the jobs' folders in a checkpoint.dir, sorted: owned, as weir_stored_jobs_free. */
struct weir_stored_jobs {
	char **name;
	uint32_t cnt;
};

/* WEIR_ERR_NOINPUT: there is no such folder. */
WEIR_MUST_USE int weir_stored_jobs(const char *dir, struct weir_stored_jobs *jobs,
				   struct weir_error *err);
void weir_stored_jobs_free(struct weir_stored_jobs *jobs);

/* Does this folder look like a job's (it holds `data` or a chk-<n>)? */
bool weir_stored_is_job(const char *path);

/*
 * The manifest of the checkpoint or savepoint at chk_dir, checked as far as it goes without reading
 * data files: bytes and promises of the manifest, that it stands under its own number (a savepoint
 * may be called anything), and that every data file is there with its length. *m is the caller's:
 * weir_manifest_destroy.
 */
WEIR_MUST_USE int weir_stored_read(const char *chk_dir, struct weir_manifest **m,
				   struct weir_error *err);

/* Where the data files of the checkpoint or savepoint at path lie (S12). */
WEIR_MUST_USE int weir_stored_data_dir(const char *path, const struct weir_manifest *m,
				       struct weir_path *data_dir, struct weir_error *err);

/* The savepoints in a directory, by name: owned, as weir_stored_jobs_free. */
WEIR_MUST_USE int weir_stored_savepoints(const char *dir, struct weir_stored_jobs *names,
					 struct weir_error *err);

/*
 * R11: the newest checkpoint of a job's folder. None at all: 0 and *m NULL. If it is damaged it is
 * refused, and err names the next older one; nobody falls back to that by himself. chk_dir takes
 * its path.
 */
WEIR_MUST_USE int weir_stored_latest(const char *job_dir, struct weir_manifest **m,
				     struct weir_path *chk_dir, struct weir_error *err);

/*
 * R11: the checkpoint at chk_dir was refused with *err: say behind it which one is the next older.
 * Returns err->code.
 */
int weir_stored_name_older(const char *chk_dir, struct weir_error *err);

/*
 * Make the names that lead to a checkpoint durable. Whoever restores from it commits output: its
 * writer may have been killed between rename and fsync, and a power loss must not take the
 * checkpoint back when the output is there. A file system that is read-only needs nothing.
 */
WEIR_MUST_USE int weir_stored_settle(const char *chk_dir, struct weir_error *err);

/*
 * Delete what a crash has left of this run: data files of attempts from first_attempt on that no
 * manifest in the folder names, and chk-<n> without a manifest. K10: if any manifest cannot be
 * read, what it names is unknown, and nothing is deleted. Only while the job's lock is held and
 * nothing writes. *deleted counts files.
 */
WEIR_MUST_USE int weir_stored_sweep(const char *job_dir, uint64_t first_attempt, uint32_t *deleted,
				    struct weir_error *err);

#endif /* WEIR_DRIVERS_STORE_STORE_H */

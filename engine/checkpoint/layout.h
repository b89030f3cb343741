#ifndef WEIR_ENGINE_CHECKPOINT_LAYOUT_H
#define WEIR_ENGINE_CHECKPOINT_LAYOUT_H

/*
 * Where checkpoints lie (S12). Pure text: no file is touched here.
 *
 *   <dir>/<job>/                     the job's folder
 *     lock                           locked while a run lives
 *     counters                       next checkpoint id and last attempt; outlive every run (C20)
 *     run                            id of the run that wrote last
 *     chk-<n>/manifest               checkpoint n exists if and only if this file does
 *     chk-<n>/.manifest              the manifest under construction
 *     data/<attempt>-<n>-<core>.dat  data file of one core; used by n and by later checkpoints
 *     control                        socket of the run under way (app/control)
 *
 *   <savepoint dir>/savepoint-<n>-<random>/    whole in itself: may be moved and renamed (S1)
 *     manifest, .manifest, <attempt>-<n>-<core>.dat
 *
 * Numbers are decimal without leading zeros, so every name has one spelling.
 *
 * Cost:    formats text. Limits: a path, its end included, has at most WEIR_PATH_MAX bytes.
 * Failure: path builders return WEIR_ERR_CONFIG when the path is too long and leave buf empty;
 *          parsers return false and change nothing.
 */

#include "engine/base/error.h"

#define WEIR_PATH_MAX	      1024u
#define WEIR_DATA_NAME_MAX    80u
#define WEIR_COUNTERS_MAX     128u
#define WEIR_LAYOUT_MANIFEST  "manifest"
#define WEIR_LAYOUT_TEMPORARY ".manifest"

struct weir_path {
	char text[WEIR_PATH_MAX];
};

/* May the job be called that? Not empty, no '/', not beginning with '.', at most 255 bytes. */
bool weir_layout_job_ok(const char *job);

/* What a data file's header says of its job. */
uint64_t weir_layout_job_hash(const char *job);

/* "<dir>/<job>" */
WEIR_MUST_USE int weir_layout_job(struct weir_path *buf, const char *dir, const char *job,
				  struct weir_error *err);
/* "<job_dir>/chk-<n>" */
WEIR_MUST_USE int weir_layout_checkpoint(struct weir_path *buf, const char *job_dir, uint64_t id,
					 struct weir_error *err);
/* "<chk_dir>/manifest", and the temporary name that becomes it */
WEIR_MUST_USE int weir_layout_manifest(struct weir_path *buf, const char *chk_dir,
				       struct weir_error *err);
WEIR_MUST_USE int weir_layout_manifest_tmp(struct weir_path *buf, const char *chk_dir,
					   struct weir_error *err);
/* "<job_dir>/data", and a file in it */
WEIR_MUST_USE int weir_layout_data_dir(struct weir_path *buf, const char *job_dir,
				       struct weir_error *err);
WEIR_MUST_USE int weir_layout_data(struct weir_path *buf, const char *job_dir, const char *name,
				   struct weir_error *err);
/* "<dir>/savepoint-<n>-<random>", random as 12 hex digits; and a file in a savepoint */
WEIR_MUST_USE int weir_layout_savepoint(struct weir_path *buf, const char *dir, uint64_t id,
					uint64_t random, struct weir_error *err);
WEIR_MUST_USE int weir_layout_in(struct weir_path *buf, const char *dir, const char *name,
				 struct weir_error *err);
/* "<job_dir>/history", and the temporary name that becomes it */
WEIR_MUST_USE int weir_layout_history(struct weir_path *buf, const char *job_dir,
				      struct weir_error *err);
WEIR_MUST_USE int weir_layout_history_tmp(struct weir_path *buf, const char *job_dir,
					  struct weir_error *err);
/* "<job_dir>/counters", "<job_dir>/lock" */
WEIR_MUST_USE int weir_layout_counters(struct weir_path *buf, const char *job_dir,
				       struct weir_error *err);
WEIR_MUST_USE int weir_layout_lock(struct weir_path *buf, const char *job_dir,
				   struct weir_error *err);

/* The folder above: "<job_dir>" of a chk-<n>. Trailing slashes are no part. */
WEIR_MUST_USE int weir_layout_parent(struct weir_path *buf, const char *path,
				     struct weir_error *err);
/* Last component of a path without trailing slashes; buf takes it. */
WEIR_MUST_USE int weir_layout_base(struct weir_path *buf, const char *path, struct weir_error *err);

/* A data file's name and its parts. */
struct weir_data_name {
	uint64_t attempt;
	uint64_t checkpoint_id;
	uint32_t core;
};

void weir_layout_data_name(char buf[static WEIR_DATA_NAME_MAX], const struct weir_data_name *name);
bool weir_layout_parse_data_name(const char *text, struct weir_data_name *name);

/* "chk-<n>" */
bool weir_layout_parse_checkpoint(const char *name, uint64_t *id);

/* What outlives a run: ids and attempts only grow (C20; R8: attempts are in file names). */
struct weir_counters {
	uint64_t next_id;      /* >= 1: no checkpoint with this id or a higher one was started */
	uint64_t last_attempt; /* 0: none yet */
};

/* The text of the file, its length. */
size_t weir_counters_print(char buf[static WEIR_COUNTERS_MAX],
			   const struct weir_counters *counters);
bool weir_counters_parse(const char *text, size_t len, struct weir_counters *counters);

#endif /* WEIR_ENGINE_CHECKPOINT_LAYOUT_H */

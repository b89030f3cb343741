#ifndef WEIR_ENGINE_OPERATORS_TEXT_SINK_H
#define WEIR_ENGINE_OPERATORS_TEXT_SINK_H

/*
 * weir_text_sink: rows as lines of text, into files exactly once (R8), to standard output, or
 * nowhere.
 *
 *   <output>/.part-<job>-<attempt>-<sink>-<subtask>-<seq>   being written, or waiting for its
 * checkpoint <output>/part-<sink>-<subtask>-<epoch>                  committed; epoch: the
 * checkpoint that covers it
 *
 *   rows -> buffer -> write ... | snapshot(n): flush, fsync = pre-commit, the file is named in the
 * snapshot | complete(n): rename without replace, fsync of the directory
 *
 * An aborted checkpoint's file stays and is committed with the next one that completes ("everything
 * <= n", R7); after a restore what the snapshot names is committed again, which changes nothing if
 * it was before.
 *
 * Threads:   one core. All file work goes through the core's weir_io; harvested requests whose user
 * pointer is the sink come back by weir_text_sink_done. Ownership: create takes all memory:
 * WEIR_SINK_BUFFERS buffers. Cost: no allocation, no system call of its own. Failure:   an I/O
 * error is kept in error and fails the task; the file stays what it was before.
 */

#include "engine/io.h"
#include "engine/operators/ctx.h"
#include "weir/connector.h"

#define WEIR_SINK_BUFFERS      4u
#define WEIR_SINK_BUFFER_BYTES (512u * 1024)
#define WEIR_SINK_PENDING_MAX  256u
#define WEIR_SINK_PATH_MAX     1024u

enum weir_sink_mode { WEIR_SINK_FILES, WEIR_SINK_STDOUT, WEIR_SINK_NULL };

struct weir_text_sink_config {
	enum weir_sink_mode mode;
	const char *dir; /* FILES; borrowed for the sink's life */
	const char *job;
	const char *id; /* of the operator */
	uint32_t subtask;
	uint64_t attempt;
	weir_format_fn format;
	uint64_t rate; /* rows per second of this subtask, 0: as fast as it goes */
	bool latency;  /* record when stamped rows arrive */
	void (*warn)(void *arg, const char *text); /* from the core; or NULL */
	void *warn_arg;
};

/* A file that a checkpoint covers; these bytes stand in the snapshot. */
struct weir_sink_pending {
	uint64_t epoch;
	uint64_t attempt; /* that wrote it */
	uint64_t seq;
	uint64_t subtask; /* that wrote it; its name stays when the parallelism changes */
};

struct weir_text_sink;

struct weir_text_sink *weir_text_sink_create(const struct weir_text_sink_config *config,
					     struct weir_io *io);
void weir_text_sink_destroy(struct weir_text_sink *sink);

/* Is there room for a batch, whatever it holds, and does the rate allow it? */
bool weir_text_sink_ready(struct weir_text_sink *sink, int64_t now_ns);

/* Take the selected rows. */
WEIR_MUST_USE int weir_text_sink_write(struct weir_text_sink *sink, const struct weir_batch *in,
				       int64_t now_ns);

/* Input has paused: hand the lines to the disk (standard output only). */
void weir_text_sink_idle(struct weir_text_sink *sink);

/* The cut of checkpoint epoch: all lines so far belong to it. Fills pending with what the snapshot
 * must name. */
uint32_t weir_text_sink_snapshot(struct weir_text_sink *sink, uint64_t epoch,
				 struct weir_sink_pending pending[WEIR_SINK_PENDING_MAX]);
/* Is all that was snapshot durable? */
bool weir_text_sink_is_durable(const struct weir_text_sink *sink);

/* Checkpoint epoch is complete. */
void weir_text_sink_commit(struct weir_text_sink *sink, uint64_t epoch);
/* Is all that was committed under its final name? */
bool weir_text_sink_is_committed(const struct weir_text_sink *sink);

/* Restore: the files named by the snapshot; they are committed at once (what is gone was committed
 * before). elsewhere: the snapshot is a savepoint, which may be restored with another output: a
 * file that is not there is the output of the run that took it, which is said by config.warn; of a
 * checkpoint it is an error. */
void weir_text_sink_restore(struct weir_text_sink *sink, const struct weir_sink_pending *pending,
			    uint32_t cnt, bool elsewhere);

/* Is this name, without directory, that of a file which waits for its checkpoint or its commit? */
bool weir_text_sink_names(const struct weir_text_sink *sink, const char *name);

/* Submit what can go; once per turn. */
void weir_text_sink_step(struct weir_text_sink *sink);
void weir_text_sink_done(struct weir_text_sink *sink, struct weir_io_req *req);

/* 0, or the code of the first I/O error, with text. */
int weir_text_sink_failed(const struct weir_text_sink *sink, struct weir_error *err);

/* Latency of stamped rows: counts per bucket of 2^(b/8) microseconds. */
#define WEIR_LATENCY_BUCKETS 320u
const _Atomic uint64_t *weir_text_sink_latency(const struct weir_text_sink *sink, uint64_t *max_us);

/* "<dir>/.part-<job>-": what strays of the job begin with; "part-": what committed files begin
 * with. */
#define WEIR_SINK_TEMP_PREFIX  ".part-"
#define WEIR_SINK_FINAL_PREFIX "part-"

#endif /* WEIR_ENGINE_OPERATORS_TEXT_SINK_H */

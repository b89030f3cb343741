#ifndef WEIR_ENGINE_OPERATORS_TEXT_SINK_H
#define WEIR_ENGINE_OPERATORS_TEXT_SINK_H

/*
 * weir_text_sink: rows as lines of text, into files exactly once (R8), to standard output, or
 * nowhere: sinks of the contract of include/weir/sink.h like any other.
 *
 *   <output>/.part-<job>-<attempt>-<sink>-<subtask>-<seq>   being written, or waiting for its
 *                                                           checkpoint
 *   <output>/part-<sink>-<subtask>-<checkpoint>             committed
 *   <output>/part-<sink>-<subtask>-<checkpoint>-<n>         joined to it: n from 1
 *
 *   begin: create, fsync of the directory | write: lines into buffers, buffers into the file |
 *   precommit: the rest of them, fsync, close | commit: rename without replace, fsync of the
 *   directory
 *
 * The words of a transaction are attempt, seq, the subtask that wrote it (its name stays when the
 * parallelism changes), and how many files more it has: joined transactions are those of
 * consecutive seq, renamed one after the other. A restored one that is not there under its
 * temporary name any more must be there under its final one.
 *
 * Threads:   one core. All file work goes through the core's weir_io; harvested requests whose user
 *            pointer is the sink come back by weir_text_sink_done.
 * Ownership: create takes all memory: WEIR_SINK_BUFFERS buffers.
 * Cost:      no allocation, no system call of its own.
 * Failure:   an I/O error fails the task; the file stays what it was before.
 */

#include "engine/io.h"
#include "engine/operators/two_phase.h"
#include "weir/connector.h"

#define WEIR_SINK_BUFFERS      4u
#define WEIR_SINK_BUFFER_BYTES (512u * 1024)
#define WEIR_SINK_PATH_MAX     1024u

enum weir_sink_mode { WEIR_SINK_FILES, WEIR_SINK_STDOUT, WEIR_SINK_NULL };

struct weir_text_sink_config {
	enum weir_sink_mode mode;
	const char *dir; /* FILES; borrowed for the sink's life */
	weir_format_fn format;
	void (*warn)(void *arg, const char *text); /* from the core; or NULL */
	void *warn_arg;
};

struct weir_text_sink;

/* What the two-phase side calls: ctx->local is the sink. */
const struct weir_sink_connector *weir_text_sink_connector(enum weir_sink_mode mode);

struct weir_text_sink *weir_text_sink_create(const struct weir_text_sink_config *config,
					     struct weir_operator_ctx *ctx, struct weir_io *io);
void weir_text_sink_destroy(struct weir_text_sink *sink);

/* A request of the sink's has come back. */
void weir_text_sink_done(struct weir_text_sink *sink, struct weir_io_req *req);

/* Is this name, without directory, that of a file which waits for its checkpoint or its commit? tp
 * may be any sink's. */
bool weir_text_sink_names(const struct weir_two_phase *tp, const char *name);

/* "<dir>/.part-<job>-": what strays of the job begin with; "part-": what committed files begin
 * with. */
#define WEIR_SINK_TEMP_PREFIX  ".part-"
#define WEIR_SINK_FINAL_PREFIX "part-"

#endif /* WEIR_ENGINE_OPERATORS_TEXT_SINK_H */

#ifndef WEIR_JOB_H
#define WEIR_JOB_H

/*
 * A job is a graph of operators, built once by weir_job() before anything runs. Every operator has
 * an id of the user's: state, messages, report and configuration (operators.ID.parallelism) name
 * it.
 *
 * Ownership: all arguments are borrowed for the life of the job; streams belong to the job.
 * Failure:   builder functions never fail on the spot: the first mistake is kept with its place and
 *            reported when the graph is complete. After a mistake they return streams that do no
 *            harm.
 */

#include <weir/connector.h>
#include <weir/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_job;
struct weir_stream;

/* The entry point of a job plug-in (./job.so): build the graph, return 0. */
int weir_job(struct weir_job *job, const struct weir_params *params);
typedef int (*weir_job_fn)(struct weir_job *job, const struct weir_params *params);

/* job.* settings by their name without "job."; unset: def. */
const char *weir_param_text(const struct weir_params *params, const char *name, const char *def);
uint64_t weir_param_u64(const struct weir_params *params, const char *name, uint64_t def);
int64_t weir_param_time_ns(const struct weir_params *params, const char *name, int64_t def);
bool weir_param_bool(const struct weir_params *params, const char *name, bool def);
/* Report a setting that the job cannot work with (exit 78, at its place in the configuration). */
int weir_param_fail(struct weir_job *job, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

struct weir_stream *weir_source(struct weir_job *job, const char *id,
				const struct weir_connector *connector);

/* Batch by batch through an operator: map, filter, flat_map, or one with state. */
struct weir_stream *weir_process(struct weir_stream *in, const char *id,
				 const struct weir_operator *op);

/* The rows of both; same type. */
struct weir_stream *weir_union(struct weir_stream *a, struct weir_stream *b);

/* How rows get to the next operator. Default: forward (one to one, chained where the plan can),
 * rebalance where the parallelism changes. */
struct weir_stream *weir_key_by(struct weir_stream *in, uint32_t column);
struct weir_stream *weir_key_by_columns(struct weir_stream *in, const uint32_t *columns,
					uint32_t cnt);
struct weir_stream *weir_rebalance(struct weir_stream *in);
struct weir_stream *weir_broadcast(struct weir_stream *in);

enum weir_agg_fn { WEIR_COUNT, WEIR_SUM, WEIR_MIN, WEIR_MAX };

/* One number per key made from rows. SUM, MIN, MAX: of a U64, I64 or TIME column. */
struct weir_agg {
	enum weir_agg_fn fn;
	uint32_t column;
};
#define WEIR_AGGS_MAX 6u

/* Windows of event time, aligned to 0, fired by the watermark. */
struct weir_window {
	int64_t size_ns;
	int64_t slide_ns;     /* 0: tumbling; else it divides size_ns */
	uint32_t time_column; /* a TIME column of the input */
	uint32_t agg_cnt;     /* 1..WEIR_AGGS_MAX */
	struct weir_agg agg[WEIR_AGGS_MAX];
};
/* Needs a key. Emits {key columns, TIME window: its start, U64 per aggregate}. */
struct weir_stream *weir_window(struct weir_stream *in, const char *id,
				const struct weir_window *window);

enum weir_emit {
	WEIR_EMIT_END,	   /* every key once, when the input ends */
	WEIR_EMIT_UPDATES, /* and, before each checkpoint, every key that changed since the last */
	WEIR_EMIT_EACH, /* the running values behind every row: {input columns, U64 per aggregate}
			 */
};
struct weir_reduce {
	enum weir_emit emit;
	uint32_t agg_cnt;
	struct weir_agg agg[WEIR_AGGS_MAX];
};
/* Needs a key. END and UPDATES emit {key columns, U64 per aggregate}. */
struct weir_stream *weir_reduce(struct weir_stream *in, const char *id,
				const struct weir_reduce *reduce);

/*
 * Per window of event time, the rows with the highest value of a column, ties included. A row
 * belongs to the tumbling window of size_ns that holds its time; with size_ns 0 its time column is
 * itself the start of its window, which is length_ns long. Emits {TIME window: its start, input
 * columns}.
 */
struct weir_top {
	uint32_t time_column;
	uint32_t rank_column; /* U64 */
	int64_t size_ns;
	int64_t length_ns;
};
struct weir_stream *weir_top(struct weir_stream *in, const char *id, const struct weir_top *top);

/* Lines of text to job.output: files exactly once, standard output, or nowhere (null). */
void weir_sink(struct weir_stream *in, const char *id, weir_format_fn format);
/* An operator of the user's that emits nothing. (To another sink, exactly once: weir_sink_to in
 * weir/sink.h.) */
void weir_sink_process(struct weir_stream *in, const char *id, const struct weir_operator *op);

/* Subtasks of the operator that made this stream, where the configuration does not say. */
void weir_parallelism(struct weir_stream *stream, uint32_t parallelism);

static inline int64_t
weir_seconds(int64_t s)
{
	return s * 1000000000;
}

#ifdef __cplusplus
}
#endif
#endif /* WEIR_JOB_H */

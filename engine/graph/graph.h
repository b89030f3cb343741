#ifndef WEIR_ENGINE_GRAPH_GRAPH_H
#define WEIR_ENGINE_GRAPH_GRAPH_H

/*
 * weir_job: the logical graph as the user wrote it (include/weir/job.h builds it): operators in
 * topological order (an operator can only be made from streams that exist) and the edges between
 * them.
 *
 * Threads:   set-up only, one thread; read-only afterwards.
 * Ownership: create/destroy; what the builder copies belongs to the job.
 * Failure:   the first mistake is kept in error and reported by weir_job_finish.
 */

#include "engine/base/error.h"
#include "engine/exchange/emitter.h"
#include "weir/job.h"
#include "weir/sink.h"

#define WEIR_ID_MAX	   64u
#define WEIR_OPERATORS_MAX 64u
#define WEIR_INPUTS_MAX	   8u
#define WEIR_EDGES_MAX	   (2 * WEIR_OPERATORS_MAX)

enum weir_vertex_kind {
	WEIR_VERTEX_SOURCE,
	WEIR_VERTEX_PROCESS,
	WEIR_VERTEX_SINK, /* text by a format function, or another two-phase sink */
};

struct weir_edge {
	uint32_t from; /* operator index */
	uint32_t to;
	enum weir_partitioner partitioner;
	bool automatic; /* forward because nobody said otherwise: rebalance where the parallelism
			   differs */
	struct weir_key key;
};

struct weir_vertex;

/*
 * A keyed aggregation that may be done in part before its exchange: make fills combiner (chained to
 * the producer, emits partial rows of type combiner->out keyed by their first key columns) and
 * merger (takes the place of the aggregation and has the same state). Memory goes to owned, freed
 * with the plan.
 */
typedef bool (*weir_combine_fn)(const struct weir_vertex *vertex, struct weir_operator *combiner,
				struct weir_operator *merger, void *owned[4]);

struct weir_vertex {
	char id[WEIR_ID_MAX];
	enum weir_vertex_kind kind;
	const struct weir_connector *connector; /* SOURCE; borrowed */
	struct weir_operator op;		/* PROCESS; a copy */
	weir_format_fn format;			/* SINK */
	const struct weir_sink_connector *sink; /* SINK without format; borrowed */
	const struct weir_type *in_type;	/* NULL: source */
	const struct weir_type *out_type;	/* NULL: sink */
	struct weir_key key;			/* of its input */
	weir_combine_fn combine;		/* NULL: cannot be done in part */
	/* Output column c + pass_shift is input column c, for those that the input has; passes
	 * false: none is. */
	bool passes;
	uint32_t pass_shift;
	uint32_t parallelism; /* 0: from the configuration */
	void *owned[4];	      /* freed with the job */
};

struct weir_stream {
	struct weir_job *job;
	uint32_t from[WEIR_INPUTS_MAX]; /* operators whose rows these are */
	uint32_t from_cnt;
	enum weir_partitioner partitioner;
	bool automatic;
	struct weir_key key;
	struct weir_stream *next; /* list of all, for destroy */
};

struct weir_job {
	struct weir_vertex vertex[WEIR_OPERATORS_MAX];
	uint32_t vertex_cnt;
	struct weir_edge edge[WEIR_EDGES_MAX];
	uint32_t edge_cnt;
	struct weir_stream *streams;
	struct weir_error error;       /* code 0: none */
	char error_param[WEIR_ID_MAX]; /* the job.* key that the error is about; empty: none */
};

struct weir_job *weir_job_create(void);
void weir_job_destroy(struct weir_job *job);

/* After the user's weir_job(): is the graph whole? Ids unique, types and keys fit, every stream
 * ends in a sink. */
WEIR_MUST_USE int weir_job_finish(struct weir_job *job, struct weir_error *err);

/* Index of the operator with this id, or UINT32_MAX. */
uint32_t weir_job_find(const struct weir_job *job, const char *id);

/* For operators/: add an operator with its own memory (freed with the job). NULL after a mistake.
 */
struct weir_stream *weir_job_add(struct weir_stream *in, const char *id,
				 const struct weir_operator *op, struct weir_vertex **vertex);
/* For operators/: keep the first mistake. */
void weir_job_mistake(struct weir_job *job, const char *fmt, ...) WEIR_PRINTF(2, 3);
/* For operators/: type of a stream's rows, NULL after a mistake. */
const struct weir_type *weir_stream_type(const struct weir_stream *stream);

#endif /* WEIR_ENGINE_GRAPH_GRAPH_H */

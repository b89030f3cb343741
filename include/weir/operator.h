#ifndef WEIR_OPERATOR_H
#define WEIR_OPERATOR_H

/*
 * Operators get a batch and emit batches: C arrays, one array per column, all rows at once.
 *
 * Threads:   an instance of an operator (one per subtask) runs on one core, one call at a time.
 * Ownership: a batch and its columns are the engine's, valid until the function returns; columns of
 *            an input batch may be shared with other cores: never write to them.
 * Cost:      one indirect call per batch. No function of an operator may block, allocate or make a
 *            system call once the job runs.
 * Failure:   an operator that fails returns weir_operator_fail(...); it never exits. The job then
 *            restarts from its last checkpoint.
 */

#include <weir/operator_state.h>
#include <weir/state.h>
#include <weir/type.h>

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_operator_ctx; /* one subtask of one operator */
struct weir_params;	  /* the job.* configuration */

/* Rows on their way: columns, and which of their rows count. */
struct weir_batch {
	uint32_t rows;		      /* rows that the columns hold */
	uint32_t selected;	      /* rows that count, <= rows */
	const uint16_t *sel;	      /* numbers of the rows that count, ascending; NULL: all */
	void *col[WEIR_COLUMNS_MAX];  /* NULL: nothing downstream reads this column */
	char *heap[WEIR_COLUMNS_MAX]; /* BYTES columns: what their offsets count from */
	int64_t stamp_ns;	      /* when the source made the batch, 0: not stamped */
};

/* Number of the i-th row that counts, i < selected. */
static inline uint32_t
weir_row(const struct weir_batch *in, uint32_t i)
{
	return in->sel != NULL ? in->sel[i] : i;
}

/*
 * What an operator emits. Three ways:
 *  - same rows: weir_out_same(out, in), then replace columns (weir_out_column) or the selection
 *    (weir_out_select), then weir_out_emit;
 *  - new rows: weir_out_rows(out) starts an empty batch of the operator's output type with all
 *    columns writable and room for out->cap rows; fill, set rows and selected, then weir_out_emit;
 *  - as it came: weir_out_pass(out, in).
 */
struct weir_out {
	struct weir_batch batch;
	uint32_t cap;		     /* rows that fit in the columns below */
	void *own[WEIR_COLUMNS_MAX]; /* writable columns of this operator, cap rows each */
	uint16_t *own_sel;	     /* cap entries */
	char *heap; /* bytes of new BYTES values, shared by this operator's columns */
	uint32_t heap_cap;
	uint32_t heap_len; /* bytes used by the batch under way */
	uint32_t demand;   /* bit c: somebody downstream reads column c */
	int (*emit)(struct weir_out *out, const struct weir_batch *batch); /* the engine's */
};

static inline void
weir_out_same(struct weir_out *out, const struct weir_batch *in)
{
	/* By parts: a copy of the whole is a string instruction, which costs more than it moves. */
	out->batch.rows = in->rows;
	out->batch.selected = in->selected;
	out->batch.sel = in->sel;
	memcpy(out->batch.col, in->col, sizeof(in->col));
	memcpy(out->batch.heap, in->heap, sizeof(in->heap));
	out->batch.stamp_ns = in->stamp_ns;
	out->heap_len = 0;
}

/* Take writable column c for the batch under way; values stand at the row numbers of the input. */
static inline void *
weir_out_column(struct weir_out *out, uint32_t c)
{
	out->batch.col[c] = out->own[c];
	out->batch.heap[c] = out->heap;
	return out->own[c];
}

/* Take the writable selection; write row numbers, then set batch.selected. */
static inline uint16_t *
weir_out_select(struct weir_out *out)
{
	out->batch.sel = out->own_sel;
	return out->own_sel;
}

static inline struct weir_batch *
weir_out_rows(struct weir_out *out)
{
	uint32_t c;

	out->batch.rows = 0;
	out->batch.selected = 0;
	out->batch.sel = NULL;
	out->batch.stamp_ns = 0;
	out->heap_len = 0;
	for (c = 0; c < WEIR_COLUMNS_MAX; c++) {
		out->batch.col[c] = out->own[c];
		out->batch.heap[c] = out->heap;
	}
	return &out->batch;
}

/* Hand on the batch under way. Returns 0 or what went wrong downstream: return that at once. */
static inline int
weir_out_emit(struct weir_out *out)
{
	return out->batch.selected == 0 ? 0 : out->emit(out, &out->batch);
}

static inline int
weir_out_pass(struct weir_out *out, const struct weir_batch *in)
{
	return in->selected == 0 ? 0 : out->emit(out, in);
}

/* Downstream holds as much as it should, or the turn has emitted enough: return WEIR_MORE from
 * watermark or end soon. */
bool weir_out_full(const struct weir_out *out);

#define WEIR_MORE (-1) /* there is more to emit, call again */

#define WEIR_ALL_COLUMNS (~0u)

struct weir_operator {
	const char *name;	     /* what it does: "map", "filter", "count" */
	const struct weir_type *out; /* type of the rows it emits; NULL: the input's */
	uint32_t reads;	    /* bit c: it reads input column c (the engine adds the key's) */
	uint32_t writes;    /* out == NULL: bit c: it replaces column c */
	size_t local_bytes; /* private memory of an instance, zeroed, not checkpointed */
	const struct weir_state_decl *states; /* what it keeps across checkpoints */
	uint32_t state_cnt;
	/* And what belongs to no key: weir/operator_state.h. */
	const struct weir_operator_state_decl *operator_states;
	uint32_t operator_state_cnt;
	const void *arg; /* borrowed for the life of the job; weir_operator_arg */

	/* Before the first batch; state is already restored. */
	int (*open)(struct weir_operator_ctx *ctx);
	/* One batch. Emits at once, at most some frames. An operator that makes more of a row puts
	 * what is left into declared state and returns WEIR_MORE. */
	int (*process)(struct weir_operator_ctx *ctx, const struct weir_batch *in,
		       struct weir_out *out);
	/* Event time has passed watermark_ns on all inputs; emit what is due. May return WEIR_MORE.
	 * The engine forwards the watermark after 0. A checkpoint may be taken after WEIR_MORE
	 * (T26), and a job restored from it calls with the same or a later watermark: what is
	 * emitted must by then be gone from declared state, or flush must see to it. */
	int (*watermark)(struct weir_operator_ctx *ctx, int64_t watermark_ns, struct weir_out *out);
	/* Before every barrier: emit all that is held outside declared state (T22). */
	int (*flush)(struct weir_operator_ctx *ctx, struct weir_out *out);
	/* The input has ended, after its last watermark. May return WEIR_MORE. */
	int (*end)(struct weir_operator_ctx *ctx, struct weir_out *out);
	/* Input has paused: emit what should not wait. */
	int (*idle)(struct weir_operator_ctx *ctx, struct weir_out *out);
	void (*close)(struct weir_operator_ctx *ctx);
	/* T27: after WEIR_MORE of process, and once before the first batch: go on emitting what is
	 * left in declared state, until weir_out_full, then WEIR_MORE; 0: nothing is left. Neither
	 * a row nor a watermark comes before that, but a checkpoint may. */
	int (*more)(struct weir_operator_ctx *ctx, struct weir_out *out);
};
/* process is mandatory, more for who returns WEIR_MORE from it; every other function may be NULL.
 */

/* Private memory of this instance, local_bytes long, 64-byte aligned. */
void *weir_operator_local(struct weir_operator_ctx *ctx);
const void *weir_operator_arg(const struct weir_operator_ctx *ctx);
/* Number of this subtask, and of how many. */
uint32_t weir_operator_subtask(const struct weir_operator_ctx *ctx);
uint32_t weir_operator_parallelism(const struct weir_operator_ctx *ctx);
const struct weir_params *weir_operator_params(const struct weir_operator_ctx *ctx);
/* The last watermark that the operator was given. */
int64_t weir_operator_watermark(const struct weir_operator_ctx *ctx);
#define WEIR_REASONS_MAX 8u /* of an operator or connector */
/* Count rows that are not handed on, under a fixed reason number below WEIR_REASONS_MAX. */
void weir_operator_drop(struct weir_operator_ctx *ctx, uint32_t reason, uint64_t rows);
/* In open: names of the reasons, in order; borrowed for the life of the job. */
void weir_operator_reasons(struct weir_operator_ctx *ctx, const char *const *names, uint32_t cnt);
/* Count values that were cut short (the report's `truncated`). */
void weir_operator_truncated(struct weir_operator_ctx *ctx, uint64_t values);
/* Record why this operator fails; return the result from the function. */
int weir_operator_fail(struct weir_operator_ctx *ctx, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Columns as C arrays. */
static inline const uint64_t *
weir_u64(const struct weir_batch *in, uint32_t c)
{
	return (const uint64_t *)in->col[c];
}

static inline const int64_t *
weir_time(const struct weir_batch *in, uint32_t c)
{
	return (const int64_t *)in->col[c];
}

static inline const struct weir_bytes *
weir_bytes(const struct weir_batch *in, uint32_t c)
{
	return (const struct weir_bytes *)in->col[c];
}

#ifdef __cplusplus
}
#endif
#endif /* WEIR_OPERATOR_H */

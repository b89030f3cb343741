/*
 * Per window the rows with the highest value of a column, all of them where several are equal.
 *
 * Two operators: a local one chained to the producer keeps the best rows of each window that it has
 * seen and sends them on before every barrier and before a watermark that ends the window (so it
 * needs no state; the highest value stays known as a hint and lets most rows be dropped); a final
 * one, keyed by window, keeps what may win and emits it when the window is over.
 *
 * State of the final one: "best", a table per window (namespace: its start), number -> row; all
 * rows of a table have the same rank.
 */
#include "engine/graph/graph.h"
#include "engine/operators/ctx.h"
#include "engine/operators/panes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOWS	   8u  /* open windows that the local part remembers */
#define CANDIDATES 64u /* rows kept of each */
#define BEST	   0u
#define ROW_MAX	   512u

struct arg {
	struct weir_top top;
	int64_t length_ns; /* of a window */
	uint32_t row_bytes;
	uint32_t column_cnt; /* of the input */
	uint16_t width[WEIR_COLUMNS_MAX];
	struct weir_state_decl states[1];
	char words[160];
};

struct candidates {
	int64_t window;
	uint64_t rank; /* the highest seen */
	uint32_t cnt;  /* rows held; 0 with used: only the hint */
	bool used;
	char row[CANDIDATES * ROW_MAX];
};

struct local {
	struct candidates c[WINDOWS];
	uint32_t last; /* the window of the last rows */
};

static const char *const reasons[] = { "late" };

/* ---- rows, packed one column behind the other ---- */

static void
pack(const struct arg *a, const struct weir_batch *in, uint32_t r, uint32_t first, char *row)
{
	for (uint32_t c = 0; c < a->column_cnt; c++) {
		if (in->col[first + c] != NULL)
			memcpy(row, (const char *)in->col[first + c] + (size_t)r * a->width[c],
			       a->width[c]);
		row += a->width[c];
	}
}

static void
unpack(const struct arg *a, struct weir_out *out, int64_t window, const char *row)
{
	const uint32_t r = out->batch.rows;

	((int64_t *)out->own[0])[r] = window;
	for (uint32_t c = 0; c < a->column_cnt; c++) {
		memcpy((char *)out->own[1 + c] + (size_t)r * a->width[c], row, a->width[c]);
		row += a->width[c];
	}
	out->batch.rows++;
	out->batch.selected = out->batch.rows;
}

static int
emit_if_full(struct weir_out *out)
{
	int rc;

	if (out->batch.rows < out->cap)
		return 0;
	rc = weir_out_emit(out);
	(void)weir_out_rows(out);
	return rc;
}

/* ---- local part ---- */

static int
send(const struct arg *a, struct candidates *c, struct weir_out *out)
{
	int rc = 0;

	for (uint32_t i = 0; i < c->cnt && rc == 0; i++) {
		unpack(a, out, c->window, c->row + (size_t)i * a->row_bytes);
		rc = emit_if_full(out);
	}
	c->cnt = 0;
	return rc;
}

static int
local_flush(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);
	int rc = 0;

	(void)weir_out_rows(out);
	for (uint32_t w = 0; w < WINDOWS && rc == 0; w++)
		rc = send(a, &l->c[w], out);
	return rc != 0 ? rc : weir_out_emit(out);
}

/* The candidates of a window; the oldest window makes room, its rows go out first. */
static int
find(const struct arg *a, struct local *l, int64_t window, struct weir_out *out,
     struct candidates **found)
{
	struct candidates *free_c = NULL;
	struct candidates *oldest = &l->c[0];
	int rc = 0;

	for (uint32_t w = 0; w < WINDOWS; w++) {
		struct candidates *c = &l->c[w];

		if (c->used && c->window == window) {
			*found = c;
			l->last = w;
			return 0;
		}
		if (!c->used)
			free_c = c;
		else if (c->window < oldest->window)
			oldest = c;
	}
	if (free_c == NULL) {
		rc = send(a, oldest, out);
		free_c = oldest;
	}
	free_c->used = true;
	free_c->window = window;
	free_c->rank = 0;
	free_c->cnt = 0;
	l->last = (uint32_t)(free_c - l->c);
	*found = free_c;
	return rc;
}

static int
consider(const struct arg *a, struct candidates *c, const struct weir_batch *in, uint32_t r,
	 struct weir_out *out)
{
	const uint64_t rank = weir_u64(in, a->top.rank_column)[r];
	int rc = 0;

	if (rank < c->rank)
		return 0;
	if (rank > c->rank)
		c->cnt = 0;
	c->rank = rank;
	if (c->cnt == CANDIDATES)
		rc = send(a, c, out);
	pack(a, in, r, 0, c->row + (size_t)c->cnt++ * a->row_bytes);
	return rc;
}

/* Is there a row that could win? One pass without branches over rows of one window. */
static bool
any_reaches(const struct weir_batch *in, const uint64_t *rank, uint64_t best)
{
	uint64_t any = 0;

	if (in->sel == NULL)
		for (uint32_t i = 0; i < in->selected; i++)
			any |= rank[i] >= best;
	else
		for (uint32_t i = 0; i < in->selected; i++)
			any |= rank[in->sel[i]] >= best;
	return any != 0;
}

static int
local_process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);
	const int64_t *time = weir_time(in, a->top.time_column);
	struct candidates *c = &l->c[l->last];
	int rc = 0;

	if (c->used &&
	    weir_pane_holds(in, time, c->window,
			    weir_time_add(c->window, a->top.size_ns > 0 ? a->length_ns : 1)) &&
	    !any_reaches(in, weir_u64(in, a->top.rank_column), c->rank))
		return 0;
	(void)weir_out_rows(out);
	for (uint32_t i = 0; i < in->selected && rc == 0; i++) {
		const uint32_t r = weir_row(in, i);
		const int64_t window =
			a->top.size_ns > 0 ? weir_pane_of(time[r], a->top.size_ns) : time[r];

		rc = find(a, l, window, out, &c);
		if (rc == 0)
			rc = consider(a, c, in, r, out);
		if (rc == 0)
			rc = emit_if_full(out);
	}
	return rc != 0 ? rc : weir_out_emit(out);
}

static int
local_watermark(struct weir_operator_ctx *ctx, int64_t watermark_ns, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);
	int rc = 0;

	(void)weir_out_rows(out);
	for (uint32_t w = 0; w < WINDOWS && rc == 0; w++) {
		struct candidates *c = &l->c[w];

		if (!c->used || weir_time_add(c->window, a->length_ns - 1) > watermark_ns)
			continue;
		rc = send(a, c, out);
		c->used = false;
	}
	return rc != 0 ? rc : weir_out_emit(out);
}

/* ---- final part: column 0 is the window, the others are the row ---- */

static int
final_open(struct weir_operator_ctx *ctx)
{
	weir_operator_reasons(ctx, reasons, 1);
	return 0;
}

static int
final_process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	const int64_t *window = weir_time(in, 0);
	const uint64_t *rank = weir_u64(in, 1 + a->top.rank_column);
	uint32_t rank_at = 0;

	(void)out;
	for (uint32_t c = 0; c < a->top.rank_column; c++)
		rank_at += a->width[c];
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint32_t r = weir_row(in, i);
		const int64_t w = window[r];
		const uint64_t group = weir_state_hash(&w, sizeof(w));
		uint64_t n = weir_state_count(ctx, BEST, w);
		uint64_t best = 0;

		if (weir_time_add(w, a->length_ns - 1) <= ctx->watermark_ns ||
		    weir_passed_has(&ctx->passed, group, weir_time_add(w, a->length_ns - 1))) {
			weir_operator_drop(ctx, 0, 1);
			continue;
		}
		if (n > 0) {
			const uint64_t zero = 0;
			const char *row = weir_state_get(ctx, BEST, w, &zero, sizeof(zero), group);

			WEIR_ASSERT(row != NULL);
			memcpy(&best, row + rank_at, sizeof(best));
			if (rank[r] < best)
				continue;
			if (rank[r] > best) {
				weir_state_drop(ctx, BEST, w);
				n = 0;
			}
		}
		pack(a, in, r, 1, weir_state_put(ctx, BEST, w, &n, sizeof(n), group));
	}
	return 0;
}

static int
final_watermark(struct weir_operator_ctx *ctx, int64_t watermark_ns, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	int64_t w;

	/* A window's rows are few unless all are equal; they go out in one piece each. */
	while (weir_state_namespace(ctx, BEST, INT64_MIN, &w) &&
	       weir_time_add(w, a->length_ns - 1) <= watermark_ns) {
		uint64_t cursor = 0;
		const void *key;
		uint32_t len;
		const void *row;
		int rc = 0;

		if (weir_out_full(out))
			return WEIR_MORE;
		(void)weir_out_rows(out);
		while (rc == 0 && weir_state_next(ctx, BEST, w, &cursor, &key, &len, &row)) {
			unpack(a, out, w, row);
			rc = emit_if_full(out);
		}
		if (rc == 0)
			rc = weir_out_emit(out);
		if (rc != 0)
			return rc;
		weir_state_drop(ctx, BEST, w);
		/* T26: a checkpoint before the next window must not take late rows of this one. */
		if (weir_time_add(w, a->length_ns - 1) > ctx->watermark_ns)
			ctx->watermark_ns = weir_time_add(w, a->length_ns - 1);
	}
	return 0;
}

/* ---- builder ---- */

static struct weir_type *
top_type(const struct weir_type *in)
{
	struct weir_type *t = calloc(1, sizeof(*t) + (in->column_cnt + 1) * sizeof(*t->columns));
	struct weir_column *col;

	if (t == NULL)
		return NULL;
	col = (struct weir_column *)(void *)(t + 1);
	col[0] = (struct weir_column)WEIR_TIME("window");
	memcpy(col + 1, in->columns, in->column_cnt * sizeof(*col));
	*t = (struct weir_type){ in->name, in->column_cnt + 1, col };
	return t;
}

/* Rows are kept as they are: their columns, and what they were chosen by. */
static void
print_words(struct arg *a, const struct weir_type *in)
{
	int at = snprintf(a->words, sizeof(a->words),
			  "highest %s of %lld ns: ", in->columns[a->top.rank_column].name,
			  (long long)a->length_ns);

	for (uint32_t c = 0; c < in->column_cnt && at < (int)sizeof(a->words); c++)
		at += snprintf(a->words + at, sizeof(a->words) - (size_t)at, "%s%s",
			       c > 0 ? ", " : "", in->columns[c].name);
}

static bool
fill(struct arg *a, const struct weir_type *in, const struct weir_top *top)
{
	*a = (struct arg){ .top = *top, .column_cnt = in->column_cnt };
	a->length_ns = top->size_ns > 0 ? top->size_ns : top->length_ns;
	if (top->time_column >= in->column_cnt || top->rank_column >= in->column_cnt ||
	    in->columns[top->time_column].kind != WEIR_KIND_TIME ||
	    in->columns[top->rank_column].kind != WEIR_KIND_U64 || a->length_ns <= 0 ||
	    in->column_cnt + 1 > WEIR_COLUMNS_MAX)
		return false;
	for (uint32_t c = 0; c < in->column_cnt; c++) {
		if (in->columns[c].kind == WEIR_KIND_BYTES)
			return false;
		a->width[c] = in->columns[c].width;
		a->row_bytes += a->width[c];
	}
	print_words(a, in);
	a->states[BEST] = (struct weir_state_decl){ .name = "best",
						    .type = a->words,
						    .value_bytes = a->row_bytes,
						    .key_bytes = sizeof(uint64_t) };
	return a->row_bytes <= ROW_MAX;
}

static struct weir_stream *
add_part(struct weir_stream *in, const char *id, const struct weir_operator *op, struct arg *a,
	 struct weir_type *type)
{
	struct weir_vertex *v;
	struct weir_stream *s = weir_job_add(in, id, op, &v);

	if (v == NULL) {
		free(a);
		free(type);
		return s;
	}
	v->owned[0] = a;
	v->owned[1] = type;
	return s;
}

struct weir_stream *
weir_top(struct weir_stream *in, const char *id, const struct weir_top *top)
{
	const struct weir_type *type = weir_stream_type(in);
	struct weir_operator local = { .name = "top-local",
				       .process = local_process,
				       .watermark = local_watermark,
				       .flush = local_flush,
				       .end = local_flush,
				       .reads = WEIR_ALL_COLUMNS,
				       .local_bytes = sizeof(struct local) };
	struct weir_operator final = { .name = "top",
				       .open = final_open,
				       .process = final_process,
				       .watermark = final_watermark,
				       .reads = WEIR_ALL_COLUMNS,
				       .state_cnt = 1 };
	char local_id[WEIR_ID_MAX];
	struct weir_vertex *v;
	struct arg *a, *b;

	if (type == NULL)
		return weir_job_add(in, id, &local, &v);
	a = malloc(sizeof(*a));
	b = malloc(sizeof(*b));
	WEIR_ASSERT(a != NULL);
	WEIR_ASSERT(b != NULL);
	if (!fill(a, type, top))
		weir_job_mistake(in->job,
				 "top '%s': a TIME column, a U64 rank, a length, fixed "
				 "columns of at most %u bytes together",
				 id, ROW_MAX);
	*b = *a;
	b->states[BEST].type = b->words;
	local.arg = a;
	local.out = top_type(type);
	final.arg = b;
	final.out = top_type(type);
	final.states = b->states;
	if (strlen(id) + sizeof("-local") > sizeof(local_id))
		weir_job_mistake(in->job, "operator id '%s' is too long", id);
	snprintf(local_id, sizeof(local_id), "%.50s-local", id);
	in = add_part(in, local_id, &local, a, (struct weir_type *)(uintptr_t)local.out);
	return add_part(weir_key_by(in, 0), id, &final, b,
			(struct weir_type *)(uintptr_t) final.out);
}

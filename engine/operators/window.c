/*
 * Windows of event time over keyed aggregates.
 *
 * State: "panes", a table per pane (namespace: its start) of key -> accumulators. A pane is as long
 * as the slide, so every window is a run of panes. A window fires when the watermark reaches its
 * last nanosecond; a tumbling window is its only pane and is emitted from it; for a sliding one its
 * panes are first merged into "firing" (namespace: the window's start). Both happen in pieces
 * between which the core does other things (WEIR_MORE); no barrier comes between the pieces, so
 * "firing" is empty in every checkpoint.
 */
#include "engine/operators/agg.h"
#include "engine/operators/builtin.h"
#include "engine/operators/ctx.h"
#include "engine/operators/panes.h"

#include <stdlib.h>
#include <string.h>

#define PANES	       0u
#define FIRING	       1u
#define MERGE_AT_ONCE  64u
#define MERGE_PER_CALL 4096u

struct arg {
	struct weir_window w; /* slide_ns > 0 */
	struct weir_aggs aggs;
	struct weir_state_decl states[2];
};

struct local {
	int64_t pane_lo, pane_hi; /* the pane of the last rows: most batches lie in it whole */
	int64_t next_start;	  /* windows that start before it have fired */
	bool firing;
	bool merged;
	int64_t window; /* being fired */
	int64_t pane;	/* being merged */
	uint64_t cursor;
	uint16_t take[WEIR_BATCH_ROWS];
	uint16_t rest[2][WEIR_BATCH_ROWS];
	uint16_t in_time[WEIR_BATCH_ROWS];
	uint64_t row_hash[WEIR_BATCH_ROWS];
	uint64_t hash[MERGE_AT_ONCE];
	struct weir_table_entry entry[MERGE_AT_ONCE];
	char keys[MERGE_AT_ONCE * WEIR_KEY_FIXED_MAX];
};

static const char *const reasons[] = { "late" };

static bool
tumbling(const struct arg *a)
{
	return a->w.size_ns == a->w.slide_ns;
}

static int
window_open(struct weir_operator_ctx *ctx)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);

	weir_operator_reasons(ctx, reasons, 1);
	l->pane_lo = l->pane_hi = 0;
	/* What the restored watermark had reached has fired. */
	l->next_start = INT64_MIN;
	if (ctx->watermark_ns != WEIR_TIME_NONE && ctx->watermark_ns != WEIR_TIME_END)
		l->next_start = weir_time_add(
			weir_pane_of(weir_time_add(ctx->watermark_ns, 1 - a->w.size_ns),
				     a->w.slide_ns),
			a->w.slide_ns);
	return 0;
}

/* R3: rows of keys that were further in time before a rescale are as late as they were then. */
static void
drop_passed(struct weir_operator_ctx *ctx, struct weir_batch *in, int64_t last_ns)
{
	struct local *l = weir_operator_local(ctx);
	uint32_t kept = 0;

	weir_key_hashes(&ctx->key, in, ctx->pack, l->row_hash);
	for (uint32_t i = 0; i < in->selected; i++) {
		l->in_time[kept] = (uint16_t)weir_row(in, i);
		kept += !weir_passed_has(&ctx->passed, l->row_hash[i], last_ns);
	}
	weir_operator_drop(ctx, 0, in->selected - kept);
	in->sel = l->in_time;
	in->selected = kept;
}

/* Rows of one pane. */
static int
add_pane(struct weir_operator_ctx *ctx, const struct weir_batch *rows, int64_t pane)
{
	const struct arg *a = weir_operator_arg(ctx);
	const int64_t last_ns = weir_time_add(pane, a->w.size_ns - 1);
	struct weir_batch part;
	const struct weir_batch *in = rows;

	/* Its last window ends at pane + size: late if the watermark has passed that window's last
	 * time. */
	if (last_ns <= ctx->watermark_ns) {
		weir_operator_drop(ctx, 0, in->selected);
		return 0;
	}
	if (weir_passed_any(&ctx->passed, last_ns)) {
		part = *rows;
		drop_passed(ctx, &part, last_ns);
		in = &part;
		if (in->selected == 0)
			return 0;
	}
	weir_aggs_add(&a->aggs, in, weir_state_batch(ctx, PANES, pane, in));
	return 0;
}

static int
window_process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);
	const int64_t *time = weir_time(in, a->w.time_column);
	struct weir_batch part = *in;
	struct weir_batch left = *in;
	uint32_t flip = 0;

	(void)out;
	if (WEIR_LIKELY(weir_pane_holds(in, time, l->pane_lo, l->pane_hi)))
		return add_pane(ctx, in, l->pane_lo);
	while (left.selected > 0) {
		uint32_t rest;

		l->pane_lo = weir_pane_of(time[weir_row(&left, 0)], a->w.slide_ns);
		l->pane_hi = weir_time_add(l->pane_lo, a->w.slide_ns);
		part.selected = weir_pane_split(&left, time, l->pane_lo, l->pane_hi, l->take,
						l->rest[flip], &rest);
		part.sel = l->take;
		/* The last nanosecond of all belongs to a pane that 64 bits cut short. */
		if (part.selected == 0)
			return weir_operator_fail(ctx, "operator '%s': time out of range", ctx->id);
		if (add_pane(ctx, &part, l->pane_lo) != 0)
			return ctx->error.code;
		left.sel = l->rest[flip];
		left.selected = rest;
		flip ^= 1;
	}
	return 0;
}

/* The next window to fire at watermark w, if one is due. */
static bool
next_window(struct weir_operator_ctx *ctx, int64_t w, int64_t *window)
{
	const struct arg *a = weir_operator_arg(ctx);
	const struct local *l = weir_operator_local(ctx);
	const struct weir_table *t = weir_kstate_table_from(ctx->state[PANES], INT64_MIN);

	if (t == NULL)
		return false;
	*window = weir_time_add(weir_table_ns(t), a->w.slide_ns - a->w.size_ns);
	if (*window < l->next_start)
		*window = l->next_start;
	return weir_time_add(*window, a->w.size_ns - 1) <= w;
}

static void
merge_entries(struct weir_operator_ctx *ctx, struct weir_table *to, uint32_t cnt)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);
	const uint32_t bytes = ctx->key.bytes;
	struct weir_keys keys = { .fixed = l->keys, .hash = l->hash };

	if (bytes == 0) {
		for (uint32_t i = 0; i < cnt; i++)
			weir_aggs_merge(&a->aggs,
					weir_table_put(to, l->entry[i].key, l->entry[i].key_len,
						       l->entry[i].hash),
					l->entry[i].value);
		return;
	}
	for (uint32_t i = 0; i < cnt; i++) {
		memcpy(l->keys + (size_t)i * bytes, l->entry[i].key, bytes);
		l->hash[i] = l->entry[i].hash;
	}
	weir_table_batch(to, &keys, NULL, cnt, ctx->values);
	for (uint32_t i = 0; i < cnt; i++)
		weir_aggs_merge(&a->aggs, ctx->values[i], l->entry[i].value);
}

/* Merge some of the window's panes; 0 when all are in, WEIR_MORE, or an error. */
static int
merge(struct weir_operator_ctx *ctx)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);
	const struct weir_table_scan scan = WEIR_TABLE_SCAN_READ;
	const int64_t end = weir_time_add(l->window, a->w.size_ns);

	for (uint32_t done = 0; done < MERGE_PER_CALL; done += MERGE_AT_ONCE) {
		struct weir_table *from = weir_kstate_table_from(ctx->state[PANES], l->pane);
		uint32_t cnt;
		int rc;

		if (from == NULL || weir_table_ns(from) >= end)
			return 0;
		if (weir_table_ns(from) != l->pane) {
			l->pane = weir_table_ns(from);
			l->cursor = 0;
		}
		rc = weir_ctx_reserve(ctx, MERGE_AT_ONCE + 1);
		if (rc != 0)
			return rc;
		cnt = weir_table_next(from, &scan, &l->cursor, l->entry, MERGE_AT_ONCE);
		if (cnt == 0)
			l->pane = weir_time_add(l->pane, 1), l->cursor = 0;
		else
			merge_entries(ctx, weir_kstate_table(ctx->state[FIRING], l->window, true),
				      cnt);
	}
	return WEIR_MORE;
}

/* Emit the rows of a table; WEIR_MORE when downstream is full. */
static int
emit_table(struct weir_operator_ctx *ctx, struct weir_table *t, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);
	const struct weir_table_scan scan = WEIR_TABLE_SCAN_READ;
	const uint32_t key_cnt = ctx->key.cnt;
	const int64_t last_ns = weir_time_add(l->window, a->w.size_ns - 1);
	int rc;

	while (t != NULL) {
		struct weir_batch *b = weir_out_rows(out);
		uint32_t cnt;

		if (weir_out_full(out))
			return WEIR_MORE;
		cnt = weir_table_next(t, &scan, &l->cursor, l->entry, MERGE_AT_ONCE);
		if (cnt == 0)
			return 0;
		for (uint32_t i = 0; i < cnt; i++) {
			const uint64_t *acc = l->entry[i].value;

			if (weir_passed_any(&ctx->passed, last_ns) &&
			    weir_passed_has(&ctx->passed, l->entry[i].hash, last_ns))
				continue; /* R3: fired before the rescale */
			if (!weir_aggs_put_key(out, &ctx->key, b->rows, l->entry[i].key,
					       l->entry[i].key_len)) {
				b->selected = b->rows;
				rc = weir_out_emit(out);
				if (rc != 0)
					return rc;
				b = weir_out_rows(out);
				if (!weir_aggs_put_key(out, &ctx->key, b->rows, l->entry[i].key,
						       l->entry[i].key_len))
					return weir_operator_fail(ctx, "key of %u bytes too long",
								  l->entry[i].key_len);
			}
			((int64_t *)out->own[key_cnt])[b->rows] = l->window;
			for (uint32_t g = 0; g < a->aggs.cnt; g++)
				((uint64_t *)out->own[key_cnt + 1 + g])[b->rows] = acc[g];
			b->rows++;
		}
		b->selected = b->rows;
		rc = weir_out_emit(out);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
fire(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);
	struct weir_table *t;
	int rc;

	if (!l->merged) {
		rc = merge(ctx);
		if (rc != 0)
			return rc;
		l->merged = true;
		l->cursor = 0;
	}
	t = weir_kstate_table(ctx->state[tumbling(a) ? PANES : FIRING], l->window, false);
	rc = emit_table(ctx, t, out);
	if (rc != 0)
		return rc;
	weir_state_drop(ctx, FIRING, l->window);
	/* No later window reaches back to this window's first pane. */
	weir_state_drop(ctx, PANES, l->window);
	l->next_start = weir_time_add(l->window, a->w.slide_ns);
	l->firing = false;
	return 0;
}

static int
window_watermark(struct weir_operator_ctx *ctx, int64_t watermark_ns, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);

	for (;;) {
		int rc;

		if (!l->firing) {
			if (!next_window(ctx, watermark_ns, &l->window))
				return 0;
			l->firing = true;
			l->merged = tumbling(a);
			l->pane = l->window;
			l->cursor = 0;
		}
		rc = fire(ctx, out);
		if (rc != 0)
			return rc;
	}
}

static void
window_operator(const struct arg *a, const struct weir_type *out, struct weir_operator *op)
{
	*op = (struct weir_operator){
		.name = "window",
		.out = out,
		.reads = 1u << a->w.time_column,
		.local_bytes = sizeof(struct local),
		.states = a->states,
		.state_cnt = 2,
		.arg = a,
		.open = window_open,
		.process = window_process,
		.watermark = window_watermark,
	};
	for (uint32_t i = 0; i < a->aggs.cnt; i++)
		if (a->aggs.agg[i].fn != WEIR_COUNT)
			op->reads |= 1u << a->aggs.agg[i].column;
}

static void
declare_states(struct arg *a)
{
	a->states[PANES] = (struct weir_state_decl){ .name = "panes",
						     .value_bytes = weir_aggs_bytes(&a->aggs) };
	a->states[FIRING] = (struct weir_state_decl){ .name = "firing",
						      .value_bytes = weir_aggs_bytes(&a->aggs) };
}

static bool
window_combine(const struct weir_vertex *v, struct weir_operator *combiner,
	       struct weir_operator *merger, void *owned[4])
{
	const struct arg *a = v->op.arg;
	struct arg *m;

	if (!weir_combine_operator(v, &a->aggs, a->w.slide_ns, a->w.time_column, combiner, owned))
		return false;
	m = malloc(sizeof(*m));
	if (m == NULL)
		return false;
	*m = *a;
	m->w.time_column = v->key.cnt;
	m->aggs = weir_aggs_of_partials(&a->aggs, v->key.cnt + 1);
	declare_states(m);
	owned[2] = m;
	window_operator(m, v->op.out, merger);
	return true;
}

struct weir_stream *
weir_window(struct weir_stream *in, const char *id, const struct weir_window *window)
{
	const struct weir_type *type = weir_stream_type(in);
	struct weir_operator op = { .process = window_process };
	struct weir_vertex *v = NULL;
	struct weir_type *out = NULL;
	struct arg *a;

	if (type == NULL)
		return weir_job_add(in, id, &op, &v);
	a = calloc(1, sizeof(*a));
	WEIR_ASSERT(a != NULL);
	a->w = *window;
	if (a->w.slide_ns == 0)
		a->w.slide_ns = a->w.size_ns;
	if (in->key.cnt == 0)
		weir_job_mistake(in->job, "window '%s' needs key_by in front", id);
	else if (a->w.size_ns <= 0 || a->w.slide_ns <= 0 || a->w.size_ns % a->w.slide_ns != 0)
		weir_job_mistake(in->job, "window '%s': the slide must divide the size", id);
	else if (a->w.time_column >= type->column_cnt ||
		 type->columns[a->w.time_column].kind != WEIR_KIND_TIME)
		weir_job_mistake(in->job, "window '%s': time_column is no TIME column", id);
	else if (!weir_aggs_init(&a->aggs, type, window->agg, window->agg_cnt))
		weir_job_mistake(in->job,
				 "window '%s': 1 to %u aggregates of U64, I64 or TIME columns", id,
				 WEIR_AGGS_MAX);
	else {
		out = weir_aggs_type(type, &in->key, "window", &a->aggs, false);
		declare_states(a);
		window_operator(a, out, &op);
	}
	in = weir_job_add(in, id, &op, &v);
	if (v == NULL) {
		free(a);
		free(out);
		return in;
	}
	v->owned[0] = a;
	v->owned[1] = out;
	v->combine = window_combine;
	return in;
}

/*
 * Windows of event time over keyed aggregates.
 *
 * State: "panes", a table per pane (namespace: its start) of key -> accumulators. A pane is as long
 * as the slide, so every window is a run of panes. A window fires when the watermark reaches its
 * last nanosecond, slice by slice of the hash order: what its panes hold of a slice is merged aside
 * and emitted. When the turn has done enough, or downstream is full, firing goes on in a later one
 * (WEIR_MORE).
 *
 * A checkpoint may come between (T26). What is left of a slice goes out before the barrier, so that
 * the window has fired for all keys up to some hash and for none behind it; the checkpoint keeps
 * this as keys that are ahead of the watermark (engine/operators/passed.h), which means the same at
 * any parallelism. Panes stay until the window has fired for all keys.
 */
#include "engine/operators/agg.h"
#include "engine/operators/builtin.h"
#include "engine/operators/ctx.h"
#include "engine/operators/panes.h"
#include "engine/operators/slice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PANES 0u

struct arg {
	struct weir_window w; /* slide_ns > 0 */
	struct weir_aggs aggs;
	struct weir_state_decl states[1];
	char words[160]; /* a merger has those of the whole */
};

struct local {
	int64_t pane_lo, pane_hi; /* the pane of the last rows: most batches lie in it whole */
	int64_t next_start;	  /* windows that start before it have fired */
	bool firing;
	int64_t window;	  /* being fired */
	bool gathered;	  /* a slice of it is at hand */
	uint32_t emitted; /* rows of that slice that are out */
	uint16_t take[WEIR_BATCH_ROWS];
	uint16_t rest[2][WEIR_BATCH_ROWS];
	uint16_t in_time[WEIR_BATCH_ROWS];
	uint64_t row_hash[WEIR_BATCH_ROWS];
}; /* a struct weir_slice behind it */

static const char *const reasons[] = { "late" };

static struct weir_slice *
slice_of(struct local *l)
{
	return (struct weir_slice *)(void *)(l + 1);
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

static int64_t
last_of(const struct weir_operator_ctx *ctx)
{
	const struct arg *a = ctx->op->arg;
	const struct local *l = ctx->local;

	return weir_time_add(l->window, a->w.size_ns - 1);
}

/* The window has fired for the last key. */
static void
window_over(struct weir_operator_ctx *ctx)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);

	/* No later window reaches back to this window's first pane. */
	weir_state_drop(ctx, PANES, l->window);
	l->next_start = weir_time_add(l->window, a->w.slide_ns);
	l->firing = false;
	/* Others may be due at the watermark that is being dealt with: a checkpoint between two of
	 * them shall not fire this one again. */
	if (last_of(ctx) > ctx->watermark_ns)
		ctx->watermark_ns = last_of(ctx);
	ctx->fired.watermark_ns = INT64_MIN;
}

/* T26: the slice at hand is out; keys up to its end are ahead of the others. */
static void
slice_over(struct weir_operator_ctx *ctx)
{
	struct local *l = weir_operator_local(ctx);
	struct weir_slice *s = slice_of(l);

	l->gathered = false;
	if (weir_slice_is_last(s)) {
		window_over(ctx);
		return;
	}
	ctx->fired = (struct weir_passed){ .hash_first = s->panes->spec.hash_first,
					   .hash_last = s->last,
					   .watermark_ns = last_of(ctx) };
	weir_slice_advance(s);
}

/* One row of the slice into the batch; false: no room for its key. */
static bool
put_row(struct weir_operator_ctx *ctx, const struct weir_slice_row *row, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	const struct local *l = weir_operator_local(ctx);
	const uint32_t key_cnt = ctx->key.cnt;
	const uint32_t r = out->batch.rows;

	if (!weir_aggs_put_key(out, &ctx->key, r, weir_slice_key(row), row->key_len))
		return false;
	((int64_t *)out->own[key_cnt])[r] = l->window;
	for (uint32_t g = 0; g < a->aggs.cnt; g++)
		((uint64_t *)out->own[key_cnt + 1 + g])[r] = row->acc[g];
	out->batch.rows = out->batch.selected = r + 1;
	return true;
}

/* A batch of rows of the slice. */
static int
emit_batch(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	struct local *l = weir_operator_local(ctx);
	struct weir_slice *s = slice_of(l);
	const int64_t last_ns = last_of(ctx);
	const bool any_passed = weir_passed_any(&ctx->passed, last_ns);

	(void)weir_out_rows(out);
	for (; l->emitted < s->cnt && out->batch.rows < out->cap; l->emitted++) {
		const struct weir_slice_row *row = weir_slice_row(s, l->emitted);

		if (any_passed && weir_passed_has(&ctx->passed, row->hash, last_ns))
			continue; /* R3, T26: fired before the restore */
		if (put_row(ctx, row, out))
			continue;
		if (out->batch.rows == 0)
			return weir_operator_fail(ctx, "key of %u bytes too long", row->key_len);
		break;
	}
	return weir_out_emit(out);
}

/* What is left of the slice at hand; WEIR_MORE when downstream is full. */
static int
emit_slice(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	struct local *l = weir_operator_local(ctx);

	if (!l->gathered)
		return 0;
	while (l->emitted < slice_of(l)->cnt) {
		int rc;

		if (weir_out_full(out))
			return WEIR_MORE;
		rc = emit_batch(ctx, out);
		if (rc != 0)
			return rc;
	}
	slice_over(ctx);
	return 0;
}

/* The next slice; *left: entries that the turn may still look at. */
static int
gather(struct weir_operator_ctx *ctx, uint32_t *left)
{
	struct local *l = weir_operator_local(ctx);
	uint32_t met;

	if (!weir_slice_gather(slice_of(l), &met))
		return weir_operator_fail(ctx, "more than %u keys of one hash", WEIR_SLICE_ROWS);
	l->gathered = true;
	l->emitted = 0;
	*left -= met < *left ? met + 1 : *left;
	return 0;
}

static int
window_watermark(struct weir_operator_ctx *ctx, int64_t watermark_ns, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);
	uint32_t left = ctx->host->slice_rows;

	for (;;) {
		int rc = emit_slice(ctx, out);

		if (rc != 0)
			return rc;
		if (!l->firing) {
			if (!next_window(ctx, watermark_ns, &l->window))
				return 0;
			l->firing = true;
			weir_slice_begin(slice_of(l), ctx->state[PANES], &a->aggs, l->window,
					 weir_time_add(l->window, a->w.size_ns),
					 ctx->host->slice_rows);
		}
		if (left == 0)
			return WEIR_MORE;
		rc = gather(ctx, &left);
		if (rc != 0)
			return rc;
	}
}

/* In front of a barrier (T22): firing stands between two slices then. */
static int
window_flush(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	return emit_slice(ctx, out);
}

static void
window_operator(const struct arg *a, const struct weir_type *out, struct weir_operator *op)
{
	*op = (struct weir_operator){
		.name = "window",
		.out = out,
		.reads = 1u << a->w.time_column,
		.local_bytes = sizeof(struct local) + weir_slice_bytes(&a->aggs),
		.states = a->states,
		.state_cnt = 1,
		.arg = a,
		.open = window_open,
		.process = window_process,
		.watermark = window_watermark,
		.flush = window_flush,
	};
	for (uint32_t i = 0; i < a->aggs.cnt; i++)
		if (a->aggs.agg[i].fn != WEIR_COUNT)
			op->reads |= 1u << a->aggs.agg[i].column;
}

static void
declare_states(struct arg *a)
{
	a->states[PANES] = (struct weir_state_decl){ .name = "panes",
						     .value_bytes = weir_aggs_bytes(&a->aggs),
						     .type = a->words };
}

/* Panes are only good for windows of the same size and slide. */
static void
print_words(struct arg *a, const struct weir_type *in)
{
	const int at = snprintf(a->words, sizeof(a->words),
				"windows of %lld ns every %lld ns: ", (long long)a->w.size_ns,
				(long long)a->w.slide_ns);

	weir_aggs_print(&a->aggs, in, a->words + at, sizeof(a->words) - (size_t)at);
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
		if (out == NULL)
			weir_job_mistake(in->job, "window '%s': more than %u columns", id,
					 WEIR_COLUMNS_MAX);
		print_words(a, type);
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

/*
 * Running aggregates per key, without windows.
 *
 * State: "values", key -> accumulators. With updates also "changed", the keys since the last
 * checkpoint; its rows go out in front of every barrier, so it is empty in every checkpoint.
 */
#include "engine/operators/agg.h"
#include "engine/operators/builtin.h"
#include "engine/operators/ctx.h"

#include <stdlib.h>
#include <string.h>

#define VALUES	0u
#define CHANGED 1u
#define CHUNK	64u

struct arg {
	enum weir_emit emit;
	bool fused; /* one sum: look-up and addition in one */
	struct weir_aggs aggs;
	struct weir_state_decl states[2];
	char words[160]; /* a merger has those of the whole */
};

struct local {
	uint64_t cursor;
	struct weir_table_entry entry[CHUNK];
};

static int
emit_each(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out,
	  void *const *acc)
{
	const struct arg *a = weir_operator_arg(ctx);

	weir_out_same(out, in);
	for (uint32_t g = 0; g < a->aggs.cnt; g++) {
		uint64_t *col = weir_out_column(out, ctx->in_type->column_cnt + g);

		for (uint32_t i = 0; i < in->selected; i++)
			col[weir_row(in, i)] = ((const uint64_t *)acc[i])[g];
	}
	return weir_out_emit(out);
}

/* Several rows of one key in a batch each see the sum behind themselves. */
static int
sum_each(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);

	weir_out_same(out, in);
	weir_state_add(ctx, VALUES, 0, in, weir_u64(in, a->aggs.agg[0].column),
		       weir_out_column(out, ctx->in_type->column_cnt));
	return weir_out_emit(out);
}

static int
reduce_process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	void **acc;

	if (a->fused)
		return sum_each(ctx, in, out);
	acc = weir_state_batch(ctx, VALUES, 0, in);
	if (a->emit != WEIR_EMIT_EACH) {
		weir_aggs_add(&a->aggs, in, acc);
		if (a->emit == WEIR_EMIT_UPDATES) {
			acc = weir_state_batch(ctx, CHANGED, 0, in);
			for (uint32_t i = 0; i < in->selected; i++)
				*(uint8_t *)acc[i] = 1;
		}
		return 0;
	}
	/* Row by row, so that each row sees the values behind itself and not behind the batch. */
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint16_t row = (uint16_t)weir_row(in, i);
		struct weir_batch one = *in;
		int rc;

		one.sel = &row;
		one.selected = 1;
		weir_aggs_add(&a->aggs, &one, &acc[i]);
		rc = emit_each(ctx, &one, out, &acc[i]);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
put_row(struct weir_operator_ctx *ctx, struct weir_out *out, const struct weir_table_entry *e,
	const uint64_t *acc)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct weir_batch *b = &out->batch;

	if (b->rows == out->cap ||
	    !weir_aggs_put_key(out, &ctx->key, b->rows, e->key, e->key_len)) {
		int rc;

		b->selected = b->rows;
		rc = weir_out_emit(out);
		if (rc != 0)
			return rc;
		b = weir_out_rows(out);
		if (!weir_aggs_put_key(out, &ctx->key, 0, e->key, e->key_len))
			return weir_operator_fail(ctx, "key of %u bytes is too long", e->key_len);
	}
	for (uint32_t g = 0; g < a->aggs.cnt; g++)
		((uint64_t *)out->own[ctx->key.cnt + g])[b->rows] = acc[g];
	b->rows++;
	return 0;
}

/* R3: at the end of the data: a subtask that had emitted all it had owned the key when the
 * checkpoint was taken. */
static bool
emitted_before(const struct weir_operator_ctx *ctx, uint32_t state, uint64_t hash)
{
	return state == VALUES && weir_passed_any(&ctx->passed, WEIR_TIME_END) &&
	       weir_passed_has(&ctx->passed, hash, WEIR_TIME_END);
}

/* Emit the values of all keys in a table of the operator's, in pieces. */
static int
emit_keys(struct weir_operator_ctx *ctx, uint32_t state, struct weir_out *out)
{
	struct local *l = weir_operator_local(ctx);
	struct weir_table *t = weir_kstate_table(ctx->state[state], 0, false);
	struct weir_table *values = weir_kstate_table(ctx->state[VALUES], 0, false);
	const struct weir_table_scan scan = WEIR_TABLE_SCAN_READ;

	while (t != NULL) {
		uint32_t cnt;
		int rc = 0;

		if (weir_out_full(out))
			return WEIR_MORE;
		cnt = weir_table_next(t, &scan, &l->cursor, l->entry, CHUNK);
		if (cnt == 0)
			break;
		(void)weir_out_rows(out);
		for (uint32_t i = 0; i < cnt && rc == 0; i++) {
			const struct weir_table_entry *e = &l->entry[i];

			if (emitted_before(ctx, state, e->hash))
				continue;
			rc = put_row(ctx, out, e,
				     state == VALUES
					     ? e->value
					     : weir_table_get(values, e->key, e->key_len, e->hash));
		}
		out->batch.selected = out->batch.rows;
		if (rc == 0)
			rc = weir_out_emit(out);
		if (rc != 0)
			return rc;
	}
	l->cursor = 0;
	return 0;
}

static int
reduce_end(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	return emit_keys(ctx, VALUES, out);
}

static int
reduce_flush(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	const int rc = emit_keys(ctx, CHANGED, out);

	if (rc == 0)
		weir_state_drop(ctx, CHANGED, 0);
	return rc;
}

static void
reduce_operator(const struct arg *a, const struct weir_type *out, struct weir_operator *op)
{
	*op = (struct weir_operator){
		.name = "reduce",
		.out = out,
		.local_bytes = sizeof(struct local),
		.states = a->states,
		.state_cnt = a->emit == WEIR_EMIT_UPDATES ? 2 : 1,
		.arg = a,
		.process = reduce_process,
		.end = a->emit == WEIR_EMIT_EACH ? NULL : reduce_end,
		.flush = a->emit == WEIR_EMIT_UPDATES ? reduce_flush : NULL,
	};
	for (uint32_t i = 0; i < a->aggs.cnt; i++)
		if (a->aggs.agg[i].fn != WEIR_COUNT)
			op->reads |= 1u << a->aggs.agg[i].column;
}

static void
declare_states(struct arg *a)
{
	a->states[VALUES] = (struct weir_state_decl){ .name = "values",
						      .value_bytes = weir_aggs_bytes(&a->aggs),
						      .type = a->words };
	a->states[CHANGED] = (struct weir_state_decl){ .name = "changed", .value_bytes = 1 };
}

static bool
reduce_combine(const struct weir_vertex *v, struct weir_operator *combiner,
	       struct weir_operator *merger, void *owned[4])
{
	const struct arg *a = v->op.arg;
	struct arg *m;

	if (a->emit == WEIR_EMIT_EACH || !weir_combine_operator(v, &a->aggs, 0, 0, combiner, owned))
		return false;
	m = malloc(sizeof(*m));
	if (m == NULL)
		return false;
	*m = *a;
	m->aggs = weir_aggs_of_partials(&a->aggs, v->key.cnt);
	declare_states(m);
	owned[2] = m;
	reduce_operator(m, v->op.out, merger);
	return true;
}

struct weir_stream *
weir_reduce(struct weir_stream *in, const char *id, const struct weir_reduce *reduce)
{
	const struct weir_type *type = weir_stream_type(in);
	const bool each = reduce->emit == WEIR_EMIT_EACH;
	struct weir_operator op = { .process = reduce_process };
	struct weir_vertex *v = NULL;
	struct weir_type *out = NULL;
	struct arg *a;

	if (type == NULL)
		return weir_job_add(in, id, &op, &v);
	a = calloc(1, sizeof(*a));
	WEIR_ASSERT(a != NULL);
	a->emit = reduce->emit;
	if (in->key.cnt == 0)
		weir_job_mistake(in->job, "reduce '%s' needs key_by in front", id);
	else if (!weir_aggs_init(&a->aggs, type, reduce->agg, reduce->agg_cnt))
		weir_job_mistake(in->job,
				 "reduce '%s': 1 to %u aggregates of U64, I64 or TIME columns", id,
				 WEIR_AGGS_MAX);
	else {
		out = weir_aggs_type(type, &in->key, NULL, &a->aggs, each);
		if (out == NULL)
			weir_job_mistake(in->job, "reduce '%s': more than %u columns", id,
					 WEIR_COLUMNS_MAX);
		a->fused = each && a->aggs.cnt == 1 && a->aggs.agg[0].fn == WEIR_SUM;
		weir_aggs_print(&a->aggs, type, a->words, sizeof(a->words));
		declare_states(a);
		reduce_operator(a, out, &op);
	}
	in = weir_job_add(in, id, &op, &v);
	if (v == NULL) {
		free(a);
		free(out);
		return in;
	}
	v->owned[0] = a;
	v->owned[1] = out;
	v->combine = reduce_combine;
	v->passes = each;
	return in;
}

/*
 * The combiner: partial aggregates in front of a hash exchange, where keys repeat within a short
 * time.
 *
 * A direct-mapped table small enough for the first-level cache, keyed by key and pane; a row that
 * meets another key in its slot sends that one on and takes the slot. It holds nothing across a
 * cut: it empties itself before every barrier, when input pauses, when linger has passed, and
 * before it forwards a watermark that reaches the end of a pane it holds. So it needs no state.
 * When keys do not repeat it steps aside: rows go through as partial results of one row each, and
 * it looks again from time to time.
 */
#include "engine/operators/builtin.h"
#include "engine/operators/ctx.h"
#include "engine/operators/panes.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_LOG2   11u
#define SLOTS	     (1u << SLOTS_LOG2)
#define KEY_MAX	     40u
#define WATCH_ROWS   8192u   /* rows after which the yield is judged */
#define ASIDE_ROWS   262144u /* rows to let through before the next try */
#define YIELD_PERMIL 400u    /* fewer rows than this found their slot: not worth it */

struct arg {
	struct weir_aggs aggs;
	int64_t pane_ns;
	uint32_t time_column;
};

struct slot {
	uint64_t used;
	int64_t pane;
	uint64_t acc[WEIR_AGGS_MAX + 1];
	char key[KEY_MAX];
};

/* Keys of 8 bytes and one count or sum: all that the hot loop touches in half a line. */
struct slot8 {
	uint64_t key;
	int64_t pane; /* INT64_MIN: empty */
	uint64_t acc;
};

struct local {
	int64_t pane_lo, pane_hi;
	int64_t oldest_end; /* of the panes held; INT64_MAX: nothing is held */
	uint32_t held;	    /* slots in use */
	uint32_t seen, hits;
	uint32_t aside; /* rows still to let through */
	uint64_t hash[WEIR_BATCH_ROWS];
	union {
		struct slot slot[SLOTS];
		struct slot8 slot8[SLOTS];
	};
};

static bool
is_small(const struct weir_operator_ctx *ctx, const struct arg *a)
{
	return ctx->key.bytes == 8 && a->aggs.cnt == 1 && !a->aggs.seen;
}

static int
combine_open(struct weir_operator_ctx *ctx)
{
	struct local *l = weir_operator_local(ctx);

	l->oldest_end = INT64_MAX;
	if (is_small(ctx, weir_operator_arg(ctx)))
		for (uint32_t i = 0; i < SLOTS; i++)
			l->slot8[i].pane = INT64_MIN;
	return 0;
}

/* Emit what the batch under way holds if another row might not fit. */
static int
make_room(struct weir_out *out)
{
	int rc = 0;

	if (out->batch.rows == out->cap) {
		out->batch.selected = out->batch.rows;
		rc = weir_out_emit(out);
		(void)weir_out_rows(out);
	}
	return rc;
}

static int
put(struct weir_operator_ctx *ctx, struct weir_out *out, const void *key, int64_t pane,
    const uint64_t *acc)
{
	const struct arg *a = weir_operator_arg(ctx);
	const uint32_t r = out->batch.rows;
	uint32_t c = ctx->key.cnt;

	if (!weir_aggs_put_key(out, &ctx->key, r, key, ctx->key.bytes))
		return weir_operator_fail(ctx, "a fixed key always has room");
	if (a->pane_ns > 0)
		((int64_t *)out->own[c++])[r] = pane;
	for (uint32_t g = 0; g < a->aggs.cnt; g++)
		((uint64_t *)out->own[c++])[r] = acc[g];
	out->batch.rows = r + 1;
	return make_room(out);
}

static int
finish_batch(struct weir_out *out)
{
	out->batch.selected = out->batch.rows;
	return weir_out_emit(out);
}

/* Every row as a partial result of its own. */
static int
let_through(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	const char *keys = weir_key_pack(&ctx->key, in, ctx->pack);
	const int64_t *time = a->pane_ns > 0 ? weir_time(in, a->time_column) : NULL;
	struct local *l = weir_operator_local(ctx);
	int rc = 0;

	(void)weir_out_rows(out);
	for (uint32_t i = 0; i < in->selected && rc == 0; i++) {
		const uint32_t r = weir_row(in, i);
		uint64_t acc[WEIR_AGGS_MAX];

		for (uint32_t g = 0; g < a->aggs.cnt; g++)
			acc[g] = a->aggs.agg[g].fn == WEIR_COUNT
					 ? 1
					 : weir_u64(in, a->aggs.agg[g].column)[r];
		rc = put(ctx, out, keys + (size_t)r * ctx->key.bytes,
			 time != NULL ? weir_pane_of(time[r], a->pane_ns) : 0, acc);
	}
	l->aside -= l->aside < in->selected ? l->aside : in->selected;
	return rc != 0 ? rc : finish_batch(out);
}

static void
note_pane(struct local *l, int64_t pane, int64_t pane_ns)
{
	const int64_t end = weir_time_add(pane, pane_ns);

	if (end < l->oldest_end)
		l->oldest_end = end;
}

/* Rows that all lie in the pane of l->pane_lo (or there are no panes). */
static int
combine_small(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);
	const uint64_t *key = weir_u64(in, ctx->key.column[0]);
	const uint64_t *value =
		a->aggs.agg[0].fn == WEIR_COUNT ? NULL : weir_u64(in, a->aggs.agg[0].column);
	const int64_t pane = a->pane_ns > 0 ? l->pane_lo : 0;
	uint32_t hits = 0;
	int rc = 0;

	(void)weir_out_rows(out);
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint32_t r = weir_row(in, i);
		struct slot8 *s = &l->slot8[weir_hash_u64(key[r]) >> (64 - SLOTS_LOG2)];
		const uint64_t v = value != NULL ? value[r] : 1;

		if (WEIR_LIKELY((s->key == key[r]) & (s->pane == pane))) {
			s->acc += v;
			hits++;
			continue;
		}
		if (s->pane != INT64_MIN) {
			rc = put(ctx, out, &s->key, s->pane, &s->acc);
			if (WEIR_UNLIKELY(rc != 0))
				return rc;
		} else {
			l->held++;
		}
		*s = (struct slot8){ .key = key[r], .pane = pane, .acc = v };
	}
	l->hits += hits;
	return finish_batch(out);
}

static int
combine_any(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);
	const uint32_t bytes = ctx->key.bytes;
	const char *keys = weir_key_pack(&ctx->key, in, ctx->pack);
	const int64_t pane = a->pane_ns > 0 ? l->pane_lo : 0;
	int rc;

	weir_key_hashes(&ctx->key, in, ctx->pack, l->hash);
	(void)weir_out_rows(out);
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint16_t r = (uint16_t)weir_row(in, i);
		const char *key = keys + (size_t)r * bytes;
		struct slot *s = &l->slot[l->hash[i] >> (64 - SLOTS_LOG2)];
		struct weir_batch one = *in;
		void *acc = s->acc;

		one.sel = &r;
		one.selected = 1;
		if (s->used != 0 && s->pane == pane && memcmp(s->key, key, bytes) == 0) {
			l->hits++;
		} else {
			if (s->used != 0) {
				rc = put(ctx, out, s->key, s->pane, s->acc);
				if (rc != 0)
					return rc;
			} else {
				l->held++;
			}
			*s = (struct slot){ .used = 1, .pane = pane };
			memcpy(s->key, key, bytes);
		}
		weir_aggs_add(&a->aggs, &one, &acc);
	}
	return finish_batch(out);
}

static int
combine_pane(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);

	if (a->pane_ns > 0)
		note_pane(l, l->pane_lo, a->pane_ns);
	return is_small(ctx, a) ? combine_small(ctx, in, out) : combine_any(ctx, in, out);
}

static int
combine_flush(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	const bool small = is_small(ctx, weir_operator_arg(ctx));
	struct local *l = weir_operator_local(ctx);
	int rc = 0;

	if (l->held == 0)
		return 0;
	(void)weir_out_rows(out);
	for (uint32_t i = 0; i < SLOTS && rc == 0; i++) {
		struct slot8 *s = &l->slot8[i];
		struct slot *g = &l->slot[i];

		if (small && s->pane != INT64_MIN) {
			rc = put(ctx, out, &s->key, s->pane, &s->acc);
			*s = (struct slot8){ .pane = INT64_MIN };
		} else if (!small && g->used != 0) {
			rc = put(ctx, out, g->key, g->pane, g->acc);
			*g = (struct slot){ 0 };
		}
	}
	l->oldest_end = INT64_MAX;
	l->held = 0;
	return rc != 0 ? rc : finish_batch(out);
}

/* Is it worth it? Judged every WATCH_ROWS rows. */
static int
watch(struct weir_operator_ctx *ctx, uint32_t rows, struct weir_out *out)
{
	struct local *l = weir_operator_local(ctx);
	bool bad;

	l->seen += rows;
	if (l->seen < WATCH_ROWS)
		return 0;
	bad = (uint64_t)l->hits * 1000 < (uint64_t)l->seen * YIELD_PERMIL;
	l->seen = l->hits = 0;
	if (!bad)
		return 0;
	l->aside = ASIDE_ROWS;
	return combine_flush(ctx, out);
}

static int
combine_process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const struct arg *a = weir_operator_arg(ctx);
	struct local *l = weir_operator_local(ctx);
	const int64_t *time = a->pane_ns > 0 ? weir_time(in, a->time_column) : NULL;
	int rc;

	if (l->aside > 0)
		return let_through(ctx, in, out);
	if (time != NULL && !weir_pane_holds(in, time, l->pane_lo, l->pane_hi)) {
		const int64_t lo = weir_pane_of(time[weir_row(in, 0)], a->pane_ns);

		l->pane_lo = lo;
		l->pane_hi = weir_time_add(lo, a->pane_ns);
		/* Rows of several panes in one batch are rare: not worth a table look-up each. */
		if (!weir_pane_holds(in, time, l->pane_lo, l->pane_hi))
			return let_through(ctx, in, out);
	}
	rc = combine_pane(ctx, in, out);
	return rc != 0 ? rc : watch(ctx, in->selected, out);
}

static int
combine_watermark(struct weir_operator_ctx *ctx, int64_t watermark_ns, struct weir_out *out)
{
	const struct local *l = weir_operator_local(ctx);

	return l->oldest_end != INT64_MAX && watermark_ns >= l->oldest_end - 1
		       ? combine_flush(ctx, out)
		       : 0;
}

bool
weir_combine_operator(const struct weir_vertex *v, const struct weir_aggs *aggs, int64_t pane_ns,
		      uint32_t time_column, struct weir_operator *combiner, void *owned[4])
{
	struct weir_type *out;
	struct arg *a;

	if (v->key.bytes == 0 || v->key.bytes > KEY_MAX)
		return false;
	out = weir_aggs_type(v->in_type, &v->key, pane_ns > 0 ? "pane" : NULL, aggs, false);
	a = calloc(1, sizeof(*a));
	if (out == NULL || a == NULL) {
		free(out);
		free(a);
		return false;
	}
	*a = (struct arg){ .aggs = *aggs, .pane_ns = pane_ns, .time_column = time_column };
	owned[0] = a;
	owned[1] = out;
	*combiner = (struct weir_operator){ .name = "combine",
					    .out = out,
					    .local_bytes = sizeof(struct local),
					    .arg = a,
					    .open = combine_open,
					    .process = combine_process,
					    .watermark = combine_watermark,
					    .flush = combine_flush,
					    .idle = combine_flush,
					    .end = combine_flush };
	if (pane_ns > 0)
		combiner->reads |= 1u << time_column;
	for (uint32_t g = 0; g < aggs->cnt; g++)
		if (aggs->agg[g].fn != WEIR_COUNT)
			combiner->reads |= 1u << aggs->agg[g].column;
	return true;
}

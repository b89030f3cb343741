/* The operators of the graphs. What they do to rows is computed in expect.c, without the engine. */

#include "tests/simulator/operators.h"

#include <string.h>

#include "tests/simulator/sim.h"

/* value = value * 7 + key */
static int
mix(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const uint64_t *key = weir_u64(in, KEY);
	const uint64_t *value = weir_u64(in, VALUE);
	uint64_t *mixed;

	(void)ctx;
	weir_out_same(out, in);
	mixed = weir_out_column(out, VALUE);
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint32_t r = weir_row(in, i);

		mixed[r] = value[r] * 7 + key[r];
	}
	return weir_out_emit(out);
}

const struct weir_operator sim_op_mix = {
	.name = "map", .reads = 1u << KEY | 1u << VALUE, .writes = 1u << VALUE, .process = mix
};

/* Keep the rows whose number in a column is not a multiple of three. */
static int
not_by_three(const struct weir_batch *in, struct weir_out *out, uint32_t column)
{
	const uint64_t *value = weir_u64(in, column);
	uint16_t *sel;
	uint32_t kept = 0;

	weir_out_same(out, in);
	sel = weir_out_select(out);
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint16_t r = (uint16_t)weir_row(in, i);

		if (value[r] % 3 != 0)
			sel[kept++] = r;
	}
	out->batch.selected = kept;
	return weir_out_emit(out);
}

static int
keep_value(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)ctx;
	return not_by_three(in, out, VALUE);
}

const struct weir_operator sim_op_keep = { .name = "filter",
					   .reads = 1u << VALUE,
					   .process = keep_value };

/*
 * The rows that keep would keep, but held back in a split list, some at a time: what a restore
 * loses or doubles of it is missing in the output, or too much. And a union list of who there is:
 * at a restore everybody who gets rows must see one item of each subtask that there was (R5, T30),
 * and nobody one twice.
 */
enum { HELD, WHO, HELD_MAX = 16 };

struct held {
	uint64_t key, value;
	int64_t time_ns;
	char word[32];
	uint8_t word_len, pad[SIM_PAD];
};

struct who {
	uint32_t subtask, parallelism;
};

static int
hold_open(struct weir_operator_ctx *ctx)
{
	const uint64_t cnt = weir_operator_state_count(ctx, WHO);
	bool *some = weir_operator_local(ctx); /* not all: what had ended */
	uint64_t cursor = 0, n = 0;
	uint32_t len, last = 0;
	const void *item;

	for (; weir_operator_list_next(ctx, WHO, &cursor, &item, &len); n++) {
		const struct who *w = item;
		const bool all = w->parallelism == cnt && w->subtask == n;

		*some |= !all;
		if (cnt > w->parallelism || (n > 0 && w->subtask <= last))
			return weir_operator_fail(ctx, "item %u of %u is of subtask %u of %u",
						  (unsigned)n, (unsigned)cnt, w->subtask,
						  w->parallelism);
		last = w->subtask;
	}
	return 0;
}

static int
let_go(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	struct weir_batch *b = weir_out_rows(out);
	uint64_t cursor = 0;
	const void *item;
	uint32_t len;

	for (; weir_operator_list_next(ctx, HELD, &cursor, &item, &len); b->rows++) {
		const struct held *h = item;

		((uint64_t *)b->col[KEY])[b->rows] = h->key;
		((uint64_t *)b->col[VALUE])[b->rows] = h->value;
		((int64_t *)b->col[TIME])[b->rows] = h->time_ns;
		((struct weir_bytes *)b->col[WORD])[b->rows] =
			(struct weir_bytes){ .off = out->heap_len, .len = h->word_len };
		memcpy(b->heap[WORD] + out->heap_len, h->word, h->word_len);
		out->heap_len += h->word_len;
		memcpy((uint8_t *)b->col[PAD] + b->rows * SIM_PAD, h->pad, SIM_PAD);
	}
	b->selected = b->rows;
	weir_operator_state_clear(ctx, HELD);
	return weir_out_emit(out);
}

static int
hold(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const bool *some = weir_operator_local(ctx);
	int rc = 0;

	if (*some)
		return weir_operator_fail(ctx, "rows, and not all have said who they were");
	for (uint32_t i = 0; i < in->selected && rc == 0; i++) {
		const uint32_t r = weir_row(in, i);
		const struct weir_bytes word = weir_bytes(in, WORD)[r];
		struct held h = { .key = weir_u64(in, KEY)[r],
				  .value = weir_u64(in, VALUE)[r],
				  .time_ns = weir_time(in, TIME)[r],
				  .word_len = (uint8_t)word.len };

		if (h.value % 3 == 0)
			continue;
		memcpy(h.word, in->heap[WORD] + word.off, word.len);
		memcpy(h.pad, (const uint8_t *)in->col[PAD] + r * SIM_PAD, SIM_PAD);
		rc = weir_operator_list_add(ctx, HELD, &h, sizeof(h));
		if (rc == 0 && weir_operator_state_count(ctx, HELD) >= HELD_MAX)
			rc = let_go(ctx, out);
	}
	return rc;
}

static int
say_who(struct weir_operator_ctx *ctx)
{
	const struct who who = { weir_operator_subtask(ctx), weir_operator_parallelism(ctx) };

	weir_operator_state_clear(ctx, WHO);
	return weir_operator_list_add(ctx, WHO, &who, sizeof(who));
}

static int
hold_flush(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	(void)out;
	return say_who(ctx);
}

/* Behind it there is no flush: what a restore gave is sorted out here, or never. */
static int
hold_end(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	const int rc = say_who(ctx);

	return rc == 0 ? let_go(ctx, out) : rc;
}

static const struct weir_operator_state_decl hold_states[] = {
	{ .name = "held", .kind = WEIR_SPLIT_LIST, .item_bytes = sizeof(struct held) },
	{ .name = "who", .kind = WEIR_UNION_LIST, .item_bytes = sizeof(struct who) },
};

struct weir_operator sim_op_hold = { .name = "hold",
				     .reads = 1u << KEY | 1u << VALUE | 1u << TIME | 1u << WORD |
					      1u << PAD,
				     .local_bytes = sizeof(bool),
				     .operator_states = hold_states,
				     .operator_state_cnt = 2,
				     .open = hold_open,
				     .process = hold,
				     .flush = hold_flush,
				     .end = hold_end };

/* Each row value % 4 times, with the keys key, key + 1, ... */
static int
repeat(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)ctx;
	(void)weir_out_rows(out);
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint32_t r = weir_row(in, i);
		const uint64_t times = weir_u64(in, VALUE)[r] % 4;

		for (uint64_t n = 0; n < times; n++) {
			const uint32_t to = out->batch.rows;

			((uint64_t *)out->batch.col[0])[to] = weir_u64(in, KEY)[r] + n;
			((uint64_t *)out->batch.col[1])[to] = weir_u64(in, VALUE)[r];
			out->batch.rows = out->batch.selected = to + 1;
			if (out->batch.rows == out->cap) {
				const int rc = weir_out_emit(out);

				if (rc != 0)
					return rc;
				(void)weir_out_rows(out);
			}
		}
	}
	return weir_out_emit(out);
}

WEIR_TYPE(pair, WEIR_U64("key"), WEIR_U64("value"));
const struct weir_operator sim_op_repeat = {
	.name = "flat-map", .out = &pair, .reads = 1u << KEY | 1u << VALUE, .process = repeat
};

/* Running counts: the even ones, as rows of their own. */
static int
even(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)ctx;
	(void)weir_out_rows(out);
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint32_t r = weir_row(in, i);
		const uint64_t count = weir_u64(in, 5)[r];
		const uint32_t to = out->batch.rows;

		if (count % 2 != 0)
			continue;
		((uint64_t *)out->batch.col[0])[to] = count;
		((uint64_t *)out->batch.col[1])[to] = weir_u64(in, KEY)[r];
		out->batch.rows = out->batch.selected = to + 1;
	}
	return weir_out_emit(out);
}

const struct weir_operator sim_op_even = {
	.name = "even", .out = &pair, .reads = 1u << KEY | 1u << 5, .process = even
};

/* A row makes value % 16 rows {key, 1}, a few at a time; state: key -> rows still to come. */
static int
burst(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)out;
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint32_t r = weir_row(in, i);
		const uint64_t key = weir_u64(in, KEY)[r];
		uint64_t *left = weir_state_put(ctx, 0, 0, &key, sizeof(key),
						weir_state_hash(&key, sizeof(key)));

		*left += weir_u64(in, VALUE)[r] % 16;
	}
	return WEIR_MORE;
}

static int
burst_more(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	struct weir_batch *b = weir_out_rows(out);
	uint64_t cursor = 0;
	const void *at, *value;
	uint32_t len;
	int rc;

	while (b->rows < 3 && weir_state_next(ctx, 0, 0, &cursor, &at, &len, &value)) {
		uint64_t key, *left;

		if (*(const uint64_t *)value == 0)
			continue;
		memcpy(&key, at, sizeof(key));
		left = weir_state_put(ctx, 0, 0, &key, sizeof(key),
				      weir_state_hash(&key, sizeof(key)));
		(*left)--;
		((uint64_t *)b->col[0])[b->rows] = key;
		((uint64_t *)b->col[1])[b->rows++] = 1;
	}
	b->selected = b->rows;
	if (b->rows == 0)
		return 0;
	rc = weir_out_emit(out);
	return rc != 0 ? rc : WEIR_MORE;
}

static const struct weir_state_decl left_state[] = { { .name = "left", .value_bytes = 8 } };
const struct weir_operator sim_op_burst = { .name = "burst",
					    .out = &pair,
					    .reads = 1u << KEY | 1u << VALUE,
					    .states = left_state,
					    .state_cnt = 1,
					    .process = burst,
					    .more = burst_more };

/* Rows of fixed columns: what a top takes. */
WEIR_TYPE(timed, WEIR_U64("key"), WEIR_U64("value"), WEIR_TIME("time"));

static int
drop_word(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)ctx;
	(void)weir_out_rows(out);
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint32_t r = weir_row(in, i);

		((uint64_t *)out->batch.col[KEY])[i] = weir_u64(in, KEY)[r];
		((uint64_t *)out->batch.col[VALUE])[i] = weir_u64(in, VALUE)[r];
		((int64_t *)out->batch.col[TIME])[i] = weir_time(in, TIME)[r];
	}
	out->batch.rows = out->batch.selected = in->selected;
	return weir_out_emit(out);
}

const struct weir_operator sim_op_drop_word = {
	.name = "map",
	.out = &timed,
	.reads = 1u << KEY | 1u << VALUE | 1u << TIME,
	.process = drop_word,
};

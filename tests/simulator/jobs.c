/* The graphs. What they must write is computed in expect.c, without the engine. */

#include "tests/simulator/sim.h"

#include <string.h>

#include <weir/weir.h>

enum { KEY, VALUE, TIME, WORD, PAD };

/* ---- text ---- */

/* Line of a row: columns [0, cnt) as numbers; word: then the word and the last byte of the pad. */
static uint32_t
format(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes,
       uint32_t cnt, bool word)
{
	size_t at = 0;
	uint32_t i = from;

	for (; i < in->selected && cap - at >= 256; i++) {
		const uint32_t r = weir_row(in, i);

		for (uint32_t c = 0; c < cnt; c++)
			at += (size_t)snprintf(text + at, cap - at, c == 0 ? "%lld" : " %lld",
					       (long long)((const int64_t *)in->col[c])[r]);
		if (word) {
			const struct weir_bytes b = weir_bytes(in, WORD)[r];

			at += (size_t)snprintf(
				text + at, cap - at, " %.*s %u", (int)b.len, in->heap[WORD] + b.off,
				((const uint8_t *)in->col[PAD])[(r + 1) * SIM_PAD - 1]);
		}
		text[at++] = '\n';
	}
	*bytes = at;
	return i - from;
}

#define FORMAT(name, cnt, word)                                                                    \
	static uint32_t name(const struct weir_batch *in, uint32_t from, char *text, size_t cap,   \
			     size_t *bytes)                                                        \
	{                                                                                          \
		return format(in, from, text, cap, bytes, cnt, word);                              \
	}
FORMAT(format_row, 3, true)
FORMAT(format_2, 2, false)
FORMAT(format_3, 3, false)
FORMAT(format_4, 4, false)
FORMAT(format_5, 5, false)

/* Word and two numbers. */
static uint32_t
format_word(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	size_t at = 0;
	uint32_t i = from;

	for (; i < in->selected && cap - at >= 256; i++) {
		const uint32_t r = weir_row(in, i);
		const struct weir_bytes b = weir_bytes(in, 0)[r];

		at += (size_t)snprintf(text + at, cap - at, "%.*s %llu %llu\n", (int)b.len,
				       in->heap[0] + b.off, (unsigned long long)weir_u64(in, 1)[r],
				       (unsigned long long)weir_u64(in, 2)[r]);
	}
	*bytes = at;
	return i - from;
}

/* Running count behind the columns of a row. */
static uint32_t
format_running(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	size_t at = 0;
	uint32_t i = from;

	for (; i < in->selected && cap - at >= 256; i++) {
		const uint32_t r = weir_row(in, i);

		at += (size_t)snprintf(text + at, cap - at, "%llu %llu\n",
				       (unsigned long long)weir_u64(in, KEY)[r],
				       (unsigned long long)weir_u64(in, 5)[r]);
	}
	*bytes = at;
	return i - from;
}

/* The row's time too. */
static uint32_t
format_order(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	size_t at = 0;
	uint32_t i = from;

	for (; i < in->selected && cap - at >= 256; i++) {
		const uint32_t r = weir_row(in, i);

		at += (size_t)snprintf(text + at, cap - at, "%llu %llu %lld\n",
				       (unsigned long long)weir_u64(in, KEY)[r],
				       (unsigned long long)weir_u64(in, 5)[r],
				       (long long)weir_time(in, TIME)[r]);
	}
	*bytes = at;
	return i - from;
}

/* ---- operators ---- */

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

static const struct weir_operator mix_op = {
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

static const struct weir_operator keep_op = { .name = "filter",
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

static struct weir_operator hold_op = { .name = "hold",
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
static const struct weir_operator repeat_op = {
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

static const struct weir_operator even_op = {
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
static const struct weir_operator burst_op = { .name = "burst",
					       .out = &pair,
					       .reads = 1u << KEY | 1u << VALUE,
					       .states = left_state,
					       .state_cnt = 1,
					       .process = burst,
					       .more = burst_more };

/* ---- graphs ---- */

static void
sink(struct weir_stream *in, const struct sim_scenario *s, weir_format_fn lines)
{
	if (!s->own_sink) {
		weir_sink(in, "out", lines);
		return;
	}
	sim_sink_format = lines;
	weir_sink_to(in, "out", &sim_sink);
}

static struct weir_stream *
source(struct weir_job *job, uint32_t number, const uint32_t *parallelism)
{
	struct weir_stream *s =
		weir_source(job, number == 0 ? "first" : "second", &sim_connectors[number]);

	weir_parallelism(s, parallelism[number]);
	return s;
}

static struct weir_stream *
with(struct weir_stream *s, uint32_t parallelism)
{
	weir_parallelism(s, parallelism);
	return s;
}

static struct weir_stream *
totals(struct weir_stream *in, uint32_t column, enum weir_emit emit)
{
	return weir_reduce(weir_key_by(in, column), "totals",
			   &(struct weir_reduce){ .emit = emit,
						  .agg_cnt = 4,
						  .agg = { { WEIR_COUNT, 0 },
							   { WEIR_SUM, VALUE },
							   { WEIR_MIN, VALUE },
							   { WEIR_MAX, VALUE } } });
}

static struct weir_stream *
counts(struct weir_stream *in, enum weir_emit emit)
{
	return weir_reduce(
		weir_key_by(in, KEY), "counts",
		&(struct weir_reduce){ .emit = emit, .agg_cnt = 1, .agg = { { WEIR_COUNT, 0 } } });
}

static struct weir_stream *
windows(struct weir_stream *in, const struct sim_scenario *s, uint32_t agg_cnt)
{
	return weir_window(
		weir_key_by(in, KEY), "windows",
		&(struct weir_window){
			.size_ns = s->size_ns,
			.slide_ns = s->slide_ns,
			.time_column = TIME,
			.agg_cnt = agg_cnt,
			.agg = { { WEIR_COUNT, 0 }, { WEIR_SUM, VALUE }, { WEIR_MAX, VALUE } } });
}

static void
build_keyed(struct weir_job *job, const struct sim_scenario *s, const uint32_t *p)
{
	struct weir_stream *in = source(job, 0, p);
	const uint32_t both[2] = { KEY, VALUE };

	switch (s->shape) {
	case SIM_REDUCE_WORD:
		in = weir_reduce(
			weir_key_by(in, WORD), "words",
			&(struct weir_reduce){ .emit = WEIR_EMIT_END,
					       .agg_cnt = 2,
					       .agg = { { WEIR_COUNT, 0 }, { WEIR_SUM, VALUE } } });
		sink(with(in, p[1]), s, format_word);
		return;
	case SIM_REDUCE_PAIR:
		in = weir_reduce(weir_key_by_columns(in, both, 2), "pairs",
				 &(struct weir_reduce){ .emit = WEIR_EMIT_END,
							.agg_cnt = 1,
							.agg = { { WEIR_COUNT, 0 } } });
		sink(with(in, p[1]), s, format_3);
		return;
	case SIM_REDUCE_UPDATES:
		sink(with(counts(in, WEIR_EMIT_UPDATES), p[1]), s, format_2);
		return;
	case SIM_REDUCE_EACH:
		sink(with(counts(in, WEIR_EMIT_EACH), p[1]), s, format_running);
		return;
	case SIM_ORDER:
		sink(with(counts(in, WEIR_EMIT_EACH), p[1]), s, format_order);
		return;
	default:
		sink(with(totals(in, KEY, WEIR_EMIT_END), p[1]), s, format_5);
	}
}

static void
build_plain(struct weir_job *job, const struct sim_scenario *s, const uint32_t *p)
{
	struct weir_stream *in = source(job, 0, p);

	if (s->shape == SIM_MIXED) {
		in = weir_union(in, source(job, 1, p));
		in = with(weir_process(in, "mix", &mix_op), p[0]);
	} else if (s->shape == SIM_REBALANCE) {
		in = with(weir_process(weir_rebalance(in), "mix", &mix_op), p[1]);
		hold_op.out = sim_connectors[0].type;
		in = with(weir_process(weir_rebalance(in), "keep", &hold_op), p[0]);
	} else if (s->shape == SIM_BROADCAST) {
		in = with(weir_process(weir_broadcast(in), "mix", &mix_op), p[1]);
	} else {
		in = with(weir_process(in, "mix", &mix_op), p[0]);
		in = weir_process(in, "keep", &keep_op);
	}
	sink(in, s, format_row);
}

static void
build_windows(struct weir_job *job, const struct sim_scenario *s, const uint32_t *p)
{
	struct weir_stream *in = source(job, 0, p);

	if (s->shape == SIM_UNION_WINDOW)
		in = weir_union(in, source(job, 1, p));
	if (s->shape == SIM_WINDOW_TOP) {
		in = weir_top(with(windows(in, s, 1), p[1]), "best",
			      &(struct weir_top){ .time_column = 1,
						  .rank_column = 2,
						  .length_ns = s->size_ns });
		sink(in, s, format_4);
		return;
	}
	sink(with(windows(in, s, 3), p[1]), s, format_5);
}

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

static const struct weir_operator drop_word_op = {
	.name = "map",
	.out = &timed,
	.reads = 1u << KEY | 1u << VALUE | 1u << TIME,
	.process = drop_word,
};

static void
build_top(struct weir_job *job, const struct sim_scenario *s, const uint32_t *p)
{
	struct weir_stream *in = weir_process(source(job, 0, p), "narrow", &drop_word_op);

	in = weir_top(in, "best",
		      &(struct weir_top){
			      .time_column = TIME, .rank_column = VALUE, .size_ns = s->size_ns });
	sink(with(in, p[1]), s, format_4);
}

static void
build_two(struct weir_job *job, const struct sim_scenario *s, const uint32_t *p)
{
	struct weir_stream *in = source(job, 0, p);

	if (s->shape == SIM_TWO_SINKS) {
		weir_sink(in, "rows", format_row);
		sink(with(totals(in, KEY, WEIR_EMIT_END), p[1]), s, format_5);
		return;
	}
	in = with(counts(in, WEIR_EMIT_EACH), p[1]);
	in = weir_process(in, "even", &even_op);
	in = weir_reduce(weir_key_by(in, 0), "levels",
			 &(struct weir_reduce){ .emit = WEIR_EMIT_END,
						.agg_cnt = 1,
						.agg = { { WEIR_COUNT, 0 } } });
	sink(with(in, p[0]), s, format_2);
}

void
sim_job_build(struct weir_job *job, const struct sim_scenario *s, const uint32_t *p)
{
	struct weir_stream *in;

	switch (s->shape) {
	case SIM_PASS:
	case SIM_REBALANCE:
	case SIM_BROADCAST:
	case SIM_MIXED:
		build_plain(job, s, p);
		break;
	case SIM_FLAT_MAP:
		in = weir_process(source(job, 0, p), "repeat", &repeat_op);
		sink(with(totals(in, KEY, WEIR_EMIT_END), p[1]), s, format_5);
		break;
	case SIM_REDUCE_END:
	case SIM_REDUCE_WORD:
	case SIM_REDUCE_PAIR:
	case SIM_REDUCE_UPDATES:
	case SIM_REDUCE_EACH:
	case SIM_ORDER:
		build_keyed(job, s, p);
		break;
	case SIM_BURST:
		in = weir_process(weir_key_by(source(job, 0, p), KEY), "burst", &burst_op);
		sink(with(in, p[1]), s, format_2);
		break;
	case SIM_UNION:
		in = weir_process(source(job, 0, p), "mix", &mix_op);
		in = weir_union(in, source(job, 1, p));
		sink(with(totals(in, KEY, WEIR_EMIT_END), p[1]), s, format_5);
		break;
	case SIM_WINDOW:
	case SIM_WINDOW_TOP:
	case SIM_UNION_WINDOW:
		build_windows(job, s, p);
		break;
	case SIM_TOP:
		build_top(job, s, p);
		break;
	case SIM_TWO_STAGES:
	case SIM_TWO_SINKS:
	case SIM_SHAPE_CNT:
		build_two(job, s, p);
		break;
	}
}

/* The graphs. What they must write is computed in expect.c, without the engine. */

#include "tests/simulator/sim.h"

#include <string.h>

#include <weir/weir.h>

#include "tests/simulator/operators.h"

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
		in = with(weir_process(in, "mix", &sim_op_mix), p[0]);
	} else if (s->shape == SIM_REBALANCE) {
		in = with(weir_process(weir_rebalance(in), "mix", &sim_op_mix), p[1]);
		sim_op_hold.out = sim_connectors[0].type;
		in = with(weir_process(weir_rebalance(in), "keep", &sim_op_hold), p[0]);
	} else if (s->shape == SIM_BROADCAST) {
		in = with(weir_process(weir_broadcast(in), "mix", &sim_op_mix), p[1]);
	} else {
		in = with(weir_process(in, "mix", &sim_op_mix), p[0]);
		in = weir_process(in, "keep", &sim_op_keep);
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

static void
build_top(struct weir_job *job, const struct sim_scenario *s, const uint32_t *p)
{
	struct weir_stream *in = weir_process(source(job, 0, p), "narrow", &sim_op_drop_word);

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
	in = weir_process(in, "even", &sim_op_even);
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
		in = weir_process(source(job, 0, p), "repeat", &sim_op_repeat);
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
		in = weir_process(weir_key_by(source(job, 0, p), KEY), "burst", &sim_op_burst);
		sink(with(in, p[1]), s, format_2);
		break;
	case SIM_UNION:
		in = weir_process(source(job, 0, p), "mix", &sim_op_mix);
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

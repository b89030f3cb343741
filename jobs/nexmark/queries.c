#include "jobs/nexmark/nexmark.h"

#include "engine/base/base.h"
#include "jobs/text.h"

#define MS_NS 1000000
/* A line's room: five numbers with what stands between them. */
#define LINE_ROOM (5u * (WEIR_TEXT_U64 + 5u))

/* The sink, behind an exchange of its own if job.rebalance says so. */
static void
finish(struct weir_stream *rows, const struct weir_params *params, weir_format_fn format)
{
	if (weir_param_bool(params, "rebalance", false))
		rows = weir_rebalance(rows);
	weir_sink(rows, "result", format);
}

WEIR_INLINE char *
put_u64(char *p, uint64_t v, char behind)
{
	p = weir_text_u64(p, v);
	*p++ = behind;
	return p;
}

WEIR_INLINE char *
put_ms(char *p, int64_t ns, char behind)
{
	p = weir_text_time(p, ns, MS_NS);
	*p++ = behind;
	return p;
}

/* Thousandths with exactly three decimals. */
WEIR_INLINE char *
put_milli(char *p, uint64_t v, char behind)
{
	const uint32_t rest = (uint32_t)(v % 1000);

	p = weir_text_u64(p, v / 1000);
	*p++ = '.';
	*p++ = (char)('0' + rest / 100);
	*p++ = (char)('0' + rest / 10 % 10);
	*p++ = (char)('0' + rest % 10);
	*p++ = behind;
	return p;
}

typedef char *(*line_fn)(const struct weir_batch *in, uint32_t row, char *p);

/* Line by line as long as there is room; line is a constant, so this is one loop per query. */
WEIR_INLINE uint32_t
lines(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes,
      line_fn line)
{
	char *p = text;
	uint32_t i;

	for (i = from; i < in->selected && cap - (size_t)(p - text) >= LINE_ROOM; i++)
		p = line(in, weir_row(in, i), p);
	*bytes = (size_t)(p - text);
	return i - from;
}

#define FORMAT(name, line)                                                                         \
	static uint32_t name(const struct weir_batch *in, uint32_t from, char *text, size_t cap,   \
			     size_t *bytes)                                                        \
	{                                                                                          \
		return lines(in, from, text, cap, bytes, line);                                    \
	}

/* q0: every bid. */

WEIR_INLINE char *
bid_line(const struct weir_batch *in, uint32_t row, char *p)
{
	p = put_u64(p, weir_u64(in, WEIR_BID_AUCTION)[row], ',');
	p = put_u64(p, weir_u64(in, WEIR_BID_BIDDER)[row], ',');
	p = put_u64(p, weir_u64(in, WEIR_BID_PRICE)[row], ',');
	return put_ms(p, weir_time(in, WEIR_BID_TIME)[row], '\n');
}
FORMAT(format_q0, bid_line)

int
weir_nexmark_q0(struct weir_job *job, const struct weir_params *params)
{
	struct weir_stream *bids = weir_source(job, "bids", &weir_nexmark_source);

	finish(bids, params, format_q0);
	return 0;
}

/* q1: prices in another currency, times 0.908. A column is replaced, the others stay. */

static int
convert(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const uint64_t *restrict from = weir_u64(in, WEIR_BID_PRICE);
	uint64_t *restrict to;

	(void)ctx;
	weir_out_same(out, in);
	if (from != NULL) {
		to = weir_out_column(out, WEIR_BID_PRICE);
		for (uint32_t i = 0; i < in->rows; i++)
			to[i] = from[i] * 908;
	}
	return weir_out_emit(out);
}

static const struct weir_operator convert_op = {
	.name = "map",
	.reads = 1u << WEIR_BID_PRICE,
	.writes = 1u << WEIR_BID_PRICE,
	.process = convert,
};

WEIR_INLINE char *
converted_line(const struct weir_batch *in, uint32_t row, char *p)
{
	p = put_u64(p, weir_u64(in, WEIR_BID_AUCTION)[row], ',');
	p = put_u64(p, weir_u64(in, WEIR_BID_BIDDER)[row], ',');
	p = put_milli(p, weir_u64(in, WEIR_BID_PRICE)[row], ',');
	return put_ms(p, weir_time(in, WEIR_BID_TIME)[row], '\n');
}
FORMAT(format_q1, converted_line)

int
weir_nexmark_q1(struct weir_job *job, const struct weir_params *params)
{
	struct weir_stream *bids = weir_source(job, "bids", &weir_nexmark_source);

	finish(weir_process(bids, "convert", &convert_op), params, format_q1);
	return 0;
}

/* q2: a filter. The columns stay, the selection shrinks. */

static int
select_auctions(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const uint64_t *auctions = weir_u64(in, WEIR_BID_AUCTION);
	uint32_t kept = 0;
	uint16_t *sel;

	(void)ctx;
	weir_out_same(out, in);
	sel = weir_out_select(out);
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint32_t row = weir_row(in, i);

		sel[kept] = (uint16_t)row;
		kept += auctions[row] % 123 == 0;
	}
	out->batch.selected = kept;
	return weir_out_emit(out);
}

static const struct weir_operator select_op = {
	.name = "filter",
	.reads = 1u << WEIR_BID_AUCTION,
	.process = select_auctions,
};

WEIR_INLINE char *
selected_line(const struct weir_batch *in, uint32_t row, char *p)
{
	p = put_u64(p, weir_u64(in, WEIR_BID_AUCTION)[row], ',');
	return put_u64(p, weir_u64(in, WEIR_BID_PRICE)[row], '\n');
}
FORMAT(format_q2, selected_line)

int
weir_nexmark_q2(struct weir_job *job, const struct weir_params *params)
{
	struct weir_stream *bids = weir_source(job, "bids", &weir_nexmark_source);

	finish(weir_process(bids, "select", &select_op), params, format_q2);
	return 0;
}

/* q5: the auctions with the most bids, windows of 10 s every 2 s. */

/* Columns of the counting window's rows and, one behind, of the result's. */
enum { HOT_AUCTION, HOT_WINDOW, HOT_COUNT };
enum { RESULT_WINDOW, RESULT_ROW };

WEIR_INLINE char *
hot_line(const struct weir_batch *in, uint32_t row, char *p)
{
	p = put_ms(p, weir_time(in, RESULT_WINDOW)[row], ',');
	p = put_u64(p, weir_u64(in, RESULT_ROW + HOT_AUCTION)[row], ',');
	return put_u64(p, weir_u64(in, RESULT_ROW + HOT_COUNT)[row], '\n');
}
FORMAT(format_q5, hot_line)

int
weir_nexmark_q5(struct weir_job *job, const struct weir_params *params)
{
	struct weir_stream *bids = weir_source(job, "bids", &weir_nexmark_source), *counts;

	counts = weir_window(weir_key_by(bids, WEIR_BID_AUCTION), "bids-per-auction",
			     &(struct weir_window){
				     .size_ns = weir_seconds(10),
				     .slide_ns = weir_seconds(2),
				     .time_column = WEIR_BID_TIME,
				     .agg_cnt = 1,
				     .agg = { { .fn = WEIR_COUNT } },
			     });
	finish(weir_top(counts, "hottest",
			&(struct weir_top){ .time_column = HOT_WINDOW,
					    .rank_column = HOT_COUNT,
					    .length_ns = weir_seconds(10) }),
	       params, format_q5);
	return 0;
}

/* q7: the highest bids of every 10 s. */

WEIR_INLINE char *
highest_line(const struct weir_batch *in, uint32_t row, char *p)
{
	p = put_ms(p, weir_time(in, RESULT_WINDOW)[row], ',');
	p = put_u64(p, weir_u64(in, RESULT_ROW + WEIR_BID_AUCTION)[row], ',');
	p = put_u64(p, weir_u64(in, RESULT_ROW + WEIR_BID_BIDDER)[row], ',');
	p = put_u64(p, weir_u64(in, RESULT_ROW + WEIR_BID_PRICE)[row], ',');
	return put_ms(p, weir_time(in, RESULT_ROW + WEIR_BID_TIME)[row], '\n');
}
FORMAT(format_q7, highest_line)

int
weir_nexmark_q7(struct weir_job *job, const struct weir_params *params)
{
	struct weir_stream *bids = weir_source(job, "bids", &weir_nexmark_source);

	finish(weir_top(bids, "highest",
			&(struct weir_top){ .time_column = WEIR_BID_TIME,
					    .rank_column = WEIR_BID_PRICE,
					    .size_ns = weir_seconds(10) }),
	       params, format_q7);
	return 0;
}

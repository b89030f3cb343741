/*
 * A job for tests: one of several graphs over numbered rows, each of which must come out
 * exactly once, rows of one key in their order. What breaks the order is said in the output.
 *
 *   forward    source -> tag -> out        an edge that is not a call, because there are two
 *                    \-> mark -> side
 *   rebalance  source ~> tag -> out
 *   hash       source => check -> out
 *   broadcast  source *> share -> out      each row is written by one of the subtasks
 *   union      source => left, right => check -> out     even and odd keys
 *   two        source, second => check -> out
 *   deep       source => check => again -> out
 *   window     source => sliding -> out    sliding windows of event time
 *   many       source => expand => check -> out    each row so many times; what is not emitted at
 *              once is state, keyed like the rows
 *
 * Settings, under names that there are: job.seed, the number of the graph, from 0 on; job.events,
 * the rows of each source; job.out-of-order-group, how often many repeats a row.
 */
#include "tests/e2e/numbered.h"

/* ---- operators ---- */

/* Rows of a key come in their order: flag says where they did not. */
static int
check(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	uint64_t **next = (uint64_t **)weir_state_batch(ctx, 0, 0, in);
	uint64_t *flag;

	weir_out_same(out, in);
	flag = weir_out_column(out, FLAG);
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint32_t r = weir_row(in, i);
		const uint64_t seq = weir_u64(in, SEQ)[r];

		flag[r] = weir_u64(in, FLAG)[r] + (seq != *next[i]);
		*next[i] = seq + 1;
	}
	return weir_out_emit(out);
}

static const struct weir_state_decl next_state[] = { { .name = "next", .value_bytes = 8 } };
static const struct weir_operator check_op = { .name = "check",
					       .reads = ALL,
					       .writes = 1u << FLAG,
					       .states = next_state,
					       .state_cnt = 1,
					       .process = check };

static int
select_rows(const struct weir_batch *in, struct weir_out *out, uint64_t modulus, uint64_t rest)
{
	uint16_t *sel;
	uint32_t n = 0;

	weir_out_same(out, in);
	sel = weir_out_select(out);
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint16_t r = (uint16_t)weir_row(in, i);

		sel[n] = r;
		n += weir_u64(in, KEY)[r] % modulus == rest;
	}
	out->batch.selected = n;
	return weir_out_emit(out);
}

/* Every subtask gets every row; one of them writes it. */
static int
share(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	return select_rows(in, out, weir_operator_parallelism(ctx), weir_operator_subtask(ctx));
}

static const struct weir_operator share_op = { .name = "share", .reads = ALL, .process = share };

static int
half(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	return select_rows(in, out, 2, *(const uint64_t *)weir_operator_arg(ctx));
}

static const uint64_t halves[] = { 0, 1 };
static const struct weir_operator half_op[] = {
	{ .name = "half", .reads = ALL, .process = half, .arg = &halves[0] },
	{ .name = "half", .reads = ALL, .process = half, .arg = &halves[1] },
};

/* Each row so many times. State: a namespace per row, its key -> rows still to come. */
static uint64_t times;

static int
expand(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)out;
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint32_t r = weir_row(in, i);
		const uint64_t key = weir_u64(in, KEY)[r];
		uint64_t *left = weir_state_put(ctx, 0, (int64_t)weir_u64(in, SEQ)[r], &key,
						sizeof(key), weir_state_hash(&key, sizeof(key)));

		*left = times;
	}
	return WEIR_MORE;
}

/* Rows of one entry, as many as fit a batch. */
static int
expand_some(struct weir_out *out, uint64_t key, int64_t seq, uint64_t *left)
{
	struct weir_batch *b = weir_out_rows(out);
	char text[32];
	const int len = snprintf(text, sizeof(text), "k%d", (int)key);

	memcpy(out->heap, text, (size_t)len);
	out->heap_len = (uint32_t)len;
	for (; *left > 0 && b->rows < out->cap; (*left)--) {
		((uint64_t *)b->col[KEY])[b->rows] = key;
		((uint64_t *)b->col[SEQ])[b->rows] = (uint64_t)seq * times + times - *left;
		((int64_t *)b->col[TIME])[b->rows] = 0;
		((struct weir_bytes *)b->col[TEXT])[b->rows] =
			(struct weir_bytes){ .off = 0, .len = (uint32_t)len };
		((uint64_t *)b->col[FLAG])[b->rows++] = 0;
	}
	b->selected = b->rows;
	return weir_out_emit(out);
}

static int
expand_more(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	int64_t seq;

	while (weir_state_namespace(ctx, 0, INT64_MIN, &seq)) {
		uint64_t cursor = 0;
		const void *at, *value;
		uint32_t len;

		while (weir_state_next(ctx, 0, seq, &cursor, &at, &len, &value)) {
			uint64_t key, *left;

			memcpy(&key, at, sizeof(key));
			if (*(const uint64_t *)value == 0)
				continue;
			left = weir_state_put(ctx, 0, seq, &key, sizeof(key),
					      weir_state_hash(&key, sizeof(key)));
			while (*left > 0) {
				int rc = WEIR_MORE;

				if (!weir_out_full(out))
					rc = expand_some(out, key, seq, left);
				if (rc != 0)
					return rc;
			}
		}
		weir_state_drop(ctx, 0, seq);
	}
	return 0;
}

static const struct weir_state_decl left_state[] = { { .name = "left", .value_bytes = 8 } };
static const struct weir_operator expand_op = { .name = "flat-map",
						.out = &numbered,
						.reads = ALL,
						.states = left_state,
						.state_cnt = 1,
						.process = expand,
						.more = expand_more };

/* ---- text ---- */

static uint32_t
format_side(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	size_t at = 0;
	uint32_t i;

	for (i = from; i < in->selected && cap - at >= 128; i++) {
		const uint32_t r = weir_row(in, i);

		at += (size_t)snprintf(text + at, cap - at, "side %llu %llu\n",
				       (unsigned long long)weir_u64(in, KEY)[r],
				       (unsigned long long)weir_u64(in, SEQ)[r]);
	}
	*bytes = at;
	return i - from;
}

/* ---- graphs ---- */

static struct weir_stream *
checked(struct weir_stream *in, const char *id)
{
	return weir_process(weir_key_by(in, KEY), id, &check_op);
}

static void
build_union(struct weir_stream *rows)
{
	struct weir_stream *left = weir_process(weir_key_by(rows, KEY), "left", &half_op[0]);
	struct weir_stream *right = weir_process(weir_key_by(rows, KEY), "right", &half_op[1]);

	weir_sink(checked(weir_union(left, right), "check"), "out", format_row);
}

static void
build_window(struct weir_stream *rows)
{
	const struct weir_window w = { .size_ns = 400 * (int64_t)STEP_NS,
				       .slide_ns = 100 * (int64_t)STEP_NS,
				       .time_column = TIME,
				       .agg_cnt = 1,
				       .agg = { { WEIR_COUNT, 0 } } };

	weir_sink(weir_window(weir_key_by(rows, KEY), "sliding", &w), "out", format_window);
}

enum { FORWARD, REBALANCE, HASH, BROADCAST, UNION, TWO, DEEP, WINDOW, MANY };

int
weir_job(struct weir_job *job, const struct weir_params *params)
{
	struct weir_stream *rows = weir_source(job, "source", &first);

	switch (weir_param_u64(params, "seed", HASH)) {
	case FORWARD:
		weir_sink(weir_process(rows, "tag", &tag_op), "out", format_row);
		weir_sink(weir_process(rows, "mark", &tag_op), "side", format_side);
		break;
	case REBALANCE:
		weir_sink(weir_process(weir_rebalance(rows), "tag", &tag_op), "out", format_row);
		break;
	case HASH:
		weir_sink(checked(rows, "check"), "out", format_row);
		break;
	case BROADCAST:
		weir_sink(weir_process(weir_broadcast(rows), "share", &share_op), "out",
			  format_row);
		break;
	case UNION:
		build_union(rows);
		break;
	case TWO:
		rows = weir_union(rows, weir_source(job, "second", &second));
		weir_sink(checked(rows, "check"), "out", format_row);
		break;
	case DEEP:
		weir_sink(checked(checked(rows, "check"), "again"), "out", format_row);
		break;
	case MANY:
		times = weir_param_u64(params, "out-of-order-group", 1);
		rows = weir_process(weir_key_by(rows, KEY), "expand", &expand_op);
		weir_sink(checked(rows, "check"), "out", format_row);
		break;
	default:
		build_window(rows);
		break;
	}
	return 0;
}

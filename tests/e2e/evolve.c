/*
 * A job for tests of restore, in versions: what a user may do to a job between a savepoint and its
 * restore, and what must be refused (B9, S2, S7). The version is job.seed, from 0 on:
 *
 *   base         source => check => seen -> out
 *                       \=> sliding -> win
 *   added        one more operator without state, one with, one more sink
 *   removed      without sliding and win
 *   reordered    sliding is made first, seen stands before check
 *   everything   all three at once
 *   key_size, key_bytes, key_type, key_own    check is keyed otherwise, or keeps own keys
 *   value_size, state_name                    check keeps something else
 *   source_id, source_more                    the source has another id; there is a second one
 *   sink_kind                                 out is an operator of the user's
 *   window_size                               sliding slides otherwise
 *   beside                                    one more sink at the source
 *
 * check keeps the number that each key's next row must have, seen counts the rows of each text: a
 * row whose key or text has lost or doubled state is flagged.
 */
#include "tests/e2e/numbered.h"

enum version {
	BASE,
	ADDED,
	REMOVED,
	REORDERED,
	EVERYTHING,
	KEY_SIZE,
	KEY_BYTES,
	KEY_TYPE,
	KEY_OWN,
	VALUE_SIZE,
	STATE_NAME,
	SOURCE_ID,
	SOURCE_MORE,
	SINK_KIND,
	WINDOW_SIZE,
	BESIDE,
};

/* ---- operators ---- */

/* The value of each row's key counts its rows; flags where that is not the row's number. */
static int
count_rows(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	uint64_t **cnt = (uint64_t **)weir_state_batch(ctx, 0, 0, in);
	uint64_t *flag;

	weir_out_same(out, in);
	flag = weir_out_column(out, FLAG);
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint32_t r = weir_row(in, i);

		flag[r] = weir_u64(in, FLAG)[r] + (weir_u64(in, SEQ)[r] != *cnt[i]);
		*cnt[i] += 1;
	}
	return weir_out_emit(out);
}

/* Rows whose number is right by keys of its own: as many bytes as the stream's. */
static int
count_own(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint64_t *key = &weir_u64(in, KEY)[weir_row(in, i)];
		uint64_t *cnt = weir_state_put(ctx, 0, 0, key, sizeof(*key),
					       weir_state_hash(key, sizeof(*key)));

		*cnt += 1;
	}
	return weir_out_pass(out, in);
}

/* State that a restored run does not have: it only must not disturb. */
static int
count_only(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	uint64_t **cnt = (uint64_t **)weir_state_batch(ctx, 0, 0, in);

	for (uint32_t i = 0; i < in->selected; i++)
		*cnt[i] += 1;
	return weir_out_pass(out, in);
}

#define STATE(id, decl_name, value, key)                                                           \
	static const struct weir_state_decl id[] = {                                               \
		{ .name = (decl_name), .value_bytes = (value), .key_bytes = (key) }                \
	}
STATE(next_8, "next", 8, 0);
STATE(next_16, "next", 16, 0);
STATE(next_own, "next", 8, 8);
STATE(following, "following", 8, 0);
STATE(seen_8, "seen", 8, 0);

#define OPERATOR(id, op_name, decl, function)                                                      \
	static const struct weir_operator id = { .name = (op_name),                                \
						 .reads = ALL,                                     \
						 .writes = 1u << FLAG,                             \
						 .states = (decl),                                 \
						 .state_cnt = 1,                                   \
						 .process = (function) }
OPERATOR(check_op, "check", next_8, count_rows);
OPERATOR(check_wide, "check", next_16, count_rows);
OPERATOR(check_own, "check", next_own, count_own);
OPERATOR(check_renamed, "check", following, count_only);
OPERATOR(check_other_key, "check", next_8, count_only);
OPERATOR(seen_op, "seen", seen_8, count_rows);
OPERATOR(fresh_op, "fresh", seen_8, count_only);

static const struct weir_operator forget_op = { .name = "forget", .reads = ALL, .process = forget };

static uint32_t
format_side(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	size_t at = 0;
	uint32_t i;

	for (i = from; i < in->selected && cap - at >= 128; i++)
		at += (size_t)snprintf(text + at, cap - at, "side %llu\n",
				       (unsigned long long)weir_u64(in, KEY)[weir_row(in, i)]);
	*bytes = at;
	return i - from;
}

/* ---- graphs ---- */

static void
sliding(struct weir_stream *rows, enum version v)
{
	const struct weir_window w = {
		.size_ns = 400 * (int64_t)STEP_NS,
		.slide_ns = (v == WINDOW_SIZE ? 200 : 100) * (int64_t)STEP_NS,
		.time_column = TIME,
		.agg_cnt = 1,
		.agg = { { WEIR_COUNT, 0 } },
	};

	weir_sink(weir_window(weir_key_by(rows, KEY), "sliding", &w), "win", format_window);
}

static struct weir_stream *
seen(struct weir_stream *rows)
{
	return weir_process(weir_key_by(rows, TEXT), "seen", &seen_op);
}

static struct weir_stream *
check(struct weir_stream *rows, enum version v)
{
	static const uint32_t both[] = { KEY, SEQ };
	const struct weir_operator *op = &check_op;
	struct weir_stream *keyed = weir_key_by(rows, KEY);

	switch (v) {
	case KEY_SIZE:
		keyed = weir_key_by_columns(rows, both, 2);
		op = &check_other_key;
		break;
	case KEY_BYTES:
		keyed = weir_key_by(rows, TEXT);
		break;
	case KEY_TYPE:
		keyed = weir_key_by(rows, TIME);
		op = &check_other_key;
		break;
	case KEY_OWN:
		op = &check_own;
		break;
	case VALUE_SIZE:
		op = &check_wide;
		break;
	case STATE_NAME:
		op = &check_renamed;
		break;
	default:
		break;
	}
	return weir_process(keyed, "check", op);
}

int
weir_job(struct weir_job *job, const struct weir_params *params)
{
	const enum version v = (enum version)weir_param_u64(params, "seed", BASE);
	const bool more = v == ADDED || v == EVERYTHING;
	const bool less = v == REMOVED || v == EVERYTHING;
	const bool other = v == REORDERED || v == EVERYTHING;
	struct weir_stream *source = weir_source(job, v == SOURCE_ID ? "origin" : "source", &first);
	struct weir_stream *rows;

	if (v == SOURCE_MORE)
		source = weir_union(source, weir_source(job, "second", &second));
	if (more || v == BESIDE)
		weir_sink(source, "side", format_side);
	rows = more ? weir_process(source, "tag", &tag_op) : source;
	if (other && !less)
		sliding(source, v);
	rows = other ? check(seen(rows), v) : seen(check(rows, v));
	if (more)
		rows = weir_process(weir_key_by(rows, KEY), "fresh", &fresh_op);
	if (v == SINK_KIND)
		weir_sink_process(rows, "out", &forget_op);
	else
		weir_sink(rows, "out", format_row);
	if (!other && !less)
		sliding(source, v);
	return 0;
}

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
 *
 * Settings, under names that there are: job.seed, the number of the graph, from 0 on; job.events,
 * the rows of each source.
 */
#include <weir/weir.h>

#include <stdio.h>
#include <string.h>

enum { KEY, SEQ, TIME, TEXT, FLAG };
enum { SPLITS = 12, KEYS_A_SPLIT = 50, SECOND = 10000, STEP_NS = 1000000 };

WEIR_TYPE(numbered, WEIR_U64("key"), WEIR_U64("seq"), WEIR_TIME("time"), WEIR_BYTES("text"),
	  WEIR_U64("flag"));

/* ---- source ---- */

struct reader {
	uint64_t split, at, end, key_base;
	int64_t start_ns; /* a split begins where the one before ends */
};

static int
enumerate_from(const struct weir_params *params, uint64_t key_base, struct weir_splits *splits)
{
	const uint64_t rows = weir_param_u64(params, "events", 100000) / SPLITS;

	for (uint64_t s = 0; s < SPLITS; s++) {
		struct weir_split split = { .end = rows, .word = { s, key_base } };
		char name[32];

		snprintf(name, sizeof(name), "split-%d", (int)s);
		split.name = name;
		split.hold_ns = (int64_t)(s * rows) * STEP_NS;
		if (weir_splits_add(splits, &split) != 0)
			return -1;
	}
	return 0;
}

static int
first_enumerate(const struct weir_params *params, uint32_t parallelism, struct weir_splits *splits)
{
	(void)parallelism;
	return enumerate_from(params, 0, splits);
}

static int
second_enumerate(const struct weir_params *params, uint32_t parallelism, struct weir_splits *splits)
{
	(void)parallelism;
	return enumerate_from(params, SECOND, splits);
}

static int
reader_open(struct weir_reader_ctx *ctx, void *reader, const struct weir_split *split,
	    const struct weir_position *position)
{
	struct reader *r = reader;

	(void)ctx;
	r->split = split->word[0];
	r->key_base = split->word[1];
	r->at = position->word[0];
	r->end = split->end;
	r->start_ns = split->hold_ns;
	return 0;
}

static void
fill_row(const struct reader *r, struct weir_read *b, uint32_t i)
{
	const uint64_t key = r->key_base + r->split + SPLITS * (r->at % KEYS_A_SPLIT);
	char text[32];
	const int len = snprintf(text, sizeof(text), "k%d", (int)key);

	((uint64_t *)b->col[KEY])[i] = key;
	((uint64_t *)b->col[SEQ])[i] = r->at / KEYS_A_SPLIT;
	((int64_t *)b->col[TIME])[i] = r->start_ns + (int64_t)r->at * STEP_NS;
	((struct weir_bytes *)b->col[TEXT])[i] =
		(struct weir_bytes){ .off = b->heap_len, .len = (uint32_t)len };
	memcpy(b->heap + b->heap_len, text, (size_t)len);
	b->heap_len += (uint32_t)len;
	((uint64_t *)b->col[FLAG])[i] = 0;
}

static int
reader_read(struct weir_reader_ctx *ctx, void *reader, struct weir_read *b)
{
	struct reader *r = reader;

	(void)ctx;
	while (b->rows < b->cap && r->at < r->end && b->heap_len + 32 <= b->heap_cap) {
		fill_row(r, b, b->rows++);
		r->at++;
	}
	b->watermark_ns = r->start_ns + (int64_t)r->at * STEP_NS - 1;
	b->bytes = b->rows;
	b->end = r->at == r->end;
	return 0;
}

static void
reader_position(const void *reader, struct weir_position *position)
{
	position->word[0] = ((const struct reader *)reader)->at;
}

static void
reader_close(void *reader)
{
	(void)reader;
}

#define CONNECTOR(id, list)                                                                        \
	static const struct weir_connector id = { .name = #id,                                     \
						  .type = &numbered,                               \
						  .reader_bytes = sizeof(struct reader),           \
						  .enumerate = list,                               \
						  .open = reader_open,                             \
						  .read = reader_read,                             \
						  .position = reader_position,                     \
						  .close = reader_close }
CONNECTOR(first, first_enumerate);
CONNECTOR(second, second_enumerate);

/* ---- operators ---- */

#define ALL (1u << KEY | 1u << SEQ | 1u << TIME | 1u << TEXT | 1u << FLAG)

static int
pass(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)ctx;
	return weir_out_pass(out, in);
}

static const struct weir_operator tag_op = { .name = "tag", .reads = ALL, .process = pass };

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

/* ---- text ---- */

static uint32_t
format_row(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	size_t at = 0;
	uint32_t i;

	for (i = from; i < in->selected && cap - at >= 128; i++) {
		const uint32_t r = weir_row(in, i);
		const struct weir_bytes b = weir_bytes(in, TEXT)[r];

		at += (size_t)snprintf(text + at, cap - at, "%.*s %llu %llu\n", (int)b.len,
				       in->heap[TEXT] + b.off,
				       (unsigned long long)weir_u64(in, SEQ)[r],
				       (unsigned long long)weir_u64(in, FLAG)[r]);
	}
	*bytes = at;
	return i - from;
}

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

static uint32_t
format_window(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	size_t at = 0;
	uint32_t i;

	for (i = from; i < in->selected && cap - at >= 128; i++) {
		const uint32_t r = weir_row(in, i);

		at += (size_t)snprintf(text + at, cap - at, "%llu %lld %llu\n",
				       (unsigned long long)weir_u64(in, 0)[r],
				       (long long)weir_time(in, 1)[r] / STEP_NS,
				       (unsigned long long)weir_u64(in, 2)[r]);
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

enum { FORWARD, REBALANCE, HASH, BROADCAST, UNION, TWO, DEEP, WINDOW };

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
	default:
		build_window(rows);
		break;
	}
	return 0;
}

#ifndef TESTS_E2E_NUMBERED_H
#define TESTS_E2E_NUMBERED_H

/*
 * Numbered rows for jobs of tests: a source in whose splits the rows of a key have the numbers 0,
 * 1, 2 ... in order, and text of them. Rows of all splits are spread over time, split after split.
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
numbered_enumerate(const struct weir_params *params, uint32_t parallelism,
		   struct weir_splits *splits)
{
	(void)parallelism;
	return enumerate_from(params, 0, splits);
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

static inline int
second_enumerate(const struct weir_params *params, uint32_t parallelism, struct weir_splits *splits)
{
	(void)parallelism;
	return enumerate_from(params, SECOND, splits);
}

/* Two sources: their keys are not each other's. */
CONNECTOR(first, numbered_enumerate);
CONNECTOR(second, second_enumerate);

#define ALL (1u << KEY | 1u << SEQ | 1u << TIME | 1u << TEXT | 1u << FLAG)

static inline int
pass(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)ctx;
	return weir_out_pass(out, in);
}

/* Of an operator whose declaration alone counts. */
static inline int
forget(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)ctx;
	(void)in;
	(void)out;
	return 0;
}

static const struct weir_operator tag_op = { .name = "tag", .reads = ALL, .process = pass };

/* ---- text ---- */

static inline uint32_t
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

static inline uint32_t
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

#endif /* TESTS_E2E_NUMBERED_H */

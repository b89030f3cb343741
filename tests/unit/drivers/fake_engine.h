#ifndef WEIR_TESTS_FAKE_ENGINE_H
#define WEIR_TESTS_FAKE_ENGINE_H

/* The surroundings of a connector for tests that call it directly: settings from a list, splits and
 * warnings into arrays, batches of any size. */

#include <weir/weir.h>

#define FAKE_TEXT 512

struct weir_params {
	const char *input;
	const char *out_of_order; /* NULL: unset */
	int64_t out_of_order_ns;
	bool strict;
	bool skip_unsupported;
	uint64_t events;
	uint64_t seed;
	uint64_t event_rate;
	uint64_t group;
};

struct weir_splits {
	struct weir_split *list;
	uint32_t cnt;
	uint32_t warning_cnt;
	char warning[16][FAKE_TEXT];
	int code;
	char error[FAKE_TEXT];
};

struct weir_reader_ctx {
	const struct weir_params *params;
	uint32_t warning_cnt;
	char warning[16][FAKE_TEXT];
	int code;
	char error[FAKE_TEXT];
};

void fake_splits_free(struct weir_splits *splits);

/* Sums over many batches. */
struct fake_sums {
	uint64_t rows;
	uint64_t dropped[8];
	uint64_t bytes;
	uint64_t truncated;
	uint64_t reads;
};

typedef void (*fake_rows_fn)(void *arg, const struct weir_read *batch);

/* Read a split to its end with batches of cap rows and heap_cap heap bytes; when reopen is not 0
 * the reader is closed and opened at its position after every reopen-th read. Returns 0 or the
 * code. */
int fake_read_split(const struct weir_connector *connector, struct weir_reader_ctx *ctx,
		    const struct weir_split *split, uint32_t cap, uint32_t heap_cap,
		    uint32_t reopen, struct fake_sums *sums, fake_rows_fn rows, void *arg);

#endif /* WEIR_TESTS_FAKE_ENGINE_H */

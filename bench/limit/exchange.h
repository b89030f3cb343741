#ifndef WEIR_BENCH_LIMIT_EXCHANGE_H
#define WEIR_BENCH_LIMIT_EXCHANGE_H

/*
 * What a core of limit_exchange owns, the frames that travel, and the two ways to fill and sum
 * them: rows as structs (exchange_rows.c) and columns (exchange_columns.c).
 */

#include "bench/limit/pack.h"
#include "bench/limit/pair.h"
#include "bench/limit/rows.h"

#define FRAME_CNT 32 /* of each core: in flight, coming back, being filled */
#define RING_CNT  64

#define FRAME_ROWS 254
#define FRAME_COLS 248 /* columns begin on cache lines */

struct frame {
	uint64_t seq;
	int64_t watermark;
	uint32_t cnt;
	bool end; /* the last of its producer */
	_Alignas(64) union {
		_Alignas(64) struct row rows[FRAME_ROWS];
		_Alignas(64) uint64_t cols[4][FRAME_COLS]; /* key, value, time, pad */
	};
};
_Static_assert(sizeof(struct frame) == 8192, "a frame is 8 KiB");

struct core {
	struct table table; /* of the keys whose hash has the top bit me */
	uint64_t keys;
	uint64_t next; /* row of the stream to generate next */
	uint64_t end;  /* rows of the stream */
	uint64_t sum;
	uint64_t sent;
	uint64_t received;
	int64_t watermark;
	double began; /* everything */
	double start; /* what is measured */
	bool timed;   /* start is set */
	struct frame *out;
	struct frame *frames; /* FRAME_CNT, to be freed */
	unsigned me;
	unsigned pos; /* rows of the chunk that are partitioned; CHUNK: a new one is due */
	unsigned own; /* rows of the chunk that stay here */
	bool far;
	bool ended;
	bool peer_ended;
	struct columns cols;
	uint16_t picked[CHUNK + LANES];
	_Alignas(64) struct row rows[CHUNK];
	_Alignas(64) struct row kept[CHUNK + 1];
};

/* Generate and partition until the frame in core->out is full (false) or the stream ends (true);
 * rows that stay are summed on the way. */
typedef bool (*core_fn)(struct core *core);
bool rows_fill_near(struct core *core);
bool rows_fill_far(struct core *core);
bool columns_fill_near(struct core *core);
bool columns_fill_far(struct core *core);
bool straight_fill(struct core *core);

/* Sum of the sums that the rows of a frame lead to. */
typedef uint64_t (*frame_fn)(struct table *table, const struct frame *frame);
uint64_t rows_sum_near(struct table *table, const struct frame *frame);
uint64_t rows_sum_far(struct table *table, const struct frame *frame);
uint64_t columns_sum_near(struct table *table, const struct frame *frame);
uint64_t columns_sum_far(struct table *table, const struct frame *frame);

/* The core that sums a key: the top bit of its hash. */
LIMIT_INLINE unsigned
home_of(uint64_t key)
{
	return (unsigned)((key * ROWS_GOLDEN) >> 63);
}

#endif /* WEIR_BENCH_LIMIT_EXCHANGE_H */

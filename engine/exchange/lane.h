#ifndef WEIR_ENGINE_EXCHANGE_LANE_H
#define WEIR_ENGINE_EXCHANGE_LANE_H

/*
 * A channel joins one producer subtask to one consumer subtask by two lanes:
 *
 *            +------------------- data lane (FIFO) -------------------+
 *   producer | data frames, aligned barriers, cancel markers, ends    | consumer
 *            +------------------- priority lane ----------------------+
 *            | unaligned barriers, announcements                      |
 *            +--------------------------------------------------------+
 *
 * An element of a lane is a 16-byte descriptor. *ord* counts every item of the channel and orders
 * the two lanes; *seq* counts data frames only (T34). Both are the low 32 bits of 64-bit counters
 * that each side keeps; the consumer checks that nothing is missing and nothing came twice.
 *
 * Threads:   single producer, single consumer per lane.
 * Ownership: a frame or event belongs to the producer until push took it, then to the consumer.
 * Cost:      hot, one indirect call per burst; no allocation, lock or system call.
 * Failure:   nothing blocks and nothing is dropped: push returns how many were taken, the rest
 *            stays with the producer.
 */

#include "engine/base/base.h"

#include <immintrin.h>

enum weir_item_kind {
	WEIR_ITEM_DATA,	     /* ref: frame index */
	WEIR_ITEM_BARRIER,   /* ref: event index, as for all below */
	WEIR_ITEM_ANNOUNCE,  /* priority lane: an aligned barrier that may time out is on its way
				(T6) */
	WEIR_ITEM_CANCEL,    /* the checkpoint was aborted upstream */
	WEIR_ITEM_END_DATA,  /* end of data: no more rows; barriers still come (T28) */
	WEIR_ITEM_END,	     /* end of partition: nothing comes after this */
	WEIR_ITEM_END_STATE, /* recovery: the restored frames of this channel end here (R1) */
};

struct weir_item {
	uint32_t ref;  /* frame or event, by kind */
	uint32_t seq;  /* DATA: number of this frame, from 1; else: of the last frame before it in
			  the data lane, also on the priority lane (what the producer still holds is
			  not in it) */
	uint32_t ord;  /* number of this item in the channel, from 0 */
	uint32_t kind; /* enum weir_item_kind */
};
_Static_assert(sizeof(struct weir_item) == 16, "a lane element is 16 bytes");

enum weir_barrier_kind {
	WEIR_BARRIER_ALIGNED,	  /* blocks its channel, cannot time out */
	WEIR_BARRIER_SAVEPOINT,	  /* the same, of a savepoint */
	WEIR_BARRIER_TIMEOUTABLE, /* aligned, may become unaligned */
	WEIR_BARRIER_UNALIGNED,	  /* priority lane */
};

/* What an event item points to: a slot of the producer's, shared by all channels it went out on. */
struct weir_event {
	uint64_t checkpoint;   /* id; BARRIER, ANNOUNCE, CANCEL */
	int64_t stamp_ns;      /* trigger time of the checkpoint, coordinator's clock */
	int64_t timeout_ns;    /* TIMEOUTABLE: from stamp; else 0 */
	uint32_t barrier;      /* enum weir_barrier_kind */
	uint32_t flags;	       /* WEIR_EVENT_ bits */
	_Atomic uint32_t refs; /* channels that still hold it; the producer reuses the slot at 0 */
	uint32_t reserved[7];
};
#define WEIR_EVENT_DRAIN     1u /* END_DATA: the maximum watermark was sent, end-of-input hooks run */
#define WEIR_EVENT_SAVEPOINT 2u
/* An aligned barrier of a checkpoint that overtakes data wherever an edge allows it (T25). */
#define WEIR_EVENT_OVERTAKES 4u
_Static_assert(sizeof(struct weir_event) == 64, "an event is one line");

struct weir_lane;

struct weir_lane_ops {
	/* Producer: offer cnt items, return how many were taken, from the first on. */
	uint32_t (*push)(struct weir_lane *lane, const struct weir_item *items, uint32_t cnt);
	/* Consumer: take up to max items. */
	uint32_t (*pop)(struct weir_lane *lane, struct weir_item *items, uint32_t max);
	/* Consumer: copy up to max of the oldest items, leaving them where they lie. */
	uint32_t (*peek)(struct weir_lane *lane, struct weir_item *items, uint32_t max);
	/* Items queued now; exact on either side's own thread for what it did itself. */
	uint32_t (*count)(const struct weir_lane *lane);
	const char *name; /* "ring", "sim" */
};

/* First member of every driver's own lane. */
struct weir_lane {
	const struct weir_lane_ops *ops;
	uint32_t depth; /* items; set once */
	/* How far the two sides are, in the lane's own counters, which are equal when it is empty;
	 * NULL where it has none. */
	const uint32_t *pushed;
	const uint32_t *popped;
};

static inline uint32_t
weir_lane_push(struct weir_lane *lane, const struct weir_item *items, uint32_t cnt)
{
	return lane->ops->push(lane, items, cnt);
}

static inline uint32_t
weir_lane_pop(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	return lane->ops->pop(lane, items, max);
}

static inline uint32_t
weir_lane_peek(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	return lane->ops->peek(lane, items, max);
}

static inline uint32_t
weir_lane_count(const struct weir_lane *lane)
{
	return lane->ops->count(lane);
}

/*
 * Consumer: is there nothing? Without a call, for lanes that are looked at often and hold something
 * rarely. What the producer pushed last may not be seen yet, as with pop.
 */
static inline bool
weir_lane_is_empty(const struct weir_lane *lane)
{
	if (WEIR_UNLIKELY(lane->pushed == NULL))
		return weir_lane_count(lane) == 0;
	/* Relaxed: the numbers order nothing; whoever goes on to take an item acquires it there. */
	return __atomic_load_n(lane->pushed, __ATOMIC_RELAXED) ==
	       __atomic_load_n(lane->popped, __ATOMIC_RELAXED);
}

/*
 * Are these data items numbered without a gap from ord and seq on? One item is one vector, whose
 * first part, the frame, may be anything.
 */
WEIR_INLINE bool
weir_items_follow(const struct weir_item *items, uint32_t cnt, uint32_t ord, uint32_t seq)
{
	const __m128i next = _mm_setr_epi32(0, 1, 1, 0);
	__m128i want = _mm_setr_epi32(0, (int)seq, (int)ord, WEIR_ITEM_DATA);
	__m128i wrong = _mm_setzero_si128();

	for (uint32_t i = 0; i < cnt; i++) {
		const __m128i item = _mm_loadu_si128((const __m128i *)(const void *)&items[i]);

		wrong = _mm_or_si128(wrong, _mm_xor_si128(item, want));
		want = _mm_add_epi32(want, next);
	}
	return (_mm_movemask_epi8(_mm_cmpeq_epi32(wrong, _mm_setzero_si128())) | 0xf) == 0xffff;
}

#endif /* WEIR_ENGINE_EXCHANGE_LANE_H */

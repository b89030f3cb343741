#ifndef WEIR_ENGINE_EXCHANGE_EMITTER_H
#define WEIR_ENGINE_EXCHANGE_EMITTER_H

/*
 * weir_emitter: all channels of one output edge of a subtask, and which row goes where.
 *
 *   forward    to the one consumer
 *   rebalance  frame by frame, round robin
 *   hash       by the key's hash: subtask = key group * parallelism / max-parallelism (R4)
 *   broadcast  every row, on every channel
 *
 * Hash goes in two passes without branches: destinations of all rows and from them one list of row
 * numbers per destination, then per destination and column one gather into the open frame. Dense
 * rows of 8-byte columns for two consumers are written to both at once, eight by eight; a frame
 * that has no room for eight more leaves.
 *
 * Threads:   the producer's core. Ownership: borrows ports and scratch for its life.
 * Cost:      hot; one call per batch; no allocation.
 */

#include "engine/exchange/key.h"
#include "engine/exchange/port.h"
#include "engine/exchange/scatter.h"

enum weir_partitioner {
	WEIR_FORWARD,
	WEIR_REBALANCE,
	WEIR_HASH,
	WEIR_BROADCAST,
};

const char *weir_partitioner_name(enum weir_partitioner p);

#define WEIR_EMITTERS_MAX 8u /* of an operator */

struct weir_emitter {
	enum weir_partitioner partitioner;
	struct weir_layout layout;
	struct weir_key key;
	uint32_t max_parallelism_log2;
	struct weir_port *ports; /* borrowed, port_cnt of them */
	uint32_t port_cnt;
	uint32_t next; /* rebalance: the port being filled */
	int64_t watermark_ns;
	bool idle;	   /* nothing to say for a while; no source says so yet */
	int64_t oldest_ns; /* core clock when the oldest unsent row came; INT64_MAX: none waits */
	uint64_t *hash;	   /* scratch: WEIR_BATCH_ROWS */
	uint16_t *rows;	   /* scratch: port_cnt lists of WEIR_BATCH_ROWS */
	void *pack;	   /* scratch for packed keys */
	const struct weir_scatter *scatter; /* chosen at the first batch; NULL before */
};

/* Destination subtask of a hash among parallelism, with 2^log2 key groups. */
WEIR_INLINE uint32_t
weir_emitter_subtask(uint64_t hash, uint32_t max_parallelism_log2, uint32_t parallelism)
{
	const uint64_t group = hash >> (64 - max_parallelism_log2);

	return (uint32_t)(group * parallelism >> max_parallelism_log2);
}

/* Send the selected rows of a batch; now_ns marks when they came. */
void weir_emitter_emit(struct weir_emitter *e, const struct weir_batch *in, int64_t now_ns);

/* Event time has passed watermark_ns behind all rows emitted so far; goes out with the next frames.
 */
static inline void
weir_emitter_watermark(struct weir_emitter *e, int64_t watermark_ns, int64_t now_ns)
{
	if (watermark_ns <= e->watermark_ns)
		return;
	e->watermark_ns = watermark_ns;
	if (now_ns < e->oldest_ns)
		e->oldest_ns = now_ns;
}

/* Send all open frames and the watermark to everyone. */
void weir_emitter_flush(struct weir_emitter *e);

/* Offer held items again; true if no port holds anything. */
bool weir_emitter_push(struct weir_emitter *e);

/* Items that lanes had no room for, all ports together. */
static inline uint32_t
weir_emitter_held(const struct weir_emitter *e)
{
	uint32_t held = 0;

	for (uint32_t p = 0; p < e->port_cnt; p++)
		held += weir_port_held(&e->ports[p]);
	return held;
}

#endif /* WEIR_ENGINE_EXCHANGE_EMITTER_H */

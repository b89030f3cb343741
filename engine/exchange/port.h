#ifndef WEIR_ENGINE_EXCHANGE_PORT_H
#define WEIR_ENGINE_EXCHANGE_PORT_H

/*
 * weir_port: the producer's end of one channel: the frame being filled, the two counters, and the
 * overdraft: items that the lanes had no room for. Nothing blocks and nothing is dropped: a task
 * whose ports hold anything stops polling its inputs.
 *
 * Threads:   the producer's core. Ownership: frames from the core's pool until the lane takes them.
 * Cost:      send is O(1) per frame; one indirect call per lane push. No allocation.
 */

#include "engine/exchange/frame.h"
#include "engine/exchange/overdraft.h"

struct weir_port {
	struct weir_frame_pool *pool;
	const struct weir_layout *layout;
	uint32_t edge;

	uint32_t frame_idx; /* being filled; WEIR_FRAME_NONE */
	struct weir_frame *frame;
	uint32_t rows; /* in it */
	uint32_t heap_len;
	int64_t stamp_ns;

	uint64_t seq; /* data frames sent, m of the cut */
	uint64_t ord; /* items sent */
	int64_t watermark_sent_ns;
	bool idle_sent;

	struct weir_overdraft overdraft;
};

void weir_port_init(struct weir_port *port, struct weir_frame_pool *pool,
		    const struct weir_layout *layout, uint32_t edge, struct weir_lane *data,
		    struct weir_lane *priority);

/* A frame to fill: the one under way, or a new one. */
static inline struct weir_frame *
weir_port_frame(struct weir_port *port)
{
	if (WEIR_UNLIKELY(port->frame_idx == WEIR_FRAME_NONE)) {
		port->frame_idx = weir_frame_acquire(port->pool);
		WEIR_ASSERT(port->frame_idx != WEIR_FRAME_NONE);
		port->frame = weir_frame_at(port->pool, port->frame_idx);
		port->rows = 0;
		port->heap_len = 0;
		port->stamp_ns = 0;
	}
	return port->frame;
}

/* Send the frame under way with watermark_ns; an empty one if none is under way and the watermark
 * is news. */
void weir_port_send(struct weir_port *port, int64_t watermark_ns, bool idle);

/*
 * Send an event item behind all that was sent (barrier, cancel marker, end); an unaligned barrier
 * overtakes what is held. The caller has sent the frame under way and counts one reference.
 */
void weir_port_event(struct weir_port *port, uint32_t event, enum weir_item_kind kind);

/* Offer held items to the lanes again; true if none is left. */
static inline bool
weir_port_flush(struct weir_port *port)
{
	return weir_overdraft_flush(&port->overdraft);
}

/* Items that the lanes had no room for. */
static inline uint32_t
weir_port_held(const struct weir_port *port)
{
	return weir_overdraft_cnt(&port->overdraft);
}

/* After the job: give back what is still held. */
void weir_port_fini(struct weir_port *port);

#endif /* WEIR_ENGINE_EXCHANGE_PORT_H */

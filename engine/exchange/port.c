#include "engine/exchange/port.h"

void
weir_port_init(struct weir_port *port, struct weir_frame_pool *pool,
	       const struct weir_layout *layout, uint32_t edge, struct weir_lane *data,
	       struct weir_lane *priority)
{
	*port = (struct weir_port){ .data = data,
				    .priority = priority,
				    .pool = pool,
				    .layout = layout,
				    .edge = edge,
				    .frame_idx = WEIR_FRAME_NONE,
				    .watermark_sent_ns = INT64_MIN };
}

static void
push(struct weir_port *port, uint32_t ref, enum weir_item_kind kind)
{
	struct weir_item item = { .ref = ref, .ord = (uint32_t)port->ord, .kind = kind };

	/* Frames are numbered from 1, so that "number of the last one" can say that there was none.
	 */
	if (kind == WEIR_ITEM_DATA)
		port->seq++;
	item.seq = (uint32_t)port->seq;
	port->ord++;
	if (port->held_head == port->held_tail && weir_lane_push(port->data, &item, 1) == 1)
		return;
	WEIR_ASSERT(weir_port_held(port) < WEIR_PORT_OVERDRAFT);
	port->held[port->held_tail++ & (WEIR_PORT_OVERDRAFT - 1)] = item;
}

void
weir_port_send(struct weir_port *port, int64_t watermark_ns, bool idle)
{
	struct weir_frame *frame;

	if (port->frame_idx == WEIR_FRAME_NONE && watermark_ns <= port->watermark_sent_ns &&
	    idle == port->idle_sent)
		return;
	frame = weir_port_frame(port);
	frame->magic = WEIR_FRAME_MAGIC;
	frame->edge = port->edge;
	frame->rows = port->rows;
	frame->heap_len = port->heap_len;
	frame->watermark_ns = watermark_ns;
	frame->stamp_ns = port->stamp_ns;
	frame->flags = idle ? WEIR_FRAME_IDLE : 0;
	port->watermark_sent_ns = watermark_ns;
	port->idle_sent = idle;
	push(port, port->frame_idx, WEIR_ITEM_DATA);
	port->frame_idx = WEIR_FRAME_NONE;
}

void
weir_port_event(struct weir_port *port, uint32_t event, enum weir_item_kind kind)
{
	WEIR_ASSERT(kind != WEIR_ITEM_DATA);
	WEIR_ASSERT(port->frame_idx == WEIR_FRAME_NONE);
	push(port, event, kind);
}

bool
weir_port_flush(struct weir_port *port)
{
	while (port->held_head != port->held_tail) {
		const uint32_t at = port->held_head & (WEIR_PORT_OVERDRAFT - 1);
		const uint32_t run = WEIR_PORT_OVERDRAFT - at;
		const uint32_t held = weir_port_held(port);
		const uint32_t cnt = held < run ? held : run;
		const uint32_t took = weir_lane_push(port->data, &port->held[at], cnt);

		port->held_head += took;
		if (took < cnt)
			return false;
	}
	return true;
}

void
weir_port_fini(struct weir_port *port)
{
	while (port->held_head != port->held_tail) {
		const struct weir_item *item =
			&port->held[port->held_head++ & (WEIR_PORT_OVERDRAFT - 1)];

		if (item->kind == WEIR_ITEM_DATA)
			weir_frame_release(port->pool, item->ref);
	}
	if (port->frame_idx != WEIR_FRAME_NONE)
		weir_frame_release(port->pool, port->frame_idx);
	port->frame_idx = WEIR_FRAME_NONE;
}

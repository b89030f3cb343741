#include "engine/exchange/port.h"

#include "engine/base/plant.h"

void
weir_port_init(struct weir_port *port, struct weir_frame_pool *pool,
	       const struct weir_layout *layout, uint32_t edge, struct weir_lane *data,
	       struct weir_lane *priority)
{
	*port = (struct weir_port){ .pool = pool,
				    .layout = layout,
				    .edge = edge,
				    .frame_idx = WEIR_FRAME_NONE,
				    .watermark_sent_ns = INT64_MIN };
	weir_overdraft_init(&port->overdraft, data, priority);
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
	weir_overdraft_send(&port->overdraft, &item);
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
	if (WEIR_PLANT(CHANNEL_ROW) && port->rows > 0 &&
	    weir_lane_count(port->overdraft.data) + 1 >= port->overdraft.data->depth)
		frame->rows--;
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

void
weir_port_fini(struct weir_port *port)
{
	struct weir_item item;

	while (weir_overdraft_drop(&port->overdraft, &item))
		if (item.kind == WEIR_ITEM_DATA)
			weir_frame_release(port->pool, item.ref);
	if (port->frame_idx != WEIR_FRAME_NONE)
		weir_frame_release(port->pool, port->frame_idx);
	port->frame_idx = WEIR_FRAME_NONE;
}

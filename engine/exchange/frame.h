#ifndef WEIR_ENGINE_EXCHANGE_FRAME_H
#define WEIR_ENGINE_EXCHANGE_FRAME_H

/*
 * weir_frame: the header of a frame in memory, on the wire and in a checkpoint: what does not
 * differ from channel to channel. What does is in the descriptor (lane.h).
 */

#include "engine/exchange/layout.h"
#include "engine/memory/frame_pool.h"
#include "weir/operator.h"

#define WEIR_FRAME_MAGIC 0x5746524du /* "WFRM" */
#define WEIR_FRAME_IDLE                                                                            \
	1u /* nothing will come for a while: do not wait for this channel's time                   \
	    */

struct weir_frame {
	uint32_t magic;
	uint32_t edge; /* which row type: number of the edge in the plan */
	uint32_t rows; /* may be 0: a watermark only */
	uint32_t heap_len;
	int64_t watermark_ns; /* holds after this frame */
	int64_t stamp_ns;     /* when the source made the oldest rows; 0: not stamped */
	uint32_t flags;
	uint32_t reserved[7];
};
_Static_assert(sizeof(struct weir_frame) == 64, "a frame's header is one line");

WEIR_INLINE struct weir_frame *
weir_frame_at(const struct weir_frame_pool *pool, uint32_t frame)
{
	return (struct weir_frame *)((char *)weir_frame_buffer(pool, frame) + WEIR_FRAME_HEADROOM);
}

/* View a frame's rows as a dense batch. */
static inline void
weir_frame_batch(const struct weir_layout *layout, struct weir_frame *frame,
		 struct weir_batch *batch)
{
	char *heap = (char *)frame + layout->heap_off;

	batch->rows = frame->rows;
	batch->selected = frame->rows;
	batch->sel = NULL;
	batch->stamp_ns = frame->stamp_ns;
	for (uint32_t c = 0; c < layout->column_cnt; c++) {
		batch->col[c] = layout->carried >> c & 1 ? (char *)frame + layout->off[c] : NULL;
		batch->heap[c] = heap;
	}
}

/*
 * Begin to bring a frame that another core has filled into this one's cache: its header and the
 * columns of the mask. Cost: one instruction a line; to be called a frame ahead.
 */
static inline void
weir_frame_prefetch(const struct weir_layout *layout, const struct weir_frame *frame,
		    uint32_t columns)
{
	__builtin_prefetch(frame);
	for (uint32_t c = 0; c < layout->column_cnt; c++) {
		const char *column = (const char *)frame + layout->off[c];
		const uint32_t bytes = columns >> c & 1 ? layout->cap * layout->width[c] : 0;

		for (uint32_t at = 0; at < bytes; at += WEIR_LINE)
			__builtin_prefetch(column + at);
	}
}

/* Bytes from the header to the end of the last row or heap byte that the frame holds. */
uint32_t weir_frame_bytes(const struct weir_layout *layout, const struct weir_frame *frame);

#endif /* WEIR_ENGINE_EXCHANGE_FRAME_H */

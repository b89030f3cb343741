#include "engine/exchange/layout.h"

#include "engine/base/hash.h"
#include "engine/exchange/frame.h"

static uint32_t
columns_bytes(const struct weir_layout *l, uint32_t rows)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < l->active_cnt; i++)
		bytes += weir_align_up((uint64_t)rows * l->width[l->active[i]], WEIR_LINE);
	return (uint32_t)bytes;
}

bool
weir_layout_init(struct weir_layout *l, const struct weir_type *type, uint32_t demand,
		 uint32_t buffer_bytes)
{
	const uint32_t space =
		buffer_bytes - WEIR_FRAME_HEADROOM - (uint32_t)sizeof(struct weir_frame);
	uint32_t columns = space;
	bool has_heap = false;
	uint32_t off = sizeof(struct weir_frame);

	WEIR_ASSERT(type->column_cnt <= WEIR_COLUMNS_MAX);
	*l = (struct weir_layout){ .column_cnt = type->column_cnt };
	for (uint32_t c = 0; c < type->column_cnt; c++) {
		l->kind[c] = type->columns[c].kind;
		l->width[c] = type->columns[c].width;
		if ((demand >> c & 1) == 0)
			continue;
		l->carried |= 1u << c;
		l->active[l->active_cnt++] = (uint8_t)c;
		has_heap |= l->kind[c] == WEIR_KIND_BYTES;
	}
	if (has_heap && space < WEIR_LAYOUT_HEAP_MIN)
		return false;
	if (has_heap)
		columns = space / 2 < space - WEIR_LAYOUT_HEAP_MIN ? space / 2
								   : space - WEIR_LAYOUT_HEAP_MIN;
	l->cap = WEIR_BATCH_ROWS;
	while (l->cap >= 8 && columns_bytes(l, l->cap) > columns)
		l->cap -= 8;
	if (l->cap < 8)
		return false;
	for (uint32_t i = 0; i < l->active_cnt; i++) {
		const uint32_t c = l->active[i];

		l->off[c] = off;
		off += (uint32_t)weir_align_up((uint64_t)l->cap * l->width[c], WEIR_LINE);
	}
	l->heap_off = off;
	l->heap_bytes = has_heap ? buffer_bytes - WEIR_FRAME_HEADROOM - off : 0;
	return true;
}

uint64_t
weir_layout_hash(const struct weir_layout *l)
{
	/* Numbers one behind the other, so that holes of a struct say nothing. */
	uint32_t said[6 + 4 * WEIR_COLUMNS_MAX] = { l->cap,	 l->column_cnt, l->carried,
						    l->heap_off, l->heap_bytes, l->active_cnt };
	uint32_t cnt = 6;

	for (uint32_t i = 0; i < l->active_cnt; i++) {
		const uint32_t c = l->active[i];

		said[cnt++] = c;
		said[cnt++] = l->kind[c];
		said[cnt++] = l->width[c];
		said[cnt++] = l->off[c];
	}
	return weir_hash_bytes(said, cnt * sizeof(said[0]));
}

uint32_t
weir_frame_bytes(const struct weir_layout *l, const struct weir_frame *frame)
{
	uint32_t end = sizeof(*frame);

	for (uint32_t i = 0; frame->rows > 0 && i < l->active_cnt; i++) {
		const uint32_t c = l->active[i];

		end = l->off[c] + frame->rows * l->width[c];
	}
	return frame->heap_len > 0 ? l->heap_off + frame->heap_len : end;
}

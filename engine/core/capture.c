#include "engine/core/capture.h"

/* A segment is closed when the next frame might not fit. */
uint32_t
weir_capture_segments(const struct weir_frame_pool *pool, uint32_t cap)
{
	const uint32_t each = (WEIR_SNAP_SEGMENT_MAX - WEIR_SNAP_PIECES_AT) / pool->buffer_bytes;

	WEIR_ASSERT(each > 0);
	return cap / each + WEIR_CAPTURE_ENDS;
}

void
weir_capture_init(struct weir_capture *c, struct weir_frame_pool *pool, uint32_t cap,
		  const struct weir_capture_memory *memory)
{
	*c = (struct weir_capture){ .cap = cap,
				    .pool = pool,
				    .frame = memory->frame,
				    .piece = memory->piece,
				    .frame_of = memory->frame_of,
				    .list = memory->list,
				    .list_max = weir_capture_segments(pool, cap) };
}

struct weir_capture *
weir_capture_find(struct weir_capture *captures, uint32_t cnt, uint64_t id)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (captures[i].id == id && !captures[i].over)
			return &captures[i];
	return NULL;
}

struct weir_capture *
weir_capture_of(struct weir_capture *captures, uint32_t cnt, uint64_t id)
{
	struct weir_capture *c = weir_capture_find(captures, cnt, id);

	for (uint32_t i = 0; c == NULL && i < cnt; i++)
		if (captures[i].id == 0) {
			c = &captures[i];
			c->id = id;
		}
	return c;
}

void
weir_capture_keep(struct weir_capture *c, uint32_t side, uint32_t end,
		  const struct weir_item *frame)
{
	WEIR_ASSERT(!c->sorted);
	WEIR_ASSERT(frame->kind == WEIR_ITEM_DATA);
	if (c->cnt == c->cap) {
		c->lost = true;
		return;
	}
	weir_frame_retain(c->pool, frame->ref, 1);
	c->frame[c->cnt++] = (struct weir_captured){
		.side = side, .end = end, .ref = frame->ref, .seq = frame->seq
	};
	c->input_cnt += side == 0;
}

static void
give_back(struct weir_capture *c, struct weir_captured *f)
{
	if (f->ref == WEIR_FRAME_NONE)
		return;
	weir_frame_release(c->pool, f->ref);
	f->ref = WEIR_FRAME_NONE;
}

static void
free_if_done(struct weir_capture *c)
{
	if (!c->over || c->out > 0)
		return;
	for (uint32_t i = 0; i < c->cnt; i++)
		give_back(c, &c->frame[i]);
	c->list_cnt = 0;
	c->id = 0;
	c->over = c->lost = c->sorted = false;
	c->cnt = c->input_cnt = 0;
	c->bytes = 0;
}

static void
piece_back(struct weir_snap_pieces *pieces, uint32_t piece)
{
	struct weir_capture_list *l = WEIR_CONTAINER(pieces, struct weir_capture_list, pieces);
	struct weir_capture *c = l->capture;

	WEIR_ASSERT(c->out > 0);
	give_back(c, &c->frame[c->frame_of[l->first + piece]]);
	c->out--;
	free_if_done(c);
}

/* The frame's piece is its buffer from the first byte on, so that memory and file are aligned
 * alike. */
static struct weir_snap_piece
piece_of(const struct weir_capture *c, struct weir_captured *f, const struct weir_layout *layout)
{
	const struct weir_frame *header = weir_frame_at(c->pool, f->ref);

	WEIR_ASSERT(header->magic == WEIR_FRAME_MAGIC);
	f->length = weir_frame_bytes(layout, header);
	return (struct weir_snap_piece){
		.bytes = weir_frame_buffer(c->pool, f->ref),
		.len = weir_align_up((uint64_t)WEIR_FRAME_HEADROOM + f->length, WEIR_PAGE)
	};
}

static struct weir_capture_list *
open_list(struct weir_capture *c, uint32_t operator_idx, uint32_t subtask, uint32_t side,
	  uint32_t first)
{
	struct weir_capture_list *l = &c->list[c->list_cnt++];

	WEIR_ASSERT(c->list_cnt <= c->list_max);
	*l = (struct weir_capture_list){ .capture = c,
					 .first = first,
					 .pieces = { .piece = c->piece + first,
						     .operator_idx = operator_idx,
						     .subtask = subtask,
						     .state_idx = side == 0 ? WEIR_CAPTURE_INPUT
									    : WEIR_CAPTURE_OUTPUT,
						     .release = piece_back } };
	return l;
}

void
weir_capture_sort(struct weir_capture *c,
		  const struct weir_layout *(*layout)(void *arg, uint32_t side, uint32_t end),
		  void *arg, const uint32_t *operators, uint32_t subtask)
{
	uint32_t number = 0;

	if (c->sorted)
		return;
	c->sorted = true;
	for (uint32_t side = 0; side < WEIR_CAPTURE_ENDS; side++) {
		struct weir_capture_list *l = NULL;
		uint64_t at = WEIR_SNAP_SEGMENT_MAX;
		uint32_t segment = UINT32_MAX;

		for (uint32_t i = 0; i < c->cnt; i++) {
			struct weir_captured *f = &c->frame[i];
			struct weir_snap_piece p;

			if (f->side != side)
				continue;
			p = piece_of(c, f, layout(arg, side, f->end));
			WEIR_ASSERT(p.len <= c->pool->buffer_bytes);
			if (at + c->pool->buffer_bytes > WEIR_SNAP_SEGMENT_MAX) {
				l = open_list(c, operators[side == 0 ? 0 : side - 1], subtask, side,
					      number);
				at = WEIR_SNAP_PIECES_AT;
				segment++;
			}
			f->segment = segment;
			f->offset = at + WEIR_FRAME_HEADROOM;
			at += p.len;
			c->bytes += f->length;
			c->piece[number] = p;
			c->frame_of[number++] = i;
			l->pieces.cnt++;
		}
	}
}

bool
weir_capture_hand_over(struct weir_capture *c, const struct weir_snapshot_ops *ops,
		       struct weir_snap_writer *writer)
{
	WEIR_ASSERT(c->sorted);
	for (uint32_t l = 0; l < c->list_cnt; l++) {
		struct weir_capture_list *list = &c->list[l];
		const uint32_t cnt = list->pieces.cnt;

		if (list->handed)
			continue;
		/* The writer may give pieces back before it returns. */
		c->out += cnt;
		if (!ops->pieces(writer, &list->pieces)) {
			c->out -= cnt;
			return false;
		}
		list->handed = true;
	}
	return true;
}

void
weir_capture_over(struct weir_capture *c)
{
	c->over = true;
	free_if_done(c);
}

void
weir_capture_fini(struct weir_capture *c)
{
	c->out = 0;
	c->over = true;
	free_if_done(c);
}

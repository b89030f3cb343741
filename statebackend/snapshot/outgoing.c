#include "statebackend/snapshot/outgoing.h"

void
weir_outgoing_add(struct weir_outgoing *o, struct weir_outgoing_range *range)
{
	range->next = NULL;
	range->sent = false;
	if (range->list != NULL)
		range->list->sent = 0;
	if (o->first == NULL)
		o->first = range;
	else
		o->last->next = range;
	o->last = range;
}

/* Where the first byte stands that is not sent. */
static uint64_t
offset_of(const struct weir_outgoing_range *range)
{
	return range->sent ? range->list->off : range->off;
}

static void
put(struct weir_outgoing *o, const struct weir_outgoing_part *part, void *bytes, uint64_t len)
{
	o->part[o->part_cnt] = *part;
	o->piece[o->part_cnt++] = (struct weir_io_piece){ .base = bytes, .len = len };
	o->req.len += len;
}

static bool
has_room(const struct weir_outgoing *o, uint64_t len)
{
	return o->part_cnt < WEIR_IO_PIECES_MAX &&
	       (o->part_cnt == 0 || o->req.len + len <= WEIR_OUTGOING_BYTES_MAX);
}

static void
put_list(struct weir_outgoing *o, struct weir_outgoing_range *range)
{
	struct weir_snap_pieces *list = range->list;

	while (list->sent < list->cnt && has_room(o, list->piece[list->sent].len)) {
		const struct weir_snap_piece *from = &list->piece[list->sent];
		const struct weir_outgoing_part part = {
			.range = list->sent + 1 == list->cnt ? range : NULL,
			.list = list,
			.piece = list->sent,
		};

		put(o, &part, from->bytes, from->len);
		list->off += from->len;
		list->sent++;
	}
}

/* One piece of memory may be registered with the driver; gathered ones are pinned at every write.
 */
static bool
stands_alone(const struct weir_outgoing_range *range)
{
	return range->list == NULL && range->len >= WEIR_OUTGOING_ALONE;
}

/* As much of the first range as fits; false: the write is to go as it is. */
static bool
put_range(struct weir_outgoing *o)
{
	struct weir_outgoing_range *range = o->first;

	if (!range->sent) {
		const struct weir_outgoing_part part = { .range = range->list == NULL ? range
										      : NULL };

		if (!has_room(o, range->len) || (stands_alone(range) && o->part_cnt > 0))
			return false;
		put(o, &part, range->bytes, range->len);
		range->sent = true;
		if (range->list != NULL)
			range->list->off = range->off + range->len;
	}
	if (range->list != NULL) {
		put_list(o, range);
		if (range->list->sent < range->list->cnt)
			return false;
	}
	o->first = range->next;
	return !stands_alone(range);
}

struct weir_io_req *
weir_outgoing_next(struct weir_outgoing *o, int handle, void *user)
{
	if (o->busy || o->first == NULL)
		return NULL;
	o->part_cnt = 0;
	o->req = (struct weir_io_req){
		.kind = WEIR_IO_WRITE, .handle = handle, .off = offset_of(o->first), .user = user
	};
	while (o->first != NULL && offset_of(o->first) == o->req.off + o->req.len)
		if (!put_range(o))
			break;
	/* A single range may lie in memory that the driver has registered. */
	if (o->part_cnt == 1) {
		o->req.buf = o->piece[0].base;
	} else {
		o->req.piece = o->piece;
		o->req.piece_cnt = o->part_cnt;
	}
	o->busy = true;
	return &o->req;
}

void
weir_outgoing_done(struct weir_outgoing *o,
		   void (*gone)(void *arg, struct weir_outgoing_range *range), void *arg)
{
	WEIR_ASSERT(o->busy);
	o->busy = false;
	for (uint32_t i = 0; i < o->part_cnt; i++) {
		const struct weir_outgoing_part *part = &o->part[i];

		/* The last release gives the list back. */
		if (part->list != NULL)
			part->list->release(part->list, part->piece);
		if (part->range != NULL)
			gone(arg, part->range);
	}
}

void
weir_outgoing_release(struct weir_snap_pieces *list)
{
	const uint32_t cnt = list->cnt;

	for (uint32_t i = list->sent; i < cnt; i++)
		list->release(list, i);
}

void
weir_outgoing_drop(struct weir_outgoing *o,
		   void (*gone)(void *arg, struct weir_outgoing_range *range), void *arg)
{
	WEIR_ASSERT(!o->busy);
	while (o->first != NULL) {
		struct weir_outgoing_range *range = o->first;

		o->first = range->next;
		if (range->list != NULL)
			weir_outgoing_release(range->list);
		gone(arg, range);
	}
}

#include "statebackend/hash/home.h"

#include <string.h>

#include "engine/base/plant.h"
#include "statebackend/snapshot/chunk.h"

/* ---- slots: small numbers of segments ---- */

static struct home_segment *
link_of(uint32_t slot)
{
	return (struct home_segment *)(uintptr_t)((uint64_t)slot << 1 | 1);
}

static uint32_t
slot_behind(const struct home_segment *link)
{
	return (uint32_t)((uintptr_t)link >> 1);
}

static bool
slots_grow(struct homes *h, struct mem *m)
{
	const uint32_t cap = h->slot_cap == 0 ? MEM_PAGE / sizeof(*h->slot) : h->slot_cap * 2;
	struct home_segment **slot;

	if (cap > HOME_SEGMENTS_MAX)
		return false;
	slot = mem_alloc(m, cap * sizeof(struct home_segment *));
	if (slot == NULL)
		return false;
	if (h->slot_cap > 0) {
		memcpy(slot, h->slot, h->slot_cap * sizeof(struct home_segment *));
		mem_free(m, h->slot, h->slot_cap * sizeof(struct home_segment *));
	} else {
		h->slot_cnt = 1;
	}
	h->slot = slot;
	h->slot_cap = cap;
	return true;
}

/* 0: there is none. */
static uint32_t
slot_take(struct homes *h, struct mem *m)
{
	const uint32_t slot = h->free_slot;

	if (slot != 0) {
		h->free_slot = slot_behind(h->slot[slot]);
		return slot;
	}
	if (h->slot_cnt == h->slot_cap && !slots_grow(h, m))
		return 0;
	return h->slot_cnt++;
}

static void
slot_give(struct homes *h, uint32_t slot)
{
	h->slot[slot] = link_of(h->free_slot);
	h->free_slot = slot;
}

/* ---- files ---- */

static struct home_file *
file_of(struct homes *h, struct mem *m, uint64_t checkpoint)
{
	struct home_file *f = h->files;

	while (f != NULL && f->checkpoint != checkpoint)
		f = f->next;
	if (f != NULL)
		return f;
	f = mem_alloc(m, sizeof(*f));
	if (f == NULL)
		return NULL;
	*f = (struct home_file){ .next = h->files, .checkpoint = checkpoint };
	h->files = f;
	h->file_cnt++;
	return f;
}

static void
file_give(struct homes *h, struct mem *m, struct home_file *f)
{
	struct home_file **at = &h->files;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	h->file_cnt--;
	mem_free(m, f, sizeof(*f));
}

void
home_stored(struct homes *h, uint64_t checkpoint, uint64_t file_bytes)
{
	for (struct home_file *f = h->files; f != NULL; f = f->next)
		if (f->checkpoint == checkpoint)
			f->bytes = file_bytes;
}

void
home_completed(struct homes *h, uint64_t checkpoint)
{
	for (struct home_file *f = h->files; f != NULL; f = f->next)
		if (f->checkpoint == checkpoint)
			f->is_complete = true;
}

/* ---- segments ---- */

struct home_segment *
home_open(struct homes *h, struct mem *m, struct home_segment **list, uint64_t checkpoint)
{
	struct home_file *f = file_of(h, m, checkpoint);
	struct home_segment *s;
	uint32_t slot;

	if (f == NULL)
		return NULL;
	s = mem_alloc(m, sizeof(*s));
	slot = s != NULL ? slot_take(h, m) : 0;
	if (slot == 0) {
		if (s != NULL)
			mem_free(m, s, sizeof(*s));
		if (f->segment_cnt == 0)
			file_give(h, m, f);
		return NULL;
	}
	memset(s, 0, sizeof(*s));
	s->list = list;
	s->next = *list;
	if (s->next != NULL)
		s->next->prev = s;
	*list = s;
	s->file = f;
	s->slot = slot;
	s->number = HOME_OPEN;
	h->slot[slot] = s;
	f->segment_cnt++;
	return s;
}

static void
segment_give(struct homes *h, struct mem *m, struct home_segment *s)
{
	struct home_file *f = s->file;

	if (s->next != NULL)
		s->next->prev = s->prev;
	if (s->prev != NULL)
		s->prev->next = s->next;
	else
		*s->list = s->next;
	slot_give(h, s->slot);
	mem_free(m, s, sizeof(*s));
	if (--f->segment_cnt == 0)
		file_give(h, m, f);
}

void
home_close(struct homes *h, struct mem *m, struct home_segment *s, uint32_t number,
	   uint32_t record_cnt)
{
	WEIR_ASSERT(record_cnt <= HOME_RECORDS_MAX);
	s->record_cnt = record_cnt;
	s->number = number == WEIR_SNAP_NO_SEGMENT ? HOME_NEVER : number;
	if (s->live_cnt == 0)
		segment_give(h, m, s);
}

void
home_enter(struct home_segment *s, struct block_meta *meta, uint32_t record, uint32_t bytes)
{
	WEIR_ASSERT(meta->home == HOME_NONE);
	WEIR_ASSERT(record < HOME_RECORDS_MAX);
	s->live[record / 64] |= 1ull << record % 64;
	s->live_cnt++;
	s->live_bytes += bytes;
	s->file->live_bytes += bytes;
	meta->home = s->slot << HOME_RECORD_BITS | record;
}

void
home_leave(struct homes *h, struct mem *m, struct block_meta *meta, uint32_t bytes)
{
	const uint32_t record = meta->home & ((1u << HOME_RECORD_BITS) - 1);
	struct home_segment *s;

	if (meta->home == HOME_NONE)
		return;
	s = h->slot[meta->home >> HOME_RECORD_BITS];
	meta->home = HOME_NONE;
	if (WEIR_PLANT(HOME_KEPT))
		return;
	s->live[record / 64] &= ~(1ull << record % 64);
	s->live_cnt--;
	s->live_bytes -= bytes;
	s->file->live_bytes -= bytes;
	if (s->live_cnt == 0 && s->number != HOME_OPEN)
		segment_give(h, m, s);
}

/* S10: is it better to write again what the file still holds? */
static bool
is_worn(const struct homes *h, const struct home_file *f)
{
	uint64_t live_bytes = 0;

	if (f->live_bytes < f->bytes / 2)
		return true;
	if (h->file_cnt <= HOME_FILES_MAX)
		return false;
	for (const struct home_file *o = h->files; o != NULL; o = o->next)
		live_bytes += o->live_bytes;
	return f->live_bytes < live_bytes / h->file_cnt;
}

void
home_list(struct homes *h, struct home_segment *list, uint32_t snap, struct weir_snap_writer *w)
{
	for (struct home_segment *s = list; s != NULL; s = s->next) {
		const struct weir_segment_ref ref = {
			.checkpoint = s->file->checkpoint,
			.number = s->number,
			.record_cnt = s->record_cnt,
			.live_bytes = s->live_bytes,
			.live = s->live,
		};

		if (!s->file->is_complete && !WEIR_PLANT(HOME_UNCONFIRMED))
			continue;
		if (s->live_cnt == 0 || is_worn(h, s->file) || !weir_snap_writer_refer(w, &ref))
			continue;
		s->listed = snap;
	}
}

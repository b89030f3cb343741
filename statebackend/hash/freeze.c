/*
 * Snapshot of a kstate.
 *
 *   freeze   number + 1, epoch + 1, remember the youngest table: O(1)
 *   write    to a block of an older epoch: table_touch() -> snap_capture() copies it as it was
 *   slice    walks tables by age and rows by z, captures what no write has captured yet
 *
 * A block is captured once: block_meta.captured is the number of the last snapshot that has it.
 * What is made after the freeze carries that number from the start, so it is not captured. A copy
 * goes into the staging chunk it will be written from; when none is free, into a shadow in the
 * region, which a later slice moves. A snapshot of sorted entries walks its own way (canonical.c);
 * all its copies are shadows.
 */

#include "engine/base/plant.h"
#include "statebackend/hash/hash_priv.h"

#include <string.h>

#include "statebackend/snapshot/chunk.h"

_Static_assert(TAG_BIAS == WEIR_FORMAT_BIAS, "on disk");
_Static_assert(TAG_BIAS_ODD == WEIR_FORMAT_BIAS_ODD, "on disk");
_Static_assert(KEY_INLINE_MAX == WEIR_FORMAT_INLINE, "on disk");
_Static_assert(sizeof(struct weir_record) == sizeof(((struct shadow *)0)->record), "one line");

static struct kstate *
state_of(const struct table *t)
{
	return (struct kstate *)(void *)t->pub.state;
}

/* Epochs are 16 bits: before they come round, no block may be left with an old one. */
static void
epochs_reset(struct kstate *st)
{
	for (struct table *t = st->head; t != NULL; t = t->next) {
		t->epoch = 0;
		for (uint64_t i = 0; t->paged && i < ROW_WORDS << t->order; i++)
			if (i % ROW_WORDS != ROW_META)
				t->dir[i] &= ADDR_MASK;
	}
}

void
hash_freeze(struct weir_kstate *pub, struct weir_snap_writer *w)
{
	struct kstate *st = (struct kstate *)(void *)pub;
	struct snap *snap = &st->snap;

	WEIR_ASSERT(!snap->active);
	WEIR_ASSERT(snap->shadows == NULL);
	if (epoch_of(st) == UINT16_MAX) {
		epochs_reset(st);
		st->cur = 0;
	}
	st->cur += 1ull << EPOCH_SHIFT;
	snap->no++;
	snap->writer = w;
	snap->chunk = NULL;
	snap->home = NULL;
	snap->at = WEIR_PLANT(SNAPSHOT_WALK) ? NULL : st->head;
	snap->last = st->tail;
	snap->at_z = 0;
	snap->segments = 0;
	snap->active = true;
	snap->is_canonical = weir_snap_writer_key_groups(w) > 0;
	if (snap->is_canonical)
		canonical_start(st);
	if (weir_snap_writer_scope_of(w) == WEIR_SNAP_CHANGES)
		home_list(&st->be->homes, st->homes, snap->no, w);
}

static struct weir_snap_chunk *
chunk_take(struct kstate *st, bool spare)
{
	const struct weir_kstate_spec *spec = &st->pub.spec;
	const struct weir_seg_header head = {
		.kind = WEIR_SEGMENT_STATE,
		.operator_idx = spec->operator_idx,
		.subtask = spec->subtask,
		.state_idx = spec->state_idx,
		.part = st->snap.segments,
		.hash_first = spec->hash_first,
		.hash_last = spec->hash_last,
		.key_mode = st->l.mode,
		.key_bytes = st->l.key_bytes,
		.value_bytes = st->l.value_bytes,
		.group_bytes = st->l.group_bytes,
		.payload_bytes = st->l.payload_bytes,
		.value_at = st->l.value_at,
		.grouped = st->l.grouped,
	};
	struct weir_snap_chunk *c = weir_snap_chunk_take(st->snap.writer, &head, spare);

	if (c == NULL)
		return NULL;
	st->snap.segments++;
	if (weir_snap_writer_scope_of(st->snap.writer) != WEIR_SNAP_ALONE)
		st->snap.home = home_open(&st->be->homes, &st->be->mem, &st->homes,
					  weir_snap_writer_checkpoint(st->snap.writer));
	return c;
}

static void
chunk_close(struct kstate *st)
{
	struct snap *snap = &st->snap;
	uint32_t number, record_cnt;

	if (snap->chunk == NULL)
		return;
	record_cnt = weir_snap_chunk_records(snap->chunk);
	number = weir_snap_chunk_close(snap->writer, snap->chunk);
	if (snap->home != NULL)
		home_close(&st->be->homes, &st->be->mem, snap->home, number, record_cnt);
	snap->chunk = NULL;
	snap->home = NULL;
}

/* Room in the open chunk, else in a fresh one. spare: see chunk.h. */
static uint8_t *
chunk_room(struct kstate *st, uint64_t bytes, bool spare)
{
	struct snap *snap = &st->snap;
	uint8_t *at = snap->chunk != NULL ? weir_snap_chunk_room(snap->chunk, bytes) : NULL;

	if (at != NULL)
		return at;
	chunk_close(st);
	snap->chunk = chunk_take(st, spare);
	return snap->chunk != NULL ? weir_snap_chunk_room(snap->chunk, bytes) : NULL;
}

static uint8_t *
shadow_room(struct kstate *st, const struct weir_record *r)
{
	struct hash_backend *be = st->be;
	struct shadow *s = mem_alloc(&be->mem, sizeof(*s));

	WEIR_ASSERT(s != NULL); /* weir_kstate_reserve() */
	s->image = mem_alloc(&be->mem, r->image_bytes);
	WEIR_ASSERT(s->image != NULL);
	s->image_bytes = r->image_bytes;
	memcpy(s->record, r, sizeof(s->record));
	s->next = st->snap.shadows;
	st->snap.shadows = s;
	be->frozen_bytes += s->image_bytes + sizeof(*s);
	return s->image;
}

/* Where the record's image goes; the record itself is put there. */
static uint8_t *
record_room(struct kstate *st, const struct weir_record *r, bool spare)
{
	const uint64_t bytes = weir_align_up(sizeof(*r) + r->image_bytes, WEIR_LINE);
	uint8_t *at = st->snap.is_canonical ? NULL : chunk_room(st, bytes, spare);

	if (at == NULL)
		return shadow_room(st, r);
	memcpy(at, r, sizeof(*r));
	memset(at + sizeof(*r) + r->image_bytes, 0, bytes - sizeof(*r) - r->image_bytes);
	weir_snap_chunk_count(st->snap.chunk, 1, r->live);
	return at + sizeof(*r);
}

static struct weir_record
record_of(const struct table *t, const struct spot *s)
{
	struct weir_record r = {
		.magic = WEIR_RECORD_MAGIC,
		.kind = WEIR_RECORD_PAGE,
		.flags = t->is_odd ? WEIR_RECORD_ODD : 0,
		.used = s->meta->used,
		.live = s->meta->live,
		.heap_used = s->meta->heap_used,
		.heap_live = s->meta->heap_live,
		.image_bytes = s->geo->bytes,
		.ns = t->ns,
		.slot_cnt = s->geo->slot_cnt,
		.heap_from = s->geo->heap_from,
	};

	if (s->word != NULL) {
		const uint64_t at = (uint64_t)(s->word - t->dir);
		const uint64_t *row = t->dir + at / ROW_WORDS * ROW_WORDS;

		r.depth = (uint8_t)row_depth(row);
		r.pages = (uint8_t)row_pages(row);
		r.sub = (uint8_t)(at % ROW_WORDS);
		r.prefix = at / ROW_WORDS >> (t->order - row_depth(row));
	}
	return r;
}

/* An entry whose key is not in its block; the page's record does not count it. */
static void
entry_capture(struct table *t, const struct spot *s, uint32_t slot, const struct key *k, bool spare)
{
	struct kstate *st = state_of(t);
	const uint32_t key_room = (uint32_t)weir_align_up(k->len, 8);
	const uint32_t value_room = st->l.payload_bytes - st->l.value_at;
	const struct weir_record r = {
		.magic = WEIR_RECORD_MAGIC,
		.kind = WEIR_RECORD_ENTRY,
		.live = 1,
		.ns = t->ns,
		.prefix = k->tag,
		.key_len = k->len,
		.image_bytes = key_room + value_room,
	};
	uint8_t *image = record_room(st, &r, spare);

	memset(image + k->len, 0, key_room - k->len);
	memcpy(image, k->bytes, k->len);
	memcpy(image + key_room, slot_payload(&st->l, s->block, slot) + st->l.value_at, value_room);
}

static uint32_t
long_keys_capture(struct table *t, const struct spot *s, bool spare)
{
	const struct layout *l = &state_of(t)->l;
	uint32_t cnt = 0;

	for (uint32_t slot = 0; slot < s->geo->slot_cnt && t->long_cnt > 0; slot++) {
		struct key k;

		if (*slot_tag(l, s->block, slot) <= TAG_TOMB)
			continue;
		k = block_key(l, t->bias, s->block, slot);
		if (k.len <= KEY_INLINE_MAX)
			continue;
		entry_capture(t, s, slot, &k, spare);
		cnt++;
	}
	return cnt;
}

void
snap_give_up(struct kstate *st)
{
	const struct weir_kstate_spec *spec = &st->pub.spec;
	struct weir_error err;

	(void)weir_fail(
		&err, WEIR_ERR_FAILED,
		"operator %u, subtask %u, state %s: %s, and %llu bytes of state memory are free "
		"for that; raise %s%s",
		spec->operator_idx, spec->subtask, spec->name,
		st->snap.is_canonical ? "the canonical format sorts its entries"
				      : "keys longer than 256 bytes have to be copied",
		(unsigned long long)mem_free_bytes(&st->be->mem), st->be->budget_key,
		st->snap.is_canonical ? ", or take it native" : "");
	weir_snap_writer_refuse(st->snap.writer, &err);
	/* The walk of pages may stand in a table that would go; its next slice thaws. */
	if (st->snap.is_canonical)
		hash_thaw(&st->pub);
}

static bool
has_room(struct kstate *st, uint64_t bytes)
{
	if (mem_free_bytes(&st->be->mem) >= bytes + hash_growth_bytes(st, WEIR_STATE_BATCH_MAX))
		return true;
	snap_give_up(st);
	return false;
}

/* What the keys of a block that stand outside it take as shadows. */
static uint64_t
long_keys_bytes(const struct table *t, const struct spot *s)
{
	const struct layout *l = &state_of(t)->l;
	uint64_t bytes = 0;

	for (uint32_t slot = 0; slot < s->geo->slot_cnt && t->long_cnt > 0; slot++)
		if (*slot_tag(l, s->block, slot) > TAG_TOMB &&
		    block_key(l, t->bias, s->block, slot).len > KEY_INLINE_MAX)
			bytes += sizeof(struct shadow) + 2 * WEIR_KEY_BYTES_MAX;
	return bytes;
}

/* weir_kstate_reserve() counts blocks: the keys outside them are too rare and too large to keep
 * room for all that a batch might touch. False: there is none, and the snapshot is given up. */
static bool
long_keys_fit(const struct table *t, const struct spot *s)
{
	struct kstate *st = state_of(t);
	const uint64_t bytes = st->l.mode == MODE_BYTES ? long_keys_bytes(t, s) : 0;

	return bytes == 0 || has_room(st, bytes);
}

static void
capture(struct table *t, const struct spot *s, bool spare)
{
	struct weir_record r = record_of(t, s);
	const uint32_t long_cnt =
		state_of(t)->l.mode == MODE_BYTES ? long_keys_capture(t, s, spare) : 0;

	r.live = (uint16_t)(r.live - long_cnt);
	memcpy(record_room(state_of(t), &r, spare), s->block, s->geo->bytes);
	s->meta->captured = state_of(t)->snap.no;
}

void
snap_capture(struct table *t, const struct spot *s)
{
	struct kstate *st = state_of(t);

	if (weir_snap_writer_dead(st->snap.writer))
		return;
	if (st->snap.is_canonical && canonical_is_past(st, t, s))
		return;
	if (long_keys_fit(t, s))
		capture(t, s, true);
}

void
shadow_free(struct kstate *st, struct shadow *s)
{
	st->be->frozen_bytes -= s->image_bytes + sizeof(*s);
	mem_free(&st->be->mem, s->image, s->image_bytes);
	mem_free(&st->be->mem, s, sizeof(*s));
}

/* Move one shadow into a chunk; false: no chunk is free. */
static bool
shadow_move(struct kstate *st)
{
	struct shadow *s = st->snap.shadows;
	const uint64_t bytes = weir_align_up(sizeof(s->record) + s->image_bytes, WEIR_LINE);
	uint8_t *at = chunk_room(st, bytes, false);
	struct weir_record r;

	if (at == NULL)
		return false;
	memcpy(&r, s->record, sizeof(r));
	memcpy(at, &r, sizeof(r));
	memcpy(at + sizeof(r), s->image, s->image_bytes);
	memset(at + sizeof(r) + s->image_bytes, 0, bytes - sizeof(r) - s->image_bytes);
	weir_snap_chunk_count(st->snap.chunk, 1, r.live);
	st->snap.shadows = s->next;
	shadow_free(st, s);
	return true;
}

/* The walk has all of this table: on to the next, and let a dropped one go. */
static void
table_pass(struct kstate *st, struct table *t)
{
	struct snap *snap = &st->snap;

	t->done = snap->no;
	snap->at = t == snap->last ? NULL : t->next;
	snap->at_z = 0;
	if (t->dropped)
		table_destroy(t);
}

static uint32_t
record_bytes(const struct spot *s)
{
	return (uint32_t)weir_align_up(sizeof(struct weir_record) + s->geo->bytes, WEIR_LINE);
}

void
spot_unhome(struct table *t, const struct spot *s)
{
	struct hash_backend *be = state_of(t)->be;

	home_leave(&be->homes, &be->mem, s->meta, record_bytes(s));
}

/* A block that the walk meets and no write has captured. Where it goes becomes its home, if later
 * files may name this one. Bytes copied. */
static uint64_t
walk_capture(struct table *t, const struct spot *s)
{
	struct kstate *st = state_of(t);
	const struct weir_snap_chunk *chunk = st->snap.chunk;
	/* The keys of the page before may have taken the last chunk: then all goes to shadows. */
	const uint32_t record = chunk != NULL ? weir_snap_chunk_records(chunk) : 0;

	if (home_is_listed(&st->be->homes, s->meta, st->snap.no)) {
		s->meta->captured = st->snap.no;
		return WEIR_LINE;
	}
	if (!long_keys_fit(t, s))
		return s->geo->bytes;
	if (chunk == NULL || st->snap.home == NULL) {
		capture(t, s, false);
		return s->geo->bytes;
	}
	spot_unhome(t, s);
	capture(t, s, false);
	/* A block with keys outside it is more than one record: it is always written. */
	if (st->snap.chunk == chunk && weir_snap_chunk_records(chunk) == record + 1)
		home_enter(st->snap.home, s->meta, record, record_bytes(s));
	return s->geo->bytes;
}

/* Capture the row (or flat block) the walk stands on, and step on. Bytes captured. */
static uint64_t
walk_step(struct kstate *st)
{
	struct snap *snap = &st->snap;
	struct table *t = snap->at;
	uint64_t bytes = 0, *row;

	if (t->done == snap->no) {
		table_pass(st, t);
		return WEIR_LINE;
	}
	if (!t->paged) {
		const struct spot s = table_spot(t, 0);

		if (s.meta->captured != snap->no)
			bytes = walk_capture(t, &s);
		table_pass(st, t);
		return bytes + WEIR_LINE;
	}
	row = table_row(t, snap->at_z);
	for (uint32_t i = 0; i < row_pages(row); i++) {
		const struct spot s = row_spot(t, row, i);

		if (s.meta->captured != snap->no)
			bytes += walk_capture(t, &s);
	}
	snap->at_z += row_depth(row) == 0 ? 0 : 1ull << (64 - row_depth(row));
	if (snap->at_z == 0)
		table_pass(st, t);
	return bytes + WEIR_LINE;
}

/* A chunk with room for a row must be there before the walk takes one: slices make no shadows, but
 * of keys that stand outside their block. */
static bool
walk_ready(struct kstate *st)
{
	struct snap *snap = &st->snap;
	const uint64_t row_bytes = ROW_PAGES_MAX * (MEM_PAGE + sizeof(struct weir_record));

	if (snap->chunk != NULL && weir_snap_chunk_left(snap->chunk) >= row_bytes)
		return true;
	chunk_close(st);
	snap->chunk = chunk_take(st, false);
	return snap->chunk != NULL;
}

/* All is handed over. A kstate without entries leaves one empty segment: restore can tell it from
 * none. */
static bool
finish(struct kstate *st)
{
	struct snap *snap = &st->snap;

	if (snap->segments == 0 && snap->chunk == NULL) {
		snap->chunk = chunk_take(st, false);
		if (snap->chunk == NULL)
			return false;
	}
	chunk_close(st);
	snap->active = false;
	return true;
}

bool
hash_slice(struct weir_kstate *pub, uint32_t pages)
{
	struct kstate *st = (struct kstate *)(void *)pub;
	struct snap *snap = &st->snap;
	uint64_t budget = (uint64_t)pages * MEM_PAGE;

	if (!snap->active)
		return true;
	if (weir_snap_writer_dead(snap->writer)) {
		hash_thaw(pub);
		return true;
	}
	if (snap->is_canonical)
		return canonical_slice(st, budget);
	while (snap->shadows != NULL && budget > 0) {
		const uint64_t bytes = snap->shadows->image_bytes;

		if (!shadow_move(st))
			return false;
		budget -= bytes < budget ? bytes : budget;
	}
	while (snap->at != NULL && budget > 0) {
		uint64_t bytes;

		if (!walk_ready(st))
			return false;
		bytes = walk_step(st);
		if (weir_snap_writer_dead(snap->writer))
			return false; /* the next one thaws */
		budget -= bytes < budget ? bytes : budget;
	}
	return snap->at == NULL && snap->shadows == NULL && finish(st);
}

void
hash_thaw(struct weir_kstate *pub)
{
	struct kstate *st = (struct kstate *)(void *)pub;
	struct snap *snap = &st->snap;
	struct table *next;

	if (!snap->active)
		return;
	if (snap->is_canonical)
		canonical_stop(st);
	while (snap->shadows != NULL) {
		struct shadow *s = snap->shadows;

		snap->shadows = s->next;
		shadow_free(st, s);
	}
	if (snap->chunk != NULL)
		weir_snap_chunk_drop(snap->writer, snap->chunk);
	if (snap->home != NULL)
		home_close(&st->be->homes, &st->be->mem, snap->home, WEIR_SNAP_NO_SEGMENT, 0);
	snap->chunk = NULL;
	snap->home = NULL;
	snap->active = false;
	for (struct table *t = st->head; t != NULL; t = next) {
		next = t->next;
		if (t->dropped)
			table_destroy(t);
	}
}

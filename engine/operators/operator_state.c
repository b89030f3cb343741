#include "engine/operators/operator_state.h"

#include "engine/base/hash.h"
#include "engine/graph/plan.h"

#include <string.h>

#define GONE	  0x80000000u /* in key_len: the entry was removed */
#define SLOT_GONE UINT32_MAX
#define NOWHERE	  UINT32_MAX

uint64_t
weir_opstate_entry_bytes(uint32_t key_len, uint32_t len)
{
	return sizeof(struct weir_opstate_entry) + weir_align_up(key_len, 8) +
	       weir_align_up(len, 8);
}

uint64_t
weir_opstate_room(const struct weir_operator_state_decl *decl)
{
	return weir_align_up(decl->bytes_max > 0 ? decl->bytes_max : WEIR_OPERATOR_STATE_BYTES, 8);
}

/* At most half full, whatever the lengths of the entries are. */
static uint32_t
slots_for(uint64_t bytes)
{
	uint32_t cnt = 16;

	while (cnt < 2 * (bytes / weir_opstate_entry_bytes(1, 0)))
		cnt *= 2;
	return cnt;
}

void
weir_opstate_init(struct weir_opstate *s, const struct weir_operator_state_decl *decl,
		  uint64_t bytes, void *(*take)(void *arg, size_t bytes), void *arg)
{
	const uint64_t cap = weir_align_up(bytes, 8);
	/* A piece is closed when the largest entry does not fit behind what it has. */
	const uint64_t least =
		WEIR_OPSTATE_PIECE_MAX - sizeof(struct weir_opstate_piece) -
		weir_opstate_entry_bytes(WEIR_OPERATOR_STATE_KEY_MAX, WEIR_OPERATOR_STATE_ITEM_MAX);

	*s = (struct weir_opstate){ .decl = *decl, .cap = cap };
	s->at = take(arg, cap);
	s->frozen = take(arg, cap + (cap / least + 1) * sizeof(struct weir_opstate_piece));
	if (decl->kind != WEIR_BROADCAST_MAP)
		return;
	s->slot_cnt = slots_for(cap);
	s->slot = take(arg, s->slot_cnt * sizeof(*s->slot));
}

void
weir_opstate_clear(struct weir_opstate *s)
{
	s->used = 0;
	s->gone = 0;
	s->cnt = 0;
	s->slot_gone = 0;
	if (s->slot_cnt > 0)
		memset(s->slot, 0, s->slot_cnt * sizeof(*s->slot));
}

static struct weir_opstate_entry *
entry_at(const struct weir_opstate *s, uint64_t at)
{
	return (void *)(s->at + at);
}

static uint64_t
bytes_of(const struct weir_opstate_entry *e)
{
	return weir_opstate_entry_bytes(e->key_len & ~GONE, e->len);
}

const struct weir_opstate_entry *
weir_opstate_next(const struct weir_opstate *s, uint64_t *cursor)
{
	while (*cursor < s->used) {
		const struct weir_opstate_entry *e = entry_at(s, *cursor);

		*cursor += bytes_of(e);
		if ((e->key_len & GONE) == 0)
			return e;
	}
	return NULL;
}

/* ---- index of a map ---- */

static uint32_t
home(const struct weir_opstate *s, const void *key, uint32_t key_len)
{
	return (uint32_t)weir_hash_bytes(key, key_len) & (s->slot_cnt - 1);
}

/* The slot of the key's entry, or NOWHERE. There are always empty slots: see slots_for, rebuild. */
static uint32_t
find(const struct weir_opstate *s, const void *key, uint32_t key_len)
{
	uint32_t i = home(s, key, key_len);

	for (; s->slot[i] != 0; i = (i + 1) & (s->slot_cnt - 1)) {
		const struct weir_opstate_entry *e;

		if (s->slot[i] == SLOT_GONE)
			continue;
		e = entry_at(s, (s->slot[i] - 1) * UINT64_C(8));
		if (e->key_len == key_len && memcmp(weir_opstate_key(e), key, key_len) == 0)
			return i;
	}
	return NOWHERE;
}

static void
enter(struct weir_opstate *s, uint64_t at)
{
	const struct weir_opstate_entry *e = entry_at(s, at);
	uint32_t i = home(s, weir_opstate_key(e), e->key_len);

	while (s->slot[i] != 0)
		i = (i + 1) & (s->slot_cnt - 1);
	s->slot[i] = (uint32_t)(at / 8) + 1;
}

/* Close the gaps of removed entries. */
static void
rebuild(struct weir_opstate *s)
{
	uint64_t to = 0;

	memset(s->slot, 0, s->slot_cnt * sizeof(*s->slot));
	for (uint64_t at = 0, bytes; at < s->used; at += bytes) {
		const struct weir_opstate_entry *e = entry_at(s, at);

		bytes = bytes_of(e);
		if ((e->key_len & GONE) != 0)
			continue;
		memmove(s->at + to, e, bytes);
		enter(s, to);
		to += bytes;
	}
	s->used = to;
	s->gone = 0;
	s->slot_gone = 0;
}

/* ---- change ---- */

static void
write_padded(uint8_t *to, const void *from, uint32_t len)
{
	if (len > 0)
		memcpy(to, from, len);
	memset(to + len, 0, weir_align_up(len, 8) - len);
}

static void
append(struct weir_opstate *s, const void *key, uint32_t key_len, const void *item, uint32_t len)
{
	struct weir_opstate_entry *e = entry_at(s, s->used);

	WEIR_ASSERT(s->cap - s->used >= weir_opstate_entry_bytes(key_len, len));
	*e = (struct weir_opstate_entry){ .key_len = key_len, .len = len };
	write_padded((uint8_t *)(e + 1), key, key_len);
	write_padded((uint8_t *)(e + 1) + weir_align_up(key_len, 8), item, len);
	s->used += bytes_of(e);
	s->cnt++;
}

bool
weir_opstate_add(struct weir_opstate *s, const void *item, uint32_t len)
{
	if (s->cap - s->used < weir_opstate_entry_bytes(0, len))
		return false;
	append(s, NULL, 0, item, len);
	return true;
}

static void
remove_slot(struct weir_opstate *s, uint32_t slot)
{
	struct weir_opstate_entry *e = entry_at(s, (s->slot[slot] - 1) * UINT64_C(8));

	s->gone += bytes_of(e);
	e->key_len |= GONE;
	s->slot[slot] = SLOT_GONE;
	s->slot_gone++;
	s->cnt--;
	/* A probe must find an empty slot soon; entries fill half of them at most. */
	if (s->slot_gone > s->slot_cnt / 4)
		rebuild(s);
}

bool
weir_opstate_put(struct weir_opstate *s, const void *key, uint32_t key_len, const void *item,
		 uint32_t len)
{
	const uint32_t slot = find(s, key, key_len);
	const uint64_t bytes = weir_opstate_entry_bytes(key_len, len);
	struct weir_opstate_entry *old =
		slot == NOWHERE ? NULL : entry_at(s, (s->slot[slot] - 1) * UINT64_C(8));
	const uint64_t others = s->used - s->gone - (old != NULL ? bytes_of(old) : 0);

	if (s->cap - others < bytes)
		return false;
	if (old != NULL && bytes_of(old) == bytes) {
		write_padded((uint8_t *)(old + 1) + weir_align_up(key_len, 8), item, len);
		old->len = len;
		return true;
	}
	if (old != NULL)
		remove_slot(s, slot);
	if (s->cap - s->used < bytes)
		rebuild(s);
	append(s, key, key_len, item, len);
	enter(s, s->used - bytes);
	return true;
}

const struct weir_opstate_entry *
weir_opstate_get(const struct weir_opstate *s, const void *key, uint32_t key_len)
{
	const uint32_t slot = find(s, key, key_len);

	return slot == NOWHERE ? NULL : entry_at(s, (s->slot[slot] - 1) * UINT64_C(8));
}

bool
weir_opstate_remove(struct weir_opstate *s, const void *key, uint32_t key_len)
{
	const uint32_t slot = find(s, key, key_len);

	if (slot == NOWHERE)
		return false;
	remove_slot(s, slot);
	return true;
}

/* ---- bytes of a checkpoint ---- */

static struct weir_opstate_piece *
begin_piece(struct weir_opstate *s)
{
	struct weir_opstate_piece *p = (void *)(s->frozen + s->frozen_len);

	*p = (struct weir_opstate_piece){ .magic = WEIR_OPSTATE_MAGIC,
					  .version = WEIR_OPSTATE_VERSION,
					  .kind = s->decl.kind,
					  .item_bytes = s->decl.item_bytes,
					  .key_bytes = s->decl.key_bytes };
	s->frozen_len += sizeof(*p);
	return p;
}

void
weir_opstate_freeze(struct weir_opstate *s)
{
	struct weir_opstate_piece *p;
	const struct weir_opstate_entry *e;
	uint64_t cursor = 0;

	s->frozen_len = 0;
	s->frozen_at = 0;
	p = begin_piece(s);
	while ((e = weir_opstate_next(s, &cursor)) != NULL) {
		const uint64_t bytes = bytes_of(e);

		if (sizeof(*p) + p->bytes + bytes > WEIR_OPSTATE_PIECE_MAX)
			p = begin_piece(s);
		memcpy(s->frozen + s->frozen_len, e, bytes);
		s->frozen_len += bytes;
		p->bytes += bytes;
		p->entry_cnt++;
	}
}

const struct weir_opstate_piece *
weir_opstate_piece(const struct weir_opstate *s, uint64_t *len)
{
	const struct weir_opstate_piece *p = (const void *)(s->frozen + s->frozen_at);

	if (s->frozen_at == s->frozen_len)
		return NULL;
	*len = sizeof(*p) + p->bytes;
	return p;
}

void
weir_opstate_piece_out(struct weir_opstate *s)
{
	uint64_t len;

	if (weir_opstate_piece(s, &len) != NULL)
		s->frozen_at += len;
}

static bool
is_zero(const uint8_t *bytes, uint64_t len)
{
	for (uint64_t i = 0; i < len; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/* What is wrong with the entry at the beginning of left bytes; NULL: nothing. */
static const char *
misfit(const struct weir_opstate_entry *e, uint64_t left, const struct weir_operator_state_decl *d)
{
	const bool map = d->kind == WEIR_BROADCAST_MAP;
	const uint8_t *item;

	if (left < sizeof(*e) || e->key_len > WEIR_OPERATOR_STATE_KEY_MAX ||
	    e->len > WEIR_OPERATOR_STATE_ITEM_MAX || bytes_of(e) > left)
		return "it leaves its piece";
	if (map ? e->key_len == 0 || (d->key_bytes > 0 && e->key_len != d->key_bytes)
		: e->key_len != 0)
		return "its key has another length";
	if (d->item_bytes > 0 && e->len != d->item_bytes)
		return "it has another length";
	item = weir_opstate_item(e);
	if (!is_zero((const uint8_t *)(e + 1) + e->key_len,
		     weir_align_up(e->key_len, 8) - e->key_len) ||
	    !is_zero(item + e->len, weir_align_up(e->len, 8) - e->len))
		return "its padding is not zero";
	return NULL;
}

int
weir_opstate_piece_check(const void *bytes, uint64_t len,
			 const struct weir_operator_state_decl *decl,
			 const struct weir_opstate_entry **entries, struct weir_error *err)
{
	const struct weir_opstate_piece *p = bytes;
	const uint8_t *at = (const uint8_t *)(p + 1);
	const uint8_t *end;

	if (len < sizeof(*p) || p->magic != WEIR_OPSTATE_MAGIC ||
	    p->version != WEIR_OPSTATE_VERSION || p->bytes != len - sizeof(*p))
		return weir_fail(err, WEIR_ERR_DATA, "no piece of operator state of version %u",
				 WEIR_OPSTATE_VERSION);
	if (p->kind != decl->kind || p->item_bytes != decl->item_bytes ||
	    p->key_bytes != decl->key_bytes)
		return weir_fail(err, WEIR_ERR_DATA,
				 "a piece of a %s of %u bytes an item, %u a key",
				 weir_plan_state_kind(p->kind), p->item_bytes, p->key_bytes);
	end = at + p->bytes;
	for (uint32_t i = 0; i < p->entry_cnt; i++) {
		const struct weir_opstate_entry *e = (const void *)at;
		const char *why = misfit(e, (uint64_t)(end - at), decl);

		if (why != NULL)
			return weir_fail(err, WEIR_ERR_DATA, "entry %u: %s", i, why);
		at += bytes_of(e);
	}
	if (at != end)
		return weir_fail(err, WEIR_ERR_DATA, "bytes behind its %u entries", p->entry_cnt);
	*entries = (const void *)(p + 1);
	return 0;
}

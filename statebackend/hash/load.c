/* Restore: entries of a segment, of pages or sorted, into a kstate. Those outside its range belong
 * to another subtask. */

#include "statebackend/hash/hash_priv.h"

#include <string.h>

#include "statebackend/snapshot/records.h"

static int
shape_check(const struct kstate *st, const struct weir_seg_header *h, struct weir_error *err)
{
	const struct layout *l = &st->l;
	uint32_t mode = l->mode;

	/* Only pages know that a key is kept as a number. */
	if (h->kind == WEIR_SEGMENT_CANONICAL && l->mode == MODE_NUMBER)
		mode = MODE_FIXED;
	if (h->key_mode != mode || h->key_bytes != l->key_bytes ||
	    h->value_bytes != l->value_bytes || h->grouped != l->grouped)
		return weir_fail(
			err, WEIR_ERR_DATA,
			"state %s: the checkpoint has keys of mode %u, %u bytes and values of %u "
			"bytes, the job mode %u, %u and %u",
			st->pub.spec.name, h->key_mode, h->key_bytes, h->value_bytes, mode,
			l->key_bytes, l->value_bytes);
	return 0;
}

static struct key
key_of(const struct kstate *st, const struct weir_record_entry *e, uint64_t *place)
{
	struct key k = { .tag = e->tag, .bytes = e->key, .len = e->key_len };

	*place = e->tag;
	if (st->l.mode == MODE_NUMBER) {
		k.tag = e->key_u64 + TAG_BIAS;
		*place = weir_hash_u64(e->key_u64);
	}
	k.z = place_z(&st->l, *place);
	return k;
}

/* Key groups are ranges of at least 2^48 places: 0 and 1, stored as 2 and 3, change none. */
static bool
place_ours(const struct kstate *st, uint64_t place)
{
	return place >= st->pub.spec.hash_first && place <= st->pub.spec.hash_last;
}

static void
value_put(struct kstate *st, int64_t ns, struct key *k, const void *value)
{
	struct table *t = (struct table *)(void *)hash_table(&st->pub, ns, true);
	uint8_t *payload;

	t = table_of_key(t, k, true);
	payload = table_upsert(t, k);
	memcpy(payload + st->l.value_at, value, st->l.value_bytes);
}

static void
entry_put(struct kstate *st, const struct weir_record *r, const struct weir_record_entry *e)
{
	uint64_t place;
	struct key k = key_of(st, e, &place);

	if (place_ours(st, place))
		value_put(st, r->ns, &k, e->value);
}

/* Entries reserved for at once: what is reserved for byte-string keys supposes the longest ones. */
#define LOAD_STEP 16u

static int
record_load(struct kstate *st, const struct weir_record_walk *w, struct weir_error *err)
{
	const uint32_t slots = w->record.kind == WEIR_RECORD_ENTRY ? 1 : w->record.slot_cnt;
	struct weir_record_entry e;
	bool there;
	int rc = 0;

	for (uint32_t slot = 0; slot < slots && rc == 0; slot++) {
		if (slot % LOAD_STEP == 0 &&
		    weir_kstate_reserve(&st->pub, LOAD_STEP + 2) != WEIR_STATE_ROOM)
			return hash_full(&st->pub, err);
		rc = weir_record_slot(w, slot, &there, &e, err);
		if (rc == 0 && there)
			entry_put(st, &w->record, &e);
	}
	return rc;
}

static void
sorted_put(struct kstate *st, const struct weir_canonical_entry *e)
{
	struct key k = { .tag = tag_of_place(e->place),
			 .z = place_z(&st->l, e->place),
			 .bytes = e->key,
			 .len = e->key_len };
	uint64_t number = 0;

	if (st->l.mode == MODE_NUMBER) {
		memcpy(&number, e->key, e->key_len);
		k.tag = number + TAG_BIAS;
	}
	value_put(st, e->ns, &k, e->value);
}

static int
sorted_load(struct kstate *st, const void *bytes, struct weir_error *err)
{
	struct weir_canonical_walk w;
	bool more = true;
	int rc = weir_canonical_walk_start(&w, bytes, err);

	if (rc == 0)
		rc = shape_check(st, &w.head, err);
	for (uint32_t i = 0; rc == 0; i++) {
		if (i % LOAD_STEP == 0 &&
		    weir_kstate_reserve(&st->pub, LOAD_STEP + 2) != WEIR_STATE_ROOM)
			return hash_full(&st->pub, err);
		rc = weir_canonical_walk_next(&w, &more, err);
		if (!more)
			break;
		if (rc == 0 && place_ours(st, w.entry.place))
			sorted_put(st, &w.entry);
	}
	return rc;
}

int
hash_load(struct weir_kstate *pub, const struct weir_segment *seg, const void *bytes,
	  const uint64_t *live, struct weir_error *err)
{
	struct kstate *st = (struct kstate *)(void *)pub;
	struct weir_record_walk w;
	bool more = true;
	int rc;

	WEIR_ASSERT(weir_segment_is_state(seg));
	if (seg->kind == WEIR_SEGMENT_CANONICAL)
		return sorted_load(st, bytes, err);
	rc = weir_record_walk_start(&w, bytes, err);
	if (rc == 0)
		rc = shape_check(st, &w.head, err);
	while (rc == 0 && more) {
		rc = weir_record_walk_next(&w, &more, err);
		if (rc == 0 && more && (live == NULL || weir_is_live(live, w.done_cnt - 1)))
			rc = record_load(st, &w, err);
	}
	return rc;
}

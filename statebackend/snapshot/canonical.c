/* Runs of sorted entries: putting them into chunks, and taking them out again. */

#include "statebackend/snapshot/canonical.h"

#include <string.h>

#include "engine/state/backend.h"

static uint32_t
group_of(const struct weir_seg_header *h, uint64_t place)
{
	const uint32_t bits = (uint32_t)__builtin_ctz(h->key_groups);

	return bits == 0 ? 0 : (uint32_t)(place >> (64 - bits));
}

/* Bytes of an entry in front of its key. */
static uint32_t
front_bytes(const struct weir_seg_header *h)
{
	return (h->grouped != 0 ? 8u : 0u) + (h->key_mode == 2 ? 8u : 0u);
}

static uint64_t
entry_bytes(const struct weir_seg_header *h, uint32_t key_len)
{
	return front_bytes(h) + weir_align_up(key_len, 8) + weir_align_up(h->value_bytes, 8);
}

int
weir_canonical_compare(const void *a, uint32_t a_len, const void *b, uint32_t b_len)
{
	const uint32_t len = a_len < b_len ? a_len : b_len;
	const int differ = len > 0 ? memcmp(a, b, len) : 0;

	return differ != 0 ? differ : (a_len > b_len) - (a_len < b_len);
}

/* ---- writing ---- */

void
weir_canonical_begin(struct weir_canonical_out *out, struct weir_snap_writer *w,
		     const struct weir_seg_header *head)
{
	WEIR_ASSERT(head->kind == WEIR_SEGMENT_CANONICAL);
	WEIR_ASSERT(head->key_mode == 1 || head->key_mode == 2);
	*out = (struct weir_canonical_out){ .writer = w, .head = *head };
	out->head.key_groups = weir_snap_writer_key_groups(w);
	WEIR_ASSERT(out->head.key_groups > 0);
}

static bool
chunk_take(struct weir_canonical_out *out)
{
	out->chunk = weir_snap_chunk_take(out->writer, &out->head, false);
	out->run = NULL;
	if (out->chunk == NULL)
		return false;
	out->head.part++;
	return true;
}

static void
chunk_close(struct weir_canonical_out *out)
{
	weir_snap_chunk_close(out->writer, out->chunk);
	out->chunk = NULL;
	out->run = NULL;
}

static bool
run_continues(const struct weir_canonical_out *out, const struct weir_canonical_entry *e)
{
	return out->run != NULL && out->run->ns == e->ns && out->run->key_group == e->key_group;
}

/* Room for the entry in its run, and for the run's header if it is the first. */
static uint8_t *
entry_room(struct weir_canonical_out *out, const struct weir_canonical_entry *e, uint64_t bytes)
{
	const uint64_t head = run_continues(out, e) ? 0 : sizeof(struct weir_run);
	uint8_t *at = weir_snap_chunk_room(out->chunk, head + bytes);

	if (at == NULL || head == 0)
		return at;
	out->run = (struct weir_run *)(void *)at;
	*out->run = (struct weir_run){ .magic = WEIR_RUN_MAGIC,
				       .key_group = e->key_group,
				       .ns = e->ns };
	weir_snap_chunk_count(out->chunk, 1, 0);
	return at + head;
}

static uint8_t *
put_padded(uint8_t *at, const void *bytes, uint32_t len)
{
	const uint32_t room = (uint32_t)weir_align_up(len, 8);

	if (len > 0)
		memcpy(at, bytes, len);
	memset(at + len, 0, room - len);
	return at + room;
}

bool
weir_canonical_put(struct weir_canonical_out *out, const struct weir_canonical_entry *e)
{
	const uint64_t bytes = entry_bytes(&out->head, e->key_len);
	const uint32_t len[2] = { e->key_len, 0 };
	uint8_t *at;

	WEIR_ASSERT_HOT(group_of(&out->head, e->place) == e->key_group);
	if (out->chunk == NULL && !chunk_take(out))
		return false;
	at = entry_room(out, e, bytes);
	if (at == NULL) {
		chunk_close(out);
		if (!chunk_take(out))
			return false;
		at = entry_room(out, e, bytes);
	}
	WEIR_ASSERT(at != NULL);
	out->run->entry_cnt++;
	out->run->bytes += (uint32_t)bytes;
	weir_snap_chunk_count(out->chunk, 0, 1);
	if (out->head.grouped != 0)
		at = put_padded(at, &e->place, sizeof(e->place));
	if (out->head.key_mode == 2)
		at = put_padded(at, len, sizeof(len));
	at = put_padded(at, e->key, e->key_len);
	(void)put_padded(at, e->value, out->head.value_bytes);
	return true;
}

bool
weir_canonical_end(struct weir_canonical_out *out)
{
	if (out->head.part == 0 && !chunk_take(out))
		return false;
	if (out->chunk != NULL)
		chunk_close(out);
	return true;
}

void
weir_canonical_drop(struct weir_canonical_out *out)
{
	if (out->chunk != NULL)
		weir_snap_chunk_drop(out->writer, out->chunk);
	out->chunk = NULL;
	out->run = NULL;
}

/* ---- reading ---- */

static bool
shape_ok(const struct weir_seg_header *h)
{
	if (h->kind != WEIR_SEGMENT_CANONICAL || h->hash_first > h->hash_last)
		return false;
	if (h->value_bytes == 0 || h->value_bytes > WEIR_VALUE_MAX || h->grouped > 1)
		return false;
	if (h->key_groups == 0 || h->key_groups > 1u << 15 ||
	    __builtin_popcount(h->key_groups) != 1)
		return false;
	if (h->key_mode == 1)
		return h->key_bytes > 0 && h->key_bytes <= WEIR_KEY_FIXED_MAX;
	return h->key_mode == 2 && h->key_bytes == 0;
}

int
weir_canonical_walk_start(struct weir_canonical_walk *w, const void *bytes, struct weir_error *err)
{
	memset(w, 0, sizeof(*w));
	memcpy(&w->head, bytes, sizeof(w->head));
	w->bytes = bytes;
	w->at = w->run_at = sizeof(w->head);
	if (!shape_ok(&w->head))
		return weir_fail(err, WEIR_ERR_DATA, "canonical segment: sizes of key and value");
	return 0;
}

static int
bad(const struct weir_canonical_walk *w, struct weir_error *err, const char *what)
{
	return weir_fail(err, WEIR_ERR_DATA, "canonical segment: run %u, entry %u: %s", w->run_cnt,
			 w->entry_cnt, what);
}

static int
run_start(struct weir_canonical_walk *w, struct weir_error *err)
{
	const struct weir_run was = w->run;
	struct weir_run *r = &w->run;

	if (w->at - w->run_at != was.bytes)
		return bad(w, err, "other bytes than its header says");
	if (w->head.used - w->at < sizeof(*r))
		return bad(w, err, "the segment ends");
	memcpy(r, w->bytes + w->at, sizeof(*r));
	w->at += sizeof(*r);
	w->run_at = w->at;
	w->run_cnt++;
	w->entry_cnt = 0;
	if (r->magic != WEIR_RUN_MAGIC || r->entry_cnt == 0 || r->bytes > w->head.used - w->at)
		return bad(w, err, "malformed header");
	if (r->key_group >= w->head.key_groups)
		return bad(w, err, "a key group that there is not");
	if (w->run_cnt > 1 &&
	    (r->key_group < was.key_group || (r->key_group == was.key_group && r->ns <= was.ns)))
		return bad(w, err, "out of order");
	return 0;
}

/* What stands in front of the key, and that all of the entry is there. */
static int
entry_front(struct weir_canonical_walk *w, struct weir_canonical_entry *e, struct weir_error *err)
{
	const uint64_t left = w->run.bytes - (w->at - w->run_at);
	const uint8_t *at = w->bytes + w->at;

	if (left < front_bytes(&w->head))
		return bad(w, err, "beyond its run");
	e->key_len = w->head.key_bytes;
	if (w->head.grouped != 0)
		memcpy(&e->place, at, sizeof(e->place));
	if (w->head.key_mode == 2)
		memcpy(&e->key_len, at + front_bytes(&w->head) - 8, sizeof(e->key_len));
	if (w->head.key_mode == 2 && e->key_len > WEIR_KEY_BYTES_MAX)
		return bad(w, err, "length of the key");
	if (left < entry_bytes(&w->head, e->key_len))
		return bad(w, err, "beyond its run");
	return 0;
}

static int
entry_next(struct weir_canonical_walk *w, struct weir_error *err)
{
	const struct weir_canonical_entry was = w->entry;
	struct weir_canonical_entry *e = &w->entry;
	int rc = entry_front(w, e, err);

	if (rc != 0)
		return rc;
	e->key = w->bytes + w->at + front_bytes(&w->head);
	e->value = (const uint8_t *)e->key + weir_align_up(e->key_len, 8);
	e->ns = w->run.ns;
	e->key_group = w->run.key_group;
	if (w->head.grouped == 0)
		e->place = weir_key_hash(w->head.key_mode == 2 ? WEIR_KEY_BYTES : WEIR_KEY_FIXED,
					 e->key, e->key_len);
	w->at += entry_bytes(&w->head, e->key_len);
	if (group_of(&w->head, e->place) != e->key_group || e->place < w->head.hash_first ||
	    e->place > w->head.hash_last)
		return bad(w, err, "its key belongs elsewhere");
	if (w->entry_cnt > 0 &&
	    weir_canonical_compare(was.key, was.key_len, e->key, e->key_len) >= 0)
		return bad(w, err, "out of order");
	w->entry_cnt++;
	w->total++;
	return 0;
}

int
weir_canonical_walk_next(struct weir_canonical_walk *w, bool *more, struct weir_error *err)
{
	int rc = 0;

	*more = w->entry_cnt < w->run.entry_cnt || w->run_cnt < w->head.record_cnt;
	if (!*more) {
		if (w->at != w->head.used || w->at - w->run_at != w->run.bytes ||
		    w->total != w->head.entry_cnt)
			return bad(w, err, "bytes or entries do not agree with the header");
		return 0;
	}
	if (w->entry_cnt == w->run.entry_cnt)
		rc = run_start(w, err);
	return rc == 0 ? entry_next(w, err) : rc;
}

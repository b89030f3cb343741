#ifndef WEIR_ENGINE_STATE_BACKEND_H
#define WEIR_ENGINE_STATE_BACKEND_H

/*
 * The contract of a state backend: keyed value state, in namespaces, under checkpoints.
 *
 *   backend   one per core: memory, and every keyed state of every subtask that runs there
 *     kstate  one declared state of one subtask: key kind, value size, a range of the hash order
 *       table one per namespace (i64): 0 for plain keyed state, one per pane for a window operator;
 *             made at first use, dropped whole
 *         entry  key -> value_bytes of plain bytes, zero when made
 *
 * Threads:   a backend belongs to one core's thread; nothing here is shared, nothing atomic.
 * Ownership: memory is one region lent at open for the backend's life; nothing is allocated later.
 *            A value pointer is borrowed until the next call on the same kstate (any table of it).
 *            A table pointer is valid until the table is dropped.
 * Cost:      one indirect call per batch. Batches of 64-256 rows are looked up in stages
 *            (directory, line, entry) with prefetch. Dropping a table costs O(its pages).
 * Limits:    fixed keys 1..256 bytes, byte-string keys 0..4096 bytes, values 1..1024 bytes, batches
 *            of at most 256 rows. Every key given must hash into the kstate's range (asserted in
 *            debug builds). Values start on 8-byte boundaries.
 * Failure:   look-ups cannot fail. Before a batch the caller asks weir_kstate_reserve() whether the
 *            budget has room for as many new entries as the batch has rows; after WEIR_STATE_ROOM
 *            that many rows may be made in any tables of that kstate. A make beyond what was
 *            reserved and beyond the memory is a programmer's error (assert).
 * Snapshot:  weir_kstate_freeze() marks the cut in O(1); from then on writes copy what they change;
 *            the snapshot holds exactly the entries and values of the freeze. What is removed after
 *            the freeze is in it, what is made after is not.
 */

#include "engine/base/base.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"

#include <weir/type.h>

#define WEIR_STATE_BATCH_MAX 256
#define WEIR_KEY_FIXED_MAX   256
#define WEIR_KEY_BYTES_MAX   4096
#define WEIR_VALUE_MAX	     1024

struct weir_backend;
struct weir_kstate;
struct weir_table;
struct weir_snap_writer;
struct weir_segment;

enum weir_key_kind {
	WEIR_KEY_FIXED, /* key_bytes each; up to 8 bytes it is a number, zero-extended */
	WEIR_KEY_BYTES, /* any length 0..WEIR_KEY_BYTES_MAX */
};

struct weir_kstate_spec {
	const char *name; /* borrowed for the kstate's life; in messages */
	uint32_t operator_idx;
	uint32_t subtask;
	uint32_t state_idx; /* of the operator */
	enum weir_key_kind key_kind;
	uint32_t key_bytes; /* fixed kind only */
	uint32_t value_bytes;
	/* The key group comes from another hash than the key's own (keys made by the operator):
	 * weir_keys.hash is mandatory. False: the hash is weir_key_hash() of the key. */
	bool grouped;
	uint64_t hash_first; /* the subtask's range of the hash order, both ends included */
	uint64_t hash_last;
};

/*
 * Keys of a batch, as the columns of a frame have them. All borrowed for the call. Row r's key is
 * fixed + r * key_bytes, or heap + bytes[r].off, bytes[r].len bytes.
 */
struct weir_keys {
	const void *fixed;
	const struct weir_bytes *bytes;
	const char *heap;
	const uint64_t *hash; /* by row: hash (of the group when grouped); or NULL: computed here */
};

/* One entry met by an iteration. */
struct weir_table_entry {
	uint64_t key_u64; /* fixed keys of up to 8 bytes: the key */
	const void *key;  /* key_len bytes; may point at key_u64 of this very struct */
	uint32_t key_len;
	void *value;   /* borrowed until the next insert or drop in this kstate */
	uint64_t hash; /* place in the hash order; its top 16 bits are the group's */
};

/* Which entries an iteration meets, and whether their values will be written. */
struct weir_table_scan {
	uint64_t hash_first, hash_last; /* both ends included */
	bool write;
};
#define WEIR_TABLE_SCAN_READ                                                                       \
	((struct weir_table_scan){ .hash_first = 0, .hash_last = UINT64_MAX, .write = false })
#define WEIR_TABLE_SCAN_WRITE                                                                      \
	((struct weir_table_scan){ .hash_first = 0, .hash_last = UINT64_MAX, .write = true })

enum weir_state_room {
	WEIR_STATE_ROOM, /* go on */
	WEIR_STATE_WAIT, /* a running snapshot holds memory: run slices, ask again */
	WEIR_STATE_FULL, /* beyond the budget: back-pressure; weir_kstate_full() says what to raise
			  */
};

struct weir_state_usage {
	uint64_t used_bytes;   /* taken from the region, all states of the backend */
	uint64_t budget_bytes; /* the region */
	uint64_t frozen_bytes; /* of used: what only a running snapshot still holds */
};

struct weir_backend_ops {
	const char *name;
	struct weir_kstate *(*open)(struct weir_backend *be, const struct weir_kstate_spec *spec,
				    struct weir_error *err);
	struct weir_table *(*table)(struct weir_kstate *st, int64_t ns, bool make);
	struct weir_table *(*table_from)(struct weir_kstate *st, int64_t ns);
	int64_t (*ns)(const struct weir_table *t);
	uint64_t (*count)(const struct weir_table *t);
	void (*drop)(struct weir_table *t);
	enum weir_state_room (*reserve)(struct weir_kstate *st, uint32_t rows);
	int (*full)(const struct weir_kstate *st, struct weir_error *err);
	void (*batch)(struct weir_table *t, const struct weir_keys *keys, const uint16_t *sel,
		      uint32_t n, void **values);
	void (*find)(struct weir_table *t, const struct weir_keys *keys, const uint16_t *sel,
		     uint32_t n, const void **values);
	void (*add_u64)(struct weir_table *t, const struct weir_keys *keys, const uint16_t *sel,
			uint32_t n, const uint64_t *add, uint64_t *sums);
	bool (*remove)(struct weir_table *t, const void *key, uint32_t key_len, uint64_t hash);
	uint32_t (*scan)(struct weir_table *t, const struct weir_table_scan *scan, uint64_t *cursor,
			 struct weir_table_entry *out, uint32_t max);
	void (*usage)(const struct weir_backend *be, struct weir_state_usage *usage);
	void (*freeze)(struct weir_kstate *st, struct weir_snap_writer *w);
	bool (*slice)(struct weir_kstate *st, uint32_t pages);
	void (*thaw)(struct weir_kstate *st);
	void (*stored)(struct weir_backend *be, uint64_t checkpoint, uint64_t file_bytes);
	void (*completed)(struct weir_backend *be, uint64_t checkpoint);
	int (*load)(struct weir_kstate *st, const struct weir_segment *seg, const void *bytes,
		    const uint64_t *live, struct weir_error *err);
};

/* First member of every backend's own structs. */
struct weir_backend {
	const struct weir_backend_ops *ops;
};

struct weir_kstate {
	const struct weir_backend_ops *ops;
	struct weir_kstate_spec spec;
};

struct weir_table {
	const struct weir_backend_ops *ops;
	struct weir_kstate *state;
};

/* Set-up only. NULL and *err when the spec is out of limits or the region has no room. */
static inline struct weir_kstate *
weir_kstate_open(struct weir_backend *be, const struct weir_kstate_spec *spec,
		 struct weir_error *err)
{
	return be->ops->open(be, spec, err);
}

/*
 * The table of a namespace; NULL if there is none and make is false. Making one needs one reserved
 * row of its own. The table asked for last is found at once, others in O(log tables).
 */
static inline struct weir_table *
weir_kstate_table(struct weir_kstate *st, int64_t ns, bool make)
{
	return st->ops->table(st, ns, make);
}

/* The table with the lowest namespace >= ns, NULL if there is none: all tables in order. */
static inline struct weir_table *
weir_kstate_table_from(struct weir_kstate *st, int64_t ns)
{
	return st->ops->table_from(st, ns);
}

/*
 * Would rows new entries fit, whatever pages they fall into, and whatever a running snapshot still
 * has to copy? O(1): call it once before a batch.
 */
static inline WEIR_MUST_USE enum weir_state_room
weir_kstate_reserve(struct weir_kstate *st, uint32_t rows)
{
	return st->ops->reserve(st, rows);
}

/* Fill *err: operator, state, bytes used and the key to raise. Returns the code. */
static inline int
weir_kstate_full(const struct weir_kstate *st, struct weir_error *err)
{
	return st->ops->full(st, err);
}

static inline int64_t
weir_table_ns(const struct weir_table *t)
{
	return t->ops->ns(t);
}

/* Entries in the table. */
static inline uint64_t
weir_table_count(const struct weir_table *t)
{
	return t->ops->count(t);
}

/* Entries of all tables of a kstate. Cost: O(tables). */
static inline uint64_t
weir_kstate_entries(struct weir_kstate *st)
{
	struct weir_table *t = weir_kstate_table_from(st, INT64_MIN);
	uint64_t cnt = 0;

	while (t != NULL) {
		const int64_t ns = weir_table_ns(t);

		cnt += weir_table_count(t);
		t = ns == INT64_MAX ? NULL : weir_kstate_table_from(st, ns + 1);
	}
	return cnt;
}

/* The table and all its entries are gone; t must not be used again. */
static inline void
weir_table_drop(struct weir_table *t)
{
	t->ops->drop(t);
}

/*
 * Get or make the value of each of n rows: row sel[i] (sel NULL: row i) -> values[i]. A value made
 * here is zero. Equal keys get equal pointers. All inserts are resolved before pointers are given.
 * The values may be written.
 */
static inline void
weir_table_batch(struct weir_table *t, const struct weir_keys *keys, const uint16_t *sel,
		 uint32_t n, void **values)
{
	t->ops->batch(t, keys, sel, n, values);
}

/*
 * Add add[sel[i]] to the first 8 bytes of the value of row sel[i] (made zero if missing), in row
 * order; sums[sel[i]] = the new sum after that row. sums may be NULL. Needs value_bytes >= 8.
 */
static inline void
weir_table_add_u64(struct weir_table *t, const struct weir_keys *keys, const uint16_t *sel,
		   uint32_t n, const uint64_t *add, uint64_t *sums)
{
	t->ops->add_u64(t, keys, sel, n, add, sums);
}

/*
 * Single look-ups, for cold code. Fixed keys: key_len is key_bytes. hash: weir_key_hash() of the
 * key, or the group's when the kstate is grouped. get makes nothing and is no write: NULL where
 * there is no entry.
 */
static inline const void *
weir_table_get(struct weir_table *t, const void *key, uint32_t key_len, uint64_t hash)
{
	const struct weir_bytes bytes = { .off = 0, .len = key_len };
	const struct weir_keys keys = { .fixed = key, .bytes = &bytes, .heap = key, .hash = &hash };
	const void *value;

	t->ops->find(t, &keys, NULL, 1, &value);
	return value;
}

/* The value of the key, made zero if missing; to be written. Needs one reserved row. */
static inline void *
weir_table_put(struct weir_table *t, const void *key, uint32_t key_len, uint64_t hash)
{
	const struct weir_bytes bytes = { .off = 0, .len = key_len };
	const struct weir_keys keys = { .fixed = key, .bytes = &bytes, .heap = key, .hash = &hash };
	void *value;

	t->ops->batch(t, &keys, NULL, 1, &value);
	return value;
}

/* True if there was an entry. Needs one reserved row while a snapshot runs. */
static inline bool
weir_table_remove(struct weir_table *t, const void *key, uint32_t key_len, uint64_t hash)
{
	return t->ops->remove(t, key, key_len, hash);
}

/*
 * Iterate: start with *cursor = 0; up to max next entries; 0 at the end. Each entry is met once as
 * long as nothing is inserted into this table between the calls; updates and removals are allowed
 * (what was removed before it was met is not met). After an insert an iteration that goes on is
 * safe, but may miss or repeat. With scan->write the values may be written until the next call;
 * each page then needs one reserved row while a snapshot runs.
 */
static inline uint32_t
weir_table_next(struct weir_table *t, const struct weir_table_scan *scan, uint64_t *cursor,
		struct weir_table_entry *out, uint32_t max)
{
	return t->ops->scan(t, scan, cursor, out, max);
}

static inline void
weir_backend_usage(const struct weir_backend *be, struct weir_state_usage *usage)
{
	be->ops->usage(be, usage);
}

/*
 * Snapshot of one kstate into an open writer (statebackend/snapshot/writer.h): freeze at the cut,
 * then slice between batches until it returns true: all pages are handed to the writer. One
 * snapshot of a kstate at a time. thaw gives it up at any moment before the end (its owner aborts
 * the writer); after it the kstate can be frozen again.
 */
static inline void
weir_kstate_freeze(struct weir_kstate *st, struct weir_snap_writer *w)
{
	st->ops->freeze(st, w);
}

/* Hand over up to pages pages (16 is a good number; about 4 us each). True: nothing is left. */
static inline WEIR_MUST_USE bool
weir_kstate_slice(struct weir_kstate *st, uint32_t pages)
{
	return st->ops->slice(st, pages);
}

static inline void
weir_kstate_thaw(struct weir_kstate *st)
{
	st->ops->thaw(st);
}

/*
 * The data file of a checkpoint, file_bytes long, is durable; and, later or never: the checkpoint
 * is complete. Only what lies in files of completed checkpoints need not be written again (S9), and
 * only while a good part of the file is still used (S10). Ids that nothing is known of are ignored.
 */
static inline void
weir_backend_stored(struct weir_backend *be, uint64_t checkpoint, uint64_t file_bytes)
{
	be->ops->stored(be, checkpoint, file_bytes);
}

static inline void
weir_backend_completed(struct weir_backend *be, uint64_t checkpoint)
{
	be->ops->completed(be, checkpoint);
}

/*
 * Restore: put one segment's entries (bytes: seg->length of them, checksum already proven by the
 * reader) into the kstate; entries outside its hash range are left out, so the segments of every
 * old subtask that overlaps may be given. live: which records stand (weir_segment_ref); NULL: all.
 * Into fresh kstates only, before the first row. 0, or
 * WEIR_ERR_DATA (malformed, other key or value size) or WEIR_ERR_FAILED (beyond the budget).
 */
static inline WEIR_MUST_USE int
weir_kstate_load(struct weir_kstate *st, const struct weir_segment *seg, const void *bytes,
		 const uint64_t *live, struct weir_error *err)
{
	return st->ops->load(st, seg, bytes, live, err);
}

/* Hash of one key as everywhere in weir: up to 8 fixed bytes as a number, else XXH3. */
WEIR_INLINE uint64_t
weir_key_hash(enum weir_key_kind kind, const void *key, uint32_t key_len)
{
	uint64_t k = 0;

	if (kind == WEIR_KEY_BYTES || key_len > sizeof(k))
		return weir_hash_bytes(key, key_len);
	__builtin_memcpy(&k, key, key_len);
	return weir_hash_u64(k);
}

#endif /* WEIR_ENGINE_STATE_BACKEND_H */

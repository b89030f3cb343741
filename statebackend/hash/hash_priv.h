#ifndef WEIR_STATEBACKEND_HASH_HASH_PRIV_H
#define WEIR_STATEBACKEND_HASH_HASH_PRIV_H

/*
 * The parts of the hash backend, for its own files and tests.
 *
 *   mem.c    pages and blocks        block.c  entries in one block     rows.c    directory
 *   grow.c   insert and growth       refill.c old blocks into fresh ones
 *   batch.c  look-ups by batch       tables.c namespaces               scan.c    iteration
 *   freeze.c snapshot                home.c   what earlier ones hold   load.c    restore
 *   canonical.c  snapshot as sorted entries   sort.c  their order      hash.c    contract's table
 */

#include "statebackend/backend.h"
#include "statebackend/hash/hash.h"
#include "statebackend/hash/home.h"
#include "statebackend/hash/layout.h"
#include "statebackend/hash/sort.h"
#include "statebackend/snapshot/canonical.h"

#define HASH_MAGIC 0x57485348u

struct weir_snap_chunk;
struct hash_kernel;

/* One namespace's table. In no tree: an odd table (see layout.h) or one dropped but not yet
 * written. */
struct table {
	struct weir_table pub; /* first */
	uint64_t count;
	union {
		uint8_t *flat;
		uint64_t *dir;
	};
	uint64_t bias;
	struct block_meta meta;	    /* of the flat block */
	struct table *left, *right; /* tree by ns, heap by mix(ns) */
	struct table *next, *prev;  /* all tables of the kstate, oldest first */
	struct table *odd;
	int64_t ns;
	uint32_t long_cnt; /* keys longer than KEY_INLINE_MAX */
	uint32_t done;	   /* last snapshot that has all of this table, or need not have it */
	uint16_t epoch;
	uint8_t order; /* flat: 256 << order bytes; paged: rows are 2^order */
	bool paged   : 1;
	bool is_odd  : 1;
	bool dropped : 1;
};
_Static_assert(sizeof(struct table) <= 256, "a block of the smallest classes");

/* A frozen block copied aside because no staging chunk was free. */
struct shadow {
	struct shadow *next;
	uint8_t *image;
	uint32_t image_bytes;
	uint8_t record[WEIR_LINE];
};

/* Of a canonical snapshot: key groups are gathered, sorted and written batch by batch. */
enum canonical_phase { CANONICAL_TABLES, CANONICAL_SHADOWS, CANONICAL_WRITE };

struct canonical {
	struct weir_canonical_out out;
	struct sorter sorter;
	enum canonical_phase phase;
	uint32_t group_bits; /* log2 of the key groups */
	uint32_t group_cnt;  /* key groups of the next batch */
	uint64_t first;	     /* places of the batch, both ends included */
	uint64_t last;
	struct shadow **shadow;	      /* CANONICAL_SHADOWS: the link to the next */
	const struct sort_item *done; /* CANONICAL_WRITE: written last; NULL: none */
};

struct snap {
	struct weir_snap_writer *writer;
	struct weir_snap_chunk *chunk; /* being filled; NULL: none */
	struct home_segment *home;     /* what it will be; NULL: nobody's home */
	struct table *at;	       /* table whose pages the slices walk; NULL: past the last */
	struct table *last;	       /* youngest table of the freeze */
	uint64_t at_z;
	struct shadow *shadows;
	uint32_t no;	   /* number of the last snapshot */
	uint32_t segments; /* of this snapshot so far */
	bool active;
	bool is_canonical;
	struct canonical canonical;
};

struct kstate {
	struct weir_kstate pub; /* first */
	struct hash_backend *be;
	struct kstate *next; /* list of the backend */
	const struct hash_kernel *kernel;
	struct layout l;
	uint64_t cur; /* epoch << EPOCH_SHIFT */
	struct table *root;
	struct table *last_used;
	struct table *head, *tail;
	struct snap snap;
	struct home_segment *homes; /* of its blocks */
	uint64_t entry_cnt;
	uint64_t table_cnt;
	uint64_t moves;	   /* times that entries moved: pointers resolved before are stale */
	uint32_t gd_max;   /* of all its tables so far */
	uint32_t miss_avg; /* rows of 256 that missed their home slot, moving average * 8 */
};

struct hash_backend {
	struct weir_backend pub; /* first */
	uint32_t magic;
	struct mem mem;
	struct kstate *states;
	struct homes homes;
	const char *budget_key;
	uint64_t block_cnt;    /* flat blocks below 4 KiB */
	uint64_t page_cnt;     /* larger ones and pages */
	uint64_t double_cnt;   /* of them flat blocks of two pages */
	uint64_t frozen_bytes; /* shadows, dropped tables */
};

static inline uint32_t
epoch_of(const struct kstate *st)
{
	return (uint32_t)(st->cur >> EPOCH_SHIFT);
}

/* A key as the inner functions take it. */
struct key {
	uint64_t tag;
	uint64_t z;
	const void *bytes;
	uint32_t len;
	uint32_t long_at; /* longer than KEY_INLINE_MAX, when stored: its block */
};

/* block.c: entries in one block. */
/* Slot of the key, or -1. frac: z's part within the block. */
int32_t block_find(const struct layout *l, const struct geometry *g, uint8_t *block, uint64_t frac,
		   const struct key *k);
/* Heap bytes that a key takes. */
uint32_t block_key_room(const struct layout *l, uint32_t len);
/* Room for one more such key? */
bool block_fits(const struct layout *l, const struct geometry *g, const struct block_meta *m,
		uint32_t key_len);
/* Put a key that is not there into a block that fits it, value zero. The slot. */
uint32_t block_insert(const struct layout *l, const struct geometry *g, uint8_t *block,
		      struct block_meta *m, uint64_t frac, const struct key *k);
void block_remove(const struct layout *l, const struct geometry *g, uint8_t *block,
		  struct block_meta *m, uint32_t slot);
/* The key of an occupied slot. */
struct key block_key(const struct layout *l, uint64_t bias, uint8_t *block, uint32_t slot);
void block_clear(const struct geometry *g, uint8_t *block, struct block_meta *m);

/* A block of a table, and the part of z within it. */
struct spot {
	uint8_t *block;
	struct block_meta *meta;
	const struct geometry *geo;
	uint64_t *word; /* the block's word in the directory; NULL: flat */
	uint64_t frac;
};

/* rows.c: the directory. */
WEIR_INLINE uint64_t
z_prefix(uint64_t z, uint32_t depth)
{
	return depth == 0 ? 0 : z >> (64 - depth);
}
static inline uint64_t *
table_row(const struct table *t, uint64_t z)
{
	return t->dir + z_prefix(z, t->order) * ROW_WORDS;
}
static inline uint32_t
row_depth(const uint64_t *row)
{
	return (uint32_t)(row[ROW_META] & 0xff);
}
static inline uint32_t
row_pages(const uint64_t *row)
{
	return (uint32_t)(row[ROW_META] >> 8);
}
struct spot row_spot(const struct table *t, uint64_t *row, uint32_t sub);
struct spot table_spot(const struct table *t, uint64_t z);
/* The block is about to be written: capture it for a running snapshot, mark its epoch. */
void table_touch(struct table *t, const struct spot *s);
/* Write a row of n pages in all its places; grows the directory to its depth. */
void row_set(struct table *t, uint64_t prefix, uint32_t depth, uint8_t *const *pages, uint32_t n);
uint64_t dir_bytes(uint32_t gd);

/* refill.c: entries on their way from old blocks to new ones. */
struct source {
	const struct geometry *geo;
	uint8_t *block[ROW_PAGES_MAX];
	uint32_t block_cnt;
	uint32_t need; /* heap bytes / 8 of the key that made it grow */
};
/* A row to be filled. */
struct row_plan {
	uint64_t prefix;
	uint32_t depth, n;
};
void source_add(struct source *src, const struct spot *s);
/* Room for these entries and key bytes, and for one key more? */
static inline bool
share_fits(const struct geometry *g, uint32_t entries, uint32_t heap, uint32_t need)
{
	return entries < g->used_max && (heap + need) * 8 <= g->bytes - g->heap_from;
}
/* Fresh pages for the row, or for finer ones; the directory names them. */
void rows_refill(struct table *t, const struct source *src, struct row_plan first);
/* Into the table's fresh flat block. */
void flat_refill(struct table *t, const struct source *src);

/* grow.c: tables of blocks. */
/* Payload of the key, made if missing; may move entries (kstate.moves). */
uint8_t *table_upsert(struct table *t, const struct key *k);
/* Payload of the key or NULL. */
uint8_t *table_lookup(const struct table *t, const struct key *k);
bool table_delete(struct table *t, const struct key *k);
/* First flat block. False: no memory. */
bool table_start(struct table *t);
/* Give all blocks back. */
void table_clear(struct table *t);
/* Pages only, of a paged table. */
uint8_t *page_take(struct kstate *st);
void page_give(struct kstate *st, uint8_t *page);

/* hash.c */
/* What rows new entries can take at most. */
uint64_t hash_growth_bytes(const struct kstate *st, uint32_t rows);
int hash_full(const struct weir_kstate *st, struct weir_error *err);

/* batch.c */
struct key key_make(const struct table *t, const struct weir_keys *keys, uint32_t row);
/* The table in which a key lives: t, or its odd one (then the tag is changed), made if make; or
 * NULL. */
struct table *table_of_key(struct table *t, struct key *k, bool make);
void plain_batch(struct table *t, const struct weir_keys *keys, const uint16_t *sel, uint32_t n,
		 void **values);
void plain_add_u64(struct table *t, const struct weir_keys *keys, const uint16_t *sel, uint32_t n,
		   const uint64_t *add, uint64_t *sums);
void hash_batch(struct weir_table *t, const struct weir_keys *keys, const uint16_t *sel, uint32_t n,
		void **values);
void hash_find(struct weir_table *t, const struct weir_keys *keys, const uint16_t *sel, uint32_t n,
	       const void **values);
void hash_add_u64(struct weir_table *t, const struct weir_keys *keys, const uint16_t *sel,
		  uint32_t n, const uint64_t *add, uint64_t *sums);
bool hash_remove(struct weir_table *t, const void *key, uint32_t key_len, uint64_t hash);

/* tables.c */
struct weir_table *hash_table(struct weir_kstate *st, int64_t ns, bool make);
struct weir_table *hash_table_from(struct weir_kstate *st, int64_t ns);
void hash_table_drop(struct weir_table *t);
struct table *table_make(struct kstate *st, int64_t ns, bool is_odd);
/* Take a table off the list and give its memory back. */
void table_destroy(struct table *t);

/* scan.c */
uint32_t hash_scan(struct weir_table *t, const struct weir_table_scan *scan, uint64_t *cursor,
		   struct weir_table_entry *out, uint32_t max);

/* freeze.c */
void hash_freeze(struct weir_kstate *st, struct weir_snap_writer *w);
bool hash_slice(struct weir_kstate *st, uint32_t pages);
void hash_thaw(struct weir_kstate *st);
/* The block has changed, or is given back. */
void spot_unhome(struct table *t, const struct spot *s);
/* Copy a frozen block that is about to change. */
void snap_capture(struct table *t, const struct spot *s);
/* There is no memory for what it needs besides: the writer refuses it. */
void snap_give_up(struct kstate *st);

/* Give back one that is in no list. */
void shadow_free(struct kstate *st, struct shadow *s);

/* canonical.c: the same contracts, for a snapshot of sorted entries. */
void canonical_start(struct kstate *st);
bool canonical_slice(struct kstate *st, uint64_t budget);
void canonical_stop(struct kstate *st);
/* Is nothing of this block needed any more? */
bool canonical_is_past(const struct kstate *st, const struct table *t, const struct spot *s);

/* load.c */
int hash_load(struct weir_kstate *st, const struct weir_segment *seg, const void *bytes,
	      const uint64_t *live, struct weir_error *err);

#endif /* WEIR_STATEBACKEND_HASH_HASH_PRIV_H */

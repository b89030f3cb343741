#ifndef WEIR_ENGINE_OPERATORS_SLICE_H
#define WEIR_ENGINE_OPERATORS_SLICE_H

/*
 * weir_slice: what the panes of a window hold of a run of the hash order, merged by key.
 *
 *   hash order   |.... slice 0 ....|.... slice 1 ....|.... slice 2 ....|
 *   pane 0         k3 k8             k4 k1
 *   pane 1         k8                k4 k9             k2
 *   rows           k3 k8             k4 k1 k9          k2
 *
 * A window fires slice by slice (T26): each is small enough for a turn and for the second-level
 * cache, and where one ends is a number that a checkpoint can keep and that has a meaning at any
 * parallelism.
 *
 *   begin -> gather -> rows 0 .. cnt - 1 -> advance -> gather -> ... until it is the last
 *
 * Threads:   one core. Ownership: the caller's memory, weir_slice_bytes long; borrows panes and
 *            aggregates. Keys of rows lie in the panes: valid until an insert into them or a drop.
 * Cost:      hot; per entry one probe of a table in the cache, none where there is only one pane.
 * Limits:    WEIR_SLICE_ROWS keys; a slice that has more is made again half as wide.
 * Failure:   gather says so if that many keys have one hash.
 */

#include "engine/operators/agg.h"
#include "engine/state/backend.h"

#define WEIR_SLICE_ROWS	 6144u
#define WEIR_SLICE_INDEX 8192u /* a power of two */
#define WEIR_SLICE_CHUNK 64u

struct weir_slice_row {
	uint64_t hash;
	uint64_t key_u64; /* fixed keys of up to 8 bytes: the key */
	const void *key;  /* NULL: it is key_u64 */
	uint32_t key_len;
	uint64_t acc[];
};

struct weir_slice {
	struct weir_kstate *panes;
	const struct weir_aggs *aggs;
	int64_t from_ns, end_ns; /* of the panes; the end is not included */
	uint64_t first, last;	 /* of the hash order, both included */
	uint64_t width;
	uint32_t cnt;
	uint32_t row_bytes;
	struct weir_table_entry entry[WEIR_SLICE_CHUNK];
	uint16_t index[WEIR_SLICE_INDEX]; /* 0: free; else number of a row, plus one */
	uint64_t rows[];
};

static inline size_t
weir_slice_bytes(const struct weir_aggs *aggs)
{
	return sizeof(struct weir_slice) +
	       WEIR_SLICE_ROWS * (sizeof(struct weir_slice_row) + weir_aggs_bytes(aggs));
}

/* Panes [from_ns, end_ns) of a state, in slices of about want entries, all panes together. */
void weir_slice_begin(struct weir_slice *s, struct weir_kstate *panes, const struct weir_aggs *aggs,
		      int64_t from_ns, int64_t end_ns, uint32_t want);

/*
 * The slice that begins at s->first: sets last, and cnt rows. False: more keys of one hash than
 * fit. *met: entries looked at, for who has to stop after so many.
 */
WEIR_MUST_USE bool weir_slice_gather(struct weir_slice *s, uint32_t *met);

/* Is it the last one? If not, weir_slice_advance and gather. */
static inline bool
weir_slice_is_last(const struct weir_slice *s)
{
	return s->last >= s->panes->spec.hash_last;
}

static inline void
weir_slice_advance(struct weir_slice *s)
{
	s->first = s->last + 1;
	s->cnt = 0;
}

static inline struct weir_slice_row *
weir_slice_row(struct weir_slice *s, uint32_t i)
{
	return (struct weir_slice_row *)(void *)((char *)s->rows + (size_t)i * s->row_bytes);
}

static inline const void *
weir_slice_key(const struct weir_slice_row *row)
{
	return row->key != NULL ? row->key : &row->key_u64;
}

#endif /* WEIR_ENGINE_OPERATORS_SLICE_H */

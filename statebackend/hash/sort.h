#ifndef WEIR_STATEBACKEND_HASH_SORT_H
#define WEIR_STATEBACKEND_HASH_SORT_H

/*
 * Entries in, sorted entries out: for canonical snapshots, whose order is not that of the pages.
 *
 *   add* -> start -> (top, pop)* -> clear        copies gather in runs of 64 KiB from the region,
 *                                                each sorted when it is full, then merged
 *
 *   run:  | sort_run | item, item, ... ->          <- 4-byte references |
 *
 * Order: key group, namespace, key bytes (weir_canonical_compare).
 *
 * Threads:   the backend's core.
 * Ownership: what is added is copied; an item is borrowed until clear.
 * Cost:      add a copy, and every 64 KiB the sorting of a run (about 0.3 ms); pop O(log runs).
 * Failure:   false: the region has no room for another run; nothing was added, clear is possible.
 */

#include "statebackend/hash/mem.h"

struct sort_run;

struct sort_item {
	uint64_t place;
	int64_t ns;
	uint32_t key_group;
	uint32_t key_len;
	/* key, up to a multiple of 8; value */
};

struct sorter {
	struct mem *mem;
	struct sort_run *runs; /* all; the first is being filled until start */
	struct sort_run **heap;
	uint32_t run_cnt, heap_cnt, heap_cap;
	uint32_t value_bytes;
};

/* Nothing is taken from mem before the first add. */
void sorter_init(struct sorter *s, struct mem *mem, uint32_t value_bytes);

WEIR_MUST_USE bool sorter_add(struct sorter *s, const struct sort_item *head, const void *key,
			      const void *value);

WEIR_MUST_USE bool sorter_start(struct sorter *s);

/* The lowest item that is left; NULL: none. */
const struct sort_item *sorter_top(const struct sorter *s);
void sorter_pop(struct sorter *s);

/* Give all memory back; to be used again at once. */
void sorter_clear(struct sorter *s);

/* Of the region, now. */
uint64_t sorter_bytes(const struct sorter *s);

static inline const void *
sort_item_key(const struct sort_item *i)
{
	return i + 1;
}

static inline const void *
sort_item_value(const struct sort_item *i)
{
	return (const uint8_t *)(i + 1) + weir_align_up(i->key_len, 8);
}

/* Key group, namespace, key: below, equal to or above 0. */
int sort_item_compare(const struct sort_item *a, const struct sort_item *b);

#endif /* WEIR_STATEBACKEND_HASH_SORT_H */

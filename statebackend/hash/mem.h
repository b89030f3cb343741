#ifndef WEIR_STATEBACKEND_HASH_MEM_H
#define WEIR_STATEBACKEND_HASH_MEM_H

/*
 * The region of a core's state, cut into 16 KiB pages: runs of 2^k pages by a buddy scheme, blocks
 * of 128 bytes to 8 KiB carved from single pages.
 *
 *   | page infos | pages ... lo |   never used yet   | hi ... runs |
 *
 * Single pages come from the low end of what was never used, runs (directories) from the high end,
 * so that long-lived pages do not cut up the space of runs. What is freed merges with its buddy.
 *
 * Threads: one core. Cost: O(1), a run O(log pages); nothing is touched before it is handed out.
 * Failure: NULL when there is no room; nothing changed. Memory comes uncleared.
 */

#include "engine/base/base.h"

#define MEM_PAGE_SHIFT 14
#define MEM_PAGE       (1u << MEM_PAGE_SHIFT)
#define MEM_NONE       UINT32_MAX
#define MEM_ORDERS     21
/* Blocks below a page: class c is 128 << c bytes. */
#define MEM_CLASS_SHIFT 7
#define MEM_CLASSES	7

/* Of a page that holds entries, or of a flat block (then it lives in the table). */
struct block_meta {
	uint16_t used;	    /* slots that are not empty, tombstones included */
	uint16_t live;	    /* entries */
	uint16_t heap_used; /* key bytes at the page's end, in units of 8, dead ones included */
	uint16_t heap_live;
	uint32_t captured; /* number of the last snapshot that has this page or need not have it */
	uint32_t home;	   /* home.h */
};

enum page_kind { PAGE_NONE, PAGE_FREE, PAGE_RUN, PAGE_SLAB };

struct page_info {
	union {
		struct block_meta block;
		uint64_t free_mask[2]; /* slab: bit set = block free */
	};
	uint32_t next, prev; /* free list of the order, or slab list of the class */
	uint8_t kind;
	uint8_t order; /* first page of a run or free run */
	uint8_t class;
	uint8_t pad[5];
};
_Static_assert(sizeof(struct page_info) == 32, "two per line");

struct mem {
	uint8_t *pages;
	struct page_info *info;
	uint32_t page_cnt;
	uint32_t lo, hi;
	uint32_t free_cnt; /* pages free or never used */
	uint32_t run_head[MEM_ORDERS];
	uint32_t slab_head[MEM_CLASSES];
};

/* Set-up: manage bytes at base. False: not even one page fits. */
bool mem_init(struct mem *m, void *base, uint64_t bytes);

void *mem_run_alloc(struct mem *m, uint32_t order);
void mem_run_free(struct mem *m, void *run);

/* Any size: a block for up to 8 KiB, a run above. bytes is the same at alloc and free. */
void *mem_alloc(struct mem *m, uint64_t bytes);
void mem_free(struct mem *m, void *ptr, uint64_t bytes);

/* Is a run of this order there? */
bool mem_run_ready(const struct mem *m, uint32_t order);

static inline uint64_t
mem_free_bytes(const struct mem *m)
{
	return (uint64_t)m->free_cnt << MEM_PAGE_SHIFT;
}

static inline uint32_t
mem_page_idx(const struct mem *m, const void *addr)
{
	return (uint32_t)((uint64_t)((const uint8_t *)addr - m->pages) >> MEM_PAGE_SHIFT);
}

static inline struct block_meta *
mem_meta(const struct mem *m, const void *page)
{
	return &m->info[mem_page_idx(m, page)].block;
}

#endif /* WEIR_STATEBACKEND_HASH_MEM_H */

#ifndef WEIR_DRIVERS_ALLOC_REGION_H
#define WEIR_DRIVERS_ALLOC_REGION_H

/*
 * A region: a large piece of memory taken once, before the cores start, from hugepages where there
 * are any. Frames and the state of each core live in regions; what happens inside is theirs.
 *
 * Threads:   map and unmap on the control thread; the memory itself has no rules.
 * Ownership: the caller owns the region until weir_region_unmap.
 * Cost:      set-up only. Pages are touched by who uses them first (first touch places them on a
 *            node), except hugepages, which are filled at once: a hugepage that is missing shows
 *            here as an answer and not later as a bus error.
 * Failure:   with huge == WEIR_HUGE_AUTO a lack of hugepages is no failure: ordinary pages are
 *            taken, with the kernel asked for transparent ones; *huge_page tells.
 */

#include "engine/base/error.h"

enum weir_huge {
	WEIR_HUGE_AUTO, /* hugepages if there are enough free, else ordinary pages */
	WEIR_HUGE_ON,	/* hugepages or failure */
	WEIR_HUGE_OFF,	/* ordinary pages */
};

#define WEIR_REGION_NODE_ANY UINT32_MAX

struct weir_region {
	void *base;	/* aligned to 4 KiB at least, to 2 MiB with hugepages */
	uint64_t bytes; /* rounded up to whole pages */
	bool huge;	/* explicit hugepages of 2 MiB */
};

/*
 * Map bytes (> 0), zeroed, preferably on node (or WEIR_REGION_NODE_ANY). WEIR_ERR_UNAVAILABLE with
 * a text that says need, have and command; *region is then unchanged.
 */
WEIR_MUST_USE int weir_region_map(uint64_t bytes, enum weir_huge huge, uint32_t node,
				  struct weir_region *region, struct weir_error *err);

/* Unmap; a region of base NULL is left alone. */
void weir_region_unmap(struct weir_region *region);

/* Would bytes of hugepages of 2 MiB be there now? Found out by mapping and filling them. */
bool weir_region_huge_possible(uint64_t bytes);

#endif /* WEIR_DRIVERS_ALLOC_REGION_H */

#ifndef WEIR_DRIVERS_DPDK_FRAME_MEM_H
#define WEIR_DRIVERS_DPDK_FRAME_MEM_H

/*
 * The memory of all frames: one region of frame_cnt buffers of frame_bytes each, and the shared
 * list of the free ones. Frame i lies at base + i * frame_bytes.
 *
 * The free list is a stack of indices, changed by one compare-and-swap per burst. No thread ever
 * waits for another, not even for one that lost its CPU half-way: where several cores share a CPU,
 * a ring with several producers makes the others spin, and DPDK's relaxed modes do so less, but do.
 * What was put last is got first, while it is still in a cache.
 *
 * Threads:   create and destroy on the control thread; the source as engine/memory/frame_source.h.
 * Ownership: the caller owns the struct until destroy, which unmaps the frames: nothing may point
 *            into them by then, also no file request.
 * Cost:      create is set-up: it maps and, without hugepages, touches no frame. No EAL needed.
 * Limits:    frame_bytes a multiple of 4096 (O_DIRECT), frame_cnt 1 .. 2^28.
 */

#include "drivers/alloc/region.h"
#include "engine/memory/frame_source.h"

struct weir_frame_mem_options {
	uint32_t frame_cnt;
	uint32_t frame_bytes;
	uint32_t node; /* NUMA node, or WEIR_REGION_NODE_ANY */
	enum weir_huge huge;
};

struct weir_frame_mem {
	struct weir_frame_source source; /* first */
	struct weir_region frames;
	uint32_t frame_bytes;
	_Atomic uint32_t *next; /* of a free frame: the one below it, or none */

	/* Written by all. */
	alignas(WEIR_LINE_PAIR) _Atomic uint64_t head; /* top frame, and a count of the changes */
	_Atomic uint32_t free_cnt;
};

WEIR_MUST_USE int weir_frame_mem_create(const struct weir_frame_mem_options *opt,
					struct weir_frame_mem **out, struct weir_error *err);
/* Every frame has been put back (asserted): a frame that is missing is still in use. */
void weir_frame_mem_destroy(struct weir_frame_mem *mem);
/* The same after a failure, when frames may be anywhere: nobody may touch them any more. */
void weir_frame_mem_discard(struct weir_frame_mem *mem);

static inline void *
weir_frame_mem_at(const struct weir_frame_mem *mem, uint32_t idx)
{
	return (char *)mem->frames.base + (uint64_t)idx * mem->frame_bytes;
}

#endif /* WEIR_DRIVERS_DPDK_FRAME_MEM_H */

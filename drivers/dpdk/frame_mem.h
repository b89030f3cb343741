#ifndef WEIR_DRIVERS_DPDK_FRAME_MEM_H
#define WEIR_DRIVERS_DPDK_FRAME_MEM_H

/*
 * The memory of all frames: one region of frame_cnt buffers of frame_bytes each, and the shared
 * list of the free ones. Frame i lies at base + i * frame_bytes.
 *
 * The free list is an rte_ring of 32-bit indices in relaxed-tail mode: a thread that loses its CPU
 * between taking its place and filling it does not make the others spin, which matters where cores
 * share CPUs. Until it comes back the list looks emptier than it is.
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
	void *ring; /* free list; own memory */
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

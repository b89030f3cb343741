#ifndef WEIR_DRIVERS_DPDK_RING_LANE_H
#define WEIR_DRIVERS_DPDK_RING_LANE_H

/*
 * A lane of a local channel: a single-producer single-consumer rte_ring of 16-byte items.
 *
 * Threads:   engine/exchange/lane.h: one producer, one consumer; init and fini while neither runs.
 * Ownership: the memory is the caller's, at least weir_ring_lane_bytes(depth) bytes, aligned to
 *            WEIR_LINE_PAIR; nothing else is taken, so there is nothing to give back. Memory that
 *            the consumer's core has touched first lies on its node.
 * Cost:      hot: no allocation, no system call. Works without EAL having been started.
 * Limits:    depth 1 .. WEIR_RING_LANE_DEPTH_MAX; exactly depth items fit.
 *
 * Built with -DRTE_USE_C11_MEM_MODEL the ring uses C11 atomics, which ThreadSanitizer understands;
 * without it, plain stores and compiler barriers, which is the same on x86 and shorter.
 */

#include "engine/exchange/lane.h"

#define WEIR_RING_LANE_DEPTH_MAX (1u << 20)

/* Bytes of memory that a lane of this depth needs; 0 if the depth is out of range. */
uint64_t weir_ring_lane_bytes(uint32_t depth);

/* Make an empty lane in mem; returns mem as a lane. The depth is in range (asserted). */
struct weir_lane *weir_ring_lane_init(void *mem, uint32_t depth);

#endif /* WEIR_DRIVERS_DPDK_RING_LANE_H */

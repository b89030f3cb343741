#ifndef WEIR_BENCH_LIMIT_PAIR_H
#define WEIR_BENCH_LIMIT_PAIR_H

/*
 * Two pinned threads that start together and stop together, and bare rings between them.
 */

#include "bench/limit/limit.h"

#include <rte_pause.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

/* Single producer, single consumer, cnt - 1 elements of 4, 8 or 16 bytes; no EAL. */
struct rte_ring *pair_ring(unsigned elem_bytes, unsigned cnt);

/*
 * Run work[0] and work[1] on the two CPUs of opts with arg, starting both at once when limit_wait
 * returns, and give back the seconds from the start to the end of the later one. A work function
 * first sets up what is its own (memory is best touched where it is used), then calls pair_start.
 */
typedef void (*pair_fn)(void *arg, unsigned me);
double pair_run(const struct limit_opts *opts, const pair_fn work[2], void *arg);

/* Called once by each work function: everything after it is measured. Returns the start time. */
double pair_start(void);

#endif /* WEIR_BENCH_LIMIT_PAIR_H */

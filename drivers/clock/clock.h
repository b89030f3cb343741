#ifndef WEIR_DRIVERS_CLOCK_CLOCK_H
#define WEIR_DRIVERS_CLOCK_CLOCK_H

/*
 * The clock of cores and control thread: nanoseconds of CLOCK_MONOTONIC.
 *
 * Reads the time stamp counter where it is constant, never stops and is in step across the CPUs,
 * all of which weir_clock_start finds out; else the system's clock.
 *
 * Threads:   start once, before other threads; then any thread may read.
 * Cost:      weir_clock_now_ns about 20 cycles with the counter, no system call either way on a
 *            kernel with a vDSO. start takes about 10 ms.
 * Limits:    drifts from CLOCK_MONOTONIC by the error of the calibration, a few parts in a
 *            million: for intervals, not for comparing with other processes' clocks.
 */

#include <time.h>
#include <x86intrin.h>

#include "engine/base/base.h"

/* Set once by weir_clock_start; read through the functions below. */
struct weir_clock {
	bool tsc;
	uint64_t base_ticks;
	int64_t base_ns;
	uint64_t mult; /* ns per tick, times 2^32 */
};
extern struct weir_clock weir_clock_state;

/* Choose and calibrate. Cannot fail: the system's clock is always there. */
void weir_clock_start(void);

/* "tsc", or "system (why not tsc)". Valid after start. */
const char *weir_clock_report(void);

static inline int64_t
weir_clock_system_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Also correct before start: the system's clock then. */
static inline int64_t
weir_clock_now_ns(void)
{
	const struct weir_clock *clock = &weir_clock_state;

	if (WEIR_LIKELY(clock->tsc))
		return clock->base_ns +
		       (int64_t)(((weir_u128)(__rdtsc() - clock->base_ticks) * clock->mult) >> 32);
	return weir_clock_system_ns();
}

/* Wall clock, ns since 1970: for names and reports only, it jumps. */
static inline int64_t
weir_clock_wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

#endif /* WEIR_DRIVERS_CLOCK_CLOCK_H */

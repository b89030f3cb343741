#ifndef WEIR_DRIVERS_ALLOC_GUARD_H
#define WEIR_DRIVERS_ALLOC_GUARD_H

/*
 * What the allocator tells about the calling thread: the counter whose standing still around a turn
 * proves that a core allocates nothing.
 *
 * Threads:   each thread has its own counter; read it on that thread, or, for a report, after the
 *            thread has stopped.
 * Cost:      weir_alloc_thread_counter once per thread; the counter itself is a plain load.
 */

#include "engine/base/base.h"

/* "jemalloc", or "system" in builds that leave it out (sanitizers). */
const char *weir_alloc_name(void);

/*
 * Bytes that the calling thread has allocated since it started; only grows. NULL with the system
 * allocator, which has no such counter. Lent: valid until the thread ends.
 */
const uint64_t *weir_alloc_thread_counter(void);

#endif /* WEIR_DRIVERS_ALLOC_GUARD_H */

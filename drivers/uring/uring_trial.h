#ifndef WEIR_DRIVERS_URING_URING_TRIAL_H
#define WEIR_DRIVERS_URING_URING_TRIAL_H

/*
 * What this host's io_uring can do, found out with a small ring that is gone afterwards (#23).
 *
 * Threads: any, set-up only.
 */

#include "engine/base/error.h"
#include "engine/io.h"

struct uring_able {
	uint32_t flags;			    /* of set-up: the best set that works */
	bool native[WEIR_IO_FSYNC_DIR + 1]; /* by kind: the kernel has all its operations */
};

WEIR_MUST_USE int uring_try(struct uring_able *able, struct weir_error *err);

#endif /* WEIR_DRIVERS_URING_URING_TRIAL_H */

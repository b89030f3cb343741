#ifndef WEIR_DRIVERS_IO_OPTIONS_H
#define WEIR_DRIVERS_IO_OPTIONS_H

/*
 * What a file back end is asked for (drivers/io_open.h).
 *
 * Ownership: the CPU list is lent for the call that opens, the memory of the regions until close.
 */

#include <sys/uio.h>

#include "engine/base/base.h"

enum weir_io_backend {
	WEIR_IO_AUTO, /* uring if the host allows it, else posix */
	WEIR_IO_URING,
	WEIR_IO_POSIX,
};

#define WEIR_IO_DEPTH_MAX  4096u
#define WEIR_IO_REGION_MAX 64u

struct weir_io_options {
	enum weir_io_backend backend;
	uint32_t depth; /* 1 .. WEIR_IO_DEPTH_MAX requests in flight */

	/* Control CPUs, for helper threads and the kernel's workers; 0: those of the main thread,
	 * never those of the calling one, which may be a pinned core. */
	const uint32_t *cpus;
	uint32_t cpu_cnt;

	/* The owner sleeps: completions make weir_io_wait_fd readable. Costs a system call per
	 * harvest, so not for cores. */
	bool wakeup;

	/* Memory to register with io_uring; requests outside it are as good, only slower. */
	const struct iovec *regions;
	uint32_t region_cnt; /* at most WEIR_IO_REGION_MAX pieces of 1 GiB */
};

#endif /* WEIR_DRIVERS_IO_OPTIONS_H */

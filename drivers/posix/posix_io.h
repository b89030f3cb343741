#ifndef WEIR_DRIVERS_POSIX_POSIX_IO_H
#define WEIR_DRIVERS_POSIX_POSIX_IO_H

/*
 * The file back end for hosts without io_uring: one helper thread per weir_io does the requests one
 * after the other, in the order of their submission, on the control CPUs.
 *
 * Threads and ownership: drivers/io_open.h. Cost: submit takes a lock and may wake the helper;
 * harvest takes no lock and makes no system call, unless the owner sleeps (opt.wakeup).
 */

#include "drivers/io_driver.h"
#include "engine/base/error.h"

/*
 * opt.backend is not looked at. wake_fd >= 0: an eventfd of the caller's to write to instead of an
 * own one; lent until close.
 */
WEIR_MUST_USE int weir_posix_io_open(const struct weir_io_options *opt, int wake_fd,
				     struct weir_io **out, struct weir_error *err);

#endif /* WEIR_DRIVERS_POSIX_POSIX_IO_H */

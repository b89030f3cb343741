#ifndef WEIR_DRIVERS_IO_OPEN_H
#define WEIR_DRIVERS_IO_OPEN_H

/*
 * Opens the file back end that this host allows (engine/io.h): io_uring, or a helper thread with
 * pread and pwrite. Which one is found out by trial, never by kernel version.
 *
 * Threads:   open may be called on another thread than the owner's; the first submit settles who
 *            the owner is, and from then on everything is called there. Close is called by the
 *            owner, or by another thread after the owner has stopped with nothing in flight.
 * Ownership: a weir_io belongs to the caller until weir_io_close. The CPU list is borrowed for the
 *            call, the memory of the regions until close.
 * Cost:      set-up. Opening takes memory, descriptors and, for posix, a thread.
 */

#include "drivers/io_options.h"
#include "engine/base/error.h"
#include "engine/io.h"

#define WEIR_IO_REPORT_BYTES 320

/*
 * Open. report (WEIR_IO_REPORT_BYTES, or NULL) gets one line that names the back end and, if it is
 * not the best one, what is missing and how to get it. WEIR_ERR_UNAVAILABLE if the back end that
 * was asked for is not possible, or memory or descriptors are exhausted.
 */
WEIR_MUST_USE int weir_io_open(const struct weir_io_options *opt, struct weir_io **out,
			       char *report, struct weir_error *err);

/* Close, after waiting for what is in flight (its results are lost). NULL is ignored. */
void weir_io_close(struct weir_io *io);

/* Readable when there is something to harvest; -1 without opt.wakeup. Lent until close. */
int weir_io_wait_fd(const struct weir_io *io);

/*
 * Sleep until there may be something to harvest, or timeout_ms went by (-1: no limit). For
 * sequential control code and tests; needs opt.wakeup. Harvest until it returns 0 before.
 */
void weir_io_wait(struct weir_io *io, int timeout_ms);

#endif /* WEIR_DRIVERS_IO_OPEN_H */

#ifndef WEIR_DRIVERS_URING_URING_IO_H
#define WEIR_DRIVERS_URING_URING_IO_H

/*
 * The file back end on io_uring: every operation of engine/io.h is one submission entry after the
 * other, as its steps need; a batch of requests is one system call.
 *
 * Threads and ownership: drivers/io_open.h. The ring is bound to the owner at its first submit.
 * What the kernel or a file system cannot do this way goes to a helper thread (drivers/posix),
 * which is started when it is first needed. Cost: submit one io_uring_enter per batch; harvest none
 * while nothing has completed.
 */

#include "drivers/io_driver.h"
#include "engine/base/error.h"

#define WEIR_URING_NOTE_BYTES 200

/*
 * opt.backend is not looked at. note gets what a better host would have ("" if nothing).
 * WEIR_ERR_UNAVAILABLE, with a text that says why and how to get it, if io_uring cannot be used.
 */
WEIR_MUST_USE int weir_uring_io_open(const struct weir_io_options *opt, struct weir_io **out,
				     char note[WEIR_URING_NOTE_BYTES], struct weir_error *err);

/* Try io_uring in a small way and clean up: 0 or WEIR_ERR_UNAVAILABLE with the same texts. */
WEIR_MUST_USE int weir_uring_trial(struct weir_error *err);

#endif /* WEIR_DRIVERS_URING_URING_IO_H */

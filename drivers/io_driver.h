#ifndef WEIR_DRIVERS_IO_DRIVER_H
#define WEIR_DRIVERS_IO_DRIVER_H

/*
 * What drivers/uring and drivers/posix have in common behind weir_io_open. Not for users of an io.
 */

#include "drivers/io_options.h"
#include "engine/io.h"

/* First member of both back ends' own struct. */
struct weir_io_driver {
	struct weir_io io;
	void (*close)(struct weir_io_driver *drv);
	int wake_fd; /* eventfd, or -1 */
};

static inline struct weir_io_driver *
weir_io_driver_of(const struct weir_io *io)
{
	return WEIR_CONTAINER(io, struct weir_io_driver, io);
}

/* NULL is ignored. */
static inline void
weir_io_driver_close(struct weir_io *io)
{
	if (io != NULL)
		weir_io_driver_of(io)->close(weir_io_driver_of(io));
}

/* Tell the sleeping owner; any thread. */
void weir_io_wake_set(int wake_fd);
/* Forget what was told so far; call before looking for completions, or one is slept through. */
void weir_io_wake_clear(int wake_fd);

#endif /* WEIR_DRIVERS_IO_DRIVER_H */

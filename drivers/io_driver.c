#include "drivers/io_driver.h"

#include <unistd.h>

void
weir_io_wake_set(int wake_fd)
{
	const uint64_t one = 1;

	/* It fails only when the counter is at its end, and then the owner is awake anyway. */
	if (wake_fd >= 0 && write(wake_fd, &one, sizeof(one)) < 0)
		return;
}

void
weir_io_wake_clear(int wake_fd)
{
	uint64_t cnt;

	if (wake_fd >= 0 && read(wake_fd, &cnt, sizeof(cnt)) < 0)
		return; /* nothing was told */
}

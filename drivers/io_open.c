#include "drivers/io_open.h"

#include <poll.h>
#include <stdio.h>

#include "drivers/io_driver.h"
#include "drivers/posix/posix_io.h"
#include "drivers/uring/uring_io.h"

/* what: the back end. lack: what a better host would have, "" if nothing. */
static void
report_line(char *report, const char *what, const char *lack)
{
	if (report != NULL)
		snprintf(report, WEIR_IO_REPORT_BYTES, "file I/O: %s%s%s", what,
			 lack[0] != '\0' ? "; " : "", lack);
}

int
weir_io_open(const struct weir_io_options *opt, struct weir_io **out, char *report,
	     struct weir_error *err)
{
	char note[WEIR_URING_NOTE_BYTES];
	struct weir_error no_uring = { .text = "" };
	int rc;

	WEIR_ASSERT(opt->depth >= 1);
	WEIR_ASSERT(opt->depth <= WEIR_IO_DEPTH_MAX);
	if (opt->backend != WEIR_IO_POSIX) {
		rc = weir_uring_io_open(opt, out, note, &no_uring);
		if (rc == 0) {
			report_line(report, (*out)->ops->name, note);
			return 0;
		}
		if (opt->backend == WEIR_IO_URING)
			return weir_fail(err, rc, "io.backend is uring, but: %s", no_uring.text);
	}
	rc = weir_posix_io_open(opt, -1, out, err);
	if (rc == 0)
		report_line(report, "posix, a helper thread", no_uring.text);
	return rc;
}

void
weir_io_close(struct weir_io *io)
{
	weir_io_driver_close(io);
}

int
weir_io_wait_fd(const struct weir_io *io)
{
	return weir_io_driver_of(io)->wake_fd;
}

void
weir_io_wait(struct weir_io *io, int timeout_ms)
{
	struct pollfd pfd = { .fd = weir_io_wait_fd(io), .events = POLLIN };

	WEIR_ASSERT(pfd.fd >= 0);
	(void)poll(&pfd, 1, timeout_ms);
}

/* File requests travel to the helper thread and back: buffer and result are plain memory. */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "drivers/io_open.h"
#include "tests/race/race.h"

#define DEPTH	 32u
#define REQUESTS 20000u

static void
refill(struct weir_io_req *req, int handle, uint32_t number)
{
	memset(req->buf, (int)(number & 0xff), 64);
	*req = (struct weir_io_req){ .kind = WEIR_IO_WRITE,
				     .handle = handle,
				     .buf = req->buf,
				     .len = 64,
				     .off = (uint64_t)(number % 100) * 64 };
}

int
main(void)
{
	static char buf[DEPTH][64];
	static struct weir_io_req req[DEPTH];
	const struct weir_io_options opt = { .backend = WEIR_IO_POSIX, .depth = DEPTH };
	const int handle = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct weir_io_req *done[DEPTH];
	struct weir_error err;
	struct weir_io *io;
	uint32_t sent = 0, back = 0;

	RACE_CHECK(handle >= 0);
	RACE_CHECK(weir_io_open(&opt, &io, NULL, &err) == 0);
	for (uint32_t i = 0; i < DEPTH; i++) {
		req[i].buf = buf[i];
		refill(&req[i], handle, sent++);
		done[i] = &req[i];
	}
	weir_io_submit(io, done, DEPTH);
	while (back < REQUESTS) {
		const uint32_t cnt = weir_io_harvest(io, done, 1 + back % DEPTH);

		for (uint32_t i = 0; i < cnt; i++) {
			RACE_CHECK(done[i]->result == 64);
			refill(done[i], handle, sent++);
		}
		weir_io_submit(io, done, cnt);
		back += cnt;
		if (cnt == 0)
			race_wait();
	}
	weir_io_close(io); /* with DEPTH in flight */
	close(handle);
	return 0;
}

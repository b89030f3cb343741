/* The steps of requests, with completions made up: short transfers, interruptions, refusals. */

#include <errno.h>
#include <string.h>

#include <liburing.h>

#include <criterion/criterion.h>

#include "drivers/uring/uring_priv.h"

static struct uring_slot slot;
static const struct uring_buffers none;

static struct io_uring_sqe
prep(const struct uring_buffers *bufs)
{
	struct io_uring_sqe sqe;

	memset(&sqe, 0, sizeof(sqe));
	uring_slot_prep(&slot, bufs, &sqe);
	return sqe;
}

static void
start(struct weir_io_req *req)
{
	int64_t result;

	cr_assert(uring_slot_start(&slot, req, &result));
}

Test(uring_slot, a_short_write_is_continued)
{
	char buf[100];
	struct weir_io_req req = {
		.kind = WEIR_IO_WRITE, .handle = 7, .buf = buf, .len = 100, .off = 1000
	};
	struct io_uring_sqe sqe;
	int64_t result = 0;

	start(&req);
	sqe = prep(&none);
	cr_assert_eq(sqe.opcode, IORING_OP_WRITE);
	cr_assert_eq(uring_slot_advance(&slot, 30, &result), URING_AGAIN);
	cr_assert_eq(uring_slot_advance(&slot, -EINTR, &result), URING_AGAIN);
	sqe = prep(&none);
	cr_assert_eq(sqe.addr, (uintptr_t)(buf + 30));
	cr_assert_eq(sqe.len, 70);
	cr_assert_eq(sqe.off, 1030);
	cr_assert_eq(uring_slot_advance(&slot, 70, &result), URING_DONE);
	cr_assert_eq(result, 100);
}

Test(uring_slot, a_write_that_stops_short_fails_as_a_whole)
{
	char buf[100];
	struct weir_io_req req = { .kind = WEIR_IO_WRITE, .handle = 7, .buf = buf, .len = 100 };
	int64_t result = 0;

	start(&req);
	cr_assert_eq(uring_slot_advance(&slot, 30, &result), URING_AGAIN);
	cr_assert_eq(uring_slot_advance(&slot, -ENOSPC, &result), URING_DONE);
	cr_assert_eq(result, -ENOSPC);
	start(&req);
	cr_assert_eq(uring_slot_advance(&slot, 0, &result), URING_DONE);
	cr_assert_eq(result, -EIO);
}

Test(uring_slot, a_read_ends_at_the_end_only)
{
	char buf[100];
	struct weir_io_req req = { .kind = WEIR_IO_READ, .handle = 7, .buf = buf, .len = 100 };
	int64_t result = 0;

	start(&req);
	cr_assert_eq(uring_slot_advance(&slot, 60, &result), URING_AGAIN);
	cr_assert_eq(uring_slot_advance(&slot, 0, &result), URING_DONE);
	cr_assert_eq(result, 60);
}

Test(uring_slot, registered_memory_is_used_as_such)
{
	static char region[2][4096];
	const struct iovec piece[] = { { region[0], 4096 }, { region[1], 4096 } };
	const struct uring_buffers bufs = { piece, 2 };
	struct weir_io_req req = { .kind = WEIR_IO_WRITE, .buf = region[1] + 96, .len = 4000 };
	struct io_uring_sqe sqe;

	start(&req);
	sqe = prep(&bufs);
	cr_assert_eq(sqe.opcode, IORING_OP_WRITE_FIXED);
	cr_assert_eq(sqe.buf_index, 1);
	req.buf = region[0];
	req.kind = WEIR_IO_READ;
	start(&req);
	sqe = prep(&bufs);
	cr_assert_eq(sqe.opcode, IORING_OP_READ_FIXED);
	cr_assert_eq(sqe.buf_index, 0);
	/* Across two pieces: in neither. */
	req.buf = region[0] + 200;
	start(&req);
	sqe = prep(&bufs);
	cr_assert_eq(sqe.opcode, IORING_OP_READ);
}

Test(uring_slot, a_failed_fsync_is_final)
{
	struct weir_io_req req = { .kind = WEIR_IO_FSYNC, .handle = 3 };
	int64_t result = 0;

	start(&req);
	cr_assert_eq(uring_slot_advance(&slot, -EIO, &result), URING_DONE);
	cr_assert_eq(result, -EIO);
	start(&req);
	cr_assert_eq(uring_slot_advance(&slot, -EINTR, &result), URING_DONE);
}

Test(uring_slot, a_directory_is_opened_synced_and_closed)
{
	struct weir_io_req req = { .kind = WEIR_IO_FSYNC_DIR, .path = "/d" };
	int64_t result = 1;

	start(&req);
	cr_assert_eq(prep(&none).opcode, IORING_OP_OPENAT);
	cr_assert_eq(uring_slot_advance(&slot, 33, &result), URING_AGAIN);
	cr_assert_eq(prep(&none).opcode, IORING_OP_FSYNC);
	cr_assert_eq(prep(&none).fd, 33);
	cr_assert_eq(uring_slot_advance(&slot, -EIO, &result), URING_AGAIN, "it is closed though");
	cr_assert_eq(prep(&none).opcode, IORING_OP_CLOSE);
	cr_assert_eq(prep(&none).fd, 33);
	cr_assert_eq(uring_slot_advance(&slot, 0, &result), URING_DONE);
	cr_assert_eq(result, -EIO);
	start(&req);
	cr_assert_eq(uring_slot_advance(&slot, -ENOENT, &result), URING_DONE);
	cr_assert_eq(result, -ENOENT);
}

Test(uring_slot, what_a_file_system_cannot_do_goes_to_the_helper)
{
	struct weir_io_req req = { .kind = WEIR_IO_RENAME, .path = "/a", .path2 = "/b" };
	int64_t result = 0;

	start(&req);
	cr_assert_eq(prep(&none).rename_flags, 1u, "RENAME_NOREPLACE");
	cr_assert_eq(uring_slot_advance(&slot, -EINVAL, &result), URING_HELPER);
	cr_assert_eq(uring_slot_advance(&slot, -EEXIST, &result), URING_DONE);
	cr_assert_eq(result, -EEXIST);
}

Test(uring_slot, unlink_tries_file_then_directory)
{
	struct weir_io_req req = { .kind = WEIR_IO_UNLINK, .path = "/a" };
	int64_t result = 1;

	start(&req);
	cr_assert_eq(uring_slot_advance(&slot, -ENOENT, &result), URING_DONE);
	cr_assert_eq(result, 0);
	start(&req);
	cr_assert_eq(uring_slot_advance(&slot, -EISDIR, &result), URING_AGAIN);
	cr_assert(prep(&none).unlink_flags != 0);
	cr_assert_eq(uring_slot_advance(&slot, 0, &result), URING_DONE);
	cr_assert_eq(result, 0);
	/* Not permitted to unlink a file: that is the answer, not that it is no directory. */
	start(&req);
	cr_assert_eq(uring_slot_advance(&slot, -EPERM, &result), URING_AGAIN);
	cr_assert_eq(uring_slot_advance(&slot, -ENOTDIR, &result), URING_DONE);
	cr_assert_eq(result, -EPERM);
}

Test(uring_slot, a_path_that_is_none_is_answered_at_once)
{
	struct weir_io_req req = { .kind = WEIR_IO_MKDIR, .path = "" };
	int64_t result = 0;

	cr_assert_not(uring_slot_start(&slot, &req, &result));
	cr_assert_eq(result, -ENAMETOOLONG);
}

#include "drivers/uring/uring_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include <liburing.h>

#define MOVE_MAX (UINT64_C(1) << 30)

/* MKDIR */
#define STEP_MAKE  0u
#define STEP_CHECK 1u
/* UNLINK */
#define STEP_FILE 0u
#define STEP_DIR  1u
/* FSYNC_DIR */
#define STEP_OPEN  0u
#define STEP_SYNC  1u
#define STEP_CLOSE 2u

bool
uring_slot_start(struct uring_slot *slot, struct weir_io_req *req, int64_t *result)
{
	slot->req = req;
	slot->moved = 0;
	slot->kept = 0;
	slot->fd = -1;
	slot->step = 0;
	if (req->kind == WEIR_IO_WRITE || req->kind == WEIR_IO_READ)
		WEIR_ASSERT(req->len <= MOVE_MAX);
	if (req->kind == WEIR_IO_MKDIR && !weir_mkdir_walk_init(&slot->walk, req->path)) {
		*result = -ENAMETOOLONG;
		return false;
	}
	return true;
}

/* Number of the registered piece that holds all of [buf, buf + len), or -1. */
static int
find_buffer(const struct uring_buffers *bufs, const char *buf, uint64_t len)
{
	for (uint32_t i = 0; i < bufs->cnt; i++) {
		const char *base = bufs->piece[i].iov_base;

		if (buf >= base && buf + len <= base + bufs->piece[i].iov_len)
			return (int)i;
	}
	return -1;
}

static void
prep_move(const struct uring_slot *slot, const struct uring_buffers *bufs, struct io_uring_sqe *sqe)
{
	const struct weir_io_req *req = slot->req;
	char *buf = (char *)req->buf + slot->moved;
	const unsigned int len = (unsigned int)(req->len - slot->moved);
	/* -1 is io_uring's word for the current position. */
	const uint64_t off = req->off == WEIR_IO_STREAM ? UINT64_MAX : req->off + slot->moved;
	const int piece = find_buffer(bufs, buf, len);

	if (req->kind == WEIR_IO_WRITE && piece >= 0)
		io_uring_prep_write_fixed(sqe, req->handle, buf, len, off, piece);
	else if (req->kind == WEIR_IO_WRITE)
		io_uring_prep_write(sqe, req->handle, buf, len, off);
	else if (piece >= 0)
		io_uring_prep_read_fixed(sqe, req->handle, buf, len, off, piece);
	else
		io_uring_prep_read(sqe, req->handle, buf, len, off);
}

static void
prep_mkdir(struct uring_slot *slot, struct io_uring_sqe *sqe)
{
	if (slot->step == STEP_MAKE)
		io_uring_prep_mkdirat(sqe, AT_FDCWD, slot->walk.path, 0755);
	else
		io_uring_prep_statx(sqe, AT_FDCWD, slot->req->path, 0, STATX_TYPE, &slot->stx);
}

static void
prep_fsync_dir(const struct uring_slot *slot, struct io_uring_sqe *sqe)
{
	if (slot->step == STEP_OPEN)
		io_uring_prep_openat(sqe, AT_FDCWD, slot->req->path,
				     O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	else if (slot->step == STEP_SYNC)
		io_uring_prep_fsync(sqe, slot->fd, 0);
	else
		io_uring_prep_close(sqe, slot->fd);
}

void
uring_slot_prep(struct uring_slot *slot, const struct uring_buffers *bufs, struct io_uring_sqe *sqe)
{
	const struct weir_io_req *req = slot->req;

	switch (req->kind) {
	case WEIR_IO_OPEN_NEW:
		io_uring_prep_openat(sqe, AT_FDCWD, req->path,
				     O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		return;
	case WEIR_IO_OPEN_READ:
		io_uring_prep_openat(sqe, AT_FDCWD, req->path, O_RDONLY | O_CLOEXEC, 0);
		return;
	case WEIR_IO_WRITE:
	case WEIR_IO_READ:
		if (req->piece_cnt > 0)
			io_uring_prep_writev(sqe, req->handle,
					     (const struct iovec *)(const void *)req->piece,
					     req->piece_cnt, req->off);
		else
			prep_move(slot, bufs, sqe);
		return;
	case WEIR_IO_FSYNC:
		io_uring_prep_fsync(sqe, req->handle, 0);
		return;
	case WEIR_IO_CLOSE:
		io_uring_prep_close(sqe, req->handle);
		return;
	case WEIR_IO_MKDIR:
		prep_mkdir(slot, sqe);
		return;
	case WEIR_IO_RENAME:
		io_uring_prep_renameat(sqe, AT_FDCWD, req->path, AT_FDCWD, req->path2,
				       RENAME_NOREPLACE);
		return;
	case WEIR_IO_UNLINK:
		io_uring_prep_unlinkat(sqe, AT_FDCWD, req->path,
				       slot->step == STEP_DIR ? AT_REMOVEDIR : 0);
		return;
	case WEIR_IO_FSYNC_DIR:
		prep_fsync_dir(slot, sqe);
		return;
	}
	WEIR_ASSERT(false);
}

static enum uring_next
done(int64_t answer, int64_t *result)
{
	*result = answer;
	return URING_DONE;
}

static enum uring_next
advance_open(const struct uring_slot *slot, int32_t res, int64_t *result)
{
	if (res == -EINTR)
		return URING_AGAIN;
	if (res >= 0 && slot->req->direct && slot->req->kind == WEIR_IO_OPEN_NEW)
		weir_file_direct_try(res);
	return done(res, result);
}

static enum uring_next
advance_move(struct uring_slot *slot, int32_t res, int64_t *result)
{
	const struct weir_io_req *req = slot->req;
	const bool write = req->kind == WEIR_IO_WRITE;

	if (res == -EINTR)
		return URING_AGAIN;
	if (res == -EINVAL && write && weir_file_direct_drop(req->handle))
		return URING_AGAIN;
	if (res < 0)
		return done(res, result);
	/* Rare: the helper writes all of it again, at the same place. */
	if (req->piece_cnt > 0 && (uint32_t)res < req->len)
		return URING_HELPER;
	slot->moved += (uint32_t)res;
	if (slot->moved == req->len)
		return done((int64_t)slot->moved, result);
	if (res != 0)
		return URING_AGAIN;
	return done(write ? -EIO : (int64_t)slot->moved, result); /* the file ends here */
}

static enum uring_next
advance_mkdir(struct uring_slot *slot, int32_t res, int64_t *result)
{
	if (slot->step == STEP_CHECK)
		return done(res == 0 && S_ISDIR(slot->stx.stx_mode) ? 0 : -EEXIST, result);
	switch (weir_mkdir_walk_next(&slot->walk, res, result)) {
	case WEIR_MKDIR_AGAIN:
		return URING_AGAIN;
	case WEIR_MKDIR_CHECK:
		slot->step = STEP_CHECK;
		return URING_AGAIN;
	case WEIR_MKDIR_DONE:
		return URING_DONE;
	}
	WEIR_ASSERT(false);
	return URING_DONE;
}

static enum uring_next
advance_unlink(struct uring_slot *slot, int32_t res, int64_t *result)
{
	if (res == -ENOENT)
		return done(0, result);
	if (slot->step == STEP_FILE && (res == -EISDIR || res == -EPERM)) {
		slot->kept = res;
		slot->step = STEP_DIR;
		return URING_AGAIN;
	}
	if (slot->step == STEP_DIR && res == -ENOTDIR)
		return done(slot->kept, result);
	return done(res, result);
}

static enum uring_next
advance_fsync_dir(struct uring_slot *slot, int32_t res, int64_t *result)
{
	switch (slot->step) {
	case STEP_OPEN:
		if (res < 0)
			return done(res, result);
		slot->fd = res;
		slot->step = STEP_SYNC;
		return URING_AGAIN;
	case STEP_SYNC:
		/* EINVAL: a file system that keeps names durable by itself. */
		slot->kept = res == -EINVAL ? 0 : res;
		slot->step = STEP_CLOSE;
		return URING_AGAIN;
	default:
		return done(slot->kept, result);
	}
}

enum uring_next
uring_slot_advance(struct uring_slot *slot, int32_t res, int64_t *result)
{
	switch (slot->req->kind) {
	case WEIR_IO_OPEN_NEW:
	case WEIR_IO_OPEN_READ:
		return advance_open(slot, res, result);
	case WEIR_IO_WRITE:
	case WEIR_IO_READ:
		return advance_move(slot, res, result);
	case WEIR_IO_FSYNC:
		return done(res, result); /* #21: a failed fsync is final */
	case WEIR_IO_CLOSE:
		return done(res == -EINTR ? 0 : res, result);
	case WEIR_IO_MKDIR:
		return advance_mkdir(slot, res, result);
	case WEIR_IO_RENAME:
		/* A file system that cannot rename without replacing. */
		if (res == -EINVAL || res == -ENOSYS || res == -EOPNOTSUPP)
			return URING_HELPER;
		return done(res, result);
	case WEIR_IO_UNLINK:
		return advance_unlink(slot, res, result);
	case WEIR_IO_FSYNC_DIR:
		return advance_fsync_dir(slot, res, result);
	}
	WEIR_ASSERT(false);
	return URING_DONE;
}

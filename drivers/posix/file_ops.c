#include "drivers/posix/file_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOVE_MAX     (UINT64_C(1) << 30)
#define DIRECT_ALIGN 4096u

/* Of kernel 6.1; older headers do not have it. The fields lie at the same place for ever. */
#ifndef STATX_DIOALIGN
#define STATX_DIOALIGN 0x00002000u
#endif
#define DIO_MEM_ALIGN_AT    0x98
#define DIO_OFFSET_ALIGN_AT 0x9c

void
weir_file_direct_try(int fd)
{
	struct statx stx;
	uint32_t mem_align, off_align;
	const int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_DIRECT) != 0)
		return;
	memset(&stx, 0, sizeof(stx));
	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_DIOALIGN, &stx) !=
		    0 ||
	    (stx.stx_mask & STATX_DIOALIGN) == 0)
		return; /* it does not tell: the first write will show */
	memcpy(&mem_align, (const char *)&stx + DIO_MEM_ALIGN_AT, sizeof(mem_align));
	memcpy(&off_align, (const char *)&stx + DIO_OFFSET_ALIGN_AT, sizeof(off_align));
	if (mem_align == 0 || mem_align > DIRECT_ALIGN || off_align == 0 ||
	    off_align > DIRECT_ALIGN)
		(void)fcntl(fd, F_SETFL, flags);
}

bool
weir_file_direct_drop(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_DIRECT) == 0)
		return false;
	return fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

static int64_t
run_open(const struct weir_io_req *req, int flags)
{
	int fd;

	do {
		fd = open(req->path, flags | O_CLOEXEC, 0644);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	if (req->direct && req->kind == WEIR_IO_OPEN_NEW)
		weir_file_direct_try(fd);
	return fd;
}

static int64_t
run_write(const struct weir_io_req *req)
{
	uint64_t moved = 0;

	WEIR_ASSERT(req->len <= MOVE_MAX);
	while (moved < req->len) {
		const char *from = (const char *)req->buf + moved;
		const ssize_t n = req->off == WEIR_IO_STREAM
					  ? write(req->handle, from, req->len - moved)
					  : pwrite(req->handle, from, req->len - moved,
						   (off_t)(req->off + moved));

		if (n > 0)
			moved += (uint64_t)n;
		else if (n == 0)
			return -EIO;
		else if (errno == EINVAL && weir_file_direct_drop(req->handle))
			continue;
		else if (errno != EINTR)
			return -errno;
	}
	return (int64_t)moved;
}

/* Pieces are handed over as they are. */
_Static_assert(sizeof(struct weir_io_piece) == sizeof(struct iovec), "as the kernel has it");
_Static_assert(offsetof(struct weir_io_piece, len) == offsetof(struct iovec, iov_len),
	       "as the kernel has it");

static int64_t
run_gather(const struct weir_io_req *req)
{
	uint64_t moved = 0;
	uint64_t in = 0; /* bytes of the piece at hand that are written */
	uint32_t at = 0;

	while (at < req->piece_cnt) {
		const struct weir_io_piece *p = &req->piece[at];
		const off_t off = (off_t)(req->off + moved);
		const ssize_t n =
			in == 0 ? pwritev(req->handle, (const struct iovec *)(const void *)p,
					  (int)(req->piece_cnt - at), off)
				: pwrite(req->handle, (const char *)p->base + in, p->len - in, off);

		if (n < 0 &&
		    (errno == EINTR || (errno == EINVAL && weir_file_direct_drop(req->handle))))
			continue;
		if (n <= 0)
			return n == 0 ? -EIO : -errno;
		moved += (uint64_t)n;
		in += (uint64_t)n;
		for (; at < req->piece_cnt && in >= req->piece[at].len; at++)
			in -= req->piece[at].len;
	}
	return (int64_t)moved;
}

static int64_t
run_read(const struct weir_io_req *req)
{
	uint64_t moved = 0;

	WEIR_ASSERT(req->len <= MOVE_MAX);
	while (moved < req->len) {
		const ssize_t n = pread(req->handle, (char *)req->buf + moved, req->len - moved,
					(off_t)(req->off + moved));

		if (n > 0)
			moved += (uint64_t)n;
		else if (n == 0)
			break;
		else if (errno != EINTR)
			return -errno;
	}
	return (int64_t)moved;
}

bool
weir_mkdir_walk_init(struct weir_mkdir_walk *walk, const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len == 0 || len >= sizeof(walk->path))
		return false;
	memcpy(walk->path, path, len);
	walk->path[len] = '\0';
	walk->len = (uint32_t)len;
	walk->cut = walk->len;
	walk->saved = '\0';
	walk->down = false;
	return true;
}

static void
walk_cut(struct weir_mkdir_walk *walk, uint32_t cut)
{
	walk->path[walk->cut] = walk->saved;
	walk->cut = cut;
	walk->saved = walk->path[cut];
	walk->path[cut] = '\0';
}

/* Length of the parent's path; 0 if there is none. */
static uint32_t
parent_len(const struct weir_mkdir_walk *walk)
{
	uint32_t len = walk->cut;

	while (len > 0 && walk->path[len - 1] != '/')
		len--;
	while (len > 0 && walk->path[len - 1] == '/')
		len--;
	return len;
}

/* Length of the path with one more component than the cut. */
static uint32_t
child_len(struct weir_mkdir_walk *walk)
{
	uint32_t len = walk->cut;

	walk->path[walk->cut] = walk->saved;
	while (len < walk->len && walk->path[len] == '/')
		len++;
	while (len < walk->len && walk->path[len] != '/')
		len++;
	return len;
}

enum weir_mkdir_do
weir_mkdir_walk_next(struct weir_mkdir_walk *walk, int res, int64_t *result)
{
	uint32_t up;

	if (res == -EINTR)
		return WEIR_MKDIR_AGAIN;
	*result = res;
	if (res == 0 || res == -EEXIST) {
		if (walk->cut == walk->len)
			return res == 0 ? WEIR_MKDIR_DONE : WEIR_MKDIR_CHECK;
		walk->down = true;
		walk_cut(walk, child_len(walk));
		return WEIR_MKDIR_AGAIN;
	}
	/* Missing again on the way down: somebody removes what we make. */
	up = parent_len(walk);
	if (res != -ENOENT || walk->down || up == 0)
		return WEIR_MKDIR_DONE;
	walk_cut(walk, up);
	return WEIR_MKDIR_AGAIN;
}

static int64_t
run_mkdir(const struct weir_io_req *req)
{
	struct weir_mkdir_walk walk;
	struct stat st;
	enum weir_mkdir_do what;
	int64_t result = 0;

	if (!weir_mkdir_walk_init(&walk, req->path))
		return -ENAMETOOLONG;
	do {
		what = weir_mkdir_walk_next(&walk, mkdir(walk.path, 0755) == 0 ? 0 : -errno,
					    &result);
	} while (what == WEIR_MKDIR_AGAIN);
	if (what == WEIR_MKDIR_CHECK)
		result = stat(req->path, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : -EEXIST;
	return result;
}

/*
 * For file systems that cannot rename without replacing: a hard link fails if the name is taken.
 * Directories cannot be linked; between our look and the rename another could take the name, but
 * rename replaces only an empty directory.
 */
static int64_t
rename_by_link(const char *from, const char *to)
{
	struct stat st;

	if (lstat(from, &st) != 0)
		return -errno;
	if (!S_ISDIR(st.st_mode)) {
		if (link(from, to) != 0)
			return -errno;
		return unlink(from) == 0 ? 0 : -errno;
	}
	if (lstat(to, &st) == 0)
		return -EEXIST;
	return rename(from, to) == 0 ? 0 : -errno;
}

static int64_t
run_rename(const struct weir_io_req *req)
{
	if (renameat2(AT_FDCWD, req->path, AT_FDCWD, req->path2, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return -errno;
	return rename_by_link(req->path, req->path2);
}

static int64_t
run_unlink(const struct weir_io_req *req)
{
	int first;

	if (unlink(req->path) == 0 || errno == ENOENT)
		return 0;
	first = errno;
	if (first != EISDIR && first != EPERM)
		return -first;
	if (rmdir(req->path) == 0 || errno == ENOENT)
		return 0;
	return errno == ENOTDIR ? -first : -errno;
}

static int64_t
run_fsync_dir(const struct weir_io_req *req)
{
	const int fd = open(req->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int64_t result;

	if (fd < 0)
		return -errno;
	result = fsync(fd) == 0 ? 0 : -errno;
	close(fd);
	/* Some file systems keep names durable by themselves and do not know the operation. */
	return result == -EINVAL ? 0 : result;
}

static int64_t
run_close(const struct weir_io_req *req)
{
	/* After EINTR the descriptor is gone on Linux: a second close could hit another's. */
	if (close(req->handle) == 0 || errno == EINTR)
		return 0;
	return -errno;
}

int64_t
weir_file_run(struct weir_io_req *req)
{
	switch (req->kind) {
	case WEIR_IO_OPEN_NEW:
		return run_open(req, O_WRONLY | O_CREAT | O_EXCL);
	case WEIR_IO_OPEN_READ:
		return run_open(req, O_RDONLY);
	case WEIR_IO_WRITE:
		return req->piece_cnt > 0 ? run_gather(req) : run_write(req);
	case WEIR_IO_READ:
		return run_read(req);
	case WEIR_IO_FSYNC:
		return fsync(req->handle) == 0 ? 0 : -errno;
	case WEIR_IO_CLOSE:
		return run_close(req);
	case WEIR_IO_MKDIR:
		return run_mkdir(req);
	case WEIR_IO_RENAME:
		return run_rename(req);
	case WEIR_IO_UNLINK:
		return run_unlink(req);
	case WEIR_IO_FSYNC_DIR:
		return run_fsync_dir(req);
	}
	WEIR_ASSERT(false);
	return -EINVAL;
}

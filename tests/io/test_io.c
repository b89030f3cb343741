/* One set of tests, run over every file back end: engine/io.h is what they have in common. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "tests/io/io_fixture.h"

#define TMPFS_KIND 0x01021994

/* A test of this name in both suites; an open back end comes in as io. */
#define BOTH_WITH(name, start)                                                                     \
	static void name(struct weir_io *io);                                                      \
	Test(io_posix, name, .init = start, .fini = scratch_fini, .timeout = 300)                  \
	{                                                                                          \
		struct weir_io *io = fixture_open(WEIR_IO_POSIX);                                  \
		name(io);                                                                          \
		weir_io_close(io);                                                                 \
	}                                                                                          \
	Test(io_uring, name, .init = start, .fini = scratch_fini, .timeout = 300)                  \
	{                                                                                          \
		struct weir_io *io = fixture_open(WEIR_IO_URING);                                  \
		name(io);                                                                          \
		weir_io_close(io);                                                                 \
	}                                                                                          \
	static void name(struct weir_io *io)

#define BOTH(name)	    BOTH_WITH(name, scratch_init)
#define BOTH_ON_TMPFS(name) BOTH_WITH(name, scratch_init_small)

static void *
pages(uint32_t cnt, int fill)
{
	void *buf = aligned_alloc(WEIR_PAGE, (size_t)cnt * WEIR_PAGE);

	cr_assert(buf != NULL);
	memset(buf, fill, (size_t)cnt * WEIR_PAGE);
	return buf;
}

BOTH(a_file_goes_through_its_whole_life)
{
	char text[16] = "";
	int64_t fd = do_open_new(io, scratch_path("part"), false);

	cr_assert(fd >= 0);
	/* Pieces in any order. */
	cr_assert_eq(do_write(io, fd, "world", 5, 6), 5);
	cr_assert_eq(do_write(io, fd, "hello ", 6, 0), 6);
	cr_assert_eq(do_handle(io, WEIR_IO_FSYNC, fd), 0);
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, fd), 0);
	cr_assert_eq(do_rename(io, scratch_path("part"), scratch_path("whole")), 0);
	cr_assert_eq(do_path(io, WEIR_IO_FSYNC_DIR, scratch_dir()), 0);
	fd = do_open_read(io, scratch_path("whole"));
	cr_assert(fd >= 0);
	cr_assert_eq(do_read(io, fd, text, 11, 0), 11);
	cr_assert_str_eq(text, "hello world");
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, fd), 0);
	cr_assert_eq(do_path(io, WEIR_IO_UNLINK, scratch_path("whole")), 0);
	cr_assert_eq(access(scratch_path("whole"), F_OK), -1);
}

BOTH(pieces_are_gathered)
{
	char *memory = pages(WEIR_IO_PIECES_MAX * 2, 0);
	char *back = pages(WEIR_IO_PIECES_MAX * 2, 0);
	struct weir_io_piece piece[WEIR_IO_PIECES_MAX];
	const int64_t fd = do_open_new(io, scratch_path("g"), true);
	uint64_t len = 0;
	int64_t in;

	/* Every other page, the last piece first. */
	for (uint32_t i = 0; i < WEIR_IO_PIECES_MAX; i++) {
		const uint32_t at = (WEIR_IO_PIECES_MAX - 1 - i) * 2;

		memset(memory + (size_t)at * WEIR_PAGE, (int)i + 1, WEIR_PAGE);
		piece[i] = (struct weir_io_piece){ memory + (size_t)at * WEIR_PAGE, WEIR_PAGE };
		len += WEIR_PAGE;
	}
	cr_assert_eq(do_gather(io, fd, piece, WEIR_IO_PIECES_MAX, len, WEIR_PAGE), (int64_t)len);
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, fd), 0);
	in = do_open_read(io, scratch_path("g"));
	cr_assert_eq(do_read(io, in, back, len, WEIR_PAGE), (int64_t)len);
	for (uint64_t b = 0; b < len; b++)
		cr_assert_eq(back[b], (char)(b / WEIR_PAGE + 1), "byte %lu", b);
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, in), 0);
	cr_assert_eq(do_gather(io, 9999, piece, 2, 2 * WEIR_PAGE, 0), -EBADF);
	free(memory);
	free(back);
}

BOTH(a_read_stops_only_at_the_end)
{
	char buf[64];
	int64_t fd;

	put_text(io, scratch_path("f"), "0123456789");
	fd = do_open_read(io, scratch_path("f"));
	cr_assert_eq(do_read(io, fd, buf, sizeof(buf), 4), 6);
	cr_assert_arr_eq(buf, "456789", 6);
	cr_assert_eq(do_read(io, fd, buf, sizeof(buf), 10), 0);
	cr_assert_eq(do_read(io, fd, buf, sizeof(buf), 1000), 0);
	cr_assert_eq(do_read(io, fd, buf, 0, 3), 0);
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, fd), 0);
}

BOTH(rename_replaces_nothing)
{
	put_text(io, scratch_path("from"), "new");
	put_text(io, scratch_path("to"), "old");
	cr_assert_eq(do_rename(io, scratch_path("from"), scratch_path("to")), -EEXIST);
	cr_assert(has_text(scratch_path("from"), "new"));
	cr_assert(has_text(scratch_path("to"), "old"));
	cr_assert_eq(do_rename(io, scratch_path("none"), scratch_path("to2")), -ENOENT);
}

BOTH(rename_moves_a_directory_but_not_over_another)
{
	cr_assert_eq(do_path(io, WEIR_IO_MKDIR, scratch_path("a")), 0);
	cr_assert_eq(do_path(io, WEIR_IO_MKDIR, scratch_path("b")), 0);
	cr_assert_eq(do_rename(io, scratch_path("a"), scratch_path("b")), -EEXIST);
	cr_assert_eq(do_rename(io, scratch_path("a"), scratch_path("c")), 0);
	/* What the kernel calls invalid takes the long way round, and comes back the same. */
	cr_assert_eq(do_rename(io, scratch_path("c"), scratch_path("c/inside")), -EINVAL);
	cr_assert_eq(do_rename(io, scratch_path("c"), scratch_path("d")), 0);
}

BOTH(open_new_never_opens_what_is_there)
{
	put_text(io, scratch_path("f"), "kept");
	cr_assert_eq(do_open_new(io, scratch_path("f"), false), -EEXIST);
	cr_assert_eq(do_open_new(io, scratch_path("f"), true), -EEXIST);
	cr_assert(has_text(scratch_path("f"), "kept"));
	cr_assert_eq(do_open_new(io, scratch_path("no/such/dir"), false), -ENOENT);
	cr_assert_eq(do_open_read(io, scratch_path("missing")), -ENOENT);
}

BOTH(mkdir_makes_the_parents_too)
{
	struct stat st;

	cr_assert_eq(do_path(io, WEIR_IO_MKDIR, scratch_path("a/b//c/d/")), 0);
	cr_assert_eq(stat(scratch_path("a/b/c/d"), &st), 0);
	cr_assert(S_ISDIR(st.st_mode));
	cr_assert_eq(do_path(io, WEIR_IO_MKDIR, scratch_path("a/b//c/d/")), 0, "existing is fine");
	put_text(io, scratch_path("file"), "x");
	cr_assert_eq(do_path(io, WEIR_IO_MKDIR, scratch_path("file")), -EEXIST);
	cr_assert_eq(do_path(io, WEIR_IO_MKDIR, scratch_path("file/in")), -ENOTDIR);
	cr_assert_eq(do_path(io, WEIR_IO_MKDIR, ""), -ENAMETOOLONG);
}

BOTH(unlink_takes_files_and_empty_directories)
{
	put_text(io, scratch_path("f"), "x");
	cr_assert_eq(do_path(io, WEIR_IO_MKDIR, scratch_path("full/inner")), 0);
	cr_assert_eq(do_path(io, WEIR_IO_UNLINK, scratch_path("f")), 0);
	cr_assert_eq(do_path(io, WEIR_IO_UNLINK, scratch_path("f")), 0, "missing is fine");
	cr_assert_eq(do_path(io, WEIR_IO_UNLINK, scratch_path("full")), -ENOTEMPTY);
	cr_assert_eq(do_path(io, WEIR_IO_UNLINK, scratch_path("full/inner")), 0);
	cr_assert_eq(do_path(io, WEIR_IO_UNLINK, scratch_path("full")), 0);
}

BOTH(errors_come_back_as_results)
{
	char c = 0;

	cr_assert_eq(do_write(io, 9999, &c, 1, 0), -EBADF);
	cr_assert_eq(do_read(io, 9999, &c, 1, 0), -EBADF);
	cr_assert_eq(do_handle(io, WEIR_IO_FSYNC, 9999), -EBADF);
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, 9999), -EBADF);
	cr_assert_eq(do_path(io, WEIR_IO_FSYNC_DIR, scratch_path("none")), -ENOENT);
	put_text(io, scratch_path("f"), "x");
	cr_assert_eq(do_path(io, WEIR_IO_FSYNC_DIR, scratch_path("f")), -ENOTDIR);
}

BOTH_ON_TMPFS(a_full_file_system_is_an_error_and_no_more)
{
	const uint64_t len = UINT64_C(4) << 20;
	char *buf = calloc(1, len);
	int64_t fd;

	fd = do_open_new(io, scratch_path("small/big"), false);
	cr_assert(fd >= 0);
	/* The first MiB fits: a write that is continued must still fail as a whole. */
	cr_assert_eq(do_write(io, fd, buf, len, 0), -ENOSPC);
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, fd), 0);
	cr_assert_eq(do_path(io, WEIR_IO_UNLINK, scratch_path("small/big")), 0);
	put_text(io, scratch_path("small/fits"), "fits");
	free(buf);
}

/* Is O_DIRECT on? */
static bool
is_direct(int64_t fd)
{
	return (fcntl((int)fd, F_GETFL) & O_DIRECT) != 0;
}

static void
write_pages_and_compare(struct weir_io *io, const char *path, bool want_direct)
{
	char *out = pages(4, 'd'), *in = pages(4, 0);
	int64_t fd = do_open_new(io, path, true);

	cr_assert(fd >= 0);
	if (want_direct)
		cr_assert(is_direct(fd));
	cr_assert_eq(do_write(io, fd, out, 4 * WEIR_PAGE, 0), 4 * WEIR_PAGE);
	if (want_direct)
		cr_assert(is_direct(fd));
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, fd), 0);
	fd = do_open_read(io, path);
	cr_assert_eq(do_read(io, fd, in, 4 * WEIR_PAGE, 0), 4 * WEIR_PAGE);
	cr_assert_eq(memcmp(in, out, 4 * WEIR_PAGE), 0);
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, fd), 0);
	free(out);
	free(in);
}

BOTH(direct_writes_on_disk)
{
	struct statfs fs;

	cr_assert_eq(statfs(scratch_dir(), &fs), 0);
	if (fs.f_type != 0xEF53) /* ext4: known to do it */
		cr_skip_test("not on ext4");
	write_pages_and_compare(io, scratch_path("direct"), true);
}

BOTH_ON_TMPFS(direct_is_no_more_than_a_wish)
{
	write_pages_and_compare(io, scratch_path("small/f"), false);
}

BOTH(a_direct_write_that_does_not_fit_is_written_all_the_same)
{
	char *buf = pages(1, 'u');
	const int64_t fd = do_open_new(io, scratch_path("odd"), true);

	cr_assert(fd >= 0);
	cr_assert_eq(do_write(io, fd, buf + 1, 100, 0), 100);
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, fd), 0);
	free(buf);
}

/* Fill the back end again and again: every request comes back once, with its own result. */
BOTH(many_in_flight_all_come_back)
{
	enum { ROUNDS = 16 };
	struct weir_io_req req[FIXTURE_DEPTH];
	uint32_t *buf = pages(FIXTURE_DEPTH, 0);
	const int64_t fd = do_open_new(io, scratch_path("many"), false);
	int64_t in;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < FIXTURE_DEPTH; i++) {
			buf[i * 1024] = round * FIXTURE_DEPTH + i;
			req[i] = (struct weir_io_req){
				.kind = WEIR_IO_WRITE,
				.handle = (int)fd,
				.buf = &buf[i * 1024],
				.len = 100 + i,
				.off = (uint64_t)(round * FIXTURE_DEPTH + i) * 200,
				.result = -1,
			};
		}
		fixture_run(io, req, FIXTURE_DEPTH);
		for (uint32_t i = 0; i < FIXTURE_DEPTH; i++)
			cr_assert_eq(req[i].result, 100 + i);
	}
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, fd), 0);
	in = do_open_read(io, scratch_path("many"));
	for (uint32_t i = 0; i < ROUNDS * FIXTURE_DEPTH; i++) {
		uint32_t word = UINT32_MAX;

		cr_assert_eq(do_read(io, in, &word, 4, (uint64_t)i * 200), 4);
		cr_assert_eq(word, i);
	}
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, in), 0);
	free(buf);
}

BOTH(harvest_may_be_asked_for_less_than_there_is)
{
	struct weir_io_req req[8], *one;
	uint32_t back = 0;

	for (uint32_t i = 0; i < 8; i++) {
		req[i] = (struct weir_io_req){ .kind = WEIR_IO_MKDIR, .path = scratch_dir() };
		one = &req[i];
		weir_io_submit(io, &one, 1);
	}
	cr_assert_eq(weir_io_harvest(io, &one, 0), 0);
	while (back < 8) {
		while (weir_io_harvest(io, &one, 1) == 1)
			back++;
		if (back < 8)
			weir_io_wait(io, 10000);
	}
	cr_assert_eq(io->in_flight, 0);
	cr_assert_eq(weir_io_harvest(io, &one, 1), 0);
}

BOTH(a_completion_wakes_the_sleeping_owner)
{
	struct pollfd pfd = { .fd = weir_io_wait_fd(io), .events = POLLIN };
	struct weir_io_req req = { .kind = WEIR_IO_FSYNC_DIR, .path = scratch_dir() };
	struct weir_io_req *one = &req;

	cr_assert_eq(poll(&pfd, 1, 0), 0, "nothing yet");
	weir_io_submit(io, &one, 1);
	/* Several steps: each completion may wake us, the last one surely does. */
	while (weir_io_harvest(io, &one, 1) == 0)
		cr_assert_eq(poll(&pfd, 1, 10000), 1, "slept through a completion");
	cr_assert_eq(req.result, 0);
}

static void *
use_elsewhere(void *arg)
{
	put_text(arg, scratch_path("elsewhere"), "text");
	return NULL;
}

BOTH(the_owner_may_be_another_thread_than_the_opener)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, use_elsewhere, io), 0);
	pthread_join(thread, NULL);
	cr_assert(has_text(scratch_path("elsewhere"), "text"));
}

struct halfway {
	struct weir_io *io;
	struct weir_io_req req;
	pthread_barrier_t barrier;
};

/* The first of several steps is through, and nobody has looked at it. */
static void *
go_halfway(void *arg)
{
	struct halfway *h = arg;
	struct weir_io_req *one = &h->req;

	weir_io_submit(h->io, &one, 1);
	weir_io_wait(h->io, 10000);
	pthread_barrier_wait(&h->barrier);
	pthread_barrier_wait(&h->barrier);
	return NULL;
}

/* As at a cancel: the kernel takes nothing from a thread that is not the owner. */
BOTH(another_thread_closes_in_the_middle_of_a_request)
{
	struct halfway h = { .req = { .kind = WEIR_IO_FSYNC_DIR, .path = scratch_dir() } };
	pthread_t thread;

	h.io = fixture_open(io->ops->name[0] == 'p' ? WEIR_IO_POSIX : WEIR_IO_URING);
	cr_assert_eq(pthread_barrier_init(&h.barrier, NULL, 2), 0);
	cr_assert_eq(pthread_create(&thread, NULL, go_halfway, &h), 0);
	pthread_barrier_wait(&h.barrier);
	weir_io_close(h.io);
	pthread_barrier_wait(&h.barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&h.barrier);
}

/* So many writes to one file that most have not begun when it is closed. */
BOTH(close_waits_for_what_is_in_flight)
{
	enum { WRITES = 32, PAGES = 256 };
	char *buf = pages(PAGES, 'w');
	const int64_t fd = do_open_new(io, scratch_path("late"), false);
	struct weir_io *other =
		fixture_open(io->ops->name[0] == 'p' ? WEIR_IO_POSIX : WEIR_IO_URING);
	struct weir_io_req req[WRITES], *ptr[WRITES];
	struct stat st;

	for (uint32_t i = 0; i < WRITES; i++) {
		req[i] = (struct weir_io_req){ .kind = WEIR_IO_WRITE,
					       .handle = (int)fd,
					       .buf = buf,
					       .len = PAGES * WEIR_PAGE,
					       .off = (uint64_t)i * PAGES * WEIR_PAGE };
		ptr[i] = &req[i];
	}
	weir_io_submit(other, ptr, WRITES);
	weir_io_close(other);
	cr_assert_eq(stat(scratch_path("late"), &st), 0);
	cr_assert_eq(st.st_size, (int64_t)WRITES * PAGES * WEIR_PAGE);
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, fd), 0);
	free(buf);
}

BOTH(nothing_is_left_behind)
{
	const uint32_t fds = proc_entries("/proc/self/fd");
	const uint32_t tasks = proc_entries("/proc/self/task");
	const bool posix = io->ops->name[0] == 'p';

	for (int i = 0; i < 20; i++) {
		struct weir_io *other = fixture_open(posix ? WEIR_IO_POSIX : WEIR_IO_URING);

		cr_assert_eq(do_path(other, WEIR_IO_MKDIR, scratch_path("d")), 0);
		weir_io_close(other);
	}
	cr_assert_eq(proc_entries("/proc/self/fd"), fds);
	/* The kernel's workers of io_uring count as tasks and end in their own time. */
	if (posix)
		cr_assert_eq(proc_entries("/proc/self/task"), tasks);
}

#include "tests/io/io_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "tests/scratch.h"

static char dir[512];
static bool mounted, may_not_mount;

void
scratch_init(void)
{
	char cwd[256];

	cr_assert(getcwd(cwd, sizeof(cwd)) != NULL);
	snprintf(dir, sizeof(dir), "%s/io-test-XXXXXX", cwd);
	cr_assert(mkdtemp(dir) != NULL, "%s: %s", dir, strerror(errno));
}

void
scratch_fini(void)
{
	if (mounted)
		umount2(scratch_path("small"), MNT_DETACH);
	(void)scratch_remove(dir);
}

const char *
scratch_dir(void)
{
	return dir;
}

const char *
scratch_path(const char *name)
{
	static char kept[4][1024];
	static unsigned int turn;
	char *path = kept[turn++ % 4];

	snprintf(path, sizeof(kept[0]), "%s/%s", dir, name);
	return path;
}

static bool
write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	bool ok;

	if (file == NULL)
		return false;
	ok = fputs(text, file) >= 0;
	return fclose(file) == 0 && ok;
}

/* As an ordinary user, in a user namespace of our own, where we are root. */
static bool
enter_namespace(void)
{
	char map[64];
	const unsigned int uid = getuid();

	if (uid == 0)
		return unshare(CLONE_NEWNS) == 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return false;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	return write_file("/proc/self/uid_map", map);
}

void
scratch_init_small(void)
{
	scratch_init();
	may_not_mount =
		!enter_namespace() || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0;
	if (may_not_mount)
		return;
	cr_assert_eq(mkdir(scratch_path("small"), 0755), 0);
	mounted = mount("tmpfs", scratch_path("small"), "tmpfs", 0, "size=1m") == 0;
	may_not_mount = !mounted;
}

/* A skipped test does not come to its end. */
static void
skip(const char *why)
{
	scratch_fini();
	cr_skip_test("%s", why);
}

struct weir_io *
fixture_open(enum weir_io_backend backend)
{
	const struct weir_io_options opt = { .backend = backend,
					     .depth = FIXTURE_DEPTH,
					     .wakeup = true };
	struct weir_error err;
	struct weir_io *io = NULL;
	int rc;

	if (may_not_mount)
		skip("may not mount here");
	rc = weir_io_open(&opt, &io, NULL, &err);
	if (rc != 0 && backend == WEIR_IO_URING)
		skip(err.text);
	cr_assert(rc == 0, "%s", err.text);
	return io;
}

void
fixture_run(struct weir_io *io, struct weir_io_req *reqs, uint32_t cnt)
{
	struct weir_io_req *ptr[FIXTURE_DEPTH];
	uint32_t back = 0;

	cr_assert(cnt <= FIXTURE_DEPTH);
	for (uint32_t i = 0; i < cnt; i++)
		ptr[i] = &reqs[i];
	weir_io_submit(io, ptr, cnt);
	while (back < cnt) {
		const uint32_t got = weir_io_harvest(io, ptr, FIXTURE_DEPTH);

		back += got;
		if (got == 0)
			weir_io_wait(io, 10000);
	}
	cr_assert(io->in_flight == 0);
}

static int64_t
run_one(struct weir_io *io, struct weir_io_req req)
{
	req.result = -12345;
	fixture_run(io, &req, 1);
	return req.result;
}

int64_t
do_open_new(struct weir_io *io, const char *path, bool direct)
{
	return run_one(io, (struct weir_io_req){
				   .kind = WEIR_IO_OPEN_NEW, .path = path, .direct = direct });
}

int64_t
do_open_read(struct weir_io *io, const char *path)
{
	return run_one(io, (struct weir_io_req){ .kind = WEIR_IO_OPEN_READ, .path = path });
}

int64_t
do_write(struct weir_io *io, int64_t handle, void *buf, uint64_t len, uint64_t off)
{
	return run_one(io, (struct weir_io_req){ .kind = WEIR_IO_WRITE,
						 .handle = (int)handle,
						 .buf = buf,
						 .len = len,
						 .off = off });
}

int64_t
do_gather(struct weir_io *io, int64_t handle, const struct weir_io_piece *piece, uint32_t cnt,
	  uint64_t len, uint64_t off)
{
	return run_one(io, (struct weir_io_req){ .kind = WEIR_IO_WRITE,
						 .handle = (int)handle,
						 .piece = piece,
						 .piece_cnt = cnt,
						 .len = len,
						 .off = off });
}

int64_t
do_read(struct weir_io *io, int64_t handle, void *buf, uint64_t len, uint64_t off)
{
	return run_one(io, (struct weir_io_req){ .kind = WEIR_IO_READ,
						 .handle = (int)handle,
						 .buf = buf,
						 .len = len,
						 .off = off });
}

int64_t
do_handle(struct weir_io *io, enum weir_io_kind kind, int64_t handle)
{
	return run_one(io, (struct weir_io_req){ .kind = kind, .handle = (int)handle });
}

int64_t
do_path(struct weir_io *io, enum weir_io_kind kind, const char *path)
{
	return run_one(io, (struct weir_io_req){ .kind = kind, .path = path });
}

int64_t
do_rename(struct weir_io *io, const char *from, const char *to)
{
	return run_one(io,
		       (struct weir_io_req){ .kind = WEIR_IO_RENAME, .path = from, .path2 = to });
}

void
put_text(struct weir_io *io, const char *path, const char *text)
{
	const int64_t fd = do_open_new(io, path, false);
	const uint64_t len = strlen(text);

	cr_assert(fd >= 0, "%s: %s", path, strerror((int)-fd));
	cr_assert_eq(do_write(io, fd, (void *)(uintptr_t)text, len, 0), (int64_t)len);
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, fd), 0);
}

bool
has_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "r");
	char have[256] = "";
	size_t len;

	if (file == NULL)
		return false;
	len = fread(have, 1, sizeof(have) - 1, file);
	fclose(file);
	return len == strlen(text) && memcmp(have, text, len) == 0;
}

uint32_t
proc_entries(const char *path)
{
	DIR *d = opendir(path);
	uint32_t cnt = 0;

	cr_assert(d != NULL);
	while (readdir(d) != NULL)
		cnt++;
	closedir(d);
	return cnt;
}

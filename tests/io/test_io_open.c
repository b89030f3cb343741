/* Which back end is taken on which host, and what is said about it. */

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "drivers/uring/uring_io.h"
#include "tests/io/io_fixture.h"

/* From now on this system call fails with EPERM, as in a container's profile. */
static void
forbid(uint32_t nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { .len = WEIR_ARRAY_CNT(code), .filter = code };

	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}

static void
skip_without_uring(void)
{
	struct weir_error err;

	if (weir_uring_trial(&err) == 0)
		return;
	if (scratch_dir()[0] != '\0')
		scratch_fini();
	cr_skip_test("%s", err.text);
}

static struct weir_io *
open_reported(const struct weir_io_options *opt, char *report)
{
	struct weir_io *io = NULL;
	struct weir_error err;

	cr_assert_eq(weir_io_open(opt, &io, report, &err), 0, "%s", err.text);
	return io;
}

static void
works_without_uring(uint32_t nr)
{
	struct weir_io_options opt = { .depth = FIXTURE_DEPTH, .wakeup = true };
	char report[WEIR_IO_REPORT_BYTES];
	struct weir_error err;
	struct weir_io *io;

	skip_without_uring();
	forbid(nr);
	io = open_reported(&opt, report);
	cr_assert_str_eq(io->ops->name, "posix");
	cr_assert(strstr(report, "posix") != NULL, "%s", report);
	cr_assert(strstr(report, "seccomp profile") != NULL, "%s", report);
	cr_assert(strchr(report, '\n') == NULL);
	put_text(io, scratch_path("f"), "written all the same");
	cr_assert(has_text(scratch_path("f"), "written all the same"));
	weir_io_close(io);

	opt.backend = WEIR_IO_URING;
	io = NULL;
	cr_assert_eq(weir_io_open(&opt, &io, report, &err), WEIR_ERR_UNAVAILABLE);
	cr_assert_null(io);
	cr_assert(strstr(err.text, "io.backend") != NULL, "%s", err.text);
}

Test(io_open, works_where_set_up_is_forbidden, .init = scratch_init, .fini = scratch_fini)
{
	works_without_uring(SYS_io_uring_setup);
}

Test(io_open, works_where_only_entering_is_forbidden, .init = scratch_init, .fini = scratch_fini)
{
	works_without_uring(SYS_io_uring_enter);
}

Test(io_open, works_where_registering_is_forbidden, .init = scratch_init, .fini = scratch_fini)
{
	works_without_uring(SYS_io_uring_register);
}

/* Write from the region's end, twice what one page holds, and outside it. */
static void
write_from(struct weir_io *io, char *region, uint64_t bytes)
{
	char outside[] = "outside";
	const int64_t fd = do_open_new(io, scratch_path("f"), false);

	memset(region, 'r', bytes);
	cr_assert(fd >= 0);
	cr_assert_eq(do_write(io, fd, region + bytes - 8192, 8192, 0), 8192);
	cr_assert_eq(do_write(io, fd, outside, 7, 8192), 7);
	cr_assert_eq(do_handle(io, WEIR_IO_CLOSE, fd), 0);
}

static char *
map(uint64_t bytes)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(base != MAP_FAILED);
	return base;
}

Test(io_open, memory_is_registered_where_the_limit_allows, .init = scratch_init,
     .fini = scratch_fini)
{
	struct iovec region = { .iov_len = 1 << 20 };
	struct weir_io_options opt = { .depth = 8,
				       .wakeup = true,
				       .regions = &region,
				       .region_cnt = 1,
				       .backend = WEIR_IO_URING };
	char report[WEIR_IO_REPORT_BYTES];
	struct weir_io *io;

	skip_without_uring();
	region.iov_base = map(region.iov_len);
	io = open_reported(&opt, report);
	/* A user's limit may be too low here; what is said then has a test of its own. */
	if (getuid() == 0)
		cr_assert_str_eq(io->ops->name, "uring-registered", "%s", report);
	write_from(io, region.iov_base, region.iov_len);
	weir_io_close(io);
	munmap(region.iov_base, region.iov_len);
}

/* An ordinary user: root may lock what it likes. */
static void
become_nobody(void)
{
	if (getuid() == 0)
		cr_assert_eq(setresuid(65534, 65534, 65534), 0);
}

Test(io_open, an_ordinary_user_with_little_memlock_gets_plain_uring)
{
	const struct rlimit lim = { .rlim_cur = 8 << 20, .rlim_max = 8 << 20 };
	struct iovec region = { .iov_len = 64 << 20 };
	struct weir_io_options opt = {
		.depth = 8, .wakeup = true, .regions = &region, .region_cnt = 1
	};
	char report[WEIR_IO_REPORT_BYTES];
	struct weir_io *io;

	skip_without_uring();
	region.iov_base = map(region.iov_len);
	cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &lim), 0);
	become_nobody();
	skip_without_uring(); /* kernel.io_uring_disabled=1 */
	io = open_reported(&opt, report);
	cr_assert_str_eq(io->ops->name, "uring");
	cr_assert(strstr(report, "need memlock 64 MiB, have 8 MiB") != NULL, "%s", report);
	cr_assert_eq(do_path(io, WEIR_IO_MKDIR, "/tmp"), 0);
	weir_io_close(io);
	munmap(region.iov_base, region.iov_len);
}

Test(io_open, what_is_best_is_said_in_a_line)
{
	struct weir_io_options opt = { .depth = 8 };
	char report[WEIR_IO_REPORT_BYTES];
	struct weir_io *io = open_reported(&opt, report);

	cr_assert(strncmp(report, "file I/O: ", 10) == 0, "%s", report);
	cr_assert_eq(weir_io_wait_fd(io), -1);
	weir_io_close(io);
	weir_io_close(NULL);
}

/* The helper's CPUs are those given, not the caller's: that one may be a pinned core. */
Test(io_open, the_helper_runs_where_it_should)
{
	const uint32_t cpu = 0;
	struct weir_io_options opt = {
		.backend = WEIR_IO_POSIX, .depth = 8, .cpus = &cpu, .cpu_cnt = 1
	};
	char cmd[128], line[64] = "";
	struct weir_io *io;
	cpu_set_t mask;
	FILE *out;

	cr_assert_eq(sched_getaffinity(0, sizeof(mask), &mask), 0);
	if (!CPU_ISSET(0, &mask))
		cr_skip_test("may not use CPU 0");
	io = open_reported(&opt, NULL);
	snprintf(cmd, sizeof(cmd),
		 "cd /proc/%d/task && grep -l '^weir-io' */comm | sed 's/comm/status/' | "
		 "xargs grep Cpus_allowed_list | cut -f2",
		 (int)getpid());
	out = popen(cmd, "r");
	cr_assert(out != NULL);
	cr_assert(fgets(line, sizeof(line), out) != NULL);
	pclose(out);
	cr_assert_str_eq(line, "0\n");
	weir_io_close(io);
}

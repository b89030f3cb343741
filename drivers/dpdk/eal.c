#include "drivers/dpdk/eal.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>

#define EAL_HUGE_BYTES (UINT64_C(16) << 20) /* what EAL itself takes, with room to spare */
#define EAL_PLAIN_MIB  "64"
#define TASK_MAX       512u
#define ARG_MAX_CNT    16
#define LCORES_BYTES   16384

_Static_assert(WEIR_EAL_CORE_MAX < RTE_MAX_LCORE, "every core and the control thread is an lcore");

struct core {
	int (*fn)(void *arg);
	void *arg;
	int rc;
	bool launched; /* control thread only */
	bool done;     /* under eal.lock */
	uint32_t cpu;
	pid_t tid;
	char name[16];
};

struct tasks {
	pid_t tid[TASK_MAX];
	uint32_t cnt;
};

static struct {
	struct core core[WEIR_EAL_CORE_MAX];
	uint32_t core_cnt;
	int done_fd; /* counts cores that are done and not joined */
	pthread_mutex_t lock;
	pthread_cond_t done;
	cpu_set_t control;
	char report[160];
	/* EAL keeps pointers into its arguments. */
	char lcores[LCORES_BYTES];
	char main_lcore[16];
	char prefix[32];
	char *argv[ARG_MAX_CNT];
	int argc;
} eal = {
	.done_fd = -1,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

/* #14: EAL would take any CPU that exists; this process may have been given fewer. */
static int
check_cpus(const char *what, const uint32_t *cpus, uint32_t cnt, const cpu_set_t *mask,
	   struct weir_error *err)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (cpus[i] >= CPU_SETSIZE || !CPU_ISSET(cpus[i], mask))
			return weir_fail(err, WEIR_ERR_CONFIG,
					 "%s: CPU %u is not one of those this process may use",
					 what, cpus[i]);
	return 0;
}

static WEIR_PRINTF(4, 5) size_t append(char *text, size_t len, size_t max, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text + len, max - len, fmt, args);
	va_end(args);
	WEIR_ASSERT(n >= 0 && (size_t)n < max - len);
	return len + (size_t)n;
}

/* lcore i is core i, the one after the last is the control thread: "0@2,1@3,2@(0-1)". */
static void
write_lcores(void)
{
	size_t len = 0;
	const char *comma = "";

	for (uint32_t i = 0; i < eal.core_cnt; i++)
		len = append(eal.lcores, len, LCORES_BYTES, "%u@%u,", i, eal.core[i].cpu);
	len = append(eal.lcores, len, LCORES_BYTES, "%u@(", eal.core_cnt);
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &eal.control))
			continue;
		len = append(eal.lcores, len, LCORES_BYTES, "%s%u", comma, cpu);
		comma = ",";
	}
	append(eal.lcores, len, LCORES_BYTES, ")");
	snprintf(eal.main_lcore, sizeof(eal.main_lcore), "%u", eal.core_cnt);
	snprintf(eal.prefix, sizeof(eal.prefix), "weir-%d", (int)getpid());
}

static void
add_arg(const char *text)
{
	WEIR_ASSERT(eal.argc < ARG_MAX_CNT - 1);
	/* EAL takes char **, and changes the order of the pointers, never a text. */
	eal.argv[eal.argc++] = (char *)(uintptr_t)text;
	eal.argv[eal.argc] = NULL;
}

static void
write_args(bool huge)
{
	eal.argc = 0;
	add_arg("weir");
	add_arg("--lcores");
	add_arg(eal.lcores);
	add_arg("--main-lcore");
	add_arg(eal.main_lcore);
	add_arg("--no-pci");
	add_arg("--no-telemetry");
	add_arg("--iova-mode=va");
	add_arg("--log-level=error");
	add_arg("--file-prefix");
	add_arg(eal.prefix);
	if (huge) {
		add_arg("--in-memory");
		return;
	}
	/* EAL refuses --in-memory together with --no-huge. */
	add_arg("--no-huge");
	add_arg("--no-shconf");
	add_arg("-m");
	add_arg(EAL_PLAIN_MIB);
}

static void
list_tasks(struct tasks *tasks)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *ent;

	tasks->cnt = 0;
	if (dir == NULL)
		return;
	while ((ent = readdir(dir)) != NULL && tasks->cnt < TASK_MAX)
		if (ent->d_name[0] != '.')
			tasks->tid[tasks->cnt++] = (pid_t)atol(ent->d_name);
	closedir(dir);
}

static bool
has_task(const struct tasks *tasks, pid_t tid)
{
	for (uint32_t i = 0; i < tasks->cnt; i++)
		if (tasks->tid[i] == tid)
			return true;
	return false;
}

static bool
is_core(pid_t tid)
{
	for (uint32_t i = 0; i < eal.core_cnt; i++)
		if (eal.core[i].tid == tid)
			return true;
	return false;
}

/* Threads that came with EAL and are no core: interrupts, and whatever a driver starts. */
static int
place_helpers(const struct tasks *before, struct weir_error *err)
{
	struct tasks now;
	cpu_set_t is;

	list_tasks(&now);
	for (uint32_t i = 0; i < now.cnt; i++) {
		if (has_task(before, now.tid[i]) || is_core(now.tid[i]))
			continue;
		if (sched_setaffinity(now.tid[i], sizeof(eal.control), &eal.control) == 0 &&
		    sched_getaffinity(now.tid[i], sizeof(is), &is) == 0 &&
		    CPU_EQUAL(&is, &eal.control))
			continue;
		if (errno != ESRCH) /* it has ended */
			return weir_fail(err, WEIR_ERR_UNAVAILABLE,
					 "cannot place EAL's thread %d on the control CPUs: %s",
					 (int)now.tid[i], strerror(errno));
	}
	return 0;
}

/* EAL makes directories for files it then does not write: <where>/dpdk/<prefix>. */
static void
remove_runtime_dir(void)
{
	char dir[4096];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", rte_eal_get_runtime_dir());
	slash = strrchr(dir, '/');
	if (slash == NULL || slash == dir || rmdir(dir) != 0)
		return;
	/* Not empty if another program uses it. */
	*slash = '\0';
	(void)rmdir(dir);
}

static void
report_choice(bool huge)
{
	if (huge)
		snprintf(eal.report, sizeof(eal.report), "EAL --in-memory, hugepages of 2 MiB");
	else
		snprintf(eal.report, sizeof(eal.report),
			 "EAL --no-huge, ordinary pages (for hugepages: sysctl -w "
			 "vm.nr_hugepages=N as root)");
}

/* EAL's log goes to memory for the time of its start: it is the end of an error text. */
static int
try_start(bool huge, struct weir_error *err)
{
	char *words = NULL;
	size_t words_len = 0;
	FILE *log = open_memstream(&words, &words_len);
	int rc, eal_errno;

	if (log != NULL)
		rte_openlog_stream(log);
	write_args(huge);
	rc = rte_eal_init(eal.argc, eal.argv);
	eal_errno = rte_errno;
	rte_openlog_stream(NULL);
	if (log != NULL)
		fclose(log);
	remove_runtime_dir();
	if (rc < 0)
		rc = weir_fail(err, WEIR_ERR_UNAVAILABLE, "DPDK's EAL did not start (%s): %s; %s",
			       huge ? "--in-memory" : "--no-huge", rte_strerror(eal_errno),
			       words != NULL && words_len != 0 ? words : "it gave no reason");
	else
		rc = 0;
	free(words);
	return rc;
}

static int
start_by_trial(enum weir_huge want, struct weir_error *err)
{
	bool huge = want != WEIR_HUGE_OFF && weir_region_huge_possible(EAL_HUGE_BYTES);
	int rc;

	if (want == WEIR_HUGE_ON && !huge)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE,
				 "memory.hugepages is on, but there are not even 8 free hugepages "
				 "of 2 MiB: sysctl -w vm.nr_hugepages=N (as root)");
	rc = try_start(huge, err);
	if (rc != 0 && huge && want == WEIR_HUGE_AUTO) {
		huge = false;
		rc = try_start(huge, err);
	}
	if (rc == 0)
		report_choice(huge);
	return rc;
}

/* On every core once: take the name, tell the thread's number, read back where it is. */
static int
introduce(void *arg)
{
	struct core *core = arg;
	cpu_set_t is;

	core->tid = gettid();
	(void)pthread_setname_np(pthread_self(), core->name);
	if (sched_getaffinity(0, sizeof(is), &is) != 0)
		return errno;
	return CPU_COUNT(&is) == 1 && CPU_ISSET(core->cpu, &is) ? 0 : EXDEV;
}

static int
introduce_all(struct weir_error *err)
{
	int bad = 0;
	uint32_t which = 0;

	for (uint32_t i = 0; i < eal.core_cnt; i++)
		weir_eal_core_launch(i, introduce, &eal.core[i]);
	for (uint32_t i = 0; i < eal.core_cnt; i++) {
		const int rc = weir_eal_core_join(i);

		if (rc != 0) {
			bad = rc;
			which = i;
		}
	}
	if (bad == 0)
		return 0;
	return weir_fail(err, WEIR_ERR_UNAVAILABLE, "core %u does not run on CPU %u as asked: %s",
			 which, eal.core[which].cpu, strerror(bad));
}

static void
name_cores(void)
{
	for (uint32_t i = 0; i < eal.core_cnt; i++) {
		struct core *core = &eal.core[i];
		uint32_t before = 0, after = 0;

		for (uint32_t j = 0; j < eal.core_cnt; j++) {
			if (eal.core[j].cpu != core->cpu)
				continue;
			before += j < i;
			after += j > i;
		}
		if (before + after == 0)
			snprintf(core->name, sizeof(core->name), "weir-c%u", core->cpu);
		else
			snprintf(core->name, sizeof(core->name), "weir-c%u.%u", core->cpu, before);
	}
}

static int
set_up(const struct weir_eal_options *opt, struct weir_error *err)
{
	cpu_set_t mask;
	int rc;

	if (opt->core_cnt == 0 || opt->core_cnt > WEIR_EAL_CORE_MAX)
		return weir_fail(err, WEIR_ERR_CONFIG, "%u cores: 1 to %u are possible",
				 opt->core_cnt, WEIR_EAL_CORE_MAX);
	if (sched_getaffinity(0, sizeof(mask), &mask) != 0)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "cannot read the CPU mask: %s",
				 strerror(errno));
	rc = check_cpus("cores", opt->cpus, opt->core_cnt, &mask, err);
	if (rc == 0)
		rc = check_cpus("control-cores", opt->control_cpus, opt->control_cnt, &mask, err);
	if (rc != 0)
		return rc;
	eal.control = mask;
	if (opt->control_cnt != 0)
		CPU_ZERO(&eal.control);
	for (uint32_t i = 0; i < opt->control_cnt; i++)
		CPU_SET(opt->control_cpus[i], &eal.control);
	eal.core_cnt = opt->core_cnt;
	for (uint32_t i = 0; i < opt->core_cnt; i++)
		eal.core[i] = (struct core){ .cpu = opt->cpus[i] };
	name_cores();
	write_lcores();
	return 0;
}

int
weir_eal_start(const struct weir_eal_options *opt, struct weir_error *err)
{
	struct tasks before;
	int rc;

	WEIR_ASSERT(eal.done_fd == -1);
	rc = set_up(opt, err);
	if (rc != 0)
		return rc;
	eal.done_fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	if (eal.done_fd < 0)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "eventfd: %s", strerror(errno));
	list_tasks(&before);
	rc = start_by_trial(opt->huge, err);
	if (rc != 0)
		goto fail_fd;
	rc = introduce_all(err);
	if (rc == 0)
		rc = place_helpers(&before, err);
	if (rc == 0)
		return 0;
	rte_eal_cleanup();
fail_fd:
	close(eal.done_fd);
	eal.done_fd = -1;
	return rc;
}

void
weir_eal_stop(void)
{
	WEIR_ASSERT(eal.done_fd >= 0);
	for (uint32_t i = 0; i < eal.core_cnt; i++)
		WEIR_ASSERT(!eal.core[i].launched);
	(void)rte_eal_cleanup();
	close(eal.done_fd);
	eal.done_fd = -1;
}

const char *
weir_eal_report(void)
{
	return eal.report;
}

static int
run(void *arg)
{
	const uint64_t one = 1;
	struct core *core = arg;
	const int rc = core->fn(core->arg);

	pthread_mutex_lock(&eal.lock);
	core->rc = rc;
	core->done = true;
	pthread_cond_broadcast(&eal.done);
	pthread_mutex_unlock(&eal.lock);
	if (write(eal.done_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		WEIR_ASSERT(false);
	return 0;
}

void
weir_eal_core_launch(uint32_t idx, int (*fn)(void *arg), void *arg)
{
	struct core *core = &eal.core[idx];
	int rc;

	WEIR_ASSERT(idx < eal.core_cnt);
	WEIR_ASSERT(!core->launched);
	core->fn = fn;
	core->arg = arg;
	core->done = false;
	core->launched = true;
	rc = rte_eal_remote_launch(run, core, idx);
	WEIR_ASSERT(rc == 0);
}

bool
weir_eal_core_done(uint32_t idx)
{
	bool done;

	WEIR_ASSERT(idx < eal.core_cnt);
	pthread_mutex_lock(&eal.lock);
	done = eal.core[idx].done;
	pthread_mutex_unlock(&eal.lock);
	return done;
}

int
weir_eal_core_join(uint32_t idx)
{
	struct core *core = &eal.core[idx];
	uint64_t one;

	WEIR_ASSERT(idx < eal.core_cnt);
	WEIR_ASSERT(core->launched);
	pthread_mutex_lock(&eal.lock);
	while (!core->done)
		pthread_cond_wait(&eal.done, &eal.lock);
	pthread_mutex_unlock(&eal.lock);
	if (read(eal.done_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		WEIR_ASSERT(errno == EINTR);
	/* The thread is on its last steps back to EAL: this does not wait for work. */
	(void)rte_eal_wait_lcore(idx);
	core->launched = false;
	return core->rc;
}

int
weir_eal_done_fd(void)
{
	return eal.done_fd;
}

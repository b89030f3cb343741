/* EAL inside a test, without hugepages and NIC: each test is a process, so each may start it once.
 */

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "drivers/dpdk/eal.h"
#include "tests/scratch.h"

/* CPUs that this process may use; at least one. */
static uint32_t allowed[CPU_SETSIZE], allowed_cnt;

static void
find_cpus(void)
{
	cpu_set_t mask;

	cr_assert_eq(sched_getaffinity(0, sizeof(mask), &mask), 0);
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &mask))
			allowed[allowed_cnt++] = cpu;
}

static void
start(const uint32_t *cpus, uint32_t cnt, const uint32_t *control, uint32_t control_cnt)
{
	const struct weir_eal_options opt = { .cpus = cpus,
					      .core_cnt = cnt,
					      .control_cpus = control,
					      .control_cnt = control_cnt,
					      .huge = WEIR_HUGE_OFF };
	struct weir_error err;

	cr_assert_eq(weir_eal_start(&opt, &err), 0, "%s", err.text);
}

/* What a core says about itself. */
struct self {
	uint32_t core;
	pthread_t thread;
	char name[16];
	cpu_set_t mask;
};

static int
look_at_self(void *arg)
{
	struct self *self = arg;

	self->thread = pthread_self();
	pthread_getname_np(pthread_self(), self->name, sizeof(self->name));
	sched_getaffinity(0, sizeof(self->mask), &self->mask);
	return 100 + (int)self->core;
}

Test(eal, cores_are_named_pinned_and_may_share_a_cpu, .init = find_cpus, .timeout = 300)
{
	const uint32_t last = allowed[allowed_cnt - 1];
	const uint32_t cpus[] = { last, last, allowed[0] };
	struct self self[3];
	char want[32];

	start(cpus, 3, NULL, 0);
	for (uint32_t i = 0; i < 3; i++) {
		self[i].core = i;
		weir_eal_core_launch(i, look_at_self, &self[i]);
	}
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(weir_eal_core_join(i), 100 + (int)i);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(CPU_COUNT(&self[i].mask), 1);
		cr_assert(CPU_ISSET(cpus[i], &self[i].mask));
	}
	cr_assert_not(pthread_equal(self[0].thread, self[1].thread));
	snprintf(want, sizeof(want), "weir-c%u.0", last);
	cr_assert_str_eq(self[0].name, want);
	snprintf(want, sizeof(want), "weir-c%u.1", last);
	cr_assert_str_eq(self[1].name, want);
	if (allowed_cnt > 1) {
		snprintf(want, sizeof(want), "weir-c%u", allowed[0]);
		cr_assert_str_eq(self[2].name, want);
	}
	cr_assert(strstr(weir_eal_report(), "--no-huge") != NULL);
	weir_eal_stop();
}

/* The control thread and EAL's own helpers; there may be others, the test framework's. */
static void
assert_others_on(const cpu_set_t *want)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *ent;
	char path[64], name[32];
	uint32_t helpers = 0;
	cpu_set_t is;
	FILE *file;

	while ((ent = readdir(dir)) != NULL) {
		if (ent->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", ent->d_name);
		file = fopen(path, "r");
		cr_assert(file != NULL && fgets(name, sizeof(name), file) != NULL);
		fclose(file);
		if (atoi(ent->d_name) != gettid() && strncmp(name, "eal-", 4) != 0)
			continue;
		helpers += strncmp(name, "eal-", 4) == 0;
		cr_assert_eq(sched_getaffinity(atoi(ent->d_name), sizeof(is), &is), 0);
		cr_assert(CPU_EQUAL(&is, want), "%s", name);
	}
	closedir(dir);
	cr_assert(helpers > 0);
}

/* A core on the same CPU: left to itself, EAL puts its helpers anywhere but there. */
Test(eal, everything_else_is_on_the_control_cpus, .init = find_cpus, .timeout = 300)
{
	const uint32_t control = allowed[0];
	cpu_set_t want;

	start(&control, 1, &control, 1);
	CPU_ZERO(&want);
	CPU_SET(control, &want);
	assert_others_on(&want);
	weir_eal_stop();
}

Test(eal, without_control_cpus_nothing_else_is_pinned, .init = find_cpus, .timeout = 300)
{
	cpu_set_t before;

	cr_assert_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	start(&allowed[0], 1, NULL, 0);
	assert_others_on(&before);
	weir_eal_stop();
}

static int
wait_for_word(void *arg)
{
	while (!atomic_load_explicit((_Atomic bool *)arg, memory_order_acquire))
		sched_yield();
	return 7;
}

Test(eal, the_control_thread_can_sleep_until_a_core_is_done, .init = find_cpus, .timeout = 300)
{
	static _Atomic bool word;
	struct pollfd pfd = { .events = POLLIN };

	start(&allowed[0], 1, NULL, 0);
	pfd.fd = weir_eal_done_fd();
	for (int round = 0; round < 3; round++) {
		atomic_store(&word, false);
		weir_eal_core_launch(0, wait_for_word, &word);
		cr_assert_not(weir_eal_core_done(0));
		cr_assert_eq(poll(&pfd, 1, 0), 0);
		atomic_store_explicit(&word, true, memory_order_release);
		cr_assert_eq(poll(&pfd, 1, 20000), 1);
		cr_assert(weir_eal_core_done(0));
		cr_assert_eq(weir_eal_core_join(0), 7);
		cr_assert_eq(poll(&pfd, 1, 0), 0, "joined is forgotten");
	}
	weir_eal_stop();
}

static int
refused(const uint32_t *cpus, uint32_t cnt, uint32_t control_cnt, struct weir_error *err)
{
	const struct weir_eal_options opt = {
		.cpus = cpus, .core_cnt = cnt, .control_cpus = cpus, .control_cnt = control_cnt
	};

	return weir_eal_start(&opt, err);
}

/* What is refused leaves the process able to start. */
Test(eal, only_cpus_that_we_were_given, .init = find_cpus, .timeout = 300)
{
	const uint32_t none[] = { 1023 }, beyond[] = { 1 << 20 };
	uint32_t many[WEIR_EAL_CORE_MAX + 1];
	struct weir_error err;
	cpu_set_t one;

	cr_assert_eq(refused(none, 1, 0, &err), WEIR_ERR_CONFIG);
	cr_assert(strstr(err.text, "CPU 1023") != NULL, "%s", err.text);
	cr_assert_eq(refused(beyond, 1, 0, &err), WEIR_ERR_CONFIG);
	cr_assert_eq(refused(allowed, 0, 0, &err), WEIR_ERR_CONFIG);
	for (uint32_t i = 0; i <= WEIR_EAL_CORE_MAX; i++)
		many[i] = allowed[0];
	cr_assert_eq(refused(many, WEIR_EAL_CORE_MAX + 1, 0, &err), WEIR_ERR_CONFIG);
	if (allowed_cnt > 1) {
		CPU_ZERO(&one);
		CPU_SET(allowed[0], &one);
		cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
		cr_assert_eq(refused(&allowed[1], 1, 0, &err), WEIR_ERR_CONFIG);
		cr_assert_eq(refused(allowed, 1, 2, &err), WEIR_ERR_CONFIG);
		cr_assert(strncmp(err.text, "control-cores: ", 15) == 0, "%s", err.text);
	}
	start(&allowed[0], 1, NULL, 0);
	weir_eal_stop();
}

Test(eal, as_many_cores_as_there_can_be, .init = find_cpus, .timeout = 300)
{
	static struct self self[WEIR_EAL_CORE_MAX];
	uint32_t cpus[WEIR_EAL_CORE_MAX];

	for (uint32_t i = 0; i < WEIR_EAL_CORE_MAX; i++)
		cpus[i] = allowed[i % allowed_cnt];
	start(cpus, WEIR_EAL_CORE_MAX, NULL, 0);
	for (uint32_t i = 0; i < WEIR_EAL_CORE_MAX; i++)
		weir_eal_core_launch(i, look_at_self, &self[i]);
	for (uint32_t i = 0; i < WEIR_EAL_CORE_MAX; i++)
		weir_eal_core_join(i);
	weir_eal_stop();
}

/* What a start leaves in the file system: nothing. The place is the ordinary user's. */
Test(eal, leaves_no_directory_behind, .init = find_cpus, .timeout = 300)
{
	char dir[256], path[272];

	cr_assert(mkdtemp(scratch_template(dir, sizeof(dir), "eal")) != NULL);
	if (getuid() == 0) {
		cr_assert_eq(chown(dir, 65534, 65534), 0);
		cr_assert_eq(setresuid(65534, 65534, 65534), 0);
	}
	cr_assert_eq(setenv("XDG_RUNTIME_DIR", dir, 1), 0);
	start(&allowed[0], 1, NULL, 0);
	snprintf(path, sizeof(path), "%s/dpdk", dir);
	cr_assert_eq(access(path, F_OK), -1);
	weir_eal_stop();
	cr_assert_eq(access(path, F_OK), -1);
	cr_assert_eq(access(dir, F_OK), 0);
	(void)rmdir(dir);
}

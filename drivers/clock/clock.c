#include "drivers/clock/clock.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALIBRATE_NS  10000000
#define SAMPLES	      32
#define STEP_LIMIT_NS 5000 /* more than a read can be off, less than a core could ever notice */

__extension__ typedef __int128 weir_s128;

struct weir_clock weir_clock_state;
static char report[96] = "system (not started)";

/* One moment on both clocks. */
struct moment {
	uint64_t ticks;
	int64_t ns;
};

/* The tightest of several: the system's clock read between two reads of the counter. */
static struct moment
look(void)
{
	struct moment best = { 0 };
	uint64_t best_width = UINT64_MAX;

	for (int i = 0; i < SAMPLES; i++) {
		const uint64_t before = __rdtsc();
		const int64_t ns = weir_clock_system_ns();
		const uint64_t width = __rdtsc() - before;

		if (width < best_width) {
			best_width = width;
			best = (struct moment){ .ticks = before + width / 2, .ns = ns };
		}
	}
	return best;
}

/* Does the first CPU's line of flags in /proc/cpuinfo have this one? */
static bool
has_flag(const char *flag)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char *line = NULL;
	size_t room = 0;
	bool found = false;

	if (file == NULL)
		return false;
	while (getline(&line, &room, file) > 0) {
		char *save = NULL;

		if (strncmp(line, "flags", 5) != 0)
			continue;
		for (char *word = strtok_r(line, " \t\n", &save); word != NULL && !found;
		     word = strtok_r(NULL, " \t\n", &save))
			found = strcmp(word, flag) == 0;
		break;
	}
	free(line);
	fclose(file);
	return found;
}

static struct weir_clock
calibrate(void)
{
	const struct moment first = look();
	const struct timespec pause = { .tv_nsec = CALIBRATE_NS };
	struct moment last;

	nanosleep(&pause, NULL);
	last = look();
	if (last.ticks <= first.ticks || last.ns <= first.ns)
		return (struct weir_clock){ .tsc = false };
	return (struct weir_clock){
		.tsc = true,
		.base_ticks = last.ticks,
		.base_ns = last.ns,
		.mult = (uint64_t)(((weir_u128)(uint64_t)(last.ns - first.ns) << 32) /
				   (last.ticks - first.ticks)),
	};
}

/* On the CPU where we are: does the counter, as ns, agree with the system's clock? */
static bool
in_step_here(const struct weir_clock *clock)
{
	const struct moment now = look();
	const int64_t ticks = (int64_t)(now.ticks - clock->base_ticks);
	const int64_t ns = clock->base_ns + (int64_t)(((weir_s128)ticks * clock->mult) >> 32);
	/* Calibration may be off by some parts in 100,000 until we get here. */
	const int64_t slack = STEP_LIMIT_NS + (now.ns - clock->base_ns) / 20000;

	return ns - now.ns <= slack && now.ns - ns <= slack;
}

/* Visit each CPU that we may use. Without a visit nothing is known: then it does not count. */
static bool
in_step_everywhere(const struct weir_clock *clock)
{
	cpu_set_t mask, one;
	bool ok = true;

	if (sched_getaffinity(0, sizeof(mask), &mask) != 0)
		return false;
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE && ok; cpu++) {
		if (!CPU_ISSET(cpu, &mask))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		ok = sched_setaffinity(0, sizeof(one), &one) == 0 && in_step_here(clock);
	}
	(void)sched_setaffinity(0, sizeof(mask), &mask);
	return ok;
}

void
weir_clock_start(void)
{
	const char *why = NULL;
	struct weir_clock clock = { .tsc = false };

	if (!has_flag("constant_tsc") || !has_flag("nonstop_tsc"))
		why = "tsc is not constant and non-stop";
	else
		clock = calibrate();
	if (why == NULL && (!clock.tsc || !in_step_everywhere(&clock)))
		why = "tsc is not in step with it on all CPUs";
	if (why != NULL) {
		clock.tsc = false;
		snprintf(report, sizeof(report), "system (%s)", why);
	} else {
		snprintf(report, sizeof(report), "tsc");
	}
	weir_clock_state = clock;
}

const char *
weir_clock_report(void)
{
	return report;
}

#include "bench/limit/limit.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define HUGE_PAGE ((size_t)2 << 20)

_Noreturn void
limit_die(int exit_code, const char *what, const char *detail)
{
	fprintf(stderr, "limit: %s: %s\n", what, detail);
	exit(exit_code);
}

static uint64_t
number(const char *key, const char *text)
{
	char *end;
	const unsigned long long value = strtoull(text, &end, 10);

	if (end == text || *end != '\0')
		limit_die(64, key, "not a number");
	return value;
}

static void
parse_cpus(struct limit_opts *opts, const char *text)
{
	char *end;

	opts->cpus[0] = (unsigned)strtoul(text, &end, 10);
	opts->cpus[1] = opts->cpus[0];
	if (*end == ',')
		opts->cpus[1] = (unsigned)strtoul(end + 1, &end, 10);
	if (*end != '\0')
		limit_die(64, "cpus", "expects A or A,B");
}

static void
parse_shape(struct limit_opts *opts, const char *text)
{
	opts->one_to_one = strcmp(text, "1-1") == 0;
	if (!opts->one_to_one && strcmp(text, "2-2") != 0)
		limit_die(64, "shape", "expects 2-2 or 1-1");
}

static void
parse_one(struct limit_opts *opts, char *arg)
{
	char *value = strchr(arg, '=');

	if (value == NULL)
		limit_die(64, arg, "expects key=value");
	*value++ = '\0';
	if (strcmp(arg, "keys") == 0)
		opts->keys = number(arg, value);
	else if (strcmp(arg, "rows") == 0)
		opts->rows = number(arg, value);
	else if (strcmp(arg, "warm") == 0)
		opts->warm = number(arg, value);
	else if (strcmp(arg, "seconds") == 0)
		opts->seconds = strtod(value, NULL);
	else if (strcmp(arg, "cpus") == 0)
		parse_cpus(opts, value);
	else if (strcmp(arg, "wait") == 0)
		opts->wait = number(arg, value) != 0;
	else if (strcmp(arg, "shape") == 0)
		parse_shape(opts, value);
	else if (strcmp(arg, "combiner") == 0)
		opts->sums_at_end = strcmp(value, "true") == 0;
	else if (strcmp(arg, "variant") == 0)
		opts->variant = value;
	else
		limit_die(64, arg, "unknown argument");
}

void
limit_parse(struct limit_opts *opts, int argc, char **argv)
{
	*opts = (struct limit_opts){ .keys = 1000, .seconds = 1.0, .cpus = { 0, 1 } };
	for (int i = 1; i < argc; i++)
		parse_one(opts, argv[i]);
	if (opts->keys == 0 || opts->keys > UINT32_MAX)
		limit_die(64, "keys", "expects 1 to 4294967295");
	if (opts->rows == 0 && !(opts->seconds > 0))
		limit_die(64, "seconds", "expects a positive number");
}

void
limit_pin(unsigned cpu)
{
	cpu_set_t set;

	if (cpu >= CPU_SETSIZE)
		limit_die(64, "cpus", "number too large");
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0)
		limit_die(64, "cpus", "cannot run on the CPU asked for");
}

void *
limit_memory(size_t bytes)
{
	void *mem;

	bytes = (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	mem = aligned_alloc(HUGE_PAGE, bytes);
	if (mem == NULL)
		limit_die(70, "memory", "allocation failed");
	madvise(mem, bytes, MADV_HUGEPAGE); /* a wish: without it the run is only slower */
	return memset(mem, 0, bytes);
}

void
limit_free(void *mem)
{
	free(mem);
}

double
limit_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void
limit_wait(const struct limit_opts *opts)
{
	int c;

	if (!opts->wait)
		return;
	puts("ready");
	fflush(stdout);
	do
		c = getchar();
	while (c != '\n' && c != EOF);
	if (c == EOF)
		limit_die(70, "start", "standard input closed before the start line");
}

void
limit_print(const struct limit_result *result)
{
	printf("{\"rate\": %.1f, \"rows\": %llu, \"sum\": %llu, \"seconds\": %.9f, "
	       "\"variant\": \"%s\"}\n",
	       (double)result->rows / result->seconds, (unsigned long long)result->rows,
	       (unsigned long long)result->sum, result->seconds, result->name);
}

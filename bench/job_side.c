#include "bench/bench_priv.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Benches whose weir half is a real job: `weir run` of bench/jobs, with its result on standard
 * output. The job measures itself from the first row behind the warm-up on, so neither its start
 * nor its end counts.
 */

extern char **environ;

#define ARGS_MAX 48

struct command {
	char *arg[ARGS_MAX];
	char text[ARGS_MAX][96];
	uint32_t cnt;
};

static void WEIR_PRINTF(2, 3) add(struct command *c, const char *fmt, ...)
{
	char *text = c->text[c->cnt];
	va_list ap;

	WEIR_ASSERT(c->cnt + 1 < ARGS_MAX);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(c->text[0]), fmt, ap);
	va_end(ap);
	c->arg[c->cnt++] = text;
}

#define SET(c, ...) (add(c, "--set"), add(c, __VA_ARGS__))

/* What the job said on standard error, when it failed; a run that went well keeps quiet. */
static void
show(int log)
{
	char text[4096];
	ssize_t len;

	if (lseek(log, 0, SEEK_SET) != 0)
		return;
	while ((len = read(log, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)len, stderr);
}

/* Add up the lines of the subtasks; the last one to end sets the time. */
static void
collect(FILE *from, struct bench_result *result)
{
	char line[256];
	unsigned long long rows;
	unsigned long long sum;
	double seconds;

	*result = (struct bench_result){ 0 };
	while (fgets(line, sizeof(line), from) != NULL) {
		if (sscanf(line, "{\"rows\": %llu, \"sum\": %llu, \"seconds\": %lf}", &rows, &sum,
			   &seconds) != 3)
			continue;
		result->rows += rows;
		result->sum += sum;
		if (seconds > result->seconds)
			result->seconds = seconds;
	}
}

static int
finish(pid_t pid, int log, struct weir_error *err)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	show(log);
	return weir_fail(err, WIFEXITED(status) ? WEXITSTATUS(status) : WEIR_ERR_FAILED,
			 "the job failed");
}

static int
run_job(struct command *c, struct bench_result *result, struct weir_error *err)
{
	posix_spawn_file_actions_t actions;
	FILE *log = tmpfile();
	FILE *from;
	int out[2];
	pid_t pid;
	int rc;

	if (log == NULL || pipe(out) != 0)
		return weir_fail(err, WEIR_ERR_FAILED, "no pipe for the job: %s", strerror(errno));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fileno(log), STDERR_FILENO);
	posix_spawn_file_actions_addclose(&actions, out[0]);
	c->arg[c->cnt] = NULL;
	rc = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, c->arg, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(out[1]);
	from = fdopen(out[0], "r");
	if (rc != 0 || from == NULL) {
		rc = weir_fail(err, WEIR_ERR_FAILED, "the job cannot be started: %s", strerror(rc));
	} else {
		collect(from, result);
		rc = finish(pid, fileno(log), err);
	}
	if (from != NULL)
		fclose(from);
	fclose(log);
	return rc;
}

/* Rows after the filter are what comes to the check: the bench counts rows that went in. */
static int
measure(struct command *c, const struct bench_args *args, uint32_t streams, bool combiner,
	struct weir_error *err)
{
	struct bench_result result = { 0 };
	char work[128];
	int rc;

	snprintf(work, sizeof(work), "keys=%s rows=%llu streams=%u combiner=%u warm=%llu",
		 bench_arg_text(args, "keys"), (unsigned long long)(args->rows + args->warm),
		 streams, combiner, (unsigned long long)args->warm);
	if (setenv("WEIR_BENCH_JOB", work, 1) != 0)
		return weir_fail(err, WEIR_ERR_FAILED, "no memory");
	rc = bench_side_wait(err);
	if (rc == 0)
		rc = run_job(c, &result, err);
	if (rc == 0 && !(result.seconds > 0))
		rc = weir_fail(err, WEIR_ERR_FAILED, "the job gave no result");
	if (rc == 0)
		bench_side_print(args->rows, result.sum, result.seconds);
	return rc;
}

static void
begin(struct command *c, const char *job, bool combiner, const struct bench_args *args)
{
	/* Twice what a densely filled table takes: it grows by doubling. */
	const uint64_t state_mib = 256 + bench_arg_u64(args, "keys") * 64 / (1 << 20);

	add(c, "weir");
	add(c, "run");
	add(c, "%s", job);
	SET(c, "job.output=-");
	SET(c, "checkpoint.interval=0");
	SET(c, "restart.strategy=none");
	SET(c, "exchange.combiner=%s", combiner ? "auto" : "off");
	SET(c, "memory.state=%lluMiB", (unsigned long long)state_mib);
}

static int
fused_side(const struct bench_args *args, struct weir_error *err)
{
	struct command c = { .cnt = 0 };

	begin(&c, "bench-fused", false, args);
	SET(&c, "cores=%u", args->cpus[0]);
	SET(&c, "parallelism=1");
	return measure(&c, args, 1, false, err);
}

static int
exchange_side(const struct bench_args *args, struct weir_error *err)
{
	const bool combiner = strcmp(bench_arg_text(args, "combiner"), "true") == 0;
	struct command c = { .cnt = 0 };

	begin(&c, "bench-exchange", combiner, args);
	SET(&c, "cores=%u,%u", args->cpus[0], args->cpus[1]);
	if (strcmp(bench_arg_text(args, "shape"), "2-2") == 0) {
		SET(&c, "parallelism=2");
		return measure(&c, args, 2, combiner, err);
	}
	SET(&c, "parallelism=1");
	SET(&c, "operators.generate.cores=%u", args->cpus[0]);
	SET(&c, "operators.sum.cores=%u", args->cpus[1]);
	SET(&c, "operators.check.cores=%u", args->cpus[1]);
	SET(&c, "operators.result.cores=%u", args->cpus[1]);
	return measure(&c, args, 1, combiner, err);
}

static const struct bench_key fused_keys[] = { { "keys", "1000", NULL }, { 0 } };
static const struct bench_key exchange_keys[] = {
	{ "keys", "1000", NULL },
	{ "shape", "2-2", "2-2|1-1" },
	{ "combiner", "false", "true|false" },
	{ 0 },
};

const struct bench_def bench_fused = {
	.name = "fused",
	.about = "generate, map, filter, keyed sum on one core",
	.unit = "rows/s",
	.reference = "limit_fused",
	.what = "the same by hand in one loop, the best of several, 32-byte rows",
	.cpus = 1,
	.multiple = 65536,
	.slices = 1,
	.warm_rows = 4,
	.keys = fused_keys,
	.side = fused_side,
};

const struct bench_def bench_exchange = {
	.name = "exchange",
	.about = "generate, hash exchange, keyed sum on two cores",
	.unit = "rows/s",
	.reference = "limit_exchange",
	.what = "the same by hand, 8 KiB frames over rte_ring, the better of rows and columns",
	.cpus = 2,
	.multiple = 65536,
	.slices = 1,
	.warm_rows = 4,
	.keys = exchange_keys,
	.side = exchange_side,
};

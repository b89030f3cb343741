#include "bench/checkpoint.h"

#include "bench/bench_priv.h"
#include "engine/base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGS_MAX   40u
#define TEXT_MAX   4200u /* a setting with a path in it */
#define WARM_UP	   2u	 /* checkpoints that the rings fill up during */
#define LIMIT_S	   300
#define EXIT_INT   130 /* of a run ended by SIGINT */
#define LOOK_NS	   (20 * 1000 * 1000)
#define REPORT_MAX 1000u

/* The sink rate is such that an aligned checkpoint takes well over two seconds. */
static const struct mode {
	const char *name;
	const char *settings[2];
	uint32_t timeout_ms;
	uint32_t interval_ms;
	uint32_t checkpoints;
} modes[BENCH_MODES] = {
	{ "aligned", { NULL }, 0, 100, 5 },
	{ "aligned-timeout",
	  { "checkpoint.unaligned=true", "checkpoint.aligned-timeout=50ms" },
	  50,
	  100,
	  120 },
	{ "unaligned", { "checkpoint.unaligned=true" }, 0, 50, 200 },
};

#define SINK_RATE 25000u

struct run {
	const struct mode *mode;
	uint64_t sink_rate;
	uint32_t checkpoints;
	uint32_t cpus[2];
	bool terminal;
	char dir[3800];
	char text[ARGS_MAX][TEXT_MAX];
	char *arg[ARGS_MAX];
	uint32_t cnt;
};

static void WEIR_PRINTF(2, 3) add(struct run *r, const char *fmt, ...)
{
	va_list ap;

	WEIR_ASSERT(r->cnt + 1 < ARGS_MAX);
	va_start(ap, fmt);
	vsnprintf(r->text[r->cnt], TEXT_MAX, fmt, ap);
	va_end(ap);
	r->arg[r->cnt] = r->text[r->cnt];
	r->cnt++;
}

#define SET(r, ...) (add(r, "--set"), add(r, __VA_ARGS__))

static void
command(struct run *r)
{
	add(r, "weir");
	add(r, "run");
	add(r, "bench-checkpoint");
	SET(r, "job.output=null");
	SET(r, "job.sink-rate=%llu", (unsigned long long)r->sink_rate);
	SET(r, "parallelism=2");
	SET(r, "cores=%u,%u", r->cpus[0], r->cpus[1]);
	SET(r, "restart.strategy=none");
	SET(r, "checkpoint.dir=%s", r->dir);
	SET(r, "checkpoint.interval=%ums", r->mode->interval_ms);
	for (uint32_t i = 0; i < WEIR_ARRAY_CNT(r->mode->settings); i++)
		if (r->mode->settings[i] != NULL)
			SET(r, "%s", r->mode->settings[i]);
	add(r, "--report");
	add(r, "%s/report.json", r->dir);
	r->arg[r->cnt] = NULL;
}

/* In the child: become the job. It has no end of its own, so it must not outlive the bench. */
static _Noreturn void
become_job(struct run *r, const char *log, pid_t bench)
{
	const int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (prctl(PR_SET_PDEATHSIG, SIGINT) == 0 && getppid() == bench && fd >= 0 &&
	    dup2(fd, STDERR_FILENO) >= 0)
		execv("/proc/self/exe", r->arg);
	_exit(WEIR_ERR_FAILED);
}

static int
start(struct run *r, pid_t *pid, struct weir_error *err)
{
	const pid_t bench = getpid();
	char log[TEXT_MAX];

	snprintf(log, sizeof(log), "%s/log", r->dir);
	if (setenv("WEIR_BENCH_JOB", "keys=1000 rows=1125899906842624 streams=2 combiner=0", 1) !=
	    0)
		return weir_fail(err, WEIR_ERR_FAILED, "no memory");
	*pid = fork();
	if (*pid == 0)
		become_job(r, log, bench);
	if (*pid < 0)
		return weir_fail(err, WEIR_ERR_FAILED, "the job cannot be started: %s",
				 strerror(errno));
	return 0;
}

/* The highest n of the chk-<n> that there are; it may still be being written. */
static uint64_t
newest(const struct run *r)
{
	char path[TEXT_MAX];
	struct dirent *entry;
	uint64_t high = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/bench-checkpoint", r->dir);
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, "chk-", 4) == 0 &&
		    strtoull(entry->d_name + 4, NULL, 10) > high)
			high = strtoull(entry->d_name + 4, NULL, 10);
	if (dir != NULL)
		closedir(dir);
	return high;
}

static void
progress(const struct run *r, uint64_t done)
{
	if (r->terminal)
		fprintf(stderr, "\r\033[K%s: checkpoint %llu of %u", r->mode->name,
			(unsigned long long)done, r->checkpoints + WARM_UP);
}

/* Until enough checkpoints are complete; the job's exit status in *status. */
static int
wait_for_end(const struct run *r, pid_t pid, int *status, struct weir_error *err)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	const time_t begin = time(NULL);
	bool asked = false;
	bool late = false;
	pid_t ended;

	while ((ended = waitpid(pid, status, WNOHANG)) == 0) {
		const uint64_t done = newest(r);

		late = time(NULL) - begin > LIMIT_S;
		progress(r, done);
		if (!asked && (done > r->checkpoints + WARM_UP || late)) {
			kill(pid, SIGINT);
			asked = true;
		}
		nanosleep(&pause, NULL);
	}
	if (r->terminal)
		fputs("\r\033[K", stderr);
	if (late)
		return weir_fail(err, WEIR_ERR_FAILED, "%s: fewer than %u checkpoints in %d s",
				 r->mode->name, r->checkpoints + WARM_UP, LIMIT_S);
	return 0;
}

/* ---- the report ---- */

static double
rank(const double *sorted, uint32_t n, uint32_t percent)
{
	return sorted[((uint64_t)n * percent + 99) / 100 - 1];
}

struct bench_percentiles
bench_percentiles_of(double *values, uint32_t n)
{
	if (n == 0)
		return (struct bench_percentiles){ 0 };
	bench_sort(values, n);
	return (struct bench_percentiles){ .p50 = rank(values, n, 50),
					   .p90 = rank(values, n, 90),
					   .p99 = rank(values, n, 99),
					   .max = values[n - 1],
					   .count = n };
}

/* One number of every completed checkpoint behind the warm-up. */
static struct bench_percentiles
collect(json_t *list, const char *field)
{
	double values[REPORT_MAX];
	uint32_t n = 0;
	size_t i;
	json_t *c;

	json_array_foreach(list, i, c)
	{
		const char *status = json_string_value(json_object_get(c, "status"));

		if (n < REPORT_MAX && status != NULL && strcmp(status, "completed") == 0 &&
		    json_integer_value(json_object_get(c, "id")) > WARM_UP)
			values[n++] = json_number_value(json_object_get(c, field));
	}
	return bench_percentiles_of(values, n);
}

static double
sink_rows(json_t *report)
{
	json_t *o;
	size_t i;

	json_array_foreach(json_object_get(report, "operators"), i, o)
	{
		const char *type = json_string_value(json_object_get(o, "type"));

		if (type != NULL && strcmp(type, "sink") == 0)
			return json_number_value(json_object_get(o, "rows_in"));
	}
	return 0;
}

static int
read_report(const struct run *r, struct bench_checkpoint_result *out, struct weir_error *err)
{
	char path[TEXT_MAX];
	json_t *report, *list;
	double wall_s;

	snprintf(path, sizeof(path), "%s/report.json", r->dir);
	report = json_load_file(path, 0, NULL);
	if (report == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "%s: the job left no report", r->mode->name);
	list = json_object_get(json_object_get(report, "checkpoints"), "list");
	wall_s = json_number_value(json_object_get(report, "wall_s"));
	*out = (struct bench_checkpoint_result){
		.mode = r->mode->name,
		.timeout_ms = r->mode->timeout_ms,
		.interval_ms = r->mode->interval_ms,
		.sink_rate = r->sink_rate,
		.end_to_end_ms = collect(list, "duration_ms"),
		.alignment_ms = collect(list, "alignment_ms"),
		.persisted_bytes = collect(list, "persisted_bytes"),
		.rows_per_s = wall_s > 0 ? sink_rows(report) / wall_s : 0,
	};
	json_decref(report);
	if (out->end_to_end_ms.count == 0)
		return weir_fail(err, WEIR_ERR_FAILED, "%s: no checkpoint was completed",
				 r->mode->name);
	return 0;
}

/* What the job said, when it failed; a run that went well keeps quiet. */
static void
show_log(const struct run *r)
{
	char path[TEXT_MAX];
	char line[512];
	FILE *log;

	snprintf(path, sizeof(path), "%s/log", r->dir);
	log = fopen(path, "r");
	while (log != NULL && fgets(line, sizeof(line), log) != NULL)
		fputs(line, stderr);
	if (log != NULL)
		fclose(log);
}

static int
drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static int
run_in(struct run *r, struct bench_checkpoint_result *out, struct weir_error *err)
{
	int status = 0;
	pid_t pid;
	int rc;

	command(r);
	rc = start(r, &pid, err);
	if (rc != 0)
		return rc;
	rc = wait_for_end(r, pid, &status, err);
	if (rc == 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_INT)) {
		show_log(r);
		rc = weir_fail(err, WEIR_ERR_FAILED, "%s: the job failed", r->mode->name);
	}
	return rc == 0 ? read_report(r, out, err) : rc;
}

static int
run_mode(const struct bench_checkpoint_request *q, const struct mode *mode,
	 struct bench_checkpoint_result *out, struct weir_error *err)
{
	const char *base = getenv("TMPDIR");
	struct run *r = calloc(1, sizeof(*r));
	int rc;

	if (r == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "no memory");
	r->mode = mode;
	r->sink_rate = q->sink_rate > 0 ? q->sink_rate : SINK_RATE;
	r->checkpoints = q->checkpoints > 0 ? q->checkpoints : mode->checkpoints;
	memcpy(r->cpus, q->cpus, sizeof(r->cpus));
	r->terminal = q->terminal;
	snprintf(r->dir, sizeof(r->dir), "%s/weir-bench-XXXXXX", base != NULL ? base : "/tmp");
	if (mkdtemp(r->dir) == NULL) {
		rc = weir_fail(err, WEIR_ERR_IO, "%s: %s", r->dir, strerror(errno));
	} else {
		rc = run_in(r, out, err);
		nftw(r->dir, drop, 16, FTW_DEPTH | FTW_PHYS);
	}
	free(r);
	return rc;
}

int
bench_checkpoint_run(const struct bench_checkpoint_request *q,
		     struct bench_checkpoint_result results[BENCH_MODES], uint32_t *cnt,
		     struct weir_error *err)
{
	*cnt = 0;
	for (uint32_t m = 0; m < BENCH_MODES; m++) {
		int rc;

		if (q->mode != NULL && strcmp(q->mode, modes[m].name) != 0)
			continue;
		rc = run_mode(q, &modes[m], &results[*cnt], err);
		if (rc != 0)
			return rc;
		(*cnt)++;
	}
	if (*cnt == 0)
		return weir_fail(
			err, WEIR_ERR_CONFIG,
			"--set mode=%s: expects all, aligned, aligned-timeout or unaligned",
			q->mode);
	return 0;
}

#include "bench/bench_priv.h"

#include <errno.h>
#include <libgen.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Both sides speak the same: arguments key=value, "ready" once everything is set up, a line to
 * start, one line of JSON with the result.
 */

extern char **environ;

#define ARGS_MAX (BENCH_KEYS_MAX + 8)

struct argv {
	char *arg[ARGS_MAX];
	char text[ARGS_MAX][64];
	uint32_t cnt;
};

struct child {
	pid_t pid;
	FILE *to;
	FILE *from;
};

static void
add_path(struct argv *argv, const char *path)
{
	argv->arg[argv->cnt++] = (char *)(uintptr_t)path; /* exec does not write there */
}

static void WEIR_PRINTF(2, 3) add(struct argv *argv, const char *fmt, ...)
{
	char *text = argv->text[argv->cnt];
	va_list ap;

	WEIR_ASSERT(argv->cnt + 1 < ARGS_MAX);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(argv->text[0]), fmt, ap);
	va_end(ap);
	argv->arg[argv->cnt++] = text;
}

static void
add_work(struct argv *argv, const struct bench_work *work)
{
	const struct bench_setup *setup = work->setup;

	for (uint32_t k = 0; setup->def->keys[k].name != NULL; k++)
		add(argv, "%s=%s", setup->def->keys[k].name, setup->value[k]);
	add(argv, "cpus=%u,%u", work->cpus[0], work->cpus[1]);
	if (work->warm > 0)
		add(argv, "warm=%llu", (unsigned long long)work->warm);
	if (work->rows > 0)
		add(argv, "rows=%llu", (unsigned long long)work->rows);
	else
		add(argv, "seconds=%.3f", work->seconds);
}

static int
start(struct child *child, struct argv *argv, struct weir_error *err)
{
	posix_spawn_file_actions_t actions;
	int to[2];
	int from[2];
	int rc;

	if (pipe(to) != 0)
		return weir_fail(err, WEIR_ERR_FAILED, "pipe: %s", strerror(errno));
	if (pipe(from) != 0) {
		close(to[0]);
		close(to[1]);
		return weir_fail(err, WEIR_ERR_FAILED, "pipe: %s", strerror(errno));
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&actions, to[1]);
	posix_spawn_file_actions_addclose(&actions, from[0]);
	argv->arg[argv->cnt] = NULL;
	rc = posix_spawn(&child->pid, argv->arg[0], &actions, NULL, argv->arg, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(to[0]);
	close(from[1]);
	child->to = fdopen(to[1], "w");
	child->from = fdopen(from[0], "r");
	if (rc != 0) {
		fclose(child->to);
		fclose(child->from);
		return weir_fail(err, WEIR_ERR_FAILED, "%s: %s", argv->arg[0], strerror(rc));
	}
	return 0;
}

/* The number behind "name": in the line. */
static const char *
field(const char *line, const char *name)
{
	char quoted[32];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\": ", name);
	at = strstr(line, quoted);
	return at != NULL ? at + strlen(quoted) : NULL;
}

static bool
parse(const char *line, struct bench_result *result)
{
	const char *rows = field(line, "rows");
	const char *sum = field(line, "sum");
	const char *seconds = field(line, "seconds");

	if (rows == NULL || sum == NULL || seconds == NULL)
		return false;
	result->rows = strtoull(rows, NULL, 10);
	result->sum = strtoull(sum, NULL, 10);
	result->seconds = strtod(seconds, NULL);
	if (result->rows == 0 || !(result->seconds > 0))
		return false;
	result->rate = (double)result->rows / result->seconds;
	return true;
}

static bool
converse(struct child *child, struct bench_result *result)
{
	char line[512];

	if (fgets(line, sizeof(line), child->from) == NULL || strcmp(line, "ready\n") != 0)
		return false;
	fputs("go\n", child->to);
	if (fflush(child->to) != 0)
		return false;
	return fgets(line, sizeof(line), child->from) != NULL && parse(line, result);
}

static int
run(struct argv *argv, struct bench_result *result, struct weir_error *err)
{
	struct child child;
	int status = 0;
	bool said;
	int rc = start(&child, argv, err);

	if (rc != 0)
		return rc;
	said = converse(&child, result);
	fclose(child.to);
	fclose(child.from);
	while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFSIGNALED(status))
		return weir_fail(err, WEIR_ERR_FAILED, "%s: killed by signal %d", argv->arg[0],
				 WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		return weir_fail(err, WEXITSTATUS(status), "%s: exit code %d", argv->arg[0],
				 WEXITSTATUS(status));
	if (!said)
		return weir_fail(err, WEIR_ERR_FAILED, "%s: gave no result", argv->arg[0]);
	return 0;
}

int
bench_run_weir(const struct bench_paths *paths, const struct bench_work *work,
	       struct bench_result *result, struct weir_error *err)
{
	struct argv argv = { 0 };

	add_path(&argv, paths->weir);
	add(&argv, "bench");
	add(&argv, "--side");
	add(&argv, "%s", work->setup->def->name);
	add_work(&argv, work);
	return run(&argv, result, err);
}

int
bench_run_reference(const struct bench_paths *paths, const struct bench_work *work,
		    struct bench_result *result, struct weir_error *err)
{
	struct argv argv = { 0 };

	add_path(&argv, paths->reference);
	add_work(&argv, work);
	add(&argv, "wait=1");
	return run(&argv, result, err);
}

int
bench_paths_find(struct bench_paths *paths, const struct bench_def *def, struct weir_error *err)
{
	static const char *const places[] = { "bench/limit", "../libexec/weir" };
	char self[4096];
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *dir;

	if (len <= 0)
		return weir_fail(err, WEIR_ERR_FAILED, "/proc/self/exe: %s", strerror(errno));
	self[len] = '\0';
	snprintf(paths->weir, sizeof(paths->weir), "%s", self);
	dir = dirname(self);
	for (uint32_t i = 0; i < WEIR_ARRAY_CNT(places); i++) {
		snprintf(paths->reference, sizeof(paths->reference), "%s/%s/%s", dir, places[i],
			 def->reference);
		if (access(paths->reference, X_OK) == 0)
			return 0;
	}
	return weir_fail(err, WEIR_ERR_NOINPUT,
			 "%s: not found in %s/bench/limit or %s/../libexec/weir", def->reference,
			 dir, dir);
}

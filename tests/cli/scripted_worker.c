#include "app/worker.h"

/*
 * A worker that does what the test says, to drive the supervisor through every way an attempt can
 * end. The script is in the environment, one word per attempt, the last one repeated:
 *
 *   WEIR_SCRIPT="abort,74,finish"     WEIR_SCRIPT_DIR: where "checkpoint" leaves chk-<n>/manifest
 *
 *   finish          RUNNING, statistics, FINISHED
 *   checkpoint      as finish, with a completed checkpoint before
 *   lost            a durable checkpoint whose completion was never told, then abort
 *   progress-abort  a completed checkpoint, then abort
 *   pending-abort   a pending checkpoint, then abort
 *   abort, kill     die by SIGABRT, SIGKILL
 *   silent          exit 0 without a word
 *   wait            until cancelled, then CANCELED; answers commands
 *   deaf            for ever, whatever is asked
 *   garbage         a message that is none, then exit 0
 *   0..255          say an error with this code and exit with it
 */

#include "app/control/server.h"
#include "app/worker_link.h"
#include "weir/weir.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Jobs need these to link; no scripted attempt reads input. */
__attribute__((weak)) int
weir_splits_add(struct weir_splits *splits, const struct weir_split *split)
{
	(void)splits;
	(void)split;
	return 0;
}

__attribute__((weak)) void
weir_splits_warn(struct weir_splits *splits, const char *fmt, ...)
{
	(void)splits;
	(void)fmt;
}

__attribute__((weak)) int
weir_splits_fail(struct weir_splits *splits, int code, const char *fmt, ...)
{
	(void)splits;
	(void)fmt;
	return code;
}

__attribute__((weak)) const struct weir_params *
weir_reader_params(const struct weir_reader_ctx *ctx)
{
	(void)ctx;
	return NULL;
}

__attribute__((weak)) void
weir_reader_warn(struct weir_reader_ctx *ctx, const char *fmt, ...)
{
	(void)ctx;
	(void)fmt;
}

__attribute__((weak)) int
weir_reader_fail(struct weir_reader_ctx *ctx, int code, const char *fmt, ...)
{
	(void)ctx;
	(void)fmt;
	return code;
}

/* Word number idx (from 0) of the script, or its last. */
static void
script_word(uint32_t idx, char word[static 32])
{
	const char *p = getenv("WEIR_SCRIPT");

	p = p != NULL ? p : "finish";
	while (idx > 0 && strchr(p, ',') != NULL) {
		p = strchr(p, ',') + 1;
		idx--;
	}
	snprintf(word, 32, "%.*s", (int)strcspn(p, ","), p);
}

static void
leave_manifest(uint64_t id)
{
	const char *dir = getenv("WEIR_SCRIPT_DIR");
	char path[4096];
	FILE *file;

	if (dir == NULL)
		return;
	snprintf(path, sizeof(path), "%s/chk-%llu", dir, (unsigned long long)id);
	(void)mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/chk-%llu/manifest", dir, (unsigned long long)id);
	file = fopen(path, "we");
	if (file != NULL)
		fclose(file);
}

static void
say_checkpoint(struct weir_worker_link *link, uint64_t id, const char *status)
{
	weir_worker_checkpoint(link, json_pack("{s:I, s:s, s:f}", "id", (json_int_t)id, "status",
					       status, "duration_ms", 2.5));
}

/* Commands end at once; true: it was a stop, and the job is over. A directory says how it goes:
 * /fail: it does not; /lost: the worker dies with the savepoint complete; /mute: no answer. */
static bool
answer_commands(struct weir_worker_link *link)
{
	struct weir_control_command c;
	static uint64_t id = 100;
	uint64_t number;

	while (weir_worker_take_command(link, &c, &number)) {
		const bool fail = strcmp(c.directory, "/fail") == 0;

		if (strcmp(c.directory, "/mute") == 0)
			continue;
		weir_worker_outcome(link, number,
				    weir_control_outcome(fail ? 74 : 0, fail ? 0 : ++id,
							 fail ? NULL : "/somewhere/it-is",
							 fail ? "IO_EXCEPTION" : "",
							 fail ? "no space" : ""));
		if (strcmp(c.directory, "/lost") == 0)
			abort();
		if (c.kind != WEIR_COMMAND_STOP || fail)
			continue;
		weir_worker_finished(link, c.drain ? "FINISHED" : "SUSPENDED");
		return true;
	}
	return false;
}

static int
wait_for_cancel(struct weir_worker_link *link, bool deaf)
{
	while (deaf || !weir_worker_poll_cancel(link)) {
		if (answer_commands(link))
			return 0;
		usleep(2000);
	}
	weir_worker_finished(link, "CANCELED");
	return 0;
}

static int
fail_with(struct weir_worker_link *link, int code)
{
	struct weir_error err;

	weir_fail(&err, code != 0 ? code : 70, "the script says %d", code);
	weir_worker_error(link, &err);
	return code;
}

/* What the attempt says once it runs, before the word decides how it ends. */
static void
introduce(const struct weir_session *session, const struct weir_launch *launch,
	  struct weir_worker_link *link)
{
	const struct weir_progress progress = {
		.rows = 1234567, .rows_per_s = 5e6, .busiest_cpu = 1, .busiest = 0.92
	};
	json_t *restored = NULL;

	if (launch->restore != NULL)
		restored = json_pack("{s:s, s:i, s:i}", "path", launch->restore, "frames_in_flight",
				     0, "bytes", 4096);
	weir_worker_running(link, restored);
	weir_worker_statistics(
		link, json_pack("{s:[{s:s, s:s, s:i, s:i, s:i, s:{s:i}}], s:{s:s, s:I, s:s}}",
				"operators", "id", "src", "type", "source", "parallelism", 2,
				"rows_in", 10, "rows_out", 8, "dropped", "late", 2, "environment",
				"malloc_conf", getenv("MALLOC_CONF"), "attempt",
				(json_int_t)launch->attempt, "name", session->cfg.job_name));
	weir_worker_progress(link, &progress);
	weir_worker_warning(link, "a name that is not UTF-8: \xff");
}

int
weir_worker_main(struct weir_session *session, const struct weir_launch *launch,
		 struct weir_worker_link *link)
{
	const uint64_t id = launch->newest_id + launch->run_attempt;
	const unsigned char garbage[8] = { 4, 0, 0, 0, 'a', 'b', 'c', 'd' };
	char word[32];

	script_word(launch->run_attempt - 1, word);
	if (strcmp(word, "silent") == 0)
		return 0;
	if (word[0] >= '0' && word[0] <= '9')
		return fail_with(link, atoi(word));
	introduce(session, launch, link);
	if (strcmp(word, "garbage") == 0) {
		(void)!send(link->link.fd, garbage, sizeof(garbage), MSG_NOSIGNAL);
		return 0;
	}
	if (strcmp(word, "wait") == 0 || strcmp(word, "deaf") == 0)
		return wait_for_cancel(link, word[0] == 'd');
	if (strcmp(word, "kill") == 0)
		raise(SIGKILL);
	if (strcmp(word, "checkpoint") == 0 || strstr(word, "-abort") != NULL ||
	    strcmp(word, "lost") == 0)
		say_checkpoint(link, id, "pending");
	if (strcmp(word, "checkpoint") == 0 || strcmp(word, "progress-abort") == 0 ||
	    strcmp(word, "lost") == 0)
		leave_manifest(id);
	if (strcmp(word, "checkpoint") == 0 || strcmp(word, "progress-abort") == 0)
		say_checkpoint(link, id, "completed");
	if (strstr(word, "abort") != NULL || strcmp(word, "lost") == 0)
		abort();
	weir_worker_finished(link, "FINISHED");
	return 0;
}

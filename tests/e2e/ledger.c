/*
 * A job for tests: numbered rows into a two-phase sink of the test's own that records every call.
 *
 *   source => ledger            by key, so that the edge can be unaligned; two words a row
 *
 * In $LEDGER_DIR:
 *   calls                       a line per call, of all subtasks and attempts, in order:
 *                               "<attempt>.<subtask> <call> <number> <checkpoint> <origin>"
 *   open-A-N, pre-A-N, done-A-N a transaction's rows: being written, pre-committed, committed
 *
 * $LEDGER_DIE=CALL:CHECKPOINT:(before|after) kills the process in that call, once.
 * $LEDGER_STALL=CHECKPOINT keeps subtask 0's precommit for it from ending before its abort.
 * $LEDGER_SLEEP=CHECKPOINT:SECONDS sleeps in subtask 0's precommit for it: the synchronous part.
 *
 * Settings: job.events, the rows.
 */
#include "tests/e2e/numbered.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPT, NUMBER }; /* words */

/* ---- sink ---- */

struct ledger {
	int calls;
	uint64_t number;
};

struct rows {
	int fd;
	bool asked; /* once already: MORE, to be asked again */
	bool aborted;
};

static const char *
dir(void)
{
	const char *d = getenv("LEDGER_DIR");

	return d != NULL ? d : ".";
}

static void
path_of(char path[600], const char *state, const struct weir_transaction *t)
{
	snprintf(path, 600, "%s/%s-%llu-%llu", dir(), state, (unsigned long long)t->word[ATTEMPT],
		 (unsigned long long)t->word[NUMBER]);
}

static bool
is_asked(const char *name, const char *call, uint64_t checkpoint, const char *when)
{
	const char *plan = getenv(name);
	char want[64];

	snprintf(want, sizeof(want), "%s:%llu:%s", call, (unsigned long long)checkpoint, when);
	return plan != NULL && strcmp(plan, want) == 0;
}

/* Once for all attempts. */
static void
die(const char *call, const struct weir_transaction *t, const char *when)
{
	char path[600];
	int fd;

	if (!is_asked("LEDGER_DIE", call, t->checkpoint, when))
		return;
	snprintf(path, sizeof(path), "%s/died", dir());
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0666);
	if (fd >= 0)
		kill(getpid(), SIGKILL);
}

static void
record(struct weir_operator_ctx *ctx, const char *call, const struct weir_transaction *t)
{
	static const char *const origins[] = { "own", "checkpoint", "savepoint" };
	const struct ledger *l = weir_operator_local(ctx);
	char line[200];
	int len = snprintf(line, sizeof(line), "%llu.%u %s",
			   (unsigned long long)weir_sink_attempt(ctx), weir_operator_subtask(ctx),
			   call);

	if (t != NULL)
		len += snprintf(
			line + len, sizeof(line) - (size_t)len, " %llu/%llu %llu %s",
			(unsigned long long)t->word[ATTEMPT], (unsigned long long)t->word[NUMBER],
			(unsigned long long)t->checkpoint, origins[weir_sink_origin(ctx, t)]);
	line[len++] = '\n';
	if (write(l->calls, line, (size_t)len) != len)
		abort();
}

/* Take back what an earlier attempt began and no checkpoint names. */
static void
clear(struct weir_operator_ctx *ctx)
{
	DIR *d = opendir(dir());
	const struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		struct weir_transaction t = { 0 };
		unsigned long long attempt, number;
		char state[8], path[600];

		if (sscanf(e->d_name, "%7[a-z]-%llu-%llu", state, &attempt, &number) != 3 ||
		    strcmp(state, "done") == 0 || attempt == weir_sink_attempt(ctx))
			continue;
		t.word[ATTEMPT] = attempt;
		t.word[NUMBER] = number;
		if (strcmp(state, "pre") == 0 && weir_sink_is_named(ctx, &t))
			continue;
		path_of(path, state, &t);
		unlink(path);
	}
	if (d != NULL)
		closedir(d);
}

static int
ledger_open(struct weir_operator_ctx *ctx, const struct weir_transaction *named, uint32_t cnt)
{
	struct ledger *l = weir_operator_local(ctx);
	char path[600], call[32];

	(void)named;
	snprintf(path, sizeof(path), "%s/calls", dir());
	l->calls = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0666);
	if (l->calls < 0)
		return weir_sink_fail(ctx, 74, "%s: %s", path, strerror(errno));
	snprintf(call, sizeof(call), "open %u", cnt);
	record(ctx, call, NULL);
	if (weir_operator_subtask(ctx) == 0)
		clear(ctx);
	return 0;
}

static int
ledger_begin(struct weir_operator_ctx *ctx, struct weir_transaction *t)
{
	struct ledger *l = weir_operator_local(ctx);
	struct rows *r = weir_sink_local(ctx, t);
	char path[600];

	t->word[ATTEMPT] = weir_sink_attempt(ctx);
	t->word[NUMBER] = l->number++ * 100 + weir_operator_subtask(ctx);
	record(ctx, "begin", t);
	path_of(path, "open", t);
	r->fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
	return r->fd < 0 ? weir_sink_fail(ctx, 74, "%s: %s", path, strerror(errno)) : 0;
}

static int
ledger_write(struct weir_operator_ctx *ctx, struct weir_transaction *t, const struct weir_batch *in)
{
	const struct rows *r = weir_sink_local(ctx, t);
	uint64_t text[2 * WEIR_BATCH_ROWS];
	const size_t bytes = 2 * sizeof(text[0]) * in->selected;

	for (uint32_t i = 0; i < in->selected; i++) {
		text[2 * i] = weir_u64(in, KEY)[weir_row(in, i)];
		text[2 * i + 1] = weir_u64(in, SEQ)[weir_row(in, i)];
	}
	if (write(r->fd, text, bytes) != (ssize_t)bytes)
		return weir_sink_fail(ctx, 74, "write: %s", strerror(errno));
	return 0;
}

static void
sleep_if_asked(const struct weir_operator_ctx *ctx, const struct weir_transaction *t)
{
	const char *plan = getenv("LEDGER_SLEEP");
	unsigned long long checkpoint;
	unsigned seconds;

	if (plan != NULL && weir_operator_subtask(ctx) == 0 &&
	    sscanf(plan, "%llu:%u", &checkpoint, &seconds) == 2 && checkpoint == t->checkpoint)
		sleep(seconds);
}

static int
ledger_precommit(struct weir_operator_ctx *ctx, struct weir_transaction *t)
{
	const char *stall = getenv("LEDGER_STALL");
	struct rows *r = weir_sink_local(ctx, t);
	char from[600], to[600];

	if (!r->asked) {
		r->asked = true;
		record(ctx, "precommit", t);
		die("precommit", t, "before");
		sleep_if_asked(ctx, t);
		path_of(from, "open", t);
		path_of(to, "pre", t);
		if (rename(from, to) != 0)
			return weir_sink_fail(ctx, 74, "%s: %s", from, strerror(errno));
		close(r->fd);
		die("precommit", t, "after");
		return WEIR_MORE;
	}
	if (stall != NULL && weir_operator_subtask(ctx) == 0 && !r->aborted &&
	    strtoull(stall, NULL, 10) == t->checkpoint)
		return WEIR_MORE;
	r->asked = false;
	record(ctx, "durable", t);
	return 0;
}

static int
ledger_commit(struct weir_operator_ctx *ctx, struct weir_transaction *t)
{
	struct rows *r = weir_sink_local(ctx, t);
	char from[600], to[600];

	path_of(to, "done", t);
	if (r->asked) {
		record(ctx, "committed", t);
		return 0;
	}
	r->asked = true;
	record(ctx, "commit", t);
	die("commit", t, "before");
	path_of(from, "pre", t);
	if (rename(from, to) != 0 &&
	    (errno != ENOENT || weir_sink_origin(ctx, t) == WEIR_TRANSACTION_OWN ||
	     access(to, F_OK) != 0))
		return weir_sink_fail(ctx, 74, "%s: %s", from, strerror(errno));
	die("commit", t, "after");
	return WEIR_MORE;
}

static int
ledger_abort(struct weir_operator_ctx *ctx, struct weir_transaction *t)
{
	((struct rows *)weir_sink_local(ctx, t))->aborted = true;
	record(ctx, "abort", t);
	return 0;
}

static void
ledger_close(struct weir_operator_ctx *ctx)
{
	record(ctx, "close", NULL);
	close(((struct ledger *)weir_operator_local(ctx))->calls);
}

static const struct weir_sink_connector ledger = { .name = "ledger",
						   .reads = 1u << KEY | 1u << SEQ,
						   .local_bytes = sizeof(struct ledger),
						   .transaction_bytes = sizeof(struct rows),
						   .open = ledger_open,
						   .begin = ledger_begin,
						   .write = ledger_write,
						   .precommit = ledger_precommit,
						   .commit = ledger_commit,
						   .abort = ledger_abort,
						   .close = ledger_close };

int
weir_job(struct weir_job *job, const struct weir_params *params)
{
	(void)params;
	weir_sink_to(weir_key_by(weir_source(job, "source", &first), KEY), "ledger", &ledger);
	return 0;
}

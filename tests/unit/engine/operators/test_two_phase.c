/* The order in which a two-phase sink is called (R7, R8, T35), with one that records every call. */
#include "engine/operators/two_phase.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct {
	char text[4000];
	size_t len;
	uint32_t seq;
	uint32_t more; /* precommit and commit return WEIR_MORE so often before 0 */
	const char *fails;
	bool busy;
} sink;

static struct weir_operator_host host = { .job = "job", .attempt = 7 };
static struct weir_operator_ctx ctx, other_ctx;
static struct weir_two_phase *tp;
static struct weir_transaction named[WEIR_TRANSACTIONS_MAX];

static int WEIR_PRINTF(2, 3) record(const char *call, const char *fmt, ...)
{
	va_list ap;

	sink.len += (size_t)snprintf(sink.text + sink.len, sizeof(sink.text) - sink.len, "%s%s ",
				     sink.len > 0 ? ", " : "", call);
	va_start(ap, fmt);
	sink.len += (size_t)vsnprintf(sink.text + sink.len, sizeof(sink.text) - sink.len, fmt, ap);
	va_end(ap);
	if (sink.fails == NULL || strcmp(sink.fails, call) != 0)
		return 0;
	return weir_sink_fail(&ctx, 74, "%s says no", call);
}

static int
open_it(struct weir_operator_ctx *c, const struct weir_transaction *list, uint32_t cnt)
{
	(void)c;
	return record("open", "%u:%lu", cnt, cnt > 0 ? list[0].word[1] : 0);
}

static bool
ready(struct weir_operator_ctx *c)
{
	(void)c;
	return !sink.busy;
}

static int
begin(struct weir_operator_ctx *c, struct weir_transaction *t)
{
	cr_assert_eq(*(uint32_t *)weir_sink_local(c, t), 0, "fresh memory");
	cr_assert_eq(t->checkpoint, 0);
	t->word[0] = weir_sink_attempt(c);
	t->word[1] = sink.seq++;
	return record("begin", "%lu", t->word[1]);
}

static int
write_it(struct weir_operator_ctx *c, struct weir_transaction *t, const struct weir_batch *in)
{
	(void)c;
	return record("write", "%lu*%u", t->word[1], in->selected);
}

/* The call is recorded once; how often it was made stands in the transaction's memory. */
static int
twice(struct weir_operator_ctx *c, struct weir_transaction *t, const char *call)
{
	uint32_t *calls = weir_sink_local(c, t);
	int rc = 0;

	if (*calls == 0)
		rc = record(call, "%lu@%lu", t->word[1], t->checkpoint);
	if (rc == 0 && (*calls)++ < sink.more)
		return WEIR_MORE;
	*calls = 0;
	return rc;
}

static int
precommit(struct weir_operator_ctx *c, struct weir_transaction *t)
{
	cr_assert_eq(weir_sink_origin(c, t), WEIR_TRANSACTION_OWN);
	return twice(c, t, "precommit");
}

static int
commit(struct weir_operator_ctx *c, struct weir_transaction *t)
{
	return twice(c, t, "commit");
}

static int
abort_it(struct weir_operator_ctx *c, struct weir_transaction *t)
{
	(void)c;
	return record("abort", "%lu@%lu", t->word[1], t->checkpoint);
}

static struct weir_sink_connector recording;

static void
setup(void)
{
	const struct weir_two_phase_config tc = { .sink = &recording, .ctx = &ctx };

	memset(&sink, 0, sizeof(sink));
	recording = (struct weir_sink_connector){ .name = "recording",
						  .transaction_bytes = sizeof(uint32_t),
						  .open = open_it,
						  .ready = ready,
						  .begin = begin,
						  .write = write_it,
						  .precommit = precommit,
						  .commit = commit,
						  .abort = abort_it };
	ctx = (struct weir_operator_ctx){ .host = &host, .id = "out" };
	tp = weir_two_phase_create(&tc);
}

static void
teardown(void)
{
	weir_two_phase_destroy(tp);
}

TestSuite(two_phase, .init = setup, .fini = teardown);

static void
rows(uint32_t cnt)
{
	const struct weir_batch in = { .rows = cnt, .selected = cnt };

	cr_assert(weir_two_phase_ready(tp, 0));
	cr_assert_eq(weir_two_phase_write(tp, &in, 0), 0);
}

static void
said(const char *want)
{
	cr_assert_str_eq(sink.text, want);
	sink.len = 0;
	sink.text[0] = '\0';
}

Test(two_phase, one_checkpoint)
{
	cr_assert_eq(weir_two_phase_open(tp), 0);
	said("open 0:0");
	rows(3);
	rows(2);
	said("begin 0, write 0*3, write 0*2");
	cr_assert_eq(weir_two_phase_snapshot(tp, 4, named), 1);
	cr_assert_eq(named[0].checkpoint, 4);
	cr_assert_eq(named[0].word[0], 7);
	cr_assert(weir_two_phase_is_durable(tp));
	weir_two_phase_step(tp);
	said("precommit 0@4"); /* and nothing more before the checkpoint is complete */
	weir_two_phase_commit(tp, 4);
	said("");
	weir_two_phase_step(tp);
	said("commit 0@4");
	cr_assert(weir_two_phase_is_committed(tp));
	/* No rows, no transaction. */
	cr_assert_eq(weir_two_phase_snapshot(tp, 5, named), 0);
	weir_two_phase_commit(tp, 5);
	weir_two_phase_step(tp);
	said("");
}

Test(two_phase, what_takes_time_is_asked_again)
{
	sink.more = 2;
	rows(1);
	(void)weir_two_phase_snapshot(tp, 1, named);
	rows(1);
	said("begin 0, write 0*1, precommit 0@1, begin 1, write 1*1");
	weir_two_phase_step(tp);
	cr_assert_not(weir_two_phase_is_durable(tp));
	weir_two_phase_step(tp);
	cr_assert(weir_two_phase_is_durable(tp));
	weir_two_phase_commit(tp, 1);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(weir_two_phase_at(tp, 0)->word[1], 0);
		weir_two_phase_step(tp);
	}
	cr_assert_eq(weir_two_phase_at(tp, 0)->word[1], 1, "the open one stays");
	said("commit 0@1");
}

/* The report says what is committed. */
Test(two_phase, rows_wait_until_they_are_committed)
{
	rows(3);
	(void)weir_two_phase_snapshot(tp, 1, named);
	rows(2);
	(void)weir_two_phase_snapshot(tp, 2, named);
	rows(5);
	weir_two_phase_step(tp);
	cr_assert_eq(weir_two_phase_waiting_rows(tp), 10);
	cr_assert_not(weir_two_phase_is_committing(tp));
	sink.more = 1;
	weir_two_phase_commit(tp, 1);
	cr_assert(weir_two_phase_is_committing(tp));
	weir_two_phase_step(tp);
	cr_assert(weir_two_phase_is_committing(tp));
	cr_assert_eq(weir_two_phase_waiting_rows(tp), 10);
	weir_two_phase_step(tp);
	cr_assert_not(weir_two_phase_is_committing(tp));
	cr_assert_eq(weir_two_phase_waiting_rows(tp), 7);
}

/* R7: the message that 1 and 2 are complete is lost. */
Test(two_phase, a_later_completion_makes_up_for_a_lost_one)
{
	for (uint64_t n = 1; n <= 3; n++) {
		rows(1);
		cr_assert_eq(weir_two_phase_snapshot(tp, n, named), n, "the waiting ones too");
	}
	said("begin 0, write 0*1, precommit 0@1, begin 1, write 1*1, precommit 1@2, "
	     "begin 2, write 2*1, precommit 2@3");
	weir_two_phase_commit(tp, 2);
	weir_two_phase_step(tp);
	said("commit 0@1, commit 1@2");
	weir_two_phase_commit(tp, 2); /* said twice */
	weir_two_phase_step(tp);
	said("");
	weir_two_phase_commit(tp, 3);
	weir_two_phase_step(tp);
	said("commit 2@3");
}

/* One at a time: the second waits until the first is through. */
Test(two_phase, commits_are_in_order)
{
	rows(1);
	(void)weir_two_phase_snapshot(tp, 1, named);
	rows(1);
	(void)weir_two_phase_snapshot(tp, 2, named);
	weir_two_phase_step(tp);
	said("begin 0, write 0*1, precommit 0@1, begin 1, write 1*1, precommit 1@2");
	sink.more = 1;
	weir_two_phase_commit(tp, 2);
	weir_two_phase_step(tp);
	said("commit 0@1");
	weir_two_phase_step(tp);
	said("commit 1@2");
}

/* Rows of an aborted checkpoint belong to the next one (R8). */
Test(two_phase, an_aborted_transaction_is_committed_with_the_next)
{
	rows(1);
	(void)weir_two_phase_snapshot(tp, 1, named);
	weir_two_phase_abort(tp, 1);
	weir_two_phase_abort(tp, 9); /* the sink had no part in it */
	rows(1);
	cr_assert_eq(weir_two_phase_snapshot(tp, 2, named), 2);
	cr_assert_eq(named[0].checkpoint, 1);
	weir_two_phase_commit(tp, 2);
	weir_two_phase_step(tp);
	said("begin 0, write 0*1, precommit 0@1, abort 0@1, begin 1, write 1*1, precommit 1@2, "
	     "commit 0@1, commit 1@2");
	/* A late message about an old one. */
	weir_two_phase_abort(tp, 1);
	said("");
}

Test(two_phase, what_the_checkpoint_names_is_committed_again)
{
	const struct weir_transaction old[] = { { 3, { 6, 40 } }, { 5, { 6, 41 } } };

	cr_assert_eq(weir_two_phase_room(tp), WEIR_TRANSACTIONS_MAX);
	weir_two_phase_restore(tp, old, 2, false);
	cr_assert_eq(weir_two_phase_room(tp), WEIR_TRANSACTIONS_MAX - 2);
	cr_assert_eq(weir_two_phase_open(tp), 0);
	said("open 2:40");
	cr_assert_eq(weir_sink_origin(&ctx, weir_two_phase_at(tp, 0)), WEIR_TRANSACTION_CHECKPOINT);
	cr_assert(weir_sink_is_named(&ctx, &old[1]));
	cr_assert_not(weir_sink_is_named(&ctx, &(struct weir_transaction){ 5, { 6, 42 } }));
	/* A checkpoint before they are through names them again, and its abort is not theirs. */
	cr_assert_eq(weir_two_phase_snapshot(tp, 5, named), 2);
	weir_two_phase_abort(tp, 5);
	weir_two_phase_step(tp);
	said("commit 40@3, commit 41@5");
	cr_assert(weir_two_phase_is_committed(tp));
}

Test(two_phase, any_subtask_knows_what_is_named)
{
	const struct weir_two_phase_config tc = { .sink = &recording,
						  .ctx = &other_ctx,
						  .sibling = tp };
	const struct weir_transaction old = { 3, { 6, 40 } };
	struct weir_two_phase *other;

	other_ctx = (struct weir_operator_ctx){ .host = &host, .id = "out", .subtask = 1 };
	other = weir_two_phase_create(&tc);
	weir_two_phase_restore(other, &old, 1, true);
	cr_assert(weir_sink_is_named(&ctx, &old));
	cr_assert(weir_sink_is_named(&other_ctx, &old));
	cr_assert_eq(weir_sink_origin(&other_ctx, weir_two_phase_at(other, 0)),
		     WEIR_TRANSACTION_SAVEPOINT);
	weir_two_phase_destroy(other);
}

/* T35: a job without checkpoints, with a savepoint in between. */
Test(two_phase, the_end_of_input_without_checkpoints)
{
	rows(1);
	(void)weir_two_phase_snapshot(tp, 1, named);
	rows(1);
	weir_two_phase_end(tp);
	weir_two_phase_step(tp);
	weir_two_phase_commit(tp, UINT64_MAX);
	weir_two_phase_step(tp);
	said("begin 0, write 0*1, precommit 0@1, begin 1, write 1*1, precommit 1@0, commit 0@1, "
	     "commit 1@0");
	cr_assert(weir_two_phase_is_committed(tp));
}

Test(two_phase, without_commit_nothing_is_named)
{
	recording.commit = NULL;
	rows(1);
	sink.more = 1;
	cr_assert_eq(weir_two_phase_snapshot(tp, 1, named), 0);
	cr_assert_not(weir_two_phase_is_committed(tp));
	cr_assert_eq(weir_two_phase_waiting_rows(tp), 0, "they are visible");
	weir_two_phase_step(tp);
	cr_assert(weir_two_phase_is_committed(tp));
}

Test(two_phase, the_first_error_stays)
{
	static const char *const calls[] = { "open",	  "begin",  "write",
					     "precommit", "commit", "abort" };

	for (uint32_t i = 0; i < WEIR_ARRAY_CNT(calls); i++) {
		const struct weir_batch in = { .rows = 1, .selected = 1 };
		struct weir_error err = { 0 };
		char want[64];

		teardown();
		setup();
		sink.fails = calls[i];
		(void)!weir_two_phase_open(tp);
		(void)!weir_two_phase_write(tp, &in, 0);
		(void)weir_two_phase_snapshot(tp, 1, named);
		if (i == 5)
			weir_two_phase_abort(tp, 1);
		weir_two_phase_commit(tp, 1);
		weir_two_phase_step(tp);
		cr_assert_eq(weir_two_phase_failed(tp, &err), 74, "%s", calls[i]);
		snprintf(want, sizeof(want), "sink 'out': %s says no", calls[i]);
		cr_assert_str_eq(err.text, want);
		cr_assert_not(weir_two_phase_is_committed(tp) && i > 0);
	}
}

Test(two_phase, back_pressure_and_too_many)
{
	struct weir_error err = { 0 };

	sink.busy = true;
	cr_assert_not(weir_two_phase_ready(tp, 0));
	sink.busy = false;
	for (uint64_t n = 1; n < WEIR_TRANSACTIONS_MAX; n++) {
		sink.len = 0;
		rows(1);
		(void)weir_two_phase_snapshot(tp, n, named);
	}
	cr_assert_eq(weir_two_phase_failed(tp, &err), 0);
	/* A completion on its way makes room again. */
	weir_two_phase_commit(tp, 1);
	cr_assert_not(weir_two_phase_ready(tp, 0));
	cr_assert_eq(weir_two_phase_failed(tp, &err), 0);
	weir_two_phase_step(tp);
	sink.len = 0;
	rows(1);
	(void)weir_two_phase_snapshot(tp, 999, named);
	cr_assert_not(weir_two_phase_ready(tp, 0));
	cr_assert_eq(weir_two_phase_failed(tp, &err), WEIR_ERR_FAILED);
	cr_assert_not_null(strstr(err.text, "255 checkpoints"), "%s", err.text);
}

/* ---- checkpoints that do not complete, one after the other ---- */

/* The transactions of a checkpoint each, that the words name: from word 1 on, word 2 more. */
static int
join_it(struct weir_operator_ctx *c, struct weir_transaction *t,
	const struct weir_transaction *before)
{
	(void)c;
	cr_assert_eq(before->word[1] + before->word[2] + 1, t->word[1]);
	t->word[1] = before->word[1];
	t->word[2] += before->word[2] + 1;
	return 0;
}

static int
fails_to_join(struct weir_operator_ctx *c, struct weir_transaction *t,
	      const struct weir_transaction *before)
{
	(void)t;
	(void)before;
	return weir_sink_fail(c, 74, "no");
}

/* Checkpoints first to last, each with rows and each given up; they begin a turn apart. */
static void
give_up(uint64_t first, uint64_t last)
{
	for (uint64_t n = first; n <= last; n++) {
		sink.len = 0;
		rows(1);
		(void)weir_two_phase_snapshot(tp, n, named);
		weir_two_phase_step(tp);
		weir_two_phase_abort(tp, n);
		weir_two_phase_over(tp, n + 1);
		weir_two_phase_step(tp);
	}
	sink.len = 0;
	sink.text[0] = '\0';
}

/* What checkpoint id names: how many transactions, and all of cnt checkpoints' rows in order. */
static uint32_t
name_all(uint64_t id, uint64_t cnt)
{
	const uint32_t names = weir_two_phase_snapshot(tp, id, named);
	uint64_t next = 0;

	for (uint32_t i = 0; i < names; i++) {
		cr_assert_eq(named[i].word[1], next, "%u: %lu", i, named[i].word[1]);
		next += 1 + named[i].word[2];
		cr_assert_eq(named[i].checkpoint, next, "of the last of its cuts");
	}
	cr_assert_eq(next, cnt);
	return names;
}

/* R8: what waits is committed with the first checkpoint that completes, however many do not. */
Test(two_phase, any_number_of_checkpoints_in_a_row_may_be_given_up)
{
	struct weir_error err = { 0 };

	recording.join = join_it;
	give_up(1, 1000);
	cr_assert_eq(weir_two_phase_failed(tp, &err), 0, "%s", err.text);
	cr_assert_eq(name_all(1001, 1000), WEIR_TRANSACTIONS_MAX / 2);
	cr_assert_eq(weir_two_phase_waiting_rows(tp), 1000);
	weir_two_phase_commit(tp, 1001);
	weir_two_phase_step(tp);
	cr_assert(weir_two_phase_is_committed(tp));
	cr_assert_eq(weir_two_phase_waiting_rows(tp), 0);
}

/* A checkpoint under way names them apart: if it completes, they are found by those words. */
Test(two_phase, what_a_checkpoint_under_way_names_is_not_joined)
{
	struct weir_error err = { 0 };

	recording.join = join_it;
	give_up(1, WEIR_TRANSACTIONS_MAX / 2);
	for (uint64_t n = WEIR_TRANSACTIONS_MAX / 2 + 1; n < WEIR_TRANSACTIONS_MAX - 1; n++) {
		sink.len = 0;
		rows(1);
		cr_assert_eq(name_all(n, n), n);
		/* The one before it is over, and nothing is known of this one. */
		weir_two_phase_over(tp, n);
		weir_two_phase_step(tp);
	}
	cr_assert_eq(weir_two_phase_failed(tp, &err), 0, "%s", err.text);
	weir_two_phase_over(tp, WEIR_TRANSACTIONS_MAX - 1);
	weir_two_phase_step(tp);
	cr_assert_eq(name_all(999, WEIR_TRANSACTIONS_MAX - 2), WEIR_TRANSACTIONS_MAX / 2);
}

/* T35: the end of a job without checkpoints has no number, and a savepoint may be under way. */
Test(two_phase, what_a_savepoint_under_way_at_the_end_names_is_not_joined)
{
	const uint64_t last = WEIR_TRANSACTIONS_MAX / 2 + 1;

	recording.join = join_it;
	give_up(1, last - 1);
	rows(1);
	cr_assert_eq(name_all(last, last), last);
	rows(1);
	weir_two_phase_end(tp);
	weir_two_phase_over(tp, last);
	weir_two_phase_step(tp);
	cr_assert_eq(weir_two_phase_snapshot(tp, last + 1, named), last + 1);
}

/* What is to be committed keeps its words, and so does what another attempt has begun. */
Test(two_phase, what_is_to_be_committed_is_not_joined)
{
	struct weir_transaction old[2] = { { .checkpoint = 1 }, { .checkpoint = 1 } };

	recording.join = join_it;
	sink.more = UINT32_MAX; /* commit takes for ever */
	weir_two_phase_restore(tp, old, 2, false);
	for (uint64_t n = 2; n < WEIR_TRANSACTIONS_MAX - 3; n++) {
		sink.len = 0;
		sink.more = 0;
		rows(1);
		(void)weir_two_phase_snapshot(tp, n, named);
		sink.more = UINT32_MAX;
		weir_two_phase_over(tp, n + 1);
		weir_two_phase_step(tp);
	}
	cr_assert_eq(weir_two_phase_snapshot(tp, 999, named), WEIR_TRANSACTIONS_MAX - 3);
}

Test(two_phase, a_join_that_fails_fails_the_sink)
{
	struct weir_error err = { 0 };

	recording.join = join_it;
	give_up(1, WEIR_TRANSACTIONS_MAX / 2);
	recording.join = fails_to_join;
	give_up(WEIR_TRANSACTIONS_MAX / 2 + 1, WEIR_TRANSACTIONS_MAX / 2 + 1);
	cr_assert_eq(weir_two_phase_failed(tp, &err), 74);
}

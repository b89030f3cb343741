/* Files exactly once (R8): joined transactions, committed and restored in any state of their files.
 */

#include "drivers/sim/sim_disk.h"
#include "engine/operators/text_sink.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define GIVEN_UP 300u /* checkpoints in a row, each with a row */

static struct weir_rng rng = { .state = 1 };
static uint64_t requests;
static struct weir_sim_disk *disk;
static struct weir_io *io;
static struct weir_operator_host host;
static struct weir_operator_ctx ctx;
static struct weir_text_sink *sink;
static struct weir_two_phase *tp;
static struct weir_transaction named[WEIR_TRANSACTIONS_MAX];
static uint32_t named_cnt;
static uint64_t row;	   /* next */
static uint32_t warnings;  /* of the sink */
static uint32_t io_budget; /* requests that are still carried out; then the process is gone */

static uint32_t
format(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	(void)from;
	*bytes = (size_t)snprintf(text, cap, "%llu\n", (unsigned long long)row++);
	return in->selected;
}

static void
warn(void *arg, const char *text)
{
	(void)arg;
	(void)text;
	warnings++;
}

/* A process that goes on from what is named. */
static void
start(uint64_t attempt, bool of_savepoint)
{
	const struct weir_text_sink_config sc = {
		.mode = WEIR_SINK_FILES, .dir = "/out", .format = format, .warn = warn
	};
	const struct weir_sim_io_config ic = {
		.disk = disk, .rng = &rng, .depth = 32, .requests = &requests
	};
	const struct weir_two_phase_config tc = { .sink = weir_text_sink_connector(WEIR_SINK_FILES),
						  .ctx = &ctx };

	host = (struct weir_operator_host){ .job = "job", .attempt = attempt };
	ctx = (struct weir_operator_ctx){ .host = &host, .id = "sink" };
	io = weir_sim_io_create(&ic);
	sink = weir_text_sink_create(&sc, &ctx, io);
	ctx.local = sink;
	tp = weir_two_phase_create(&tc);
	weir_two_phase_restore(tp, named, named_cnt, of_savepoint);
	cr_assert_eq(weir_two_phase_open(tp), 0);
	io_budget = UINT32_MAX;
}

static void
stop(void)
{
	weir_two_phase_destroy(tp);
	weir_text_sink_destroy(sink);
	weir_sim_io_destroy(io);
}

static void
setup(void)
{
	disk = weir_sim_disk_create(1);
	weir_sim_disk_mkdir(disk, "/out");
	named_cnt = 0;
	row = 0;
	start(1, false);
}

static void
teardown(void)
{
	stop();
	weir_sim_disk_destroy(disk);
}

TestSuite(text_sink, .init = setup, .fini = teardown);

/* One turn; false: nothing is left of the budget. */
static bool
turn(void)
{
	struct weir_io_req *done[32];
	struct weir_error err = { 0 };
	uint32_t cnt;

	weir_two_phase_step(tp);
	if (io->in_flight >= io_budget)
		return false;
	io_budget -= io->in_flight;
	weir_sim_io_progress(io, INT64_MAX / 2);
	while ((cnt = weir_io_harvest(io, done, 32)) > 0)
		for (uint32_t i = 0; i < cnt; i++)
			weir_text_sink_done(sink, done[i]);
	cr_assert_eq(weir_two_phase_failed(tp, &err), 0, "%s", err.text);
	return true;
}

/* Rows, cut by checkpoints first to last that are all given up. */
static void
give_up(uint64_t first, uint64_t last)
{
	const struct weir_batch in = { .rows = 1, .selected = 1 };

	for (uint64_t n = first; n <= last; n++) {
		while (!weir_two_phase_ready(tp, 0))
			turn();
		cr_assert_eq(weir_two_phase_write(tp, &in, 0), 0);
		(void)weir_two_phase_snapshot(tp, n, named);
		while (!weir_two_phase_is_durable(tp))
			turn();
		weir_two_phase_over(tp, n + 1);
		turn();
	}
}

/* Every row is in a committed file, once; and no other file is there. */
static void
expect_rows(uint64_t cnt)
{
	uint32_t *seen = calloc(cnt, sizeof(*seen));
	const char *name;

	for (uint32_t i = 0; (name = weir_sim_disk_name(disk, "/out", i)) != NULL; i++) {
		char path[256];
		const char *text, *end;
		uint64_t len;

		cr_assert_eq(strncmp(name, "part-sink-0-", 12), 0, "%s", name);
		snprintf(path, sizeof(path), "/out/%s", name);
		cr_expect(weir_sim_disk_is_safe(disk, path), "%s", name);
		text = (const char *)weir_sim_disk_bytes(disk, path, &len);
		for (end = text + len; text < end; text = strchr(text, '\n') + 1) {
			const uint64_t n = strtoull(text, NULL, 10);

			cr_assert_lt(n, cnt);
			seen[n]++;
		}
	}
	for (uint64_t n = 0; n < cnt; n++)
		cr_assert_eq(seen[n], 1, "row %lu: %u times", n, seen[n]);
	free(seen);
}

static void
finish(void)
{
	while (!weir_two_phase_is_committed(tp))
		turn();
}

Test(text_sink, joined_files_are_committed_one_by_one)
{
	give_up(1, GIVEN_UP);
	cr_assert(weir_text_sink_names(tp, ".part-job-1-sink-0-0"), "in the joined one");
	cr_assert(weir_text_sink_names(tp, ".part-job-1-sink-0-299"));
	cr_assert_not(weir_text_sink_names(tp, ".part-job-1-sink-0-300"));
	weir_two_phase_commit(tp, GIVEN_UP);
	finish();
	expect_rows(GIVEN_UP);
}

/* R7: killed after each of the renames, then restored from the checkpoint that names the joined. */
Test(text_sink, a_commit_of_joined_files_goes_on_where_it_was_killed)
{
	give_up(1, GIVEN_UP);
	named_cnt = weir_two_phase_snapshot(tp, GIVEN_UP + 1, named);
	cr_assert_leq(named_cnt, WEIR_TRANSACTIONS_MAX / 2 + 1);
	for (uint64_t attempt = 2; !weir_two_phase_is_committed(tp); attempt++) {
		cr_assert_lt(attempt, 100, "it gets on");
		stop();
		weir_sim_disk_kill(disk);
		start(attempt, false);
		io_budget = (uint32_t)(weir_rng_next(&rng) % (100 * attempt));
		while (!weir_two_phase_is_committed(tp) && turn())
			;
	}
	expect_rows(GIVEN_UP);
}

/* A savepoint's joined files that its own run has committed under other names are said, not lost.
 */
Test(text_sink, joined_files_of_a_savepoint_may_be_elsewhere)
{
	give_up(1, GIVEN_UP);
	named_cnt = weir_two_phase_snapshot(tp, GIVEN_UP + 1, named);
	weir_two_phase_commit(tp, GIVEN_UP + 1);
	finish();
	expect_rows(GIVEN_UP);
	stop();
	weir_sim_disk_destroy(disk);
	disk = weir_sim_disk_create(2);
	weir_sim_disk_mkdir(disk, "/out");
	start(2, true);
	finish();
	cr_expect_eq(warnings, GIVEN_UP);
}

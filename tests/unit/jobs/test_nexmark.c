/* The generated events and the queries without state against check values that are
 * fixed. */

#include "jobs/nexmark/nexmark.h"
#include "tests/scratch.h"
#include "tests/unit/jobs/fake_job.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct weir_params standard = {
	.events = 1000000, .seed = 1, .event_rate = 100000, .group = 1
};

/* First 16 hex digits of the digest of the job's sorted lines. */
static void
digest(weir_job_fn build, const struct weir_params *params, uint32_t parallelism, char out[17])
{
	struct weir_job job = { 0 };
	char path[256], command[320];
	int fd = mkstemp(scratch_template(path, sizeof(path), "nexmark"));
	FILE *f;

	cr_assert(fd >= 0);
	cr_assert_eq(build(&job, params), 0);
	f = fdopen(fd, "w");
	fake_run(&job, params, parallelism, f);
	fclose(f);
	snprintf(command, sizeof(command), "LC_ALL=C sort %s | sha256sum", path);
	f = popen(command, "r");
	cr_assert_eq(fread(out, 1, 16, f), 16u);
	out[16] = '\0';
	pclose(f);
	unlink(path);
}

Test(nexmark, queries_without_state_have_the_published_digests)
{
	char got[17];

	for (uint32_t parallelism = 1; parallelism <= 3; parallelism++) {
		digest(weir_nexmark_q0, &standard, parallelism, got);
		cr_assert_str_eq(got, "6144a2b5c301c85e");
		digest(weir_nexmark_q1, &standard, parallelism, got);
		cr_assert_str_eq(got, "cfee20a9ba2371d8");
		digest(weir_nexmark_q2, &standard, parallelism, got);
		cr_assert_str_eq(got, "7bbd2676603495a1");
	}
}

/* Whatever the order, the set of events is the same. */
Test(nexmark, groups_change_the_order_only)
{
	struct weir_params params = standard;
	char got[17];

	params.group = 1000;
	digest(weir_nexmark_q2, &params, 2, got);
	cr_assert_str_eq(got, "7bbd2676603495a1");
	params.group = 7777;
	digest(weir_nexmark_q2, &params, 3, got);
	cr_assert_str_eq(got, "7bbd2676603495a1");
}

static void
check_watermark(void *arg, const struct weir_read *batch)
{
	int64_t *watermark = arg;
	const int64_t *times = batch->col[WEIR_BID_TIME];

	for (uint32_t i = 0; i < batch->rows; i++)
		cr_assert(times[i] > *watermark, "a row at or below the watermark");
	cr_assert(batch->end || batch->watermark_ns >= *watermark);
	*watermark = batch->watermark_ns;
}

Test(nexmark, no_row_is_below_the_watermark_and_every_number_comes_once)
{
	struct weir_params params = { .events = 100001, .seed = 7, .event_rate = 777 };
	const uint64_t groups[] = { 1, 2, 50, 999, 4001, 200000 };

	for (uint32_t i = 0; i < 6; i++) {
		struct weir_reader_ctx ctx = { .params = &params };
		struct weir_splits splits = { 0 };
		struct fake_sums sums;
		uint64_t rows = 0, others = 0;

		params.group = groups[i];
		cr_assert_eq(weir_nexmark_source.enumerate(&params, 3, &splits), 0);
		for (uint32_t s = 0; s < splits.cnt; s++) {
			int64_t watermark = splits.list[s].hold_ns;

			cr_assert_eq(fake_read_split(&weir_nexmark_source, &ctx, &splits.list[s],
						     100, 1, 3, &sums, check_watermark, &watermark),
				     0);
			rows += sums.rows;
			others += sums.dropped[0];
		}
		fake_splits_free(&splits);
		cr_assert_eq(rows + others, 100001u, "group %lu: %lu", (unsigned long)groups[i],
			     (unsigned long)(rows + others));
		cr_assert_eq(rows, 100001u / 50 * 46);
	}
}

Test(nexmark, no_events_are_an_empty_input)
{
	struct weir_params params = standard;
	char got[17];

	params.events = 0;
	digest(weir_nexmark_q0, &params, 2, got);
	cr_assert_str_eq(got, "e3b0c44298fc1c14", "the digest of nothing");
}

Test(nexmark, refuses_groups_that_are_multiples_of_953)
{
	struct weir_params params = standard;
	struct weir_splits splits = { 0 };

	params.group = 1906;
	cr_assert_eq(weir_nexmark_source.enumerate(&params, 1, &splits), 78);
	cr_assert(strstr(splits.error, "953") != NULL, "%s", splits.error);
}

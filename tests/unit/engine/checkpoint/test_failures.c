#include "engine/checkpoint/failures.h"

#include <criterion/criterion.h>

static enum weir_failure_verdict
fail(struct weir_failures *f, uint64_t id, enum weir_reason reason)
{
	struct weir_failure failure = { .id = id, .reason = reason };

	return weir_failures_failed(f, &failure);
}

Test(failures, one_checkpoint_counts_once_and_success_starts_over) /* K11 */
{
	struct weir_failures f;

	weir_failures_init(&f, 1);
	cr_assert_eq(fail(&f, 1, WEIR_REASON_CHECKPOINT_EXPIRED), WEIR_FAILURE_GO_ON);
	cr_assert_eq(fail(&f, 1, WEIR_REASON_CHECKPOINT_DECLINED), WEIR_FAILURE_GO_ON);
	weir_failures_succeeded(&f, 2);
	cr_assert_eq(f.cnt, 0);
	cr_assert_eq(fail(&f, 2, WEIR_REASON_CHECKPOINT_EXPIRED), WEIR_FAILURE_GO_ON);
	cr_assert_eq(f.cnt, 0, "not above the last success");
	cr_assert_eq(fail(&f, 3, WEIR_REASON_CHECKPOINT_EXPIRED), WEIR_FAILURE_GO_ON);
	cr_assert_eq(fail(&f, 4, WEIR_REASON_CHECKPOINT_EXPIRED), WEIR_FAILURE_FAIL_JOB);
	cr_assert_eq(f.cnt, 0);
	weir_failures_fini(&f);
}

Test(failures, reasons_that_count) /* K12 */
{
	uint32_t counted = 0;

	for (int r = WEIR_REASON_NONE + 1; r < WEIR_REASON_CNT; r++)
		counted += weir_reason_counts((enum weir_reason)r);
	cr_assert_eq(counted, 5);
	cr_assert(weir_reason_counts(WEIR_REASON_IO_EXCEPTION));
	cr_assert_not(weir_reason_counts(WEIR_REASON_CHECKPOINT_SUBSUMED));
}

Test(failures, savepoints_count_with_a_task_only) /* K13 */
{
	struct weir_failure failure = {
		.id = 1,
		.reason = WEIR_REASON_CHECKPOINT_DECLINED,
		.kind = WEIR_FAILED_SAVEPOINT,
	};
	struct weir_failures f;

	weir_failures_init(&f, 0);
	cr_assert_eq(weir_failures_failed(&f, &failure), WEIR_FAILURE_GO_ON);
	failure.has_task = true;
	cr_assert_eq(weir_failures_failed(&f, &failure), WEIR_FAILURE_FAIL_JOB_BY_TASK);
	failure.kind = WEIR_FAILED_SYNC_SAVEPOINT;
	cr_assert_eq(weir_failures_failed(&f, &failure), WEIR_FAILURE_FAIL_JOB);
	failure.reason = WEIR_REASON_IO_EXCEPTION;
	cr_assert_eq(weir_failures_failed(&f, &failure), WEIR_FAILURE_GO_ON);
	weir_failures_fini(&f);
}

Test(failures, unlimited_never_counts)
{
	struct weir_failures f;

	weir_failures_init(&f, WEIR_FAILURES_UNLIMITED);
	for (uint64_t i = 1; i < 100; i++)
		cr_assert_eq(fail(&f, i, WEIR_REASON_IO_EXCEPTION), WEIR_FAILURE_GO_ON);
	cr_assert_eq(f.cnt, 0);
	weir_failures_fini(&f);
}

Test(failures, reason_names_are_read_back)
{
	for (int r = WEIR_REASON_NONE + 1; r < WEIR_REASON_CNT; r++) {
		const char *text = weir_reason_text((enum weir_reason)r);

		cr_assert_eq((int)weir_reason_parse(text), r);
	}
	cr_assert_eq(weir_reason_parse("RAIN"), WEIR_REASON_NONE);
}

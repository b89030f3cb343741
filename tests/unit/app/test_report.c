/* What the report makes of checkpoints that come, change and are left behind. */

#include "app/report.h"

#include <criterion/criterion.h>
#include <string.h>

static void
checkpoint(struct weir_report *r, int id, const char *status)
{
	json_t *entry = json_pack("{s:i, s:s}", "id", id, "status", status);

	weir_report_checkpoint(r, entry);
	json_decref(entry);
}

static void
expect_counts(const struct weir_report *r, uint64_t triggered, uint64_t completed, uint64_t failed,
	      uint64_t aborted)
{
	cr_expect_eq(r->triggered, triggered);
	cr_expect_eq(r->completed, completed);
	cr_expect_eq(r->failed, failed);
	cr_expect_eq(r->aborted, aborted);
}

static uint32_t ended_cnt, with_tasks_cnt;

static void
note_ended(void *arg, json_t *entry)
{
	(void)arg;
	ended_cnt++;
	with_tasks_cnt += json_object_get(entry, "tasks") != NULL;
}

/* K16: the history is told once what has ended, with details that the list does not keep. */
Test(report, what_has_ended_is_told_with_its_details)
{
	struct weir_report r;
	json_t *entry = json_pack("{s:i, s:s, s:[]}", "id", 1, "status", "completed", "tasks");

	weir_report_init(&r);
	r.ended = note_ended;
	weir_report_attempt(&r);
	checkpoint(&r, 1, "pending");
	cr_expect_eq(ended_cnt, 0);
	weir_report_checkpoint(&r, entry);
	cr_expect_eq(ended_cnt, 1);
	cr_expect_eq(with_tasks_cnt, 1);
	cr_expect_null(json_object_get(json_array_get(r.checkpoints, 0), "tasks"));
	checkpoint(&r, 2, "pending");
	weir_report_attempt_over(&r, 1, "TASK_FAILURE");
	cr_expect_eq(ended_cnt, 2);
	json_decref(entry);
	weir_report_fini(&r);
}

Test(report, a_checkpoint_counts_once)
{
	struct weir_report r;

	weir_report_init(&r);
	weir_report_attempt(&r);
	checkpoint(&r, 1, "pending");
	expect_counts(&r, 1, 0, 0, 0);
	checkpoint(&r, 2, "pending");
	checkpoint(&r, 1, "completed");
	checkpoint(&r, 2, "failed");
	checkpoint(&r, 1, "completed");
	checkpoint(&r, 3, "aborted");
	expect_counts(&r, 3, 1, 1, 1);
	cr_expect_eq(json_array_size(r.checkpoints), 3);
	weir_report_fini(&r);
}

Test(report, pending_ones_are_settled_by_what_is_durable)
{
	struct weir_report r;

	weir_report_init(&r);
	weir_report_attempt(&r);
	checkpoint(&r, 4, "pending");
	checkpoint(&r, 5, "pending");
	weir_report_attempt_over(&r, 4, "TASK_FAILURE");
	expect_counts(&r, 2, 1, 0, 1);
	cr_expect_str_eq(
		json_string_value(json_object_get(json_array_get(r.checkpoints, 1), "reason")),
		"TASK_FAILURE");
	weir_report_attempt_over(&r, 5, "TASK_FAILURE");
	expect_counts(&r, 2, 1, 0, 1);
	weir_report_fini(&r);
}

Test(report, the_last_thousand_are_listed_all_are_counted)
{
	struct weir_report r;

	weir_report_init(&r);
	weir_report_attempt(&r);
	for (int id = 1; id <= 1200; id++) {
		checkpoint(&r, id, "pending");
		checkpoint(&r, id, "completed");
	}
	expect_counts(&r, 1200, 1200, 0, 0);
	cr_expect_eq(json_array_size(r.checkpoints), 1000);
	cr_expect_eq(json_integer_value(json_object_get(json_array_get(r.checkpoints, 0), "id")),
		     201);
	weir_report_fini(&r);
}

Test(report, restores_are_those_after_the_first_attempt)
{
	json_t *restored = json_pack("{s:i, s:s}", "checkpoint", 7, "path", "/x/chk-7");
	struct weir_report r;

	weir_report_init(&r);
	weir_report_attempt(&r);
	weir_report_running(&r, NULL, 5);
	cr_expect_eq(json_array_size(r.restores), 0);
	weir_report_attempt(&r);
	weir_report_running(&r, restored, 9);
	cr_expect_eq(json_array_size(r.restores), 1);
	cr_expect(json_equal(r.restored, restored));
	cr_expect_eq(r.running_ns, 5);
	weir_report_attempt(&r);
	cr_expect_null(r.restored);
	/* One that was killed before it ran has its place as well. */
	cr_expect_eq(json_array_size(r.restores), 2);
	cr_expect(json_equal(json_array_get(r.restores, 0), restored));
	json_decref(restored);
	weir_report_fini(&r);
}

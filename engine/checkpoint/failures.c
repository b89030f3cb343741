#include "engine/checkpoint/failures.h"

#include "engine/base/plant.h"
#include "engine/checkpoint/grow.h"

#include <stdlib.h>

void
weir_failures_init(struct weir_failures *f, uint32_t tolerable)
{
	*f = (struct weir_failures){ .tolerable = tolerable };
}

void
weir_failures_fini(struct weir_failures *f)
{
	free(f->counted);
	*f = (struct weir_failures){ 0 };
}

static void
start_over(struct weir_failures *f)
{
	f->cnt = 0;
	f->counted_cnt = 0;
}

static bool
counted_before(const struct weir_failures *f, uint64_t id)
{
	for (uint32_t i = 0; i < f->counted_cnt; i++) {
		if (f->counted[i] == id)
			return true;
	}
	return false;
}

/* K11: true if this failure was one too many. */
static bool
count(struct weir_failures *f, const struct weir_failure *failure)
{
	if (f->tolerable == WEIR_FAILURES_UNLIMITED ||
	    !weir_reason_counts(failure->reason)) /* K12 */
		return false;
	if (failure->id != 0) {
		if (failure->id <= f->last_success || counted_before(f, failure->id))
			return false;
		f->counted = weir_grow(f->counted, &f->counted_cap, f->counted_cnt + 1,
				       sizeof(*f->counted));
		f->counted[f->counted_cnt++] = failure->id;
	}
	f->cnt++;
	if (f->cnt <= f->tolerable)
		return false;
	start_over(f);
	return true;
}

enum weir_failure_verdict
weir_failures_failed(struct weir_failures *f, const struct weir_failure *failure)
{
	/* K13: without a task, or before anything started, only a checkpoint speaks against the
	 * job. */
	if (!failure->has_task || weir_reason_is_preflight(failure->reason)) {
		if (failure->kind != WEIR_FAILED_CHECKPOINT)
			return WEIR_FAILURE_GO_ON;
		return count(f, failure) ? WEIR_FAILURE_FAIL_JOB : WEIR_FAILURE_GO_ON;
	}
	/* K13: the tasks of a synchronous savepoint would wait for ever. */
	if (failure->kind == WEIR_FAILED_SYNC_SAVEPOINT)
		return WEIR_FAILURE_FAIL_JOB;
	return count(f, failure) ? WEIR_FAILURE_FAIL_JOB_BY_TASK : WEIR_FAILURE_GO_ON;
}

void
weir_failures_succeeded(struct weir_failures *f, uint64_t id)
{
	if (id <= f->last_success)
		return;
	f->last_success = id;
	if (!WEIR_PLANT(FAILURES_STAY))
		start_over(f);
}

#ifndef WEIR_ENGINE_CHECKPOINT_FAILURES_H
#define WEIR_ENGINE_CHECKPOINT_FAILURES_H

/*
 * Failure manager (K11-K13): counts consecutive failed checkpoints and says when the job must fail.
 *
 * Threads:   the coordinator's. Ownership: caller's memory; the set of counted ids is allocated and
 *            freed by fini.
 * Cost:      a search in the ids counted since the last success.
 */

#include "engine/checkpoint/reasons.h"

#define WEIR_FAILURES_UNLIMITED UINT32_MAX

enum weir_failed_kind {
	WEIR_FAILED_CHECKPOINT,
	WEIR_FAILED_SAVEPOINT,
	WEIR_FAILED_SYNC_SAVEPOINT, /* its tasks wait for the outcome */
};

enum weir_failure_verdict {
	WEIR_FAILURE_GO_ON,
	WEIR_FAILURE_FAIL_JOB,	       /* nobody in particular is to blame */
	WEIR_FAILURE_FAIL_JOB_BY_TASK, /* the named task is */
};

struct weir_failures {
	uint32_t tolerable; /* WEIR_FAILURES_UNLIMITED: nothing is counted */
	uint32_t cnt;
	uint64_t last_success; /* highest completed id, 0 for none */
	uint64_t *counted;     /* ids counted since then, each once */
	uint32_t counted_cnt;
	uint32_t counted_cap;
};

struct weir_failure {
	uint64_t id; /* 0: failed before it got one */
	enum weir_reason reason;
	enum weir_failed_kind kind;
	bool has_task; /* a task reported it */
};

void weir_failures_init(struct weir_failures *f, uint32_t tolerable);
void weir_failures_fini(struct weir_failures *f);

/* A checkpoint failed. After a verdict to fail the job the count starts again at 0. */
enum weir_failure_verdict weir_failures_failed(struct weir_failures *f,
					       const struct weir_failure *failure) WEIR_MUST_USE;

/* Checkpoint or savepoint id completed. */
void weir_failures_succeeded(struct weir_failures *f, uint64_t id);

#endif /* WEIR_ENGINE_CHECKPOINT_FAILURES_H */

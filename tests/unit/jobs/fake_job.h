#ifndef WEIR_TESTS_FAKE_JOB_H
#define WEIR_TESTS_FAKE_JOB_H

/* A job builder that keeps what a straight job is made of, and a loop that runs it: source, one
 * operator or none, text. No keys, no windows. */

#include "tests/unit/drivers/fake_engine.h"

#include <stdio.h>

struct weir_stream {
	struct weir_job *job;
};

struct weir_job {
	struct weir_stream stream;
	const struct weir_connector *connector;
	const struct weir_operator *op;
	weir_format_fn format;
	uint32_t top_cnt;
	struct weir_window window;
	char failed_param[64];
};

struct weir_operator_ctx {
	uint64_t truncated;
};

typedef void (*fake_batch_fn)(void *arg, const struct weir_batch *batch);

/* Run one operator over a batch, with room for cap rows and heap_cap bytes per output batch. */
int fake_process(const struct weir_operator *op, struct weir_operator_ctx *ctx,
		 const struct weir_type *type, const struct weir_batch *in, uint32_t cap,
		 uint32_t heap_cap, fake_batch_fn emit, void *arg);

/* Read all splits and write the lines. */
void fake_run(const struct weir_job *job, const struct weir_params *params, uint32_t parallelism,
	      FILE *to);

#endif /* WEIR_TESTS_FAKE_JOB_H */

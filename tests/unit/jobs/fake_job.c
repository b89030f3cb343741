#include "tests/unit/jobs/fake_job.h"

#include <stdlib.h>
#include <string.h>

struct weir_stream *
weir_source(struct weir_job *job, const char *id, const struct weir_connector *connector)
{
	(void)id;
	job->stream.job = job;
	job->connector = connector;
	return &job->stream;
}

struct weir_stream *
weir_process(struct weir_stream *in, const char *id, const struct weir_operator *op)
{
	(void)id;
	in->job->op = op;
	return in;
}

struct weir_stream *
weir_key_by(struct weir_stream *in, uint32_t column)
{
	(void)column;
	return in;
}

struct weir_stream *
weir_rebalance(struct weir_stream *in)
{
	return in;
}

struct weir_stream *
weir_reduce(struct weir_stream *in, const char *id, const struct weir_reduce *reduce)
{
	(void)id;
	(void)reduce;
	return in;
}

struct weir_stream *
weir_window(struct weir_stream *in, const char *id, const struct weir_window *window)
{
	(void)id;
	in->job->window = *window;
	return in;
}

struct weir_stream *
weir_top(struct weir_stream *in, const char *id, const struct weir_top *top)
{
	(void)id;
	(void)top;
	in->job->top_cnt++;
	return in;
}

void
weir_parallelism(struct weir_stream *stream, uint32_t parallelism)
{
	(void)stream;
	(void)parallelism;
}

void
weir_sink(struct weir_stream *in, const char *id, weir_format_fn format)
{
	(void)id;
	in->job->format = format;
}

int
weir_param_fail(struct weir_job *job, const char *name, const char *fmt, ...)
{
	(void)fmt;
	snprintf(job->failed_param, sizeof(job->failed_param), "%s", name);
	return 78;
}

void
weir_operator_truncated(struct weir_operator_ctx *ctx, uint64_t values)
{
	ctx->truncated += values;
}

struct collector {
	struct weir_out out; /* first: emit gets it */
	fake_batch_fn emit;
	void *arg;
};

static int
collect(struct weir_out *out, const struct weir_batch *batch)
{
	struct collector *c = (struct collector *)out;

	c->emit(c->arg, batch);
	return 0;
}

int
fake_process(const struct weir_operator *op, struct weir_operator_ctx *ctx,
	     const struct weir_type *type, const struct weir_batch *in, uint32_t cap,
	     uint32_t heap_cap, fake_batch_fn emit, void *arg)
{
	struct collector c = { .out = { .cap = cap, .heap_cap = heap_cap, .emit = collect },
			       .emit = emit,
			       .arg = arg };
	uint32_t i;
	int rc;

	c.out.own_sel = malloc(cap * sizeof(uint16_t));
	c.out.heap = malloc(heap_cap + 1);
	for (i = 0; i < type->column_cnt; i++)
		c.out.own[i] = malloc((size_t)cap * type->columns[i].width);
	rc = op->process(ctx, in, &c.out);
	for (i = 0; i < type->column_cnt; i++)
		free(c.out.own[i]);
	free(c.out.heap);
	free(c.out.own_sel);
	return rc;
}

struct run {
	const struct weir_job *job;
	FILE *to;
	char text[2 * WEIR_TEXT_MAX];
};

static void
write_lines(void *arg, const struct weir_batch *batch)
{
	struct run *run = arg;
	size_t bytes;

	for (uint32_t from = 0; from < batch->selected;) {
		uint32_t n = run->job->format(batch, from, run->text, sizeof(run->text), &bytes);

		if (n == 0)
			abort();
		fwrite(run->text, 1, bytes, run->to);
		from += n;
	}
}

static void
run_batch(void *arg, const struct weir_read *read)
{
	struct run *run = arg;
	const struct weir_type *type = run->job->connector->type;
	struct weir_operator_ctx ctx = { 0 };
	struct weir_batch in = { .rows = read->rows, .selected = read->rows };

	for (uint32_t c = 0; c < type->column_cnt; c++) {
		in.col[c] = read->col[c];
		in.heap[c] = read->heap;
	}
	if (run->job->op == NULL)
		write_lines(run, &in);
	else if (in.rows > 0 && fake_process(run->job->op, &ctx, type, &in, WEIR_BATCH_ROWS, 4096,
					     write_lines, run) != 0)
		abort();
}

void
fake_run(const struct weir_job *job, const struct weir_params *params, uint32_t parallelism,
	 FILE *to)
{
	static struct run run;
	struct weir_reader_ctx ctx = { .params = params };
	struct weir_splits splits = { 0 };
	struct fake_sums sums;

	run.job = job;
	run.to = to;
	if (job->connector->enumerate(params, parallelism, &splits) != 0)
		abort();
	for (uint32_t i = 0; i < splits.cnt; i++)
		if (fake_read_split(job->connector, &ctx, &splits.list[i], WEIR_BATCH_ROWS, 4096, 5,
				    &sums, run_batch, &run) != 0)
			abort();
	fake_splits_free(&splits);
}

#include "bench/jobs/jobs.h"

#include "bench/jobs/kernels.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEY, VALUE, TIME, PAD, SUM, END_SUM = 1 };
WEIR_TYPE(bench_row, WEIR_U64("key"), WEIR_I64("value"), WEIR_TIME("time"), WEIR_U64("pad"));

enum { RESULT_ROWS, RESULT_SUM, RESULT_NS };
WEIR_TYPE(bench_result, WEIR_U64("rows"), WEIR_U64("sum"), WEIR_TIME("elapsed"));

/* Set once while the job is built, read by all cores. */
static struct {
	uint64_t keys;
	uint64_t rows; /* in all */
	uint64_t warm; /* of them, before the clock starts */
	uint64_t streams;
	bool combiner; /* every key's sum once, at the end: only then may rows be added up before */
	const struct bench_kernels *kernels;
} work;

/* When the first row behind the warm-up was made; written once. */
static _Atomic int64_t started_ns;

static int64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* --- the generator: one split per stream --- */

struct reader {
	uint64_t next;
	uint64_t end;
	uint64_t stream;
	bool timed; /* the clock runs */
};

static int
gen_enumerate(const struct weir_params *params, uint32_t parallelism, struct weir_splits *splits)
{
	char name[32];
	int rc = 0;

	(void)params;
	(void)parallelism;
	for (uint64_t s = 0; s < work.streams && rc == 0; s++) {
		snprintf(name, sizeof(name), "stream-%u", (unsigned)s);
		rc = weir_splits_add(splits, &(struct weir_split){ .name = name,
								   .end = work.rows / work.streams,
								   .hold_ns = WEIR_TIME_END,
								   .word = { s } });
	}
	return rc;
}

/* The first of the readers to get here starts the clock for all. */
static void
clock_start(struct reader *r)
{
	int64_t unset = 0;

	r->timed = true;
	/* Relaxed: a number that orders nothing. */
	atomic_compare_exchange_strong_explicit(&started_ns, &unset, now_ns(), memory_order_relaxed,
						memory_order_relaxed);
}

static int
gen_open(struct weir_reader_ctx *ctx, void *reader, const struct weir_split *split,
	 const struct weir_position *position)
{
	struct reader *r = reader;

	(void)ctx;
	*r = (struct reader){ position->word[0], split->end, split->word[0], false };
	return 0;
}

static int
gen_read(struct weir_reader_ctx *ctx, void *reader, struct weir_read *batch)
{
	struct reader *r = reader;
	const uint64_t left = r->end - r->next;
	const uint32_t cap = batch->cap - batch->cap % BENCH_PAD;
	const uint32_t rows = left < cap ? (uint32_t)left : cap;
	const struct bench_rows out = { batch->col[KEY], batch->col[VALUE], batch->col[TIME],
					batch->col[PAD] };

	(void)ctx;
	if (WEIR_UNLIKELY(!r->timed && r->next >= work.warm / work.streams))
		clock_start(r);
	work.kernels->generate(&out, r->stream, r->next, work.keys, rows);
	r->next += rows;
	batch->rows = rows;
	batch->bytes = (uint64_t)rows * 32;
	batch->watermark_ns = (int64_t)r->next - 1;
	batch->end = r->next == r->end;
	return 0;
}

static void
gen_position(const void *reader, struct weir_position *position)
{
	const struct reader *r = reader;

	position->word[0] = r->next;
}

static void
gen_close(void *reader)
{
	(void)reader;
}

static const struct weir_connector generator = {
	.name = "bench",
	.type = &bench_row,
	.reader_bytes = sizeof(struct reader),
	.enumerate = gen_enumerate,
	.open = gen_open,
	.read = gen_read,
	.position = gen_position,
	.close = gen_close,
};

/* --- operators --- */

static int
map_process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)ctx;
	weir_out_same(out, in);
	/* All rows: to leave out those that are not selected costs more than to map them. */
	work.kernels->map(in->col[VALUE], weir_out_column(out, VALUE), in->rows);
	return weir_out_emit(out);
}

static int
filter_process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const int64_t *value = in->col[VALUE];
	uint16_t *sel;
	uint32_t kept = 0;

	(void)ctx;
	weir_out_same(out, in);
	sel = weir_out_select(out);
	if (in->sel == NULL) {
		kept = work.kernels->filter(value, in->rows, sel);
	} else {
		for (uint32_t i = 0; i < in->selected; i++) {
			sel[kept] = in->sel[i];
			kept += (value[in->sel[i]] & 7) != 0;
		}
	}
	out->batch.selected = kept;
	return weir_out_emit(out);
}

struct check {
	uint64_t rows;
	uint64_t sum;
};

/* Four sums side by side: one would wait for its own last addition. sel NULL: all rows. */
WEIR_INLINE uint64_t
sum_of(const uint64_t *sums, const uint16_t *sel, uint32_t cnt)
{
	uint64_t a = 0, b = 0, c = 0, d = 0;
	uint32_t i = 0;

	for (; i + 4 <= cnt; i += 4) {
		a += sums[sel != NULL ? sel[i] : i];
		b += sums[sel != NULL ? sel[i + 1] : i + 1];
		c += sums[sel != NULL ? sel[i + 2] : i + 2];
		d += sums[sel != NULL ? sel[i + 3] : i + 3];
	}
	for (; i < cnt; i++)
		a += sums[sel != NULL ? sel[i] : i];
	return a + b + c + d;
}

WEIR_INLINE int
add_up(struct check *c, const struct weir_batch *in, uint32_t column)
{
	const uint64_t *sums = weir_u64(in, column);

	c->sum += in->sel == NULL ? sum_of(sums, NULL, in->rows)
				  : sum_of(sums, in->sel, in->selected);
	c->rows += in->selected;
	return 0;
}

static int
check_process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)out;
	return add_up(weir_operator_local(ctx), in, SUM);
}

static int
check_end_process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)out;
	return add_up(weir_operator_local(ctx), in, END_SUM);
}

static int
check_end(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	const int64_t elapsed = now_ns() - atomic_load_explicit(&started_ns, memory_order_relaxed);
	const struct check *c = weir_operator_local(ctx);
	struct weir_batch *b = weir_out_rows(out);

	((uint64_t *)b->col[RESULT_ROWS])[0] = c->rows;
	((uint64_t *)b->col[RESULT_SUM])[0] = c->sum;
	((int64_t *)b->col[RESULT_NS])[0] = elapsed;
	b->rows = 1;
	b->selected = 1;
	return weir_out_emit(out);
}

static uint32_t
result_format(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	const uint32_t row = weir_row(in, from);
	const int len = snprintf(text, cap, "{\"rows\": %llu, \"sum\": %llu, \"seconds\": %.9f}\n",
				 (unsigned long long)weir_u64(in, RESULT_ROWS)[row],
				 (unsigned long long)weir_u64(in, RESULT_SUM)[row],
				 (double)weir_time(in, RESULT_NS)[row] * 1e-9);

	*bytes = (size_t)len;
	return 1;
}

static const struct weir_operator map = {
	.name = "map",
	.reads = 1u << VALUE,
	.writes = 1u << VALUE,
	.process = map_process,
};
static const struct weir_operator filter = {
	.name = "filter",
	.reads = 1u << VALUE,
	.process = filter_process,
};
/* It asks for every column, so that all of them are carried, as the reference carries them. */
static const struct weir_operator check = {
	.name = "check",
	.out = &bench_result,
	.reads = 1u << KEY | 1u << VALUE | 1u << TIME | 1u << PAD | 1u << SUM,
	.local_bytes = sizeof(struct check),
	.process = check_process,
	.end = check_end,
};

/* Key and sum are all that comes. */
static const struct weir_operator check_end_sums = {
	.name = "check",
	.out = &bench_result,
	.reads = 1u << KEY | 1u << END_SUM,
	.local_bytes = sizeof(struct check),
	.process = check_end_process,
	.end = check_end,
};

/* --- jobs --- */

static int
set_up(struct weir_job *job)
{
	const char *text = getenv("WEIR_BENCH_JOB");
	unsigned long long keys = 0;
	unsigned long long rows = 0;
	unsigned long long streams = 0;
	unsigned long long warm = 0;
	unsigned combiner = 0;

	if (text == NULL ||
	    sscanf(text, "keys=%llu rows=%llu streams=%llu combiner=%u warm=%llu", &keys, &rows,
		   &streams, &combiner, &warm) < 4 ||
	    keys == 0 || keys > UINT32_MAX || streams == 0 || rows % streams != 0)
		return weir_param_fail(job, "name", "this job is for weir bench only");
	work.keys = keys;
	work.rows = rows;
	work.warm = warm;
	work.streams = streams;
	work.combiner = combiner != 0;
	work.kernels = bench_kernels_for(weir_isa());
	return 0;
}

/* With a combiner there are no sums behind every row: those at the end are checked. */
static void
sum_and_check_end(struct weir_stream *rows)
{
	struct weir_stream *sums = weir_reduce(
		weir_key_by(rows, KEY), "sum",
		&(struct weir_reduce){
			.emit = WEIR_EMIT_END, .agg_cnt = 1, .agg = { { WEIR_SUM, VALUE } } });

	weir_sink(weir_process(sums, "check", &check_end_sums), "result", result_format);
}

static void
sum_and_check(struct weir_stream *rows)
{
	struct weir_stream *sums = weir_reduce(
		weir_key_by(rows, KEY), "sum",
		&(struct weir_reduce){
			.emit = WEIR_EMIT_EACH, .agg_cnt = 1, .agg = { { WEIR_SUM, VALUE } } });

	weir_sink(weir_process(sums, "check", &check), "result", result_format);
}

static int
fused_job(struct weir_job *job, const struct weir_params *params)
{
	struct weir_stream *rows;

	(void)params;
	if (set_up(job) != 0)
		return -1;
	rows = weir_source(job, "generate", &generator);
	rows = weir_process(rows, "map", &map);
	rows = weir_process(rows, "filter", &filter);
	sum_and_check(rows);
	return 0;
}

static int
exchange_job(struct weir_job *job, const struct weir_params *params)
{
	(void)params;
	if (set_up(job) != 0)
		return -1;
	if (work.combiner)
		sum_and_check_end(weir_source(job, "generate", &generator));
	else
		sum_and_check(weir_source(job, "generate", &generator));
	return 0;
}

/* Hands on what it gets: a task between two exchanges. */
static int
relay_process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)ctx;
	weir_out_same(out, in);
	return weir_out_emit(out);
}

static const struct weir_operator relay = {
	.name = "relay",
	.reads = 1u << KEY | 1u << VALUE | 1u << TIME | 1u << PAD,
	.process = relay_process,
};

static uint32_t
row_format(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	const uint32_t row = weir_row(in, from);

	*bytes = (size_t)snprintf(text, cap, "%llu,%lld\n",
				  (unsigned long long)weir_u64(in, KEY)[row],
				  (long long)((const int64_t *)in->col[VALUE])[row]);
	return 1;
}

static int
checkpoint_job(struct weir_job *job, const struct weir_params *params)
{
	struct weir_stream *rows;

	(void)params;
	if (set_up(job) != 0)
		return -1;
	rows = weir_source(job, "generate", &generator);
	rows = weir_process(weir_rebalance(rows), "relay", &relay);
	weir_sink(weir_rebalance(rows), "result", row_format);
	return 0;
}

weir_job_fn
weir_bench_job(const char *name)
{
	if (strcmp(name, "bench-fused") == 0)
		return fused_job;
	if (strcmp(name, "bench-exchange") == 0)
		return exchange_job;
	if (strcmp(name, "bench-checkpoint") == 0)
		return checkpoint_job;
	return NULL;
}

/* `weir bench checkpoint` as one of the benches: its settings, its table and its JSON. */
#include "bench/bench_priv.h"
#include "bench/checkpoint.h"

#include <stdlib.h>
#include <string.h>

static void
json_percentiles(FILE *out, const char *name, const struct bench_percentiles *p)
{
	fprintf(out,
		"  \"%s\": {\"p50\": %.6g, \"p90\": %.6g, \"p99\": %.6g, \"max\": %.6g, "
		"\"count\": %u},\n",
		name, p->p50, p->p90, p->p99, p->max, p->count);
}

static void
json_result(FILE *out, const struct bench_checkpoint_result *r)
{
	fprintf(out,
		"{\n  \"bench\": \"checkpoint\",\n"
		"  \"setup\": {\"mode\": \"%s\", \"aligned_timeout_ms\": %u, \"interval_ms\": %u, "
		"\"sink_rate\": %llu, \"parallelism\": 2},\n",
		r->mode, r->timeout_ms, r->interval_ms, (unsigned long long)r->sink_rate);
	json_percentiles(out, "end_to_end_ms", &r->end_to_end_ms);
	json_percentiles(out, "alignment_ms", &r->alignment_ms);
	json_percentiles(out, "persisted_bytes", &r->persisted_bytes);
	fprintf(out, "  \"rows_per_s\": %.6g,\n", r->rows_per_s);
	bench_print_environment(out);
	fprintf(out, "}");
}

static void
table(FILE *out, const struct bench_checkpoint_result *results, uint32_t cnt)
{
	fprintf(out, "checkpoint sink-rate=%llu\n  %-16s %6s %9s %9s %9s %9s  %12s %10s\n",
		(unsigned long long)results[0].sink_rate, "end to end, ms", "count", "p50", "p90",
		"p99", "max", "bytes p50", "rows/s");
	for (uint32_t i = 0; i < cnt; i++) {
		const struct bench_percentiles *p = &results[i].end_to_end_ms;

		fprintf(out, "  %-16s %6u %9.2f %9.2f %9.2f %9.2f  %12.0f %10.0f\n",
			results[i].mode, p->count, p->p50, p->p90, p->p99, p->max,
			results[i].persisted_bytes.p50, results[i].rows_per_s);
	}
}

static uint64_t
count_or_default(const char *value)
{
	return strcmp(value, "auto") == 0 ? 0 : strtoull(value, NULL, 10);
}

enum { KEY_MODE, KEY_RATE, KEY_COUNT };

static int
run(const struct bench_setup *setup, const struct bench_options *opts, FILE *json,
    struct weir_error *err)
{
	struct bench_checkpoint_result results[BENCH_MODES];
	const struct bench_checkpoint_request request = {
		.mode = strcmp(setup->value[KEY_MODE], "all") != 0 ? setup->value[KEY_MODE] : NULL,
		.sink_rate = count_or_default(setup->value[KEY_RATE]),
		.checkpoints = (uint32_t)count_or_default(setup->value[KEY_COUNT]),
		.cpus = { opts->cpus[0], opts->cpus[1] },
		.terminal = opts->terminal,
	};
	uint32_t cnt;
	const int rc = bench_checkpoint_run(&request, results, &cnt, err);

	if (rc != 0)
		return rc;
	table(stderr, results, cnt);
	for (uint32_t i = 0; json != NULL && i < cnt; i++) {
		fputs(i == 0 ? "" : ",\n", json);
		json_result(json, &results[i]);
	}
	return 0;
}

static const struct bench_key keys[] = {
	[KEY_MODE] = { "mode", "all", "all|aligned|aligned-timeout|unaligned" },
	[KEY_RATE] = { "sink-rate", "auto", NULL },
	[KEY_COUNT] = { "checkpoints", "auto", NULL },
	{ 0 },
};

const struct bench_def bench_checkpoint = {
	.name = "checkpoint",
	.about = "time of a checkpoint behind a slow sink, in three modes",
	.unit = "ms",
	.cpus = 2,
	.keys = keys,
	.run = run,
};

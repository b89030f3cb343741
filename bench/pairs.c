#include "bench/bench_priv.h"

#include <stdlib.h>
#include <string.h>

/* Cores further apart or closer than a moment before: the sides were not measured alike. */
#define RTT_CHANGE 1.5

static bool
changed(double a, double b)
{
	return a > b * RTT_CHANGE || b > a * RTT_CHANGE;
}

static void
judge(struct bench_pair *pair, uint32_t cpus)
{
	pair->valid = true;
	pair->why = "";
	if (cpus > 1 && changed(pair->rtt_before, pair->rtt_after)) {
		pair->valid = false;
		pair->why = "the round trip between the cores changed";
	}
}

static int
compare(const struct bench_result *weir, const struct bench_result *reference,
	struct weir_error *err)
{
	if (weir->rows == reference->rows && weir->sum == reference->sum)
		return 0;
	return weir_fail(err, WEIR_ERR_FAILED,
			 "results differ: weir %llu rows with sum %llu, reference %llu rows with "
			 "sum %llu",
			 (unsigned long long)weir->rows, (unsigned long long)weir->sum,
			 (unsigned long long)reference->rows, (unsigned long long)reference->sum);
}

/*
 * Where a run is short enough, a pair is several runs of either side in turns: what changes under
 * them then meets both alike, and the medians leave out what met one.
 */
static int
run_both(const struct bench_paths *paths, const struct bench_work *work, struct bench_pair *pair,
	 struct weir_error *err)
{
	const uint32_t slices = work->setup->def->slices;
	struct bench_result weir;
	struct bench_result reference;
	double weir_rate[BENCH_SLICES_MAX];
	double reference_rate[BENCH_SLICES_MAX];
	int rc = 0;

	WEIR_ASSERT(slices > 0 && slices <= BENCH_SLICES_MAX);
	pair->rtt_before = bench_round_trip_ns(work->cpus[0], work->cpus[1]);
	for (uint32_t s = 0; rc == 0 && s < slices; s++) {
		rc = bench_run_weir(paths, work, &weir, err);
		if (rc == 0)
			rc = bench_run_reference(paths, work, &reference, err);
		if (rc == 0)
			rc = compare(&weir, &reference, err);
		weir_rate[s] = weir.rate;
		reference_rate[s] = reference.rate;
	}
	if (rc != 0)
		return rc;
	pair->rtt_after = bench_round_trip_ns(work->cpus[0], work->cpus[1]);
	pair->weir = bench_spread_of(weir_rate, slices).median;
	pair->reference = bench_spread_of(reference_rate, slices).median;
	pair->ratio = pair->weir / pair->reference;
	judge(pair, work->setup->def->cpus);
	return 0;
}

/* Rows that grow the tables: of keys drawn at random, four in a row per key leave out 2 %. */
static uint64_t
warm_rows(const struct bench_setup *setup)
{
	const struct bench_def *def = setup->def;
	uint64_t rows = 0;

	for (uint32_t k = 0; def->keys[k].name != NULL; k++)
		if (def->warm_rows > 0 && strcmp(def->keys[k].name, "keys") == 0)
			rows = strtoull(setup->value[k], NULL, 10) * def->warm_rows;
	return (rows + def->multiple - 1) / def->multiple * def->multiple;
}

/*
 * Rows of a slice: what the reference does in its part of the time asked for. And one pair of an
 * eighth of that to warm up.
 */
static int
calibrate(const struct bench_paths *paths, struct bench_work *work, double seconds,
	  struct weir_error *err)
{
	const struct bench_def *def = work->setup->def;
	const double warm_up = seconds / def->slices / 8;
	struct bench_result reference;
	struct bench_pair warm;
	int rc;

	work->rows = 0;
	work->seconds = seconds / 2;
	rc = bench_run_reference(paths, work, &reference, err);
	if (rc != 0)
		return rc;
	work->rows = (uint64_t)(reference.rate * warm_up);
	work->rows = (work->rows / def->multiple + 1) * def->multiple;
	rc = run_both(paths, work, &warm, err);
	work->rows *= 8;
	return rc;
}

static void
progress(const struct bench_series *s, uint32_t valid, const struct bench_options *opts)
{
	const struct bench_pair *p = &s->pairs[s->pair_cnt - 1];

	fprintf(stderr,
		"%spair %u, %u valid of %u: weir %.1f M/s, reference %.1f M/s, ratio %.3f%s%s",
		opts->terminal ? "\r\033[K" : "", s->pair_cnt, valid, opts->pairs, p->weir / 1e6,
		p->reference / 1e6, p->ratio, p->valid ? "" : ", not valid: ", p->why);
	if (!opts->terminal)
		fputc('\n', stderr);
	fflush(stderr);
}

/* Spreads over the valid pairs; over all if there is none. */
static void
summarise(struct bench_series *s)
{
	double *values = calloc((size_t)s->pair_cnt * 3, sizeof(double));
	double *ratio = values;
	double *weir = values + s->pair_cnt;
	double *reference = weir + s->pair_cnt;
	uint32_t valid = 0;
	uint32_t n = 0;

	WEIR_ASSERT(values != NULL);
	for (uint32_t i = 0; i < s->pair_cnt; i++)
		valid += s->pairs[i].valid;
	for (uint32_t i = 0; i < s->pair_cnt; i++) {
		if (valid > 0 && !s->pairs[i].valid)
			continue;
		ratio[n] = s->pairs[i].ratio;
		weir[n] = s->pairs[i].weir;
		reference[n++] = s->pairs[i].reference;
	}
	s->ratio = bench_spread_of(ratio, n);
	s->weir = bench_spread_of(weir, n);
	s->reference = bench_spread_of(reference, n);
	free(values);
}

int
bench_measure(struct bench_series *series, const struct bench_options *opts, struct weir_error *err)
{
	struct bench_work work = { .setup = &series->setup, .warm = warm_rows(&series->setup) };
	struct bench_paths paths;
	uint32_t valid = 0;
	int rc = bench_paths_find(&paths, series->setup.def, err);

	memcpy(work.cpus, opts->cpus, sizeof(work.cpus));
	if (rc == 0)
		rc = calibrate(&paths, &work, opts->seconds, err);
	series->rows = work.rows * series->setup.def->slices;
	series->warm_up_rows = work.warm;
	series->pair_cnt = 0;
	while (rc == 0 && valid < opts->pairs && series->pair_cnt < 2 * opts->pairs) {
		struct bench_pair *pair = &series->pairs[series->pair_cnt];

		rc = run_both(&paths, &work, pair, err);
		if (rc != 0)
			break;
		series->pair_cnt++;
		valid += pair->valid;
		progress(series, valid, opts);
	}
	if (opts->terminal)
		fputs("\r\033[K", stderr);
	if (rc == 0)
		summarise(series);
	return rc;
}

#ifndef WEIR_BENCH_BENCH_PRIV_H
#define WEIR_BENCH_BENCH_PRIV_H

/* What the files of the bench share; for them and their tests only. */

#include <stdio.h>

#include "engine/base/error.h"

#define BENCH_KEYS_MAX	 16
#define BENCH_PAIRS_MAX	 1000
#define BENCH_SWEEP_MAX	 64
#define BENCH_SLICES_MAX 16

/* --- the benches there are --- */

struct bench_args;
struct bench_setup;
struct bench_options;

struct bench_key {
	const char *name;
	const char *def;
	const char *choices; /* "a|b|c", or NULL: a count of 1 or more */
};

struct bench_def {
	const char *name;
	const char *about;	      /* one line of --help */
	const char *unit;	      /* of the rates */
	const char *reference;	      /* program in bench/limit */
	const char *what;	      /* what the reference is */
	uint32_t cpus;		      /* threads that work */
	uint32_t multiple;	      /* rows come in multiples of this */
	uint32_t slices;	      /* runs of a side in a pair; median */
	uint32_t warm_rows;	      /* per key, before a side's clock starts: tables have grown */
	const struct bench_key *keys; /* ends with a NULL name */
	int (*side)(const struct bench_args *args, struct weir_error *err);
	/* A bench without a reference: run a setup, print its table, and to json (may be NULL) its
	 * objects with commas between them. NULL: pairs. */
	int (*run)(const struct bench_setup *setup, const struct bench_options *opts, FILE *json,
		   struct weir_error *err);
};

extern const struct bench_def *const bench_defs[]; /* ends with NULL */
const struct bench_def *bench_find(const char *name);

/* --- settings: key=value, of one bench --- */

struct bench_setup {
	const struct bench_def *def;
	char value[BENCH_KEYS_MAX][32]; /* by def->keys; counts as plain decimals */
};

void bench_setup_init(struct bench_setup *setup, const struct bench_def *def);
/* text is "key=value"; counts may end in k, M, G. WEIR_ERR_CONFIG. */
WEIR_MUST_USE int bench_setup_set(struct bench_setup *setup, const char *text,
				  struct weir_error *err);

/* --- weir's half, in a process of its own --- */

struct bench_args {
	struct bench_setup setup;
	uint64_t rows; /* that are measured */
	uint64_t warm; /* rows before them */
	uint32_t cpus[2];
};

uint64_t bench_arg_u64(const struct bench_args *args, const char *key);
const char *bench_arg_text(const struct bench_args *args, const char *key);

/* Say "ready" and wait for the start line; what is measured comes after it. */
WEIR_MUST_USE int bench_side_wait(struct weir_error *err);
/* The result: rows that were measured, checksum of all, seconds since the first of the measured. */
void bench_side_print(uint64_t rows, uint64_t sum, double seconds);
/* Run `--side NAME key=value…`; returns the exit code. */
int bench_side_main(int argc, char **argv);

extern const struct bench_def bench_ring;
extern const struct bench_def bench_fused;
extern const struct bench_def bench_exchange;
extern const struct bench_def bench_checkpoint;

/* --- children --- */

struct bench_result {
	double rate;
	double seconds;
	uint64_t rows;
	uint64_t sum;
};

struct bench_paths {
	char weir[4096];      /* this program */
	char reference[4096]; /* the reference of the bench */
};

/* Find both programs. WEIR_ERR_NOINPUT if the reference is not where it should be. */
WEIR_MUST_USE int bench_paths_find(struct bench_paths *paths, const struct bench_def *def,
				   struct weir_error *err);

/* What one side is asked for: rows, or as many as fit into seconds (references only). */
struct bench_work {
	const struct bench_setup *setup;
	uint32_t cpus[2];
	uint64_t rows;
	uint64_t warm; /* rows before the clock starts */
	double seconds;
};

WEIR_MUST_USE int bench_run_weir(const struct bench_paths *paths, const struct bench_work *work,
				 struct bench_result *result, struct weir_error *err);
WEIR_MUST_USE int bench_run_reference(const struct bench_paths *paths,
				      const struct bench_work *work, struct bench_result *result,
				      struct weir_error *err);

/* --- the way between two CPUs --- */

/* Median round trip of one cache line between two CPUs, in ns; 0 if it could not be measured. */
double bench_round_trip_ns(uint32_t cpu_a, uint32_t cpu_b);

/* --- pairs --- */

struct bench_pair {
	double weir;
	double reference;
	double ratio;
	double rtt_before;
	double rtt_after;
	bool valid;
	const char *why; /* it is not; "" */
};

struct bench_spread {
	double median, min, max;
};

struct bench_series {
	struct bench_setup setup;
	uint64_t rows;	       /* of each side in a pair */
	uint64_t warm_up_rows; /* before each of its runs, not measured */
	uint32_t pair_cnt;
	struct bench_pair pairs[2 * BENCH_PAIRS_MAX];
	struct bench_spread ratio, weir, reference;
};

struct bench_options {
	uint32_t pairs;
	double seconds;
	uint32_t cpus[2];
	bool terminal; /* standard error is one: progress in place */
};

/* Sort n values, ascending. */
void bench_sort(double *values, uint32_t n);
/* Spread of n > 0 values; reorders them. */
struct bench_spread bench_spread_of(double *values, uint32_t n);

/* Calibrate, then alternate until enough pairs are valid. */
WEIR_MUST_USE int bench_measure(struct bench_series *series, const struct bench_options *opts,
				struct weir_error *err);

/* --- what comes out --- */

/* One line: what was measured, and the table of pairs. */
void bench_print_table(FILE *out, const struct bench_series *series);
/* `"environment": {...}` and a line end. */
void bench_print_environment(FILE *out);
/* The JSON object of one series, without a line end. */
void bench_print_json(FILE *out, const struct bench_series *series);

#endif /* WEIR_BENCH_BENCH_PRIV_H */

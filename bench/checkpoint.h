#ifndef WEIR_BENCH_CHECKPOINT_H
#define WEIR_BENCH_CHECKPOINT_H

/*
 * `weir bench checkpoint`: how long a checkpoint takes while the job cannot keep up.
 *
 *   generate -> rebalance -> relay -> rebalance -> sink (held to setup.sink_rate)
 *
 * Every ring is full before the first checkpoint that counts, so an aligned barrier waits for all
 * rows before it to pass the slow sink, and an unaligned one does not. Each mode is a `weir run` of
 * its own in a fresh folder below $TMPDIR (else /tmp), ended as soon as enough checkpoints are
 * complete; the figures are those of its report.
 *
 * Threads: the calling one. Failure: as weir_bench_main.
 */

#include "engine/base/error.h"

#define BENCH_MODES 3u

struct bench_percentiles {
	double p50, p90, p99, max;
	uint32_t count;
};

struct bench_checkpoint_result {
	const char *mode; /* aligned, aligned-timeout, unaligned */
	uint32_t timeout_ms;
	uint32_t interval_ms;
	uint64_t sink_rate; /* rows per second, all sinks together */
	struct bench_percentiles end_to_end_ms, alignment_ms, persisted_bytes;
	double rows_per_s; /* through the sinks */
};

/* What is asked for; 0: the default of the mode. */
struct bench_checkpoint_request {
	const char *mode; /* NULL: all */
	uint64_t sink_rate;
	uint32_t checkpoints; /* per mode */
	uint32_t cpus[2];
	bool terminal;
};

/* Percentiles (nearest rank) of n values; reorders them. All zero for none. */
struct bench_percentiles bench_percentiles_of(double *values, uint32_t n);

/* Run the modes one after the other; *cnt results. */
WEIR_MUST_USE int bench_checkpoint_run(const struct bench_checkpoint_request *request,
				       struct bench_checkpoint_result results[BENCH_MODES],
				       uint32_t *cnt, struct weir_error *err);

#endif /* WEIR_BENCH_CHECKPOINT_H */

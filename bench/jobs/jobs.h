#ifndef WEIR_BENCH_JOBS_JOBS_H
#define WEIR_BENCH_JOBS_JOBS_H

/*
 * The jobs that `weir bench fused` and `exchange` run, written like anybody's: they use the public
 * interface only.
 *
 *      bench-fused     generate -> map -> filter -> key by -> sum, each -> check -> result
 *      bench-exchange  generate -> key by -> sum, each -> check -> result
 *
 * The result is a line of JSON per subtask of the check: {"rows", "sum", "seconds"}; rows that came
 * in, checksum over all returned sums, and the time since the first row was made.
 *
 * What they do is set by the environment variable WEIR_BENCH_JOB: "keys=K rows=N streams=S".
 */

#include <weir/job.h>

/* NULL: no job of the bench. */
weir_job_fn weir_bench_job(const char *name);

#endif /* WEIR_BENCH_JOBS_JOBS_H */

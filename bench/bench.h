#ifndef WEIR_BENCH_BENCH_H
#define WEIR_BENCH_BENCH_H

/*
 * `weir bench NAME`: weir and a hand-written program do the same work on the same CPUs, taking
 * turns in one run; what counts is the ratio of their rates.
 *
 *      weir bench fused --set keys=1M --pairs 7 --seconds 1 --json result.json
 *
 * Both sides are children of this process, started anew for every measurement, and check their
 * result: another sum for the same rows is an error.
 *
 * Threads: the calling thread, and two short-lived ones that measure the way between the CPUs.
 * Failure: messages on standard error; the result is the exit code of the process. 0 says that the
 * bench ran, never that a bar holds.
 */

#include "engine/base/base.h"

/* The sub-command; argv[0] is "bench". `weir bench --side NAME key=value…` is weir's half. */
WEIR_MUST_USE int weir_bench_main(int argc, char **argv);

#endif /* WEIR_BENCH_BENCH_H */

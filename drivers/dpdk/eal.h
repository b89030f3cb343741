#ifndef WEIR_DRIVERS_DPDK_EAL_H
#define WEIR_DRIVERS_DPDK_EAL_H

/*
 * The start of DPDK's EAL and the threads that the cores run on: each core is an EAL lcore, pinned
 * to its CPU; several may share a CPU. The calling thread becomes the control thread.
 *
 * EAL is asked for the smallest it can be: no PCI scan, no telemetry, no shared configuration. With
 * hugepages it runs --in-memory, without them --no-huge; which of the two is found out by trial.
 * EAL steps outside an inherited CPU mask, so CPUs outside it are refused here; and it starts
 * helper threads of its own wherever it likes, so they are found and put on the control CPUs. What
 * was asked for is read back.
 *
 * Threads:   all functions on the control thread, the one that called weir_eal_start, except
 *            weir_eal_core_done, which any thread may call.
 * Ownership: process-wide, one start per process: EAL cannot be started a second time.
 * Cost:      start about 0.1 s, set-up only; launch one pipe write; join sleeps.
 * Limits:    WEIR_EAL_CORE_MAX cores; CPU numbers below 1024.
 */

#include "drivers/alloc/region.h"

#define WEIR_EAL_CORE_MAX 127u /* RTE_MAX_LCORE of Debian's build, less the control thread */

struct weir_eal_options {
	const uint32_t *cpus; /* CPU of core i; borrowed for the call */
	uint32_t core_cnt;
	const uint32_t *control_cpus; /* for the control thread and EAL's helpers; may be NULL */
	uint32_t control_cnt;	      /* 0: wherever this process may run */
	enum weir_huge huge;
};

/*
 * WEIR_ERR_CONFIG for a CPU that this process may not use, WEIR_ERR_UNAVAILABLE for what the host
 * lacks; the text names need and have, and ends in EAL's own words.
 */
WEIR_MUST_USE int weir_eal_start(const struct weir_eal_options *opt, struct weir_error *err);

/* All cores have been joined (asserted). EAL's worker threads sleep until the process ends. */
void weir_eal_stop(void);

/* One line of what was chosen: "EAL --in-memory, hugepages of 2 MiB". Valid after start. */
const char *weir_eal_report(void);

/*
 * Run fn(arg) on core's thread, which is named weir-c<cpu>, or weir-c<cpu>.<n> where several
 * cores share a CPU. The core is not running (asserted).
 */
void weir_eal_core_launch(uint32_t core, int (*fn)(void *arg), void *arg);

/* Has fn returned? False while it runs. */
bool weir_eal_core_done(uint32_t core);

/* Wait until fn has returned; returns what it returned. The core was launched (asserted). */
int weir_eal_core_join(uint32_t core);

/*
 * A descriptor that is readable after any core's fn has returned, for the control thread's poll;
 * weir_eal_core_join clears it. Lent.
 */
int weir_eal_done_fd(void);

#endif /* WEIR_DRIVERS_DPDK_EAL_H */

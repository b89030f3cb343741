#ifndef WEIR_APP_HOST_H
#define WEIR_APP_HOST_H

/*
 * weir_host: what a runtime runs on, on this machine: EAL and its threads, frames, rings, file back
 * ends, state regions, snapshot writers, behind the engine's struct weir_driver.
 *
 * Threads:   open and close on the control thread; the cores run between launch and join.
 * Ownership: open/close; everything that the driver table hands out lives until close.
 * Failure:   open says what is missing and how to get it.
 */

#include "drivers/alloc/region.h"
#include "drivers/dpdk/frame_mem.h"
#include "drivers/io_open.h"
#include "engine/core/runtime.h"

struct weir_host_options {
	const struct weir_plan *plan;
	enum weir_huge huge;
	enum weir_io_backend io;
	const uint32_t *control_cpus;
	uint32_t control_cnt;
	uint32_t more_frames; /* than the plan has: restored in flight */
	bool checkpoints;     /* they are on: what writes them is made ready */
};

/* A core's thread and what it tells the report. */
struct weir_host_core {
	struct weir_core *core;
	/* The host's. */
	const _Atomic bool *control_files;
	bool yields; /* its CPU is shared: it yields and sleeps instead of spinning */
	int tid;
	_Atomic uint64_t allocations; /* bytes that the thread allocated in its turns */
	_Atomic uint64_t steady_ns;
};

struct weir_host {
	struct weir_host_options opt;
	struct weir_driver driver;
	struct weir_frame_mem *frames;
	struct weir_io *control_io;
	struct weir_io *io[WEIR_PLAN_CORES_MAX];
	struct weir_region state[WEIR_PLAN_CORES_MAX];
	struct weir_backend *backend[WEIR_PLAN_CORES_MAX];
	struct weir_snap_writer *writer[WEIR_PLAN_CORES_MAX];
	struct weir_region staging[WEIR_PLAN_CORES_MAX];
	struct weir_segment *segs[WEIR_PLAN_CORES_MAX];
	struct weir_host_core core[WEIR_PLAN_CORES_MAX];
	bool launched[WEIR_PLAN_CORES_MAX];
	void **lanes;
	uint32_t lane_cnt, lane_cap;
	char io_report[WEIR_IO_REPORT_BYTES];
	/* The control thread has file work in flight; written when it changes, read by all cores.
	 */
	alignas(WEIR_LINE_PAIR) _Atomic bool control_files;
};

#define WEIR_HOST_SEGMENTS_MAX 65536u
/* Per core: what a checkpoint is gathered in; registered with io_uring if the limits allow. */
#define WEIR_HOST_STAGING_BYTES (16u << 20)

/* Control thread: tell the cores whether it has file work in flight. */
static inline void
weir_host_note_files(struct weir_host *host)
{
	const bool any = host->control_io->in_flight > 0;

	/* Relaxed: a hint that orders nothing. */
	if (atomic_load_explicit(&host->control_files, memory_order_relaxed) != any)
		atomic_store_explicit(&host->control_files, any, memory_order_relaxed);
}

WEIR_MUST_USE int weir_host_open(struct weir_host *host, const struct weir_host_options *opt,
				 struct weir_error *err);
/* Cores have been joined: wait for all file work, then close the back ends. */
void weir_host_close_io(struct weir_host *host);
/* After it. clean: every frame is back where it belongs. */
void weir_host_close(struct weir_host *host, bool clean);

/* Run all cores of the runtime on their threads until they are told to stop. */
void weir_host_launch(struct weir_host *host, struct weir_runtime *rt);
bool weir_host_core_done(const struct weir_host *host, uint32_t core);
void weir_host_join(struct weir_host *host);

#endif /* WEIR_APP_HOST_H */

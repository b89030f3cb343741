#ifndef WEIR_TESTS_UNIT_ENGINE_CORE_WORLD_H
#define WEIR_TESTS_UNIT_ENGINE_CORE_WORLD_H

/*
 * A whole job on one thread, on simulated lanes, disk and clock, for tests of the master: numbers
 * from a few splits, counted by key, written at the end.
 *
 *   create -> begin -> step ... or run -> end -> begin (from the newest checkpoint) ... -> destroy
 *
 * Other than the simulator (tests/simulator) it draws nothing but the order of steps: a test says
 * what happens and looks into the parts.
 */

#include "drivers/sim/sim_disk.h"
#include "drivers/sim/sim_lane.h"
#include "engine/core/master.h"

#define WORLD_JOB      "counts"
#define WORLD_JOB_DIR  "/ckpt/" WORLD_JOB
#define WORLD_DATA_DIR WORLD_JOB_DIR "/data"
#define WORLD_OUT_DIR  "/out"
#define WORLD_CORES    2u
#define WORLD_DONE_MAX 512u
#define WORLD_KEYS     64u

struct world_options {
	uint64_t seed;	     /* of the order of steps and of the disk's delays */
	uint32_t splits;     /* default 3 */
	uint32_t rows;	     /* per split, default 400 */
	uint32_t batch;	     /* rows per read at most, default 8 */
	int64_t interval_ns; /* default 2 ms; -1: none */
	int64_t io_delay_ns;
	uint32_t io_spike_pct;	      /* of requests that take a hundred times longer */
	uint32_t tolerable, retained; /* retained: default 1 */
	uint32_t max_concurrent;      /* default 1 */
	struct weir_sim_fault fault;
	void (*tune)(struct weir_master_config *mc, void *arg);
	void *arg;
};

struct world {
	struct world_options o;
	struct weir_rng rng, lane_rng;
	struct weir_sim_disk *disk;
	uint64_t requests;
	int64_t now_ns;
	uint64_t next_id, attempt;
	bool ids_fail;
	uint64_t faults;    /* that have struck */
	char fault_at[160]; /* "write", or kind and path */
	bool fault_of_sink;
	struct weir_checkpoint_done done[WORLD_DONE_MAX];
	uint32_t done_cnt;
	uint64_t announced; /* newest id that was pending */
	uint32_t warning_cnt;
	char warning[256]; /* the newest */

	/* of the attempt */
	struct weir_job *job;
	struct weir_plan *plan;
	struct weir_runtime *rt;
	struct weir_master *master;
	struct weir_driver driver;
	struct weir_sim_frames *frames;
	struct weir_lane *lanes[64];
	uint32_t lane_cnt;
	struct weir_io *io[WORLD_CORES + 1];
	struct weir_backend *backend[WORLD_CORES];
	struct weir_snap_writer *writer[WORLD_CORES];
	void *region[WORLD_CORES], *staging[WORLD_CORES];
	struct weir_segment *segments[WORLD_CORES];
	struct weir_enumerator enumerator;
	const struct weir_split_list *splits[16];
	struct weir_manifest *own[64];
	uint32_t own_cnt;

	/* What the next restore does wrong: a segment that it does not read, or reads twice (its
	 * number among all, from 1; 0: none); what happens to the states behind the last one. */
	uint32_t left_out, twice;
	void (*loaded)(struct world *w);
	struct weir_error refused; /* code 0: it came to its end */
	uint32_t segment_cnt;	   /* of all files */
};

void world_create(struct world *w, const struct world_options *o);
void world_destroy(struct world *w);

/* An attempt, from the newest checkpoint on the disk if there is one. A restore that is told to do
 * something wrong may be refused; then there is only world_end. */
void world_begin(struct world *w);
/* The process is gone. */
void world_end(struct world *w);

/* One turn of somebody. */
void world_step(struct world *w);
/* Steps until the attempt has ended; NOT_YET: it has not within so many. */
enum weir_master_end world_run(struct world *w, uint32_t steps, struct weir_error *err);

/* Checkpoints that ended with this status. */
uint32_t world_count(const struct world *w, const char *status);

/* Newest id with a manifest; 0: none. Asserts that all of them are whole, files too. */
uint64_t world_newest(struct world *w, uint32_t *cnt);
/* Data files that no manifest names, and chk-<n> without a manifest. */
uint32_t world_strays(struct world *w);
void world_sweep(struct world *w);

/* The newest checkpoint: what its enumerator handed out is what its subtasks name (K14). */
void world_check_splits(struct world *w);

/* The same after each checkpoint until the attempt has ended. How many completed. */
uint32_t world_run_checking_splits(struct world *w);

/* The job has finished: all lines are there, once. */
void world_check_output(struct world *w);

#endif /* WEIR_TESTS_UNIT_ENGINE_CORE_WORLD_H */

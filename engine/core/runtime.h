#ifndef WEIR_ENGINE_CORE_RUNTIME_H
#define WEIR_ENGINE_CORE_RUNTIME_H

/*
 * weir_runtime: a plan carried out: all cores, tasks, channels and mailboxes of a job, on the parts
 * that a driver table gives (rings and hugepages, or the simulator's own).
 *
 *   create -> restore (engine/core/restore.h) -> start -> turns of all cores and of the master
 *     -> destroy
 *
 * Threads:   create, restore and destroy on one thread while no core runs.
 * Ownership: takes all memory at create; borrows plan, params, driver and texts for its life.
 * Failure:   create returns NULL with *err; it asserts only where a plan promised otherwise.
 */

#include "engine/core/core.h"
#include "engine/core/recovery.h"

struct weir_restore_opstates;
struct weir_restore_counts;

struct weir_driver {
	void *arg;
	/* A lane between two cores; lives as long as the driver. */
	struct weir_lane *(*lane)(void *arg, uint32_t depth, uint32_t from_core, uint32_t to_core);
	struct weir_frame_source *frames;
	void *frame_base;
	/* Per core; NULL where a core has no file work or no state. */
	struct weir_io *(*io)(void *arg, uint32_t core);
	struct weir_backend *(*backend)(void *arg, uint32_t core);
	struct weir_snap_writer *(*writer)(void *arg, uint32_t core);
	const struct weir_snapshot_ops *snap;
	int64_t (*clock)(void);
};

struct weir_runtime_config {
	const struct weir_plan *plan;
	const struct weir_params *params;
	const struct weir_driver *driver;
	const char *job_name;
	uint64_t attempt;
	uint64_t job_hash;
	const char *data_dir; /* NULL: checkpoints off; savepoints there are all the same */
	enum weir_sink_mode sink_mode;
	const char *output_dir;
	uint64_t rate, sink_rate; /* rows per second, all subtasks; 0: unlimited */
	bool latency;
	bool at_least_once;
	int64_t linger_ns;
	bool full_checkpoints;	 /* they write all state, changed or not */
	int64_t sync_timeout_ns; /* T23; 0: no watchdog */
	/* Rows after which a firing goes on in a later turn (T26); 0: as measured best. */
	uint32_t slice_rows;
	uint32_t batches;     /* that a source reads in a turn; 0: as measured best */
	uint32_t segment_max; /* per data file */
	/* Frames in flight to start with; NULL: none. The driver's frames are so many more. */
	struct weir_recovery *recovery;
	/* Splits of each source operator, by operator of the plan; others NULL. */
	const struct weir_split_list *const *splits;
	void (*warn)(void *arg, const char *text); /* from core threads; re-entrant */
	void *warn_arg;
};

struct weir_runtime {
	struct weir_runtime_config cfg;
	struct weir_core cores[WEIR_PLAN_CORES_MAX];
	struct weir_mailbox *to_core;	/* one per core */
	struct weir_mailbox *from_core; /* one per core */
	struct weir_task *tasks;	/* subtask_cnt of them */
	struct weir_lane **data;	/* one per channel */
	struct weir_lane **priority;
	struct weir_event *events; /* WEIR_TASK_EVENTS per task */
	_Atomic uint16_t *shared;
	struct weir_operator_ctx *ctx; /* all instances */
	struct weir_savepoint_orders orders;
	/* While a restore is under way. */
	struct weir_restore_opstates *opstates;
	struct weir_restore_counts *restore_counts;
	void **owned; /* to be freed */
	uint32_t owned_cnt, owned_cap;
};

struct weir_runtime *weir_runtime_create(const struct weir_runtime_config *config,
					 struct weir_error *err);
/* Frames still in lanes and ports go back to the driver's source. */
void weir_runtime_destroy(struct weir_runtime *rt);

/* Open all operators. */
WEIR_MUST_USE int weir_runtime_start(struct weir_runtime *rt, struct weir_error *err);

/* Subtask of an operator of the plan, and its context. */
struct weir_task *weir_runtime_task(struct weir_runtime *rt, uint32_t op, uint32_t subtask);
struct weir_operator_ctx *weir_runtime_ctx(struct weir_runtime *rt, uint32_t op, uint32_t subtask);

#endif /* WEIR_ENGINE_CORE_RUNTIME_H */

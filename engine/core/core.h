#ifndef WEIR_ENGINE_CORE_CORE_H
#define WEIR_ENGINE_CORE_CORE_H

/*
 * weir_core: what runs on one core: its tasks, its frame pool, its state backend, its data file of
 * the checkpoint under way. A core is a function: weir_core_turn does one turn in fixed phases,
 *
 *   control mail -> completions of file work, some of them
 *     -> each task: priority events, timers, some bursts, chain, flush
 *     -> a slice of the snapshot -> the data file
 *
 * and says what the turn was. A thread loops on it; a test steps it; the simulator interleaves it.
 *
 * Threads:   one. Counters are read by the control thread.
 * Cost:      no allocation, no lock, no system call of its own; file work through weir_io while a
 *            snapshot runs or a sink writes.
 */

#include "engine/checkpoint/layout.h"
#include "engine/core/savepoint.h"
#include "engine/core/task.h"
#include "engine/state/snapshot.h"

/* The core's data file of a checkpoint, for the control thread; valid until busy is cleared. */
struct weir_core_file {
	_Atomic bool busy;
	uint64_t checkpoint;
	uint32_t core;
	const struct weir_segment *segments; /* a copy of the core's own */
	uint32_t segment_cnt;
	const struct weir_segment_ref *refs; /* the writer's: it begins no other file meanwhile */
	uint32_t ref_cnt;
	uint64_t bytes;
	char name[WEIR_DATA_NAME_MAX]; /* in the data folder */
};

enum weir_core_snapshot_state {
	WEIR_CORE_SNAPSHOT_NONE,
	WEIR_CORE_SNAPSHOT_OPEN,    /* tasks freeze their states into it */
	WEIR_CORE_SNAPSHOT_SEALED,  /* all tasks of the core are in it */
	WEIR_CORE_SNAPSHOT_DONE,    /* durable */
	WEIR_CORE_SNAPSHOT_ABORTED, /* waits for what is in flight */
};

struct weir_core {
	uint32_t idx;
	struct weir_task *tasks[WEIR_CORE_TASKS_MAX];
	uint32_t task_cnt;
	struct weir_mailbox *in;  /* from control */
	struct weir_mailbox *out; /* to control */
	struct weir_frame_pool pool;
	struct weir_io *io;
	struct weir_backend *backend;
	int64_t (*clock)(void); /* for parts of a turn that are measured; may be the turn's own time
				   in a simulation */
	int64_t linger_ns;

	/* T23: the synchronous part under way, if since is not 0. */
	int64_t sync_timeout_ns;
	_Atomic int64_t sync_since_ns;
	_Atomic uint64_t sync_checkpoint;
	_Atomic uint32_t sync_task;

	/* Data file. */
	const struct weir_snapshot_ops *snap;
	struct weir_snap_writer *writer;
	enum weir_core_snapshot_state snap_state;
	uint64_t snap_id;
	uint64_t durable_id; /* the last whose file became durable; one that fails leaves no
				snapshot of a task behind */
	uint64_t attempt;
	uint64_t job_hash;
	const char *data_dir; /* borrowed; NULL: no checkpoints, but savepoints */
	const struct weir_savepoint_orders *orders;
	bool full; /* checkpoints write everything (checkpoint.incremental: false) */
	char snap_path[WEIR_PATH_MAX + WEIR_DATA_NAME_MAX + 1];
	struct weir_core_file file;
	struct weir_segment *segments; /* room for the copy */
	uint32_t segment_max;
	struct weir_error error; /* of the snapshot that failed last */

	int64_t now_ns; /* of this turn */
	int64_t last_ns;
	enum weir_regime last_regime;
	int64_t noted_ns; /* when the sizes of the states were noted last */
	/* The job is over: no further file; sinks have until then for what a complete checkpoint
	 * covers. */
	bool settling, settled;
	int64_t settle_until_ns;
	bool stopped;
	uint64_t turns;

	_Atomic uint64_t regime_ns[WEIR_REGIME_CNT];
	_Atomic uint64_t longest_turn_ns;
	_Atomic uint64_t rows;
};

/* One turn at now_ns. BUSY and HOUSEKEEPING: something was done; IDLE, BACK_PRESSURED: the thread
 * may yield. */
enum weir_regime weir_core_turn(struct weir_core *core, int64_t now_ns);

/* Post to the control thread; waits within the turn for room (the control thread never waits for a
 * core). */
void weir_core_post(struct weir_core *core, const struct weir_mail *mail);

/* Hand completions of file work to whom they belong, some of them; false: there were none. */
bool weir_core_harvest(struct weir_core *core);

/* A task takes its snapshot of checkpoint id: is the writer ready for its states? Begins the file
 * if need be. */
bool weir_core_snapshot_open(struct weir_core *core, uint64_t id);
/* Will there be no file for checkpoint id on this core any more? Its name is never used again. */
bool weir_core_snapshot_given_up(const struct weir_core *core, uint64_t id);
/* A task is through with id, or does not take part any more: seal when it was the last. */
void weir_core_snapshot_check(struct weir_core *core);
/* The checkpoint is given up. */
void weir_core_snapshot_abort(struct weir_core *core);

#endif /* WEIR_ENGINE_CORE_CORE_H */

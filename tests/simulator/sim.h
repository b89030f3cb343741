#ifndef WEIR_TESTS_SIMULATOR_SIM_H
#define WEIR_TESTS_SIMULATOR_SIM_H

/*
 * The simulator: a whole job on one thread, on simulated lanes, disk and clock, from a seed.
 *
 *   scenario   all that is drawn from the seed before anything runs
 *   content    the rows of the input, a pure function of the scenario
 *   jobs       the graphs, of operators; expect: the lines that they must write, computed without
 *              the engine
 *   world      disk, attempts of the job, what goes wrong; run: one seed from start to end
 *   check      what must hold of the disk after every crash, and of the output at the end
 */

#include "drivers/sim/sim_disk.h"
#include "drivers/sim/sim_lane.h"
#include "engine/core/master.h"
#include "engine/core/restore.h"

#include <stdio.h>
#include <weir/sink.h>

#define SIM_SOURCES_MAX	 2u
#define SIM_SPLITS_MAX	 20u
#define SIM_CORES_MAX	 3u
#define SIM_FAULTS_MAX	 4u
#define SIM_SAVES_MAX	 8u
#define SIM_ASKS_MAX	 24u	     /* for savepoints */
#define SIM_PAD		 200u	     /* bytes of a row that make frames of few rows */
#define SIM_TIMEOUT_LONG 10000000000 /* no checkpoint takes that long by itself */
#define SIM_JOB		 "simjob"
#define SIM_JOB_DIR	 "/ckpt/" SIM_JOB
#define SIM_DATA_DIR	 SIM_JOB_DIR "/data"
#define SIM_OUT_DIR	 "/out"
#define SIM_SAVE_DIR	 "/save"

enum sim_shape {
	SIM_PASS,
	SIM_REBALANCE,
	SIM_BROADCAST,
	SIM_FLAT_MAP,
	SIM_REDUCE_END,
	SIM_REDUCE_WORD,
	SIM_REDUCE_PAIR,
	SIM_REDUCE_UPDATES,
	SIM_REDUCE_EACH,
	SIM_WINDOW,
	SIM_WINDOW_TOP,
	SIM_TOP,
	SIM_UNION,
	SIM_UNION_WINDOW,
	SIM_TWO_STAGES,
	SIM_TWO_SINKS,
	SIM_ORDER, /* each row with its running count: the order per key is in the output */
	SIM_BURST, /* rows that make many, put off in state (T27) */
	SIM_MIXED, /* a task with a forward and a rebalanced input (T33) */
	SIM_SHAPE_CNT
};

extern const char *const sim_shape_names[SIM_SHAPE_CNT];

enum sim_mode { SIM_ALIGNED, SIM_TIMEOUT, SIM_UNALIGNED, SIM_AT_LEAST_ONCE, SIM_MODE_CNT };

extern const char *const sim_mode_names[SIM_MODE_CNT];

struct sim_split {
	uint32_t rows;
	int64_t first_ns; /* no row is earlier */
};

struct sim_scenario {
	uint64_t seed;
	enum sim_shape shape;

	/* Input. */
	uint32_t source_cnt;
	uint32_t split_cnt[SIM_SOURCES_MAX];
	struct sim_split split[SIM_SOURCES_MAX][SIM_SPLITS_MAX];
	uint32_t key_cnt;
	uint32_t word_len_max;
	int64_t step_ns;   /* from row to row */
	int64_t jitter_ns; /* how much earlier a row may be than one before it */
	uint32_t batch_max;
	uint32_t pause_pct; /* of reads that find nothing */
	int64_t size_ns, slide_ns;

	/* Job. */
	uint32_t parallelism[2]; /* the second one: where the shape has a second stage */
	uint32_t core_cnt;
	uint32_t lane_depth;
	uint32_t frame_bytes;
	bool combiner;
	bool rescale; /* each attempt may have other parallelisms */
	int64_t linger_ns;
	uint32_t slice_rows; /* 0: the product's */
	uint64_t state_bytes;

	/* Checkpoints. */
	bool checkpoints;
	int64_t interval_ns, timeout_ns, min_pause_ns;
	uint32_t max_concurrent, tolerable, retained;
	uint32_t chunk_cnt; /* of a core's writer */
	enum sim_mode mode;
	int64_t aligned_timeout_ns; /* SIM_TIMEOUT */
	uint64_t sink_rate;	    /* rows per second; 0: as fast as it goes */
	uint32_t ask_steps; /* somebody asks for one every so many steps on average; 0: never */

	/* Savepoints. */
	uint32_t save_steps; /* the same, for savepoints */
	uint32_t stop_pct;   /* of them, which stop the job */
	bool branch;	     /* after the end, a plain one is restored */

	/* What goes wrong. */
	uint32_t stingy_pct;
	uint32_t io_depth;
	int64_t io_delay_ns;
	uint32_t io_spike_pct;
	struct weir_sim_fault fault[SIM_FAULTS_MAX];
	uint32_t fault_cnt;
	uint32_t kills; /* at most so many */
	uint32_t power_pct;
	int64_t turn_ns; /* longest turn of a core */
	uint32_t freeze_pct;
	uint32_t post_pct; /* of messages about checkpoints that are lost or come twice */
	bool post_burst;   /* what is lost on a way is lost for all tasks */
	int64_t post_delay_ns;
	uint32_t half_pct;  /* of kills before which a core or the control thread dies alone */
	uint32_t calm_step; /* of every attempt: from here on nothing goes wrong; 0: never */
	bool own_sink;	    /* the two-phase sink of sink.c instead of files */
	bool again;	    /* after the end, from the last checkpoint once more */
};

void sim_scenario_draw(struct sim_scenario *s, uint64_t seed);

struct sim_world;

/* ---- content ---- */

struct sim_row {
	uint64_t key, value;
	int64_t time_ns;
	char word[32];
	uint32_t word_len;
};

void sim_row_make(const struct sim_scenario *s, uint32_t source, uint32_t split, uint32_t row,
		  struct sim_row *out);

/* Connectors read this one; one scenario at a time. */
extern const struct sim_scenario *sim_scenario;
extern const struct weir_connector sim_connectors[SIM_SOURCES_MAX];
extern struct weir_rng sim_source_rng; /* when sources have nothing; reads of how many rows */
extern bool sim_source_calm;	       /* they always have something */

/* ---- the two-phase sink; one at a time ---- */

extern const struct weir_sink_connector sim_sink;
extern weir_format_fn sim_sink_format; /* of its lines */
void sim_sink_begin(struct sim_world *w);
void sim_sink_attempt_end(void);

/* ---- jobs and what they must write ---- */

void sim_job_build(struct weir_job *job, const struct sim_scenario *s, const uint32_t *parallelism);

struct sim_lines {
	char **line; /* without newline; owned */
	uint32_t cnt, cap;
};

void sim_lines_add(struct sim_lines *l, const char *text, size_t len);
void sim_lines_sort(struct sim_lines *l);
void sim_lines_free(struct sim_lines *l);

/* Fills want (empty), sorted. Not for SIM_REDUCE_UPDATES. */
void sim_expect(const struct sim_scenario *s, uint32_t last_parallelism, struct sim_lines *want);
/* Last counts per key, for SIM_REDUCE_UPDATES: cnt[key], s->key_cnt of them. */
void sim_expect_counts(const struct sim_scenario *s, uint64_t *cnt);

/* ---- what the coordinator has said in this attempt ---- */

#define SIM_PENDING_MAX	  64u
#define SIM_TASKS_MAX	  64u
#define SIM_PRIORITY_MAX  8u
#define SIM_TOLD	  32u
#define SIM_EXPIRY_SLACK  2000000000 /* the control thread has its turn by then */
#define SIM_TELL_SLACK	  200000000  /* the message has come by then */
#define SIM_STALL_NS	  1000000000
#define SIM_STALL_ENDS	  6u
#define SIM_STALL_TIMEOUT 20000000

struct sim_pending {
	uint64_t id;
	int64_t begun_ns;
	bool acked; /* it can expire no more */
	bool saves; /* it is a savepoint */
	bool holds; /* it is to suspend the job */
};

struct sim_told {
	uint64_t id[SIM_TOLD];
	uint32_t cnt;
	uint64_t newest;     /* barrier in its priority lanes before its turn */
	uint64_t begun;	     /* snapshot it had begun last, before its turn */
	uint64_t held;	     /* by the savepoint that it has taken, until that is over; 0: not */
	uint64_t held_rows;  /* that had come to it then */
	uint64_t over_below; /* lower ids are over, as it was told before its turn */
};

struct sim_rules {
	struct sim_pending pending[SIM_PENDING_MAX];
	uint32_t pending_cnt;
	int64_t completed_ns; /* when the last one was complete; INT64_MIN: none yet */
	uint64_t completed;   /* highest id that subsumes others */
	uint64_t success;     /* highest id */
	uint64_t highest;     /* id that was given */
	uint64_t floor;	      /* the same, by earlier attempts */
	uint32_t failures;    /* in a row */
	struct sim_told told[SIM_TASKS_MAX];
	struct sim_pending given_up[SIM_TOLD]; /* begun_ns: when it ended */
	uint32_t given_up_cnt;
	/* Since something went forward: a row was taken, a checkpoint became complete. */
	int64_t moved_ns;
	uint64_t moved_rows;
	uint32_t ends; /* of checkpoints */
};

/* ---- savepoints ---- */

/* Somebody has asked for it. */
struct sim_save_ask {
	struct sim_world *w;
	enum weir_request_kind kind;
	uint32_t answers;
	bool refused;
};

/* It is complete. */
struct sim_save {
	uint64_t id;
	enum weir_request_kind kind;
	enum weir_manifest_kind manifest_kind;
	char path[160];
};

/* A file of the output. */
struct sim_kept {
	char path[160];
	uint8_t *bytes; /* owned */
	uint64_t len;
};

/* ---- the world ---- */

struct sim_world {
	struct sim_scenario s;
	struct weir_rng rng;	  /* order of steps */
	struct weir_rng lane_rng; /* lanes and disk delays */
	struct weir_rng post_rng; /* what becomes of messages */
	struct weir_rng save_rng; /* savepoints */
	bool verbose;
	char *findings; /* what is wrong; NULL: nothing */

	struct weir_sim_disk *disk;
	uint64_t requests;
	uint64_t faults_struck;
	uint64_t post_faults;
	uint64_t lost, healed; /* messages; of them, at the checkpoint that was asked for since */
	uint64_t
		heals_behind; /* begun in the attempt: the next periodic one opens what is closed */
	int64_t now_ns;
	uint64_t next_id;
	uint64_t attempt;
	uint64_t first_faultless_id; /* checkpoints from this attempt on */
	bool quiet;		     /* nothing goes wrong any more */
	uint64_t newest_completed;   /* checkpoint of this run that was said to be */
	uint64_t run_completed;	     /* so many of them */

	/* Savepoints. */
	struct sim_save save[SIM_SAVES_MAX];
	uint32_t save_cnt;
	struct sim_save_ask save_ask[SIM_ASKS_MAX];
	uint32_t save_ask_cnt;
	struct sim_save *stopped;	  /* with this one; NULL: not, or it is the base by now */
	char base[160];			  /* the run began from this one; "": from nothing */
	uint64_t base_id;		  /* 0: the same */
	struct weir_manifest *base_read;  /* of the attempt; NULL: it was not needed */
	const struct sim_save *kept_save; /* that the kept output belongs to; NULL: none */
	struct sim_kept *kept;
	uint32_t kept_cnt;
	bool branched;
	uint64_t drained; /* by this savepoint: the input ended at these rows; 0: not */
	uint32_t drained_rows[SIM_SOURCES_MAX][SIM_SPLITS_MAX];
	uint64_t runs;

	/* Of the attempt that runs. */
	struct weir_job *job;
	struct weir_plan *plan;
	struct weir_runtime *rt;
	struct weir_master *master;
	struct sim_post *post;
	struct sim_rules rules;
	uint64_t last_id; /* of the checkpoint or savepoint that ends the job; 0: not yet */
	uint64_t post_faults_before;
	bool calm;	 /* nothing goes wrong any more in this attempt */
	int64_t calm_ns; /* since then */
	bool half_dead;	 /* somebody had died before the rest did */
	struct weir_driver driver;
	struct weir_sim_frames *frames;
	struct weir_recovery *recovery; /* of the attempt's restore; NULL: none */
	struct weir_lane **lanes;
	uint32_t lane_cnt;
	struct weir_io *io[SIM_CORES_MAX + 1]; /* the last one: the control thread's */
	struct weir_backend *backend[SIM_CORES_MAX];
	void *region[SIM_CORES_MAX];
	struct weir_snap_writer *writer[SIM_CORES_MAX];
	void *staging[SIM_CORES_MAX];
	struct weir_segment *segments[SIM_CORES_MAX];
	struct weir_enumerator *enumerators;
	uint32_t enumerator_cnt;
	const struct weir_split_list **splits;
	struct weir_manifest **own;
	uint32_t own_cnt;
	struct weir_manifest *restored; /* one of own, or NULL */
	uint64_t faults_before;		/* faults_struck when it began */
	uint64_t expired;		/* checkpoints of this attempt that ran out of time */
	uint32_t parallelism[2];

	/* Output files that are final, and what was in them when they became so. */
	struct sim_final *final;
	uint32_t final_cnt;

	bool committing;    /* checkpoints off: the attempt's sinks have been told to (T35) */
	char (*again)[160]; /* names of what such an attempt had committed when it failed */
	uint32_t again_cnt;

	/* Totals. */
	uint64_t steps, kills, power_losses, restores, completed, failed, aborted, rows;
	uint64_t unaligned; /* completed checkpoints that hold frames in flight */
	uint64_t in_flight; /* frames that restores brought back */
};

struct sim_final {
	char path[160];
	uint32_t crc;
	uint64_t len;
	bool safe; /* it was certain to outlive a power loss */
};

/* One dense line: printed when verbose. */
void sim_event(struct sim_world *w, const char *fmt, ...) WEIR_PRINTF(2, 3);
/* Something is wrong; the seed is not clean. */
void sim_finding(struct sim_world *w, const char *fmt, ...) WEIR_PRINTF(2, 3);

/* Make the next attempt: restored from the newest checkpoint on the disk, if there is one. False:
 * it could not be made, which is a finding. */
bool sim_attempt_begin(struct sim_world *w);
/* All of it is gone. killed: what was in flight may still happen. */
void sim_attempt_end(struct sim_world *w);

/* Between control thread and cores: before the runtime starts; when the attempt is over. */
void sim_post_open(struct sim_world *w);
void sim_post_close(struct sim_world *w);
/* Take what was sent, deliver what is due; true: something was delivered. */
bool sim_post_carry(struct sim_world *w);
/* Cores have taken all that was sent to them. */
bool sim_post_is_empty(const struct sim_world *w);
/* When the next letter is; INT64_MAX: none is on its way. */
int64_t sim_post_due(const struct sim_world *w);

/* An attempt begins; a checkpoint begins or has all acknowledgements; it has ended. */
void sim_rules_begin(struct sim_world *w);
void sim_rules_pending(struct sim_world *w, const struct weir_checkpoint_done *d);
void sim_rules_done(struct sim_world *w, const struct weir_checkpoint_done *d);
/* After a step of the control thread; failed: the job has, with this text. */
void sim_rules_step(struct sim_world *w, bool failed, const char *text);
/* A core has been given a message; it will have a turn, it has had it. */
void sim_rules_told(struct sim_world *w, const struct weir_mail *mail);
void sim_rules_before_turn(struct sim_world *w, const struct weir_core *core);
void sim_rules_turn(struct sim_world *w, const struct weir_core *core);

/* Kind of a checkpoint, in words. */
bool sim_is_save(const char *kind);
/* Somebody asks for one. */
void sim_save_ask(struct sim_world *w);
/* The master of the attempt is gone. */
void sim_save_attempt_end(struct sim_world *w);
/* Is this the id of a complete plain one? */
bool sim_save_is_plain(const struct sim_world *w, uint64_t id);
/* Id up to which one with which the job was stopped commits output; 0: none. */
uint64_t sim_save_newest_stop(const struct sim_world *w);
/* After a crash. */
void sim_save_check(struct sim_world *w);
/* If the job was stopped: the next attempt goes on from there. */
void sim_save_go_on(struct sim_world *w);
/* Everything is as it was when a plain one was complete; false: there is none to go on from. */
bool sim_save_branch(struct sim_world *w);
void sim_save_free(struct sim_world *w);

/* The manifest in a folder, its data files whole, its cut fits; NULL: none, or a finding. */
struct weir_manifest *sim_read_manifest(struct sim_world *w, const char *folder,
					const char *data_dir);
/* Manifests on the disk; data files whole. Fills own. */
bool sim_recover(struct sim_world *w);
/* A checkpoint is said to be complete. */
void sim_check_completed(struct sim_world *w, uint64_t id);
/* Pages of the restored checkpoint into the runtime. */
int sim_load(struct sim_world *w, struct weir_error *err);
void sim_recover_free(struct sim_world *w);
/* What a start deletes: temporary files that nothing names. */
void sim_sweep(struct sim_world *w);

/* After each step: output files that have become final. */
void sim_check_finals(struct sim_world *w);
/* The checkpoint at which a final file's rows end; 0: the end without checkpoints. */
uint64_t sim_epoch(const char *name);
/* The attempt has failed: its rows come again, what it has committed is noted. Is this of that? */
void sim_note_again(struct sim_world *w);
bool sim_is_again(const struct sim_world *w, const char *name);
/* After a crash. */
void sim_check_crash(struct sim_world *w, bool power);
/* The watermarks and splits that a restore brought back. */
void sim_check_restored(struct sim_world *w);
/* The cut of a manifest: k + #in + #out = m for every channel, each frame once and in order. */
void sim_check_cut(struct sim_world *w, const struct weir_manifest *m);
/* Data files on the disk are those that manifests on the disk name (K10). After the end. */
void sim_check_live_set(struct sim_world *w);
/* After the end of the job. */
void sim_check_end(struct sim_world *w);

/* The coordinator alone, with shared files. */
void sim_shared(struct sim_world *w);

/* One seed; true: clean. */
bool sim_run(uint64_t seed, bool verbose);

#endif /* WEIR_TESTS_SIMULATOR_SIM_H */

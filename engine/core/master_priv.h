#ifndef WEIR_ENGINE_CORE_MASTER_PRIV_H
#define WEIR_ENGINE_CORE_MASTER_PRIV_H

/*
 * What the files of the master share. All of it belongs to the control thread and may allocate.
 *
 *   master.c             rounds, and how the job ends
 *   master_create.c      the coordinator's configuration, what earlier attempts left
 *   master_updates.c     what the coordinator wants done
 *   master_mail.c        messages to and from the cores
 *   master_checkpoint.c  checkpoints under way
 *   master_requests.c    requests from outside; master_savepoint.c: those for savepoints
 *   master_splits.c      enumerators; master_hooks.c: hooks
 *   master_files.c       file work; master_manifest.c: a manifest's bytes
 *   master_statistics.c  what is measured of a checkpoint
 */

#include "engine/core/master.h"

#define WEIR_MASTER_PATH 1100u
#define WEIR_MASTER_MS	 1000000 /* the coordinator counts in milliseconds, the master in ns */

/* A data file that some checkpoint names or named; its number is what the coordinator calls it by.
 */
struct weir_master_file {
	char *name;
	const char *dir; /* of a savepoint, borrowed; NULL: the job's data folder */
	uint64_t bytes;
	/* Of this attempt's checkpoints, while the file is there: later ones may name it. */
	uint64_t checkpoint;
	uint32_t core;
	uint32_t segment_cnt;
	struct weir_segment *segments; /* all of it, in order; owned */
};

/* What a core has of a checkpoint: the segments of its own file, and all of earlier files that it
 * names. */
struct weir_master_segments {
	uint64_t *file; /* numbers; the core's own first */
	uint32_t file_cnt;
	uint32_t segment_cnt;
	struct weir_manifest_segment *at; /* file_idx counts in file */
	uint64_t *words;		  /* their bitmaps */
	uint64_t live_bytes;		  /* in earlier files */
};

struct weir_master_opcoord {
	void *bytes; /* NULL: not taken */
	size_t len;
};

/* What an enumerator sends, on its way through a valve. */
struct weir_master_opevent {
	struct weir_master_opevent *next;
	uint64_t number;
	struct weir_mail mail;
};

/* A checkpoint being taken. */
struct weir_master_checkpoint {
	struct weir_master_checkpoint *next;
	uint64_t id;
	enum weir_request_kind kind;
	bool final;
	bool periodic;
	bool sent; /* sources have been told to begin */
	int64_t trigger_ns, trigger_wall_ns, triggered_ns;
	uint64_t *file;	 /* per core: number + 1; 0: none */
	bool *file_told; /* per core: the coordinator knows of it, and has it deleted */
	struct weir_master_segments **segments; /* per core; NULL: no file */
	struct weir_blob *hooks;		/* per hook: its state; owned */
	struct weir_master_opcoord *opcoord;	/* per enumerator: its snapshot */
	struct weir_task_ack **acks;		/* per subtask; NULL: has not acknowledged */
	uint64_t frames, persisted_bytes;	/* in flight, all subtasks */
	struct weir_task_ack last;		/* numbers of the subtask that acknowledged last */
	uint64_t bytes, full_bytes;		/* written; with what stands in earlier files */
};

/* A copy of what a task acknowledged last; a finished one stays in later manifests. */
struct weir_master_task {
	struct weir_task_ack *ack;
	bool acked; /* ever */
	bool finished;
	bool covered; /* a checkpoint holds its end: it is about to finish */
	bool running;
};

/* The request that the coordinator prepares: at most one has no id yet (C4). */
struct weir_master_preparing {
	struct weir_request request;
	int64_t trigger_ns, wall_ns;
};

/* A request from outside that has not had its answer. */
struct weir_master_ask {
	struct weir_master_ask *next;
	uint64_t number;
	struct weir_master_request request;
};

/* K7: nobody knows whether its manifest is there. A later checkpoint makes it useless. */
struct weir_master_doubt {
	struct weir_master_doubt *next;
	uint64_t id;
	uint32_t file_cnt;
	uint64_t files[];
};

/* What the manifest of checkpoint id names, which may be on the disk. */
struct weir_master_names {
	struct weir_master_names *next;
	uint64_t id;
	uint32_t file_cnt;
	uint64_t files[];
};

/* A sequence of file work, one request after the other. */
enum weir_chain_kind { WEIR_CHAIN_STORAGE, WEIR_CHAIN_FINALIZE, WEIR_CHAIN_DELETE };

struct weir_chain_step {
	enum weir_io_kind kind;
	char path[WEIR_MASTER_PATH];
	char path2[WEIR_MASTER_PATH];
};

struct weir_master_chain {
	struct weir_master_chain *next;
	enum weir_chain_kind kind;
	uint64_t id;
	struct weir_chain_step *step;
	uint32_t step_cnt, step_cap, at;
	struct weir_io_req req;
	bool busy;
	bool open; /* handle is a file's */
	int handle;
	uint8_t *bytes;
	size_t len;
	int64_t result;		 /* below 0: it is given up, */
	const char *failed_path; /* because of this */
	/* FINALIZE: the folder in which the checkpoint's own is new is synced while the manifest
	 * is written; both are through before the rename. Empty: none. */
	char beside[WEIR_MASTER_PATH];
	struct weir_io_req beside_req;
	bool beside_due, beside_busy;
	bool renamed;	/* or on the way */
	bool answer;	/* DELETE: the coordinator waits for it */
	uint32_t proof; /* DELETE: before this step it is not certain that the manifest is gone */
};

/* Events for the coordinator that wait for their turn. */
struct weir_master_event;
struct weir_master_queue {
	struct weir_master_event *head, **tail;
	bool running;
};

struct weir_master {
	struct weir_master_config cfg;
	struct weir_coordinator *coord;
	struct weir_master_queue queue;
	struct weir_master_task *task;
	struct weir_master_checkpoint *checkpoints;
	struct weir_master_preparing preparing;
	struct weir_master_ask *asks;
	struct weir_master_doubt *doubts;
	struct weir_master_opevent *opevents;
	uint64_t opevent_cnt; /* numbers given */
	uint64_t *hook_busy;  /* per hook: the checkpoint that it works for; 0: none */
	uint64_t hook_failed; /* the last checkpoint that one failed; decline says why */
	bool *backlogged;     /* per enumerator: what the coordinator was told (C10) */
	struct weir_master_file *file;
	uint64_t file_cnt, file_cap;
	struct weir_master_names *names;
	uint64_t *waiting; /* files that go when no manifest names them any more */
	uint32_t waiting_cnt, waiting_cap;
	uint64_t *held; /* numbers of those whose segments are known */
	uint64_t held_cnt, held_cap;
	struct weir_master_chain *chains;
	struct weir_mail *backlog; /* mail that a core had no room for, in order */
	uint32_t *backlog_core;
	uint32_t backlog_cnt, backlog_cap;
	uint64_t reserved_id;
	uint64_t newest_id;  /* begun in this attempt; 0: none */
	uint64_t claimed_id; /* of cfg.claimed; 0: none */
	bool claimed_whole;  /* its data files lie in its own folder: it is a savepoint */
	int64_t now_ns, wall_ns, base_ns; /* base: the coordinator's time 0 */
	uint32_t running_cnt, finished_cnt, end_cnt, precommitted_cnt;
	uint32_t settled_cnt;	/* cores, after the end */
	uint64_t request_cnt;	/* numbers given to requests */
	uint64_t final_request; /* number of the newest for a final checkpoint */
	bool final_asked;
	bool covered; /* a checkpoint holds the end of all tasks */
	bool committing;
	enum weir_request_kind
		stop;	  /* SUSPEND or DRAIN while a stop is under way, else CHECKPOINT */
	uint64_t stop_id; /* its savepoint, which is complete; 0: not yet */
	enum weir_master_end end;
	struct weir_error error;
	struct weir_error decline; /* text of the last failed snapshot */
	struct weir_rng rng;
	struct weir_master_counts counts;
};

/* master_updates.c: tell the coordinator, and do what it wants; what event lends, for the call. */
void weir_master_event(struct weir_master *m, const struct weir_coord_event *event);

/* T35: all tasks are to PRECOMMIT or to COMMIT, and forget savepoints that are over. */
void weir_master_tell_end(struct weir_master *m, enum weir_mail_kind kind);

/* master.c: end the job as failed. Idempotent. */
void weir_master_fail(struct weir_master *m, const struct weir_error *err);

/* master_checkpoint.c: those under way */
struct weir_master_checkpoint *weir_master_find(struct weir_master *m, uint64_t id);
struct weir_master_checkpoint *weir_master_checkpoint_new(struct weir_master *m, uint64_t id);
void weir_master_checkpoint_free(struct weir_master *m, struct weir_master_checkpoint *c);
/* Say that it is there, and what is known when all tasks have acknowledged: a crash must not take
 * it out of the history (K16). */
void weir_master_checkpoint_begun(struct weir_master *m, const struct weir_master_checkpoint *c);
void weir_master_checkpoint_acked(struct weir_master *m, const struct weir_master_checkpoint *c);
/* It has ended: counted, said, and forgotten. reason NONE: completed. */
void weir_master_checkpoint_over(struct weir_master *m, uint64_t id, enum weir_reason reason);

/* master_statistics.c */
/* The phases that a subtask measured, and its bytes of frames. */
void weir_master_phases(const struct weir_master_checkpoint *c, const struct weir_task_ack *ack,
			struct weir_subtask_done *to);
/* Those of all that have acknowledged; the caller's to free. */
struct weir_subtask_done *weir_master_subtasks(const struct weir_master *m,
					       const struct weir_master_checkpoint *c,
					       uint32_t *cnt);

/* master_hooks.c */
void weir_master_hook_begin(struct weir_master *m, uint64_t id, uint32_t which);
bool weir_master_step_hooks(struct weir_master *m);
/* The master is over: who works for it stops. */
void weir_master_stop_hooks(struct weir_master *m);
/* Checkpoint id is over: who still works for it stops. */
void weir_master_abandon_hooks(struct weir_master *m, uint64_t id);

/* master_splits.c */
void weir_master_start_splits(struct weir_master *m);
void weir_master_give_split(struct weir_master *m, uint32_t task);
void weir_master_snapshot_splits(struct weir_master *m, uint64_t id, uint32_t which);
void weir_master_barrier_passed(struct weir_master *m, uint32_t task, uint64_t id);
/* The valve lets event number go. */
void weir_master_opevent(struct weir_master *m, uint64_t number, uint32_t task);
void weir_master_free_opevents(struct weir_master *m);

/* master_requests.c */
void weir_master_promise(struct weir_master *m, uint64_t number, uint64_t id,
			 enum weir_reason reason);
/* Whoever still waits hears that the job is over. */
void weir_master_fail_asks(struct weir_master *m, enum weir_reason reason);

/* master_savepoint.c */
/* The coordinator prepares savepoint id: give the order, make its directory. */
void weir_master_savepoint_storage(struct weir_master *m, uint64_t id);
/* Cores are to write everything of checkpoint id. */
void weir_master_order_full(struct weir_master *m, uint64_t id);
/* Where everything of id lies; NULL: it is no savepoint of this attempt. */
const char *weir_master_savepoint_dir(const struct weir_master *m, uint64_t id);
/* A request with the kind of a savepoint has ended; NONE: id is complete. */
void weir_master_savepoint_over(struct weir_master *m, enum weir_request_kind kind, uint64_t id,
				enum weir_reason reason);

/* master_mail.c */
struct weir_task_ack *weir_master_ack_new(const struct weir_master *m, uint32_t task);
void weir_master_ack_free(struct weir_task_ack *a);
void weir_master_post(struct weir_master *m, uint32_t core, const struct weir_mail *mail);
void weir_master_post_task(struct weir_master *m, uint32_t task, struct weir_mail mail);
bool weir_master_flush_backlog(struct weir_master *m);
bool weir_master_take_mail(struct weir_master *m);

/* master_names.c */
/* The manifest of checkpoint id, which names these files, may be there from now on. */
void weir_master_names_add(struct weir_master *m, uint64_t id, const uint64_t *files, uint32_t cnt);
/* It is not there, and never will be: files that waited for that go. */
void weir_master_names_remove(struct weir_master *m, uint64_t id);
/* Nobody needs these files any more: each goes when no manifest names it. */
void weir_master_discard(struct weir_master *m, const uint64_t *files, uint32_t cnt);
void weir_master_names_free(struct weir_master *m);

/* master_segments.c */
/* The core's file f, number number, is there, until it is forgotten. */
void weir_master_hold_file(struct weir_master *m, uint64_t number, const struct weir_core_file *f);
void weir_master_forget_file(struct weir_master *m, uint64_t number);
/* What the core's file f, number number, and those it refers to hold for a checkpoint. NULL: one of
 * them is not known. */
struct weir_master_segments *weir_master_segments_new(const struct weir_master *m,
						      const struct weir_core_file *f,
						      uint64_t number);
void weir_master_segments_free(struct weir_master_segments *s);
/* Parts of an acknowledgement by the core's tasks: its own file, and those that it names (S9). The
 * caller's to free. */
struct weir_part *weir_master_parts(const struct weir_master *m,
				    const struct weir_master_segments *s, uint32_t *cnt);

/* master_manifest.c: the bytes of checkpoint c's manifest. */
WEIR_MUST_USE int weir_master_manifest(struct weir_master *m, struct weir_master_checkpoint *c,
				       uint8_t **bytes, size_t *len, struct weir_error *err);

/* master_files.c */
uint64_t weir_master_add_file(struct weir_master *m, const char *name, uint64_t bytes);
/* Make the directory of savepoint id; answers the coordinator. */
void weir_master_make_storage(struct weir_master *m, uint64_t id, const char *dir);
void weir_master_finalize(struct weir_master *m, struct weir_master_checkpoint *c);
void weir_master_delete(struct weir_master *m, uint64_t id, const uint64_t *files, uint32_t cnt,
			bool answer);
bool weir_master_step_chains(struct weir_master *m);
/* Checkpoint id is complete: what is left of older ones in doubt goes. */
void weir_master_settle_doubts(struct weir_master *m, uint64_t id);

#endif /* WEIR_ENGINE_CORE_MASTER_PRIV_H */

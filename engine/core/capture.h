#ifndef WEIR_ENGINE_CORE_CAPTURE_H
#define WEIR_ENGINE_CORE_CAPTURE_H

/*
 * weir_capture: the frames in flight that one checkpoint keeps of one task (T12, T13), by
 * reference, from the moment the gate or an output names them until they are on disk.
 *
 *   gate, overdraft -- keep --> frames of the capture -- pieces --> the core's data file
 *                               (a reference each)      (no copy)   (reference dropped per write)
 *
 * A task has two: one may still wait for writes of a checkpoint that was given up while the next is
 * taken. Frames of the inputs make segments of the task's first operator, frames of the outputs
 * segments of the operator that sends; as many as their size asks for.
 *
 * Threads:   the task's core. Ownership: one reference per frame, dropped when its write has come
 *            back or the capture is over.
 * Memory:    taken at set-up: cap frames. Cost: O(1) per frame; nothing while no capture runs.
 * Limits:    a capture that is full is lost: its checkpoint is declined.
 */

#include "engine/exchange/frame.h"
#include "engine/graph/plan.h"
#include "engine/state/snapshot.h"

#define WEIR_CAPTURES 2u
/* Inputs; outputs of each operator of the chain. */
#define WEIR_CAPTURE_ENDS (1 + WEIR_CHAIN_MAX)

/* state_idx of the CHANNEL segments. */
enum weir_capture_side { WEIR_CAPTURE_INPUT, WEIR_CAPTURE_OUTPUT };

struct weir_capture;

struct weir_captured {
	uint32_t side; /* 0: inputs; 1 + k: outputs of operator k of the chain */
	uint32_t end;  /* number of the input channel, or of the port among the task's */
	uint32_t ref;  /* of the pool; WEIR_FRAME_NONE: given back */
	uint32_t seq;
	/* Set by weir_capture_sort. */
	uint32_t length;  /* bytes of the frame */
	uint32_t segment; /* which of the segments of its operator and side */
	uint64_t offset;  /* in it */
};

/* One segment. */
struct weir_capture_list {
	struct weir_snap_pieces pieces; /* first */
	struct weir_capture *capture;
	uint32_t first; /* of its pieces among all */
	bool handed;
};

struct weir_capture {
	uint64_t id; /* 0: free */
	bool over;   /* nobody asks for it any more; free when all references are back */
	bool lost;   /* a frame found no room */
	uint32_t cnt, cap;
	uint32_t input_cnt; /* of them, kept at inputs */
	uint32_t out;	    /* pieces that the writer has */
	uint64_t bytes;	    /* of frames; set by weir_capture_sort */
	struct weir_frame_pool *pool;
	struct weir_captured *frame;
	struct weir_snap_piece *piece;
	uint32_t *frame_of;		/* number of a piece -> frame */
	struct weir_capture_list *list; /* list_max of them */
	uint32_t list_cnt, list_max;
	bool sorted;
};

/* Segments that a capture of cap frames can need. */
uint32_t weir_capture_segments(const struct weir_frame_pool *pool, uint32_t cap);

/* Set-up: arrays of cap elements, and of lists weir_capture_segments, are lent for its life. */
struct weir_capture_memory {
	struct weir_captured *frame;
	struct weir_snap_piece *piece;
	uint32_t *frame_of;
	struct weir_capture_list *list;
};
void weir_capture_init(struct weir_capture *c, struct weir_frame_pool *pool, uint32_t cap,
		       const struct weir_capture_memory *memory);

/* The capture of checkpoint id among cnt, begun if need be; NULL: all are in use. */
struct weir_capture *weir_capture_of(struct weir_capture *captures, uint32_t cnt, uint64_t id);
/* The capture of id if there is one. */
struct weir_capture *weir_capture_find(struct weir_capture *captures, uint32_t cnt, uint64_t id);

/* Keep a frame: takes a reference. */
void weir_capture_keep(struct weir_capture *c, uint32_t side, uint32_t end,
		       const struct weir_item *frame);

/*
 * All frames are known: lay them out in segments. layout(arg, side, end) says how frames of an end
 * are laid out; operators: numbers of the chain's operators in the plan.
 */
void weir_capture_sort(struct weir_capture *c,
		       const struct weir_layout *(*layout)(void *arg, uint32_t side, uint32_t end),
		       void *arg, const uint32_t *operators, uint32_t subtask);

/* Hand what there is to the writer; false: it has no room now, call again. */
WEIR_MUST_USE bool weir_capture_hand_over(struct weir_capture *c,
					  const struct weir_snapshot_ops *ops,
					  struct weir_snap_writer *writer);

/* Acknowledged, or given up. */
void weir_capture_over(struct weir_capture *c);

/* After the job: no write will come back any more. */
void weir_capture_fini(struct weir_capture *c);

#endif /* WEIR_ENGINE_CORE_CAPTURE_H */

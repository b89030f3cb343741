#ifndef WEIR_ENGINE_CHECKPOINT_MANIFEST_H
#define WEIR_ENGINE_CHECKPOINT_MANIFEST_H

/*
 * weir_manifest: what a completed checkpoint is (S11). A checkpoint exists if and only if its
 * manifest does; data files that no manifest names are nothing.
 *
 *   file `manifest`, little-endian:
 *      0  u64  magic "WEIRCHKP"
 *      8  u32  format version (1)
 *     12  u32  CRC32C over bytes 8..11, 16..23 and the payload
 *     16  u64  payload length: all of the rest of the file, not one byte more or less
 *     24  payload: protobuf message Manifest of manifest.proto
 *
 * So one changed, missing or surplus byte anywhere is found, and the text says where. The structs
 * here are plain: the rest of the engine knows no generated type. The same checks run both ways
 * (weir_manifest_check), so what could not be read back is not written either.
 *
 * Threads:   none of its own; a manifest belongs to one thread (the control thread).
 * Ownership: a manifest to be encoded borrows all it points to from its maker. A decoded one owns
 *            all it points to until weir_manifest_destroy; its blobs are 16-byte aligned.
 * Cost:      allocates, control thread only; linear in the size, plus a sort of segments and
 *            channels.
 * Limits:    payload at most WEIR_MANIFEST_BYTES_MAX; names, counts as given at the fields.
 * Failure:   WEIR_ERR_DATA, err names the part (header, payload, `operator "count" subtask 2
 *            segment 3`, ...) and the reason; WEIR_ERR_FAILED when memory is out.
 */

#include "engine/base/error.h"
#include "engine/exchange/alignment.h"
#include "engine/state/segment.h"

#define WEIR_MANIFEST_MAGIC	  0x504b484352494557ull /* "WEIRCHKP" */
#define WEIR_MANIFEST_VERSION	  1u
#define WEIR_MANIFEST_HEADER	  24u
#define WEIR_MANIFEST_BYTES_MAX	  (1ull << 30)
#define WEIR_MANIFEST_NAME_MAX	  255u /* bytes of a name or id */
#define WEIR_MANIFEST_REASONS_MAX 8u
#define WEIR_MANIFEST_FRAME_MIN	  64u /* bytes of a frame's header */
#define WEIR_RUN_ID_LEN		  32u /* lower-case hex digits of 16 random bytes */

enum weir_manifest_kind {
	WEIR_MANIFEST_PERIODIC = 1,
	WEIR_MANIFEST_MANUAL = 2, /* asked for by somebody */
	WEIR_MANIFEST_FINAL = 3,  /* at the end of a bounded job (T28) */
	/* The following are self-contained: their data files lie beside the manifest (S1, S12). */
	WEIR_MANIFEST_SAVEPOINT = 4,
	WEIR_MANIFEST_SUSPEND = 5, /* the job was stopped with it (S4) */
	WEIR_MANIFEST_DRAIN = 6,   /* the same, after its input had been ended */
};

static inline bool
weir_manifest_is_savepoint(uint32_t kind)
{
	return kind >= WEIR_MANIFEST_SAVEPOINT;
}

/* Any bytes; NULL only if len is 0. */
struct weir_blob {
	const void *bytes;
	size_t len;
};

/* A segment and the file it stands in. Its operator_idx and subtask are those of the entry that
 * holds it; a STATE's state_idx counts in the operator's states, a BLOB's in its opstates. */
struct weir_manifest_segment {
	struct weir_segment seg;
	uint32_t file_idx; /* index into the manifest's files */
	/* Of an earlier checkpoint's file. stale: nothing of it counts, it is here to prove the
	 * file. live, of a STATE: which of its records stand, as 64-bit words, record 0 the lowest
	 * bit of the first; no bytes: all of them. */
	bool stale;
	struct weir_blob live;
};

/* A frame in flight, as it lay in memory, its header (engine/exchange/frame.h) included. */
struct weir_manifest_frame {
	uint64_t seq;	  /* its number in the channel */
	uint64_t offset;  /* from the segment's first byte (header of the segment included) */
	uint32_t segment; /* index among this subtask's segments; of kind CHANNEL */
	uint32_t length; /* bytes: up to its last row and heap byte, at most what the layout gives a
			    frame; what is missing of that means nothing */
};

/*
 * The consumer's end of a channel: §0's k, and what the gate knew of the channel at the cut.
 *
 * A virtual channel (R3) is left over from a restore at another parallelism: it has a consumer but
 * no producer, and all that will ever come on it is here. producer then only says whose frames they
 * were; several virtual channels may name the same.
 */
struct weir_manifest_input {
	uint32_t edge_idx;	/* index into the manifest's edges */
	uint32_t producer;	/* subtask */
	uint64_t processed_seq; /* k */
	int64_t watermark_ns;
	bool idle;
	bool virtual_channel;
	uint64_t last_seq; /* virtual: number of its last frame */
	uint32_t stage;	   /* virtual: frames of a lower stage come before its own (R3) */
	const struct weir_manifest_frame *frames; /* kept at the input: k+1, k+2, ... */
	uint32_t frame_cnt;
};

/* The producer's end of a channel: §0's m. */
struct weir_manifest_output {
	uint32_t edge_idx;
	uint32_t consumer;			  /* subtask */
	uint64_t produced_seq;			  /* m */
	const struct weir_manifest_frame *frames; /* kept at the output: ..., m-1, m */
	uint32_t frame_cnt;
};

/* A split under way. split_idx counts in the list of splits that the coordinator's blob holds. */
struct weir_manifest_split {
	uint32_t split_idx;
	struct weir_blob position;
};

struct weir_manifest_subtask {
	bool finished; /* ended before this checkpoint (C14): no channels are expected of it */
	int64_t watermark_ns;
	uint64_t rows_in; /* R12: counters are state */
	uint64_t rows_out;
	uint64_t bytes_in; /* sources: bytes of input consumed */
	uint64_t truncated;
	const uint64_t *dropped;	 /* one number per reason of the operator */
	const uint32_t *finished_splits; /* sources: splits read to their end */
	const struct weir_manifest_split *current_splits;
	const struct weir_manifest_segment *segments; /* in the order of writing */
	const struct weir_manifest_input *inputs;
	const struct weir_manifest_output *outputs;
	uint32_t dropped_cnt;
	uint32_t finished_split_cnt;
	uint32_t current_split_cnt;
	uint32_t segment_cnt;
	uint32_t input_cnt;
	uint32_t output_cnt;
	struct weir_blob blob; /* what the operator itself keeps: a sink's files to commit, ... */
};

/* A declared keyed state; matched at restore by operator id and name. */
struct weir_manifest_state {
	const char *name;
	uint32_t key_kind;  /* 0 fixed, 1 bytes */
	uint32_t key_bytes; /* fixed: 1..256; bytes: 0 */
	uint32_t value_bytes;
	const char *key_type;	/* in words; "": not known */
	const char *value_type; /* in words of the operator's; "": only the length is known */
};

/*
 * A declared state that belongs to no key (R5); matched as keyed ones are, whose names it does not
 * share. Every subtask that has not finished has at least one segment of kind BLOB of it, whose
 * entry_cnt are the items in it.
 */
struct weir_manifest_opstate {
	const char *name;
	uint32_t kind;	     /* enum weir_operator_state_kind */
	uint32_t key_bytes;  /* a map's: 0 byte strings; a list's: 0 */
	uint32_t item_bytes; /* 0: byte strings */
	const char *type;    /* in words of the operator's; "": not known */
};

struct weir_manifest_operator {
	const char *id;		    /* unique in the manifest */
	const char *type;	    /* "source", "window", ... for people */
	const char *const *reasons; /* names of dropped[] */
	const struct weir_manifest_state *states;
	const struct weir_manifest_opstate *opstates;
	const struct weir_manifest_subtask *subtasks;
	uint32_t reason_cnt;
	uint32_t state_cnt;
	uint32_t opstate_cnt;
	uint32_t subtask_cnt;	      /* its parallelism, 1..max_parallelism */
	bool finished;		      /* if and only if all its subtasks are */
	struct weir_blob coordinator; /* of a source: the list of its splits */
};

/* An edge with channels of its own (not a call within a chain). */
struct weir_manifest_edge {
	uint32_t from_idx; /* operators, by index */
	uint32_t to_idx;
	uint32_t input; /* which of the consumer's inputs */
	const char *partitioner;
	uint64_t layout;    /* weir_layout_hash: frames of another layout cannot be read */
	uint32_t alignment; /* enum weir_edge_alignment (T25): who may hold frames */
};

/* A data file. */
struct weir_manifest_file {
	const char *name; /* in <dir>/<job>/data; of a savepoint, in its directory */
	uint64_t length;  /* bytes */
};

/* What a master hook said when the checkpoint was triggered (K15); matched by name at restore. */
struct weir_manifest_hook {
	const char *name; /* unique */
	struct weir_blob state;
};

struct weir_manifest {
	const char *weir_version; /* of the program that wrote it */
	const char *job;
	const char *run_id; /* WEIR_RUN_ID_LEN hex digits */
	uint64_t attempt;   /* >= 1 */
	uint64_t checkpoint_id;
	uint32_t kind;		  /* enum weir_manifest_kind */
	uint32_t max_parallelism; /* R4: a power of two, fixed for the life of the state */
	int64_t trigger_ns;	  /* since 1970 */
	bool at_least_once;	  /* T18: consumers may have processed more than the cut */
	const struct weir_manifest_operator *operators;
	const struct weir_manifest_edge *edges;
	const struct weir_manifest_file *files; /* no name twice */
	uint32_t operator_cnt;
	uint32_t edge_cnt;
	uint32_t file_cnt;
	const struct weir_manifest_hook *hooks;
	uint32_t hook_cnt;
};

/*
 * The bytes of the file for *m. On success *bytes is the caller's, given back with
 * weir_manifest_bytes_free; on failure both outputs are unchanged.
 */
WEIR_MUST_USE int weir_manifest_encode(const struct weir_manifest *m, uint8_t **bytes, size_t *len,
				       struct weir_error *err);
void weir_manifest_bytes_free(uint8_t *bytes);

/* The manifest in len bytes (borrowed for the call). On failure *out is unchanged. */
WEIR_MUST_USE int weir_manifest_decode(const void *bytes, size_t len, struct weir_manifest **out,
				       struct weir_error *err);
void weir_manifest_destroy(struct weir_manifest *m);

/*
 * Is *m whole and free of contradiction? Names present and unique, indices and counts in range,
 * segments aligned, inside their files and apart from each other, and §0: every channel between a
 * running producer and a running consumer is there from both sides, and the frames k+1..m are
 * there, in order, each once (none on an edge that is aligned: k = m). Encode and decode call it.
 */
WEIR_MUST_USE int weir_manifest_check(const struct weir_manifest *m, struct weir_error *err);

#endif /* WEIR_ENGINE_CHECKPOINT_MANIFEST_H */

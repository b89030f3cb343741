#ifndef WEIR_ENGINE_OPERATORS_READER_H
#define WEIR_ENGINE_OPERATORS_READER_H

/*
 * weir_readers: the head of a source task: the splits it reads now, the watermark of all of them
 * and of those not yet handed out, and which ones are done. What a restore has left to hand out is
 * the enumerator's list less what the subtasks' snapshots name as finished or current
 * (engine/core/enumerator.h).
 *
 * Threads:   one core; the split list is read-only while the job runs.
 * Ownership: takes the connector's memory for one reader at create, for more while a restore gives
 *            more splits; while the job runs one is asked for when there is none.
 * Failure:   read returns the connector's code, text in the operator's context.
 */

#include "engine/operators/ctx.h"
#include "weir/connector.h"

#define WEIR_WARNING_BYTES 1024u /* a path and what is wrong with it */

/* The list that enumerate makes; also what a checkpoint keeps of it. */
struct weir_split_list {
	struct weir_split *split; /* names owned */
	uint32_t cnt, cap;
	char (*warning)[WEIR_WARNING_BYTES];
	uint32_t warning_cnt;
	struct weir_error error;
};

struct weir_split_given {
	uint32_t idx; /* in the list */
	struct weir_split split;
	struct weir_position position; /* zero: from the beginning */
};

struct weir_reader {
	bool used;
	bool open;
	struct weir_split_given given;
	int64_t watermark_ns;
	void *memory;
};

struct weir_reader_ctx {
	struct weir_operator_ctx *op;
	void (*warn)(void *arg, const char *text);
	void *warn_arg;
};

struct weir_readers {
	const struct weir_connector *connector;
	struct weir_reader_ctx ctx;
	struct weir_reader *reader;
	uint32_t reader_cnt; /* of them; active ones are used */
	uint32_t active;
	uint32_t next; /* round robin */
	bool wanted;   /* a split has been asked for */
	bool no_more;
	int64_t hold_ns; /* of splits not handed out */
	int64_t watermark_ns;
	uint32_t *finished; /* split numbers, in order of their end; room for all */
	uint32_t finished_cnt;
	uint64_t rate;	       /* rows per second of this subtask, 0: as fast as it goes */
	int64_t start_ns;      /* of the rate's schedule */
	uint64_t paced;	       /* rows on that schedule */
	bool stamp;	       /* rows carry when they were read */
	_Atomic uint64_t rows; /* read, dropped ones included */
	_Atomic uint64_t bytes;
	_Atomic uint64_t splits; /* finished ones */
	struct weir_read batch;
};

struct weir_readers *weir_readers_create(const struct weir_connector *connector,
					 struct weir_operator_ctx *op, uint32_t split_cnt);
void weir_readers_destroy(struct weir_readers *r);

/* Set-up: room for one more split than there are now. */
void weir_readers_grow(struct weir_readers *r);

/* A split was handed to this subtask. There is room for it (asserted): only one is asked for at a
 * time. */
void weir_readers_give(struct weir_readers *r, const struct weir_split_given *given);

/* Read one batch and emit it; *rows counts what was read. 0, or why it failed. */
WEIR_MUST_USE int weir_readers_read(struct weir_readers *r, int64_t now_ns, uint32_t *rows);

/* Nothing to read now and nothing will come. */
static inline bool
weir_readers_at_end(const struct weir_readers *r)
{
	return r->no_more && r->active == 0;
}

/* Recompute the watermark from splits and hold. */
int64_t weir_readers_watermark(struct weir_readers *r);

/* Position of a reader between two batches. */
void weir_readers_position(const struct weir_readers *r, uint32_t slot,
			   struct weir_position *position);

void weir_split_list_fini(struct weir_split_list *list);

#endif /* WEIR_ENGINE_OPERATORS_READER_H */

#ifndef WEIR_CONNECTOR_H
#define WEIR_CONNECTOR_H

/*
 * Sources. A source's input is a list of splits (files, ranges of files, ranges of numbers). The
 * control thread makes the list once (enumerate) and hands splits to subtasks as they ask; a reader
 * reads one split, batch by batch, and can say exactly where it stands between two batches.
 *
 * Threads:      enumerate runs on the control thread before the job starts; a reader on one core.
 * Exactly once: the position after a read, given to open in a later run, continues with the next
 * row.
 */

#include <weir/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A piece of input. Zero-initialise; name is copied by weir_splits_add. */
struct weir_split {
	const char *name; /* file, or what to call it in messages */
	uint64_t begin;	  /* the connector's own units (bytes, numbers) */
	uint64_t end;	  /* UINT64_MAX: endless */
	int64_t hold_ns;  /* until it is read, it holds the watermark here; WEIR_TIME_END: never */
	uint64_t word[4]; /* the connector's own, kept in checkpoints */
};

/* Where a reader stands between two batches; the connector's own words, kept in checkpoints. All
 * zero: at the beginning. */
struct weir_position {
	uint64_t word[8];
};

struct weir_splits; /* the list under construction */
int weir_splits_add(struct weir_splits *splits, const struct weir_split *split);
/* A line for the report's and the terminal's warnings. */
void weir_splits_warn(struct weir_splits *splits, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Why enumerate fails; code is an exit code: 65 bad data, 66 input not there, 78 configuration. */
int weir_splits_fail(struct weir_splits *splits, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* One batch of rows for a reader to fill. */
struct weir_read {
	uint32_t cap;		     /* rows that fit, <= WEIR_BATCH_ROWS */
	uint32_t demand;	     /* bit c: somebody reads column c; others need not be filled */
	void *col[WEIR_COLUMNS_MAX]; /* cap rows each */
	char *heap;		     /* for BYTES columns */
	uint32_t heap_cap;
	int64_t now_ns; /* the core's clock */

	/* Filled by the reader; zero (watermark: WEIR_TIME_NONE) before. */
	uint32_t rows;
	uint32_t heap_len;
	int64_t watermark_ns; /* nothing at or below it comes from this split any more */
	uint64_t bytes;	      /* of input consumed */
	uint64_t dropped[WEIR_REASONS_MAX]; /* rows read but not handed on, by reason */
	uint64_t truncated;
	bool end; /* the split is read to its end */
};

struct weir_reader_ctx; /* the reader's surroundings */
const struct weir_params *weir_reader_params(const struct weir_reader_ctx *ctx);
void weir_reader_warn(struct weir_reader_ctx *ctx, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int weir_reader_fail(struct weir_reader_ctx *ctx, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

struct weir_connector {
	const char *name; /* "files", "pcap", "generator" */
	const struct weir_type *type;
	const char *const *reasons; /* names of dropped[], at most WEIR_REASONS_MAX */
	uint32_t reason_cnt;
	size_t reader_bytes; /* private memory of a reader, zeroed before open */

	/* List all splits for parallelism readers, in the order in which they are to be read. */
	int (*enumerate)(const struct weir_params *params, uint32_t parallelism,
			 struct weir_splits *splits);
	int (*open)(struct weir_reader_ctx *ctx, void *reader, const struct weir_split *split,
		    const struct weir_position *position);
	/* Fill one batch; 0 rows without end: nothing now. Returns 0 or weir_reader_fail's result.
	 */
	int (*read)(struct weir_reader_ctx *ctx, void *reader, struct weir_read *batch);
	void (*position)(const void *reader, struct weir_position *position);
	void (*close)(void *reader);
};

/*
 * How a sink turns rows into text: write as many whole lines as fit for rows [from, in->selected)
 * into text, set *bytes, return the number of rows written. A row never needs more than
 * WEIR_TEXT_MAX bytes.
 */
#define WEIR_TEXT_MAX 8192u
typedef uint32_t (*weir_format_fn)(const struct weir_batch *in, uint32_t from, char *text,
				   size_t cap, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif /* WEIR_CONNECTOR_H */

#ifndef WEIR_ENGINE_IO_H
#define WEIR_ENGINE_IO_H

/*
 * weir_io: the only way from the engine to files. A request is handed over, comes back later.
 *
 * The engine makes no system call; a driver (drivers/uring, drivers/posix, the simulator)
 * implements the table. All back ends pass the same tests. Snapshot writers, the manifest store and
 * file sinks use it.
 *
 * Threads:   one weir_io belongs to one thread (each core has its own, the control thread too).
 * Ownership: a request and all it points to belong to the back end from submit until harvest
 *            returns it.
 * Order:     none is promised between requests in flight, not even on one file. Who needs an
 *            order waits for the first completion (rename after fsync, fsync after all writes). No
 *            linked requests.
 * Cost:      submit and harvest are batch calls; neither blocks for the disk.
 * Limits:    callers keep at most depth requests in flight.
 * Failure:   result < 0 is a negated errno of the one operation. A write or read moves all its
 *            bytes or fails (the back end continues short transfers and EINTR itself; a read stops
 *            early only at the end of the file: result is then the bytes read). A failed fsync is
 *            final: never retried.
 */

#include "engine/base/base.h"

/* off of a WRITE to something without offsets (a pipe, a terminal): at the end, one at a time. */
#define WEIR_IO_STREAM UINT64_MAX

enum weir_io_kind {
	WEIR_IO_OPEN_NEW,  /* path: create, fail if it exists; result = handle >= 0 */
	WEIR_IO_OPEN_READ, /* path: existing file, for reading; result = handle */
	WEIR_IO_WRITE,	   /* handle, buf, len, off; result = len */
	WEIR_IO_READ,	/* handle, buf, len, off; result = bytes read, less than len only at the end
			 */
	WEIR_IO_FSYNC,	/* handle */
	WEIR_IO_CLOSE,	/* handle */
	WEIR_IO_MKDIR,	/* path, with all missing parents; existing is success */
	WEIR_IO_RENAME, /* path -> path2, replaces nothing: -EEXIST if path2 exists */
	WEIR_IO_UNLINK, /* path: file or empty directory; missing is success */
	WEIR_IO_FSYNC_DIR, /* path: make the names in this directory durable */
};

/* A piece of a gathered write. */
struct weir_io_piece {
	void *base;
	size_t len;
};
#define WEIR_IO_PIECES_MAX 256u

struct weir_io_req {
	enum weir_io_kind kind;
	bool direct; /* OPEN_NEW: use O_DIRECT if the file system can; then buf, len and off of
			every write      are multiples of 4096 */
	int handle;  /* in: WRITE, READ, FSYNC, CLOSE */
	void *buf;   /* borrowed until harvest */
	/* WRITE, not to a stream: instead of buf, pieces one behind the other, len in all; with
	 * direct each of them is a multiple of 4096. Borrowed until harvest. 0: buf */
	const struct weir_io_piece *piece;
	uint32_t piece_cnt;
	uint64_t len;		  /* bytes, at most 1 GiB */
	uint64_t off;		  /* bytes from the start of the file */
	const char *path;	  /* borrowed until harvest */
	const char *path2;	  /* borrowed until harvest */
	int64_t result;		  /* out: >= 0 or a negated errno */
	void *user;		  /* the caller's own; untouched */
	struct weir_io_req *next; /* the back end's own while it owns the request */
};

struct weir_io;

struct weir_io_ops {
	const char *name; /* "uring-registered", "uring", "posix", "sim" */
	/* Hand over cnt requests; all are accepted (in flight <= depth is the caller's duty,
	 * asserted). */
	void (*submit)(struct weir_io *io, struct weir_io_req **reqs, uint32_t cnt);
	/* Take up to max completed requests, in any order; 0 when none is ready. Never waits. */
	uint32_t (*harvest)(struct weir_io *io, struct weir_io_req **done, uint32_t max);
};

/* First member of every back end's own struct. */
struct weir_io {
	const struct weir_io_ops *ops;
	uint32_t depth;	    /* set once: most requests in flight */
	uint32_t in_flight; /* owner thread only */
};

static inline void
weir_io_submit(struct weir_io *io, struct weir_io_req **reqs, uint32_t cnt)
{
	WEIR_ASSERT(io->in_flight + cnt <= io->depth);
	io->in_flight += cnt;
	io->ops->submit(io, reqs, cnt);
}

static inline uint32_t
weir_io_harvest(struct weir_io *io, struct weir_io_req **done, uint32_t max)
{
	uint32_t cnt;

	if (io->in_flight == 0)
		return 0;
	cnt = io->ops->harvest(io, done, max);
	WEIR_ASSERT(cnt <= io->in_flight);
	io->in_flight -= cnt;
	return cnt;
}

/* Room for one more request now? */
static inline bool
weir_io_ready(const struct weir_io *io)
{
	return io->in_flight < io->depth;
}

#endif /* WEIR_ENGINE_IO_H */

#ifndef WEIR_DRIVERS_URING_URING_PRIV_H
#define WEIR_DRIVERS_URING_URING_PRIV_H

/*
 * A request as a sequence of submission entries. Pure: nothing here enters the kernel, except that
 * a write whose file turns out not to bear O_DIRECT has its flag changed (fcntl, never blocks).
 */

#include <sys/stat.h>
#include <sys/uio.h>

#include "drivers/posix/file_ops.h"
#include "engine/io.h"

struct io_uring_sqe;

/* One request in flight; has one entry in the kernel at a time. */
struct uring_slot {
	struct weir_io_req *req;
	uint64_t moved;	    /* WRITE, READ: bytes so far */
	int64_t kept;	    /* FSYNC_DIR, UNLINK: the answer of an earlier step */
	int32_t fd;	    /* FSYNC_DIR */
	uint32_t step;	    /* meaning by kind */
	uint32_t next_free; /* of free or waiting slots */
	struct statx stx;
	struct weir_mkdir_walk walk;
};

struct uring_buffers {
	const struct iovec *piece; /* as registered */
	uint32_t cnt;
};

enum uring_next {
	URING_AGAIN,  /* prepare the next entry */
	URING_DONE,   /* *result is the answer */
	URING_HELPER, /* this cannot be done here */
};

/* Put req into slot. False: *result is the answer already. */
bool uring_slot_start(struct uring_slot *slot, struct weir_io_req *req, int64_t *result);

/* Fill in the entry of the current step, all but user_data. */
void uring_slot_prep(struct uring_slot *slot, const struct uring_buffers *bufs,
		     struct io_uring_sqe *sqe);

/* The entry completed with res. */
enum uring_next uring_slot_advance(struct uring_slot *slot, int32_t res, int64_t *result);

#endif /* WEIR_DRIVERS_URING_URING_PRIV_H */

#include "drivers/uring/uring_trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <liburing.h>

#include "drivers/uring/uring_io.h"

/* Best first. R_DISABLED: the ring is bound to the thread that enables it, not to its creator. */
static const uint32_t flag_sets[] = {
	IORING_SETUP_SUBMIT_ALL | IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER |
		IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
	IORING_SETUP_SUBMIT_ALL | IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER |
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
	IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
	0,
};

static int
fail(struct weir_error *err, const char *call, int rc)
{
	const char *mend = "see weir doctor";

	if (rc == -EPERM || rc == -EACCES)
		mend = "allow io_uring_setup, io_uring_enter and io_uring_register in the seccomp "
		       "profile, or sysctl -w kernel.io_uring_disabled=0";
	else if (rc == -ENOSYS)
		mend = "needs Linux 5.6 or newer, and a seccomp profile that lets it through";
	else if (rc == -ENOMEM)
		mend = "raise the memlock limit: ulimit -l, LimitMEMLOCK=";
	return weir_fail(err, WEIR_ERR_UNAVAILABLE, "no io_uring (%s: %s): %s", call, strerror(-rc),
			 mend);
}

/* A no-operation through the ring: set-up may be allowed and the rest forbidden. */
static int
try_nop(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;
	int rc;

	if (sqe == NULL)
		return -ENOMEM;
	io_uring_prep_nop(sqe);
	rc = io_uring_submit_and_wait(ring, 1);
	if (rc < 0)
		return rc;
	rc = io_uring_peek_cqe(ring, &cqe);
	if (rc == 0)
		io_uring_cqe_seen(ring, cqe);
	return rc;
}

static void
learn_kinds(struct uring_able *able, const struct io_uring_probe *probe)
{
#define HAS(op) (io_uring_opcode_supported(probe, IORING_OP_##op) != 0)
	const bool open_close = HAS(OPENAT) && HAS(CLOSE);

	able->native[WEIR_IO_OPEN_NEW] = open_close;
	able->native[WEIR_IO_OPEN_READ] = open_close;
	able->native[WEIR_IO_WRITE] = HAS(WRITE) && HAS(WRITE_FIXED) && HAS(WRITEV);
	able->native[WEIR_IO_READ] = HAS(READ) && HAS(READ_FIXED);
	able->native[WEIR_IO_FSYNC] = HAS(FSYNC);
	able->native[WEIR_IO_CLOSE] = HAS(CLOSE);
	able->native[WEIR_IO_MKDIR] = HAS(MKDIRAT) && HAS(STATX);
	able->native[WEIR_IO_RENAME] = HAS(RENAMEAT);
	able->native[WEIR_IO_UNLINK] = HAS(UNLINKAT);
	able->native[WEIR_IO_FSYNC_DIR] = open_close && HAS(FSYNC);
#undef HAS
}

/* The kinds that make io_uring worth having. */
static int
probe_kinds(struct io_uring *ring, struct uring_able *able)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(ring);

	if (probe == NULL)
		return -ENOSYS;
	learn_kinds(able, probe);
	io_uring_free_probe(probe);
	return able->native[WEIR_IO_WRITE] && able->native[WEIR_IO_READ] &&
			       able->native[WEIR_IO_FSYNC]
		       ? 0
		       : -ENOSYS;
}

int
uring_try(struct uring_able *able, struct weir_error *err)
{
	struct io_uring ring;
	const char *call = "io_uring_setup";
	int rc = -EINVAL;

	for (uint32_t i = 0; i < WEIR_ARRAY_CNT(flag_sets) && rc == -EINVAL; i++) {
		able->flags = flag_sets[i];
		rc = io_uring_queue_init(4, &ring, able->flags & ~IORING_SETUP_R_DISABLED);
	}
	if (rc != 0)
		return fail(err, call, rc);
	call = "io_uring_enter";
	rc = try_nop(&ring);
	if (rc == 0) {
		call = "io_uring_register";
		rc = probe_kinds(&ring, able);
	}
	io_uring_queue_exit(&ring);
	return rc == 0 ? 0 : fail(err, call, rc);
}

int
weir_uring_trial(struct weir_error *err)
{
	struct uring_able able;

	return uring_try(&able, err);
}

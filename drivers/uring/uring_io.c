#include "drivers/uring/uring_io.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <liburing.h>

#include "drivers/posix/posix_io.h"
#include "drivers/uring/uring_priv.h"
#include "drivers/uring/uring_trial.h"

#define NONE	    UINT32_MAX
#define BATCH	    64u
#define PIECE_BYTES (UINT64_C(1) << 30) /* the kernel's limit for one registered buffer */
#define WORKER_MAX  4u			/* kernel workers of each kind, per ring */

struct uring_io {
	struct weir_io_driver drv; /* first */
	struct io_uring ring;
	struct uring_able able;
	bool settled; /* the owner is known to the kernel */
	bool closing; /* perhaps by another thread, from which the kernel takes no entries */
	cpu_set_t worker_mask;
	struct weir_io_options helper_opt; /* without regions */
	uint32_t cpus[CPU_SETSIZE];

	struct uring_slot *slots;
	uint32_t free;	  /* first free slot */
	uint32_t waiting; /* first slot that found no room for its entry */
	uint32_t live;	  /* slots in use */

	struct uring_buffers bufs;
	struct iovec piece[WEIR_IO_REGION_MAX];

	struct weir_io *helper;	   /* NULL until needed */
	struct weir_io_req *ready; /* completed, not yet returned */
};

static struct uring_io *
uring_of(struct weir_io *io)
{
	return WEIR_CONTAINER(weir_io_driver_of(io), struct uring_io, drv);
}

static void
push_ready(struct uring_io *u, struct weir_io_req *req, int64_t result)
{
	req->result = result;
	req->next = u->ready;
	u->ready = req;
}

static void
give_to_helper(struct uring_io *u, struct weir_io_req *req)
{
	if (u->helper == NULL &&
	    weir_posix_io_open(&u->helper_opt, u->drv.wake_fd, &u->helper, NULL) != 0) {
		push_ready(u, req, -EAGAIN);
		return;
	}
	weir_io_submit(u->helper, &req, 1);
}

/* Hand the filled entries to the kernel. What it cannot take now is offered again by harvest. */
static void
flush(struct uring_io *u)
{
	int rc;

	while (io_uring_sq_ready(&u->ring) > 0) {
		rc = io_uring_submit(&u->ring);
		if (rc == -EINTR || rc > 0)
			continue;
		/* Anything else is a fault of ours: -EEXIST is a call from a foreign thread, which
		 * only the one that closes may be: next steps then go nowhere. */
		WEIR_ASSERT(rc == 0 || rc == -EAGAIN || rc == -EBUSY || rc == -ENOMEM ||
			    (u->closing && rc == -EEXIST));
		return;
	}
}

/* #22: there is room for depth entries, but the kernel may not have taken the last ones yet. */
static void
queue_step(struct uring_io *u, uint32_t idx)
{
	struct uring_slot *slot = &u->slots[idx];
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	if (sqe == NULL) {
		flush(u);
		sqe = io_uring_get_sqe(&u->ring);
	}
	if (sqe == NULL) {
		slot->next_free = u->waiting;
		u->waiting = idx;
		return;
	}
	uring_slot_prep(slot, &u->bufs, sqe);
	io_uring_sqe_set_data64(sqe, idx);
}

static void
queue_waiting(struct uring_io *u)
{
	uint32_t idx = u->waiting;

	u->waiting = NONE;
	while (idx != NONE) {
		const uint32_t next = u->slots[idx].next_free;

		queue_step(u, idx);
		idx = next;
	}
}

/*
 * First submit: bind the ring to this thread, and put the workers that the kernel will start for it
 * on the control CPUs: they would take the core's own. The kernel knows this thread's workers only
 * after it has entered once, hence the no-operation.
 */
static void
settle(struct uring_io *u)
{
	unsigned int worker_max[2] = { WORKER_MAX, WORKER_MAX };
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	int rc = 0;

	/* liburing 2.3 declares a function for this and does not export it. */
	if (u->able.flags & IORING_SETUP_R_DISABLED)
		rc = (int)syscall(SYS_io_uring_register, u->ring.ring_fd,
				  IORING_REGISTER_ENABLE_RINGS, NULL, 0);
	WEIR_ASSERT(rc == 0);
	u->settled = true;
	sqe = io_uring_get_sqe(&u->ring);
	WEIR_ASSERT(sqe != NULL);
	io_uring_prep_nop(sqe);
	do {
		rc = io_uring_submit_and_wait(&u->ring, 1);
	} while (rc == -EINTR);
	if (io_uring_wait_cqe(&u->ring, &cqe) == 0)
		io_uring_cqe_seen(&u->ring, cqe);
	/* Both are of newer kernels (5.14, 5.15) and no more than a courtesy to the cores. */
	(void)io_uring_register_iowq_aff(&u->ring, sizeof(u->worker_mask), &u->worker_mask);
	(void)io_uring_register_iowq_max_workers(&u->ring, worker_max);
}

static void
submit_one(struct uring_io *u, struct weir_io_req *req)
{
	const uint32_t idx = u->free;
	int64_t result;

	if (!u->able.native[req->kind]) {
		give_to_helper(u, req);
		return;
	}
	WEIR_ASSERT(idx != NONE);
	if (!uring_slot_start(&u->slots[idx], req, &result)) {
		push_ready(u, req, result);
		return;
	}
	u->free = u->slots[idx].next_free;
	u->live++;
	queue_step(u, idx);
}

static void
uring_submit(struct weir_io *io, struct weir_io_req **reqs, uint32_t cnt)
{
	struct uring_io *u = uring_of(io);

	if (!u->settled)
		settle(u);
	for (uint32_t i = 0; i < cnt; i++)
		submit_one(u, reqs[i]);
	flush(u);
}

static void
free_slot(struct uring_io *u, uint32_t idx)
{
	u->slots[idx].req = NULL;
	u->slots[idx].next_free = u->free;
	u->free = idx;
	u->live--;
}

static void
act(struct uring_io *u, uint32_t idx, int32_t res)
{
	struct uring_slot *slot = &u->slots[idx];
	struct weir_io_req *req = slot->req;
	int64_t result = 0;

	WEIR_ASSERT(req != NULL);
	switch (uring_slot_advance(slot, res, &result)) {
	case URING_AGAIN:
		queue_step(u, idx);
		return;
	case URING_DONE:
		push_ready(u, req, result);
		break;
	case URING_HELPER:
		give_to_helper(u, req);
		break;
	}
	free_slot(u, idx);
}

struct outcome {
	uint32_t idx;
	int32_t res;
};

/* Take the completions off the ring before acting on any: acting makes new entries. */
static uint32_t
collect(struct uring_io *u, struct outcome *out)
{
	struct io_uring_cqe *cqes[BATCH];
	const unsigned int cnt = io_uring_peek_batch_cqe(&u->ring, cqes, BATCH);

	for (unsigned int i = 0; i < cnt; i++) {
		WEIR_ASSERT(io_uring_cqe_get_data64(cqes[i]) < u->drv.io.depth);
		out[i].idx = (uint32_t)io_uring_cqe_get_data64(cqes[i]);
		out[i].res = cqes[i]->res;
	}
	io_uring_cq_advance(&u->ring, cnt);
	return cnt;
}

/* At most as many rounds as there are requests: each round completes a step of some. */
static void
work(struct uring_io *u)
{
	struct outcome out[BATCH];
	uint32_t cnt = BATCH;

	if (u->waiting != NONE)
		queue_waiting(u);
	for (uint32_t round = 0; cnt == BATCH && round <= u->drv.io.depth / BATCH; round++) {
		cnt = collect(u, out);
		for (uint32_t i = 0; i < cnt; i++)
			act(u, out[i].idx, out[i].res);
	}
	flush(u);
}

static void
work_helper(struct uring_io *u)
{
	struct weir_io_req *reqs[BATCH];
	const uint32_t cnt = weir_io_harvest(u->helper, reqs, BATCH);

	for (uint32_t i = 0; i < cnt; i++)
		push_ready(u, reqs[i], reqs[i]->result);
}

static uint32_t
uring_harvest(struct weir_io *io, struct weir_io_req **done, uint32_t max)
{
	struct uring_io *u = uring_of(io);
	uint32_t cnt = 0;

	weir_io_wake_clear(u->drv.wake_fd);
	if (u->live != 0)
		work(u);
	if (u->helper != NULL)
		work_helper(u);
	while (cnt < max && u->ready != NULL) {
		done[cnt++] = u->ready;
		u->ready = u->ready->next;
	}
	return cnt;
}

/* Wait for the kernel to let go of all buffers. From a foreign thread that is not possible. */
static void
drain(struct uring_io *u)
{
	struct io_uring_cqe *cqe;
	int rc = 0;

	u->closing = true;
	while (u->live != 0 && (rc == 0 || rc == -EINTR)) {
		work(u);
		if (u->live != 0)
			rc = io_uring_wait_cqe(&u->ring, &cqe);
	}
}

static void
uring_free(struct uring_io *u)
{
	if (u->drv.wake_fd >= 0)
		close(u->drv.wake_fd);
	free(u->slots);
	free(u);
}

static void
uring_close(struct weir_io_driver *drv)
{
	struct uring_io *u = WEIR_CONTAINER(drv, struct uring_io, drv);

	if (u->settled)
		drain(u);
	weir_io_driver_close(u->helper);
	io_uring_queue_exit(&u->ring);
	uring_free(u);
}

static const struct weir_io_ops uring_ops = {
	.name = "uring",
	.submit = uring_submit,
	.harvest = uring_harvest,
};

static const struct weir_io_ops uring_registered_ops = {
	.name = "uring-registered",
	.submit = uring_submit,
	.harvest = uring_harvest,
};

/* Regions in pieces that the kernel takes. False if there are too many. */
static bool
cut_regions(struct uring_io *u, const struct weir_io_options *opt, uint64_t *bytes)
{
	uint32_t cnt = 0;

	*bytes = 0;
	for (uint32_t i = 0; i < opt->region_cnt; i++) {
		char *base = opt->regions[i].iov_base;
		uint64_t left = opt->regions[i].iov_len;

		*bytes += left;
		while (left > 0) {
			const uint64_t len = left < PIECE_BYTES ? left : PIECE_BYTES;

			if (cnt == WEIR_IO_REGION_MAX)
				return false;
			u->piece[cnt++] = (struct iovec){ .iov_base = base, .iov_len = len };
			base += len;
			left -= len;
		}
	}
	u->bufs = (struct uring_buffers){ .piece = u->piece, .cnt = cnt };
	return true;
}

/* Register the regions if the limits allow; if not, plain requests do, and note says why. */
static void
register_regions(struct uring_io *u, const struct weir_io_options *opt, char *note)
{
	struct rlimit lim = { 0 };
	uint64_t bytes;
	int rc;

	if (opt->region_cnt == 0)
		return;
	rc = cut_regions(u, opt, &bytes)
		     ? io_uring_register_buffers(&u->ring, u->piece, u->bufs.cnt)
		     : -E2BIG;
	if (rc == 0) {
		u->drv.io.ops = &uring_registered_ops;
		return;
	}
	u->bufs.cnt = 0;
	(void)getrlimit(RLIMIT_MEMLOCK, &lim);
	snprintf(note, WEIR_URING_NOTE_BYTES,
		 "buffers not registered (%s): need memlock %llu MiB, have %llu MiB: ulimit -l, "
		 "LimitMEMLOCK=",
		 strerror(-rc), (unsigned long long)(bytes >> 20),
		 (unsigned long long)(lim.rlim_cur >> 20));
}

static void
set_worker_cpus(struct uring_io *u, const struct weir_io_options *opt)
{
	CPU_ZERO(&u->worker_mask);
	if (opt->cpu_cnt == 0 &&
	    sched_getaffinity(getpid(), sizeof(u->worker_mask), &u->worker_mask) != 0)
		CPU_SET(0, &u->worker_mask);
	for (uint32_t i = 0; i < opt->cpu_cnt && i < CPU_SETSIZE; i++) {
		CPU_SET(opt->cpus[i], &u->worker_mask);
		u->cpus[i] = opt->cpus[i];
	}
	u->helper_opt = (struct weir_io_options){
		.depth = opt->depth,
		.cpus = u->cpus,
		.cpu_cnt = opt->cpu_cnt,
	};
}

static int
open_ring(struct uring_io *u, const struct weir_io_options *opt)
{
	int rc = io_uring_queue_init(opt->depth, &u->ring, u->able.flags);

	if (rc != 0 || !opt->wakeup)
		return rc;
	u->drv.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	rc = u->drv.wake_fd < 0 ? -errno : io_uring_register_eventfd(&u->ring, u->drv.wake_fd);
	if (rc != 0)
		io_uring_queue_exit(&u->ring);
	return rc;
}

static struct uring_io *
alloc(const struct weir_io_options *opt)
{
	struct uring_io *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return NULL;
	u->slots = calloc(opt->depth, sizeof(*u->slots));
	if (u->slots == NULL) {
		free(u);
		return NULL;
	}
	for (uint32_t i = 0; i < opt->depth; i++)
		u->slots[i].next_free = i + 1 < opt->depth ? i + 1 : NONE;
	u->waiting = NONE;
	u->drv.wake_fd = -1;
	u->drv.close = uring_close;
	u->drv.io = (struct weir_io){ .ops = &uring_ops, .depth = opt->depth };
	set_worker_cpus(u, opt);
	return u;
}

int
weir_uring_io_open(const struct weir_io_options *opt, struct weir_io **out,
		   char note[WEIR_URING_NOTE_BYTES], struct weir_error *err)
{
	struct uring_able able;
	struct uring_io *u;
	int rc = uring_try(&able, err);

	note[0] = '\0';
	if (rc != 0)
		return rc;
	u = alloc(opt);
	if (u == NULL)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "no memory for file requests");
	u->able = able;
	rc = open_ring(u, opt);
	if (rc != 0) {
		uring_free(u);
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "io_uring of depth %u: %s", opt->depth,
				 strerror(-rc));
	}
	register_regions(u, opt, note);
	*out = &u->drv.io;
	return 0;
}

#include "drivers/posix/posix_io.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "drivers/posix/file_ops.h"

struct posix_io {
	struct weir_io_driver drv; /* first */
	bool own_wake_fd;
	pthread_t thread;

	/* Owner only: harvested from `done`, not yet returned. */
	struct weir_io_req *ready;

	/* Under lock: requests to do, oldest first. */
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct weir_io_req *todo;
	struct weir_io_req **todo_end;
	bool stop;

	/* Finished requests, youngest first. Helper pushes, owner takes all. */
	alignas(WEIR_LINE_PAIR) _Atomic(struct weir_io_req *) done;
};

static struct posix_io *
posix_of(struct weir_io *io)
{
	return WEIR_CONTAINER(weir_io_driver_of(io), struct posix_io, drv);
}

static void
posix_submit(struct weir_io *io, struct weir_io_req **reqs, uint32_t cnt)
{
	struct posix_io *p = posix_of(io);

	if (cnt == 0)
		return;
	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; i < cnt; i++) {
		reqs[i]->next = NULL;
		*p->todo_end = reqs[i];
		p->todo_end = &reqs[i]->next;
	}
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
}

static uint32_t
posix_harvest(struct weir_io *io, struct weir_io_req **done, uint32_t max)
{
	struct posix_io *p = posix_of(io);
	uint32_t cnt = 0;

	/* A lent descriptor is cleared by who lent it, before it looks at its own completions. */
	if (p->own_wake_fd)
		weir_io_wake_clear(p->drv.wake_fd);
	/* A stale NULL only means that the request is found at the next call. */
	if (p->ready == NULL && atomic_load_explicit(&p->done, memory_order_relaxed) != NULL)
		/* D1: pairs with D2; makes the results and what was read visible. */
		p->ready = atomic_exchange_explicit(&p->done, NULL, memory_order_acquire);
	while (cnt < max && p->ready != NULL) {
		done[cnt++] = p->ready;
		p->ready = p->ready->next;
	}
	return cnt;
}

static void
finish(struct posix_io *p, struct weir_io_req *req)
{
	struct weir_io_req *head = atomic_load_explicit(&p->done, memory_order_relaxed);

	do {
		req->next = head;
		/* D2: pairs with D1; publishes result and data. The owner takes the whole list at
		 * once, so a head that comes back (ABA) is the same list. */
	} while (!atomic_compare_exchange_weak_explicit(&p->done, &head, req, memory_order_release,
							memory_order_relaxed));
	weir_io_wake_set(p->drv.wake_fd);
}

/* The oldest request; NULL when it is time to stop, which is after the last one. */
static struct weir_io_req *
take(struct posix_io *p)
{
	struct weir_io_req *req;

	pthread_mutex_lock(&p->lock);
	while (p->todo == NULL && !p->stop)
		pthread_cond_wait(&p->more, &p->lock);
	req = p->todo;
	if (req != NULL) {
		p->todo = req->next;
		if (p->todo == NULL)
			p->todo_end = &p->todo;
	}
	pthread_mutex_unlock(&p->lock);
	return req;
}

static void *
help(void *arg)
{
	struct posix_io *p = arg;
	struct weir_io_req *req;

	while ((req = take(p)) != NULL) {
		req->result = weir_file_run(req);
		finish(p, req);
	}
	return NULL;
}

static int
helper_mask(const struct weir_io_options *opt, cpu_set_t *mask)
{
	/* The main thread's, which is the process's own number. */
	if (opt->cpu_cnt == 0)
		return sched_getaffinity(getpid(), sizeof(*mask), mask) == 0 ? 0 : errno;
	CPU_ZERO(mask);
	for (uint32_t i = 0; i < opt->cpu_cnt; i++)
		CPU_SET(opt->cpus[i], mask);
	return 0;
}

/* With its CPUs from the start, and no signals: those are the control thread's. */
static int
start_helper(struct posix_io *p, const struct weir_io_options *opt)
{
	pthread_attr_t attr;
	sigset_t all, old;
	cpu_set_t mask;
	int rc = helper_mask(opt, &mask);

	if (rc != 0)
		return rc;
	rc = pthread_attr_init(&attr);
	if (rc != 0)
		return rc;
	rc = pthread_attr_setaffinity_np(&attr, sizeof(mask), &mask);
	if (rc == 0) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		rc = pthread_create(&p->thread, &attr, help, p);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	pthread_attr_destroy(&attr);
	if (rc == 0)
		(void)pthread_setname_np(p->thread, "weir-io");
	return rc;
}

static void
posix_free(struct posix_io *p)
{
	if (p->own_wake_fd)
		close(p->drv.wake_fd);
	pthread_cond_destroy(&p->more);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static void
posix_close(struct weir_io_driver *drv)
{
	struct posix_io *p = WEIR_CONTAINER(drv, struct posix_io, drv);

	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	posix_free(p);
}

static const struct weir_io_ops posix_ops = {
	.name = "posix",
	.submit = posix_submit,
	.harvest = posix_harvest,
};

int
weir_posix_io_open(const struct weir_io_options *opt, int wake_fd, struct weir_io **out,
		   struct weir_error *err)
{
	struct posix_io *p = aligned_alloc(WEIR_LINE_PAIR, sizeof(*p));
	int rc;

	if (p == NULL)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "no memory for file requests");
	memset(p, 0, sizeof(*p));
	p->drv.io = (struct weir_io){ .ops = &posix_ops, .depth = opt->depth };
	p->drv.close = posix_close;
	p->drv.wake_fd = wake_fd;
	p->todo_end = &p->todo;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	if (wake_fd < 0 && opt->wakeup) {
		p->drv.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		p->own_wake_fd = p->drv.wake_fd >= 0;
		rc = p->own_wake_fd ? 0 : errno;
	} else {
		rc = 0;
	}
	if (rc == 0)
		rc = start_helper(p, opt);
	if (rc != 0) {
		posix_free(p);
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "helper thread for files: %s",
				 strerror(rc));
	}
	*out = &p->drv.io;
	return 0;
}

#include "bench/limit/pair.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct half {
	pthread_t thread;
	pair_fn work;
	void *arg;
	unsigned me;
	unsigned cpu;
	double end;
};

static pthread_barrier_t ready; /* both halves and the main thread */
static pthread_barrier_t go;
static double start;

struct rte_ring *
pair_ring(unsigned elem_bytes, unsigned cnt)
{
	const ssize_t bytes = rte_ring_get_memsize_elem(elem_bytes, cnt);
	struct rte_ring *ring;

	if (bytes < 0)
		limit_die(70, "ring", "size not possible");
	ring = limit_memory((size_t)bytes);
	if (rte_ring_init(ring, "limit", cnt, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0)
		limit_die(70, "ring", "cannot be made");
	return ring;
}

static void *
half_main(void *arg)
{
	struct half *half = arg;

	limit_pin(half->cpu);
	half->work(half->arg, half->me);
	half->end = limit_now();
	return NULL;
}

double
pair_start(void)
{
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&go);
	return start;
}

double
pair_run(const struct limit_opts *opts, const pair_fn work[2], void *arg)
{
	struct half halves[2];

	pthread_barrier_init(&ready, NULL, 3);
	pthread_barrier_init(&go, NULL, 3);
	for (unsigned me = 0; me < 2; me++) {
		halves[me] = (struct half){
			.work = work[me], .arg = arg, .me = me, .cpu = opts->cpus[me]
		};
		if (pthread_create(&halves[me].thread, NULL, half_main, &halves[me]) != 0)
			limit_die(70, "thread", "cannot be started");
	}
	pthread_barrier_wait(&ready);
	limit_wait(opts);
	start = limit_now();
	pthread_barrier_wait(&go);
	for (unsigned me = 0; me < 2; me++)
		pthread_join(halves[me].thread, NULL);
	return (halves[0].end > halves[1].end ? halves[0].end : halves[1].end) - start;
}

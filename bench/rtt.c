#include "bench/bench_priv.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

/*
 * One line goes back and forth between two pinned threads. The distance between two virtual CPUs
 * changes under a run, with no other sign of it, and moves everything that crosses cores.
 */

#define ROUNDS	2000 /* per batch */
#define BATCHES 9

struct table_tennis {
	alignas(WEIR_LINE_PAIR) _Atomic uint32_t ball; /* even: at home, odd: away */
	alignas(WEIR_LINE_PAIR) uint32_t cpu[2];
	double ns[BATCHES]; /* per round trip */
	bool pinned[2];
};

static bool
pin(uint32_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0;
}

static int64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Wait for the other side; give the CPU away now and then in case both share one. */
static void
await(struct table_tennis *t, uint32_t value)
{
	/* B1: pairs with B2; nothing but the ball itself is handed over. */
	for (uint32_t spins = 1; atomic_load_explicit(&t->ball, memory_order_acquire) != value;
	     spins++) {
		if (spins % 65536 == 0)
			sched_yield();
	}
}

static void *
away(void *arg)
{
	struct table_tennis *t = arg;

	t->pinned[1] = pin(t->cpu[1]);
	for (uint32_t i = 0; i < ROUNDS * BATCHES; i++) {
		await(t, 2 * i + 1);
		/* B2: pairs with B1. */
		atomic_store_explicit(&t->ball, 2 * i + 2, memory_order_release);
	}
	return NULL;
}

static void *
home(void *arg)
{
	struct table_tennis *t = arg;
	uint32_t i = 0;

	t->pinned[0] = pin(t->cpu[0]);
	for (uint32_t b = 0; b < BATCHES; b++) {
		const int64_t start = now_ns();

		for (uint32_t end = i + ROUNDS; i < end; i++) {
			/* B2: pairs with B1. */
			atomic_store_explicit(&t->ball, 2 * i + 1, memory_order_release);
			await(t, 2 * i + 2);
		}
		t->ns[b] = (double)(now_ns() - start) / ROUNDS;
	}
	return NULL;
}

double
bench_round_trip_ns(uint32_t cpu_a, uint32_t cpu_b)
{
	struct table_tennis *t;
	pthread_t threads[2];
	double median = 0;

	if (cpu_a == cpu_b)
		return 0;
	t = aligned_alloc(WEIR_LINE_PAIR, weir_align_up(sizeof(*t), WEIR_LINE_PAIR));
	if (t == NULL)
		return 0;
	*t = (struct table_tennis){ .cpu = { cpu_a, cpu_b } };
	if (pthread_create(&threads[0], NULL, away, t) != 0)
		goto out;
	/* The ball is served by this process in any case, so that the first thread ends. */
	if (pthread_create(&threads[1], NULL, home, t) != 0) {
		t->cpu[1] = t->cpu[0];
		home(t);
		pthread_join(threads[0], NULL);
		goto out;
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	if (t->pinned[0] && t->pinned[1])
		median = bench_spread_of(t->ns, BATCHES).median;
out:
	free(t);
	return median;
}

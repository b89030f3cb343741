#include "bench/bench_priv.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "drivers/dpdk/ring_lane.h"

/*
 * Bench ring: descriptors of frames through one local channel, in bursts of 32. The producer
 * numbers every item as a port does, the consumer checks that nothing is missing (T34) and looks at
 * the priority lane once per turn, as a gate does.
 */

#define BURST  32
#define DEPTH  992 /* the bursts that fit a ring of 1024, as in the reference */
#define FRAMES 1024

struct ring_bench {
	struct weir_lane *data;
	struct weir_lane *priority;
	uint64_t rows;
	uint64_t sum;
	uint32_t cpus[2];
	bool bad;	    /* an item was missing, twice, or of another kind */
	_Atomic int pinned; /* threads that are where they should be; -1: one is not */
	int64_t start_ns;
	int64_t end_ns;
	pthread_barrier_t ready;
	pthread_barrier_t go;
};

static int64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/*
 * Who finds the lane full or empty stays away from its lines for about the time of two bursts, as
 * in bench/limit/ring.c. Its depth is a multiple of a burst, so that bursts stay whole.
 */
static void
back_off(void)
{
	for (uint32_t i = 0; i < 32; i++)
		__builtin_ia32_pause();
}

static bool
begin(struct ring_bench *b, uint32_t me)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(b->cpus[me], &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0)
		atomic_store(&b->pinned, -1);
	pthread_barrier_wait(&b->ready);
	pthread_barrier_wait(&b->go);
	return atomic_load(&b->pinned) == 0;
}

WEIR_INLINE void
fill(struct weir_item items[BURST], uint32_t ord)
{
	for (uint32_t i = 0; i < BURST; i++)
		items[i] = (struct weir_item){ .ref = (ord + i) & (FRAMES - 1),
					       .seq = ord + i,
					       .ord = ord + i,
					       .kind = WEIR_ITEM_DATA };
}

static void *
produce(void *arg)
{
	struct ring_bench *b = arg;
	struct weir_item items[BURST];
	uint64_t left = b->rows;
	uint32_t ord = 0;

	if (!begin(b, 0))
		return NULL;
	while (left > 0) {
		uint32_t sent;

		fill(items, ord);
		sent = weir_lane_push(b->data, items, BURST);
		while (sent < BURST) {
			back_off();
			sent += weir_lane_push(b->data, items + sent, BURST - sent);
		}
		ord += BURST;
		left -= BURST;
	}
	return NULL;
}

/* Check cnt items that should begin with number ord, as a gate does, and sum them up. */
WEIR_INLINE bool
count_up(const struct weir_item *items, uint32_t cnt, uint32_t ord, uint64_t *sum)
{
	uint64_t add = 0;

	for (uint32_t i = 0; i < cnt; i++)
		add += (uint64_t)items[i].ref + items[i].seq;
	*sum += add;
	return weir_items_follow(items, cnt, ord, ord);
}

static void *
consume(void *arg)
{
	struct ring_bench *b = arg;
	uint64_t left = b->rows;
	struct weir_item items[BURST];
	uint64_t sum = 0;
	uint32_t ord = 0;
	bool good = true;

	if (!begin(b, 1))
		return NULL;
	while (left > 0 && good) {
		const uint32_t cnt = weir_lane_pop(b->data, items, BURST);

		good = weir_lane_is_empty(b->priority);
		if (cnt == 0) {
			back_off();
			continue;
		}
		if (cnt == BURST)
			good &= count_up(items, BURST, ord, &sum);
		else
			good &= count_up(items, cnt, ord, &sum);
		ord += cnt;
		left -= cnt;
	}
	b->bad = !good;
	b->sum = sum;
	b->end_ns = now_ns();
	return NULL;
}

static struct weir_lane *
make_lane(uint32_t depth, struct weir_error *err)
{
	void *mem = aligned_alloc(WEIR_LINE_PAIR, weir_ring_lane_bytes(depth));

	if (mem == NULL) {
		weir_fail(err, WEIR_ERR_FAILED, "no memory for a lane");
		return NULL;
	}
	return weir_ring_lane_init(mem, depth);
}

static int
run(struct ring_bench *b, struct weir_error *err)
{
	pthread_t threads[2];
	int rc;

	pthread_barrier_init(&b->ready, NULL, 3);
	pthread_barrier_init(&b->go, NULL, 3);
	if (pthread_create(&threads[0], NULL, produce, b) != 0 ||
	    pthread_create(&threads[1], NULL, consume, b) != 0)
		return weir_fail(err, WEIR_ERR_FAILED, "a thread cannot be started");
	pthread_barrier_wait(&b->ready);
	rc = bench_side_wait(err);
	if (rc != 0)
		return rc; /* the process ends, and the threads with it */
	b->start_ns = now_ns();
	pthread_barrier_wait(&b->go);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	if (atomic_load(&b->pinned) != 0)
		return weir_fail(err, WEIR_ERR_CONFIG, "CPUs %u,%u: cannot run there", b->cpus[0],
				 b->cpus[1]);
	if (b->bad)
		return weir_fail(err, WEIR_ERR_FAILED, "an item of the channel is out of order");
	bench_side_print(b->rows, b->sum, (double)(b->end_ns - b->start_ns) * 1e-9);
	return 0;
}

static int
side(const struct bench_args *args, struct weir_error *err)
{
	struct ring_bench b = { .rows = args->rows, .cpus = { args->cpus[0], args->cpus[1] } };
	int rc = WEIR_ERR_FAILED;

	b.data = make_lane(DEPTH, err);
	b.priority = b.data != NULL ? make_lane(64, err) : NULL;
	if (b.priority != NULL)
		rc = run(&b, err);
	return rc;
}

static const struct bench_key keys[] = { { 0 } };

const struct bench_def bench_ring = {
	.name = "ring",
	.about = "descriptors of frames through one local channel, bursts of 32",
	.unit = "frames/s",
	.reference = "limit_ring",
	.what = "16-byte descriptors over one bare rte_ring, bursts of 32",
	.cpus = 2,
	.multiple = 1024,
	.slices = 10,
	.keys = keys,
	.side = side,
};

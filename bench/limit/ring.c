/*
 * limit_ring: 16-byte descriptors through one bare rte_ring, bursts of 32, from one pinned thread
 * to another. Descriptor i is {i mod FRAMES, i, i, 0}; the sum is that of the first two fields.
 */

#include "bench/limit/pair.h"

#include <string.h>

#define BURST  32
#define DEPTH  1024
#define FRAMES 1024

struct item {
	uint32_t ref;
	uint32_t seq;
	uint32_t ord;
	uint32_t kind;
};
_Static_assert(sizeof(struct item) == 16, "a ring element");

struct work {
	struct rte_ring *ring;
	uint64_t rows; /* 0: by time */
	double seconds;
	uint64_t received;
	uint64_t sum;
};

#define KIND_END 1

/*
 * Who finds the ring full or empty stays away for about the time of two bursts: polling takes the
 * line from the other side, and bursts that are there when one comes back are worth more than an
 * early look. Of 8, 16, 32 and 64 pauses, 32 were the fastest, near and far.
 */
static void
back_off(void)
{
	for (unsigned i = 0; i < 32; i++)
		rte_pause();
}

static void
put(struct rte_ring *ring, const struct item *items)
{
	while (rte_ring_sp_enqueue_bulk_elem(ring, items, sizeof(*items), BURST, NULL) == 0)
		back_off();
}

/* BURST descriptors from i on. */
LIMIT_INLINE void
fill(struct item *items, uint64_t i)
{
	for (uint32_t k = 0; k < BURST; k++) {
		const uint32_t n = (uint32_t)i + k;

		items[k] = (struct item){ n & (FRAMES - 1), n, n, 0 };
	}
}

static void
produce(void *arg, unsigned me)
{
	struct work *work = arg;
	struct item items[BURST];
	uint64_t i = 0;
	double start;

	(void)me;
	start = pair_start();
	do {
		for (unsigned b = 0; b < 4096 && (work->rows == 0 || i < work->rows); b++) {
			fill(items, i);
			put(work->ring, items);
			i += BURST;
		}
	} while (work->rows == 0 ? limit_now() - start < work->seconds : i < work->rows);
	for (unsigned k = 0; k < BURST; k++)
		items[k] = (struct item){ .kind = KIND_END };
	put(work->ring, items);
}

static void
consume(void *arg, unsigned me)
{
	struct work *work = arg;
	struct item items[BURST];
	uint64_t received = 0;
	uint64_t sum = 0;

	(void)me;
	pair_start();
	for (;;) {
		if (rte_ring_sc_dequeue_bulk_elem(work->ring, items, sizeof(*items), BURST, NULL) ==
		    0) {
			back_off();
			continue;
		}
		if (items[0].kind == KIND_END)
			break;
		for (unsigned k = 0; k < BURST; k++)
			sum += (uint64_t)items[k].ref + items[k].seq;
		received += BURST;
	}
	work->received = received;
	work->sum = sum;
}

int
main(int argc, char **argv)
{
	static const pair_fn halves[2] = { produce, consume };
	struct limit_opts opts;
	struct work work = { 0 };
	double seconds;

	limit_parse(&opts, argc, argv);
	if (opts.rows % BURST != 0)
		limit_die(64, "rows", "expects a multiple of 32");
	work.ring = pair_ring(sizeof(struct item), DEPTH);
	work.rows = opts.rows;
	work.seconds = opts.seconds;
	seconds = pair_run(&opts, halves, &work);
	limit_print(&(struct limit_result){ work.received, work.sum, seconds, "bulk" });
	return 0;
}

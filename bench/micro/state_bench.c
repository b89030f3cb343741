/*
 * state_bench [keys] [scrambled] [rows / 100,000] [pairs]: the hash backend against a table written
 * by hand, on the same batches of 256 rows, alternating; nanoseconds per row, medians.
 *
 * By hand: open addressing, 16-byte slots, at most half full, keys of a batch prefetched when the
 * table is larger than the second-level cache. CPU time of the thread is measured, for shared
 * machines. Output: one line.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "engine/base/rng.h"
#include "statebackend/hash/hash.h"

#define ROWS	  256u
#define PAIRS_MAX 64u

struct slot {
	uint64_t key; /* + 1 */
	uint64_t sum;
};

struct hand {
	struct slot *slots;
	uint64_t mask;
	uint32_t shift;
	bool prefetch;
};

struct work {
	uint64_t keys[ROWS];
	uint64_t add[ROWS];
	uint64_t sums[ROWS];
	uint64_t at, key_cnt;
	bool scrambled;
};

static void *
region(uint64_t bytes)
{
	const uint64_t large = 2u << 20;
	void *p;

	bytes = weir_align_up(bytes, large);
	p = aligned_alloc(large, bytes);
	if (p == NULL)
		exit(1);
	(void)madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 0, bytes);
	return p;
}

static double
now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void
work_fill(struct work *w)
{
	for (uint32_t i = 0; i < ROWS; i++) {
		uint64_t k = weir_mulhi(weir_mix(w->at++), w->key_cnt);

		w->add[i] = (k & 7) + 1;
		w->keys[i] = w->scrambled ? weir_mix(k + WEIR_GOLDEN) : k;
	}
}

static void
hand_batch(struct hand *h, struct work *w)
{
	struct slot *slots = h->slots;
	const uint64_t mask = h->mask;
	const uint32_t shift = h->shift;

	if (h->prefetch)
		for (uint32_t i = 0; i < ROWS; i++)
			__builtin_prefetch(&slots[weir_hash_u64(w->keys[i]) >> shift], 1);
	for (uint32_t i = 0; i < ROWS; i++) {
		uint64_t at = weir_hash_u64(w->keys[i]) >> shift;

		while (slots[at].key != w->keys[i] + 1) {
			if (slots[at].key == 0) {
				slots[at].key = w->keys[i] + 1;
				break;
			}
			at = (at + 1) & mask;
		}
		slots[at].sum += w->add[i];
		w->sums[i] = slots[at].sum;
	}
}

static uint64_t
checksum(const struct work *w)
{
	uint64_t c = 0;

	for (uint32_t i = 0; i < ROWS; i++)
		c += w->sums[i];
	return c;
}

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
run_hand(struct hand *h, struct work *w, uint64_t batches, uint64_t *check)
{
	const double start = now_ns();

	for (uint64_t b = 0; b < batches; b++) {
		work_fill(w);
		hand_batch(h, w);
		*check += checksum(w);
	}
	return (now_ns() - start) / (double)(batches * ROWS);
}

static double
run_ours(struct weir_kstate *st, struct work *w, uint64_t batches, uint64_t *check)
{
	const struct weir_keys keys = { .fixed = w->keys };
	const double start = now_ns();

	for (uint64_t b = 0; b < batches; b++) {
		work_fill(w);
		if (weir_kstate_reserve(st, ROWS + 1) != WEIR_STATE_ROOM)
			exit(2);
		weir_table_add_u64(weir_kstate_table(st, 0, true), &keys, NULL, ROWS, w->add,
				   w->sums);
		*check += checksum(w);
	}
	return (now_ns() - start) / (double)(batches * ROWS);
}

static double
run_gen(struct work *w, uint64_t batches, uint64_t *check)
{
	const double start = now_ns();

	for (uint64_t b = 0; b < batches; b++) {
		work_fill(w);
		*check += checksum(w);
	}
	return (now_ns() - start) / (double)(batches * ROWS);
}

/* Nanoseconds per row of the pairs so far. */
struct result {
	double hand[PAIRS_MAX], ours[PAIRS_MAX], ratio[PAIRS_MAX], gen;
	uint64_t hand_check, ours_check, gen_check;
};

static struct weir_kstate *
open_state(uint64_t key_cnt)
{
	const uint64_t bytes = key_cnt * 40 + (64u << 20);
	const struct weir_backend_hash_config cfg = { .base = region(bytes),
						      .bytes = bytes,
						      .budget_key = "state.memory" };
	const struct weir_kstate_spec spec = { .name = "sums",
					       .key_kind = WEIR_KEY_FIXED,
					       .key_bytes = 8,
					       .value_bytes = 8,
					       .hash_last = UINT64_MAX };
	struct weir_error err;
	struct weir_backend *be = weir_backend_hash_open(&cfg, &err);
	struct weir_kstate *st = be != NULL ? weir_kstate_open(be, &spec, &err) : NULL;

	if (st == NULL) {
		(void)fprintf(stderr, "%s\n", err.text);
		exit(2);
	}
	return st;
}

static struct hand
open_hand(uint64_t key_cnt)
{
	uint64_t slots = 1024;

	while (slots < key_cnt * 2)
		slots *= 2;
	return (struct hand){ .slots = region(slots * sizeof(struct slot)),
			      .mask = slots - 1,
			      .shift = 64 - (uint32_t)__builtin_ctzll(slots),
			      .prefetch = slots * sizeof(struct slot) > 512 << 10 };
}

static void
measure(struct result *r, const struct work *work, uint64_t rows, uint32_t pairs)
{
	struct work hand_work = *work, ours_work = *work, gen_work = *work;
	struct weir_kstate *st = open_state(work->key_cnt);
	struct hand h = open_hand(work->key_cnt);
	double gen;

	(void)run_hand(&h, &hand_work, work->key_cnt / 64 + 1000, &r->hand_check);
	(void)run_ours(st, &ours_work, work->key_cnt / 64 + 1000, &r->ours_check);
	for (uint32_t i = 0; i < pairs; i++) {
		r->hand[i] = run_hand(&h, &hand_work, rows / ROWS, &r->hand_check);
		r->ours[i] = run_ours(st, &ours_work, rows / ROWS, &r->ours_check);
		gen = run_gen(&gen_work, rows / ROWS, &r->gen_check);
		r->gen = i == 0 || gen < r->gen ? gen : r->gen;
		r->ratio[i] = (r->hand[i] - r->gen) / (r->ours[i] - r->gen);
	}
	qsort(r->hand, pairs, sizeof(double), by_value);
	qsort(r->ours, pairs, sizeof(double), by_value);
	qsort(r->ratio, pairs, sizeof(double), by_value);
}

int
main(int argc, char **argv)
{
	const uint64_t rows = (argc > 3 ? strtoull(argv[3], NULL, 10) : 50) * 100000;
	uint32_t pairs = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 9;
	static struct work work;
	static struct result r;

	work.key_cnt = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	work.scrambled = argc > 2 && argv[2][0] == '1';
	if (pairs == 0 || pairs > PAIRS_MAX)
		pairs = PAIRS_MAX;
	measure(&r, &work, rows, pairs);
	(void)printf(
		"keys %llu %s: by hand %.2f ns (best %.2f), ours %.2f ns (best %.2f), generator "
		"%.2f ns; ratio with generator %.3f (bests %.3f), without %.3f%s\n",
		(unsigned long long)work.key_cnt, work.scrambled ? "scrambled" : "dense",
		r.hand[pairs / 2], r.hand[0], r.ours[pairs / 2], r.ours[0], r.gen,
		r.hand[pairs / 2] / r.ours[pairs / 2], r.hand[0] / r.ours[0], r.ratio[pairs / 2],
		r.hand_check == r.ours_check ? "" : " CHECKSUMS DIFFER");
	return r.hand_check == r.ours_check ? 0 : 1;
}

#include "statebackend/hash/mem.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/rng.h"

/* Random blocks and runs, filled with their own number: none overlaps another, all comes back. */
Test(mem, blocks_never_overlap_and_all_come_back)
{
	enum { BYTES = 24 << 20, SLOTS = 600 };
	struct held {
		uint8_t *at;
		uint64_t bytes;
	} held[SLOTS] = { 0 };
	struct weir_rng rng = { 11 };
	void *region = malloc(BYTES);
	struct mem m;

	cr_assert(mem_init(&m, region, BYTES));
	for (uint32_t i = 0; i < 60000; i++) {
		struct held *h = &held[weir_rng_below(&rng, SLOTS)];

		if (h->at != NULL) {
			for (uint64_t b = 0; b < h->bytes; b += 64)
				cr_assert_eq(h->at[b], (uint8_t)(h - held));
			mem_free(&m, h->at, h->bytes);
			h->at = NULL;
			continue;
		}
		h->bytes = 1ull << weir_rng_below(&rng, weir_rng_below(&rng, 20) + 1);
		h->at = mem_alloc(&m, h->bytes);
		if (h->at != NULL)
			memset(h->at, (uint8_t)(h - held), h->bytes);
	}
	for (uint32_t i = 0; i < SLOTS; i++)
		if (held[i].at != NULL)
			mem_free(&m, held[i].at, held[i].bytes);
	cr_assert_eq(m.free_cnt, m.page_cnt);
	free(region);
}

Test(mem, runs_survive_many_single_pages)
{
	struct mem m;
	void *region = malloc(16u << 20), *run;
	uint32_t pages = 0;

	cr_assert(mem_init(&m, region, 16u << 20));
	for (; pages < 500; pages++)
		cr_assert_not_null(mem_run_alloc(&m, 0));
	cr_assert(mem_run_ready(&m, 8));
	run = mem_run_alloc(&m, 8);
	cr_assert_not_null(run);
	cr_assert(!mem_run_ready(&m, 9));
	cr_assert_null(mem_run_alloc(&m, 9));
	mem_run_free(&m, run);
	cr_assert_not_null(mem_run_alloc(&m, 8));
	free(region);
}

Test(mem, too_small)
{
	char bytes[1000];
	struct mem m;

	cr_assert(!mem_init(&m, bytes, sizeof(bytes)));
}

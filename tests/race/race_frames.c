/* Four threads get frames from the shared list, write them with plain stores, and put them back. */

#include "drivers/dpdk/frame_mem.h"
#include "tests/race/race.h"

#define THREADS 4u
#define ROUNDS	8000u
#define FRAMES	40u
#define BURST	16u

struct share {
	struct weir_frame_mem *mem;
	uint32_t self;
};

static void *
borrow(void *arg)
{
	const struct share *share = arg;
	uint32_t idx[BURST];

	for (uint32_t round = 0; round < ROUNDS; round++) {
		const uint32_t cnt =
			weir_frame_source_get(&share->mem->source, idx, 1 + round % BURST);

		for (uint32_t i = 0; i < cnt; i++)
			*(uint32_t *)weir_frame_mem_at(share->mem, idx[i]) = share->self;
		for (uint32_t i = 0; i < cnt; i++)
			RACE_CHECK(*(uint32_t *)weir_frame_mem_at(share->mem, idx[i]) ==
				   share->self);
		weir_frame_source_put(&share->mem->source, idx, cnt);
		if (cnt == 0)
			race_wait();
	}
	return NULL;
}

int
main(void)
{
	const struct weir_frame_mem_options opt = { .frame_cnt = FRAMES,
						    .frame_bytes = WEIR_PAGE,
						    .node = WEIR_REGION_NODE_ANY,
						    .huge = WEIR_HUGE_OFF };
	struct share share[THREADS];
	pthread_t thread[THREADS];
	struct weir_frame_mem *mem;
	struct weir_error err;

	RACE_CHECK(weir_frame_mem_create(&opt, &mem, &err) == 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		share[i] = (struct share){ .mem = mem, .self = i };
		RACE_CHECK(pthread_create(&thread[i], NULL, borrow, &share[i]) == 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	weir_frame_mem_destroy(mem);
	return 0;
}

#include <signal.h>
#include <string.h>

#include <criterion/criterion.h>

#include "drivers/dpdk/frame_mem.h"

#define FRAMES 1000u

static struct weir_frame_mem *
make(uint32_t cnt, uint32_t bytes)
{
	const struct weir_frame_mem_options opt = { .frame_cnt = cnt,
						    .frame_bytes = bytes,
						    .node = WEIR_REGION_NODE_ANY,
						    .huge = WEIR_HUGE_AUTO };
	struct weir_frame_mem *mem = NULL;
	struct weir_error err;

	cr_assert_eq(weir_frame_mem_create(&opt, &mem, &err), 0, "%s", err.text);
	return mem;
}

Test(frame_mem, every_frame_comes_once)
{
	struct weir_frame_mem *mem = make(FRAMES, 8192);
	uint32_t idx[FRAMES + 7];
	bool seen[FRAMES] = { false };

	cr_assert_eq(weir_frame_source_count(&mem->source), FRAMES);
	cr_assert_eq(weir_frame_source_get(&mem->source, idx, 400), 400);
	cr_assert_eq(weir_frame_source_count(&mem->source), 600);
	cr_assert_eq(weir_frame_source_get(&mem->source, idx + 400, 607), 600, "what there is");
	cr_assert_eq(weir_frame_source_get(&mem->source, idx, 1), 0);
	for (uint32_t i = 0; i < FRAMES; i++) {
		cr_assert(idx[i] < FRAMES);
		cr_assert(!seen[idx[i]]);
		seen[idx[i]] = true;
	}
	weir_frame_source_put(&mem->source, idx, 0);
	weir_frame_source_put(&mem->source, idx, 1);
	weir_frame_source_put(&mem->source, idx + 1, FRAMES - 1);
	cr_assert_eq(weir_frame_source_count(&mem->source), FRAMES);
	weir_frame_mem_destroy(mem);
}

Test(frame_mem, the_last_put_is_the_first_got)
{
	struct weir_frame_mem *mem = make(16, 4096);
	uint32_t idx[4], again[4];

	cr_assert_eq(weir_frame_source_get(&mem->source, idx, 4), 4);
	weir_frame_source_put(&mem->source, idx, 4);
	cr_assert_eq(weir_frame_source_get(&mem->source, again, 4), 4);
	cr_assert_arr_eq(idx, again, sizeof(idx));
	weir_frame_source_put(&mem->source, again, 4);
	weir_frame_mem_destroy(mem);
}

Test(frame_mem, frames_are_aligned_and_their_own)
{
	struct weir_frame_mem *mem = make(64, 12288);
	uint32_t idx[64];

	cr_assert_eq(weir_frame_source_get(&mem->source, idx, 64), 64);
	for (uint32_t i = 0; i < 64; i++) {
		cr_assert_eq((uintptr_t)weir_frame_mem_at(mem, idx[i]) % WEIR_PAGE, 0);
		memset(weir_frame_mem_at(mem, idx[i]), (int)idx[i], 12288);
	}
	for (uint32_t i = 0; i < 64; i++) {
		const unsigned char *frame = weir_frame_mem_at(mem, i);

		cr_assert_eq(frame[0], i);
		cr_assert_eq(frame[12287], i);
	}
	weir_frame_source_put(&mem->source, idx, 64);
	weir_frame_mem_destroy(mem);
}

Test(frame_mem, a_missing_frame_is_noticed, .signal = SIGABRT)
{
	struct weir_frame_mem *mem = make(8, 4096);
	uint32_t idx;

	cr_assert_eq(weir_frame_source_get(&mem->source, &idx, 1), 1);
	weir_frame_mem_destroy(mem);
}

Test(frame_mem, too_much_memory_is_an_error)
{
	const struct weir_frame_mem_options opt = { .frame_cnt = 1u << 28,
						    .frame_bytes = 1u << 31,
						    .node = WEIR_REGION_NODE_ANY,
						    .huge = WEIR_HUGE_AUTO };
	struct weir_frame_mem *mem = NULL;
	struct weir_error err;

	cr_assert_eq(weir_frame_mem_create(&opt, &mem, &err), WEIR_ERR_UNAVAILABLE);
	cr_assert_null(mem);
	cr_assert(strncmp(err.text, "frame memory: ", 14) == 0, "%s", err.text);
}

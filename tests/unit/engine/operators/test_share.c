/* Who gets which items of an operator's state at a restore (R5). */
#include "engine/operators/share.h"

#include <criterion/criterion.h>

#include "engine/base/rng.h"
#include "weir/operator_state.h"

#define OLD_MAX 12u
#define NEW_MAX 15u

static struct weir_share share[OLD_MAX];

static void
of(uint32_t kind, const uint64_t *cnt, uint32_t was, uint32_t subtask, uint32_t is)
{
	const struct weir_share_old old = { .item_cnt = cnt, .parallelism = was };

	weir_share_of(kind, &old, subtask, is, share);
}

static uint64_t
taken(uint32_t was)
{
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < was; i++)
		cnt += share[i].cnt;
	return cnt;
}

static void
is_share(uint32_t i, uint64_t first, uint64_t cnt)
{
	cr_assert_eq(share[i].cnt, cnt, "old subtask %u: %llu items", i,
		     (unsigned long long)share[i].cnt);
	if (cnt > 0)
		cr_assert_eq(share[i].first, first, "old subtask %u: from %llu", i,
			     (unsigned long long)share[i].first);
}

Test(share, split_list_at_unchanged_parallelism_is_ones_own)
{
	const uint64_t cnt[] = { 5, 0, 2 };

	of(WEIR_SPLIT_LIST, cnt, 3, 0, 3);
	is_share(0, 0, 5);
	is_share(1, 0, 0);
	is_share(2, 0, 0);
	of(WEIR_SPLIT_LIST, cnt, 3, 2, 3);
	is_share(0, 0, 0);
	is_share(2, 0, 2);
}

Test(share, split_list_is_cut_into_ranges)
{
	const uint64_t cnt[] = { 5, 0, 2 };

	of(WEIR_SPLIT_LIST, cnt, 3, 0, 2);
	is_share(0, 0, 4);
	is_share(2, 0, 0);
	of(WEIR_SPLIT_LIST, cnt, 3, 1, 2);
	is_share(0, 4, 1);
	is_share(1, 0, 0);
	is_share(2, 0, 2);
	of(WEIR_SPLIT_LIST, cnt, 3, 0, 1);
	is_share(0, 0, 5);
	is_share(2, 0, 2);
}

Test(share, split_list_of_fewer_items_than_subtasks)
{
	const uint64_t cnt[] = { 0, 2 };

	for (uint32_t i = 0; i < 5; i++) {
		of(WEIR_SPLIT_LIST, cnt, 2, i, 5);
		cr_assert_eq(taken(2), i < 2);
	}
}

Test(share, union_list_is_everybodys)
{
	const uint64_t cnt[] = { 5, 0, 2 };

	for (uint32_t is = 1; is <= 4; is++)
		for (uint32_t i = 0; i < is; i++) {
			of(WEIR_UNION_LIST, cnt, 3, i, is);
			is_share(0, 0, 5);
			is_share(1, 0, 0);
			is_share(2, 0, 2);
		}
}

Test(share, broadcast_map_is_ones_own_or_anothers)
{
	const uint64_t cnt[] = { 7, 7, 7 };

	for (uint32_t i = 0; i < 8; i++) {
		of(WEIR_BROADCAST_MAP, cnt, 3, i, 8);
		cr_assert_eq(taken(3), 7);
		is_share(i % 3, 0, 7);
	}
}

Test(share, broadcast_map_of_a_subtask_that_had_finished_is_the_next_ones)
{
	const uint64_t cnt[] = { WEIR_SHARE_NONE, WEIR_SHARE_NONE, 7 };
	const uint64_t none[] = { WEIR_SHARE_NONE, WEIR_SHARE_NONE };

	for (uint32_t i = 0; i < 3; i++) {
		of(WEIR_BROADCAST_MAP, cnt, 3, i, 3);
		is_share(0, 0, 0);
		is_share(1, 0, 0);
		is_share(2, 0, 7);
	}
	of(WEIR_BROADCAST_MAP, none, 2, 0, 2);
	cr_assert_eq(taken(2), 0);
}

Test(share, lists_leave_out_who_had_finished)
{
	const uint64_t cnt[] = { 3, WEIR_SHARE_NONE, 3 };

	of(WEIR_UNION_LIST, cnt, 3, 1, 3);
	cr_assert_eq(taken(3), 6);
	of(WEIR_SPLIT_LIST, cnt, 3, 1, 3);
	cr_assert_eq(taken(3), 0);
	of(WEIR_SPLIT_LIST, cnt, 3, 1, 2);
	cr_assert_eq(taken(3), 3);
	is_share(2, 0, 3);
}

/* Every item to exactly one, in order, as evenly as can be. */
static void
is_even(const uint64_t *cnt, uint32_t was, uint32_t is)
{
	uint64_t next[OLD_MAX] = { 0 }, least = UINT64_MAX, most = 0;
	uint32_t reached = 0;

	for (uint32_t i = 0; i < is; i++) {
		of(WEIR_SPLIT_LIST, cnt, was, i, is);
		least = taken(was) < least ? taken(was) : least;
		most = taken(was) > most ? taken(was) : most;
		for (uint32_t o = 0; o < was; o++) {
			if (share[o].cnt == 0)
				continue;
			cr_assert_geq(o, reached, "behind what others got");
			cr_assert_eq(share[o].first, next[o]);
			next[o] += share[o].cnt;
			reached = o;
		}
	}
	for (uint32_t o = 0; o < was; o++)
		cr_assert_eq(next[o], cnt[o] == WEIR_SHARE_NONE ? 0 : cnt[o]);
	cr_assert_leq(most - least, 1);
}

Test(share, split_list_every_item_goes_to_one_and_evenly)
{
	struct weir_rng rng = { .state = 7 };

	for (uint32_t round = 0; round < 2000; round++) {
		const uint32_t was = 1 + (uint32_t)(weir_rng_next(&rng) % OLD_MAX);
		const uint32_t is = 1 + (uint32_t)(weir_rng_next(&rng) % NEW_MAX);
		uint64_t cnt[OLD_MAX];

		for (uint32_t i = 0; i < was; i++)
			cnt[i] = weir_rng_next(&rng) % 5 == 0 ? WEIR_SHARE_NONE
							      : weir_rng_next(&rng) % 40;
		if (was != is)
			is_even(cnt, was, is);
	}
}

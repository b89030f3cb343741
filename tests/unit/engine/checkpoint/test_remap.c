#include "engine/checkpoint/remap.h"

#include <criterion/criterion.h>

static const struct weir_remap_exchange hash = {
	.up = { 2, 3, WEIR_MAPPER_ROUND_ROBIN, true },
	.down = { 2, 3, WEIR_MAPPER_RANGE, true },
};

Test(remap, every_old_subtask_is_recovered_by_someone) /* R3 */
{
	for (int mapper = WEIR_MAPPER_RANGE; mapper < WEIR_MAPPER_UNSUPPORTED; mapper++) {
		for (uint32_t old = 1; old < 20; old++) {
			for (uint32_t new = 1; new < 20; new ++) {
				struct weir_remap_table t;
				bool seen[20] = { false };

				cr_assert(weir_remap_map((enum weir_mapper)mapper, old, new, &t));
				for (uint32_t i = 0; i < t.first[new]; i++)
					seen[t.olds[i]] = true;
				for (uint32_t i = 0; i < old; i++)
					cr_assert(seen[i]);
				weir_remap_fini(&t);
			}
		}
	}
}

/* A key group's records lie with its old subtask; its new one must ask that one. */
Test(remap, range_follows_the_key_groups)
{
	const uint32_t old = 7, new = 5, groups = WEIR_REMAP_KEY_GROUPS;
	struct weir_remap_table t;

	cr_assert(weir_remap_map(WEIR_MAPPER_RANGE, old, new, &t));
	for (uint32_t kg = 0; kg < groups; kg++) {
		uint32_t to = (uint32_t)((uint64_t)kg * new / groups);
		uint32_t from = (uint32_t)((uint64_t)kg * old / groups);
		bool asks = false;

		for (uint32_t i = t.first[to]; i < t.first[to + 1]; i++)
			asks |= t.olds[i] == from;
		cr_assert(asks);
	}
	weir_remap_fini(&t);
}

Test(remap, new_subtask_without_data_has_nothing_to_do)
{
	cr_assert_eq(weir_remap_work(&hash, false, 2), WEIR_REMAP_IDENTITY);
	cr_assert_eq(weir_remap_work(&hash, false, 0), WEIR_REMAP_RESCALE);
	cr_assert_eq(weir_remap_work(&hash, true, 2), WEIR_REMAP_RESCALE);
}

Test(remap, ambiguous_where_ranges_overlap)
{
	struct weir_remap_table t;
	uint32_t list[2];

	cr_assert(weir_remap_side(&hash, true, &t));
	cr_assert_eq(weir_remap_ambiguous(&t, list), 2);
	weir_remap_fini(&t);
	cr_assert(weir_remap_side(&hash, false, &t));
	cr_assert_eq(weir_remap_ambiguous(&t, list), 0);
	weir_remap_fini(&t);
}

Test(remap, unsupported_only_where_it_matters)
{
	struct weir_remap_exchange x = {
		.up = { 2, 2, WEIR_MAPPER_UNSUPPORTED, true },
		.down = { 2, 2, WEIR_MAPPER_UNSUPPORTED, true },
	};

	cr_assert_eq(weir_remap_work(&x, true, 1), WEIR_REMAP_IDENTITY);
	x.up.new_cnt = 3;
	cr_assert_eq(weir_remap_work(&x, true, 1), WEIR_REMAP_UNSUPPORTED);
	x.up.has_data = false;
	x.down.has_data = false;
	cr_assert_eq(weir_remap_work(&x, true, 1), WEIR_REMAP_NO_STATE);
}

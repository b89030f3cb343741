#include "engine/checkpoint/registry.h"

#include <criterion/criterion.h>

static struct weir_registry r;
static uint64_t old;

static void
setup(void)
{
	weir_registry_init(&r);
	old = 0;
}

static void
teardown(void)
{
	weir_registry_fini(&r);
}

TestSuite(registry, .init = setup, .fini = teardown);

Test(registry, expected_upload_replaces_an_unpinned_file)
{
	cr_assert_eq(weir_registry_upload(&r, 7, 70, 1, true, &old), WEIR_REGISTRY_KEPT);
	cr_assert_eq(weir_registry_upload(&r, 7, 71, 2, true, &old), WEIR_REGISTRY_REPLACED);
	cr_assert_eq(old, 70);
	cr_assert_eq(weir_registry_find(&r, 7)->file, 71);
	cr_assert_eq(weir_registry_find(&r, 7)->created, 1);
	cr_assert_eq(weir_registry_find(&r, 7)->last, 2);
}

Test(registry, pinned_or_newer_files_stay) /* S9 */
{
	(void)weir_registry_upload(&r, 7, 70, 3, true, &old);
	cr_assert_eq(weir_registry_upload(&r, 7, 71, 2, true, &old), WEIR_REGISTRY_REFUSED);
	weir_registry_find(&r, 7)->pin_cnt = 1;
	cr_assert_eq(weir_registry_upload(&r, 7, 72, 4, true, &old), WEIR_REGISTRY_REFUSED);
	cr_assert_eq(weir_registry_find(&r, 7)->file, 70);
	cr_assert_eq(weir_registry_find(&r, 7)->last, 4, "it was used all the same");
	cr_assert_eq(weir_registry_upload(&r, 7, 73, 9, false, &old), WEIR_REGISTRY_REFUSED);
	cr_assert_eq(weir_registry_find(&r, 7)->last, 4, "an unexpected upload is no use");
}

Test(registry, sweeps_what_is_used_by_no_retained_checkpoint) /* K10 */
{
	uint64_t files[3];

	for (uint64_t key = 1; key <= 3; key++)
		(void)weir_registry_upload(&r, key, 10 * key, key, true, &old);
	cr_assert(weir_registry_use(&r, 1, 3));
	cr_assert_not(weir_registry_use(&r, 9, 3));
	cr_assert_eq(weir_registry_sweep_below(&r, 3, files), 1);
	cr_assert_eq(files[0], 20);
	weir_registry_find(&r, 1)->pin_cnt = 1;
	cr_assert_eq(weir_registry_sweep_unpinned(&r, files), 1);
	cr_assert_eq(files[0], 30);
	cr_assert_eq(r.cnt, 1);
}

Test(registry, files_in_doubt_are_not_handed_out) /* K7 */
{
	uint64_t files[2] = { 10, 20 };

	(void)weir_registry_upload(&r, 1, 10, 1, true, &old);
	weir_registry_doubt(&r, 1, files, 2);
	cr_assert(weir_registry_in_doubt(&r, 20));
	cr_assert_eq(weir_registry_sweep_below(&r, 5, files), 0);
	weir_registry_settle(&r, 1);
	cr_assert(weir_registry_in_doubt(&r, 20), "settled by a newer one only");
	weir_registry_settle(&r, 2);
	cr_assert_not(weir_registry_in_doubt(&r, 20));
}

Test(registry, keys_stay_sorted_whatever_the_order)
{
	for (uint64_t i = 0; i < 1000; i++)
		(void)weir_registry_upload(&r, i * 7919 % 1009, i, 1, true, &old);
	for (uint32_t i = 1; i < r.cnt; i++)
		cr_assert_lt(r.entries[i - 1].key, r.entries[i].key);
	for (uint64_t i = 0; i < 1000; i++)
		cr_assert_eq(weir_registry_find(&r, i * 7919 % 1009)->file, i);
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "drivers/alloc/guard.h"
#include "drivers/alloc/region.h"

Test(alloc, the_counter_sees_an_allocation_and_nothing_else)
{
	const uint64_t *counter = weir_alloc_thread_counter();
	uint64_t before;
	void *volatile mem;

	if (strcmp(weir_alloc_name(), "jemalloc") != 0) {
		cr_assert_null(counter);
		return;
	}
	cr_assert_not_null(counter);
	before = *counter;
	cr_assert_eq(*counter, before);
	mem = malloc(1000);
	cr_assert(*counter >= before + 1000);
	before = *counter;
	free(mem);
	cr_assert_eq(*counter, before, "it only grows");
}

Test(region, is_zeroed_writable_and_whole_pages)
{
	struct weir_region region = { .base = NULL };
	struct weir_error err;
	unsigned char *mem;

	cr_assert_eq(
		weir_region_map((4 << 20) + 1, WEIR_HUGE_OFF, WEIR_REGION_NODE_ANY, &region, &err),
		0);
	mem = region.base;
	cr_assert_eq(region.bytes, (4 << 20) + 4096);
	cr_assert_eq((uintptr_t)mem % (2 << 20), 0, "transparent hugepages fit");
	cr_assert_eq(mem[0], 0);
	mem[region.bytes - 1] = 1;
	weir_region_unmap(&region);
	cr_assert_null(region.base);
	weir_region_unmap(&region);
}

/* Free hugepages of this host; other programs may take them, so only none is sure. */
static bool
there_are_hugepages(void)
{
	FILE *file = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned long cnt = 0;

	if (file == NULL)
		return false;
	if (fscanf(file, "%lu", &cnt) != 1)
		cnt = 0;
	fclose(file);
	return cnt != 0;
}

Test(region, says_whether_it_is_of_hugepages)
{
	struct weir_region region = { .base = NULL };
	struct weir_error err;

	cr_assert_eq(weir_region_map(1 << 20, WEIR_HUGE_AUTO, WEIR_REGION_NODE_ANY, &region, &err),
		     0);
	cr_assert_eq(region.bytes, region.huge ? 2 << 20 : 1 << 20);
	weir_region_unmap(&region);
	if (!there_are_hugepages())
		cr_assert_not(weir_region_huge_possible(1));
}

Test(region, a_preferred_node_is_no_more_than_a_wish)
{
	struct weir_region region = { .base = NULL };
	struct weir_error err;

	cr_assert_eq(weir_region_map(8192, WEIR_HUGE_AUTO, 999, &region, &err), 0);
	memset(region.base, 1, 8192);
	weir_region_unmap(&region);
	cr_assert_eq(weir_region_map(8192, WEIR_HUGE_AUTO, 0, &region, &err), 0);
	memset(region.base, 1, 8192);
	weir_region_unmap(&region);
}

Test(region, what_cannot_be_had_leaves_everything_as_it_was)
{
	struct weir_region region = { .bytes = 77 };
	struct weir_error err;

	cr_assert_eq(weir_region_map(UINT64_C(1) << 60, WEIR_HUGE_AUTO, WEIR_REGION_NODE_ANY,
				     &region, &err),
		     WEIR_ERR_UNAVAILABLE);
	cr_assert_eq(region.bytes, 77);
	cr_assert_eq(weir_region_map(UINT64_C(1) << 45, WEIR_HUGE_ON, WEIR_REGION_NODE_ANY, &region,
				     &err),
		     WEIR_ERR_UNAVAILABLE);
	cr_assert_eq(region.bytes, 77);
	cr_assert(strstr(err.text, "sysctl -w vm.nr_hugepages") != NULL, "%s", err.text);
	cr_assert_not(weir_region_huge_possible(UINT64_C(1) << 45));
}

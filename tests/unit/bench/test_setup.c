#include "bench/bench_priv.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct bench_key keys[] = {
	{ "keys", "1000", NULL },
	{ "shape", "2-2", "2-2|1-1" },
	{ 0 },
};
static const struct bench_def def = { .name = "some", .keys = keys };

static int
set(struct bench_setup *setup, const char *text)
{
	struct weir_error err;

	return bench_setup_set(setup, text, &err);
}

Test(bench_setup, counts_are_plain_decimals_with_k_m_g)
{
	struct bench_setup setup;

	bench_setup_init(&setup, &def);
	cr_assert_str_eq(setup.value[0], "1000");
	cr_assert_eq(set(&setup, "keys=1M"), 0);
	cr_assert_str_eq(setup.value[0], "1000000");
	cr_assert_eq(set(&setup, "keys=64k"), 0);
	cr_assert_str_eq(setup.value[0], "64000");
	cr_assert_eq(set(&setup, "keys=2G"), 0);
	cr_assert_str_eq(setup.value[0], "2000000000");
}

Test(bench_setup, a_refused_value_changes_nothing)
{
	static const char *const bad[] = { "keys=0",	    "keys=010", "keys=1e6",
					   "keys=1K",	    "keys=",	"keys=-1",
					   "keys=1MB",	    "keys",	"shape=2-1",
					   "shape=2-2|1-1", "shape=",	"other=1",
					   "key=1",	    "keyss=1",	"keys=9999999999999" };
	struct bench_setup setup;

	bench_setup_init(&setup, &def);
	for (uint32_t i = 0; i < WEIR_ARRAY_CNT(bad); i++) {
		cr_assert_eq(set(&setup, bad[i]), WEIR_ERR_CONFIG, "%s", bad[i]);
		cr_assert_str_eq(setup.value[0], "1000");
		cr_assert_str_eq(setup.value[1], "2-2");
	}
}

Test(bench_setup, choices_are_taken_whole)
{
	struct bench_setup setup;

	bench_setup_init(&setup, &def);
	cr_assert_eq(set(&setup, "shape=1-1"), 0);
	cr_assert_str_eq(setup.value[1], "1-1");
}

Test(bench_spread, median_of_odd_and_even)
{
	double odd[] = { 3, 1, 2 };
	double even[] = { 4, 1, 3, 2 };
	struct bench_spread s = bench_spread_of(odd, 3);

	cr_assert(s.median == 2 && s.min == 1 && s.max == 3);
	s = bench_spread_of(even, 4);
	cr_assert(s.median == 2.5 && s.min == 1 && s.max == 4);
}

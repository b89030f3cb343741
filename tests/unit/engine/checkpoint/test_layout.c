#include "engine/checkpoint/layout.h"

#include <criterion/criterion.h>
#include <string.h>

static struct weir_path path;
static struct weir_error err;

Test(layout, paths)
{
	cr_assert_eq(weir_layout_job(&path, "/c", "wordcount", &err), 0);
	cr_assert_str_eq(path.text, "/c/wordcount");
	cr_assert_eq(weir_layout_checkpoint(&path, "/c/j", UINT64_MAX, &err), 0);
	cr_assert_str_eq(path.text, "/c/j/chk-18446744073709551615");
	cr_assert_eq(weir_layout_manifest(&path, "/c/j/chk-1", &err), 0);
	cr_assert_str_eq(path.text, "/c/j/chk-1/manifest");
	cr_assert_eq(weir_layout_data(&path, "/c/j", "1-2-3.dat", &err), 0);
	cr_assert_str_eq(path.text, "/c/j/data/1-2-3.dat");
}

Test(layout, too_long_is_refused_and_empty)
{
	char dir[2000];

	memset(dir, 'd', sizeof(dir));
	dir[sizeof(dir) - 1] = '\0';
	cr_assert_eq(weir_layout_job(&path, dir, "j", &err), WEIR_ERR_CONFIG);
	cr_assert_str_eq(path.text, "");
	cr_assert_eq(weir_layout_base(&path, dir, &err), WEIR_ERR_CONFIG);
}

Test(layout, parent_and_base)
{
	static const struct {
		const char *path, *parent, *base;
	} cases[] = {
		{ "/c/j/chk-3", "/c/j", "chk-3" },
		{ "/c/j/chk-3//", "/c/j", "chk-3" },
		{ "chk-3", ".", "chk-3" },
		{ "/chk-3", "/", "chk-3" },
		{ "a//b", "a", "b" },
	};
	size_t i;

	for (i = 0; i < WEIR_ARRAY_CNT(cases); i++) {
		cr_assert_eq(weir_layout_parent(&path, cases[i].path, &err), 0);
		cr_assert_str_eq(path.text, cases[i].parent);
		cr_assert_eq(weir_layout_base(&path, cases[i].path, &err), 0);
		cr_assert_str_eq(path.text, cases[i].base);
	}
}

Test(layout, names_have_one_spelling)
{
	static const char *const bad[] = {
		"chk-",	  "chk-0",  "chk-01", "chk-1x",
		"chk--1", "chk-1 ", "Chk-1",  "chk-18446744073709551616"
	};
	static const char *const bad_data[] = { "1-2-3",   "1-2-3.dat~", "01-2-3.dat",
						"1-2.dat", ".1-2-3.dat", "1-2-4294967296.dat",
						"" };
	const struct weir_data_name name = { UINT64_MAX, 12, UINT32_MAX };
	struct weir_data_name parsed;
	char text[WEIR_DATA_NAME_MAX];
	uint64_t id = 5;
	size_t i;

	cr_assert(weir_layout_parse_checkpoint("chk-120", &id));
	cr_assert_eq(id, 120);
	for (i = 0; i < WEIR_ARRAY_CNT(bad); i++)
		cr_assert_not(weir_layout_parse_checkpoint(bad[i], &id), "%s", bad[i]);
	cr_assert_eq(id, 120);
	weir_layout_data_name(text, &name);
	cr_assert_str_eq(text, "18446744073709551615-12-4294967295.dat");
	cr_assert(weir_layout_parse_data_name(text, &parsed));
	cr_assert_eq(parsed.attempt, name.attempt);
	cr_assert_eq(parsed.checkpoint_id, name.checkpoint_id);
	cr_assert_eq(parsed.core, name.core);
	for (i = 0; i < WEIR_ARRAY_CNT(bad_data); i++)
		cr_assert_not(weir_layout_parse_data_name(bad_data[i], &parsed), "%s", bad_data[i]);
}

Test(layout, counters)
{
	struct weir_counters c = { 41, 7 };
	struct weir_counters parsed = { 0 };
	char text[WEIR_COUNTERS_MAX];
	const size_t len = weir_counters_print(text, &c);
	size_t i;

	cr_assert(weir_counters_parse(text, len, &parsed));
	cr_assert_eq(parsed.next_id, 41);
	cr_assert_eq(parsed.last_attempt, 7);
	for (i = 0; i < len; i++)
		cr_assert_not(weir_counters_parse(text, i, &parsed));
	cr_assert_not(weir_counters_parse("next-checkpoint 0\nlast-attempt 1\n", 33, &parsed));
}

Test(layout, job_names)
{
	cr_assert(weir_layout_job_ok("nexmark-q5"));
	cr_assert_not(weir_layout_job_ok(""));
	cr_assert_not(weir_layout_job_ok(".."));
	cr_assert_not(weir_layout_job_ok("a/b"));
}

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "drivers/preflight/preflight.h"

static struct weir_preflight_line lines[WEIR_PREFLIGHT_MAX];

Test(preflight, looks_at_nothing_that_is_not_needed)
{
	cr_assert_eq(weir_preflight(&(struct weir_preflight_need){ 0 }, lines), 0);
}

Test(preflight, what_no_host_has_is_missing_with_a_command)
{
	const struct weir_preflight_need need = { .huge_bytes = UINT64_C(1) << 50 };
	const uint32_t cnt = weir_preflight(&need, lines);
	char text[512];

	cr_assert(cnt >= 1);
	for (uint32_t i = 0; i < cnt; i++) {
		cr_assert_not(lines[i].ok);
		cr_assert(strstr(lines[i].command, "nr_hugepages") != NULL);
	}
	weir_preflight_text(&lines[0], text, sizeof(text));
	cr_assert(strncmp(text, "hugepages", 9) == 0, "%s", text);
	cr_assert(strstr(text, ": need ") != NULL);
	cr_assert(strstr(text, ", have ") != NULL);
}

Test(preflight, an_ordinary_user_s_memlock)
{
	const struct weir_preflight_need need = { .register_bytes = 64 << 20 };
	const struct rlimit lim = { .rlim_cur = 8 << 20, .rlim_max = 8 << 20 };

	cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &lim), 0);
	if (getuid() == 0)
		cr_assert_eq(setresuid(65534, 65534, 65534), 0);
	cr_assert_eq(weir_preflight(&need, lines), 1);
	cr_assert_not(lines[0].ok);
	cr_assert_str_eq(lines[0].need, "64 MiB");
	cr_assert_str_eq(lines[0].have, "8 MiB");
	cr_assert(strstr(lines[0].command, "ulimit -l") != NULL);
}

Test(preflight, a_directory_that_is_not_there)
{
	const struct weir_preflight_need need = { .direct_dir = "/no/such/directory" };

	cr_assert_eq(weir_preflight(&need, lines), 1);
	cr_assert_not(lines[0].ok);
	cr_assert(strstr(lines[0].have, "/no/such/directory") != NULL);
}

Test(preflight, the_summary_names_what_is_missing_only)
{
	struct weir_preflight_line three[] = {
		{ .ok = false, .what = "a", .need = "1", .have = "0", .command = "get a" },
		{ .ok = true, .what = "b", .need = "1", .have = "1" },
		{ .ok = false, .what = "c", .need = "3", .have = "2", .command = "get c" },
	};
	char text[128];

	cr_assert(weir_preflight_summary(three, 3, text, sizeof(text)));
	cr_assert_str_eq(text, "a: need 1, have 0: get a; c: need 3, have 2: get c");
	cr_assert(weir_preflight_summary(three, 3, text, 40));
	cr_assert_str_eq(text, "a: need 1, have 0: get a; …");
	cr_assert_not(weir_preflight_summary(three + 1, 1, text, sizeof(text)));
	cr_assert_str_eq(text, "");
}

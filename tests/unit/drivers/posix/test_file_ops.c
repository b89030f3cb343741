#include <errno.h>
#include <string.h>

#include <criterion/criterion.h>

#include "drivers/posix/file_ops.h"

/* A file system of names: mkdir as the kernel answers it. */
static const char *known[16];
static uint32_t known_cnt, calls;

static bool
is_known(const char *path, size_t len)
{
	for (uint32_t i = 0; i < known_cnt; i++)
		if (strlen(known[i]) == len && memcmp(known[i], path, len) == 0)
			return true;
	return false;
}

static int
fake_mkdir(const char *path)
{
	static char kept[16][64];
	const char *slash = strrchr(path, '/');
	size_t parent = slash == NULL ? 0 : (size_t)(slash - path);

	calls++;
	while (parent > 0 && path[parent - 1] == '/')
		parent--;
	if (is_known(path, strlen(path)))
		return -EEXIST;
	if (parent > 0 && !is_known(path, parent))
		return -ENOENT;
	cr_assert(known_cnt < 16);
	strcpy(kept[known_cnt], path);
	known[known_cnt] = kept[known_cnt];
	known_cnt++;
	return 0;
}

static enum weir_mkdir_do
walk_all(const char *path, int64_t *result)
{
	struct weir_mkdir_walk walk;
	enum weir_mkdir_do what;

	cr_assert(weir_mkdir_walk_init(&walk, path));
	do {
		what = weir_mkdir_walk_next(&walk, fake_mkdir(walk.path), result);
		cr_assert(calls < 50);
	} while (what == WEIR_MKDIR_AGAIN);
	return what;
}

Test(mkdir_walk, an_existing_parent_costs_one_call)
{
	int64_t result = -1;

	known[known_cnt++] = "/a";
	cr_assert_eq(walk_all("/a/b", &result), WEIR_MKDIR_DONE);
	cr_assert_eq(result, 0);
	cr_assert_eq(calls, 1);
}

Test(mkdir_walk, makes_what_is_missing)
{
	int64_t result = -1;

	known[known_cnt++] = "/a";
	cr_assert_eq(walk_all("/a/b/c/d", &result), WEIR_MKDIR_DONE);
	cr_assert_eq(result, 0);
	cr_assert(is_known("/a/b", 4));
	cr_assert(is_known("/a/b/c", 6));
	cr_assert(is_known("/a/b/c/d", 8));
	cr_assert_eq(known_cnt, 4);
}

Test(mkdir_walk, works_from_where_we_are)
{
	int64_t result = -1;

	cr_assert_eq(walk_all("x/y", &result), WEIR_MKDIR_DONE);
	cr_assert_eq(result, 0);
	cr_assert(is_known("x", 1));
	cr_assert(is_known("x/y", 3));
}

Test(mkdir_walk, repeated_slashes_are_one)
{
	int64_t result = -1;

	cr_assert_eq(walk_all("p//q///r/", &result), WEIR_MKDIR_DONE);
	cr_assert_eq(result, 0);
	cr_assert_eq(known_cnt, 3);
}

Test(mkdir_walk, an_existing_end_is_looked_at)
{
	int64_t result = -1;

	known[known_cnt++] = "/a";
	cr_assert_eq(walk_all("/a", &result), WEIR_MKDIR_CHECK);
}

Test(mkdir_walk, gives_up_on_other_errors_and_when_somebody_removes)
{
	struct weir_mkdir_walk walk;
	int64_t result = 0;

	cr_assert(weir_mkdir_walk_init(&walk, "/a/b"));
	cr_assert_eq(weir_mkdir_walk_next(&walk, -EINTR, &result), WEIR_MKDIR_AGAIN);
	cr_assert_eq(weir_mkdir_walk_next(&walk, -EACCES, &result), WEIR_MKDIR_DONE);
	cr_assert_eq(result, -EACCES);

	cr_assert(weir_mkdir_walk_init(&walk, "/a/b"));
	cr_assert_eq(weir_mkdir_walk_next(&walk, -ENOENT, &result), WEIR_MKDIR_AGAIN);
	cr_assert_str_eq(walk.path, "/a");
	cr_assert_eq(weir_mkdir_walk_next(&walk, 0, &result), WEIR_MKDIR_AGAIN);
	cr_assert_str_eq(walk.path, "/a/b");
	cr_assert_eq(weir_mkdir_walk_next(&walk, -ENOENT, &result), WEIR_MKDIR_DONE);
	cr_assert_eq(result, -ENOENT);
}

Test(mkdir_walk, refuses_paths_that_are_none)
{
	static char path[WEIR_PATH_BYTES + 1];
	struct weir_mkdir_walk walk;

	cr_assert_not(weir_mkdir_walk_init(&walk, ""));
	memset(path, 'x', WEIR_PATH_BYTES);
	cr_assert_not(weir_mkdir_walk_init(&walk, path));
}

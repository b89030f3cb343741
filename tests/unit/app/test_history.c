/*
 * K16: the history of checkpoints, and when what stands in it is durable. The calls that make it so
 * are taken over here, noted, and made to fail once.
 */

#include "app/checkpoint/history.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/scratch.h"

#define SECOND INT64_C(1000000000)

static char calls[256]; /* f: a file, d: a folder, r: a new name */
static char failing;	/* the call that fails */

static int
called(char what)
{
	const size_t len = strlen(calls);

	if (len + 1 < sizeof(calls))
		calls[len] = what;
	errno = EIO;
	return what == failing ? -1 : 0;
}

int fsync(int fd);
int fdatasync(int fd);
int rename(const char *from, const char *to);

int
fsync(int fd)
{
	struct stat st;

	return called(fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? 'd' : 'f');
}

int
fdatasync(int fd)
{
	(void)fd;
	return called('f');
}

int
rename(const char *from, const char *to)
{
	if (called('r') != 0)
		return -1;
	(void)unlink(to);
	return link(from, to) == 0 ? unlink(from) : -1;
}

static char folder[256];
static struct weir_history h;

static void
start(void)
{
	struct weir_error err;

	cr_assert(mkdtemp(scratch_template(folder, sizeof(folder), "history")) != NULL);
	cr_assert_eq(weir_history_open(&h, folder, "run", 0, &err), 0);
}

static void
end(void)
{
	char path[300];

	weir_history_close(&h);
	snprintf(path, sizeof(path), "%s/history", folder);
	(void)unlink(path);
	cr_expect_eq(rmdir(folder), 0, "nothing else is left");
}

static int
add(int id, int64_t now_ns)
{
	json_t *entry = json_pack("{s:i, s:s}", "id", id, "status", "completed");
	struct weir_error err;
	const int rc = weir_history_add(&h, entry, now_ns, &err);

	json_decref(entry);
	return rc;
}

static void
expect_shown(int oldest, int newest)
{
	struct weir_error err;
	json_t *list;

	cr_assert_eq(weir_history_read(folder, &list, &err), 0);
	cr_expect_eq(json_array_size(list), (size_t)(newest - oldest + 1));
	for (int i = oldest; i <= newest; i++) {
		const json_t *e = json_array_get(list, (size_t)(i - oldest));

		cr_expect_eq(json_integer_value(json_object_get(e, "id")), i);
	}
	json_decref(list);
}

Test(history, a_new_file_is_durable_before_it_has_its_name, .init = start, .fini = end)
{
	cr_expect_str_eq(calls, "frd");
}

Test(history, what_was_added_is_durable_a_second_later_all_at_once, .init = start, .fini = end)
{
	struct weir_error err;

	memset(calls, 0, sizeof(calls));
	cr_expect_eq(weir_history_due_ns(&h), INT64_MAX);
	cr_assert_eq(add(1, 5 * SECOND), 0);
	cr_assert_eq(add(2, 5 * SECOND + SECOND / 2), 0);
	cr_expect_eq(weir_history_due_ns(&h), 6 * SECOND, "the oldest counts");
	cr_expect_eq(weir_history_step(&h, 6 * SECOND - 1, &err), 0);
	cr_expect_str_eq(calls, "", "nobody waits for the disk before that");
	expect_shown(1, 2);
	cr_expect_eq(weir_history_step(&h, 6 * SECOND, &err), 0);
	cr_expect_str_eq(calls, "f");
	cr_expect_eq(weir_history_due_ns(&h), INT64_MAX);
}

Test(history, closing_makes_the_rest_durable)
{
	start();
	memset(calls, 0, sizeof(calls));
	cr_assert_eq(add(1, SECOND), 0);
	end();
	cr_expect_str_eq(calls, "f");
}

Test(history, a_long_one_is_replaced_by_a_durable_one, .init = start, .fini = end)
{
	struct weir_error err;

	memset(calls, 0, sizeof(calls));
	for (int i = 1; i <= 101; i++)
		cr_assert_eq(add(i, SECOND), 0);
	cr_expect_str_eq(calls, "frd");
	cr_expect_eq(weir_history_due_ns(&h), INT64_MAX, "what was appended is in it");
	cr_expect_eq(weir_history_step(&h, 10 * SECOND, &err), 0);
	expect_shown(92, 101);
}

Test(history, a_disk_that_fails_is_told_once, .init = start, .fini = end)
{
	struct weir_error err;

	cr_assert_eq(add(1, SECOND), 0);
	failing = 'f';
	cr_expect_eq(weir_history_step(&h, 2 * SECOND, &err), WEIR_ERR_IO);
	cr_expect_eq(add(2, 3 * SECOND), 0, "the list goes on");
	cr_expect_eq(weir_history_due_ns(&h), INT64_MAX);
	cr_expect_eq(weir_history_step(&h, 9 * SECOND, &err), 0);
	cr_expect_eq(json_array_size(h.list), 2);
}

Test(history, a_new_file_that_is_not_durable_does_not_replace_the_old, .init = start, .fini = end)
{
	for (int i = 1; i <= 100; i++)
		cr_assert_eq(add(i, SECOND), 0);
	failing = 'f';
	cr_expect_eq(add(101, SECOND), WEIR_ERR_IO);
	expect_shown(91, 100);
}

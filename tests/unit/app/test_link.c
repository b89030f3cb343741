/* Messages over a socket pair: whole, in parts, damaged, and the end of the line. */

#include "app/link.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void
open_pair(struct weir_link *a, struct weir_link *b)
{
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	weir_link_open(a, fds[0]);
	weir_link_open(b, fds[1]);
}

Test(link, messages_arrive_whole_and_in_order)
{
	struct weir_link a, b;

	open_pair(&a, &b);
	for (int i = 0; i < 100; i++) {
		json_t *message = json_pack("{s:i}", "n", i);

		cr_assert(weir_link_send(&a, message));
		json_decref(message);
	}
	for (int i = 0; i < 100; i++) {
		json_t *message = weir_link_receive(&b);

		cr_assert_not_null(message);
		cr_expect_eq(json_integer_value(json_object_get(message, "n")), i);
		json_decref(message);
	}
	cr_expect_null(weir_link_receive(&b));
	cr_expect_not(b.ended);
	weir_link_close(&a);
	cr_expect_null(weir_link_receive(&b));
	cr_expect(b.ended);
	weir_link_close(&b);
}

/* A message comes in single bytes: it is taken when its last one is there, not before. */
Test(link, a_part_of_a_message_waits)
{
	static const char bytes[] = "\x08\0\0\0{\"n\": 1}\x02\0\0\0[]";
	struct weir_link a, b;
	uint32_t taken = 0;

	open_pair(&a, &b);
	for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
		json_t *message;

		cr_assert_eq(send(a.fd, bytes + i, 1, 0), 1);
		message = weir_link_receive(&b);
		cr_expect_eq(message != NULL, i == 11 || i == 17, "byte %zu", i);
		taken += message != NULL;
		json_decref(message);
	}
	cr_expect_eq(taken, 2);
	weir_link_close(&a);
	weir_link_close(&b);
}

static bool
ends_after(const char *bytes, size_t len)
{
	struct weir_link a, b;
	bool ended;

	open_pair(&a, &b);
	cr_assert_eq(send(a.fd, bytes, len, 0), (ssize_t)len);
	cr_expect_null(weir_link_receive(&b));
	ended = b.ended;
	cr_expect_null(weir_link_receive(&b));
	weir_link_close(&a);
	weir_link_close(&b);
	return ended;
}

Test(link, what_is_no_message_ends_the_line)
{
	cr_expect(ends_after("\x04\0\0\0abcd", 8), "no JSON");
	cr_expect(ends_after("\xff\xff\xff\xff", 4), "too long");
	cr_expect(ends_after("\0\0\0\0", 4), "empty");
	cr_expect_not(ends_after("\x04\0\0\0abc", 7), "not yet whole");
}

Test(link, nobody_at_the_other_end)
{
	struct weir_link a, b;
	json_t *message = json_object();

	open_pair(&a, &b);
	weir_link_close(&b);
	cr_expect_not(weir_link_send(&a, message));
	json_decref(message);
	weir_link_close(&a);
}

Test(link, text_that_is_not_utf8)
{
	json_t *bad = weir_link_text("a\xff\xc3"), *good = weir_link_text("ä");

	cr_expect_str_eq(json_string_value(bad), "a??");
	cr_expect_str_eq(json_string_value(good), "ä");
	json_decref(bad);
	json_decref(good);
}

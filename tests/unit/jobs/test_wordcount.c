/* Words of lines, with room for little. */

#include "jobs/wordcount/wordcount.h"
#include "tests/unit/jobs/fake_job.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

struct words {
	char text[20000]; /* words, each with a blank behind */
	size_t len;
	uint32_t batches;
};

static void
add(void *arg, const struct weir_batch *batch)
{
	const struct weir_bytes *w = weir_bytes(batch, 0);
	struct words *words = arg;

	for (uint32_t i = 0; i < batch->selected; i++) {
		const struct weir_bytes one = w[weir_row(batch, i)];

		cr_assert(words->len + one.len + 1 < sizeof(words->text));
		memcpy(words->text + words->len, batch->heap[0] + one.off, one.len);
		words->len += one.len;
		words->text[words->len++] = ' ';
	}
	words->text[words->len] = '\0';
	words->batches++;
}

static struct words words;

static uint64_t
split(const char *text, uint32_t cap, uint32_t heap_cap)
{
	struct weir_operator_ctx ctx = { 0 };
	struct weir_bytes line = { 0, (uint32_t)strlen(text) };
	struct weir_batch in = { .rows = 1, .selected = 1, .col = { &line } };

	in.heap[0] = malloc(line.len + 1);
	memcpy(in.heap[0], text, line.len);
	memset(&words, 0, sizeof(words));
	cr_assert_eq(fake_process(&weir_split_words, &ctx, weir_split_words.out, &in, cap, heap_cap,
				  add, &words),
		     0);
	free(in.heap[0]);
	return ctx.truncated;
}

Test(wordcount, words_are_letters_digits_and_high_bytes_in_lower_case)
{
	cr_assert_eq(split("The q-uick, BROWN f0x_\t\xc3\x84pfel's\x80 @[`{", 16, 4096), 0u);
	cr_assert_str_eq(words.text, "the q uick brown f0x \xc3\x84pfel s\x80 ");
	(void)split("", 16, 4096);
	cr_assert_eq(words.len, 0u);
	(void)split("...", 16, 4096);
	cr_assert_eq(words.len, 0u);
}

Test(wordcount, every_byte_is_what_its_class_says)
{
	for (uint32_t c = 1; c < 256; c++) {
		const char text[2] = { (char)c, '\0' };
		const bool digit = c >= '0' && c <= '9', small = c >= 'a' && c <= 'z';
		const bool large = c >= 'A' && c <= 'Z';

		(void)split(text, 16, 4096);
		if (!digit && !small && !large && c < 0x80)
			cr_assert_eq(words.len, 0u, "byte %u", c);
		else
			cr_assert_eq((unsigned char)words.text[0], large ? c + 32 : c, "byte %u",
				     c);
	}
}

Test(wordcount, any_room_gives_the_same_words)
{
	static const char text[] = "one two three four five six seven eight nine ten eleven";
	static const char expected[] = "one two three four five six seven eight nine ten eleven ";

	for (uint32_t cap = 1; cap < 13; cap++) {
		for (uint32_t heap = 6; heap < 60; heap++) {
			cr_assert_eq(split(text, cap, heap), 0u);
			cr_assert_str_eq(words.text, expected, "cap %u, heap %u", cap, heap);
		}
	}
}

Test(wordcount, long_words_count_under_their_beginning)
{
	static char text[9001];

	memset(text, 'A', 9000);
	text[4096] = ' ';
	cr_assert_eq(split(text, 16, 8000), 1u);
	cr_assert_eq(words.len, 2 * 4097u);
}

/* The source of lines: what is listed, and lines of files cut in every way against a plain reading
 * of the whole. */

#include "tests/scratch.h"
#include "tests/unit/drivers/fake_engine.h"

#include <weir/sources.h>

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MAX (1u << 20)

static char folder[64];

static void
set_up(void)
{
	cr_assert(mkdtemp(scratch_template(folder, sizeof(folder), "files")) != NULL);
}

static void
tear_down(void)
{
	(void)scratch_remove(folder);
}

static const char *
at(const char *name)
{
	static char path[4][256];
	static uint32_t next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
	return p;
}

static void
put(const char *name, const void *text, size_t len)
{
	FILE *f = fopen(at(name), "w");

	cr_assert(f != NULL);
	cr_assert_eq(fwrite(text, 1, len, f), len);
	fclose(f);
}

/* Lines as read, each with its end, cut pieces with a bar. */
struct lines {
	char text[TEXT_MAX + 1];
	size_t len;
};

static struct lines got;

static void
add_lines(void *arg, const struct weir_read *batch)
{
	const struct weir_bytes *lines = batch->col[WEIR_FILES_LINE];

	(void)arg;
	for (uint32_t i = 0; i < batch->rows; i++) {
		cr_assert(got.len + lines[i].len + 1 < TEXT_MAX);
		memcpy(got.text + got.len, batch->heap + lines[i].off, lines[i].len);
		got.len += lines[i].len;
		got.text[got.len++] = '\n';
	}
}

static void
read_ranges(const char *path, const uint64_t *cuts, uint32_t cut_cnt, uint64_t size, uint32_t cap,
	    uint32_t heap, uint32_t reopen, uint64_t *rows)
{
	const struct weir_params params = { .input = path };
	struct weir_reader_ctx ctx = { .params = &params };
	struct fake_sums sums;

	got.len = 0;
	*rows = 0;
	for (uint32_t i = 0; i <= cut_cnt; i++) {
		const struct weir_split split = {
			.name = path,
			.begin = i == 0 ? 0 : cuts[i - 1],
			.end = i == cut_cnt ? size : cuts[i],
		};

		cr_assert_eq(fake_read_split(&weir_files, &ctx, &split, cap, heap, reopen, &sums,
					     add_lines, NULL),
			     0, "%s", ctx.error);
		*rows += sums.rows;
	}
	got.text[got.len] = '\0';
}

TestSuite(files, .init = set_up, .fini = tear_down);

Test(files, a_cut_anywhere_gives_each_line_once)
{
	static const char *const texts[] = {
		"one\ntwo\n\nthree\n", "no end", "\n", "\n\n\n", "a\nb", "", "x\n\ny\n\n",
		"long line here\nz",
	};
	uint64_t rows, whole;

	for (uint32_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
		const uint64_t size = strlen(texts[t]);
		char expected[64];

		put("f", texts[t], size);
		snprintf(expected, sizeof(expected), "%s%s", texts[t],
			 size > 0 && texts[t][size - 1] != '\n' ? "\n" : "");
		read_ranges(at("f"), NULL, 0, size, 256, 4096, 0, &whole);
		cr_assert_str_eq(got.text, expected);
		for (uint64_t a = 1; a < size; a++) {
			for (uint64_t b = a; b < size; b++) {
				const uint64_t cuts[] = { a, b };

				for (uint32_t reopen = 0; reopen < 2; reopen++) {
					read_ranges(at("f"), cuts, 2, size, 1, 4096, reopen, &rows);
					cr_assert_str_eq(got.text, expected, "text %u, cuts %d %d",
							 t, (int)a, (int)b);
					cr_assert_eq(rows, whole);
				}
			}
		}
	}
}

/* Words of the read lines, at most longest bytes of each. */
static size_t
words_of(const char *text, size_t len, size_t longest, char *words)
{
	size_t n = 0, run = 0;

	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)text[i];

		if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		    c >= 0x80) {
			if (run++ < longest)
				words[n++] = text[i];
		} else if (run > 0) {
			words[n++] = ' ';
			run = 0;
		}
	}
	if (run > 0)
		words[n++] = ' ';
	return n;
}

static char *
random_text(uint32_t seed, size_t size, uint32_t newline_in)
{
	char *text = malloc(size + 1);
	size_t i = 0;

	srand(seed);
	while (i < size) {
		const int r = rand();
		size_t run = (size_t)(rand() % (r % 37 == 0 ? 9000 : 12));

		for (; run > 0 && i < size; run--)
			text[i++] = (char)(r % 5 == 0 ? '-' : 'a' + rand() % 26);
		if (i < size)
			text[i++] = (char)((uint32_t)rand() % newline_in == 0 ? '\n' : ' ');
	}
	return text;
}

Test(files, long_lines_are_cut_between_words)
{
	static char a[TEXT_MAX], b[TEXT_MAX];
	const uint32_t heaps[] = { 5000, 8000, 70000 };
	const size_t size = 300000;
	uint64_t rows;

	for (uint32_t seed = 1; seed <= 6; seed++) {
		char *text = random_text(seed, size, seed % 2 ? 100 : 100000000);
		const uint64_t cuts[] = { 100000, 100001, 250000 };
		size_t n = words_of(text, size, 4096, a);

		put("f", text, size);
		for (uint32_t h = 0; h < 3; h++) {
			for (uint32_t reopen = 0; reopen < 2; reopen++) {
				read_ranges(at("f"), cuts, 3, size, 256, heaps[h], reopen, &rows);
				cr_assert_eq(words_of(got.text, got.len, 4096, b), n,
					     "seed %u, heap %u", seed, heaps[h]);
				cr_assert_arr_eq(a, b, n);
			}
		}
		free(text);
	}
}

Test(files, a_word_without_end_is_handed_on_up_to_its_limit)
{
	const size_t size = 600000;
	char *text = malloc(size);
	uint64_t rows;

	memset(text, 'w', size);
	memcpy(text + size - 6, " end\n.", 6);
	put("f", text, size);
	read_ranges(at("f"), NULL, 0, size, 256, 7000, 1, &rows);
	cr_assert_eq(got.len, WEIR_FILES_WORD_MAX + 1u + 5u + 2u);
	cr_assert_eq(rows, 3u);
	free(text);
}

static uint32_t
list(const char *input, uint32_t parallelism, struct weir_splits *splits)
{
	const struct weir_params params = { .input = input };

	memset(splits, 0, sizeof(*splits));
	(void)weir_files.enumerate(&params, parallelism, splits);
	return splits->cnt;
}

Test(files, lists_links_under_their_names_and_no_circles)
{
	struct weir_splits splits;

	put("b", "b", 1);
	mkdir(at("d"), 0755);
	put("d/c", "c", 1);
	put("d/empty", "", 0);
	cr_assert_eq(symlink("../b", at("d/link")), 0);
	cr_assert_eq(symlink("..", at("d/up")), 0);
	cr_assert_eq(symlink("nowhere", at("broken")), 0);
	cr_assert_eq(symlink("self", at("self")), 0);
	cr_assert_eq(symlink("d", at("e")), 0);
	cr_assert_eq(mkfifo(at("fifo"), 0644), 0);
	cr_assert_eq(list(folder, 1, &splits), 7u, "%s", splits.error);
	const char *const expected[] = {
		"b", "d/c", "d/empty", "d/link", "e/c", "e/empty", "e/link"
	};
	for (uint32_t i = 0; i < 7; i++)
		cr_assert_str_eq(splits.list[i].name, at(expected[i]));
	/* broken, self, fifo, and two ways up */
	cr_assert_eq(splits.warning_cnt, 5u);
	fake_splits_free(&splits);
}

Test(files, says_what_is_not_there)
{
	struct weir_splits splits;

	(void)list(at("none"), 1, &splits);
	cr_assert_eq(splits.code, 66);
	cr_assert(strstr(splits.error, "none") != NULL);
	(void)list(NULL, 1, &splits);
	cr_assert_eq(splits.code, 78);
	cr_assert_eq(mkfifo(at("fifo"), 0644), 0);
	(void)list(at("fifo"), 1, &splits);
	cr_assert_eq(splits.code, 66);
}

Test(files, a_file_larger_than_a_share_is_cut)
{
	char *text = calloc(1, 1000000);
	struct weir_splits splits;

	put("f", text, 1000000);
	cr_assert_eq(list(at("f"), 4, &splits), 4u);
	cr_assert_eq(splits.list[0].begin, 0u);
	cr_assert_eq(splits.list[3].end, 1000000u);
	for (uint32_t i = 1; i < 4; i++)
		cr_assert_eq(splits.list[i].begin, splits.list[i - 1].end);
	fake_splits_free(&splits);
	cr_assert_eq(list(at("f"), 1, &splits), 1u);
	fake_splits_free(&splits);
	put("f", text, 1000);
	cr_assert_eq(list(at("f"), 4, &splits), 1u, "too small to cut");
	fake_splits_free(&splits);
	free(text);
}

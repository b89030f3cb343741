#include "tests/scenarios/scn.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
scn_text_add(struct scn_text *t, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	WEIR_ASSERT(len >= 0);
	if (t->len + (size_t)len + 1 > t->cap) {
		t->cap = 2 * (t->len + (size_t)len + 1);
		t->at = realloc(t->at, t->cap);
		WEIR_ASSERT(t->at != NULL);
	}
	va_start(ap, fmt);
	vsnprintf(t->at + t->len, t->cap - t->len, fmt, ap);
	va_end(ap);
	t->len += (size_t)len;
}

void
scn_text_reset(struct scn_text *t)
{
	t->len = 0;
	scn_text_add(t, "%s", "");
}

uint64_t
scn_number(struct scn_names *n, const char *name)
{
	for (uint32_t i = 0; i < n->cnt; i++) {
		if (strcmp(n->list[i], name) == 0)
			return i + 1;
	}
	if (n->cnt == n->cap) {
		n->cap = n->cap == 0 ? 64 : 2 * n->cap;
		n->list = realloc(n->list, n->cap * sizeof(*n->list));
		WEIR_ASSERT(n->list != NULL);
	}
	n->list[n->cnt] = strdup(name);
	WEIR_ASSERT(n->list[n->cnt] != NULL);
	return ++n->cnt;
}

const char *
scn_name(const struct scn_names *n, uint64_t number)
{
	return number >= 1 && number <= n->cnt ? n->list[number - 1] : "?";
}

void
scn_names_fini(struct scn_names *n)
{
	for (uint32_t i = 0; i < n->cnt; i++)
		free(n->list[i]);
	free(n->list);
	*n = (struct scn_names){ 0 };
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void
scn_sort(const char **texts, uint32_t cnt)
{
	if (cnt > 1)
		qsort(texts, cnt, sizeof(*texts), compare);
}

void
scn_deviation(const struct scn_file *f, uint32_t line, const char *id, const char *expected,
	      const char *got)
{
	printf("%s:%u: [%s] expected %s, got %s\n", f->path, line, id, expected, got);
}

bool
scn_u64(const char *word, uint64_t max, uint64_t *value)
{
	uint64_t n = 0;

	if (*word == '\0')
		return false;
	for (; *word != '\0'; word++) {
		uint64_t digit = (uint64_t)(*word - '0');

		if (*word < '0' || *word > '9' || digit > max || n > (max - digit) / 10)
			return false;
		n = 10 * n + digit;
	}
	*value = n;
	return true;
}

bool
scn_u32(const char *word, uint32_t min, uint32_t max, uint32_t *value)
{
	uint64_t n;

	if (!scn_u64(word, max, &n) || n < min)
		return false;
	*value = (uint32_t)n;
	return true;
}

bool
scn_time(const char *word, int64_t *value)
{
	uint64_t n;

	if (!scn_u64(word, INT64_MAX / 64, &n))
		return false;
	*value = (int64_t)n;
	return true;
}

/* Cut the words of line->copy apart, up to a comment: a `#` at the start or after a blank. */
static void
split(struct scn_line *line)
{
	struct scn_text text = { 0 };
	uint32_t cap = 0;
	char *save;

	scn_text_reset(&text);
	for (char *w = strtok_r(line->copy, " \t\r\n", &save); w != NULL && *w != '#';
	     w = strtok_r(NULL, " \t\r\n", &save)) {
		if (line->word_cnt == cap) {
			cap = cap == 0 ? 8 : 2 * cap;
			line->words = realloc(line->words, cap * sizeof(*line->words));
			WEIR_ASSERT(line->words != NULL);
		}
		scn_text_add(&text, "%s%s", line->word_cnt > 0 ? " " : "", w);
		line->words[line->word_cnt++] = w;
	}
	line->text = text.at;
}

static void
free_line(struct scn_line *line)
{
	free(line->text);
	free(line->copy);
	free(line->words);
}

static void
add_line(struct scn_file *f, uint32_t *cap, uint32_t number, const char *text)
{
	struct scn_line line = { .number = number, .copy = strdup(text) };

	WEIR_ASSERT(line.copy != NULL);
	split(&line);
	if (line.word_cnt == 0) {
		free_line(&line);
		return;
	}
	if (f->cnt == *cap) {
		*cap = *cap == 0 ? 64 : 2 * *cap;
		f->lines = realloc(f->lines, *cap * sizeof(*f->lines));
		WEIR_ASSERT(f->lines != NULL);
	}
	f->lines[f->cnt++] = line;
}

/* A byte 0 would hide the rest of its line. */
static void
show_zeros(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\0')
			text[i] = '?';
	}
}

int
scn_read(struct scn_file *f)
{
	FILE *in = fopen(f->path, "r");
	uint32_t number = 0;
	uint32_t cap = 0;
	size_t size = 0;
	char *text = NULL;
	ssize_t len;
	int failed;

	if (in == NULL) {
		perror(f->path);
		return -1;
	}
	while ((len = getline(&text, &size, in)) >= 0) {
		show_zeros(text, (size_t)len);
		add_line(f, &cap, ++number, text);
	}
	failed = ferror(in);
	if (failed)
		perror(f->path);
	free(text);
	fclose(in);
	return failed ? -1 : 0;
}

void
scn_free(struct scn_file *f)
{
	for (uint32_t i = 0; i < f->cnt; i++)
		free_line(&f->lines[i]);
	free(f->lines);
}

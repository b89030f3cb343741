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

/* Cut off the comment: a `#` at the start or after a blank. */
static void
strip(char *text)
{
	size_t len;

	for (char *p = text; *p != '\0'; p++) {
		if (*p == '#' && (p == text || p[-1] == ' ' || p[-1] == '\t')) {
			*p = '\0';
			break;
		}
	}
	len = strlen(text);
	while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
		text[--len] = '\0';
}

static void
split(struct scn_line *line)
{
	char *save;

	line->copy = strdup(line->text);
	WEIR_ASSERT(line->copy != NULL);
	for (char *w = strtok_r(line->copy, " \t", &save); w != NULL;
	     w = strtok_r(NULL, " \t", &save)) {
		WEIR_ASSERT(line->word_cnt < SCN_WORDS_MAX);
		line->words[line->word_cnt++] = w;
	}
}

static void
add_line(struct scn_file *f, uint32_t *cap, uint32_t number, const char *text)
{
	if (f->cnt == *cap) {
		*cap = *cap == 0 ? 64 : 2 * *cap;
		f->lines = realloc(f->lines, *cap * sizeof(*f->lines));
		WEIR_ASSERT(f->lines != NULL);
	}
	f->lines[f->cnt] = (struct scn_line){ .number = number, .text = strdup(text) };
	WEIR_ASSERT(f->lines[f->cnt].text != NULL);
	split(&f->lines[f->cnt]);
	f->cnt++;
}

int
scn_read(struct scn_file *f)
{
	FILE *in = fopen(f->path, "r");
	uint32_t number = 0;
	uint32_t cap = 0;
	size_t size = 0;
	char *text = NULL;

	if (in == NULL)
		return -1;
	while (getline(&text, &size, in) >= 0) {
		number++;
		strip(text);
		if (text[strspn(text, " \t")] != '\0')
			add_line(f, &cap, number, text + strspn(text, " \t"));
	}
	free(text);
	fclose(in);
	return 0;
}

void
scn_free(struct scn_file *f)
{
	for (uint32_t i = 0; i < f->cnt; i++) {
		free(f->lines[i].text);
		free(f->lines[i].copy);
	}
	free(f->lines);
}

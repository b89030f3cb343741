/* Lines of the notation as words, and what is said about them. */

#include <stdarg.h>
#include <string.h>

#include "tests/scenarios/barrier_run.h"
#include "tests/scenarios/scn.h"

void
deviate(struct place *place, const char *expected, const char *got)
{
	printf("%s:%u: [%s] expected %s, got %s\n", place->path, place->line, place->id, expected,
	       got);
	place->deviations++;
}

void
text_add(char *text, size_t size, const char *fmt, ...)
{
	const size_t len = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + len, size - len, fmt, args);
	va_end(args);
}

bool
words_split(struct words *words, const char *line)
{
	const size_t len = strlen(line);
	char *text = words->text;
	char *save = NULL;

	words->cnt = 0;
	if (len >= sizeof(words->text))
		return false;
	memcpy(words->text, line, len + 1);
	for (char *w = strtok_r(text, " \t\r\n", &save); w != NULL;
	     w = strtok_r(NULL, " \t\r\n", &save)) {
		if (w[0] == '#')
			break;
		if (words->cnt == WORDS_MAX)
			return false;
		words->word[words->cnt++] = w;
	}
	return true;
}

/* Words from first on, joined by single blanks; commas are blanks, none inside brackets' edges. */
void
words_join(const struct words *words, unsigned first, char *text)
{
	size_t len = 0;

	for (unsigned i = first; i < words->cnt; i++) {
		if (len > 0)
			text[len++] = ' ';
		for (const char *c = words->word[i]; *c != '\0'; c++) {
			const char ch = *c == ',' ? ' ' : *c;
			const char last = len > 0 ? text[len - 1] : ' ';

			if (ch == ' ' && (last == ' ' || last == '{' || last == '['))
				continue;
			if ((ch == '}' || ch == ']') && last == ' ' && len > 0)
				len--;
			if (len > 0 && text[len - 1] == ' ' && len > 1 &&
			    (text[len - 2] == '{' || text[len - 2] == '['))
				len--;
			text[len++] = ch;
		}
	}
	while (len > 0 && text[len - 1] == ' ')
		len--;
	text[len] = '\0';
}

const char *
word_at(const struct run *run, unsigned idx)
{
	return idx < run->words.cnt ? run->words.word[idx] : "";
}

void
malformed(struct run *run)
{
	static char text[TEXT_MAX];

	words_join(&run->words, 0, text);
	deviate(&run->place, "a line of the notation", text);
}

bool
time_at(struct run *run, unsigned idx, int64_t *ms)
{
	const char *word = word_at(run, idx);
	uint64_t value;

	if (scn_u64(word + (*word == '-'), TIME_MAX_MS, &value)) {
		*ms = *word == '-' ? -(int64_t)value : (int64_t)value;
		return true;
	}
	malformed(run);
	return false;
}

bool
id_at(struct run *run, unsigned idx, uint64_t *id)
{
	if (scn_u64(word_at(run, idx), UINT64_MAX, id))
		return true;
	malformed(run);
	return false;
}

void
compare(struct run *run, const char *expected, const char *got)
{
	if (strcmp(expected, got) != 0)
		deviate(&run->place, expected, got);
}

bool
channel_at(struct run *run, uint32_t *channel)
{
	uint64_t c;

	if (!id_at(run, 1, &c))
		return false;
	*channel = (uint32_t)c;
	if (c < run->header.channel_cnt)
		return true;
	malformed(run);
	return false;
}

const struct line_kind *
line_kind_of(const struct run *run, const struct line_kind *kinds, size_t cnt)
{
	const unsigned mode = run->out != NULL ? IN_OUTPUT : IN_INPUT;

	for (size_t i = 0; i < cnt; i++)
		if (kinds[i].modes & mode && strcmp(word_at(run, 0), kinds[i].word) == 0)
			return &kinds[i];
	return NULL;
}

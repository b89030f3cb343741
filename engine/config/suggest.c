#include "engine/config/config_priv.h"

/* "Did you mean": the known word at the least edit distance, if that is small for its length. */

#include <stdio.h>
#include <string.h>

#define WORD_MAX 96u

static uint32_t
min3(uint32_t a, uint32_t b, uint32_t c)
{
	const uint32_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Edits from a to b, a swap of neighbours being one (optimal string alignment). */
static uint32_t
distance(const char *a, const char *b)
{
	uint32_t row[3][WORD_MAX + 1];
	const size_t n = strlen(a), m = strlen(b);

	if (n > WORD_MAX || m > WORD_MAX)
		return UINT32_MAX;
	for (size_t j = 0; j <= m; j++)
		row[0][j] = (uint32_t)j;
	for (size_t i = 1; i <= n; i++) {
		uint32_t *now = row[i % 3], *up = row[(i - 1) % 3], *upup = row[(i + 1) % 3];

		now[0] = (uint32_t)i;
		for (size_t j = 1; j <= m; j++) {
			now[j] =
				min3(now[j - 1] + 1, up[j] + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    upup[j - 2] + 1 < now[j])
				now[j] = upup[j - 2] + 1;
		}
	}
	return row[n % 3][m];
}

static bool
near_enough(const char *word, uint32_t edits)
{
	const size_t len = strlen(word);

	return edits <= (len < 5 ? 1 : len < 12 ? 2 : 3);
}

const char *
weir_suggest(const char *word, const char *const *candidates, uint32_t cnt)
{
	const char *best = NULL;
	uint32_t best_edits = UINT32_MAX;

	for (uint32_t i = 0; i < cnt; i++) {
		const uint32_t edits = distance(word, candidates[i]);

		if (edits < best_edits) {
			best_edits = edits;
			best = candidates[i];
		}
	}
	return best != NULL && near_enough(word, best_edits) ? best : NULL;
}

/* A key whose last part is path ("interval"), if there is exactly one. */
static const char *
by_last_part(const char *path)
{
	const char *found = NULL;

	for (uint32_t i = 0; i < WEIR_KEY_CNT; i++) {
		const char *known = weir_config_keys[i].path;
		const char *dot = strrchr(known, '.');

		if (dot == NULL || strcmp(dot + 1, path) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = known;
	}
	return found;
}

/* operators.ID.parallelsm → operators.ID.parallelism. */
static const char *
suggest_operator_key(const char *path, char *buf)
{
	static const char *const leaves[] = { "parallelism", "cores" };
	const char *dot = strrchr(path, '.');
	const char *leaf;

	if (strncmp(path, "operators.", 10) != 0 || dot == path + 9)
		return NULL;
	leaf = weir_suggest(dot + 1, leaves, 2);
	if (leaf == NULL)
		return NULL;
	snprintf(buf, PATH_MAX_LEN, "%.*s.%s", (int)(dot - path), path, leaf);
	return buf;
}

static uint32_t
add_sections(const char **list, uint32_t cnt, char (*names)[WORD_MAX])
{
	for (uint32_t i = 0; i < WEIR_KEY_CNT; i++) {
		const char *dot = strchr(weir_config_keys[i].path, '.');

		if (dot == NULL)
			continue;
		snprintf(names[i], WORD_MAX, "%.*s", (int)(dot - weir_config_keys[i].path),
			 weir_config_keys[i].path);
		list[cnt++] = names[i];
	}
	list[cnt++] = "operators";
	return cnt;
}

const char *
weir_config_suggest_path(const char *path, bool sections, char *buf)
{
	const char *list[2 * WEIR_KEY_CNT + 1];
	char names[WEIR_KEY_CNT][WORD_MAX];
	const char *best = suggest_operator_key(path, buf);
	uint32_t cnt = 0;

	if (best != NULL)
		return best;
	if (!sections) {
		for (uint32_t i = 0; i < WEIR_KEY_CNT; i++)
			list[cnt++] = weir_config_keys[i].path;
	} else {
		cnt = add_sections(list, cnt, names);
	}
	best = weir_suggest(path, list, cnt);
	if (best == NULL && !sections)
		best = by_last_part(path);
	if (best == NULL)
		return NULL;
	snprintf(buf, PATH_MAX_LEN, "%s", best);
	return buf;
}

/* Item words of the notation: d:a@0/100, b5@*, tb1@0*2#7. */

#include "tests/scenarios/barrier.h"
#include "tests/scenarios/scn.h"

#include <ctype.h>
#include <string.h>

static bool
number(const char **text, uint64_t *value)
{
	const size_t len = strspn(*text, "0123456789");
	char digits[24];

	if (len >= sizeof(digits))
		return false;
	memcpy(digits, *text, len);
	digits[len] = '\0';
	*text += len;
	return scn_u64(digits, UINT64_MAX, value);
}

static bool
label(const char **text, struct item_word *item)
{
	size_t len;

	if (**text != ':')
		return true;
	(*text)++;
	len = strcspn(*text, "@");
	if (len == 0 || len >= sizeof(item->label))
		return false;
	memcpy(item->label, *text, len);
	*text += len;
	return true;
}

static bool
channel(const char **text, struct item_word *item)
{
	uint64_t value;

	if (**text != '@')
		return true;
	(*text)++;
	if (**text == '*') {
		item->channel = -1;
		(*text)++;
		return true;
	}
	if (!number(text, &value) || value >= CHANNELS_MAX)
		return false;
	item->channel = (int64_t)value;
	return true;
}

static bool
suffixes(const char **text, struct item_word *item)
{
	while (**text != '\0') {
		const char mark = *(*text)++;

		if (mark == '*' && number(text, &item->times) && item->times <= TIMES_MAX)
			continue;
		if (mark == '/' && number(text, &item->size)) {
			item->has_size = true;
			continue;
		}
		if (mark == '#' && number(text, &item->seq) && item->seq <= UINT32_MAX) {
			item->has_seq = true;
			continue;
		}
		return false;
	}
	return true;
}

bool
item_word_parse(const char *word, struct item_word *item)
{
	static const char *const with_id[] = { "b", "sp", "tb", "ub", "x", "a" };
	static const char *const bare[] = { "d", "eop", "eos" };
	size_t len = 0;
	bool known = false;

	*item = (struct item_word){ .times = 1 };
	while (islower((unsigned char)word[len]))
		len++;
	if (len == 0 || len >= sizeof(item->kind))
		return false;
	memcpy(item->kind, word, len);
	word += len;
	for (size_t i = 0; i < WEIR_ARRAY_CNT(with_id); i++)
		if (strcmp(item->kind, with_id[i]) == 0) {
			known = true;
			if (!number(&word, &item->id))
				return false;
		}
	for (size_t i = 0; i < WEIR_ARRAY_CNT(bare); i++)
		known |= strcmp(item->kind, bare[i]) == 0;
	if (!known || (strcmp(item->kind, "d") == 0 && !label(&word, item)))
		return false;
	return channel(&word, item) && suffixes(&word, item);
}

static const struct item_kind kinds[] = {
	{ "b", WEIR_ITEM_BARRIER, WEIR_BARRIER_ALIGNED },
	{ "sp", WEIR_ITEM_BARRIER, WEIR_BARRIER_SAVEPOINT },
	{ "tb", WEIR_ITEM_BARRIER, WEIR_BARRIER_TIMEOUTABLE },
	{ "ub", WEIR_ITEM_BARRIER, WEIR_BARRIER_UNALIGNED },
	{ "x", WEIR_ITEM_CANCEL, 0 },
	{ "eop", WEIR_ITEM_END, 0 },
	{ "eos", WEIR_ITEM_END_STATE, 0 },
};

const struct item_kind *
item_kind_of(const char *word)
{
	for (size_t i = 0; i < WEIR_ARRAY_CNT(kinds); i++)
		if (strcmp(kinds[i].word, word) == 0)
			return &kinds[i];
	return NULL;
}

const char *
item_kind_word(enum weir_item_kind item, enum weir_barrier_kind barrier)
{
	for (size_t i = 0; i < WEIR_ARRAY_CNT(kinds); i++)
		if (kinds[i].item == item &&
		    (item != WEIR_ITEM_BARRIER || kinds[i].barrier == barrier))
			return kinds[i].word;
	return "?";
}

#include "engine/checkpoint/reasons.h"

#include <string.h>

struct reason_info {
	const char *text;
	bool preflight;
	bool counts;
};

static const struct reason_info infos[WEIR_REASON_CNT] = {
	[WEIR_REASON_NONE] = { "NONE", false, false },
#define X(name, preflight_, counts_)                                                               \
	[WEIR_REASON_##name] = { .text = #name, .preflight = preflight_, .counts = counts_ },
#include "engine/checkpoint/reasons.def"
#undef X
};

static const struct reason_info *
info_of(enum weir_reason reason)
{
	WEIR_ASSERT((unsigned int)reason < WEIR_REASON_CNT);
	return &infos[reason];
}

const char *
weir_reason_text(enum weir_reason reason)
{
	return info_of(reason)->text;
}

enum weir_reason
weir_reason_parse(const char *text)
{
	for (unsigned int i = WEIR_REASON_NONE + 1; i < WEIR_REASON_CNT; i++) {
		if (strcmp(infos[i].text, text) == 0)
			return (enum weir_reason)i;
	}
	return WEIR_REASON_NONE;
}

bool
weir_reason_is_preflight(enum weir_reason reason)
{
	return info_of(reason)->preflight;
}

bool
weir_reason_counts(enum weir_reason reason)
{
	return info_of(reason)->counts;
}

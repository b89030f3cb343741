#ifndef WEIR_ENGINE_CHECKPOINT_REASONS_H
#define WEIR_ENGINE_CHECKPOINT_REASONS_H

/* Why a checkpoint failed: one closed list (reasons.def) with its two properties and its texts. */

#include "engine/base/base.h"

enum weir_reason {
	WEIR_REASON_NONE = 0,
#define X(name, preflight, counts) WEIR_REASON_##name,
#include "engine/checkpoint/reasons.def"
#undef X
	WEIR_REASON_CNT
};

/* The name as users see it; "NONE" for 0. The text lives for ever. */
const char *weir_reason_text(enum weir_reason reason);

/* The reason with this name, or WEIR_REASON_NONE. */
enum weir_reason weir_reason_parse(const char *text);

/* Nothing had started: K13 treats it as a failure of the request, not of a task. */
bool weir_reason_is_preflight(enum weir_reason reason);

/* K12: adds to the counter of consecutive failures. */
bool weir_reason_counts(enum weir_reason reason);

#endif /* WEIR_ENGINE_CHECKPOINT_REASONS_H */

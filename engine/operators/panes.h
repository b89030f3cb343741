#ifndef WEIR_ENGINE_OPERATORS_PANES_H
#define WEIR_ENGINE_OPERATORS_PANES_H

/*
 * Panes: pieces of event time, aligned to 0, of which windows are made: pane p holds the times [p,
 * p + length). Arithmetic saturates at the ends of 64 bits instead of wrapping.
 */

#include "engine/base/base.h"
#include "weir/operator.h"

WEIR_INLINE int64_t
weir_time_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return b > 0 ? INT64_MAX : INT64_MIN;
}

/* Start of the pane of time t. */
WEIR_INLINE int64_t
weir_pane_of(int64_t t, int64_t length)
{
	int64_t down = t % length;
	int64_t start;

	if (down < 0)
		down += length;
	return __builtin_sub_overflow(t, down, &start) ? INT64_MIN : start;
}

/* Do all selected rows lie in [lo, hi)? One pass, no early exit: it vectorises. */
static inline bool
weir_pane_holds(const struct weir_batch *in, const int64_t *time, int64_t lo, int64_t hi)
{
	uint64_t out = 0;

	if (in->sel == NULL)
		for (uint32_t i = 0; i < in->selected; i++)
			out |= (uint64_t)(time[i] < lo) | (uint64_t)(time[i] >= hi);
	else
		for (uint32_t i = 0; i < in->selected; i++)
			out |= (uint64_t)(time[in->sel[i]] < lo) |
			       (uint64_t)(time[in->sel[i]] >= hi);
	return out == 0;
}

/*
 * Split the selected rows: those in [lo, hi) into take, the others into rest (WEIR_BATCH_ROWS
 * each). Returns the number taken.
 */
static inline uint32_t
weir_pane_split(const struct weir_batch *in, const int64_t *time, int64_t lo, int64_t hi,
		uint16_t *take, uint16_t *rest, uint32_t *rest_cnt)
{
	uint32_t t = 0, o = 0;

	for (uint32_t i = 0; i < in->selected; i++) {
		const uint16_t r = (uint16_t)weir_row(in, i);
		const uint32_t inside = (uint32_t)(time[r] >= lo) & (uint32_t)(time[r] < hi);

		take[t] = r;
		rest[o] = r;
		t += inside;
		o += 1 - inside;
	}
	*rest_cnt = o;
	return t;
}

#endif /* WEIR_ENGINE_OPERATORS_PANES_H */

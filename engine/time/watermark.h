#ifndef WEIR_ENGINE_TIME_WATERMARK_H
#define WEIR_ENGINE_TIME_WATERMARK_H

/*
 * weir_watermarks: event time of a task's input: the minimum over its channels.
 *
 * A watermark W says that nothing at or below W comes any more. Idle and ended channels do not hold
 * it back; if all are idle the last value stands. It never goes back.
 *
 * Threads:   one core. Ownership: caller's arrays. Cost: O(1), O(channels) when the slowest one
 * moves.
 */

#include "engine/base/base.h"

struct weir_watermarks {
	int64_t *channel_ns; /* borrowed: cnt entries, INT64_MIN at first */
	bool *idle;	     /* borrowed: cnt entries */
	uint32_t cnt;
	int64_t current_ns;
};

static inline void
weir_watermarks_init(struct weir_watermarks *w, int64_t *channel_ns, bool *idle, uint32_t cnt)
{
	*w = (struct weir_watermarks){ channel_ns, idle, cnt, INT64_MIN };
	for (uint32_t i = 0; i < cnt; i++) {
		channel_ns[i] = INT64_MIN;
		idle[i] = false;
	}
}

/* Recompute; true if the task's watermark rose. */
static inline bool
weir_watermarks_refresh(struct weir_watermarks *w)
{
	int64_t min = INT64_MAX;
	bool any = false;

	for (uint32_t i = 0; i < w->cnt; i++) {
		if (w->idle[i])
			continue;
		any = true;
		if (w->channel_ns[i] < min)
			min = w->channel_ns[i];
	}
	if (!any || min <= w->current_ns)
		return false;
	w->current_ns = min;
	return true;
}

/* Channel c says watermark_ns, and that it is active; true if the task's watermark rose. */
static inline bool
weir_watermarks_advance(struct weir_watermarks *w, uint32_t c, int64_t watermark_ns)
{
	const int64_t old = w->channel_ns[c];
	const bool was_idle = w->idle[c];

	WEIR_ASSERT(c < w->cnt);
	w->idle[c] = false;
	if (watermark_ns <= old && !was_idle)
		return false;
	if (watermark_ns > old)
		w->channel_ns[c] = watermark_ns;
	/* Only the slowest channel can have held the task back. */
	if (old > w->current_ns && !was_idle)
		return false;
	return weir_watermarks_refresh(w);
}

/* Channel c has nothing to say for a while. */
static inline bool
weir_watermarks_idle(struct weir_watermarks *w, uint32_t c)
{
	WEIR_ASSERT(c < w->cnt);
	w->idle[c] = true;
	return weir_watermarks_refresh(w);
}

#endif /* WEIR_ENGINE_TIME_WATERMARK_H */

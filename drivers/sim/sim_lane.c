#include "drivers/sim/sim_lane.h"

#include <stdlib.h>
#include <string.h>

/* ---- lanes ---- */

static struct weir_sim_lane *
lane_of(struct weir_lane *lane)
{
	return WEIR_CONTAINER(lane, struct weir_sim_lane, lane);
}

static uint32_t
push(struct weir_lane *lane, const struct weir_item *items, uint32_t cnt)
{
	struct weir_sim_lane *l = lane_of(lane);
	uint32_t room = lane->depth - (l->tail - l->head);

	if (cnt > 0 && room > 0 && weir_rng_below(l->rng, 100) < l->stingy_pct)
		room = (uint32_t)weir_rng_below(l->rng, room);
	if (cnt > room)
		cnt = room;
	for (uint32_t i = 0; i < cnt; i++)
		l->items[l->tail++ % lane->depth] = items[i];
	return cnt;
}

static uint32_t
peek(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	const struct weir_sim_lane *l = lane_of(lane);
	uint32_t cnt = 0;

	for (; cnt < max && l->head + cnt != l->tail; cnt++)
		items[cnt] = l->items[(l->head + cnt) % lane->depth];
	return cnt;
}

static uint32_t
pop(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	const uint32_t cnt = peek(lane, items, max);

	lane_of(lane)->head += cnt;
	return cnt;
}

static uint32_t
count(const struct weir_lane *lane)
{
	const struct weir_sim_lane *l = (const struct weir_sim_lane *)(const void *)lane;

	return l->tail - l->head;
}

static const struct weir_lane_ops lane_ops = {
	.push = push, .pop = pop, .peek = peek, .count = count, .name = "sim"
};

struct weir_lane *
weir_sim_lane_create(uint32_t depth, struct weir_rng *rng, uint32_t stingy_pct)
{
	struct weir_sim_lane *l = calloc(1, sizeof(*l) + depth * sizeof(l->items[0]));

	WEIR_ASSERT(l != NULL);
	WEIR_ASSERT((depth & (depth - 1)) == 0); /* the counters wrap */
	l->lane.ops = &lane_ops;
	l->lane.depth = depth;
	l->rng = rng;
	l->stingy_pct = stingy_pct;
	return &l->lane;
}

void
weir_sim_lane_destroy(struct weir_lane *lane)
{
	free(lane_of(lane));
}

/* ---- frames ---- */

static uint32_t
frames_get(struct weir_frame_source *src, uint32_t *idx, uint32_t cnt)
{
	struct weir_sim_frames *f = WEIR_CONTAINER(src, struct weir_sim_frames, source);

	if (cnt > f->free_cnt)
		cnt = f->free_cnt;
	for (uint32_t i = 0; i < cnt; i++) {
		idx[i] = f->free[--f->free_cnt];
		f->in_source[idx[i]] = false;
	}
	return cnt;
}

static void
frames_put(struct weir_frame_source *src, const uint32_t *idx, uint32_t cnt)
{
	struct weir_sim_frames *f = WEIR_CONTAINER(src, struct weir_sim_frames, source);

	for (uint32_t i = 0; i < cnt; i++) {
		WEIR_ASSERT(idx[i] < src->frame_cnt);
		WEIR_ASSERT(!f->in_source[idx[i]]);
		f->in_source[idx[i]] = true;
		f->free[f->free_cnt++] = idx[i];
		memset(f->base + (size_t)idx[i] * f->frame_bytes, 0xdb, f->frame_bytes);
	}
}

static uint32_t
frames_count(const struct weir_frame_source *src)
{
	return ((const struct weir_sim_frames *)(const void *)src)->free_cnt;
}

static const struct weir_frame_source_ops frames_ops = {
	.get = frames_get, .put = frames_put, .count = frames_count, .name = "sim"
};

struct weir_sim_frames *
weir_sim_frames_create(uint32_t frame_cnt, uint32_t frame_bytes)
{
	struct weir_sim_frames *f = calloc(1, sizeof(*f));

	WEIR_ASSERT(f != NULL);
	f->source.ops = &frames_ops;
	f->source.frame_cnt = frame_cnt;
	f->frame_bytes = frame_bytes;
	f->base = aligned_alloc(WEIR_PAGE, (size_t)frame_cnt * frame_bytes);
	f->free = calloc(frame_cnt, sizeof(*f->free));
	f->in_source = calloc(frame_cnt, sizeof(*f->in_source));
	WEIR_ASSERT(f->base != NULL);
	WEIR_ASSERT(f->free != NULL);
	WEIR_ASSERT(f->in_source != NULL);
	/* Not filled: most frames are never used. */
	for (uint32_t i = frame_cnt; i-- > 0;) {
		f->free[f->free_cnt++] = i;
		f->in_source[i] = true;
	}
	return f;
}

void
weir_sim_frames_destroy(struct weir_sim_frames *f)
{
	free(f->in_source);
	free(f->free);
	free(f->base);
	free(f);
}

/* ---- clock ---- */

static int64_t now;

int64_t
weir_sim_clock_now(void)
{
	return now;
}

void
weir_sim_clock_set(int64_t now_ns)
{
	WEIR_ASSERT(now_ns >= now);
	now = now_ns;
}

#include "engine/exchange/recovered.h"

#define NO_EVENT UINT32_MAX /* as WEIR_GATE_NO_EVENT */

static struct weir_recovered *
of(const struct weir_lane *lane)
{
	return (struct weir_recovered *)(uintptr_t)lane;
}

/* Items of the lane itself, frames and ends. */
static uint32_t
own_cnt(const struct weir_recovered *r)
{
	return r->frame_cnt + (r->real == NULL ? 2 : 1);
}

static struct weir_item
own_item(const struct weir_recovered *r, uint32_t ord)
{
	if (ord < r->frame_cnt)
		return (struct weir_item){
			.ref = r->frames[ord], .seq = ord + 1, .ord = ord, .kind = WEIR_ITEM_DATA
		};
	return (struct weir_item){ .ref = NO_EVENT,
				   .seq = r->frame_cnt,
				   .ord = ord,
				   .kind = ord == r->frame_cnt ? WEIR_ITEM_END_STATE
							       : WEIR_ITEM_END };
}

static void
skip_stages(struct weir_recovered_set *set)
{
	while (set->stage < WEIR_RECOVERED_STAGES && set->left[set->stage] == 0)
		set->stage++;
}

static bool
all_through(const struct weir_recovered_set *set)
{
	return set->stage == WEIR_RECOVERED_STAGES;
}

/* Asked for more behind its last frame. */
static void
note_through(struct weir_recovered *r)
{
	if (r->is_through || r->at < r->frame_cnt)
		return;
	r->is_through = true;
	WEIR_ASSERT(r->set->left[r->stage] > 0);
	r->set->left[r->stage]--;
}

static uint32_t
recovered_pop(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	struct weir_recovered *r = of(lane);
	const uint32_t own = own_cnt(r);
	uint32_t cnt = 0;

	if (r->at == own)
		return r->real == NULL ? 0 : r->real->ops->pop(r->real, items, max);
	note_through(r);
	skip_stages(r->set);
	if (r->at < r->frame_cnt && r->stage > r->set->stage)
		return 0;
	while (cnt < max && r->at < r->frame_cnt)
		items[cnt++] = own_item(r, r->at++);
	/* An end comes alone, behind a pop that found no frame: then the gate has none in its
	 * hands.
	 */
	if (cnt == 0 && max > 0 && all_through(r->set))
		items[cnt++] = own_item(r, r->at++);
	return cnt;
}

static uint32_t
recovered_peek(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	const struct weir_recovered *r = of(lane);
	const uint32_t own = own_cnt(r);
	uint32_t cnt = 0;

	while (cnt < max && r->at + cnt < own) {
		items[cnt] = own_item(r, r->at + cnt);
		cnt++;
	}
	if (r->real != NULL && cnt < max)
		cnt += r->real->ops->peek(r->real, items + cnt, max - cnt);
	return cnt;
}

static uint32_t
recovered_count(const struct weir_lane *lane)
{
	const struct weir_recovered *r = of(lane);

	return own_cnt(r) - r->at + (r->real != NULL ? r->real->ops->count(r->real) : 0);
}

static uint32_t
recovered_push(struct weir_lane *lane, const struct weir_item *items, uint32_t cnt)
{
	(void)lane;
	(void)items;
	(void)cnt;
	WEIR_ASSERT(!"nobody pushes here: a producer has the real lane");
	return 0;
}

static const struct weir_lane_ops recovered_ops = {
	.push = recovered_push,
	.pop = recovered_pop,
	.peek = recovered_peek,
	.count = recovered_count,
	.name = "recovered",
};

void
weir_recovered_init(struct weir_recovered *r, struct weir_recovered_set *set, uint32_t *frames,
		    uint32_t cnt, uint32_t stage, struct weir_lane *real)
{
	WEIR_ASSERT(stage < WEIR_RECOVERED_STAGES);
	*r = (struct weir_recovered){ .real = real,
				      .set = set,
				      .frames = frames,
				      .frame_cnt = cnt,
				      .stage = stage,
				      .is_through = cnt == 0 };
	r->lane.ops = &recovered_ops;
	r->lane.depth = own_cnt(r) + (real != NULL ? real->depth : 0);
	set->left[stage] += cnt > 0;
}

void
weir_recovered_put_before(struct weir_recovered *r, struct weir_lane *real)
{
	WEIR_ASSERT(r->at == 0);
	r->real = real;
	r->lane.depth = own_cnt(r) + real->depth;
}

bool
weir_recovered_is_over(const struct weir_recovered *r)
{
	return r->at == own_cnt(r);
}

uint32_t
weir_recovered_drain(struct weir_recovered *r, uint32_t *frames)
{
	uint32_t cnt = 0;

	while (r->at < r->frame_cnt)
		frames[cnt++] = r->frames[r->at++];
	return cnt;
}

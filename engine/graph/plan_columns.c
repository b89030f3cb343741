#include "engine/graph/plan_priv.h"

#include "engine/exchange/gate.h"

static uint32_t
all_columns(const struct weir_type *type)
{
	return type == NULL ? 0 : (uint32_t)((1ull << type->column_cnt) - 1);
}

/* Input columns that an operator looks at itself. */
static uint32_t
touches(const struct weir_plan *plan, const struct weir_plan_operator_info *o)
{
	const struct weir_vertex *v =
		o->vertex == UINT32_MAX ? NULL : &plan->job->vertex[o->vertex];
	uint32_t mask = o->op.reads;

	if (v != NULL && v->kind == WEIR_VERTEX_SINK)
		mask = v->sink != NULL ? v->sink->reads : WEIR_ALL_COLUMNS;
	for (uint32_t k = 0; k < o->key.cnt; k++)
		mask |= 1u << o->key.column[k];
	return mask & all_columns(o->in_type);
}

/* Input columns that an operator needs so that its demanded output can be made. */
static uint32_t
needs(const struct weir_plan *plan, const struct weir_plan_operator_info *o)
{
	uint32_t mask = touches(plan, o);

	if (o->passes)
		mask |= o->demand >> o->pass_shift;
	else if (o->op.out == NULL && o->out_type != NULL)
		mask |= o->demand & ~o->op.writes;
	return mask & all_columns(o->in_type);
}

/* Operators stand in topological order, combiners behind them: go round until nothing changes. */
static void
spread_demand(struct weir_plan *plan)
{
	bool changed = true;

	for (uint32_t round = 0; changed && round <= plan->op_cnt; round++) {
		changed = false;
		for (uint32_t i = 0; i < plan->edge_cnt; i++) {
			struct weir_plan_edge *e = &plan->edge[i];
			const uint32_t need = needs(plan, &plan->op[e->to]);

			changed |= (need & ~e->demand) != 0;
			e->demand |= need;
			plan->op[e->from].demand |= need;
		}
	}
	for (uint32_t o = 0; o < plan->op_cnt; o++) {
		plan->op[o].reads = needs(plan, &plan->op[o]);
		plan->op[o].touches = touches(plan, &plan->op[o]);
	}
}

/*
 * What a capture may hold on to while its channels go on (T12, T13): per channel what is queued
 * when it begins and what arrives until its barrier does, and what its producer holds.
 */
static uint64_t
captured_frames(const struct weir_plan *plan)
{
	uint64_t sum = 0;

	if (!plan->options.unaligned)
		return 0;
	for (uint32_t e = 0; e < plan->edge_cnt; e++)
		if (plan->edge[e].alignment == WEIR_EDGE_UNALIGNED)
			sum += (uint64_t)plan->edge[e].channel_cnt * weir_plan_capture_frames(plan);
	return sum + (uint64_t)plan->subtask_cnt * WEIR_OVERDRAFT_HELD;
}

uint32_t
weir_plan_capture_frames(const struct weir_plan *plan)
{
	return 2 * (plan->lane_depth + WEIR_GATE_BURST);
}

static void
sum_memory(struct weir_plan *plan)
{
	/* A full lane, the frame in the producer's hand and the one in the consumer's; an overdraft
	 * per subtask; what lies in the caches of the cores. */
	const uint64_t sum = (uint64_t)plan->channel_cnt * (plan->lane_depth + 2) +
			     (uint64_t)plan->subtask_cnt * WEIR_OVERDRAFT_HELD +
			     (uint64_t)plan->core_cnt * 2 * WEIR_FRAME_CACHE +
			     captured_frames(plan);

	plan->frame_cnt = plan->options.frames > 0 ? plan->options.frames : (uint32_t)sum;
	plan->frame_bytes_sum = (uint64_t)plan->frame_cnt * plan->options.frame_bytes;
	plan->state_bytes_core = plan->options.state_bytes / plan->core_cnt & ~(uint64_t)0x1fffff;
	if (plan->state_bytes_core < 4u << 20)
		plan->state_bytes_core = 4u << 20;
	if (plan->frame_cnt < sum)
		weir_plan_warn(plan, "memory.frames: %u are fewer than the plan's own sum %llu",
			       plan->frame_cnt, (unsigned long long)sum);
}

int
weir_plan_columns(struct weir_plan *plan, struct weir_error *err)
{
	spread_demand(plan);
	for (uint32_t i = 0; i < plan->edge_cnt; i++) {
		struct weir_plan_edge *e = &plan->edge[i];

		if (e->chained)
			continue;
		if (!weir_layout_init(&e->layout, plan->op[e->from].out_type, e->demand,
				      plan->options.frame_bytes))
			return weir_fail(err, WEIR_ERR_CONFIG,
					 "memory.frame-size: rows from '%s' to '%s' do not fit "
					 "frames of %u bytes",
					 plan->op[e->from].id, plan->op[e->to].id,
					 plan->options.frame_bytes);
	}
	sum_memory(plan);
	return 0;
}

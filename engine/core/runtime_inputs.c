/* The consumers' ends of channels: gates, barrier handlers, watermarks. */
#include "engine/core/runtime_priv.h"

static uint32_t
count_channels(const struct weir_plan *plan, uint32_t op)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < plan->edge_cnt; i++) {
		const struct weir_plan_edge *e = &plan->edge[i];

		if (e->to == op && !e->chained)
			cnt += e->partitioner == WEIR_FORWARD ? 1 : plan->op[e->from].parallelism;
	}
	return cnt;
}

/* Room while a task's channels are listed. */
struct ends {
	struct weir_gate_channel *gates;
	bool *virtuals;
};

static void
add_channel(struct weir_runtime *rt, struct weir_task *t, const struct ends *ends, uint32_t edge,
	    uint32_t producer)
{
	const struct weir_plan *plan = rt->cfg.plan;
	const struct weir_plan_edge *e = &plan->edge[edge];
	const uint32_t n =
		e->first + (e->partitioner == WEIR_FORWARD
				    ? producer
				    : producer * plan->op[e->to].parallelism + t->subtask);
	struct weir_lane *lane = weir_recovery_lane(rt->cfg.recovery, n, rt->data[n]);
	struct weir_task_input *in = &t->channels[t->channel_cnt];

	ends->gates[t->channel_cnt++] = (struct weir_gate_channel){ .data = lane,
								    .priority = rt->priority[n],
								    .events = rt->events,
								    .next_ord = 0,
								    .next_seq = 1 };
	*in = (struct weir_task_input){ .edge = edge,
					.producer = producer,
					.layout = &e->layout,
					.touched = plan->op[e->to].touches & e->layout.carried };
	if (lane != rt->data[n]) {
		in->recovered = WEIR_CONTAINER(lane, struct weir_recovered, lane);
		in->real = rt->data[n];
	}
}

/* R3: what an old channel had in flight; no producer, no events. */
static void
add_virtual(struct weir_runtime *rt, struct weir_task *t, const struct ends *ends,
	    const struct weir_recovery_virtual *v)
{
	const uint32_t c = t->channel_cnt++;

	ends->gates[c] = (struct weir_gate_channel){ .data = &v->lane->lane, .next_seq = 1 };
	ends->virtuals[c] = true;
	t->channels[c] = (struct weir_task_input){ .edge = v->edge,
						   .producer = v->producer,
						   .layout = &rt->cfg.plan->edge[v->edge].layout,
						   .is_virtual = true,
						   .stage = v->stage,
						   .last_seq = v->last_seq,
						   .recovered = v->lane };
}

static void
add_channels(struct weir_runtime *rt, struct weir_task *t, uint32_t head, const struct ends *ends)
{
	const struct weir_plan *plan = rt->cfg.plan;
	struct weir_recovery_virtual v;

	for (uint32_t e = 0; e < plan->edge_cnt; e++) {
		if (plan->edge[e].to != head || plan->edge[e].chained)
			continue;
		if (plan->edge[e].partitioner == WEIR_FORWARD)
			add_channel(rt, t, ends, e, t->subtask);
		else
			for (uint32_t p = 0; p < plan->op[plan->edge[e].from].parallelism; p++)
				add_channel(rt, t, ends, e, p);
	}
	for (uint32_t i = 0; weir_recovery_virtual(rt->cfg.recovery, t->number, i, &v); i++)
		add_virtual(rt, t, ends, &v);
}

static uint32_t
count_virtuals(const struct weir_runtime *rt, const struct weir_task *t)
{
	struct weir_recovery_virtual v;
	uint32_t cnt = 0;

	while (weir_recovery_virtual(rt->cfg.recovery, t->number, cnt, &v))
		cnt++;
	return cnt;
}

/* The watermarks of the channels that have no producer: as they were in the cut. */
static void
put_watermarks(const struct weir_runtime *rt, struct weir_task *t)
{
	struct weir_recovery_virtual v;

	for (uint32_t i = 0, c = 0; c < t->channel_cnt; c++) {
		if (!t->channels[c].is_virtual)
			continue;
		WEIR_ASSERT(weir_recovery_virtual(rt->cfg.recovery, t->number, i++, &v));
		t->watermarks.channel_ns[c] = v.watermark_ns;
		t->watermarks.idle[c] = v.idle;
	}
}

int
weir_runtime_inputs(struct weir_runtime *rt, struct weir_task *t, struct weir_error *err)
{
	const struct weir_plan *plan = rt->cfg.plan;
	const uint32_t head = plan->task[t->task_idx].op[0];
	const uint32_t cnt = count_channels(plan, head) + count_virtuals(rt, t);
	const struct ends ends = { weir_runtime_take(rt, (cnt + 1) * sizeof(*ends.gates)),
				   weir_runtime_take(rt, cnt + 1) };
	bool *forced = weir_runtime_take(rt, cnt + 1);
	struct weir_input_config ic = { .mode = rt->cfg.at_least_once ? WEIR_HANDLER_AT_LEAST_ONCE
								      : WEIR_HANDLER_EXACTLY_ONCE,
					.virtuals = ends.virtuals,
					.forced = forced,
					.output_timer = plan->options.unaligned };

	t->channels = weir_runtime_take(rt, (cnt + 1) * sizeof(*t->channels));
	add_channels(rt, t, head, &ends);
	WEIR_ASSERT(t->channel_cnt == cnt);
	for (uint32_t c = 0; c < cnt; c++)
		forced[c] = plan->edge[t->channels[c].edge].alignment == WEIR_EDGE_FORCED;
	weir_task_capture_gate(t, &ic.gate);
	ic.gate.channel_cnt = cnt;
	ic.gate.channels = ends.gates;
	t->input = weir_input_create(&ic, err);
	if (t->input == NULL)
		return err->code;
	weir_watermarks_init(&t->watermarks, weir_runtime_take(rt, (cnt + 1) * sizeof(int64_t)),
			     weir_runtime_take(rt, cnt + 1), cnt);
	put_watermarks(rt, t);
	return 0;
}

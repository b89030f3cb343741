/*
 * What a task keeps in flight for a checkpoint: its gate and its ports name frames, its capture
 * holds them, and when nothing more can come they go into the core's data file (T11 to T13).
 */
#include "engine/core/task_priv.h"

#include "engine/base/plant.h"
#include "engine/core/core.h"

/* ---- keep ---- */

static void
keep(struct weir_task *t, uint64_t checkpoint, uint32_t side, uint32_t end,
     const struct weir_item *frame)
{
	struct weir_capture *c = weir_capture_of(t->capture, WEIR_CAPTURES, checkpoint);

	if (c == NULL) {
		t->capture_lost = checkpoint;
		return;
	}
	weir_capture_keep(c, side, end, frame);
	t->capture_full |= c->input_cnt > t->capture_pause;
}

/* weir_gate_config.keep */
static void
keep_input(void *arg, uint64_t checkpoint, uint32_t channel, const struct weir_item *frame)
{
	keep(arg, checkpoint, 0, channel, frame);
}

/* weir_overdraft_config.keep */
static void
keep_output(void *arg, uint64_t checkpoint, const struct weir_item *frame)
{
	const struct weir_task_port *p = arg;

	if (WEIR_PLANT(CAPTURE_OUTPUT))
		return;
	keep(p->task, checkpoint, 1 + p->chain_idx, p->number, frame);
}

/* weir_overdraft_config.settled */
static void
settled(void *arg, uint64_t checkpoint, enum weir_output_capture how)
{
	struct weir_task *t = ((const struct weir_task_port *)arg)->task;

	if (checkpoint != t->snapshot)
		return;
	WEIR_ASSERT(t->outputs_open > 0);
	t->outputs_open--;
	if (how != WEIR_OUTPUT_CAPTURED)
		t->capture_lost = checkpoint;
}

/* ---- set-up ---- */

void
weir_task_capture_gate(struct weir_task *t, struct weir_gate_config *gate)
{
	gate->keep = keep_input;
	gate->arg = t;
}

static void
init_ports(struct weir_task *t, const struct weir_plan *plan, struct weir_event *events)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < t->ctx_cnt; k++)
		for (uint32_t e = 0; e < t->ctx[k]->emitter_cnt; e++) {
			struct weir_emitter *m = t->ctx[k]->emitters[e];

			for (uint32_t p = 0; p < m->port_cnt; p++, n++) {
				struct weir_port *port = &m->ports[p];
				const struct weir_overdraft_config oc = { .events = events,
									  .keep = keep_output,
									  .settled = settled,
									  .arg = &t->port[n] };

				t->port[n] = (struct weir_task_port){ .task = t,
								      .number = n,
								      .chain_idx = k,
								      .layout = port->layout };
				if (plan->edge[port->edge].alignment == WEIR_EDGE_UNALIGNED)
					weir_overdraft_checkpoints(&port->overdraft, &oc);
			}
		}
	WEIR_ASSERT(n == t->port_cnt);
}

static void
init_capture(struct weir_capture *c, struct weir_frame_pool *pool, uint32_t cap,
	     void *(*take)(void *arg, size_t bytes), void *arg)
{
	const uint32_t lists = weir_capture_segments(pool, cap);
	const struct weir_capture_memory memory = {
		.frame = take(arg, (cap + 1) * sizeof(*memory.frame)),
		.piece = take(arg, (cap + 1) * sizeof(*memory.piece)),
		.frame_of = take(arg, (cap + 1) * sizeof(*memory.frame_of)),
		.list = take(arg, lists * sizeof(*memory.list)),
	};

	weir_capture_init(c, pool, cap, &memory);
}

/* R2: restored frames that are not consumed belong to the next checkpoint too. */
static uint32_t
recovered_max(const struct weir_task_input *in)
{
	return in->recovered != NULL ? in->recovered->lane.depth : 0;
}

void
weir_task_capture_init(struct weir_task *t, const struct weir_plan *plan, struct weir_event *events,
		       void *(*take)(void *arg, size_t bytes), void *arg)
{
	const uint32_t each = weir_plan_capture_frames(plan);
	uint32_t input_cap = 0;
	uint32_t reserve = 0;
	uint32_t cap;

	t->plan_task = &plan->task[t->task_idx];
	if (!plan->options.unaligned)
		return;
	t->port = take(arg, (t->port_cnt + 1) * sizeof(*t->port));
	init_ports(t, plan, events);
	for (uint32_t c = 0; c < t->channel_cnt; c++)
		if (plan->edge[t->channels[c].edge].alignment == WEIR_EDGE_UNALIGNED) {
			input_cap += each + recovered_max(&t->channels[c]);
			reserve += each / 2;
		}
	/* What is queued at the start fits below it; what is queued when it is reached, above. */
	t->capture_pause = input_cap - reserve;
	cap = input_cap + (t->port_cnt > 0 ? WEIR_OVERDRAFT_HELD : 0);
	for (uint32_t i = 0; i < WEIR_CAPTURES; i++)
		init_capture(&t->capture[i], &t->core->pool, cap, take, arg);
	for (uint32_t a = 0; a < WEIR_TASK_ACKS; a++)
		t->acks[a].frames = take(arg, (cap + 1) * sizeof(*t->acks[a].frames));
}

void
weir_task_capture_fini(struct weir_task *t)
{
	for (uint32_t i = 0; i < WEIR_CAPTURES; i++)
		if (t->capture[i].id != 0)
			weir_capture_fini(&t->capture[i]);
}

/* ---- into the file ---- */

static const struct weir_layout *
layout_of(void *arg, uint32_t side, uint32_t end)
{
	const struct weir_task *t = arg;

	return side == 0 ? t->channels[end].layout : t->port[end].layout;
}

bool
weir_task_capture_is_lost(const struct weir_task *t)
{
	const struct weir_capture *c =
		weir_capture_find((struct weir_capture *)t->capture, WEIR_CAPTURES, t->snapshot);

	return t->capture_lost == t->snapshot || (c != NULL && c->lost);
}

bool
weir_task_capture_is_empty(const struct weir_task *t)
{
	const struct weir_capture *c =
		weir_capture_find((struct weir_capture *)t->capture, WEIR_CAPTURES, t->snapshot);

	return c == NULL || c->cnt == 0;
}

bool
weir_task_capture_out(struct weir_task *t)
{
	struct weir_capture *c = weir_capture_find(t->capture, WEIR_CAPTURES, t->snapshot);

	if (c == NULL || c->cnt == 0)
		return true;
	if (!weir_core_snapshot_open(t->core, t->snapshot))
		return false;
	t->ack->has_file = true;
	weir_capture_sort(c, layout_of, t, t->plan_task->op, t->subtask);
	return weir_capture_hand_over(c, t->core->snap, t->core->writer);
}

/* A frame's number in full: it lies behind what was processed, or up to what was produced. */
static uint64_t
number_of(const struct weir_task_ack *a, const struct weir_captured *f)
{
	if (f->side == 0)
		return a->processed[f->end] + (uint32_t)(f->seq - (uint32_t)a->processed[f->end]);
	return a->produced[f->end] - (uint32_t)((uint32_t)a->produced[f->end] - f->seq);
}

void
weir_task_capture_note(struct weir_task *t, struct weir_task_ack *a)
{
	const struct weir_capture *c = weir_capture_find(t->capture, WEIR_CAPTURES, t->snapshot);

	a->frame_cnt = 0;
	a->persisted_bytes = 0;
	if (c == NULL)
		return;
	a->persisted_bytes = c->bytes;
	for (uint32_t i = 0; i < c->cnt; i++) {
		const struct weir_captured *f = &c->frame[i];

		a->frames[a->frame_cnt++] = (struct weir_ack_frame){ .output = f->side > 0,
								     .end = f->end,
								     .segment = f->segment,
								     .length = f->length,
								     .seq = number_of(a, f),
								     .offset = f->offset };
	}
}

void
weir_task_capture_end(struct weir_task *t, uint64_t id)
{
	struct weir_capture *c = weir_capture_find(t->capture, WEIR_CAPTURES, id);

	if (c != NULL)
		weir_capture_over(c);
	t->capture_full = false;
}

void
weir_task_each_overdraft(struct weir_task *t, uint64_t id,
			 void (*what)(struct weir_overdraft *o, uint64_t checkpoint))
{
	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		for (uint32_t p = 0; p < t->emitters[e].port_cnt; p++)
			what(&t->emitters[e].ports[p].overdraft, id);
}

#include "engine/core/recovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/grow.h"
#include "engine/core/recovery_priv.h"

/* ---- what the manifest holds ---- */

static bool
holds_frames(const struct weir_manifest *m, uint32_t edge)
{
	const struct weir_manifest_operator *to = &m->operators[m->edges[edge].to_idx];
	const struct weir_manifest_operator *from = &m->operators[m->edges[edge].from_idx];

	for (uint32_t s = 0; s < to->subtask_cnt; s++)
		for (uint32_t i = 0; i < to->subtasks[s].input_cnt; i++)
			if (to->subtasks[s].inputs[i].edge_idx == edge &&
			    to->subtasks[s].inputs[i].frame_cnt > 0)
				return true;
	for (uint32_t s = 0; s < from->subtask_cnt; s++)
		for (uint32_t i = 0; i < from->subtasks[s].output_cnt; i++)
			if (from->subtasks[s].outputs[i].edge_idx == edge &&
			    from->subtasks[s].outputs[i].frame_cnt > 0)
				return true;
	return false;
}

uint64_t
weir_manifest_in_flight(const struct weir_manifest *m)
{
	uint64_t cnt = 0;

	for (uint32_t o = 0; o < m->operator_cnt; o++)
		for (uint32_t s = 0; s < m->operators[o].subtask_cnt; s++) {
			const struct weir_manifest_subtask *sub = &m->operators[o].subtasks[s];

			for (uint32_t i = 0; i < sub->input_cnt; i++)
				cnt += sub->inputs[i].frame_cnt;
			for (uint32_t i = 0; i < sub->output_cnt; i++)
				cnt += sub->outputs[i].frame_cnt;
		}
	return cnt;
}

uint32_t
weir_recovery_heads(const struct weir_manifest *m, const char **ids, uint32_t max)
{
	uint32_t cnt = 0;

	for (uint32_t e = 0; e < m->edge_cnt && cnt < max; e++)
		if (holds_frames(m, e))
			ids[cnt++] = m->operators[m->edges[e].to_idx].id;
	return cnt;
}

uint32_t
weir_recovery_edge(const struct weir_plan *plan, const struct weir_manifest *m, uint32_t idx)
{
	const struct weir_manifest_edge *me = &m->edges[idx];
	const char *from = m->operators[me->from_idx].id;
	const char *to = m->operators[me->to_idx].id;
	uint32_t input = 0, cnt = 0, found = RECOVERY_NONE;

	for (uint32_t e = 0; e < plan->edge_cnt; e++) {
		const struct weir_plan_edge *pe = &plan->edge[e];

		if (pe->chained || strcmp(plan->op[pe->to].id, to) != 0)
			continue;
		if (strcmp(plan->op[pe->from].id, from) == 0) {
			if (input == me->input)
				return e;
			cnt++;
			found = e;
		}
		input++;
	}
	/* Other inputs may have come or gone: by its operators it is still known, if only once. */
	return cnt == 1 ? found : RECOVERY_NONE;
}

/* ---- channels of the checkpoint ---- */

static struct weir_recovery_old *
add_old(struct weir_recovery *r)
{
	r->old = weir_grow(r->old, &r->old_cap, r->old_cnt + 1, sizeof(*r->old));
	return &r->old[r->old_cnt++];
}

static const struct weir_manifest_output *
output_of(const struct weir_manifest *m, uint32_t edge, uint32_t producer, uint32_t consumer)
{
	const struct weir_manifest_operator *from = &m->operators[m->edges[edge].from_idx];
	const struct weir_manifest_subtask *s;

	if (producer >= from->subtask_cnt)
		return NULL;
	s = &from->subtasks[producer];
	for (uint32_t i = 0; i < s->output_cnt; i++)
		if (s->outputs[i].edge_idx == edge && s->outputs[i].consumer == consumer)
			return &s->outputs[i];
	return NULL;
}

/* Stages of the virtual channels that stand before a subtask: lowest, and the first after them. */
static void
stages_of(const struct weir_manifest_subtask *s, uint32_t *lowest, uint32_t *after)
{
	*lowest = UINT32_MAX;
	*after = 0;
	for (uint32_t i = 0; i < s->input_cnt; i++) {
		const struct weir_manifest_input *in = &s->inputs[i];

		if (!in->virtual_channel || in->frame_cnt == 0)
			continue;
		if (in->stage < *lowest)
			*lowest = in->stage;
		if (in->stage + 1 > *after)
			*after = in->stage + 1;
	}
	if (*lowest == UINT32_MAX)
		*lowest = 0;
}

static void
add_channel(struct weir_recovery *r, uint32_t me, uint32_t edge, uint32_t consumer,
	    const struct weir_manifest_input *in, const struct weir_manifest_output *out,
	    uint32_t producer, uint32_t stage)
{
	const uint32_t cnt = (in != NULL ? in->frame_cnt : 0) + (out != NULL ? out->frame_cnt : 0);
	struct weir_recovery_old *o;

	if (cnt == 0)
		return;
	o = add_old(r);
	*o = (struct weir_recovery_old){ .manifest_edge = me,
					 .edge = edge,
					 .producer = producer,
					 .consumer = consumer,
					 .stage = stage,
					 .is_virtual = in != NULL && in->virtual_channel,
					 .in = in,
					 .out = out,
					 .frame_cnt = cnt };
	r->in_flight += cnt;
}

static void
add_inputs(struct weir_recovery *r, uint32_t me, uint32_t edge)
{
	const struct weir_manifest *m = r->m;
	const struct weir_manifest_operator *to = &m->operators[m->edges[me].to_idx];

	for (uint32_t c = 0; c < to->subtask_cnt; c++) {
		const struct weir_manifest_subtask *s = &to->subtasks[c];
		uint32_t lowest, after;

		stages_of(s, &lowest, &after);
		for (uint32_t i = 0; i < s->input_cnt; i++) {
			const struct weir_manifest_input *in = &s->inputs[i];

			if (in->edge_idx != me)
				continue;
			if (in->virtual_channel)
				add_channel(r, me, edge, c, in, NULL, in->producer,
					    in->stage - lowest);
			else
				add_channel(r, me, edge, c, in, output_of(m, me, in->producer, c),
					    in->producer, after > lowest ? after - lowest : 0);
		}
	}
}

static bool
has_input(const struct weir_manifest_subtask *s, uint32_t edge, uint32_t producer)
{
	for (uint32_t i = 0; i < s->input_cnt; i++)
		if (s->inputs[i].edge_idx == edge && s->inputs[i].producer == producer &&
		    !s->inputs[i].virtual_channel)
			return true;
	return false;
}

/* Frames on their way to a subtask that had finished belong to nobody. All other outputs came with
 * their inputs. */
static bool
outputs_fit(const struct weir_manifest *m, uint32_t me)
{
	const struct weir_manifest_operator *from = &m->operators[m->edges[me].from_idx];
	const struct weir_manifest_operator *to = &m->operators[m->edges[me].to_idx];

	for (uint32_t p = 0; p < from->subtask_cnt; p++)
		for (uint32_t i = 0; i < from->subtasks[p].output_cnt; i++) {
			const struct weir_manifest_output *out = &from->subtasks[p].outputs[i];

			if (out->edge_idx == me && out->frame_cnt > 0 &&
			    !has_input(&to->subtasks[out->consumer], me, p))
				return false;
		}
	return true;
}

/* ---- lanes of the plan ---- */

static struct weir_recovery_new *
add_lane(struct weir_recovery *r, uint32_t old, uint32_t edge, uint32_t consumer, uint32_t channel)
{
	const struct weir_plan *plan = r->plan;
	struct weir_recovery_new *n = weir_grow_alloc(1, sizeof(*n));
	const uint32_t cnt = old == RECOVERY_NONE ? 0 : r->old[old].frame_cnt;

	n->old = old;
	n->channel = channel;
	n->edge = edge;
	n->consumer = consumer;
	n->task = plan->task[plan->op[plan->edge[edge].to].task].first + consumer;
	n->frames = weir_grow_alloc(cnt, sizeof(*n->frames));
	for (uint32_t i = 0; i < cnt; i++)
		n->frames[i] = WEIR_FRAME_NONE;
	r->lane = weir_grow(r->lane, &r->lane_cap, r->lane_cnt + 1,
			    sizeof(struct weir_recovery_new *));
	r->lane[r->lane_cnt++] = n;
	if (channel != RECOVERY_NONE)
		r->by_channel[channel] = n;
	r->frame_cnt += cnt;
	return n;
}

static uint32_t
channel_of(const struct weir_plan *plan, uint32_t edge, uint32_t producer, uint32_t consumer)
{
	const struct weir_plan_edge *e = &plan->edge[edge];

	if (e->partitioner == WEIR_FORWARD)
		return e->first + producer;
	return e->first + producer * plan->op[e->to].parallelism + consumer;
}

static bool
has_moved(const struct weir_recovery *r, const struct weir_recovery_old *o)
{
	const struct weir_plan_edge *e = &r->plan->edge[o->edge];
	const struct weir_manifest_edge *me = &r->m->edges[o->manifest_edge];

	return r->plan->op[e->from].parallelism != r->m->operators[me->from_idx].subtask_cnt ||
	       r->plan->op[e->to].parallelism != r->m->operators[me->to_idx].subtask_cnt;
}

/* R3: the new subtasks that own keys of the old one, and whether its rows have to be told apart. */
static void
place_by_key(struct weir_recovery *r, uint32_t old)
{
	struct weir_recovery_old *o = &r->old[old];
	const struct weir_plan *plan = r->plan;
	const uint32_t was = r->m->operators[r->m->edges[o->manifest_edge].to_idx].subtask_cnt;
	const uint32_t is = plan->op[plan->edge[o->edge].to].parallelism;
	uint64_t first, last;

	weir_plan_hash_range(plan, o->consumer, was, &first, &last);
	for (uint32_t c = 0; c < is; c++) {
		uint64_t lo, hi;

		weir_plan_hash_range(plan, c, is, &lo, &hi);
		if (hi < first || lo > last)
			continue;
		(void)add_lane(r, old, o->edge, c, RECOVERY_NONE);
		o->lane_cnt++;
	}
	o->split = o->lane_cnt > 1;
}

static void
place(struct weir_recovery *r, uint32_t old)
{
	struct weir_recovery_old *o = &r->old[old];
	const struct weir_plan_edge *e = &r->plan->edge[o->edge];
	const uint32_t is = r->plan->op[e->to].parallelism;

	o->lane_first = r->lane_cnt;
	if (has_moved(r, o) && e->partitioner == WEIR_HASH) {
		place_by_key(r, old);
		return;
	}
	o->lane_cnt = 1;
	if (has_moved(r, o))
		(void)add_lane(r, old, o->edge, o->consumer % is, RECOVERY_NONE);
	else
		(void)add_lane(r, old, o->edge, o->consumer,
			       o->is_virtual
				       ? RECOVERY_NONE
				       : channel_of(r->plan, o->edge, o->producer, o->consumer));
}

static struct weir_recovery_new *
lane_of_channel(const struct weir_recovery *r, uint32_t channel)
{
	return r->by_channel[channel];
}

/* All channels of a task that has recovered frames wait for each other (R1). */
static void
add_waiting(struct weir_recovery *r)
{
	const struct weir_plan *plan = r->plan;
	const uint32_t lanes = r->lane_cnt;
	bool *with = weir_grow_alloc(plan->subtask_cnt, sizeof(*with));

	for (uint32_t i = 0; i < lanes; i++)
		with[r->lane[i]->task] = true;
	for (uint32_t e = 0; e < plan->edge_cnt; e++) {
		const struct weir_plan_edge *pe = &plan->edge[e];
		const uint32_t to = plan->op[pe->to].parallelism;
		const uint32_t first = plan->task[plan->op[pe->to].task].first;

		for (uint32_t n = 0; !pe->chained && n < pe->channel_cnt; n++) {
			const uint32_t c = pe->partitioner == WEIR_FORWARD ? n : n % to;

			if (with[first + c] && lane_of_channel(r, pe->first + n) == NULL)
				(void)add_lane(r, RECOVERY_NONE, e, c, pe->first + n);
		}
	}
	free(with);
}

/* ---- create ---- */

/* S2: the edge must be what it was; its frames cannot be read otherwise, or not be placed. */
static bool
edge_fits(const struct weir_plan *plan, const struct weir_manifest *m, uint32_t me, uint32_t edge,
	  struct weir_error *err)
{
	const struct weir_manifest_edge *x = &m->edges[me];
	const char *from = m->operators[x->from_idx].id;
	const char *to = m->operators[x->to_idx].id;
	const struct weir_plan_edge *e = &plan->edge[edge];

	if (edge == RECOVERY_NONE) {
		weir_error_append(
			err, WEIR_ERR_DATA,
			"the edge '%s' -> '%s' holds data in flight, and the job has no such edge",
			from, to);
		return false;
	}
	if (strcmp(x->partitioner, weir_partitioner_name(e->partitioner)) != 0) {
		weir_error_append(err, WEIR_ERR_DATA,
				  "the edge '%s' -> '%s' holds data in flight by %s, and is %s in "
				  "the job now",
				  from, to, x->partitioner, weir_partitioner_name(e->partitioner));
		return false;
	}
	if (x->layout != weir_layout_hash(&e->layout)) {
		weir_error_append(
			err, WEIR_ERR_DATA,
			"the edge '%s' -> '%s' holds data in flight, whose columns or frame size "
			"are "
			"not those of the job now",
			from, to);
		return false;
	}
	if (!outputs_fit(m, me)) {
		weir_error_append(
			err, WEIR_ERR_DATA,
			"the edge '%s' -> '%s' holds data in flight to a subtask that had finished",
			from, to);
		return false;
	}
	return true;
}

static void
init_lanes(struct weir_recovery *r, struct weir_error *err)
{
	for (uint32_t i = 0; i < r->lane_cnt; i++) {
		struct weir_recovery_new *n = r->lane[i];
		const struct weir_recovery_old *o =
			n->old == RECOVERY_NONE ? NULL : &r->old[n->old];

		if (o != NULL && o->stage >= WEIR_RECOVERED_STAGES) {
			weir_error_append(err, WEIR_ERR_DATA,
					  "data in flight of more than %u changes of parallelism: "
					  "let the job "
					  "run for a while at one of them",
					  WEIR_RECOVERED_STAGES);
			return;
		}
		weir_recovered_init(&n->lane, &r->set[n->task], n->frames,
				    o == NULL ? 0 : o->frame_cnt, o == NULL ? 0 : o->stage, NULL);
	}
}

struct weir_recovery *
weir_recovery_create(const struct weir_plan *plan, const struct weir_manifest *m,
		     struct weir_error *err)
{
	struct weir_recovery *r = weir_grow_alloc(1, sizeof(*r));

	*err = (struct weir_error){ 0 };
	r->plan = plan;
	r->m = m;
	r->set = weir_grow_alloc(plan->subtask_cnt, sizeof(*r->set));
	r->by_channel = weir_grow_alloc(plan->channel_cnt, sizeof(struct weir_recovery_new *));
	for (uint32_t e = 0; e < m->edge_cnt; e++) {
		const uint32_t edge = weir_recovery_edge(plan, m, e);

		if (!holds_frames(m, e) || !edge_fits(plan, m, e, edge, err))
			continue;
		add_inputs(r, e, edge);
	}
	for (uint32_t o = 0; err->code == WEIR_OK && o < r->old_cnt; o++)
		place(r, o);
	if (err->code == WEIR_OK)
		add_waiting(r);
	if (err->code == WEIR_OK)
		init_lanes(r, err);
	if (err->code == WEIR_OK)
		return r;
	weir_recovery_destroy(r);
	return NULL;
}

void
weir_recovery_destroy(struct weir_recovery *r)
{
	if (r == NULL)
		return;
	for (uint32_t i = 0; i < r->lane_cnt; i++) {
		free(r->lane[i]->frames);
		free(r->lane[i]);
	}
	free(r->lane);
	free(r->by_channel);
	free(r->old);
	free(r->set);
	free(r);
}

uint64_t
weir_recovery_in_flight(const struct weir_recovery *r)
{
	return r != NULL ? r->in_flight : 0;
}

uint32_t
weir_recovery_frame_cnt(const struct weir_recovery *r)
{
	return r != NULL ? r->frame_cnt : 0;
}

/* ---- for the runtime ---- */

struct weir_lane *
weir_recovery_lane(struct weir_recovery *r, uint32_t channel, struct weir_lane *real)
{
	struct weir_recovery_new *n = r != NULL ? lane_of_channel(r, channel) : NULL;

	if (n == NULL)
		return real;
	weir_recovered_put_before(&n->lane, real);
	return &n->lane.lane;
}

void
weir_recovery_sent(const struct weir_recovery *r, uint32_t channel, uint64_t *seq, uint64_t *ord)
{
	const struct weir_recovery_new *n = r != NULL ? lane_of_channel(r, channel) : NULL;

	*seq = n != NULL ? n->lane.frame_cnt : 0;
	*ord = n != NULL ? n->lane.frame_cnt + 1 : 0;
}

bool
weir_recovery_virtual(const struct weir_recovery *r, uint32_t task, uint32_t idx,
		      struct weir_recovery_virtual *out)
{
	for (uint32_t i = 0; r != NULL && i < r->lane_cnt; i++) {
		struct weir_recovery_new *n = r->lane[i];
		const struct weir_recovery_old *o;

		if (n->task != task || n->channel != RECOVERY_NONE || idx-- > 0)
			continue;
		o = &r->old[n->old];
		*out = (struct weir_recovery_virtual){
			.edge = n->edge,
			.producer = o->producer,
			.stage = o->stage,
			.last_seq = o->frame_cnt,
			.watermark_ns = o->in != NULL ? o->in->watermark_ns : INT64_MIN,
			.idle = o->in != NULL && o->in->idle,
			.lane = &n->lane,
		};
		return true;
	}
	return false;
}

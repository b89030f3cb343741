#include "engine/base/plant.h"
#include "engine/core/master_priv.h"
#include "engine/core/subtask_blob.h"

#include <stdlib.h>
#include <string.h>

/* Set-up memory of one manifest: everything freed together. */
struct pool {
	void **p;
	uint32_t cnt, cap;
};

static void *
take(struct pool *pool, size_t bytes)
{
	void *p = calloc(1, bytes + 1);

	WEIR_ASSERT(p != NULL);
	if (pool->cnt == pool->cap) {
		pool->cap = pool->cap == 0 ? 64 : pool->cap * 2;
		pool->p = realloc(pool->p, pool->cap * sizeof(*pool->p));
		WEIR_ASSERT(pool->p != NULL);
	}
	pool->p[pool->cnt++] = p;
	return p;
}

static void
give_back(struct pool *pool)
{
	for (uint32_t i = 0; i < pool->cnt; i++)
		free(pool->p[i]);
	free(pool->p);
}

static void
put_segments(struct weir_master *m, struct pool *pool, const struct weir_master_checkpoint *c,
	     const uint32_t *file_idx, uint32_t op, uint32_t subtask,
	     struct weir_manifest_subtask *s)
{
	const uint32_t cores = m->cfg.rt->cfg.plan->core_cnt;
	struct weir_manifest_segment *list = NULL;

	for (int pass = 0; pass < 2; pass++) {
		uint32_t n = 0;

		for (uint32_t k = 0; k < cores; k++)
			for (uint32_t i = 0;
			     c->segments[k] != NULL && i < c->segments[k]->segment_cnt; i++) {
				const struct weir_manifest_segment *at = &c->segments[k]->at[i];

				if (at->seg.operator_idx != op || at->seg.subtask != subtask)
					continue;
				if (pass == 1) {
					list[n] = *at;
					list[n].file_idx += file_idx[k];
				}
				n++;
			}
		if (pass == 0)
			list = take(pool, n * sizeof(*list));
		s->segment_cnt = n;
	}
	s->segments = list;
}

static void
put_splits(struct pool *pool, const struct weir_task_ack *a, struct weir_manifest_subtask *s)
{
	struct weir_manifest_split *cur = take(pool, a->current_cnt * sizeof(*cur));
	struct weir_position *pos = take(pool, a->current_cnt * sizeof(*pos));
	uint32_t *finished = take(pool, a->finished_cnt * sizeof(*finished));

	memcpy(finished, a->finished, a->finished_cnt * sizeof(*finished));
	s->finished_splits = finished;
	s->finished_split_cnt = a->finished_cnt;
	for (uint32_t i = 0; i < a->current_cnt; i++) {
		pos[i] = a->current[i].position;
		cur[i] = (struct weir_manifest_split){ .split_idx = a->current[i].idx,
						       .position = { &pos[i], sizeof(pos[i]) } };
	}
	s->current_splits = cur;
	s->current_split_cnt = a->current_cnt;
	s->bytes_in = a->source_bytes;
}

static void
put_blob(struct pool *pool, const struct weir_task_ack *a, uint32_t op, bool sink,
	 const struct weir_passed_list *passed, struct weir_manifest_subtask *s)
{
	const uint32_t cnt = sink ? a->pending_cnt : 0;
	struct weir_subtask_blob *b = take(pool, weir_subtask_blob_bytes(cnt, passed->cnt + 1));
	struct weir_passed *to = (void *)(b->pending + cnt);

	b->version = WEIR_SUBTASK_BLOB_VERSION;
	b->flags = a->ended ? WEIR_SUBTASK_ENDED : 0;
	b->pending_cnt = cnt;
	memcpy(b->pending, a->pending, cnt * sizeof(a->pending[0]));
	for (uint32_t i = 0; i < passed->cnt; i++)
		if (passed->at[i].watermark_ns > s->watermark_ns)
			to[b->passed_cnt++] = passed->at[i];
	/* T26: a window that was firing has fired for these keys. */
	if (a->op[op].fired.watermark_ns > s->watermark_ns && !WEIR_PLANT(FIRED_LOST))
		to[b->passed_cnt++] = a->op[op].fired;
	s->blob = (struct weir_blob){ b, weir_subtask_blob_bytes(cnt, b->passed_cnt) };
}

/* Numbers of the manifest's edges: those of the plan that have channels. */
static uint32_t
edge_number(const struct weir_plan *plan, uint32_t edge)
{
	uint32_t n = 0;

	for (uint32_t e = 0; e < edge; e++)
		n += !plan->edge[e].chained;
	return n;
}

/* Index among the subtask's segments of the nth CHANNEL segment of that side. */
static uint32_t
frames_segment(const struct weir_manifest_subtask *s, bool output, uint32_t nth)
{
	const uint32_t side = output ? WEIR_CAPTURE_OUTPUT : WEIR_CAPTURE_INPUT;

	for (uint32_t i = 0; i < s->segment_cnt; i++)
		if (s->segments[i].seg.kind == WEIR_SEGMENT_CHANNEL && !s->segments[i].stale &&
		    s->segments[i].seg.state_idx == side && nth-- == 0)
			return i;
	return UINT32_MAX;
}

/* The frames in flight of one end of a channel. */
static const struct weir_manifest_frame *
put_frames(struct pool *pool, const struct weir_task_ack *a, bool output, uint32_t end,
	   const struct weir_manifest_subtask *s, uint32_t *cnt)
{
	struct weir_manifest_frame *list;
	uint32_t n = 0;

	*cnt = 0;
	for (uint32_t i = 0; i < a->frame_cnt; i++)
		*cnt += a->frames[i].output == output && a->frames[i].end == end;
	if (*cnt == 0)
		return NULL;
	list = take(pool, *cnt * sizeof(*list));
	for (uint32_t i = 0; i < a->frame_cnt; i++) {
		const struct weir_ack_frame *f = &a->frames[i];

		if (f->output == output && f->end == end)
			list[n++] = (struct weir_manifest_frame){ .seq = f->seq,
								  .offset = f->offset,
								  .segment = frames_segment(
									  s, output, f->segment),
								  .length = f->length };
	}
	return list;
}

static void
put_channels(struct weir_master *m, struct pool *pool, const struct weir_task *t, bool head,
	     uint32_t op, const struct weir_task_ack *a, struct weir_manifest_subtask *s)
{
	const struct weir_plan *plan = m->cfg.rt->cfg.plan;
	struct weir_manifest_input *in = take(pool, t->channel_cnt * sizeof(*in));
	struct weir_manifest_output *out = take(pool, t->port_cnt * sizeof(*out));
	uint32_t n = 0;

	s->inputs = in;
	s->outputs = out;
	for (uint32_t c = 0; head && c < t->channel_cnt; c++) {
		const struct weir_task_input *ch = &t->channels[c];

		/* R3: nothing is left of it, and nothing will come. */
		if (ch->is_virtual && a->processed[c] == ch->last_seq)
			continue;
		in[s->input_cnt] = (struct weir_manifest_input){
			.edge_idx = edge_number(plan, ch->edge),
			.producer = ch->producer,
			.processed_seq = a->processed[c],
			.watermark_ns = a->channel_watermark_ns[c],
			.idle = a->channel_idle[c],
			.virtual_channel = ch->is_virtual,
			.last_seq = ch->last_seq,
			.stage = ch->stage,
		};
		in[s->input_cnt].frames =
			put_frames(pool, a, false, c, s, &in[s->input_cnt].frame_cnt);
		s->input_cnt++;
	}
	for (uint32_t e = 0; e < t->emitter_cnt; e++) {
		const uint32_t edge = t->emitters[e].ports[0].edge;

		for (uint32_t p = 0; p < t->emitters[e].port_cnt; p++, n++) {
			struct weir_manifest_output *to;

			if (plan->edge[edge].from != op)
				continue;
			to = &out[s->output_cnt++];
			*to = (struct weir_manifest_output){
				.edge_idx = edge_number(plan, edge),
				.consumer = plan->edge[edge].partitioner == WEIR_FORWARD
						    ? t->subtask
						    : p,
				.produced_seq = a->produced[n]
			};
			to->frames = put_frames(pool, a, true, n, s, &to->frame_cnt);
		}
	}
}

static void
put_subtask(struct weir_master *m, struct pool *pool, const struct weir_master_checkpoint *c,
	    const uint32_t *file_idx, uint32_t op, uint32_t subtask,
	    struct weir_manifest_subtask *s)
{
	const struct weir_plan_operator_info *o = &m->cfg.rt->cfg.plan->op[op];
	const struct weir_task *t = weir_runtime_task(m->cfg.rt, op, subtask);
	const struct weir_master_task *mt = &m->task[t->number];
	const struct weir_task_ack *a = c->acks[t->number] != NULL ? c->acks[t->number] : mt->ack;
	const uint32_t k = o->chain_idx;
	uint64_t *dropped = take(pool, WEIR_REASONS_MAX * sizeof(*dropped));

	*s = (struct weir_manifest_subtask){ .watermark_ns = WEIR_TIME_NONE };
	s->dropped = dropped;
	s->dropped_cnt = t->ctx[k]->reason_cnt;
	/* C14: it had finished when the checkpoint was planned; what it said last stands. */
	s->finished = c->acks[t->number] == NULL;
	if (!mt->acked)
		return;
	s->watermark_ns = a->op[k].watermark_ns;
	s->rows_in = a->op[k].rows_in;
	s->rows_out = a->op[k].rows_out;
	s->truncated = a->op[k].truncated;
	memcpy(dropped, a->op[k].dropped, WEIR_REASONS_MAX * sizeof(*dropped));
	if (k == 0 && t->readers != NULL) {
		put_splits(pool, a, s);
		s->rows_in = a->source_rows;
	}
	put_blob(pool, a, k, k + 1 == t->ctx_cnt && t->sink != NULL, &t->ctx[k]->passed, s);
	put_segments(m, pool, c, file_idx, op, subtask, s);
	if (!s->finished) {
		put_channels(m, pool, t, k == 0, op, a, s);
	}
}

static void
put_opstates(struct pool *pool, const struct weir_operator *op, struct weir_manifest_operator *mo)
{
	struct weir_manifest_opstate *to = take(pool, op->operator_state_cnt * sizeof(*to));

	for (uint32_t s = 0; s < op->operator_state_cnt; s++) {
		const struct weir_operator_state_decl *d = &op->operator_states[s];

		to[s] = (struct weir_manifest_opstate){ .name = d->name,
							.kind = d->kind,
							.key_bytes = d->key_bytes,
							.item_bytes = d->item_bytes,
							.type = d->type };
	}
	mo->opstates = to;
	mo->opstate_cnt = op->operator_state_cnt;
}

static void
put_operator(struct weir_master *m, struct pool *pool, const struct weir_master_checkpoint *c,
	     const uint32_t *file_idx, uint32_t op, struct weir_manifest_operator *mo)
{
	const struct weir_plan_operator_info *o = &m->cfg.rt->cfg.plan->op[op];
	struct weir_manifest_state *states = take(pool, o->op.state_cnt * sizeof(*states));
	struct weir_manifest_subtask *subs = take(pool, o->parallelism * sizeof(*subs));
	const struct weir_operator_ctx *ctx = weir_runtime_ctx(m->cfg.rt, op, 0);

	*mo = (struct weir_manifest_operator){ .id = o->id,
					       .type = o->type,
					       .reasons = ctx->reasons,
					       .reason_cnt = ctx->reason_cnt,
					       .states = states,
					       .state_cnt = o->op.state_cnt,
					       .subtasks = subs,
					       .subtask_cnt = o->parallelism,
					       .finished = true };
	for (uint32_t s = 0; s < o->op.state_cnt; s++) {
		struct weir_plan_state *d = take(pool, sizeof(*d));

		weir_plan_state(o, s, d);
		states[s] = (struct weir_manifest_state){ .name = d->name,
							  .key_kind = d->key_bytes > 0 ? 0 : 1,
							  .key_bytes = d->key_bytes,
							  .value_bytes = d->value_bytes,
							  .key_type = d->key_type,
							  .value_type = d->value_type };
	}
	put_opstates(pool, &o->op, mo);
	for (uint32_t i = 0; i < o->parallelism; i++) {
		put_subtask(m, pool, c, file_idx, op, i, &subs[i]);
		mo->finished &= subs[i].finished;
	}
	for (uint32_t i = 0; i < m->cfg.enumerator_cnt; i++)
		if (m->cfg.enumerators[i].op == op)
			mo->coordinator =
				(struct weir_blob){ c->opcoord[i].bytes, c->opcoord[i].len };
}

static enum weir_manifest_kind
kind_of(const struct weir_master_checkpoint *c)
{
	switch (c->kind) {
	case WEIR_REQUEST_SAVEPOINT:
		return WEIR_MANIFEST_SAVEPOINT;
	case WEIR_REQUEST_SUSPEND:
		return WEIR_MANIFEST_SUSPEND;
	case WEIR_REQUEST_DRAIN:
		return WEIR_MANIFEST_DRAIN;
	case WEIR_REQUEST_CHECKPOINT:
	case WEIR_REQUEST_FULL:
		break;
	}
	return c->final	     ? WEIR_MANIFEST_FINAL
	       : c->periodic ? WEIR_MANIFEST_PERIODIC
			     : WEIR_MANIFEST_MANUAL;
}

int
weir_master_manifest(struct weir_master *m, struct weir_master_checkpoint *c, uint8_t **bytes,
		     size_t *len, struct weir_error *err)
{
	const struct weir_plan *plan = m->cfg.rt->cfg.plan;
	struct pool pool = { 0 };
	struct weir_manifest man = { .weir_version = WEIR_VERSION,
				     .job = m->cfg.job,
				     .run_id = m->cfg.run_id,
				     .attempt = m->cfg.rt->cfg.attempt,
				     .checkpoint_id = c->id,
				     .kind = kind_of(c),
				     .max_parallelism = plan->max_parallelism,
				     .trigger_ns = c->trigger_wall_ns,
				     .at_least_once = m->cfg.at_least_once };
	struct weir_manifest_hook *hooks = take(&pool, m->cfg.hook_cnt * sizeof(*hooks));
	struct weir_manifest_operator *ops = take(&pool, plan->op_cnt * sizeof(*ops));
	struct weir_manifest_edge *edges = take(&pool, plan->edge_cnt * sizeof(*edges));
	struct weir_manifest_file *files;
	uint32_t file_cnt = 0;
	uint32_t *file_idx = take(&pool, plan->core_cnt * sizeof(*file_idx));
	uint32_t inputs[WEIR_OPERATORS_MAX * 2] = { 0 };
	int rc;

	for (uint32_t k = 0; k < plan->core_cnt; k++)
		file_cnt += c->segments[k] != NULL ? c->segments[k]->file_cnt : 0;
	files = take(&pool, file_cnt * sizeof(*files));
	for (uint32_t k = 0; k < plan->core_cnt; k++) {
		file_idx[k] = man.file_cnt;
		for (uint32_t i = 0; c->segments[k] != NULL && i < c->segments[k]->file_cnt; i++) {
			const struct weir_master_file *f = &m->file[c->segments[k]->file[i]];

			files[man.file_cnt++] =
				(struct weir_manifest_file){ .name = f->name, .length = f->bytes };
		}
	}
	for (uint32_t e = 0; e < plan->edge_cnt; e++)
		if (!plan->edge[e].chained)
			edges[man.edge_cnt++] = (struct weir_manifest_edge){
				.from_idx = plan->edge[e].from,
				.to_idx = plan->edge[e].to,
				.input = inputs[plan->edge[e].to]++,
				.partitioner = weir_partitioner_name(plan->edge[e].partitioner),
				.layout = weir_layout_hash(&plan->edge[e].layout),
				.alignment = plan->edge[e].alignment,
			};
	for (uint32_t o = 0; o < plan->op_cnt; o++)
		put_operator(m, &pool, c, file_idx, o, &ops[o]);
	for (uint32_t i = 0; i < m->cfg.hook_cnt; i++)
		hooks[i] = (struct weir_manifest_hook){ m->cfg.hooks[i].name, c->hooks[i] };
	man.hooks = hooks;
	man.hook_cnt = m->cfg.hook_cnt;
	man.operators = ops;
	man.operator_cnt = plan->op_cnt;
	man.edges = edges;
	man.files = files;
	rc = weir_manifest_encode(&man, bytes, len, err);
	give_back(&pool);
	return rc;
}

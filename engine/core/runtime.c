#include "engine/core/runtime.h"

#include <stdlib.h>
#include <string.h>

#include "engine/core/runtime_priv.h"

#define SCRATCH_HEAP 16384u
#define SLICE_ROWS   4096u
#define BATCHES	     16u /* more of them make frames that go to the next core together */

void *
weir_runtime_take(struct weir_runtime *rt, size_t bytes)
{
	const size_t size = weir_align_up(bytes + 1, WEIR_LINE_PAIR);
	void *p = aligned_alloc(WEIR_LINE_PAIR, size);

	WEIR_ASSERT(p != NULL);
	memset(p, 0, size);
	if (rt->owned_cnt == rt->owned_cap) {
		rt->owned_cap = rt->owned_cap == 0 ? 256 : rt->owned_cap * 2;
		rt->owned = realloc(rt->owned, rt->owned_cap * sizeof(*rt->owned));
		WEIR_ASSERT(rt->owned != NULL);
	}
	rt->owned[rt->owned_cnt++] = p;
	return p;
}

static void *
take_for(void *rt, size_t bytes)
{
	return weir_runtime_take(rt, bytes);
}

struct weir_task *
weir_runtime_task(struct weir_runtime *rt, uint32_t op, uint32_t subtask)
{
	const struct weir_plan *plan = rt->cfg.plan;

	return &rt->tasks[plan->task[plan->op[op].task].first + subtask];
}

struct weir_operator_ctx *
weir_runtime_ctx(struct weir_runtime *rt, uint32_t op, uint32_t subtask)
{
	return weir_runtime_task(rt, op, subtask)->ctx[rt->cfg.plan->op[op].chain_idx];
}

/* ---- cores and channels ---- */

static void
make_cores(struct weir_runtime *rt)
{
	const struct weir_plan *plan = rt->cfg.plan;
	const struct weir_driver *d = rt->cfg.driver;

	rt->to_core = weir_runtime_take(rt, plan->core_cnt * sizeof(*rt->to_core));
	rt->from_core = weir_runtime_take(rt, plan->core_cnt * sizeof(*rt->from_core));
	rt->shared = weir_runtime_take(
		rt, (plan->frame_cnt + weir_recovery_frame_cnt(rt->cfg.recovery)) *
			    sizeof(*rt->shared));
	for (uint32_t c = 0; c < plan->core_cnt; c++) {
		struct weir_core *core = &rt->cores[c];

		core->idx = c;
		core->in = &rt->to_core[c];
		core->out = &rt->from_core[c];
		core->pool.source = d->frames;
		core->pool.base = d->frame_base;
		core->pool.shared = rt->shared;
		core->pool.buffer_bytes = plan->options.frame_bytes;
		core->io = d->io(d->arg, c);
		core->backend = d->backend(d->arg, c);
		core->clock = d->clock;
		core->linger_ns = rt->cfg.linger_ns;
		core->full = rt->cfg.full_checkpoints;
		core->sync_timeout_ns = rt->cfg.sync_timeout_ns;
		core->snap = d->snap;
		core->attempt = rt->cfg.attempt;
		core->job_hash = rt->cfg.job_hash;
		core->data_dir = rt->cfg.data_dir;
		core->orders = &rt->orders;
		core->segment_max = rt->cfg.segment_max;
		core->writer = d->writer(d->arg, c);
		if (core->writer != NULL) {
			core->segments = weir_runtime_take(rt, rt->cfg.segment_max *
								       sizeof(*core->segments));
		}
	}
}

static uint32_t
core_of(const struct weir_plan *plan, uint32_t op, uint32_t subtask)
{
	return plan->task[plan->op[op].task].core[subtask];
}

static void
make_channels(struct weir_runtime *rt)
{
	const struct weir_plan *plan = rt->cfg.plan;
	const struct weir_driver *d = rt->cfg.driver;

	rt->data = weir_runtime_take(rt, (plan->channel_cnt + 1) * sizeof(*rt->data));
	rt->priority = weir_runtime_take(rt, (plan->channel_cnt + 1) * sizeof(*rt->priority));
	for (uint32_t i = 0; i < plan->edge_cnt; i++) {
		const struct weir_plan_edge *e = &plan->edge[i];
		const uint32_t to = plan->op[e->to].parallelism;

		for (uint32_t n = 0; !e->chained && n < e->channel_cnt; n++) {
			const bool fwd = e->partitioner == WEIR_FORWARD;
			const uint32_t from_core = core_of(plan, e->from, fwd ? n : n / to);
			const uint32_t to_core = core_of(plan, e->to, fwd ? n : n % to);

			rt->data[e->first + n] =
				d->lane(d->arg, plan->lane_depth, from_core, to_core);
			rt->priority[e->first + n] = d->lane(d->arg, 8, from_core, to_core);
		}
	}
}

/* ---- operators ---- */

static int
sink_process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)out;
	return weir_two_phase_write(ctx->two_phase, in, ctx->host->now_ns);
}

static int
sink_open(struct weir_operator_ctx *ctx)
{
	return weir_two_phase_open(ctx->two_phase);
}

static void
sink_close(struct weir_operator_ctx *ctx)
{
	weir_two_phase_close(ctx->two_phase);
}

static const struct weir_operator sink_operator = {
	.name = "sink", .open = sink_open, .process = sink_process, .close = sink_close
};

/* Smallest heap of a frame that this operator's rows go into: what it emits at once must fit. */
static uint32_t
heap_of(const struct weir_plan *plan, uint32_t op)
{
	uint32_t bytes = SCRATCH_HEAP;

	for (uint32_t e = 0; e < plan->edge_cnt; e++)
		if (plan->edge[e].from == op && !plan->edge[e].chained &&
		    plan->edge[e].layout.heap_bytes > 0 && plan->edge[e].layout.heap_bytes < bytes)
			bytes = plan->edge[e].layout.heap_bytes;
	return bytes;
}

static void
make_out(struct weir_runtime *rt, struct weir_operator_ctx *c, uint32_t op)
{
	const struct weir_plan_operator_info *o = &rt->cfg.plan->op[op];

	c->out.emit = weir_ctx_emit;
	c->out.cap = WEIR_BATCH_ROWS;
	c->out.demand = o->demand;
	c->out.own_sel = weir_runtime_take(rt, WEIR_BATCH_ROWS * sizeof(uint16_t) + WEIR_LINE);
	if (o->out_type == NULL)
		return;
	for (uint32_t i = 0; i < o->out_type->column_cnt; i++)
		c->out.own[i] = weir_runtime_take(rt, (size_t)o->out_type->columns[i].width *
							      (WEIR_BATCH_ROWS + 8));
	c->out.heap_cap = heap_of(rt->cfg.plan, op);
	c->out.heap = weir_runtime_take(rt, c->out.heap_cap + WEIR_LINE);
}

static int
open_states(struct weir_runtime *rt, struct weir_operator_ctx *c, uint32_t op, uint32_t subtask,
	    struct weir_core *core, struct weir_error *err)
{
	const struct weir_plan_operator_info *o = &rt->cfg.plan->op[op];

	WEIR_ASSERT(o->op.state_cnt <= WEIR_STATES_MAX);
	for (uint32_t s = 0; s < o->op.state_cnt; s++) {
		struct weir_plan_state d;
		struct weir_kstate_spec spec = { .name = o->op.states[s].name,
						 .operator_idx = op,
						 .subtask = subtask,
						 .state_idx = s };

		weir_plan_state(o, s, &d);
		spec.value_bytes = d.value_bytes;
		spec.grouped = d.own_keys;
		spec.key_bytes = d.key_bytes;
		spec.key_kind = spec.key_bytes > 0 ? WEIR_KEY_FIXED : WEIR_KEY_BYTES;
		weir_plan_hash_range(rt->cfg.plan, subtask, o->parallelism, &spec.hash_first,
				     &spec.hash_last);
		c->state[s] = weir_kstate_open(core->backend, &spec, err);
		if (c->state[s] == NULL)
			return weir_error_prefix(err, "operator '%s' state '%s'", o->id, d.name);
	}
	c->state_cnt = o->op.state_cnt;
	c->opstate = weir_runtime_take(rt, o->op.operator_state_cnt * sizeof(*c->opstate));
	for (uint32_t s = 0; s < o->op.operator_state_cnt; s++)
		weir_opstate_init(&c->opstate[s], &o->op.operator_states[s],
				  weir_opstate_room(&o->op.operator_states[s]), take_for, rt);
	c->opstate_cnt = o->op.operator_state_cnt;
	if (o->key.cnt > 1)
		c->pack = weir_runtime_take(rt, (size_t)o->key.bytes * WEIR_BATCH_ROWS);
	return 0;
}

/* weir_operator_host.relieve: a look-up needs memory that a running snapshot holds. */
static void
relieve(struct weir_operator_host *host)
{
	struct weir_task *t = (struct weir_task *)host;
	struct weir_core *core = t->core;

	(void)weir_core_harvest(core);
	for (uint32_t i = 0; i < core->task_cnt; i++)
		weir_task_snapshot_relieve(core->tasks[i]);
	if (core->snap_state == WEIR_CORE_SNAPSHOT_OPEN ||
	    core->snap_state == WEIR_CORE_SNAPSHOT_SEALED)
		(void)core->snap->step(core->writer);
}

static void
make_sink(struct weir_runtime *rt, struct weir_task *t, uint32_t op, const struct weir_vertex *v)
{
	struct weir_operator_ctx *c = t->ctx[t->ctx_cnt - 1];
	const uint64_t rate = rt->cfg.sink_rate / c->parallelism;
	const struct weir_text_sink_config sc = {
		.mode = rt->cfg.sink_mode,
		.dir = rt->cfg.output_dir,
		.format = v->format,
		.warn = rt->cfg.warn,
		.warn_arg = rt->cfg.warn_arg,
	};
	const struct weir_two_phase_config tc = {
		.sink = v->sink != NULL ? v->sink : weir_text_sink_connector(sc.mode),
		.ctx = c,
		.rate = rt->cfg.sink_rate > 0 && rate == 0 ? 1 : rate,
		.latency = rt->cfg.latency,
		.sibling =
			t->subtask > 0 ? weir_runtime_ctx(rt, op, t->subtask - 1)->two_phase : NULL,
	};

	if (v->sink == NULL)
		c->local = t->text = weir_text_sink_create(&sc, c, t->core->io);
	else if (v->sink->local_bytes > 0)
		c->local = weir_runtime_take(rt, v->sink->local_bytes);
	t->sink = weir_two_phase_create(&tc);
}

static int
make_operator(struct weir_runtime *rt, struct weir_task *t, uint32_t op, struct weir_error *err)
{
	const struct weir_plan *plan = rt->cfg.plan;
	const struct weir_plan_operator_info *o = &plan->op[op];
	const struct weir_vertex *v =
		o->vertex == UINT32_MAX ? NULL : &plan->job->vertex[o->vertex];
	struct weir_operator_ctx *c = weir_runtime_take(rt, sizeof(*c));

	*c = (struct weir_operator_ctx){ .op = &o->op,
					 .id = o->id,
					 .subtask = t->subtask,
					 .parallelism = o->parallelism,
					 .params = rt->cfg.params,
					 .host = &t->host,
					 .key = o->key,
					 .in_type = o->in_type,
					 .out_type = o->out_type,
					 .watermark_ns = WEIR_TIME_NONE,
					 .fired = { .watermark_ns = WEIR_TIME_NONE } };
	make_out(rt, c, op);
	if (o->op.local_bytes > 0)
		c->local = weir_runtime_take(rt, o->op.local_bytes);
	if (t->ctx_cnt > 0)
		t->ctx[t->ctx_cnt - 1]->next = c;
	t->ctx[t->ctx_cnt++] = c;
	if (v != NULL && v->kind == WEIR_VERTEX_SOURCE) {
		c->op = NULL;
		t->readers = weir_readers_create(v->connector, c, rt->cfg.splits[op]->cnt);
		t->readers->rate = rt->cfg.rate / o->parallelism;
		if (rt->cfg.rate > 0 && t->readers->rate == 0)
			t->readers->rate = 1;
		t->readers->stamp = rt->cfg.latency;
		t->readers->ctx.warn = rt->cfg.warn;
		t->readers->ctx.warn_arg = rt->cfg.warn_arg;
		c->reasons = v->connector->reasons;
		c->reason_cnt = v->connector->reason_cnt;
	} else if (v != NULL && v->kind == WEIR_VERTEX_SINK) {
		c->op = &sink_operator;
		make_sink(rt, t, op, v);
	}
	return open_states(rt, c, op, t->subtask, t->core, err);
}

/* ---- outputs ---- */

static void
make_port(struct weir_runtime *rt, struct weir_task *t, struct weir_emitter *m, uint32_t edge,
	  uint32_t p, uint32_t channel)
{
	struct weir_port *port = &m->ports[p];

	weir_port_init(port, &t->core->pool, &m->layout, edge, rt->data[channel],
		       rt->priority[channel]);
	/* R1: behind what is restored in front of this channel. */
	weir_recovery_sent(rt->cfg.recovery, channel, &port->seq, &port->ord);
	port->overdraft.lane_seq = (uint32_t)port->seq;
}

static void
make_emitter(struct weir_runtime *rt, struct weir_task *t, const struct weir_plan_edge *e,
	     uint32_t edge, struct weir_operator_ctx *from)
{
	const struct weir_plan *plan = rt->cfg.plan;
	const bool fwd = e->partitioner == WEIR_FORWARD;
	const uint32_t cnt = fwd ? 1 : plan->op[e->to].parallelism;
	const uint32_t first = e->first + (fwd ? t->subtask : t->subtask * cnt);
	struct weir_emitter *m = &t->emitters[t->emitter_cnt++];

	*m = (struct weir_emitter){ .partitioner = e->partitioner,
				    .layout = e->layout,
				    .key = e->key,
				    .max_parallelism_log2 = plan->max_parallelism_log2,
				    .port_cnt = cnt,
				    .next = e->partitioner == WEIR_REBALANCE ? t->subtask % cnt : 0,
				    .watermark_ns = WEIR_TIME_NONE,
				    .oldest_ns = INT64_MAX };
	m->ports = weir_runtime_take(rt, cnt * sizeof(*m->ports));
	m->hash = weir_runtime_take(rt, WEIR_BATCH_ROWS * sizeof(*m->hash));
	m->rows = weir_runtime_take(rt, (size_t)cnt * WEIR_BATCH_ROWS * sizeof(*m->rows));
	if (e->key.cnt > 1)
		m->pack = weir_runtime_take(rt, (size_t)e->key.bytes * WEIR_BATCH_ROWS);
	for (uint32_t p = 0; p < cnt; p++)
		make_port(rt, t, m, edge, p, first + p);
	WEIR_ASSERT(from->emitter_cnt < WEIR_EMITTERS_MAX);
	from->emitters[from->emitter_cnt++] = m;
	t->port_cnt += cnt;
}

static void
make_outputs(struct weir_runtime *rt, struct weir_task *t)
{
	const struct weir_plan *plan = rt->cfg.plan;
	const struct weir_plan_task *pt = &plan->task[t->task_idx];
	uint32_t cnt = 0;

	for (uint32_t e = 0; e < plan->edge_cnt; e++)
		cnt += !plan->edge[e].chained && plan->op[plan->edge[e].from].task == t->task_idx;
	t->emitters = weir_runtime_take(rt, (cnt + 1) * sizeof(*t->emitters));
	for (uint32_t k = 0; k < pt->op_cnt; k++)
		for (uint32_t e = 0; e < plan->edge_cnt; e++)
			if (plan->edge[e].from == pt->op[k] && !plan->edge[e].chained)
				make_emitter(rt, t, &plan->edge[e], e, t->ctx[k]);
}

static void
make_acks(struct weir_runtime *rt, struct weir_task *t)
{
	const uint32_t head = rt->cfg.plan->task[t->task_idx].op[0];
	const uint32_t splits = t->readers != NULL ? rt->cfg.splits[head]->cnt : 0;

	for (uint32_t a = 0; a < WEIR_TASK_ACKS; a++) {
		t->acks[a].finished = weir_runtime_take(rt, (splits + 1) * sizeof(uint32_t));
		t->acks[a].processed =
			weir_runtime_take(rt, (t->channel_cnt + 1) * sizeof(uint64_t));
		t->acks[a].channel_watermark_ns =
			weir_runtime_take(rt, (t->channel_cnt + 1) * sizeof(int64_t));
		t->acks[a].channel_idle = weir_runtime_take(rt, t->channel_cnt + 1);
		t->acks[a].produced = weir_runtime_take(rt, (t->port_cnt + 1) * sizeof(uint64_t));
	}
}

static int
make_task(struct weir_runtime *rt, uint32_t task_idx, uint32_t subtask, struct weir_error *err)
{
	const struct weir_plan_task *pt = &rt->cfg.plan->task[task_idx];
	struct weir_task *t = &rt->tasks[pt->first + subtask];
	struct weir_core *core = &rt->cores[pt->core[subtask]];
	int rc;

	t->core = core;
	t->number = pt->first + subtask;
	t->task_idx = task_idx;
	t->subtask = subtask;
	t->host.relieve = relieve;
	t->host.job = rt->cfg.job_name;
	t->host.attempt = rt->cfg.attempt;
	t->host.slice_rows = rt->cfg.slice_rows > 0 ? rt->cfg.slice_rows : SLICE_ROWS;
	t->host.batches = rt->cfg.batches > 0 ? rt->cfg.batches : BATCHES;
	t->event_base = t->number * WEIR_TASK_EVENTS;
	t->events = rt->events + t->event_base;
	for (uint32_t k = 0; k < pt->op_cnt; k++) {
		rc = make_operator(rt, t, pt->op[k], err);
		if (rc != 0)
			return rc;
	}
	make_outputs(rt, t);
	rc = weir_runtime_inputs(rt, t, err);
	if (rc != 0)
		return rc;
	make_acks(rt, t);
	weir_task_capture_init(t, rt->cfg.plan, rt->events, take_for, rt);
	WEIR_ASSERT(core->task_cnt < WEIR_CORE_TASKS_MAX);
	core->tasks[core->task_cnt++] = t;
	return 0;
}

struct weir_runtime *
weir_runtime_create(const struct weir_runtime_config *config, struct weir_error *err)
{
	struct weir_runtime *rt =
		aligned_alloc(WEIR_LINE_PAIR, weir_align_up(sizeof(*rt), WEIR_LINE_PAIR));
	const struct weir_plan *plan = config->plan;

	WEIR_ASSERT(rt != NULL);
	memset(rt, 0, sizeof(*rt));
	rt->cfg = *config;
	make_cores(rt);
	make_channels(rt);
	rt->events = weir_runtime_take(rt, (size_t)plan->subtask_cnt * WEIR_TASK_EVENTS *
						   sizeof(*rt->events));
	rt->tasks = weir_runtime_take(rt, plan->subtask_cnt * sizeof(*rt->tasks));
	for (uint32_t i = 0; i < plan->task_cnt; i++)
		for (uint32_t s = 0; s < plan->task[i].parallelism; s++)
			if (make_task(rt, i, s, err) != 0) {
				weir_runtime_destroy(rt);
				return NULL;
			}
	return rt;
}

/* For what a task reads at once: a restore may have given it more readers. */
static void
make_ack_splits(struct weir_runtime *rt, struct weir_task *t)
{
	const size_t cnt = t->readers != NULL ? t->readers->reader_cnt : 0;

	for (uint32_t a = 0; a < WEIR_TASK_ACKS; a++)
		t->acks[a].current = weir_runtime_take(rt, (cnt + 1) * sizeof(*t->acks[a].current));
}

int
weir_runtime_start(struct weir_runtime *rt, struct weir_error *err)
{
	for (uint32_t i = 0; i < rt->cfg.plan->subtask_cnt; i++) {
		make_ack_splits(rt, &rt->tasks[i]);
		if (weir_task_start(&rt->tasks[i]) != 0) {
			*err = rt->tasks[i].ctx[0]->error;
			return err->code;
		}
	}
	return 0;
}

static void
drain_lanes(struct weir_runtime *rt)
{
	struct weir_item items[16];
	uint32_t cnt;

	for (uint32_t n = 0; n < rt->cfg.plan->channel_cnt; n++)
		while ((cnt = weir_lane_pop(rt->data[n], items, 16)) > 0)
			for (uint32_t i = 0; i < cnt; i++)
				if (items[i].kind == WEIR_ITEM_DATA)
					weir_frame_release(&rt->cores[0].pool, items[i].ref);
}

static void
close_task(struct weir_task *t)
{
	for (uint32_t i = 0; i < t->ctx_cnt; i++)
		if (t->ctx[i]->op != NULL && t->ctx[i]->op->close != NULL)
			t->ctx[i]->op->close(t->ctx[i]);
	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		for (uint32_t p = 0; p < t->emitters[e].port_cnt; p++)
			weir_port_fini(&t->emitters[e].ports[p]);
	for (; !t->burst.is_event && t->burst_at < t->burst.cnt; t->burst_at++)
		weir_frame_release(&t->core->pool, t->burst.items[t->burst_at].ref);
	weir_task_capture_fini(t);
	weir_input_destroy(t->input);
	weir_readers_destroy(t->readers);
	weir_two_phase_destroy(t->sink);
	weir_text_sink_destroy(t->text);
}

void
weir_runtime_destroy(struct weir_runtime *rt)
{
	if (rt == NULL)
		return;
	for (uint32_t i = 0; rt->tasks != NULL && i < rt->cfg.plan->subtask_cnt; i++)
		if (rt->tasks[i].core != NULL)
			close_task(&rt->tasks[i]);
	if (rt->data != NULL)
		drain_lanes(rt);
	weir_restore_opstates_fini(rt);
	weir_restore_counts_fini(rt);
	weir_savepoint_orders_fini(&rt->orders);
	weir_recovery_drain(rt->cfg.recovery, &rt->cores[0].pool);
	for (uint32_t c = 0; c < rt->cfg.plan->core_cnt; c++)
		weir_frame_pool_drain(&rt->cores[c].pool);
	for (uint32_t i = 0; i < rt->owned_cnt; i++)
		free(rt->owned[i]);
	free(rt->owned);
	free(rt);
}

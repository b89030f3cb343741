#include "tests/unit/engine/core/cut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

enum { PRODUCERS, CONSUMERS, SEGMENT_BYTES = 1 << 20, K = 10, ROWS = 40 };

WEIR_TYPE(row, WEIR_U64("key"), WEIR_U64("number"), WEIR_BYTES("text"));

static const struct weir_connector connector = { .name = "none", .type = &row };

static int
process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)ctx;
	(void)in;
	(void)out;
	return 0;
}

static uint32_t
format(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	(void)text;
	(void)cap;
	*bytes = 0;
	return in->selected - from;
}

struct cut_job
cut_plan(enum weir_partitioner how, uint32_t sources, uint32_t middles, bool heads)
{
	struct weir_cpu cpu = { .allowed = true };
	const struct weir_topology topo = {
		.cpus = &cpu, .cpu_cnt = 1, .allowed_cnt = 1, .core_cnt = 1, .node_cnt = 1
	};
	const struct weir_plan_operator ops[] = { { .id = "source", .parallelism = sources },
						  { .id = "middle", .parallelism = middles },
						  { .id = "sink", .parallelism = middles } };
	static const char *const head[] = { "middle" };
	const struct weir_plan_options options = { .operators = ops,
						   .operator_cnt = 3,
						   .frame_bytes = CUT_FRAME_BYTES,
						   .lane_depth = 64,
						   .state_bytes = 1 << 24,
						   .checkpoints = true,
						   .heads = head,
						   .head_cnt = heads };
	const struct weir_operator op = {
		.name = "middle", .process = process, .out = &row, .reads = 7
	};
	struct cut_job j = { .job = weir_job_create() };
	struct weir_error err = { 0 };
	struct weir_stream *s = weir_source(j.job, "source", &connector);

	if (how == WEIR_HASH)
		s = weir_key_by(s, CUT_KEY);
	else if (how == WEIR_REBALANCE)
		s = weir_rebalance(s);
	weir_sink(weir_process(s, "middle", &op), "sink", format);
	WEIR_ASSERT(weir_job_finish(j.job, &err) == 0);
	j.plan = weir_plan_create(j.job, &topo, &options, &err);
	WEIR_ASSERT(j.plan != NULL);
	return j;
}

void
cut_plan_fini(struct cut_job *j)
{
	weir_plan_destroy(j->plan);
	weir_job_destroy(j->job);
}

/* The n-th key that belongs to a consumer. */
static uint64_t
key_of(const struct cut *c, uint32_t consumer, uint32_t n)
{
	const struct weir_plan *plan = c->old.plan;
	uint64_t key = 0;

	for (;; key++)
		if (weir_emitter_subtask(weir_hash_u64(key), plan->max_parallelism_log2,
					 plan->op[1].parallelism) == consumer &&
		    n-- == 0)
			return key;
}

static void
fill(struct cut *c, struct weir_frame *f, uint32_t producer, uint32_t consumer, uint64_t seq)
{
	const struct weir_layout *l = &c->old.plan->edge[0].layout;

	*f = (struct weir_frame){ .magic = WEIR_FRAME_MAGIC,
				  .rows = ROWS,
				  .watermark_ns = (int64_t)seq * 100 + producer,
				  .stamp_ns = 7 };
	for (uint32_t i = 0; i < ROWS; i++) {
		const uint64_t number = seq * 1000 + i;
		char text[64];
		const int len = snprintf(text, sizeof(text), "%u-%u-%llu", producer, consumer,
					 (unsigned long long)number);
		const struct weir_bytes v = { .off = f->heap_len, .len = (uint32_t)len };

		((uint64_t *)((char *)f + l->off[CUT_KEY]))[i] = key_of(c, consumer, i % 13);
		((uint64_t *)((char *)f + l->off[CUT_NUMBER]))[i] = number;
		((struct weir_bytes *)((char *)f + l->off[CUT_TEXT]))[i] = v;
		memcpy((char *)f + l->heap_off + f->heap_len, text, (size_t)len);
		f->heap_len += (uint32_t)len;
	}
	c->rows += ROWS;
}

static void
add_frame(struct cut *c, uint32_t side, uint32_t own, uint32_t producer, uint32_t consumer,
	  uint64_t seq)
{
	struct weir_frame *f = (void *)(c->bytes[side][own] + c->used[side][own]);

	fill(c, f, producer, consumer, seq);
	c->frames[side][own][c->frame_cnt[side][own]++] = (struct weir_manifest_frame){
		.seq = seq,
		.offset = c->used[side][own],
		.segment = 0,
		.length = weir_frame_bytes(&c->old.plan->edge[0].layout, f),
	};
	c->used[side][own] += (uint32_t)weir_align_up(CUT_FRAME_BYTES, 64);
}

static void
make_subtasks(struct cut *c, uint32_t side, uint32_t cnt)
{
	for (uint32_t s = 0; s < cnt; s++) {
		c->bytes[side][s] = aligned_alloc(WEIR_PAGE, SEGMENT_BYTES);
		WEIR_ASSERT(c->bytes[side][s] != NULL);
		c->used[side][s] = 256;
		c->seg[side][s].seg.kind = WEIR_SEGMENT_CHANNEL;
		c->subs[side][s].segments = &c->seg[side][s];
		c->subs[side][s].segment_cnt = 1;
	}
	c->ops[side].subtasks = c->subs[side];
	c->ops[side].subtask_cnt = cnt;
}

static void
add_channel(struct cut *c, uint32_t p, uint32_t q, uint32_t at_input, uint32_t at_output)
{
	struct weir_manifest_subtask *to = &c->subs[CONSUMERS][q], *from = &c->subs[PRODUCERS][p];
	struct weir_manifest_input *in = &c->in[q][to->input_cnt++];
	struct weir_manifest_output *out = &c->out[p][from->output_cnt++];

	*in = (struct weir_manifest_input){
		.producer = p,
		.processed_seq = K,
		.watermark_ns = K + p,
		.frames = &c->frames[CONSUMERS][q][c->frame_cnt[CONSUMERS][q]],
		.frame_cnt = at_input
	};
	*out = (struct weir_manifest_output){
		.consumer = q,
		.produced_seq = K + at_input + at_output,
		.frames = &c->frames[PRODUCERS][p][c->frame_cnt[PRODUCERS][p]],
		.frame_cnt = at_output
	};
	for (uint32_t i = 0; i < at_input; i++)
		add_frame(c, CONSUMERS, q, p, q, K + 1 + i);
	for (uint32_t i = 0; i < at_output; i++)
		add_frame(c, PRODUCERS, p, p, q, K + 1 + at_input + i);
	to->inputs = c->in[q];
	from->outputs = c->out[p];
}

void
cut_make(struct cut *c, enum weir_partitioner how, uint32_t sources, uint32_t middles,
	 uint32_t at_input, uint32_t at_output)
{
	memset(c, 0, sizeof(*c));
	c->old = cut_plan(how, sources, middles, true);
	c->ops[0].id = "source";
	c->ops[1].id = "middle";
	c->edge = (struct weir_manifest_edge){ .from_idx = 0,
					       .to_idx = 1,
					       .partitioner = weir_partitioner_name(how),
					       .layout = weir_layout_hash(
						       &c->old.plan->edge[0].layout) };
	c->m = (struct weir_manifest){ .operators = c->ops,
				       .operator_cnt = 2,
				       .edges = &c->edge,
				       .edge_cnt = 1,
				       .max_parallelism = c->old.plan->max_parallelism };
	make_subtasks(c, PRODUCERS, sources);
	make_subtasks(c, CONSUMERS, middles);
	for (uint32_t p = 0; p < sources; p++)
		for (uint32_t q = 0; q < middles; q++)
			add_channel(c, p, q, at_input, at_output);
}

void
cut_add_virtual(struct cut *c, uint32_t q, uint32_t producer, uint32_t stage, uint32_t frames)
{
	struct weir_manifest_subtask *to = &c->subs[CONSUMERS][q];

	c->in[q][to->input_cnt++] = (struct weir_manifest_input){
		.producer = producer,
		.virtual_channel = true,
		.stage = stage,
		.watermark_ns = 5,
		.last_seq = frames,
		.frames = &c->frames[CONSUMERS][q][c->frame_cnt[CONSUMERS][q]],
		.frame_cnt = frames,
	};
	for (uint32_t i = 0; i < frames; i++)
		add_frame(c, CONSUMERS, q, producer, q, 1 + i);
}

void
cut_fini(struct cut *c)
{
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t s = 0; s < CUT_SUBTASKS_MAX; s++)
			free(c->bytes[side][s]);
	cut_plan_fini(&c->old);
}

/* ---- frames ---- */

static uint32_t
get(struct weir_frame_source *src, uint32_t *idx, uint32_t cnt)
{
	struct cut_pool *p = WEIR_CONTAINER(src, struct cut_pool, source);
	uint32_t n = 0;

	while (n < cnt && p->free_cnt > 0)
		idx[n++] = p->free[--p->free_cnt];
	return n;
}

static void
put(struct weir_frame_source *src, const uint32_t *idx, uint32_t cnt)
{
	struct cut_pool *p = WEIR_CONTAINER(src, struct cut_pool, source);

	for (uint32_t i = 0; i < cnt; i++)
		p->free[p->free_cnt++] = idx[i];
}

static const struct weir_frame_source_ops source_ops = { .get = get, .put = put, .name = "test" };

void
cut_pool_make(struct cut_pool *p, uint32_t frames)
{
	memset(p, 0, sizeof(*p));
	p->source.ops = &source_ops;
	p->source.frame_cnt = frames;
	p->free = calloc(frames + 1, sizeof(*p->free));
	p->pool.source = &p->source;
	p->pool.buffer_bytes = CUT_FRAME_BYTES;
	p->pool.base = aligned_alloc(WEIR_PAGE, (size_t)(frames + 1) * CUT_FRAME_BYTES);
	p->pool.shared = calloc(frames + 1, sizeof(*p->pool.shared));
	WEIR_ASSERT(p->pool.base != NULL);
	for (uint32_t i = 0; i < frames; i++)
		p->free[p->free_cnt++] = i;
}

void
cut_pool_fini(struct cut_pool *p)
{
	free(p->free);
	free(p->pool.base);
	free((void *)p->pool.shared);
}

int
cut_load(struct cut *c, struct weir_recovery *r, struct weir_frame_pool *pool,
	 struct weir_error *err)
{
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t s = 0; s < c->ops[side].subtask_cnt; s++) {
			const int rc =
				weir_recovery_segment(r, pool, side, s, 0, c->bytes[side][s], err);

			if (rc != 0)
				return rc;
		}
	return weir_recovery_finish(r, err);
}

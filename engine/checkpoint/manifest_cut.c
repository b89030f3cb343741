/* The checks that look across the parts of a manifest: ranges apart, and both ends of channels. */
#include <inttypes.h>
#include <stdlib.h>

#include "engine/checkpoint/manifest_priv.h"

/* A byte range of a data file. */
struct range {
	uint32_t file_idx;
	uint64_t offset;
	uint64_t length;
};

/* One end of a channel. */
struct end {
	uint32_t edge_idx;
	uint32_t producer;
	uint32_t consumer;
	uint64_t seq;
	const struct weir_manifest_frame *frames;
	uint32_t frame_cnt;
};

static int
by_place(const void *pa, const void *pb)
{
	const struct range *a = pa;
	const struct range *b = pb;

	if (a->file_idx != b->file_idx)
		return a->file_idx < b->file_idx ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static int
by_channel(const void *pa, const void *pb)
{
	const struct end *a = pa;
	const struct end *b = pb;

	if (a->edge_idx != b->edge_idx)
		return a->edge_idx < b->edge_idx ? -1 : 1;
	if (a->producer != b->producer)
		return a->producer < b->producer ? -1 : 1;
	return (a->consumer > b->consumer) - (a->consumer < b->consumer);
}

static int
memory_out(struct weir_error *err)
{
	return weir_fail(err, WEIR_ERR_FAILED, "out of memory");
}

/* Call visit for every subtask, in order, until it fails. */
typedef int (*visit_fn)(void *arg, const struct weir_manifest *m, uint32_t operator_idx,
			uint32_t subtask);

static int
each_subtask(const struct weir_manifest *m, visit_fn visit, void *arg)
{
	uint32_t i, j;
	int rc;

	for (i = 0; i < m->operator_cnt; i++)
		for (j = 0; j < m->operators[i].subtask_cnt; j++) {
			rc = visit(arg, m, i, j);
			if (rc != 0)
				return rc;
		}
	return 0;
}

struct totals {
	uint64_t segments, inputs, outputs;
};

static int
add_totals(void *arg, const struct weir_manifest *m, uint32_t operator_idx, uint32_t subtask)
{
	const struct weir_manifest_subtask *sub = &m->operators[operator_idx].subtasks[subtask];
	struct totals *totals = arg;

	totals->segments += sub->segment_cnt;
	totals->inputs += sub->input_cnt;
	totals->outputs += sub->output_cnt;
	return 0;
}

struct ranges {
	struct range *at;
	uint64_t cnt;
};

static int
add_ranges(void *arg, const struct weir_manifest *m, uint32_t operator_idx, uint32_t subtask)
{
	const struct weir_manifest_subtask *sub = &m->operators[operator_idx].subtasks[subtask];
	struct ranges *ranges = arg;
	uint32_t i;

	for (i = 0; i < sub->segment_cnt; i++)
		ranges->at[ranges->cnt++] = (struct range){
			.file_idx = sub->segments[i].file_idx,
			.offset = sub->segments[i].seg.offset,
			.length = sub->segments[i].seg.length,
		};
	return 0;
}

int
weir_manifest_check_overlap(const struct weir_manifest *m, struct weir_manifest_pool *pool,
			    struct weir_error *err)
{
	struct totals totals = { 0 };
	struct ranges ranges = { 0 };
	uint64_t i;

	if (each_subtask(m, add_totals, &totals) != 0)
		return err->code;
	ranges.at = weir_manifest_pool_take(pool, totals.segments, sizeof(*ranges.at));
	if (ranges.at == NULL)
		return memory_out(err);
	if (each_subtask(m, add_ranges, &ranges) != 0)
		return err->code;
	if (ranges.cnt > 1)
		qsort(ranges.at, ranges.cnt, sizeof(*ranges.at), by_place);
	for (i = 1; i < ranges.cnt; i++) {
		const struct range *a = &ranges.at[i - 1];
		const struct range *b = &ranges.at[i];

		if (a->file_idx == b->file_idx && b->offset - a->offset < a->length)
			return weir_fail(err, WEIR_ERR_DATA,
					 "file %s: segments at %" PRIu64 " and %" PRIu64 " overlap",
					 m->files[a->file_idx].name, a->offset, b->offset);
	}
	return 0;
}

/* Both ends of all channels. */
struct ends {
	struct end *in, *out;
	uint64_t in_cnt, out_cnt;
	struct weir_error *err;
};

static int
check_end(const struct ends *ends, const struct weir_manifest *m, uint32_t edge_idx, uint32_t own,
	  uint32_t peer, bool is_input)
{
	const char *side = is_input ? "input" : "output";
	const struct weir_manifest_edge *edge;
	uint32_t peer_op;

	if (edge_idx >= m->edge_cnt)
		return weir_fail(ends->err, WEIR_ERR_DATA,
				 "operator \"%s\": %s names edge %" PRIu32 " of %" PRIu32,
				 m->operators[own].id, side, edge_idx, m->edge_cnt);
	edge = &m->edges[edge_idx];
	if ((is_input ? edge->to_idx : edge->from_idx) != own)
		return weir_fail(ends->err, WEIR_ERR_DATA,
				 "operator \"%s\": %s of edge %" PRIu32 ", which is another's",
				 m->operators[own].id, side, edge_idx);
	peer_op = is_input ? edge->from_idx : edge->to_idx;
	if (peer >= m->operators[peer_op].subtask_cnt)
		return weir_fail(ends->err, WEIR_ERR_DATA,
				 "operator \"%s\": %s names subtask %" PRIu32 " of %" PRIu32
				 " of \"%s\"",
				 m->operators[own].id, side, peer,
				 m->operators[peer_op].subtask_cnt, m->operators[peer_op].id);
	return 0;
}

static int
channel_fail(const struct ends *ends, const struct weir_manifest *m, const struct end *e,
	     const char *why)
{
	const struct weir_manifest_edge *edge = &m->edges[e->edge_idx];

	return weir_fail(ends->err, WEIR_ERR_DATA,
			 "channel \"%s\" %" PRIu32 " -> \"%s\" %" PRIu32 ": %s",
			 m->operators[edge->from_idx].id, e->producer,
			 m->operators[edge->to_idx].id, e->consumer, why);
}

/* The frames of one end follow each other from first on; an aligned edge has none. */
static int
check_end_frames(const struct ends *ends, const struct weir_manifest *m, const struct end *e,
		 uint64_t first)
{
	uint32_t at;

	if (e->frame_cnt > 0 && m->edges[e->edge_idx].alignment != WEIR_EDGE_UNALIGNED)
		return channel_fail(ends, m, e, "holds frames, though its edge is aligned");
	if (!weir_manifest_frames_follow(e->frames, e->frame_cnt, first, &at))
		return channel_fail(ends, m, e, "the numbers of its frames do not follow");
	return 0;
}

/* R3: it has no other end; all that is left of it must be here. */
static int
check_virtual(const struct ends *ends, const struct weir_manifest *m,
	      const struct weir_manifest_input *in, const struct end *e)
{
	if (in->processed_seq + e->frame_cnt != in->last_seq)
		return channel_fail(ends, m, e, "frames of a virtual channel are missing");
	return check_end_frames(ends, m, e, in->processed_seq + 1);
}

static int
add_ends(void *arg, const struct weir_manifest *m, uint32_t operator_idx, uint32_t subtask)
{
	const struct weir_manifest_subtask *sub = &m->operators[operator_idx].subtasks[subtask];
	struct ends *ends = arg;
	uint32_t i;
	int rc;

	for (i = 0; i < sub->input_cnt; i++) {
		const struct weir_manifest_input *in = &sub->inputs[i];
		const struct end e = { in->edge_idx,	  in->producer, subtask,
				       in->processed_seq, in->frames,	in->frame_cnt };

		rc = check_end(ends, m, in->edge_idx, operator_idx,
			       in->virtual_channel ? 0 : in->producer, true);
		if (rc == 0)
			rc = in->virtual_channel
				     ? check_virtual(ends, m, in, &e)
				     : check_end_frames(ends, m, &e, in->processed_seq + 1);
		if (rc != 0)
			return rc;
		if (!in->virtual_channel)
			ends->in[ends->in_cnt++] = e;
	}
	for (i = 0; i < sub->output_cnt; i++) {
		const struct weir_manifest_output *out = &sub->outputs[i];

		const struct end e = { out->edge_idx,	  subtask,     out->consumer,
				       out->produced_seq, out->frames, out->frame_cnt };

		rc = check_end(ends, m, out->edge_idx, operator_idx, out->consumer, false);
		if (rc == 0)
			rc = check_end_frames(ends, m, &e, out->produced_seq - out->frame_cnt + 1);
		if (rc != 0)
			return rc;
		ends->out[ends->out_cnt++] = e;
	}
	return 0;
}

/* Only a finished subtask may leave its end of a channel out. */
static int
lone_end(const struct ends *ends, const struct weir_manifest *m, const struct end *e, bool is_input)
{
	const struct weir_manifest_edge *edge = &m->edges[e->edge_idx];
	const struct weir_manifest_subtask *peer =
		is_input ? &m->operators[edge->from_idx].subtasks[e->producer]
			 : &m->operators[edge->to_idx].subtasks[e->consumer];

	if (peer->finished)
		return 0;
	return channel_fail(ends, m, e,
			    is_input ? "the producer's end is missing"
				     : "the consumer's end is missing");
}

/* §0: what the producer had produced, the consumer has processed or the checkpoint holds. */
static int
check_cut(const struct ends *ends, const struct weir_manifest *m, const struct end *in,
	  const struct end *out)
{
	const uint64_t held = (uint64_t)in->frame_cnt + out->frame_cnt;

	if (in->seq + held == out->seq)
		return 0;
	/* T18: nothing waits for a barrier, so rows behind it may be in the state already. */
	if (m->at_least_once && in->seq > out->seq && held == 0)
		return 0;
	return channel_fail(ends, m, in,
			    held == 0 ? "last frame produced and last processed differ"
				      : "last frame produced is not the last one that was kept");
}

/* Both lists are sorted. */
static int
match_ends(const struct ends *ends, const struct weir_manifest *m)
{
	uint64_t i = 0;
	uint64_t o = 0;
	int order, rc;

	while (i < ends->in_cnt || o < ends->out_cnt) {
		if (i + 1 < ends->in_cnt && by_channel(&ends->in[i], &ends->in[i + 1]) == 0)
			return channel_fail(ends, m, &ends->in[i], "has two consumer's ends");
		if (o + 1 < ends->out_cnt && by_channel(&ends->out[o], &ends->out[o + 1]) == 0)
			return channel_fail(ends, m, &ends->out[o], "has two producer's ends");
		order = i == ends->in_cnt    ? 1
			: o == ends->out_cnt ? -1
					     : by_channel(&ends->in[i], &ends->out[o]);
		rc = order == 0 ? check_cut(ends, m, &ends->in[i], &ends->out[o]) : 0;
		if (rc != 0)
			return rc;
		rc = order < 0	 ? lone_end(ends, m, &ends->in[i], true)
		     : order > 0 ? lone_end(ends, m, &ends->out[o], false)
				 : 0;
		if (rc != 0)
			return rc;
		i += order <= 0;
		o += order >= 0;
	}
	return 0;
}

int
weir_manifest_check_channels(const struct weir_manifest *m, struct weir_manifest_pool *pool,
			     struct weir_error *err)
{
	struct totals totals = { 0 };
	struct ends ends = { .err = err };

	if (each_subtask(m, add_totals, &totals) != 0)
		return err->code;
	ends.in = weir_manifest_pool_take(pool, totals.inputs, sizeof(*ends.in));
	ends.out = weir_manifest_pool_take(pool, totals.outputs, sizeof(*ends.out));
	if (pool->failed)
		return memory_out(err);
	if (each_subtask(m, add_ends, &ends) != 0)
		return err->code;
	if (ends.in_cnt > 1)
		qsort(ends.in, ends.in_cnt, sizeof(*ends.in), by_channel);
	if (ends.out_cnt > 1)
		qsort(ends.out, ends.out_cnt, sizeof(*ends.out), by_channel);
	return match_ends(&ends, m);
}

/*
 * The frames of a recovery: read out of CHANNEL segments, proven, and put where recovery.c decided:
 * as they are, or row by row into one frame per new consumer. A frame's place in its lane is its
 * place in the old channel, so order is kept; what a consumer gets no row of, it gets as an empty
 * frame with the watermark.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/recovery_priv.h"
#include "engine/state/backend.h"

struct reading {
	struct weir_recovery *r;
	struct weir_frame_pool *pool;
	const char *bytes; /* of the segment */
	uint32_t operator_idx, subtask, idx;
	struct weir_error *err;
};

static int
bad(const struct reading *rd, const struct weir_recovery_old *o, uint64_t seq, const char *why)
{
	const struct weir_manifest *m = rd->r->m;
	const struct weir_manifest_edge *e = &m->edges[o->manifest_edge];

	return weir_fail(rd->err, WEIR_ERR_DATA,
			 "channel '%s' %" PRIu32 " -> '%s' %" PRIu32 " frame %" PRIu64 ": %s",
			 m->operators[e->from_idx].id, o->producer, m->operators[e->to_idx].id,
			 o->consumer, seq, why);
}

static bool
heap_fits(const struct weir_layout *l, const struct weir_frame *frame)
{
	for (uint32_t i = 0; i < l->active_cnt; i++) {
		const uint32_t c = l->active[i];
		const struct weir_bytes *v = (const void *)((const char *)frame + l->off[c]);

		for (uint32_t k = 0; l->kind[c] == WEIR_KIND_BYTES && k < frame->rows; k++)
			if (v[k].off > frame->heap_len || v[k].len > frame->heap_len - v[k].off)
				return false;
	}
	return true;
}

/* The checksum has proven the bytes; this proves that they mean what they are taken for. */
static const char *
misfit(const struct weir_layout *l, const struct weir_frame *frame, uint32_t length)
{
	if (frame->magic != WEIR_FRAME_MAGIC)
		return "is none";
	if (frame->rows > l->cap || frame->heap_len > l->heap_bytes)
		return "holds more than a frame can";
	if (weir_frame_bytes(l, frame) > length)
		return "is shorter than its rows";
	return heap_fits(l, frame) ? NULL : "names bytes that it does not hold";
}

static int
take(const struct reading *rd, const struct weir_recovery_old *o, uint64_t seq,
     struct weir_recovery_new *n, uint32_t place, struct weir_frame **frame)
{
	if (n->frames[place] != WEIR_FRAME_NONE)
		return bad(rd, o, seq, "came twice");
	n->frames[place] = weir_frame_acquire(rd->pool);
	/* The pool was made larger by as many. */
	WEIR_ASSERT(n->frames[place] != WEIR_FRAME_NONE);
	*frame = weir_frame_at(rd->pool, n->frames[place]);
	return 0;
}

static void
copy_row(const struct weir_layout *l, struct weir_frame *to, const struct weir_frame *from,
	 uint32_t row)
{
	for (uint32_t i = 0; i < l->active_cnt; i++) {
		const uint32_t c = l->active[i];
		const size_t width = l->width[c];
		char *t = (char *)to + l->off[c] + to->rows * width;

		memcpy(t, (const char *)from + l->off[c] + row * width, width);
		if (l->kind[c] == WEIR_KIND_BYTES) {
			struct weir_bytes *v = (void *)t;

			memcpy((char *)to + l->heap_off + to->heap_len,
			       (const char *)from + l->heap_off + v->off, v->len);
			v->off = to->heap_len;
			to->heap_len += v->len;
		}
	}
	to->rows++;
}

/* Each row belongs to exactly one of the old channel's lanes. */
static int
put_split(const struct reading *rd, const struct weir_recovery_old *o, uint64_t seq, uint32_t place,
	  struct weir_frame *frame)
{
	const struct weir_plan *plan = rd->r->plan;
	const struct weir_plan_edge *e = &plan->edge[o->edge];
	const uint32_t is = plan->op[e->to].parallelism;
	_Alignas(WEIR_LINE) char pack[WEIR_BATCH_ROWS * WEIR_KEY_FIXED_MAX];
	uint64_t hash[WEIR_BATCH_ROWS];
	struct weir_batch batch;
	uint32_t rows = 0;

	weir_frame_batch(&e->layout, frame, &batch);
	weir_key_hashes(&e->key, &batch, pack, hash);
	for (uint32_t i = 0; i < o->lane_cnt; i++) {
		struct weir_recovery_new *n = rd->r->lane[o->lane_first + i];
		struct weir_frame *to;
		const int rc = take(rd, o, seq, n, place, &to);

		if (rc != 0)
			return rc;
		*to = *frame;
		to->edge = o->edge;
		to->rows = 0;
		to->heap_len = 0;
		for (uint32_t k = 0; k < frame->rows; k++)
			if (weir_emitter_subtask(hash[k], plan->max_parallelism_log2, is) ==
			    n->consumer)
				copy_row(&e->layout, to, frame, k);
		rows += to->rows;
	}
	return rows == frame->rows ? 0 : bad(rd, o, seq, "holds keys of another subtask");
}

static int
put_whole(const struct reading *rd, const struct weir_recovery_old *o, uint64_t seq, uint32_t place,
	  const struct weir_frame *frame, uint32_t length)
{
	struct weir_frame *to;
	const int rc = take(rd, o, seq, rd->r->lane[o->lane_first], place, &to);

	if (rc != 0)
		return rc;
	memcpy(to, frame, length);
	to->edge = o->edge;
	return 0;
}

static int
put_frame(const struct reading *rd, const struct weir_recovery_old *o, uint32_t place,
	  const struct weir_manifest_frame *f)
{
	const struct weir_layout *l = &rd->r->plan->edge[o->edge].layout;
	const uint32_t most = rd->pool->buffer_bytes - WEIR_FRAME_HEADROOM;
	/* 64-byte aligned in a segment that starts on a page. */
	struct weir_frame *frame = (void *)(uintptr_t)(rd->bytes + f->offset);
	const char *why = f->length > most ? "is longer than a frame" : misfit(l, frame, f->length);

	if (why != NULL)
		return bad(rd, o, f->seq, why);
	return o->split ? put_split(rd, o, f->seq, place, frame)
			: put_whole(rd, o, f->seq, place, frame, f->length);
}

/* Those of the list that lie in the segment at hand; the first of them is number place. */
static int
put_list(const struct reading *rd, const struct weir_recovery_old *o, uint32_t place,
	 const struct weir_manifest_frame *list, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		int rc;

		if (list[i].segment != rd->idx)
			continue;
		rc = put_frame(rd, o, place + i, &list[i]);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int
weir_recovery_segment(struct weir_recovery *r, struct weir_frame_pool *pool, uint32_t operator_idx,
		      uint32_t subtask, uint32_t idx, const void *bytes, struct weir_error *err)
{
	const struct reading rd = { r, pool, bytes, operator_idx, subtask, idx, err };

	for (uint32_t i = 0; i < r->old_cnt; i++) {
		const struct weir_recovery_old *o = &r->old[i];
		const struct weir_manifest_edge *e = &r->m->edges[o->manifest_edge];
		const uint32_t at_input = o->in != NULL ? o->in->frame_cnt : 0;
		int rc = 0;

		if (o->in != NULL && e->to_idx == operator_idx && o->consumer == subtask)
			rc = put_list(&rd, o, 0, o->in->frames, at_input);
		if (rc == 0 && o->out != NULL && e->from_idx == operator_idx &&
		    o->producer == subtask)
			rc = put_list(&rd, o, at_input, o->out->frames, o->out->frame_cnt);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int
weir_recovery_finish(struct weir_recovery *r, struct weir_error *err)
{
	const struct reading rd = { .r = r, .err = err };

	for (uint32_t i = 0; i < r->lane_cnt; i++) {
		const struct weir_recovery_new *n = r->lane[i];

		for (uint32_t k = 0; k < n->lane.frame_cnt; k++)
			if (n->frames[k] == WEIR_FRAME_NONE)
				return bad(&rd, &r->old[n->old], k + 1,
					   "of those in flight is in no file");
	}
	return 0;
}

void
weir_recovery_drain(struct weir_recovery *r, struct weir_frame_pool *pool)
{
	for (uint32_t i = 0; r != NULL && i < r->lane_cnt; i++) {
		struct weir_recovery_new *n = r->lane[i];
		uint32_t left = weir_recovered_drain(&n->lane, n->frames);

		while (left-- > 0)
			if (n->frames[left] != WEIR_FRAME_NONE)
				weir_frame_release(pool, n->frames[left]);
	}
}

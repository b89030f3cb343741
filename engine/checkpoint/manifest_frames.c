/* The checks of frames in flight: where they lie, and that their numbers follow (§0). */
#include <inttypes.h>
#include <stdlib.h>

#include "engine/checkpoint/manifest_priv.h"

#define FRAME_ALIGN 64u

/* Where a frame of the subtask lies. */
struct place {
	uint32_t segment;
	uint64_t offset;
	uint64_t length;
};

static int
by_place(const void *pa, const void *pb)
{
	const struct place *a = pa;
	const struct place *b = pb;

	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

bool
weir_manifest_frames_follow(const struct weir_manifest_frame *frames, uint32_t cnt, uint64_t first,
			    uint32_t *at)
{
	uint32_t i;

	for (i = 0; i < cnt; i++)
		if (frames[i].seq != first + i) {
			*at = i;
			return false;
		}
	return true;
}

struct frames {
	const struct weir_manifest_operator *op;
	const struct weir_manifest_subtask *sub;
	uint32_t subtask;
	struct place *places;
	uint64_t cnt;
	struct weir_error *err;
};

static int
bad(const struct frames *f, uint64_t seq, const char *why)
{
	return weir_fail(f->err, WEIR_ERR_DATA,
			 "operator \"%s\" subtask %" PRIu32 " frame %" PRIu64 ": %s", f->op->id,
			 f->subtask, seq, why);
}

static int
add(struct frames *f, const struct weir_manifest_frame *frames, uint32_t cnt)
{
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		const struct weir_manifest_frame *fr = &frames[i];
		const struct weir_segment *seg;

		if (fr->segment >= f->sub->segment_cnt)
			return bad(f, fr->seq, "its segment is not there");
		seg = &f->sub->segments[fr->segment].seg;
		if (seg->kind != WEIR_SEGMENT_CHANNEL)
			return bad(f, fr->seq, "its segment holds no frames");
		if (f->sub->segments[fr->segment].stale)
			return bad(f, fr->seq, "its segment is an earlier checkpoint's");
		if (fr->length < WEIR_MANIFEST_FRAME_MIN)
			return bad(f, fr->seq, "it is shorter than a frame's header");
		if (fr->offset < FRAME_ALIGN || fr->offset % FRAME_ALIGN != 0)
			return bad(f, fr->seq, "its offset is no multiple of 64 behind the header");
		if (fr->offset > seg->used || fr->length > seg->used - fr->offset)
			return bad(f, fr->seq, "it leaves its segment");
		f->places[f->cnt++] = (struct place){ fr->segment, fr->offset, fr->length };
	}
	return 0;
}

int
weir_manifest_check_frames(const struct weir_manifest *m, struct weir_manifest_pool *pool,
			   uint32_t operator_idx, uint32_t subtask, struct weir_error *err)
{
	const struct weir_manifest_operator *op = &m->operators[operator_idx];
	const struct weir_manifest_subtask *sub = &op->subtasks[subtask];
	struct frames f = { .op = op, .sub = sub, .subtask = subtask, .err = err };
	uint64_t total = 0;
	uint64_t i;

	for (i = 0; i < sub->input_cnt; i++)
		total += sub->inputs[i].frame_cnt;
	for (i = 0; i < sub->output_cnt; i++)
		total += sub->outputs[i].frame_cnt;
	f.places = weir_manifest_pool_take(pool, total, sizeof(*f.places));
	if (f.places == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "out of memory");
	for (i = 0; i < sub->input_cnt; i++)
		if (add(&f, sub->inputs[i].frames, sub->inputs[i].frame_cnt) != 0)
			return err->code;
	for (i = 0; i < sub->output_cnt; i++)
		if (add(&f, sub->outputs[i].frames, sub->outputs[i].frame_cnt) != 0)
			return err->code;
	if (f.cnt > 1)
		qsort(f.places, f.cnt, sizeof(*f.places), by_place);
	for (i = 1; i < f.cnt; i++) {
		const struct place *a = &f.places[i - 1];
		const struct place *b = &f.places[i];

		if (a->segment == b->segment && b->offset - a->offset < a->length)
			return weir_fail(err, WEIR_ERR_DATA,
					 "operator \"%s\" subtask %" PRIu32 ": frames at %" PRIu64
					 " and %" PRIu64 " of segment %" PRIu32 " overlap",
					 op->id, subtask, a->offset, b->offset, a->segment);
	}
	return 0;
}

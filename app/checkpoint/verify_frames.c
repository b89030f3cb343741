#include "app/checkpoint/verify_frames.h"

#include <inttypes.h>
#include <string.h>

/* A frame's header, little-endian: u32 magic, edge, rows, length of the heap; 64 bytes in all. */
#define FRAME_MAGIC  "MRFW"
#define FRAME_HEADER 64u
#define ROWS_MAX     256u

struct lying {
	const struct weir_manifest *m;
	const struct weir_manifest_segment *ms;
	const struct weir_manifest_subtask *sub;
	const uint8_t *bytes;
	struct weir_error *err;
};

static uint32_t
le32(const uint8_t *b)
{
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static const char *
misfit(const uint8_t *frame, uint32_t length, const uint8_t *first)
{
	const uint32_t rows = le32(frame + 8);
	const uint32_t heap = le32(frame + 12);

	if (memcmp(frame, FRAME_MAGIC, 4) != 0)
		return "there is no frame";
	if (le32(frame + 4) != le32(first + 4))
		return "it is of another edge";
	if (rows > ROWS_MAX)
		return "it has more rows than a frame can have";
	if (heap > length - FRAME_HEADER || (rows == 0) != (length == FRAME_HEADER))
		return "its length is not that of its rows";
	return NULL;
}

/* The list of one end of a channel; frames of one edge say so alike. */
static int
verify_list(const struct lying *l, uint32_t edge_idx, const struct weir_manifest_frame *list,
	    uint32_t cnt)
{
	const struct weir_manifest_edge *e = &l->m->edges[edge_idx];
	const uint8_t *first = NULL;

	for (uint32_t i = 0; i < cnt; i++) {
		const struct weir_manifest_segment *in = &l->sub->segments[list[i].segment];
		const uint8_t *frame = l->bytes + list[i].offset;
		const char *why;

		if (in->file_idx != l->ms->file_idx || in->seg.offset != l->ms->seg.offset)
			continue;
		first = first == NULL ? frame : first;
		why = misfit(frame, list[i].length, first);
		if (why != NULL)
			return weir_fail(
				l->err, WEIR_ERR_DATA,
				"edge '%s' -> '%s' subtask %" PRIu32 " frame %" PRIu64 ": %s",
				l->m->operators[e->from_idx].id, l->m->operators[e->to_idx].id,
				l->ms->seg.subtask, list[i].seq, why);
	}
	return 0;
}

int
weir_checkpoint_verify_frames(const struct weir_manifest *m, const struct weir_manifest_segment *ms,
			      const uint8_t *bytes, struct weir_error *err)
{
	const struct lying l = { m, ms,
				 &m->operators[ms->seg.operator_idx].subtasks[ms->seg.subtask],
				 bytes, err };
	int rc = 0;

	if (ms->seg.kind != WEIR_SEGMENT_CHANNEL)
		return 0;
	for (uint32_t i = 0; i < l.sub->input_cnt && rc == 0; i++)
		rc = verify_list(&l, l.sub->inputs[i].edge_idx, l.sub->inputs[i].frames,
				 l.sub->inputs[i].frame_cnt);
	for (uint32_t i = 0; i < l.sub->output_cnt && rc == 0; i++)
		rc = verify_list(&l, l.sub->outputs[i].edge_idx, l.sub->outputs[i].frames,
				 l.sub->outputs[i].frame_cnt);
	return rc;
}

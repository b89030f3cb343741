#ifndef WEIR_TESTS_UNIT_ENGINE_CHECKPOINT_SAMPLE_H
#define WEIR_TESTS_UNIT_ENGINE_CHECKPOINT_SAMPLE_H

/* A small valid manifest: source (2 subtasks) -> count (2, keyed state) -> sink (1). */

#include "engine/checkpoint/manifest.h"

struct sample {
	struct weir_manifest_hook hook[2];
	struct weir_manifest m;
	struct weir_manifest_operator op[3];
	struct weir_manifest_subtask source[2], count[2], sink[1];
	struct weir_manifest_state state[1];
	struct weir_manifest_opstate opstate[2]; /* count has the first */
	struct weir_manifest_segment seg[4];	 /* count: state and blob of subtask 0, of 1 */
	struct weir_manifest_split split[1];
	struct weir_manifest_output source_out[2][2], count_out[2];
	struct weir_manifest_input count_in[2][2], sink_in[2];
	struct weir_manifest_edge edge[2];
	struct weir_manifest_file file[2];
	const char *reason[2];
	uint64_t dropped[2][2];
	uint32_t finished_split[2];
	uint64_t position[8];
	struct weir_manifest_segment frame_seg[2], count_seg[3];
	struct weir_manifest_frame in_frame[2], out_frame[1];
};

/* The sample points into itself: do not copy it. */
void sample_init(struct sample *s);

/* Put three frames in flight on the channel lines 0 -> count 0. */
void sample_in_flight(struct sample *s);

#endif /* WEIR_TESTS_UNIT_ENGINE_CHECKPOINT_SAMPLE_H */

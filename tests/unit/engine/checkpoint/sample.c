#include "tests/unit/engine/checkpoint/sample.h"

#include <string.h>

static void
fill_channels(struct sample *s)
{
	uint32_t p, c;

	for (p = 0; p < 2; p++)
		for (c = 0; c < 2; c++) {
			s->source_out[p][c] =
				(struct weir_manifest_output){ 0, c, 10 * p + c, NULL, 0 };
			s->count_in[c][p] = (struct weir_manifest_input){
				.edge_idx = 0,
				.producer = p,
				.processed_seq = 10 * p + c,
				.watermark_ns = -5,
				.idle = p == 1,
			};
		}
	for (p = 0; p < 2; p++) {
		s->count_out[p] = (struct weir_manifest_output){ 1, 0, 100 + p, NULL, 0 };
		s->sink_in[p] = (struct weir_manifest_input){
			.edge_idx = 1, .producer = p, .processed_seq = 100 + p, .watermark_ns = 9
		};
		s->source[p].outputs = s->source_out[p];
		s->source[p].output_cnt = 2;
		s->count[p].inputs = s->count_in[p];
		s->count[p].input_cnt = 2;
		s->count[p].outputs = &s->count_out[p];
		s->count[p].output_cnt = 1;
	}
	s->sink[0].inputs = s->sink_in;
	s->sink[0].input_cnt = 2;
	s->edge[0] = (struct weir_manifest_edge){
		0, 1, 0, "hash", 0x1234567890abcdefull, WEIR_EDGE_UNALIGNED
	};
	s->edge[1] = (struct weir_manifest_edge){ 1, 2, 0, "rebalance", 1, WEIR_EDGE_FORCED };
}

static void
fill_segments(struct sample *s)
{
	uint32_t i;

	for (i = 0; i < 4; i++) {
		const uint32_t subtask = i / 2;

		s->seg[i].seg = (struct weir_segment){
			.kind = i % 2 == 0 ? WEIR_SEGMENT_STATE : WEIR_SEGMENT_BLOB,
			.operator_idx = 1,
			.subtask = subtask,
			.offset = i % 2 == 0 ? 4096 : 12288,
			.length = i == 1 ? 4096 : 8192,
			.used = i == 1 ? 4000 : 5000 + i,
			.crc = 0xabcd0000u + i,
			.page_cnt = i + 1,
			.entry_cnt = 77,
			.hash_first = subtask == 0 ? 0 : 1ull << 63,
			.hash_last = subtask == 0 ? (1ull << 63) - 1 : UINT64_MAX,
		};
		s->seg[i].file_idx = subtask;
	}
	for (i = 0; i < 2; i++) {
		s->count[i].segments = &s->seg[2 * i];
		s->count[i].segment_cnt = 2;
	}
	s->file[0] = (struct weir_manifest_file){ "3-17-0.dat", 16384 };
	s->file[1] = (struct weir_manifest_file){ "3-17-1.dat", 20480 };
}

static void
fill_operators(struct sample *s)
{
	s->reason[0] = "late";
	s->reason[1] = "not-ip";
	s->dropped[0][0] = 1;
	s->dropped[1][1] = 1000;
	s->source[0].dropped = s->dropped[0];
	s->source[1].dropped = s->dropped[1];
	s->source[0].dropped_cnt = s->source[1].dropped_cnt = 2;
	s->finished_split[0] = 0;
	s->finished_split[1] = 4;
	s->source[0].finished_splits = s->finished_split;
	s->source[0].finished_split_cnt = 2;
	s->position[0] = 4711;
	s->split[0].split_idx = 2;
	s->split[0].position = (struct weir_blob){ s->position, sizeof(s->position) };
	s->source[1].current_splits = s->split;
	s->source[1].current_split_cnt = 1;
	s->source[1].watermark_ns = INT64_MIN;
	s->source[1].rows_out = UINT64_MAX;
	s->sink[0].blob = (struct weir_blob){ "part-sink-0-3", 13 };
	s->sink[0].rows_in = 12;
	s->opstate[0] = (struct weir_manifest_opstate){ "marks", 1, 0, 0, "mark" };
	s->opstate[1] = (struct weir_manifest_opstate){ "rules", 3, 8, 16, "" };
	s->state[0] = (struct weir_manifest_state){ "counts", 0, 8, 16, "u64", "count" };
	s->op[0] = (struct weir_manifest_operator){ .id = "lines",
						    .type = "source",
						    .reasons = s->reason,
						    .reason_cnt = 2,
						    .subtasks = s->source,
						    .subtask_cnt = 2,
						    .coordinator = { "splits", 6 } };
	s->op[1] = (struct weir_manifest_operator){ .id = "count",
						    .type = "reduce",
						    .states = s->state,
						    .state_cnt = 1,
						    .opstates = s->opstate,
						    .opstate_cnt = 1,
						    .subtasks = s->count,
						    .subtask_cnt = 2 };
	s->op[2] = (struct weir_manifest_operator){
		.id = "result", .type = "sink", .subtasks = s->sink, .subtask_cnt = 1
	};
}

void
sample_in_flight(struct sample *s)
{
	uint32_t i;

	s->file[0].length += 12288;
	s->file[1].length += 12288;
	for (i = 0; i < 2; i++) {
		s->frame_seg[i].seg = (struct weir_segment){
			.kind = WEIR_SEGMENT_CHANNEL,
			.operator_idx = i,
			.offset = i == 0 ? 16384 : 20480,
			.length = 12288,
			.used = 12288,
		};
		s->frame_seg[i].file_idx = i;
	}
	s->count_seg[0] = s->seg[0];
	s->count_seg[1] = s->frame_seg[1];
	s->count_seg[2] = s->seg[1];
	s->source[0].segments = s->frame_seg;
	s->source[0].segment_cnt = 1;
	s->count[0].segments = s->count_seg;
	s->count[0].segment_cnt = 3;
	/* lines 0 -> count 0: processed 7; 8 and 9 kept at the input, 10 at the output. */
	s->in_frame[0] = (struct weir_manifest_frame){ 8, 4352, 1, 1000 };
	s->in_frame[1] = (struct weir_manifest_frame){ 9, 8448, 1, 64 };
	s->out_frame[0] = (struct weir_manifest_frame){ 10, 4352, 0, 4000 };
	s->count_in[0][0].processed_seq = 7;
	s->count_in[0][0].frames = s->in_frame;
	s->count_in[0][0].frame_cnt = 2;
	s->source_out[0][0].produced_seq = 10;
	s->source_out[0][0].frames = s->out_frame;
	s->source_out[0][0].frame_cnt = 1;
}

void
sample_init(struct sample *s)
{
	memset(s, 0, sizeof(*s));
	fill_channels(s);
	fill_segments(s);
	fill_operators(s);
	s->hook[0] = (struct weir_manifest_hook){ "offsets", { "17 at 4711", 10 } };
	s->hook[1] = (struct weir_manifest_hook){ "empty", { 0 } };
	s->m = (struct weir_manifest){
		.weir_version = "0.1.0",
		.job = "wordcount",
		.run_id = "00112233445566778899aabbccddeeff",
		.attempt = 3,
		.checkpoint_id = 17,
		.kind = WEIR_MANIFEST_PERIODIC,
		.max_parallelism = 128,
		.trigger_ns = 1234567890123456789,
		.operators = s->op,
		.operator_cnt = 3,
		.edges = s->edge,
		.edge_cnt = 2,
		.files = s->file,
		.file_cnt = 2,
		.hooks = s->hook,
		.hook_cnt = 2,
	};
}

#include "engine/checkpoint/manifest.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/crc32c.h"
#include "tests/unit/engine/checkpoint/sample.h"

static struct sample s;
static uint8_t *bytes;
static size_t len;
static struct weir_error err;

static void
setup(void)
{
	sample_init(&s);
	cr_assert_eq(weir_manifest_encode(&s.m, &bytes, &len, &err), 0, "%s", err.text);
}

static void
teardown(void)
{
	weir_manifest_bytes_free(bytes);
}

TestSuite(manifest, .init = setup, .fini = teardown);

/* The sample, changed by the caller, is refused both ways with a text that holds `part`. */
static void
refused(const char *part)
{
	uint8_t *out = NULL;
	size_t out_len = 7;

	memset(&err, 0, sizeof(err));
	cr_assert_eq(weir_manifest_encode(&s.m, &out, &out_len, &err), WEIR_ERR_DATA, "not: %s",
		     part);
	cr_assert_not_null(strstr(err.text, part), "\"%s\" is not in \"%s\"", part, err.text);
	cr_assert_null(out);
	cr_assert_eq(out_len, 7);
	sample_init(&s);
}

static void
accepted(void)
{
	uint8_t *out;
	size_t out_len;

	cr_assert_eq(weir_manifest_encode(&s.m, &out, &out_len, &err), 0, "%s", err.text);
	weir_manifest_bytes_free(out);
}

Test(manifest, what_goes_in_comes_out)
{
	struct weir_manifest *m = NULL;
	uint8_t *again;
	size_t again_len;

	cr_assert_eq(weir_manifest_decode(bytes, len, &m, &err), 0, "%s", err.text);
	cr_assert_str_eq(m->job, "wordcount");
	cr_assert_str_eq(m->run_id, s.m.run_id);
	cr_assert_eq(m->trigger_ns, s.m.trigger_ns);
	cr_assert_eq(m->operator_cnt, 3);
	cr_assert_str_eq(m->operators[0].reasons[1], "not-ip");
	cr_assert_str_eq(m->operators[1].states[0].key_type, "u64");
	cr_assert_str_eq(m->operators[1].states[0].value_type, "count");
	cr_assert_eq(m->operators[0].subtasks[1].dropped[1], 1000);
	cr_assert_eq(m->operators[0].subtasks[1].watermark_ns, INT64_MIN);
	cr_assert_eq(m->operators[0].subtasks[1].rows_out, UINT64_MAX);
	cr_assert_eq(m->operators[0].subtasks[0].finished_splits[1], 4);
	cr_assert_eq(m->operators[0].subtasks[1].current_splits[0].position.len, 64);
	cr_assert_eq((uintptr_t)m->operators[0].subtasks[1].current_splits[0].position.bytes % 16,
		     0);
	cr_assert_arr_eq(m->operators[0].subtasks[1].current_splits[0].position.bytes, s.position,
			 64);
	cr_assert_arr_eq(m->operators[0].coordinator.bytes, "splits", 6);
	cr_assert_null(m->operators[1].coordinator.bytes);
	cr_assert_arr_eq(&m->operators[1].subtasks[1].segments[1], &s.seg[3], sizeof(s.seg[3]));
	cr_assert_arr_eq(m->operators[1].subtasks[0].inputs, s.count_in[0], sizeof(s.count_in[0]));
	cr_assert_arr_eq(m->operators[1].subtasks[1].outputs, &s.count_out[1],
			 sizeof(s.count_out[1]));
	cr_assert_str_eq(m->files[1].name, "3-17-1.dat");
	cr_assert_str_eq(m->edges[1].partitioner, "rebalance");
	cr_assert_eq(m->hook_cnt, 2);
	cr_assert_str_eq(m->hooks[0].name, "offsets");
	cr_assert_arr_eq(m->hooks[0].state.bytes, "17 at 4711", 10);
	/* All other fields too: the copy is written to the same bytes. */
	cr_assert_eq(weir_manifest_encode(m, &again, &again_len, &err), 0, "%s", err.text);
	cr_assert_eq(again_len, len);
	cr_assert_arr_eq(again, bytes, len);
	weir_manifest_bytes_free(again);
	weir_manifest_destroy(m);
}

Test(manifest, any_flipped_byte_is_refused)
{
	struct weir_manifest *m = NULL;
	size_t i;
	int bit;

	for (i = 0; i < len; i++)
		for (bit = 0; bit < 8; bit++) {
			bytes[i] ^= (uint8_t)(1 << bit);
			err.text[0] = '\0';
			cr_assert_eq(weir_manifest_decode(bytes, len, &m, &err), WEIR_ERR_DATA,
				     "byte %zu bit %d", i, bit);
			cr_assert_null(m);
			cr_assert(strncmp(err.text, "header: ", 8) == 0 ||
					  strncmp(err.text, "payload: ", 9) == 0,
				  "%s", err.text);
			bytes[i] ^= (uint8_t)(1 << bit);
		}
}

Test(manifest, any_truncation_and_any_surplus_is_refused)
{
	struct weir_manifest *m = NULL;
	uint8_t *exact;
	size_t i;

	for (i = 0; i < len; i++) {
		/* Memory of the exact size: a sanitizer sees a read behind it. */
		exact = malloc(i + 1);
		memcpy(exact, bytes, i);
		cr_assert_eq(weir_manifest_decode(exact, i, &m, &err), WEIR_ERR_DATA, "%zu", i);
		cr_assert_not_null(strstr(err.text, "cut short"), "%s", err.text);
		free(exact);
	}
	exact = calloc(1, len + 1);
	memcpy(exact, bytes, len);
	cr_assert_eq(weir_manifest_decode(exact, len + 1, &m, &err), WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, "surplus"), "%s", err.text);
	free(exact);
	cr_assert_null(m);
}

Test(manifest, a_newer_format_is_named)
{
	struct weir_manifest *m = NULL;

	bytes[8] = 2;
	cr_assert_eq(weir_manifest_decode(bytes, len, &m, &err), WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, "format version 2"), "%s", err.text);
}

Test(manifest, head_and_files)
{
	s.m.job = "";
	refused("head: job is empty");
	s.m.run_id = "00112233445566778899AABBCCDDEEFF";
	refused("run id");
	s.m.attempt = 0;
	refused("attempt");
	s.m.checkpoint_id = 0;
	refused("checkpoint id");
	s.m.kind = 7;
	refused("unknown kind 7");
	s.m.max_parallelism = 96;
	refused("no power of two");
	s.m.operator_cnt = 0;
	s.m.edge_cnt = 0;
	refused("no operators");
	s.file[1].name = "3-17-0.dat";
	refused("\"3-17-0.dat\" stands there twice");
	s.file[1].name = "../x";
	refused("leaves the data directory");
	s.file[0].length = 100;
	refused("file 0: length 100");
}

Test(manifest, hooks) /* K15 */
{
	s.hook[1].name = "offsets";
	refused("hooks: name \"offsets\" stands there twice");
	s.hook[0].name = "";
	refused("hooks: name");
}

Test(manifest, operators)
{
	s.op[2].id = "lines";
	refused("id \"lines\" stands there twice");
	s.op[1].type = NULL;
	refused("operator \"count\": type is empty");
	s.op[1].subtask_cnt = 0;
	refused("parallelism 0");
	s.m.max_parallelism = 1;
	refused("parallelism 2");
	s.source[1].dropped_cnt = 1;
	refused("operator \"lines\" subtask 1: 1 drop counters for 2 reasons");
	s.op[2].finished = true;
	refused("runs, though its operator is finished");
	s.sink[0].finished = true;
	refused("runs, though all its subtasks are finished");
	s.state[0].key_bytes = 0;
	refused("state 0: key length 0");
	s.state[0].key_kind = 1;
	refused("key length 8");
	s.state[0].value_bytes = 1025;
	refused("value length 1025");
	s.split[0].split_idx = 4;
	refused("operator \"lines\": split 4 has two readers");
}

/* R5 */
Test(manifest, operator_states)
{
	s.opstate[0].name = "";
	refused("operator state 0: name is empty");
	s.opstate[0].name = "counts";
	refused("state \"counts\" stands there twice");
	s.opstate[0].kind = 4;
	refused("operator state 0: unknown kind");
	s.opstate[0].key_bytes = 1;
	refused("key length does not fit its kind");
	s.opstate[0].item_bytes = 32769;
	refused("items are too long");
	s.op[1].opstate_cnt = 9;
	refused("9 operator states");
	s.op[1].opstate_cnt = 2;
	refused("operator \"count\" subtask 0: nothing of its state \"rules\"");
	s.op[1].opstate_cnt = 0;
	refused("operator \"count\" subtask 0 segment 1: names operator state 0 of 0");
	s.count[1].segment_cnt = 1;
	refused("operator \"count\" subtask 1: nothing of its state \"marks\"");
	s.seg[3].seg.used = 127;
	refused("subtask 1 segment 1: 127 bytes used");
}

Test(manifest, segments)
{
	s.seg[3].seg.kind = WEIR_SEGMENT_CANONICAL + 1;
	refused("operator \"count\" subtask 1 segment 1: kind 6 cannot be here");
	s.seg[0].seg.subtask = 1;
	refused("belongs to operator 1 subtask 1");
	s.seg[0].file_idx = 2;
	refused("names file 2 of 2");
	s.seg[0].seg.state_idx = 1;
	refused("names state 1 of 1");
	s.seg[0].seg.offset = 0;
	refused("offset 0");
	s.seg[0].seg.offset = 4097;
	refused("offset 4097");
	s.seg[0].seg.length = 0;
	refused("length 0");
	s.seg[0].seg.length = 16384;
	refused("16384 bytes at 4096 leave the 16384");
	s.seg[0].seg.offset = UINT64_MAX - 4095;
	refused("leave the 16384");
	s.seg[0].seg.used = 8193;
	refused("8193 bytes used");
	s.seg[0].seg.hash_first = UINT64_MAX;
	refused("upside down");
	s.seg[3].seg.offset = 8192;
	refused("file 3-17-1.dat: segments at 4096 and 8192 overlap");
}

Test(manifest, channels)
{
	s.count_in[1][0].processed_seq++;
	refused("channel \"lines\" 0 -> \"count\" 1: last frame produced and last processed");
	s.count_in[1][0].edge_idx = 2;
	refused("edge 2 of 2");
	s.count_in[1][0].edge_idx = 1;
	refused("which is another's");
	s.count_in[1][0].producer = 2;
	refused("subtask 2 of 2 of \"lines\"");
	s.count_in[0][1].producer = 0;
	refused("has two consumer's ends");
	s.source_out[0][1].consumer = 0;
	refused("has two producer's ends");
	s.count[1].input_cnt = 1;
	refused("channel \"lines\" 1 -> \"count\" 1: the consumer's end is missing");
	s.count[1].output_cnt = 0;
	refused("channel \"count\" 1 -> \"result\" 0: the producer's end is missing");
	s.edge[1].alignment = 3;
	refused("edge 1: unknown alignment 3");
	s.edge[0].to_idx = 3;
	refused("edge 0: names operator 3 of 3");
}

Test(manifest, a_finished_subtask_may_leave_its_ends_out)
{
	s.count[1].finished = true;
	s.count[1].output_cnt = 0;
	s.count[1].input_cnt = 0;
	accepted();
}

Test(manifest, frames_in_flight_come_out_as_they_went_in)
{
	struct weir_manifest *m = NULL;
	uint8_t *out, *again;
	size_t out_len, again_len;

	sample_in_flight(&s);
	s.count_in[0][1].virtual_channel = false;
	cr_assert_eq(weir_manifest_encode(&s.m, &out, &out_len, &err), 0, "%s", err.text);
	cr_assert_eq(weir_manifest_decode(out, out_len, &m, &err), 0, "%s", err.text);
	cr_assert_eq(m->operators[1].subtasks[0].inputs[0].frame_cnt, 2);
	cr_assert_arr_eq(m->operators[1].subtasks[0].inputs[0].frames, s.in_frame,
			 sizeof(s.in_frame));
	cr_assert_arr_eq(m->operators[0].subtasks[0].outputs[0].frames, s.out_frame,
			 sizeof(s.out_frame));
	cr_assert_eq(m->edges[0].layout, 0x1234567890abcdefull);
	cr_assert_eq(m->edges[1].alignment, WEIR_EDGE_FORCED);
	cr_assert_eq(weir_manifest_encode(m, &again, &again_len, &err), 0, "%s", err.text);
	cr_assert_eq(again_len, out_len);
	cr_assert_arr_eq(again, out, out_len);
	weir_manifest_bytes_free(again);
	weir_manifest_bytes_free(out);
	weir_manifest_destroy(m);
}

/* The sample with frames in flight, changed by the statement, is refused. */
#define REFUSED(change, part)                                                                      \
	do {                                                                                       \
		sample_in_flight(&s);                                                              \
		change;                                                                            \
		refused(part);                                                                     \
	} while (0)

Test(manifest, the_cut_of_a_channel_with_frames)
{
	REFUSED(s.in_frame[1].seq = 8, "\"lines\" 0 -> \"count\" 0: the numbers of its frames");
	REFUSED(s.count_in[0][0].processed_seq = 6, "the numbers of its frames do not follow");
	REFUSED(s.out_frame[0].seq = 11, "the numbers of its frames do not follow");
	REFUSED(s.count_in[0][0].frame_cnt = 1, "is not the last one that was kept");
	REFUSED(s.edge[0].alignment = WEIR_EDGE_FORCED, "holds frames, though its edge is");
	REFUSED(s.edge[0].alignment = WEIR_EDGE_ALIGNED, "holds frames, though its edge is");
}

Test(manifest, where_frames_lie)
{
	REFUSED(s.in_frame[0].segment = 3, "subtask 0 frame 8: its segment is not there");
	REFUSED(s.in_frame[0].segment = 0, "frame 8: its segment holds no frames");
	REFUSED(s.in_frame[0].length = 63, "frame 8: it is shorter than");
	REFUSED(s.in_frame[0].offset = 0, "frame 8: its offset");
	REFUSED(s.in_frame[0].offset = 4353, "frame 8: its offset");
	REFUSED(s.in_frame[1].length = 3841, "frame 9: it leaves its segment");
	REFUSED(s.in_frame[1].offset = UINT64_MAX - 63, "frame 9: it leaves its segment");
	REFUSED(s.in_frame[0].length = 4097, "frames at 4352 and 8448 of segment 1 overlap");
}

Test(manifest, a_virtual_channel_has_no_producer)
{
	struct weir_manifest_input in[4];
	uint8_t *out;
	size_t out_len;

	sample_in_flight(&s);
	memcpy(in, s.count_in[0], 2 * sizeof(*in));
	/* What was kept comes from two old channels, one of them of a producer that is no more. */
	in[0].frames = NULL;
	in[0].frame_cnt = 0;
	s.source_out[0][0].produced_seq = 7;
	s.source_out[0][0].frame_cnt = 0;
	in[2] = (struct weir_manifest_input){ .producer = 6,
					      .processed_seq = 7,
					      .virtual_channel = true,
					      .last_seq = 9,
					      .frames = s.in_frame,
					      .frame_cnt = 2 };
	in[3] = in[2];
	in[3].processed_seq = 9;
	in[3].frame_cnt = 0;
	s.count[0].inputs = in;
	s.count[0].input_cnt = 4;
	accepted();
	in[2].last_seq = 10;
	cr_assert_eq(weir_manifest_encode(&s.m, &out, &out_len, &err), WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, "virtual channel are missing"), "%s", err.text);
	in[2].last_seq = 9;
	s.in_frame[1].seq = 10;
	cr_assert_eq(weir_manifest_encode(&s.m, &out, &out_len, &err), WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, "do not follow"), "%s", err.text);
}

Test(manifest, at_least_once_may_have_processed_more) /* T18 */
{
	s.count_in[1][0].processed_seq++;
	s.m.at_least_once = true;
	accepted();
	s.count_in[1][0].processed_seq -= 2;
	refused("last frame produced and last processed differ");
}

/* From protobuf-c's structs to plain ones. What comes out is judged by weir_manifest_check. */
#include "engine/checkpoint/manifest_priv.h"

/*
 * Strings, blobs and arrays of numbers stay where protobuf-c put them: in the same pool. A count of
 * a message fits 32 bits, because a message of more elements is longer than a manifest can be.
 */
_Static_assert(WEIR_MANIFEST_BYTES_MAX <= UINT32_MAX, "counts fit");

#define take(pool, cnt, ptr) ((ptr) = weir_manifest_pool_take(pool, cnt, sizeof(*(ptr))))

static struct weir_blob
blob(ProtobufCBinaryData b)
{
	return (struct weir_blob){ .bytes = b.len == 0 ? NULL : b.data, .len = b.len };
}

static const struct weir_manifest_segment *
unpack_segments(struct weir_manifest_pool *pool, const Weir__Pb__Subtask *pb, uint32_t operator_idx,
		uint32_t subtask)
{
	struct weir_manifest_segment *to;
	size_t i;

	if (!take(pool, pb->n_segments, to))
		return NULL;
	for (i = 0; i < pb->n_segments; i++) {
		const Weir__Pb__Segment *from = pb->segments[i];

		to[i].file_idx = from->file_idx;
		to[i].stale = from->stale;
		to[i].live = blob(from->live);
		to[i].seg = (struct weir_segment){
			.kind = from->kind,
			.operator_idx = operator_idx,
			.subtask = subtask,
			.state_idx = from->state_idx,
			.offset = from->offset,
			.length = from->length,
			.used = from->used,
			.crc = from->crc,
			.page_cnt = from->page_cnt,
			.entry_cnt = from->entry_cnt,
			.hash_first = from->hash_first,
			.hash_last = from->hash_last,
		};
	}
	return to;
}

static const struct weir_manifest_frame *
unpack_frames(struct weir_manifest_pool *pool, Weir__Pb__Frame *const *frames, size_t cnt)
{
	struct weir_manifest_frame *to;
	size_t i;

	if (cnt == 0 || !take(pool, cnt, to))
		return NULL;
	for (i = 0; i < cnt; i++)
		to[i] = (struct weir_manifest_frame){
			.seq = frames[i]->seq,
			.offset = frames[i]->offset,
			.segment = frames[i]->segment,
			.length = frames[i]->length,
		};
	return to;
}

static const struct weir_manifest_input *
unpack_inputs(struct weir_manifest_pool *pool, const Weir__Pb__Subtask *pb)
{
	struct weir_manifest_input *to;
	size_t i;

	if (!take(pool, pb->n_inputs, to))
		return NULL;
	for (i = 0; i < pb->n_inputs; i++) {
		const Weir__Pb__Input *from = pb->inputs[i];

		to[i] = (struct weir_manifest_input){
			.edge_idx = from->edge_idx,
			.producer = from->producer,
			.processed_seq = from->processed_seq,
			.watermark_ns = from->watermark_ns,
			.idle = from->idle,
			.virtual_channel = from->virtual_channel,
			.last_seq = from->last_seq,
			.stage = from->stage,
			.frames = unpack_frames(pool, from->frames, from->n_frames),
			.frame_cnt = (uint32_t)from->n_frames,
		};
	}
	return to;
}

static const struct weir_manifest_output *
unpack_outputs(struct weir_manifest_pool *pool, const Weir__Pb__Subtask *pb)
{
	struct weir_manifest_output *to;
	size_t i;

	if (!take(pool, pb->n_outputs, to))
		return NULL;
	for (i = 0; i < pb->n_outputs; i++) {
		const Weir__Pb__Output *from = pb->outputs[i];

		to[i].edge_idx = from->edge_idx;
		to[i].consumer = from->consumer;
		to[i].produced_seq = from->produced_seq;
		to[i].frames = unpack_frames(pool, from->frames, from->n_frames);
		to[i].frame_cnt = (uint32_t)from->n_frames;
	}
	return to;
}

static const struct weir_manifest_split *
unpack_splits(struct weir_manifest_pool *pool, const Weir__Pb__Subtask *pb)
{
	struct weir_manifest_split *to;
	size_t i;

	if (!take(pool, pb->n_current_splits, to))
		return NULL;
	for (i = 0; i < pb->n_current_splits; i++) {
		to[i].split_idx = pb->current_splits[i]->split_idx;
		to[i].position = blob(pb->current_splits[i]->position);
	}
	return to;
}

static const struct weir_manifest_subtask *
unpack_subtasks(struct weir_manifest_pool *pool, const Weir__Pb__Operator *pb,
		uint32_t operator_idx)
{
	struct weir_manifest_subtask *to;
	size_t i;

	if (!take(pool, pb->n_subtasks, to))
		return NULL;
	for (i = 0; i < pb->n_subtasks; i++) {
		const Weir__Pb__Subtask *from = pb->subtasks[i];

		to[i] = (struct weir_manifest_subtask){
			.finished = from->finished,
			.watermark_ns = from->watermark_ns,
			.rows_in = from->rows_in,
			.rows_out = from->rows_out,
			.bytes_in = from->bytes_in,
			.truncated = from->truncated,
			.dropped = from->dropped,
			.dropped_cnt = (uint32_t)from->n_dropped,
			.finished_splits = from->finished_splits,
			.finished_split_cnt = (uint32_t)from->n_finished_splits,
			.current_splits = unpack_splits(pool, from),
			.current_split_cnt = (uint32_t)from->n_current_splits,
			.segments = unpack_segments(pool, from, operator_idx, (uint32_t)i),
			.segment_cnt = (uint32_t)from->n_segments,
			.inputs = unpack_inputs(pool, from),
			.input_cnt = (uint32_t)from->n_inputs,
			.outputs = unpack_outputs(pool, from),
			.output_cnt = (uint32_t)from->n_outputs,
			.blob = blob(from->blob),
		};
	}
	return to;
}

static const struct weir_manifest_state *
unpack_states(struct weir_manifest_pool *pool, const Weir__Pb__Operator *pb)
{
	struct weir_manifest_state *to;
	size_t i;

	if (!take(pool, pb->n_states, to))
		return NULL;
	for (i = 0; i < pb->n_states; i++) {
		to[i].name = pb->states[i]->name;
		to[i].key_kind = pb->states[i]->key_kind;
		to[i].key_bytes = pb->states[i]->key_bytes;
		to[i].value_bytes = pb->states[i]->value_bytes;
		to[i].key_type = pb->states[i]->key_type;
		to[i].value_type = pb->states[i]->value_type;
	}
	return to;
}

static const struct weir_manifest_opstate *
unpack_opstates(struct weir_manifest_pool *pool, const Weir__Pb__Operator *pb)
{
	struct weir_manifest_opstate *to;
	size_t i;

	if (!take(pool, pb->n_operator_states, to))
		return NULL;
	for (i = 0; i < pb->n_operator_states; i++) {
		const Weir__Pb__OperatorState *from = pb->operator_states[i];

		to[i] = (struct weir_manifest_opstate){
			.name = from->name,
			.kind = from->kind,
			.key_bytes = from->key_bytes,
			.item_bytes = from->item_bytes,
			.type = from->type,
		};
	}
	return to;
}

static const struct weir_manifest_operator *
unpack_operators(struct weir_manifest_pool *pool, const Weir__Pb__Manifest *pb)
{
	struct weir_manifest_operator *to;
	size_t i;

	if (!take(pool, pb->n_operators, to))
		return NULL;
	for (i = 0; i < pb->n_operators; i++) {
		const Weir__Pb__Operator *from = pb->operators[i];

		to[i] = (struct weir_manifest_operator){
			.id = from->id,
			.type = from->type,
			.finished = from->finished,
			.reasons = (const char *const *)from->reasons,
			.reason_cnt = (uint32_t)from->n_reasons,
			.states = unpack_states(pool, from),
			.state_cnt = (uint32_t)from->n_states,
			.opstates = unpack_opstates(pool, from),
			.opstate_cnt = (uint32_t)from->n_operator_states,
			.subtasks = unpack_subtasks(pool, from, (uint32_t)i),
			.subtask_cnt = (uint32_t)from->n_subtasks,
			.coordinator = blob(from->coordinator),
		};
	}
	return to;
}

static const struct weir_manifest_edge *
unpack_edges(struct weir_manifest_pool *pool, const Weir__Pb__Manifest *pb)
{
	struct weir_manifest_edge *to;
	size_t i;

	if (!take(pool, pb->n_edges, to))
		return NULL;
	for (i = 0; i < pb->n_edges; i++) {
		to[i].from_idx = pb->edges[i]->from_idx;
		to[i].to_idx = pb->edges[i]->to_idx;
		to[i].input = pb->edges[i]->input;
		to[i].partitioner = pb->edges[i]->partitioner;
		to[i].layout = pb->edges[i]->layout;
		to[i].alignment = pb->edges[i]->alignment;
	}
	return to;
}

static const struct weir_manifest_file *
unpack_files(struct weir_manifest_pool *pool, const Weir__Pb__Manifest *pb)
{
	struct weir_manifest_file *to;
	size_t i;

	if (!take(pool, pb->n_files, to))
		return NULL;
	for (i = 0; i < pb->n_files; i++) {
		to[i].name = pb->files[i]->name;
		to[i].length = pb->files[i]->length;
	}
	return to;
}

static const struct weir_manifest_hook *
unpack_hooks(struct weir_manifest_pool *pool, const Weir__Pb__Manifest *pb)
{
	struct weir_manifest_hook *to;
	size_t i;

	if (!take(pool, pb->n_hooks, to))
		return NULL;
	for (i = 0; i < pb->n_hooks; i++) {
		to[i].name = pb->hooks[i]->name;
		to[i].state = blob(pb->hooks[i]->state);
	}
	return to;
}

void
weir_manifest_unpack(struct weir_manifest_pool *pool, const Weir__Pb__Manifest *pb,
		     struct weir_manifest *m)
{
	*m = (struct weir_manifest){
		.weir_version = pb->weir_version,
		.job = pb->job,
		.run_id = pb->run_id,
		.attempt = pb->attempt,
		.checkpoint_id = pb->checkpoint_id,
		.kind = pb->kind,
		.trigger_ns = pb->trigger_ns,
		.at_least_once = pb->at_least_once,
		.max_parallelism = pb->max_parallelism,
		.operators = unpack_operators(pool, pb),
		.operator_cnt = (uint32_t)pb->n_operators,
		.edges = unpack_edges(pool, pb),
		.edge_cnt = (uint32_t)pb->n_edges,
		.files = unpack_files(pool, pb),
		.file_cnt = (uint32_t)pb->n_files,
		.hooks = unpack_hooks(pool, pb),
		.hook_cnt = (uint32_t)pb->n_hooks,
	};
}

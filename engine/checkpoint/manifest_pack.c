/* From plain structs to protobuf-c's. Nothing is judged here: weir_manifest_check did that. */
#include "engine/checkpoint/manifest_priv.h"

/*
 * protobuf-c wants a list of pointers for repeated messages: the list and its elements are two
 * pieces of the pool. When memory is out, functions return NULL beside a count that is not 0; the
 * pool remembers, and the caller of weir_manifest_pack never sees the message.
 */
#define take(pool, cnt, ptr) ((ptr) = weir_manifest_pool_take(pool, cnt, sizeof(*(ptr))))

static ProtobufCBinaryData
blob(struct weir_blob b)
{
	return (ProtobufCBinaryData){ .len = b.len, .data = (uint8_t *)b.bytes };
}

static Weir__Pb__Segment **
pack_segments(struct weir_manifest_pool *pool, const struct weir_manifest_subtask *sub)
{
	Weir__Pb__Segment **list, *to;
	uint32_t i;

	if (!take(pool, sub->segment_cnt, list) || !take(pool, sub->segment_cnt, to))
		return NULL;
	for (i = 0; i < sub->segment_cnt; i++) {
		const struct weir_segment *seg = &sub->segments[i].seg;

		list[i] = &to[i];
		weir__pb__segment__init(&to[i]);
		to[i].kind = seg->kind;
		to[i].state_idx = seg->state_idx;
		to[i].file_idx = sub->segments[i].file_idx;
		to[i].offset = seg->offset;
		to[i].length = seg->length;
		to[i].used = seg->used;
		to[i].crc = seg->crc;
		to[i].page_cnt = seg->page_cnt;
		to[i].entry_cnt = seg->entry_cnt;
		to[i].hash_first = seg->hash_first;
		to[i].hash_last = seg->hash_last;
		to[i].stale = sub->segments[i].stale;
		to[i].live = blob(sub->segments[i].live);
	}
	return list;
}

static Weir__Pb__Frame **
pack_frames(struct weir_manifest_pool *pool, const struct weir_manifest_frame *frames, uint32_t cnt)
{
	Weir__Pb__Frame **list, *to;
	uint32_t i;

	if (!take(pool, cnt, list) || !take(pool, cnt, to))
		return NULL;
	for (i = 0; i < cnt; i++) {
		list[i] = &to[i];
		weir__pb__frame__init(&to[i]);
		to[i].seq = frames[i].seq;
		to[i].segment = frames[i].segment;
		to[i].offset = frames[i].offset;
		to[i].length = frames[i].length;
	}
	return list;
}

static Weir__Pb__Input **
pack_inputs(struct weir_manifest_pool *pool, const struct weir_manifest_subtask *sub)
{
	Weir__Pb__Input **list, *to;
	uint32_t i;

	if (!take(pool, sub->input_cnt, list) || !take(pool, sub->input_cnt, to))
		return NULL;
	for (i = 0; i < sub->input_cnt; i++) {
		const struct weir_manifest_input *in = &sub->inputs[i];

		list[i] = &to[i];
		weir__pb__input__init(&to[i]);
		to[i].edge_idx = in->edge_idx;
		to[i].producer = in->producer;
		to[i].processed_seq = in->processed_seq;
		to[i].watermark_ns = in->watermark_ns;
		to[i].idle = in->idle;
		to[i].virtual_channel = in->virtual_channel;
		to[i].last_seq = in->last_seq;
		to[i].stage = in->stage;
		to[i].n_frames = in->frame_cnt;
		to[i].frames = pack_frames(pool, in->frames, in->frame_cnt);
	}
	return list;
}

static Weir__Pb__Output **
pack_outputs(struct weir_manifest_pool *pool, const struct weir_manifest_subtask *sub)
{
	Weir__Pb__Output **list, *to;
	uint32_t i;

	if (!take(pool, sub->output_cnt, list) || !take(pool, sub->output_cnt, to))
		return NULL;
	for (i = 0; i < sub->output_cnt; i++) {
		const struct weir_manifest_output *out = &sub->outputs[i];

		list[i] = &to[i];
		weir__pb__output__init(&to[i]);
		to[i].edge_idx = out->edge_idx;
		to[i].consumer = out->consumer;
		to[i].produced_seq = out->produced_seq;
		to[i].n_frames = out->frame_cnt;
		to[i].frames = pack_frames(pool, out->frames, out->frame_cnt);
	}
	return list;
}

static Weir__Pb__Split **
pack_splits(struct weir_manifest_pool *pool, const struct weir_manifest_subtask *sub)
{
	Weir__Pb__Split **list, *to;
	uint32_t i;

	if (!take(pool, sub->current_split_cnt, list) || !take(pool, sub->current_split_cnt, to))
		return NULL;
	for (i = 0; i < sub->current_split_cnt; i++) {
		list[i] = &to[i];
		weir__pb__split__init(&to[i]);
		to[i].split_idx = sub->current_splits[i].split_idx;
		to[i].position = blob(sub->current_splits[i].position);
	}
	return list;
}

static Weir__Pb__Subtask **
pack_subtasks(struct weir_manifest_pool *pool, const struct weir_manifest_operator *op)
{
	Weir__Pb__Subtask **list, *to;
	uint32_t i;

	if (!take(pool, op->subtask_cnt, list) || !take(pool, op->subtask_cnt, to))
		return NULL;
	for (i = 0; i < op->subtask_cnt; i++) {
		const struct weir_manifest_subtask *sub = &op->subtasks[i];

		list[i] = &to[i];
		weir__pb__subtask__init(&to[i]);
		to[i].finished = sub->finished;
		to[i].watermark_ns = sub->watermark_ns;
		to[i].rows_in = sub->rows_in;
		to[i].rows_out = sub->rows_out;
		to[i].bytes_in = sub->bytes_in;
		to[i].truncated = sub->truncated;
		to[i].n_dropped = sub->dropped_cnt;
		to[i].dropped = (uint64_t *)sub->dropped;
		to[i].n_finished_splits = sub->finished_split_cnt;
		to[i].finished_splits = (uint32_t *)sub->finished_splits;
		to[i].n_current_splits = sub->current_split_cnt;
		to[i].current_splits = pack_splits(pool, sub);
		to[i].blob = blob(sub->blob);
		to[i].n_segments = sub->segment_cnt;
		to[i].segments = pack_segments(pool, sub);
		to[i].n_inputs = sub->input_cnt;
		to[i].inputs = pack_inputs(pool, sub);
		to[i].n_outputs = sub->output_cnt;
		to[i].outputs = pack_outputs(pool, sub);
	}
	return list;
}

static Weir__Pb__State **
pack_states(struct weir_manifest_pool *pool, const struct weir_manifest_operator *op)
{
	Weir__Pb__State **list, *to;
	uint32_t i;

	if (!take(pool, op->state_cnt, list) || !take(pool, op->state_cnt, to))
		return NULL;
	for (i = 0; i < op->state_cnt; i++) {
		const struct weir_manifest_state *st = &op->states[i];

		list[i] = &to[i];
		weir__pb__state__init(&to[i]);
		to[i].name = (char *)st->name;
		to[i].key_kind = st->key_kind;
		to[i].key_bytes = st->key_bytes;
		to[i].value_bytes = st->value_bytes;
		to[i].key_type = (char *)(st->key_type != NULL ? st->key_type : "");
		to[i].value_type = (char *)(st->value_type != NULL ? st->value_type : "");
	}
	return list;
}

static Weir__Pb__OperatorState **
pack_opstates(struct weir_manifest_pool *pool, const struct weir_manifest_operator *op)
{
	Weir__Pb__OperatorState **list, *to;
	uint32_t i;

	if (!take(pool, op->opstate_cnt, list) || !take(pool, op->opstate_cnt, to))
		return NULL;
	for (i = 0; i < op->opstate_cnt; i++) {
		const struct weir_manifest_opstate *st = &op->opstates[i];

		list[i] = &to[i];
		weir__pb__operator_state__init(&to[i]);
		to[i].name = (char *)st->name;
		to[i].kind = st->kind;
		to[i].key_bytes = st->key_bytes;
		to[i].item_bytes = st->item_bytes;
		to[i].type = (char *)(st->type != NULL ? st->type : "");
	}
	return list;
}

static Weir__Pb__Operator **
pack_operators(struct weir_manifest_pool *pool, const struct weir_manifest *m)
{
	Weir__Pb__Operator **list, *to;
	uint32_t i;

	if (!take(pool, m->operator_cnt, list) || !take(pool, m->operator_cnt, to))
		return NULL;
	for (i = 0; i < m->operator_cnt; i++) {
		const struct weir_manifest_operator *op = &m->operators[i];

		list[i] = &to[i];
		weir__pb__operator__init(&to[i]);
		to[i].id = (char *)op->id;
		to[i].type = (char *)op->type;
		to[i].finished = op->finished;
		to[i].n_reasons = op->reason_cnt;
		to[i].reasons = (char **)op->reasons;
		to[i].n_states = op->state_cnt;
		to[i].states = pack_states(pool, op);
		to[i].n_operator_states = op->opstate_cnt;
		to[i].operator_states = pack_opstates(pool, op);
		to[i].coordinator = blob(op->coordinator);
		to[i].n_subtasks = op->subtask_cnt;
		to[i].subtasks = pack_subtasks(pool, op);
	}
	return list;
}

static Weir__Pb__Edge **
pack_edges(struct weir_manifest_pool *pool, const struct weir_manifest *m)
{
	Weir__Pb__Edge **list, *to;
	uint32_t i;

	if (!take(pool, m->edge_cnt, list) || !take(pool, m->edge_cnt, to))
		return NULL;
	for (i = 0; i < m->edge_cnt; i++) {
		list[i] = &to[i];
		weir__pb__edge__init(&to[i]);
		to[i].from_idx = m->edges[i].from_idx;
		to[i].to_idx = m->edges[i].to_idx;
		to[i].input = m->edges[i].input;
		to[i].partitioner = (char *)m->edges[i].partitioner;
		to[i].layout = m->edges[i].layout;
		to[i].alignment = m->edges[i].alignment;
	}
	return list;
}

static Weir__Pb__File **
pack_files(struct weir_manifest_pool *pool, const struct weir_manifest *m)
{
	Weir__Pb__File **list, *to;
	uint32_t i;

	if (!take(pool, m->file_cnt, list) || !take(pool, m->file_cnt, to))
		return NULL;
	for (i = 0; i < m->file_cnt; i++) {
		list[i] = &to[i];
		weir__pb__file__init(&to[i]);
		to[i].name = (char *)m->files[i].name;
		to[i].length = m->files[i].length;
	}
	return list;
}

static Weir__Pb__Hook **
pack_hooks(struct weir_manifest_pool *pool, const struct weir_manifest *m)
{
	Weir__Pb__Hook **list, *to;
	uint32_t i;

	if (!take(pool, m->hook_cnt, list) || !take(pool, m->hook_cnt, to))
		return NULL;
	for (i = 0; i < m->hook_cnt; i++) {
		list[i] = &to[i];
		weir__pb__hook__init(&to[i]);
		to[i].name = (char *)m->hooks[i].name;
		to[i].state = blob(m->hooks[i].state);
	}
	return list;
}

const Weir__Pb__Manifest *
weir_manifest_pack(struct weir_manifest_pool *pool, const struct weir_manifest *m)
{
	Weir__Pb__Manifest *pb;

	if (!take(pool, 1, pb))
		return NULL;
	weir__pb__manifest__init(pb);
	pb->weir_version = (char *)m->weir_version;
	pb->job = (char *)m->job;
	pb->run_id = (char *)m->run_id;
	pb->attempt = m->attempt;
	pb->checkpoint_id = m->checkpoint_id;
	pb->kind = m->kind;
	pb->trigger_ns = m->trigger_ns;
	pb->at_least_once = m->at_least_once;
	pb->max_parallelism = m->max_parallelism;
	pb->n_operators = m->operator_cnt;
	pb->operators = pack_operators(pool, m);
	pb->n_edges = m->edge_cnt;
	pb->edges = pack_edges(pool, m);
	pb->n_files = m->file_cnt;
	pb->files = pack_files(pool, m);
	pb->n_hooks = m->hook_cnt;
	pb->hooks = pack_hooks(pool, m);
	return pool->failed ? NULL : pb;
}

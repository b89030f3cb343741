#include "app/checkpoint/json.h"

#include "engine/graph/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct range {
	uint32_t file_idx;
	uint64_t offset;
	uint64_t length;
};

static json_t *
number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *
hash_text(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%016" PRIx64, value);
	return json_string(text);
}

const char *
weir_checkpoint_kind(uint32_t kind)
{
	switch (kind) {
	case WEIR_MANIFEST_PERIODIC:
		return "periodic";
	case WEIR_MANIFEST_MANUAL:
		return "manual";
	case WEIR_MANIFEST_FINAL:
		return "final";
	case WEIR_MANIFEST_SAVEPOINT:
		return "savepoint";
	case WEIR_MANIFEST_SUSPEND:
		return "suspend";
	case WEIR_MANIFEST_DRAIN:
		return "drain";
	default:
		return "unknown";
	}
}

/* The user's words may be no UTF-8. */
static json_t *
words(const char *text)
{
	json_t *json = json_string(text);

	return json != NULL ? json : json_string("?");
}

static const char *
segment_kind(uint32_t kind)
{
	switch (kind) {
	case WEIR_SEGMENT_STATE:
		return "state";
	case WEIR_SEGMENT_BLOB:
		return "blob";
	case WEIR_SEGMENT_COUNTER:
		return "counter";
	case WEIR_SEGMENT_CHANNEL:
		return "channel";
	case WEIR_SEGMENT_CANONICAL:
		return "canonical";
	default:
		return "unknown";
	}
}

/* Of a segment of an earlier checkpoint's file: how many of its pages this one still uses. */
static uint64_t
live_pages(const struct weir_manifest_segment *ms)
{
	uint64_t cnt = 0;

	for (uint32_t r = 0; r < ms->seg.page_cnt && ms->live.len > 0; r++)
		cnt += weir_is_live(ms->live.bytes, r);
	return cnt;
}

static json_t *
segments_json(const struct weir_manifest *m, const struct weir_manifest_operator *op,
	      const struct weir_manifest_subtask *sub)
{
	json_t *list = json_array();
	uint32_t i;

	for (i = 0; i < sub->segment_cnt; i++) {
		const struct weir_segment *seg = &sub->segments[i].seg;
		json_t *one =
			json_pack("{s:s, s:s, s:I, s:I, s:I, s:I}", "kind", segment_kind(seg->kind),
				  "file", m->files[sub->segments[i].file_idx].name, "offset",
				  (json_int_t)seg->offset, "bytes", (json_int_t)seg->length, "used",
				  (json_int_t)seg->used, "crc32c", (json_int_t)seg->crc);

		if (sub->segments[i].stale || sub->segments[i].live.len > 0)
			json_object_set_new(one, "live_pages",
					    number(live_pages(&sub->segments[i])));
		if (weir_segment_is_state(seg)) {
			json_object_set_new(one, "state",
					    json_string(op->states[seg->state_idx].name));
			json_object_set_new(one, seg->kind == WEIR_SEGMENT_STATE ? "pages" : "runs",
					    number(seg->page_cnt));
			json_object_set_new(one, "entries", number(seg->entry_cnt));
			json_object_set_new(one, "hash_first", hash_text(seg->hash_first));
			json_object_set_new(one, "hash_last", hash_text(seg->hash_last));
		}
		if (seg->kind == WEIR_SEGMENT_BLOB) {
			json_object_set_new(one, "state",
					    json_string(op->opstates[seg->state_idx].name));
			json_object_set_new(one, "entries", number(seg->entry_cnt));
		}
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *
channels_json(const struct weir_manifest_subtask *sub, bool inputs)
{
	json_t *list = json_array();
	uint32_t i;

	for (i = 0; inputs && i < sub->input_cnt; i++)
		json_array_append_new(
			list, json_pack("{s:I, s:I, s:I, s:I, s:b}", "edge",
					(json_int_t)sub->inputs[i].edge_idx, "producer",
					(json_int_t)sub->inputs[i].producer, "processed",
					(json_int_t)sub->inputs[i].processed_seq, "watermark_ns",
					(json_int_t)sub->inputs[i].watermark_ns, "idle",
					(int)sub->inputs[i].idle));
	for (i = 0; !inputs && i < sub->output_cnt; i++)
		json_array_append_new(list,
				      json_pack("{s:I, s:I, s:I}", "edge",
						(json_int_t)sub->outputs[i].edge_idx, "consumer",
						(json_int_t)sub->outputs[i].consumer, "produced",
						(json_int_t)sub->outputs[i].produced_seq));
	return list;
}

static json_t *
splits_json(const struct weir_manifest_subtask *sub, bool finished)
{
	json_t *list = json_array();
	uint32_t i;

	for (i = 0; finished && i < sub->finished_split_cnt; i++)
		json_array_append_new(list, number(sub->finished_splits[i]));
	for (i = 0; !finished && i < sub->current_split_cnt; i++)
		json_array_append_new(list, number(sub->current_splits[i].split_idx));
	return list;
}

static json_t *
dropped_json(const struct weir_manifest_operator *op, const struct weir_manifest_subtask *sub)
{
	json_t *dropped = json_object();
	uint32_t i;

	for (i = 0; i < op->reason_cnt; i++)
		json_object_set_new(dropped, op->reasons[i], number(sub->dropped[i]));
	return dropped;
}

static json_t *
subtask_json(const struct weir_manifest *m, const struct weir_manifest_operator *op, uint32_t i)
{
	const struct weir_manifest_subtask *sub = &op->subtasks[i];

	return json_pack("{s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "subtask", (json_int_t)i, "finished", (int)sub->finished, "watermark_ns",
			 (json_int_t)sub->watermark_ns, "rows_in", (json_int_t)sub->rows_in,
			 "rows_out", (json_int_t)sub->rows_out, "bytes_in",
			 (json_int_t)sub->bytes_in, "truncated", (json_int_t)sub->truncated,
			 "blob_bytes", (json_int_t)sub->blob.len, "dropped", dropped_json(op, sub),
			 "finished_splits", splits_json(sub, true), "current_splits",
			 splits_json(sub, false), "inputs", channels_json(sub, true), "outputs",
			 channels_json(sub, false), "segments", segments_json(m, op, sub));
}

static json_t *
opstates_json(const struct weir_manifest_operator *op)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < op->opstate_cnt; i++) {
		const struct weir_manifest_opstate *st = &op->opstates[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:I, s:o}", "name", st->name,
						      "kind", weir_plan_state_kind(st->kind),
						      "key_bytes", (json_int_t)st->key_bytes,
						      "item_bytes", (json_int_t)st->item_bytes,
						      "type", words(st->type)));
	}
	return list;
}

static json_t *
operator_json(const struct weir_manifest *m, const struct weir_manifest_operator *op)
{
	json_t *states = json_array();
	json_t *subtasks = json_array();
	uint32_t i;

	for (i = 0; i < op->state_cnt; i++)
		json_array_append_new(
			states,
			json_pack("{s:s, s:s, s:I, s:o, s:I, s:o}", "name", op->states[i].name,
				  "key", op->states[i].key_kind == 0 ? "fixed" : "bytes",
				  "key_bytes", (json_int_t)op->states[i].key_bytes, "key_type",
				  words(op->states[i].key_type), "value_bytes",
				  (json_int_t)op->states[i].value_bytes, "value_type",
				  words(op->states[i].value_type)));
	for (i = 0; i < op->subtask_cnt; i++)
		json_array_append_new(subtasks, subtask_json(m, op, i));
	return json_pack("{s:s, s:s, s:I, s:b, s:I, s:o, s:o, s:o}", "id", op->id, "type", op->type,
			 "parallelism", (json_int_t)op->subtask_cnt, "finished", (int)op->finished,
			 "coordinator_bytes", (json_int_t)op->coordinator.len, "states", states,
			 "operator_states", opstates_json(op), "subtasks", subtasks);
}

json_t *
weir_checkpoint_json(const struct weir_manifest *m)
{
	json_t *operators = json_array();
	json_t *edges = json_array();
	json_t *hooks = json_array();
	uint32_t i;

	for (i = 0; i < m->hook_cnt; i++)
		json_array_append_new(hooks, json_pack("{s:s, s:I}", "name", m->hooks[i].name,
						       "bytes", (json_int_t)m->hooks[i].state.len));
	for (i = 0; i < m->operator_cnt; i++)
		json_array_append_new(operators, operator_json(m, &m->operators[i]));
	for (i = 0; i < m->edge_cnt; i++)
		json_array_append_new(edges, json_pack("{s:s, s:s, s:I, s:s}", "from",
						       m->operators[m->edges[i].from_idx].id, "to",
						       m->operators[m->edges[i].to_idx].id, "input",
						       (json_int_t)m->edges[i].input, "partitioner",
						       m->edges[i].partitioner));
	return json_pack(
		"{s:I, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "id",
		(json_int_t)m->checkpoint_id, "job", m->job, "kind", weir_checkpoint_kind(m->kind),
		"weir", m->weir_version, "run_id", m->run_id, "attempt", (json_int_t)m->attempt,
		"trigger_ms", (json_int_t)(m->trigger_ns / 1000000), "max_parallelism",
		(json_int_t)m->max_parallelism, "bytes", (json_int_t)weir_checkpoint_bytes(m),
		"operators", operators, "edges", edges, "hooks", hooks);
}

static int
by_place(const void *pa, const void *pb)
{
	const struct range *a = pa;
	const struct range *b = pb;

	if (a->file_idx != b->file_idx)
		return a->file_idx < b->file_idx ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static uint32_t
count_segments(const struct weir_manifest *m)
{
	uint32_t cnt = 0;
	uint32_t i, j;

	for (i = 0; i < m->operator_cnt; i++)
		for (j = 0; j < m->operators[i].subtask_cnt; j++)
			cnt += m->operators[i].subtasks[j].segment_cnt;
	return cnt;
}

/* Headers of all files and all segments, in the order of the files; the array is the caller's. */
static struct range *
collect_ranges(const struct weir_manifest *m, uint32_t *cnt)
{
	struct range *ranges = calloc((size_t)m->file_cnt + count_segments(m) + 1, sizeof(*ranges));
	uint32_t i, j, k;
	uint32_t n = 0;

	if (ranges == NULL)
		return NULL;
	for (i = 0; i < m->file_cnt; i++)
		ranges[n++] = (struct range){ i, 0, WEIR_PAGE };
	for (i = 0; i < m->operator_cnt; i++)
		for (j = 0; j < m->operators[i].subtask_cnt; j++) {
			const struct weir_manifest_subtask *sub = &m->operators[i].subtasks[j];

			for (k = 0; k < sub->segment_cnt; k++)
				ranges[n++] = (struct range){ sub->segments[k].file_idx,
							      sub->segments[k].seg.offset,
							      sub->segments[k].seg.length };
		}
	qsort(ranges, n, sizeof(*ranges), by_place);
	*cnt = n;
	return ranges;
}

json_t *
weir_checkpoint_ranges(const struct weir_manifest *m, const char *data_dir)
{
	json_t *list = json_array();
	uint32_t cnt, i, next;
	struct range *ranges = collect_ranges(m, &cnt);
	char path[2 * WEIR_PATH_MAX];

	if (ranges == NULL) {
		json_decref(list);
		return NULL;
	}
	for (i = 0; i < cnt; i = next) {
		uint64_t end = ranges[i].offset + ranges[i].length;

		for (next = i + 1; next < cnt && ranges[next].file_idx == ranges[i].file_idx &&
				   ranges[next].offset == end;
		     next++)
			end += ranges[next].length;
		snprintf(path, sizeof(path), "%s/%s", data_dir, m->files[ranges[i].file_idx].name);
		json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "path", path, "offset",
						      (json_int_t)ranges[i].offset, "bytes",
						      (json_int_t)(end - ranges[i].offset)));
	}
	free(ranges);
	return list;
}

uint64_t
weir_checkpoint_bytes(const struct weir_manifest *m)
{
	uint64_t bytes = (uint64_t)m->file_cnt * WEIR_PAGE;
	uint32_t i, j, k;

	for (i = 0; i < m->operator_cnt; i++)
		for (j = 0; j < m->operators[i].subtask_cnt; j++)
			for (k = 0; k < m->operators[i].subtasks[j].segment_cnt; k++)
				bytes += m->operators[i].subtasks[j].segments[k].seg.length;
	return bytes;
}

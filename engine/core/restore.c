#include "engine/core/restore.h"

#include "engine/base/plant.h"
#include "engine/core/restore_priv.h"
#include "engine/core/runtime_priv.h"

#include <inttypes.h>
#include <string.h>

bool
weir_restore_knows(const struct weir_manifest *m, const char *id)
{
	return weir_restore_operator(m, id) != NULL;
}

int
weir_restore_splits(const struct weir_plan *plan, const struct weir_manifest *m,
		    struct weir_enumerator *e, struct weir_error *err)
{
	const struct weir_manifest_operator *mo = weir_restore_operator(m, plan->op[e->op].id);
	int rc;

	if (mo == NULL)
		return weir_fail(err, WEIR_ERR_DATA, "the checkpoint does not know the source '%s'",
				 plan->op[e->op].id);
	rc = weir_enumerator_decode(e, mo->coordinator.bytes, mo->coordinator.len, err);
	if (rc != 0)
		return weir_error_prefix(err, "source '%s'", mo->id);
	for (uint32_t i = 0; i < mo->subtask_cnt; i++) {
		const struct weir_manifest_subtask *s = &mo->subtasks[i];

		for (uint32_t f = 0; f < s->finished_split_cnt; f++)
			if (s->finished_splits[f] < e->list.cnt)
				weir_enumerator_take(e, s->finished_splits[f]);
			else
				return weir_fail(err, WEIR_ERR_DATA,
						 "source '%s' split %u is not listed", mo->id,
						 s->finished_splits[f]);
		for (uint32_t c = 0; c < s->current_split_cnt; c++)
			if (s->current_splits[c].split_idx < e->list.cnt)
				weir_enumerator_take(e, s->current_splits[c].split_idx);
			else
				return weir_fail(err, WEIR_ERR_DATA,
						 "source '%s' split %u is not listed", mo->id,
						 s->current_splits[c].split_idx);
	}
	rc = weir_enumerator_check(e, err);
	return rc != 0 ? weir_error_prefix(err, "source '%s'", mo->id) : 0;
}

/* ---- into the runtime ---- */

/* How far event time was for the keys of a subtask that others take over: at its end only if they
 * have been emitted. */
static int64_t
watermark_of(const struct weir_manifest_subtask *s)
{
	return s->watermark_ns == WEIR_TIME_END && !weir_restore_ended(s) ? WEIR_TIME_END - 1
									  : s->watermark_ns;
}

/* R12: counters go on. At another parallelism the first subtask carries them all. */
static void
put_counters(struct weir_task *t, struct weir_operator_ctx *c,
	     const struct weir_manifest_subtask *s)
{
	if (c->op == NULL && t->readers != NULL) {
		weir_count_add(&t->readers->rows, s->rows_in);
		weir_count_add(&t->readers->bytes, s->bytes_in);
		weir_count_add(&t->readers->splits, s->finished_split_cnt);
	} else {
		weir_count_add(&c->rows_in, s->rows_in);
	}
	weir_count_add(&c->rows_out, s->rows_out);
	weir_count_add(&c->truncated, s->truncated);
	for (uint32_t r = 0; r < s->dropped_cnt && r < WEIR_REASONS_MAX; r++)
		weir_count_add(&c->dropped[r], s->dropped[r]);
}

static int
put_splits(struct weir_runtime *rt, uint32_t op, uint32_t first_subtask, bool same,
	   const struct weir_manifest_subtask *s, const struct weir_enumerator *e,
	   struct weir_error *err)
{
	const uint32_t p = rt->cfg.plan->op[op].parallelism;
	struct weir_readers *home = weir_runtime_task(rt, op, first_subtask)->readers;

	for (uint32_t f = 0; f < s->finished_split_cnt; f++)
		home->finished[home->finished_cnt++] = s->finished_splits[f];
	for (uint32_t c = 0; c < s->current_split_cnt; c++) {
		const struct weir_manifest_split *cur = &s->current_splits[c];
		struct weir_split_given given = { .idx = cur->split_idx,
						  .split = e->list.split[cur->split_idx] };
		const uint32_t to = same ? first_subtask : cur->split_idx % p;
		struct weir_readers *r = weir_runtime_task(rt, op, to)->readers;

		if (cur->position.len != sizeof(given.position))
			return weir_fail(err, WEIR_ERR_DATA,
					 "source '%s': split %u cannot be continued",
					 rt->cfg.plan->op[op].id, cur->split_idx);
		memcpy(&given.position, cur->position.bytes, sizeof(given.position));
		/* R3: fewer subtasks have more splits each. */
		if (r->active == r->reader_cnt)
			weir_readers_grow(r);
		weir_readers_give(r, &given);
	}
	return 0;
}

static int
put_pending(struct weir_runtime *rt, uint32_t op, uint32_t subtask,
	    const struct weir_manifest_subtask *s, bool of_savepoint, struct weir_error *err)
{
	struct weir_two_phase *sink = weir_runtime_ctx(rt, op, subtask)->two_phase;
	const struct weir_subtask_blob *b = weir_restore_blob(s);

	if (b == NULL || sink == NULL)
		return 0;
	/* R3: fewer subtasks have more of them each. */
	if (b->pending_cnt > weir_two_phase_room(sink))
		return weir_fail(err, WEIR_ERR_DATA,
				 "sink '%s' subtask %u: more than %u transactions wait to be "
				 "committed: restore it at a higher parallelism",
				 rt->cfg.plan->op[op].id, subtask, WEIR_TRANSACTIONS_MAX);
	weir_two_phase_restore(sink, b->pending, b->pending_cnt, of_savepoint);
	return 0;
}

/* The watermark of each channel, if edge and producers are the same. */
static void
put_channels(struct weir_runtime *rt, const struct weir_manifest *m, struct weir_task *t,
	     const struct weir_manifest_subtask *s)
{
	const struct weir_plan *plan = rt->cfg.plan;

	for (uint32_t i = 0; i < s->input_cnt; i++) {
		const struct weir_manifest_input *in = &s->inputs[i];
		const struct weir_manifest_edge *me = &m->edges[in->edge_idx];
		const uint32_t edge = weir_recovery_edge(plan, m, in->edge_idx);

		for (uint32_t c = 0; c < t->channel_cnt; c++) {
			const struct weir_plan_edge *e = &plan->edge[t->channels[c].edge];

			if (in->virtual_channel || t->channels[c].is_virtual ||
			    t->channels[c].edge != edge ||
			    t->channels[c].producer != in->producer ||
			    plan->op[e->from].parallelism != m->operators[me->from_idx].subtask_cnt)
				continue;
			t->watermarks.channel_ns[c] = in->watermark_ns;
			t->watermarks.idle[c] = in->idle;
		}
	}
}

static void
put_watermark(struct weir_task *t, struct weir_operator_ctx *c, int64_t watermark_ns)
{
	if (WEIR_PLANT(WATERMARK_LOST))
		return;
	c->watermark_ns = watermark_ns;
	if (c == t->ctx[0]) {
		t->watermarks.current_ns = watermark_ns;
		if (t->readers != NULL)
			t->readers->watermark_ns = watermark_ns;
	}
	for (uint32_t e = 0; e < c->emitter_cnt; e++)
		weir_emitter_watermark(c->emitters[e], watermark_ns, 0);
}

/* T29: operators that were tasks of their own may be one task now, and its head ahead of the
 * others. */
static void
put_ended(struct weir_task *t, struct weir_operator_ctx *c, bool ended)
{
	c->ended = ended;
	t->restored_ended = ended && (c == t->ctx[0] || t->restored_ended);
}

/* Add the part of a range that is the subtask's, if it is ahead of its watermark. */
static void
add_passed(struct weir_operator_ctx *c, struct weir_passed *to, uint64_t first, uint64_t last,
	   const struct weir_passed *from)
{
	struct weir_passed p = *from;

	if (p.hash_first < first)
		p.hash_first = first;
	if (p.hash_last > last)
		p.hash_last = last;
	if (p.hash_first > p.hash_last || p.watermark_ns <= c->watermark_ns)
		return;
	to[c->passed.cnt++] = p;
	if (p.watermark_ns > c->passed.max_ns)
		c->passed.max_ns = p.watermark_ns;
}

/* R3: the new subtask goes on from its watermark; keys that it takes over from a faster one do not.
 */
static void
put_passed(struct weir_runtime *rt, const struct weir_manifest_operator *mo, uint32_t op,
	   uint32_t subtask)
{
	const struct weir_plan *plan = rt->cfg.plan;
	struct weir_operator_ctx *c = weir_runtime_ctx(rt, op, subtask);
	uint32_t most = mo->subtask_cnt;
	struct weir_passed *to;
	uint64_t first, last;

	for (uint32_t i = 0; i < mo->subtask_cnt; i++) {
		const struct weir_subtask_blob *b = weir_restore_blob(&mo->subtasks[i]);

		most += b != NULL ? b->passed_cnt : 0;
	}
	to = weir_runtime_take(rt, most * sizeof(*to));
	c->passed = (struct weir_passed_list){ .at = to, .max_ns = INT64_MIN };
	weir_plan_hash_range(plan, subtask, plan->op[op].parallelism, &first, &last);
	for (uint32_t i = 0; i < mo->subtask_cnt; i++) {
		const struct weir_subtask_blob *b = weir_restore_blob(&mo->subtasks[i]);
		struct weir_passed was = { .watermark_ns = watermark_of(&mo->subtasks[i]) };

		weir_plan_hash_range(plan, i, mo->subtask_cnt, &was.hash_first, &was.hash_last);
		add_passed(c, to, first, last, &was);
		for (uint32_t k = 0; b != NULL && k < b->passed_cnt; k++)
			add_passed(c, to, first, last, &weir_subtask_blob_passed(b)[k]);
	}
}

static int
put_operator(struct weir_runtime *rt, const struct weir_manifest *m,
	     const struct weir_manifest_operator *mo, uint32_t op, const struct weir_enumerator *e,
	     struct weir_error *err)
{
	const uint32_t p = rt->cfg.plan->op[op].parallelism;
	const bool same = p == mo->subtask_cnt;
	int64_t lowest = WEIR_TIME_END;
	bool ended = true;

	for (uint32_t i = 0; i < mo->subtask_cnt; i++) {
		const struct weir_manifest_subtask *s = &mo->subtasks[i];
		const uint32_t to = same ? i : i % p;
		struct weir_task *t = weir_runtime_task(rt, op, to);
		int rc = 0;

		put_counters(t, weir_runtime_ctx(rt, op, to), s);
		/* Left out, when the sink is another one now (check_kind). */
		if (strcmp(mo->type, rt->cfg.plan->op[op].type) == 0)
			rc = put_pending(rt, op, to, s, weir_manifest_is_savepoint(m->kind), err);
		if (rc == 0 && e != NULL)
			rc = put_splits(rt, op, to, same, s, e, err);
		if (rc != 0)
			return rc;
		if (watermark_of(s) < lowest)
			lowest = watermark_of(s);
		ended &= weir_restore_had_ended(rt->cfg.plan, m, op, s);
		if (!same)
			continue;
		put_watermark(t, weir_runtime_ctx(rt, op, i), s->watermark_ns);
		put_ended(t, weir_runtime_ctx(rt, op, i),
			  weir_restore_had_ended(rt->cfg.plan, m, op, s));
		if (rt->cfg.plan->op[op].chain_idx == 0)
			put_channels(rt, m, t, s);
	}
	/* At another parallelism every new subtask starts from the slowest of the old. */
	for (uint32_t i = 0; !same && i < p; i++) {
		struct weir_task *t = weir_runtime_task(rt, op, i);

		put_watermark(t, weir_runtime_ctx(rt, op, i), lowest);
		put_ended(t, weir_runtime_ctx(rt, op, i), ended);
	}
	for (uint32_t i = 0; rt->cfg.plan->op[op].key.cnt > 0 && i < p; i++)
		put_passed(rt, mo, op, i);
	return 0;
}

int
weir_restore_begin(struct weir_runtime *rt, const struct weir_manifest *m,
		   const struct weir_enumerator *enumerators, uint32_t enumerator_cnt,
		   struct weir_error *err)
{
	const struct weir_plan *plan = rt->cfg.plan;

	weir_restore_counts_begin(rt, m);
	weir_restore_opstates_begin(rt, m);
	for (uint32_t o = 0; o < plan->op_cnt; o++) {
		const struct weir_manifest_operator *mo = weir_restore_operator(m, plan->op[o].id);
		const struct weir_enumerator *e = NULL;
		int rc;

		for (uint32_t i = 0; i < enumerator_cnt; i++)
			if (enumerators[i].op == o)
				e = &enumerators[i];
		if (mo == NULL)
			continue;
		rc = put_operator(rt, m, mo, o, e, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Number of the segment among those of its subtask. */
static uint32_t
segment_number(const struct weir_manifest *m, uint32_t file_idx, const struct weir_segment *seg)
{
	const struct weir_manifest_subtask *s;

	if (seg->operator_idx >= m->operator_cnt ||
	    seg->subtask >= m->operators[seg->operator_idx].subtask_cnt)
		return UINT32_MAX;
	s = &m->operators[seg->operator_idx].subtasks[seg->subtask];
	for (uint32_t i = 0; i < s->segment_cnt; i++)
		if (s->segments[i].file_idx == file_idx && s->segments[i].seg.offset == seg->offset)
			return i;
	return UINT32_MAX;
}

int
weir_restore_end(struct weir_runtime *rt, struct weir_error *err)
{
	int rc = weir_restore_counts_end(rt, err);

	if (rc == 0)
		rc = weir_restore_opstates_end(rt, err);
	if (rc == 0 && rt->cfg.recovery != NULL)
		rc = weir_recovery_finish(rt->cfg.recovery, err);
	return rc;
}

/* A segment of a keyed state goes to every new subtask that owns some of its keys. */
static int
put_keyed(struct weir_runtime *rt, const struct weir_manifest *m, const struct weir_segment *seg,
	  const struct weir_manifest_segment *ms, const void *bytes, struct weir_error *err)
{
	const struct weir_manifest_operator *mo = &m->operators[seg->operator_idx];
	const uint32_t op = weir_restore_planned(rt->cfg.plan, mo->id);
	uint32_t state;

	if (op == UINT32_MAX || seg->state_idx >= mo->state_cnt)
		return 0;
	state = weir_restore_state(&rt->cfg.plan->op[op], mo->states[seg->state_idx].name);
	if (state == UINT32_MAX)
		return 0;
	for (uint32_t i = 0; i < rt->cfg.plan->op[op].parallelism; i++) {
		struct weir_kstate *st = weir_runtime_ctx(rt, op, i)->state[state];
		int rc;

		if (seg->hash_last < st->spec.hash_first || seg->hash_first > st->spec.hash_last)
			continue;
		rc = weir_kstate_load(st, seg, bytes, ms->live.bytes, err);
		if (rc != 0)
			return weir_error_prefix(err, "operator '%s' state '%s'", mo->id,
						 mo->states[seg->state_idx].name);
	}
	return 0;
}

int
weir_restore_segment(struct weir_runtime *rt, const struct weir_manifest *m, uint32_t file_idx,
		     const struct weir_segment *seg, const void *bytes, struct weir_error *err)
{
	const uint32_t number = segment_number(m, file_idx, seg);
	const struct weir_manifest_segment *ms;
	int rc;

	if (number == UINT32_MAX)
		return weir_fail(err, WEIR_ERR_DATA,
				 "%s at %" PRIu64 ": the manifest does not name this segment",
				 m->files[file_idx].name, seg->offset);
	rc = weir_restore_counts_read(rt, seg->operator_idx, seg->subtask, number, err);
	if (rc != 0)
		return rc;
	ms = &m->operators[seg->operator_idx].subtasks[seg->subtask].segments[number];
	if (ms->stale)
		return 0;
	if (seg->kind == WEIR_SEGMENT_CHANNEL && rt->cfg.recovery != NULL)
		return weir_recovery_segment(rt->cfg.recovery, &rt->cores[0].pool,
					     seg->operator_idx, seg->subtask, number, bytes, err);
	if (seg->kind == WEIR_SEGMENT_BLOB)
		return weir_restore_opstates_segment(rt, file_idx, seg, bytes, err);
	return weir_segment_is_state(seg) ? put_keyed(rt, m, seg, ms, bytes, err) : 0;
}

/*
 * A task's side of a checkpoint, in the order of T22: 0 the handler has checked for aborts, 1 the
 * operators' pre-barrier hooks have run (WEIR_WORK_FLUSH), 2 the barrier goes out, and outputs keep
 * what it overtakes (3 the handler has armed the output timer), 5 the synchronous part (numbers,
 * copies of operator state, freeze of the keyed states, the sink's cut), then, between batches, the
 * asynchronous part: slices of pages into the core's data file, the sink's writes, and, when all
 * barriers are in and every output has settled, the frames in flight. The acknowledgement goes when
 * all of it is durable.
 */
#include "engine/core/task_priv.h"

#include "engine/base/plant.h"
#include "engine/core/core.h"

#include <string.h>

#define SLICE_PAGES 16u

static bool
has_states(const struct weir_task *t)
{
	for (uint32_t i = 0; i < t->ctx_cnt; i++)
		if (t->ctx[i]->state_cnt > 0 || t->ctx[i]->opstate_cnt > 0)
			return true;
	return false;
}

void
weir_task_note_state(struct weir_task *t)
{
	for (uint32_t i = 0; i < t->ctx_cnt; i++) {
		struct weir_operator_ctx *c = t->ctx[i];
		uint64_t bytes = 0;

		for (uint32_t s = 0; s < c->state_cnt; s++) {
			const struct weir_kstate_spec *spec = &c->state[s]->spec;

			bytes += weir_kstate_entries(c->state[s]) *
				 (spec->key_bytes + spec->value_bytes);
		}
		for (uint32_t s = 0; s < c->opstate_cnt; s++)
			bytes += c->opstate[s].used - c->opstate[s].gone;
		atomic_store_explicit(&c->state_bytes, bytes, memory_order_relaxed);
	}
}

static struct weir_task_ack *
free_ack(struct weir_task *t)
{
	struct weir_task_ack *a = &t->acks[t->ack_next % WEIR_TASK_ACKS];

	/* B1: pairs with B2; the control thread has copied what the slot held. */
	if (atomic_load_explicit(&a->busy, memory_order_acquire))
		return NULL;
	t->ack_next++;
	return a;
}

static void
note_operators(struct weir_task *t, struct weir_task_ack *a)
{
	a->op_cnt = t->ctx_cnt;
	for (uint32_t i = 0; i < t->ctx_cnt; i++) {
		const struct weir_operator_ctx *c = t->ctx[i];

		a->op[i].watermark_ns = c->watermark_ns;
		a->op[i].fired = c->fired;
		a->op[i].rows_in = weir_count_get(&c->rows_in);
		a->op[i].rows_out = weir_count_get(&c->rows_out);
		a->op[i].truncated = weir_count_get(&c->truncated);
		for (uint32_t r = 0; r < WEIR_REASONS_MAX; r++)
			a->op[i].dropped[r] = weir_count_get(&c->dropped[r]);
	}
}

static void
note_splits(struct weir_task *t, struct weir_task_ack *a)
{
	const struct weir_readers *r = t->readers;

	a->finished_cnt = 0;
	a->current_cnt = 0;
	if (r == NULL)
		return;
	a->source_rows = weir_count_get(&r->rows);
	a->source_bytes = weir_count_get(&r->bytes);
	a->finished_cnt = r->finished_cnt;
	memcpy(a->finished, r->finished, r->finished_cnt * sizeof(a->finished[0]));
	for (uint32_t i = 0; i < r->reader_cnt; i++) {
		struct weir_ack_split *s = &a->current[a->current_cnt];

		if (!r->reader[i].used)
			continue;
		s->idx = r->reader[i].given.idx;
		weir_readers_position(r, i, &s->position);
		a->current_cnt++;
	}
}

/* The cut of every channel: m of the producer, k of the consumer (checkpointing.md §0). */
static void
note_channels(struct weir_task *t, struct weir_task_ack *a)
{
	uint32_t n = 0;

	for (uint32_t c = 0; c < t->channel_cnt; c++) {
		a->processed[c] = t->channels[c].processed;
		a->channel_watermark_ns[c] = t->watermarks.channel_ns[c];
		a->channel_idle[c] = t->watermarks.idle[c];
	}
	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		for (uint32_t p = 0; p < t->emitters[e].port_cnt; p++)
			a->produced[n++] = t->emitters[e].ports[p].seq;
}

static void
freeze(struct weir_task *t)
{
	for (uint32_t i = 0; i < t->ctx_cnt; i++) {
		for (uint32_t s = 0; s < t->ctx[i]->opstate_cnt; s++)
			weir_opstate_freeze(&t->ctx[i]->opstate[s]);
		for (uint32_t s = 0; s < t->ctx[i]->state_cnt; s++)
			weir_kstate_freeze(t->ctx[i]->state[s], t->core->writer);
	}
	t->slice_ctx = 0;
	t->slice_state = 0;
}

/* T19: what the core or the task has cannot become part of this checkpoint any more. */
static void
decline(struct weir_task *t, uint64_t id, uint32_t why)
{
	weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_DECLINE,
						     .task = t->number,
						     .id = id,
						     .flags = why });
	weir_task_send_cancel(t, id);
}

/* T25: an input that is forced aligned tells how the checkpoint travels elsewhere. */
static uint32_t
forwards_as(const struct weir_handler_update *u)
{
	return (u->flags & WEIR_EVENT_OVERTAKES) != 0 ? WEIR_BARRIER_UNALIGNED : u->barrier;
}

static uint32_t
ports_that_capture(const struct weir_task *t, uint32_t barrier)
{
	uint32_t cnt = 0;

	if (barrier != WEIR_BARRIER_UNALIGNED && barrier != WEIR_BARRIER_TIMEOUTABLE)
		return 0;
	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		for (uint32_t p = 0; p < t->emitters[e].port_cnt; p++)
			cnt += t->emitters[e].ports[p].overdraft.config.events != NULL;
	return cnt;
}

static void
forward(struct weir_task *t, const struct weir_handler_update *u)
{
	const struct weir_event barrier = { .checkpoint = u->id,
					    .stamp_ns = u->stamp_ns,
					    .timeout_ns = u->timeout_ns,
					    .barrier = forwards_as(u),
					    .flags = u->flags };

	/* Each of them says once that it has settled, the last maybe much later. */
	t->outputs_open = ports_that_capture(t, barrier.barrier);
	weir_task_send_event(t, WEIR_ITEM_BARRIER, &barrier);
	if (t->readers != NULL)
		weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_BARRIER,
							     .task = t->number,
							     .id = u->id });
}

/* 5: all that is known at once. */
static void
note(struct weir_task *t, struct weir_task_ack *a, const struct weir_handler_update *u)
{
	a->checkpoint = u->id;
	a->ended = t->state >= WEIR_TASK_FINAL;
	a->watermark_ns = t->watermarks.current_ns;
	a->has_file = has_states(t);
	note_operators(t, a);
	note_splits(t, a);
	note_channels(t, a);
	a->pending_cnt = t->sink != NULL ? weir_two_phase_snapshot(t->sink, u->id, a->pending) : 0;
	if (WEIR_PLANT(SNAPSHOT_FILE) && a->pending_cnt > 0)
		a->pending_cnt--;
	if (WEIR_PLANT(COMMIT_EARLY) && t->sink != NULL)
		weir_two_phase_commit(t->sink, u->id);
	a->alignment_ns = u->metrics.align_ns;
	a->alignment_bytes = u->metrics.bytes;
	a->aligned_ns = t->triggered_ns;
	a->captured_ns = 0;
}

bool
weir_task_snapshot(struct weir_task *t)
{
	const struct weir_handler_update *u = &t->trigger;
	struct weir_task_ack *a;

	/* T32: an older one that is being written goes first; if it is given up, mail says so. */
	if (t->snapshot != 0)
		return false;
	if (has_states(t) && weir_core_snapshot_given_up(t->core, u->id)) {
		decline(t, u->id, WEIR_ABORT_SUBSUMED);
		weir_task_capture_end(t, u->id);
		return true;
	}
	/* Checkpoints that expire one after the other leave barriers behind in slow channels. */
	if (t->port_cnt > 0 && !weir_task_pay_cancel(t))
		return false;
	if (has_states(t) && !weir_core_snapshot_open(t->core, u->id))
		return false;
	a = free_ack(t);
	if (a == NULL)
		return false;
	t->snapshot = u->id;
	t->ack = a;
	t->pages_out = false;
	t->input_open = u->unaligned && t->done != u->id;
	forward(t, u);
	note(t, a, u);
	if (a->has_file)
		freeze(t);
	if (t->state == WEIR_TASK_FINAL && t->final_snapshot == 0)
		t->final_snapshot = u->id;
	weir_task_hold(t, u->id);
	a->frozen_ns = t->core->clock();
	return true;
}

/* Hand over pieces of the operator's own state; true when all are through. */
static bool
slice_own(struct weir_task *t, struct weir_operator_ctx *c, uint32_t state)
{
	struct weir_opstate *s = &c->opstate[state];
	struct weir_snap_blob blob = { .kind = WEIR_SEGMENT_BLOB,
				       .operator_idx = t->plan_task->op[t->slice_ctx],
				       .subtask = t->subtask,
				       .state_idx = state };
	const struct weir_opstate_piece *piece;

	while ((piece = weir_opstate_piece(s, &blob.len)) != NULL) {
		uint64_t taken = 0;

		blob.bytes = piece;
		blob.entry_cnt = piece->entry_cnt;
		/* A piece fits any chunk: all of it goes, or nothing. */
		if (!t->core->snap->append(t->core->writer, &blob, &taken))
			return false;
		weir_opstate_piece_out(s);
	}
	return true;
}

/* Hand over pages; true when all states are through. */
static bool
slice(struct weir_task *t)
{
	while (t->slice_ctx < t->ctx_cnt) {
		struct weir_operator_ctx *c = t->ctx[t->slice_ctx];
		const uint32_t s = t->slice_state;

		if (s == c->state_cnt + c->opstate_cnt) {
			t->slice_ctx++;
			t->slice_state = 0;
			continue;
		}
		if (s < c->opstate_cnt
			    ? !slice_own(t, c, s)
			    : !weir_kstate_slice(c->state[s - c->opstate_cnt], SLICE_PAGES))
			return false;
		t->slice_state++;
	}
	return true;
}

/* T17, K16: for an unaligned one, from the first barrier to the last. */
static void
note_capture(struct weir_task *t, struct weir_task_ack *a)
{
	weir_task_capture_note(t, a);
	if (t->done != t->snapshot)
		return;
	a->captured_ns = t->done_ns;
	a->alignment_ns = t->done_metrics.align_ns;
	a->alignment_bytes = t->done_metrics.bytes;
}

static void
acknowledge(struct weir_task *t)
{
	struct weir_task_ack *a = t->ack;
	const struct weir_mail mail = {
		.kind = WEIR_MAIL_ACK, .task = t->number, .id = t->snapshot, .ptr = a
	};

	note_capture(t, a);
	weir_task_capture_end(t, t->snapshot);
	a->posted_ns = t->core->clock();
	if (WEIR_PLANT(SNAPSHOT_SOURCE))
		note_splits(t, a);
	/* Published by the mailbox; the control thread clears it. */
	atomic_store_explicit(&a->busy, true, memory_order_relaxed);
	t->snapshot = 0;
	t->ack = NULL;
	weir_core_post(t->core, &mail);
}

/* Frames in flight could not all be kept, or the file that they belong into is gone. */
static void
lose(struct weir_task *t, uint32_t why)
{
	const uint64_t id = t->snapshot;

	weir_task_snapshot_abandon(t);
	decline(t, id, why);
}

/* Everything of the task's own is in the core's file, or on its way there. */
static bool
hand_over(struct weir_task *t)
{
	const uint64_t id = t->snapshot;

	if (t->through == id)
		return true;
	weir_task_snapshot_relieve(t);
	if (!t->pages_out || t->input_open || t->outputs_open > 0)
		return false;
	if (weir_task_capture_is_lost(t)) {
		lose(t, WEIR_MAIL_DECLINE_CAPTURE);
		return false;
	}
	if (!weir_task_capture_is_empty(t) && weir_core_snapshot_given_up(t->core, id)) {
		lose(t, WEIR_ABORT_SUBSUMED);
		return false;
	}
	if (!weir_task_capture_out(t))
		return false;
	t->through = id;
	weir_core_snapshot_check(t->core);
	return true;
}

enum weir_regime
weir_task_snapshot_step(struct weir_task *t)
{
	if (t->snapshot == 0)
		return WEIR_REGIME_IDLE;
	if (t->state == WEIR_TASK_FAILED) {
		/* The core's file may be sealed without it by now. */
		weir_task_snapshot_abandon(t);
		return WEIR_REGIME_IDLE;
	}
	if (!hand_over(t))
		return t->snapshot != 0 && t->pages_out ? WEIR_REGIME_IDLE : WEIR_REGIME_SNAPSHOT;
	/* T32: the core may be at a newer one by now, while the sink was not ready. */
	if (t->ack->has_file && t->core->durable_id < t->snapshot)
		return WEIR_REGIME_IDLE;
	if (t->sink != NULL && !weir_two_phase_is_durable(t->sink))
		return WEIR_REGIME_IDLE;
	acknowledge(t);
	return WEIR_REGIME_SNAPSHOT;
}

void
weir_task_snapshot_relieve(struct weir_task *t)
{
	if (t->snapshot == 0 || t->pages_out)
		return;
	t->pages_out = !has_states(t) || slice(t);
}

void
weir_task_snapshot_drop(struct weir_task *t)
{
	const uint64_t id = t->snapshot;

	if (id == 0)
		return;
	t->snapshot = 0;
	t->ack_next--;
	t->ack = NULL;
	t->input_open = false;
	t->outputs_open = 0;
	weir_task_each_overdraft(t, id, weir_overdraft_abort);
	weir_task_capture_end(t, id);
}

void
weir_task_snapshot_abandon(struct weir_task *t)
{
	if (t->snapshot == 0)
		return;
	/* T24: what is frozen is let go, and the core's file with it. T32: while a sink was not
	 * ready, the file may have been finished, and the core may be at a newer one. */
	if (t->ack->has_file && t->core->snap_id == t->snapshot)
		weir_core_snapshot_abort(t->core);
	weir_task_snapshot_drop(t);
}

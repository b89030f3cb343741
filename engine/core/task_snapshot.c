/*
 * A task's side of a checkpoint, in the order of T22: 0 the handler has checked for aborts, 1 the
 * operators' pre-barrier hooks have run (WEIR_WORK_FLUSH), 2 the barrier goes out, 5 the
 * synchronous part (numbers, freeze of the states, the sink's cut), then, between batches, the
 * asynchronous part: slices of pages into the core's data file, the sink's writes. The
 * acknowledgement goes when both are durable.
 */
#include "engine/base/plant.h"
#include "engine/core/core.h"
#include "engine/core/task_priv.h"

#include <string.h>

#define SLICE_PAGES 16u

static bool
has_states(const struct weir_task *t)
{
	for (uint32_t i = 0; i < t->ctx_cnt; i++)
		if (t->ctx[i]->state_cnt > 0)
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
			struct weir_table *table = weir_kstate_table_from(c->state[s], INT64_MIN);

			while (table != NULL) {
				const int64_t ns = weir_table_ns(table);

				bytes += weir_table_count(table) *
					 (spec->key_bytes + spec->value_bytes);
				table = ns == INT64_MAX
						? NULL
						: weir_kstate_table_from(c->state[s], ns + 1);
			}
		}
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
	for (uint32_t i = 0; i < WEIR_READERS_MAX; i++) {
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
	for (uint32_t i = 0; i < t->ctx_cnt; i++)
		for (uint32_t s = 0; s < t->ctx[i]->state_cnt; s++)
			weir_kstate_freeze(t->ctx[i]->state[s], t->core->writer);
	t->slice_ctx = 0;
	t->slice_state = 0;
}

/* T19: the core's file of this checkpoint has failed, or made way for a newer one, before this task
 * came to it. */
static void
decline(struct weir_task *t, uint64_t id)
{
	weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_DECLINE,
						     .task = t->number,
						     .id = id,
						     .flags = WEIR_ABORT_SUBSUMED });
	weir_task_send_cancel(t, id);
}

bool
weir_task_snapshot(struct weir_task *t, int64_t now_ns)
{
	const struct weir_handler_update *u = &t->trigger;
	const struct weir_event barrier = { .checkpoint = u->id,
					    .stamp_ns = u->stamp_ns,
					    .timeout_ns = u->timeout_ns,
					    .barrier = u->barrier,
					    .flags = u->flags };
	struct weir_task_ack *a;

	(void)now_ns;
	if (t->snapshot != 0)
		weir_task_snapshot_abandon(t);
	if (has_states(t) && weir_core_snapshot_given_up(t->core, u->id)) {
		decline(t, u->id);
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
	weir_task_send_event(t, WEIR_ITEM_BARRIER, &barrier);
	t->snapshot = u->id;
	t->ack = a;
	a->checkpoint = u->id;
	a->ended = t->state >= WEIR_TASK_FINAL;
	a->watermark_ns = t->watermarks.current_ns;
	a->has_file = has_states(t);
	note_operators(t, a);
	note_splits(t, a);
	note_channels(t, a);
	a->pending_cnt = t->sink != NULL ? weir_text_sink_snapshot(t->sink, u->id, a->pending) : 0;
	if (WEIR_PLANT(SNAPSHOT_FILE) && a->pending_cnt > 0)
		a->pending_cnt--;
	if (WEIR_PLANT(COMMIT_EARLY) && t->sink != NULL)
		weir_text_sink_commit(t->sink, u->id);
	if (a->has_file)
		freeze(t);
	if (t->state == WEIR_TASK_FINAL && t->final_snapshot == 0)
		t->final_snapshot = u->id;
	a->alignment_ns = u->metrics.align_ns;
	a->alignment_bytes = u->metrics.bytes;
	a->aligned_ns = t->triggered_ns;
	a->frozen_ns = t->core->clock();
	return true;
}

/* Hand over pages; true when all states are through. */
static bool
slice(struct weir_task *t)
{
	while (t->slice_ctx < t->ctx_cnt) {
		struct weir_operator_ctx *c = t->ctx[t->slice_ctx];

		if (t->slice_state == c->state_cnt) {
			t->slice_ctx++;
			t->slice_state = 0;
			continue;
		}
		if (!weir_kstate_slice(c->state[t->slice_state], SLICE_PAGES))
			return false;
		t->slice_state++;
	}
	return true;
}

static void
acknowledge(struct weir_task *t)
{
	struct weir_task_ack *a = t->ack;
	const struct weir_mail mail = {
		.kind = WEIR_MAIL_ACK, .task = t->number, .id = t->snapshot, .ptr = a
	};

	a->posted_ns = t->core->clock();
	if (WEIR_PLANT(SNAPSHOT_SOURCE))
		note_splits(t, a);
	/* Published by the mailbox; the control thread clears it. */
	atomic_store_explicit(&a->busy, true, memory_order_relaxed);
	t->snapshot = 0;
	t->ack = NULL;
	weir_core_post(t->core, &mail);
}

enum weir_regime
weir_task_snapshot_step(struct weir_task *t, int64_t now_ns)
{
	(void)now_ns;
	if (t->snapshot == 0)
		return WEIR_REGIME_IDLE;
	if (t->state == WEIR_TASK_FAILED) {
		/* The core's file may be sealed without it by now. */
		weir_task_snapshot_abandon(t);
		return WEIR_REGIME_IDLE;
	}
	if (t->ack->has_file && t->sliced != t->snapshot) {
		if (!slice(t))
			return WEIR_REGIME_SNAPSHOT;
		t->sliced = t->snapshot;
		weir_core_snapshot_check(t->core);
	}
	if (t->ack->has_file &&
	    (t->core->snap_state != WEIR_CORE_SNAPSHOT_DONE || t->core->snap_id != t->snapshot))
		return WEIR_REGIME_IDLE;
	if (t->sink != NULL && !weir_text_sink_is_durable(t->sink))
		return WEIR_REGIME_IDLE;
	acknowledge(t);
	return WEIR_REGIME_SNAPSHOT;
}

void
weir_task_snapshot_abandon(struct weir_task *t)
{
	if (t->snapshot == 0)
		return;
	/* T24: what is frozen is let go, and the core's file with it. */
	if (t->ack->has_file)
		weir_core_snapshot_abort(t->core);
	if (t->snapshot == 0)
		return; /* with all tasks of the core */
	t->snapshot = 0;
	t->ack_next--;
	t->ack = NULL;
}

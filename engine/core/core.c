#include "engine/core/core.h"

#include "engine/checkpoint/layout.h"

#include <stdio.h>
#include <string.h>

#define HARVEST_A_TURN 16u
#define NOTE_STATES_NS 500000000
/* A sink that takes longer for its commits leaves them to the next restore; a worker that is to be
 * cancelled is killed after twice as long. */
#define SETTLE_NS 5000000000

void
weir_core_post(struct weir_core *core, const struct weir_mail *mail)
{
	/* The control thread takes mail in every one of its rounds, and waits for no core. */
	while (!weir_mailbox_post(core->out, mail))
		__builtin_ia32_pause();
}

/* ---- data file of a checkpoint ---- */

static void
begin(struct weir_core *core, uint64_t id)
{
	const struct weir_data_name name = { .attempt = core->attempt,
					     .checkpoint_id = id,
					     .core = core->idx };
	const struct weir_savepoint_order *order = weir_savepoint_orders_find(core->orders, id);
	const bool is_savepoint = order != NULL && order->kind != WEIR_REQUEST_FULL;

	weir_layout_data_name(core->file.name, &name);
	snprintf(core->snap_path, sizeof(core->snap_path), "%s/%s",
		 is_savepoint ? order->dir : core->data_dir, core->file.name);
	core->snap->begin(core->writer, core->snap_path, core->job_hash, core->attempt, id,
			  core->idx);
	if (is_savepoint)
		core->snap->scope(core->writer, WEIR_SNAP_ALONE);
	else if (order != NULL || core->full)
		core->snap->scope(core->writer, WEIR_SNAP_WHOLE);
	if (is_savepoint && order->key_groups > 0)
		core->snap->canonical(core->writer, order->key_groups);
	core->snap_id = id;
	core->snap_state = WEIR_CORE_SNAPSHOT_OPEN;
}

bool
weir_core_snapshot_open(struct weir_core *core, uint64_t id)
{
	if (core->settling)
		return false;
	switch (core->snap_state) {
	case WEIR_CORE_SNAPSHOT_NONE:
	case WEIR_CORE_SNAPSHOT_DONE:
		/* F1: pairs with F2; the control thread has copied the segment list. */
		if (atomic_load_explicit(&core->file.busy, memory_order_acquire))
			return false;
		begin(core, id);
		return true;
	case WEIR_CORE_SNAPSHOT_OPEN:
		/* T32: an older one is finished first; if it is given up, mail says so. */
		return core->snap_id == id;
	case WEIR_CORE_SNAPSHOT_SEALED:
		return false;
	case WEIR_CORE_SNAPSHOT_ABORTED:
		return false;
	}
	return false;
}

bool
weir_core_snapshot_given_up(const struct weir_core *core, uint64_t id)
{
	const bool ended = core->snap_state == WEIR_CORE_SNAPSHOT_NONE ||
			   core->snap_state == WEIR_CORE_SNAPSHOT_ABORTED;

	return id < core->snap_id || (id == core->snap_id && ended);
}

/* Will nothing more of this task come into the file that is open? Who has no state may still have
 * frames in flight. */
static bool
is_through(const struct weir_core *core, const struct weir_task *t)
{
	return t->through >= core->snap_id || t->state == WEIR_TASK_FINISHED ||
	       t->state == WEIR_TASK_FAILED;
}

void
weir_core_snapshot_check(struct weir_core *core)
{
	if (core->snap_state != WEIR_CORE_SNAPSHOT_OPEN)
		return;
	for (uint32_t i = 0; i < core->task_cnt; i++)
		if (!is_through(core, core->tasks[i]))
			return;
	core->snap->seal(core->writer);
	core->snap_state = WEIR_CORE_SNAPSHOT_SEALED;
}

/* All tasks of the core let the checkpoint go; states that were frozen can be written again. */
static void
thaw(struct weir_core *core)
{
	for (uint32_t i = 0; i < core->task_cnt; i++) {
		struct weir_task *t = core->tasks[i];

		if (t->snapshot != core->snap_id || t->ack == NULL || !t->ack->has_file)
			continue;
		for (uint32_t c = 0; c < t->ctx_cnt; c++)
			for (uint32_t s = 0; s < t->ctx[c]->state_cnt; s++)
				weir_kstate_thaw(t->ctx[c]->state[s]);
		weir_task_snapshot_drop(t);
	}
}

void
weir_core_snapshot_abort(struct weir_core *core)
{
	if (core->snap_state != WEIR_CORE_SNAPSHOT_OPEN &&
	    core->snap_state != WEIR_CORE_SNAPSHOT_SEALED)
		return;
	thaw(core);
	core->snap->abort(core->writer);
	core->snap_state = WEIR_CORE_SNAPSHOT_ABORTED;
}

static void
file_done(struct weir_core *core)
{
	uint32_t cnt;
	const struct weir_segment *seg =
		core->snap->segments(core->writer, &cnt, &core->file.bytes);

	WEIR_ASSERT(cnt <= core->segment_max);
	memcpy(core->segments, seg, cnt * sizeof(*seg));
	core->file.segments = core->segments;
	core->file.segment_cnt = cnt;
	core->file.refs = core->snap->refs(core->writer, &core->file.ref_cnt);
	if (core->backend != NULL)
		weir_backend_stored(core->backend, core->snap_id, core->file.bytes);
	core->file.checkpoint = core->snap_id;
	core->file.core = core->idx;
	core->snap_state = WEIR_CORE_SNAPSHOT_DONE;
	core->durable_id = core->snap_id;
	/* Published by the mailbox; the control thread clears it. */
	atomic_store_explicit(&core->file.busy, true, memory_order_relaxed);
	weir_core_post(core, &(struct weir_mail){ .kind = WEIR_MAIL_FILE,
						  .id = core->snap_id,
						  .ptr = &core->file });
}

static void
file_failed(struct weir_core *core)
{
	const bool aborted = core->snap_state == WEIR_CORE_SNAPSHOT_ABORTED;

	if (!aborted) {
		core->error = *core->snap->error(core->writer);
		for (uint32_t i = 0; i < core->task_cnt; i++)
			if (core->tasks[i]->snapshot == core->snap_id)
				weir_core_post(core, &(struct weir_mail){
							     .kind = WEIR_MAIL_SNAPSHOT_FAILED,
							     .task = core->tasks[i]->number,
							     .id = core->snap_id,
							     .ptr = &core->error });
		thaw(core);
	}
	/* Nothing of it is in flight any more: what there is of the file can go (T24). */
	weir_core_post(core, &(struct weir_mail){ .kind = WEIR_MAIL_FILE_LEFT,
						  .flags = core->idx,
						  .id = core->snap_id });
	core->snap_state = WEIR_CORE_SNAPSHOT_NONE;
}

static void
step_file(struct weir_core *core)
{
	if (core->snap_state == WEIR_CORE_SNAPSHOT_NONE ||
	    core->snap_state == WEIR_CORE_SNAPSHOT_DONE)
		return;
	switch (core->snap->step(core->writer)) {
	case WEIR_SNAPSHOT_BUSY:
		break;
	case WEIR_SNAPSHOT_DONE:
		if (core->snap_state == WEIR_CORE_SNAPSHOT_ABORTED)
			file_failed(core);
		else
			file_done(core);
		break;
	case WEIR_SNAPSHOT_FAILED:
		file_failed(core);
		break;
	}
}

/* R7: a checkpoint was complete when the job was cancelled: what it covers becomes visible. */
static bool
commits(const struct weir_core *core)
{
	for (uint32_t i = 0; i < core->task_cnt; i++) {
		const struct weir_task *t = core->tasks[i];

		if (t->sink != NULL && t->state != WEIR_TASK_FAILED &&
		    weir_two_phase_is_committing(t->sink))
			return true;
	}
	return false;
}

/* K10: after the job's end nobody would delete what is given up later than that. */
static void
step_settle(struct weir_core *core)
{
	if (!core->settling || core->settled)
		return;
	weir_core_snapshot_abort(core);
	if (core->snap_state != WEIR_CORE_SNAPSHOT_NONE &&
	    core->snap_state != WEIR_CORE_SNAPSHOT_DONE)
		return;
	if (commits(core) && core->now_ns < core->settle_until_ns)
		return;
	core->settled = true;
	weir_core_post(core, &(struct weir_mail){ .kind = WEIR_MAIL_SETTLED });
}

/* ---- turn ---- */

static void
take_mail(struct weir_core *core)
{
	struct weir_mail mail;

	while (weir_mailbox_take(core->in, &mail)) {
		if (mail.kind == WEIR_MAIL_STOP) {
			core->stopped = true;
			continue;
		}
		if (mail.kind == WEIR_MAIL_SETTLE) {
			core->settling = true;
			core->settle_until_ns = core->now_ns + SETTLE_NS;
			continue;
		}
		for (uint32_t i = 0; i < core->task_cnt; i++)
			if (core->tasks[i]->number == mail.task)
				weir_task_mail(core->tasks[i], &mail, core->now_ns);
	}
}

bool
weir_core_harvest(struct weir_core *core)
{
	struct weir_io_req *done[HARVEST_A_TURN];
	uint32_t cnt;

	if (core->io == NULL)
		return false;
	cnt = weir_io_harvest(core->io, done, HARVEST_A_TURN);
	for (uint32_t i = 0; i < cnt; i++) {
		if (done[i]->user == core->writer)
			core->snap->done(core->writer, done[i]);
		else
			weir_text_sink_done(done[i]->user, done[i]);
	}
	return cnt > 0;
}

static void
account(struct weir_core *core, int64_t now_ns)
{
	const uint64_t took = now_ns > core->last_ns ? (uint64_t)(now_ns - core->last_ns) : 0;

	if (core->last_ns != 0) {
		weir_count_add(&core->regime_ns[core->last_regime], took);
		if (core->last_regime >= WEIR_REGIME_HOUSEKEEPING &&
		    took > weir_count_get(&core->longest_turn_ns))
			atomic_store_explicit(&core->longest_turn_ns, took, memory_order_relaxed);
	}
	core->last_ns = now_ns;
}

/* For the report of a run that is still going on, or gets killed. */
static void
note_states(struct weir_core *core, int64_t now_ns)
{
	if (now_ns - core->noted_ns < NOTE_STATES_NS)
		return;
	core->noted_ns = now_ns;
	for (uint32_t i = 0; i < core->task_cnt; i++)
		weir_task_note_state(core->tasks[i]);
}

enum weir_regime
weir_core_turn(struct weir_core *core, int64_t now_ns)
{
	enum weir_regime regime = WEIR_REGIME_IDLE;
	uint64_t rows = 0;

	account(core, now_ns);
	core->now_ns = now_ns;
	core->turns++;
	take_mail(core);
	if (weir_core_harvest(core))
		regime = WEIR_REGIME_HOUSEKEEPING;
	for (uint32_t i = 0; i < core->task_cnt; i++) {
		const enum weir_regime r = weir_task_turn(core->tasks[i], now_ns, &rows);

		if (r > regime)
			regime = r;
	}
	for (uint32_t i = 0; i < core->task_cnt; i++) {
		const enum weir_regime r = weir_task_snapshot_step(core->tasks[i]);

		if (r > regime)
			regime = r;
	}
	step_file(core);
	step_settle(core);
	note_states(core, now_ns);
	if (rows > 0)
		weir_count_add(&core->rows, rows);
	core->last_regime = regime;
	return regime;
}

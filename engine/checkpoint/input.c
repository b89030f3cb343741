#include "engine/checkpoint/input.h"

#include "engine/base/plant.h"

#include <stdlib.h>

#define UPDATES_MAX (2 * WEIR_HANDLER_UPDATES_MAX)

struct weir_input {
	struct weir_gate *gate;
	struct weir_handler *handler;
	uint32_t channel_cnt;
	uint32_t update_cnt;
	bool closed;
	struct weir_handler_update updates[UPDATES_MAX]; /* the task's */
	struct weir_error fault;
};

struct weir_input *
weir_input_create(const struct weir_input_config *config, struct weir_error *err)
{
	struct weir_gate_config gate = config->gate;
	const struct weir_handler_config handler = {
		.mode = config->mode,
		.channel_cnt = config->gate.channel_cnt,
		.forced = config->forced,
		.virtuals = config->virtuals,
		.remember_max = config->remember_max,
		.finished_tasks_off = config->finished_tasks_off,
		.output_timer = config->output_timer,
	};
	struct weir_input *in = calloc(1, sizeof(*in));

	if (in == NULL) {
		weir_fail(err, WEIR_ERR_UNAVAILABLE, "no memory for a task's inputs");
		return NULL;
	}
	gate.closing = config->mode == WEIR_HANDLER_EXACTLY_ONCE;
	in->channel_cnt = gate.channel_cnt;
	in->gate = weir_gate_create(&gate, err);
	in->handler = in->gate != NULL ? weir_handler_create(&handler, err) : NULL;
	if (in->handler == NULL) {
		weir_input_destroy(in);
		return NULL;
	}
	return in;
}

void
weir_input_destroy(struct weir_input *in)
{
	if (in == NULL)
		return;
	weir_handler_destroy(in->handler);
	weir_gate_destroy(in->gate);
	free(in);
}

struct weir_gate *
weir_input_gate(struct weir_input *in)
{
	return in->gate;
}

struct weir_handler *
weir_input_handler(struct weir_input *in)
{
	return in->handler;
}

/* Between handler and gate. */

static void
move_announced(struct weir_input *in, const struct weir_handler_update *update)
{
	const struct weir_gate_event barrier = {
		.checkpoint = update->id,
		.stamp_ns = update->stamp_ns,
		.timeout_ns = update->timeout_ns,
		.barrier = WEIR_BARRIER_TIMEOUTABLE,
	};
	uint32_t ord, seq;

	for (uint32_t c = 0; c < in->channel_cnt; c++)
		if (weir_handler_announced(in->handler, c, &ord, &seq))
			weir_gate_move(in->gate, c, ord, seq, &barrier);
}

static void
keep_begin(struct weir_input *in, uint64_t id)
{
	for (uint32_t c = 0; c < in->channel_cnt; c++) {
		uint32_t seq;
		const enum weir_handler_keep keep = weir_handler_keeps(in->handler, c, &seq);

		if (keep == WEIR_KEEP_NOTHING)
			continue;
		weir_gate_keep(in->gate, c, id);
		if (keep == WEIR_KEEP_UNTIL)
			weir_gate_keep_until(in->gate, c, seq);
		else if (keep == WEIR_KEEP_QUEUED)
			weir_gate_keep_queued(in->gate, c);
		else
			weir_gate_look(in->gate, c);
	}
}

static void
keep_queued(struct weir_input *in)
{
	for (uint32_t c = 0; c < in->channel_cnt; c++) {
		uint32_t seq;

		if (weir_handler_keeps(in->handler, c, &seq) == WEIR_KEEP_QUEUED)
			weir_gate_keep_queued(in->gate, c);
	}
}

static struct weir_handler_update *
for_task(struct weir_input *in, const struct weir_handler_update *update)
{
	WEIR_ASSERT(in->update_cnt < UPDATES_MAX);
	in->updates[in->update_cnt] = *update;
	return &in->updates[in->update_cnt++];
}

static void
carry_out(struct weir_input *in, const struct weir_handler_update *u)
{
	switch (u->kind) {
	case WEIR_UPDATE_TRIGGER:
	case WEIR_UPDATE_DONE:
	case WEIR_UPDATE_ABORT:
	case WEIR_UPDATE_DISCARD:
	case WEIR_UPDATE_SUPPRESS:
	case WEIR_UPDATE_OVER:
	case WEIR_UPDATE_OUTPUT_TIMEOUT:
	case WEIR_UPDATE_FAULT:
		for_task(in, u);
		break;
	case WEIR_UPDATE_RECOVERED:
		weir_gate_open_restored(in->gate);
		for_task(in, u);
		break;
	case WEIR_UPDATE_OPEN:
		weir_gate_open(in->gate, u->channel);
		break;
	case WEIR_UPDATE_OPEN_ALL:
		weir_gate_open_all(in->gate, u->channel);
		break;
	case WEIR_UPDATE_OPEN_HELD:
		weir_gate_open_held(in->gate);
		break;
	case WEIR_UPDATE_HOLD:
		if (!WEIR_PLANT(HELD_OPEN))
			weir_gate_hold(in->gate, u->channel, u->ord, u->seq);
		break;
	case WEIR_UPDATE_MOVE:
		move_announced(in, u);
		break;
	case WEIR_UPDATE_KEEP:
		keep_begin(in, u->id);
		break;
	case WEIR_UPDATE_KEEP_END:
		weir_gate_keep_until(in->gate, u->channel, u->seq);
		break;
	case WEIR_UPDATE_KEEP_QUEUED:
		keep_queued(in);
		break;
	case WEIR_UPDATE_KEEP_STOP:
		weir_gate_keep_stop(in->gate);
		break;
	case WEIR_UPDATE_START:
		break; /* answered by step */
	}
}

/* One event, and the answers to what the handler asks on the way (T14). */
static void
step(struct weir_input *in, const struct weir_handler_event *event)
{
	struct weir_handler_event next = *event;
	bool again = true;

	while (again) {
		const struct weir_handler_updates updates = weir_handler_step(in->handler, &next);

		again = updates.cnt > 0 && updates.list[updates.cnt - 1].kind == WEIR_UPDATE_START;
		for (uint32_t i = 0; i < updates.cnt; i++)
			carry_out(in, &updates.list[i]);
		if (again)
			next = (struct weir_handler_event){
				.kind = weir_gate_sees_newer(in->gate,
							     updates.list[updates.cnt - 1].id)
						? WEIR_HANDLER_REFUSED
						: WEIR_HANDLER_STARTED,
				.channel = WEIR_HANDLER_CHANNEL_NONE,
				.now_ns = event->now_ns,
			};
	}
}

static void
report_faults(struct weir_input *in)
{
	struct weir_gate_fault fault;

	while (weir_gate_fault(in->gate, &fault, &in->fault) != 0) {
		const struct weir_handler_update update = {
			.kind = WEIR_UPDATE_FAULT,
			.channel = fault.channel,
			.ord = fault.got_ord,
		};

		carry_out(in, &update);
	}
}

/* Events of a burst that the handler has to know; the others are the task's alone. */
static bool
handler_kind(uint32_t item_kind, enum weir_handler_event_kind *kind)
{
	switch ((enum weir_item_kind)item_kind) {
	case WEIR_ITEM_BARRIER:
		*kind = WEIR_HANDLER_BARRIER;
		return true;
	case WEIR_ITEM_ANNOUNCE:
		*kind = WEIR_HANDLER_ANNOUNCE;
		return true;
	case WEIR_ITEM_CANCEL:
		*kind = WEIR_HANDLER_CANCEL;
		return true;
	case WEIR_ITEM_END:
		*kind = WEIR_HANDLER_END;
		return true;
	case WEIR_ITEM_END_STATE:
		*kind = WEIR_HANDLER_END_STATE;
		return true;
	case WEIR_ITEM_DATA:
	case WEIR_ITEM_END_DATA:
		break;
	}
	return false;
}

static void
on_event(struct weir_input *in, const struct weir_burst *burst, int64_t now_ns)
{
	struct weir_handler_event event = {
		.channel = burst->channel,
		.ord = burst->items[0].ord,
		.seq = burst->items[0].seq,
		.barrier = burst->event.barrier,
		.flags = burst->event.flags,
		.closed = burst->closed,
		.id = burst->event.checkpoint,
		.stamp_ns = burst->event.stamp_ns,
		.timeout_ns = burst->event.timeout_ns,
		.now_ns = now_ns,
	};

	if (handler_kind(burst->items[0].kind, &event.kind))
		step(in, &event);
}

uint32_t
weir_input_poll(struct weir_input *in, struct weir_burst *burst, uint32_t max, int64_t now_ns)
{
	in->update_cnt = 0;
	burst->cnt = 0;
	if (WEIR_UNLIKELY(in->closed))
		return 0;
	weir_gate_poll(in->gate, burst, max);
	if (WEIR_UNLIKELY(burst->is_event))
		on_event(in, burst, now_ns);
	report_faults(in);
	return burst->cnt;
}

uint32_t
weir_input_poll_priority(struct weir_input *in, struct weir_burst *burst, int64_t now_ns)
{
	in->update_cnt = 0;
	burst->cnt = 0;
	if (WEIR_UNLIKELY(in->closed))
		return 0;
	if (weir_gate_poll_priority(in->gate, burst) > 0)
		on_event(in, burst, now_ns);
	report_faults(in);
	return burst->cnt;
}

struct weir_handler_updates
weir_input_updates(const struct weir_input *in)
{
	return (struct weir_handler_updates){ .list = in->updates, .cnt = in->update_cnt };
}

const struct weir_error *
weir_input_fault(const struct weir_input *in)
{
	return &in->fault;
}

int64_t
weir_input_due(const struct weir_input *in)
{
	return weir_handler_due(in->handler);
}

void
weir_input_timers(struct weir_input *in, int64_t now_ns)
{
	const struct weir_handler_event event = {
		.kind = WEIR_HANDLER_TIMER,
		.channel = WEIR_HANDLER_CHANNEL_NONE,
		.now_ns = now_ns,
	};

	in->update_cnt = 0;
	/* At most two are due; running one never arms another. */
	for (uint32_t n = 0; n < 2 && weir_handler_due(in->handler) <= now_ns; n++)
		step(in, &event);
}

void
weir_input_trigger(struct weir_input *in, const struct weir_input_trigger *trigger, int64_t now_ns)
{
	const struct weir_handler_event event = {
		.kind = WEIR_HANDLER_RPC,
		.channel = WEIR_HANDLER_CHANNEL_NONE,
		.barrier = trigger->barrier,
		.flags = trigger->flags,
		.id = trigger->id,
		.stamp_ns = trigger->stamp_ns,
		.timeout_ns = trigger->timeout_ns,
		.now_ns = now_ns,
	};

	in->update_cnt = 0;
	step(in, &event);
}

void
weir_input_notice(struct weir_input *in, uint64_t id, int64_t now_ns)
{
	const struct weir_handler_event event = {
		.kind = WEIR_HANDLER_NOTICE,
		.channel = WEIR_HANDLER_CHANNEL_NONE,
		.id = id,
		.now_ns = now_ns,
	};

	in->update_cnt = 0;
	step(in, &event);
}

void
weir_input_close(struct weir_input *in, int64_t now_ns)
{
	const struct weir_handler_event event = {
		.kind = WEIR_HANDLER_CLOSE,
		.channel = WEIR_HANDLER_CHANNEL_NONE,
		.now_ns = now_ns,
	};

	in->update_cnt = 0;
	step(in, &event);
	in->closed = true;
}

void
weir_input_look(struct weir_input *in, uint32_t channel)
{
	in->update_cnt = 0;
	weir_gate_look(in->gate, channel);
	report_faults(in);
}

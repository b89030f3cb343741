#ifndef WEIR_ENGINE_CHECKPOINT_INPUT_H
#define WEIR_ENGINE_CHECKPOINT_INPUT_H

/*
 * weir_input: a task's side of its input channels: the gate, the barrier handler, and between them
 * what the handler wants of the gate. A task polls it and does what the updates say.
 *
 *   per turn:   while (weir_input_poll_priority(in, &burst, now)) act on updates
 *               if (weir_input_due(in) <= now) { weir_input_timers(in, now); act on updates }
 *               if the task can emit: weir_input_poll(in, &burst, max, now)
 *                       data: process, or weir_gate_put_back what it could not process;
 *                             weir_input_count the bytes
 *                       event: act on updates; CANCEL, END_DATA and END are the task's as well
 *
 * A task without channels (a source) uses weir_input_trigger only.
 *
 * Threads:   the task's core only. Ownership: updates are valid until the next call.
 * Cost:      weir_input_poll is as hot as weir_gate_poll: an event costs a handler step, data costs
 *            nothing more. Memory is taken by weir_input_create.
 */

#include "engine/checkpoint/handler.h"
#include "engine/exchange/gate.h"

struct weir_input;

struct weir_input_config {
	struct weir_gate_config gate; /* closing is set from the mode */
	enum weir_handler_mode mode;
	const bool *forced;   /* T33; NULL: none */
	const bool *virtuals; /* R3; NULL: none */
	uint32_t remember_max;
	bool finished_tasks_off;
	bool output_timer;
};

/* Set-up: NULL and *err if memory is short. Arrays are copied. */
struct weir_input *weir_input_create(const struct weir_input_config *config,
				     struct weir_error *err);
void weir_input_destroy(struct weir_input *in);

/* As weir_gate_poll and weir_gate_poll_priority; after an event, or a failure, see the updates. */
uint32_t weir_input_poll(struct weir_input *in, struct weir_burst *burst, uint32_t max,
			 int64_t now_ns);
uint32_t weir_input_poll_priority(struct weir_input *in, struct weir_burst *burst, int64_t now_ns);

/* What the task has to act on since the last call that could bring any; FAULT comes last. */
struct weir_handler_updates weir_input_updates(const struct weir_input *in);

/* Text of the FAULT among the updates. */
const struct weir_error *weir_input_fault(const struct weir_input *in);

int64_t weir_input_due(const struct weir_input *in);
void weir_input_timers(struct weir_input *in, int64_t now_ns);

/* What the coordinator triggers itself (T31): sources, and tasks whose upstream has finished. */
struct weir_input_trigger {
	uint64_t id;
	uint32_t barrier; /* enum weir_barrier_kind */
	uint32_t flags;	  /* WEIR_EVENT_ bits */
	int64_t stamp_ns;
	int64_t timeout_ns; /* TIMEOUTABLE: from stamp; WEIR_HANDLER_NEVER_NS: never */
};
void weir_input_trigger(struct weir_input *in, const struct weir_input_trigger *trigger,
			int64_t now_ns);

/* The coordinator aborted id (T20). */
void weir_input_notice(struct weir_input *in, uint64_t id, int64_t now_ns);

/* The task closes: timers dropped, a running capture discarded, nothing handed out any more. */
void weir_input_close(struct weir_input *in, int64_t now_ns);

/* Check what is queued on a channel and keep what a running capture wants of it. */
void weir_input_look(struct weir_input *in, uint32_t channel);

struct weir_gate *weir_input_gate(struct weir_input *in);
struct weir_handler *weir_input_handler(struct weir_input *in);

static inline void
weir_input_count(struct weir_input *in, uint64_t bytes)
{
	weir_handler_count(weir_input_handler(in), bytes);
}

#endif /* WEIR_ENGINE_CHECKPOINT_INPUT_H */

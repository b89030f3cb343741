#include "engine/exchange/gate.h"

#include <stdlib.h>

#include "engine/exchange/gate_priv.h"

/* Set-up. */

static uint32_t
depth_max(const struct weir_gate_config *config, bool priority)
{
	uint32_t max = 1;

	for (uint32_t c = 0; c < config->channel_cnt; c++) {
		const struct weir_gate_channel *ch = &config->channels[c];
		const struct weir_lane *lane = priority ? ch->priority : ch->data;

		if (lane != NULL && lane->depth > max)
			max = lane->depth;
	}
	return max;
}

static void
channel_init(struct channel *ch, const struct weir_gate_channel *from)
{
	WEIR_ASSERT(from->data != NULL);
	ch->data = from->data;
	ch->priority = from->priority;
	ch->events = from->events;
	ch->next_ord = from->next_ord;
	ch->next_seq = from->next_seq;
}

struct weir_gate *
weir_gate_create(const struct weir_gate_config *config, struct weir_error *err)
{
	const uint32_t cnt = config->channel_cnt;
	struct weir_gate *gate = calloc(1, sizeof(*gate));

	if (gate == NULL)
		goto short_of_memory;
	gate->channels = calloc(cnt > 0 ? cnt : 1, sizeof(*gate->channels));
	gate->scratch = calloc(depth_max(config, false), sizeof(*gate->scratch));
	gate->priority_scratch = calloc(depth_max(config, true), sizeof(*gate->priority_scratch));
	if (gate->channels == NULL || gate->scratch == NULL || gate->priority_scratch == NULL)
		goto short_of_memory;
	for (uint32_t c = 0; c < cnt; c++)
		channel_init(&gate->channels[c], &config->channels[c]);
	gate->channel_cnt = cnt;
	gate->closing = config->closing;
	gate->complete = config->complete;
	gate->keep = config->keep;
	gate->arrival = config->arrival;
	gate->arg = config->arg;
	return gate;

short_of_memory:
	weir_gate_destroy(gate);
	weir_fail(err, WEIR_ERR_UNAVAILABLE, "no memory for a gate of %u channels", cnt);
	return NULL;
}

void
weir_gate_destroy(struct weir_gate *gate)
{
	if (gate == NULL)
		return;
	free(gate->priority_scratch);
	free(gate->scratch);
	free(gate->channels);
	free(gate);
}

/* Faults. */

void
weir_gate_fail_channel(struct weir_gate *gate, struct channel *ch, uint32_t got_ord,
		       uint32_t got_seq)
{
	if (ch->state & CH_FAILED)
		return;
	ch->state |= CH_FAILED;
	ch->fault = (struct weir_gate_fault){
		.channel = (uint32_t)(ch - gate->channels),
		.want_ord = ch->next_ord,
		.got_ord = got_ord,
		.want_seq = ch->next_seq,
		.got_seq = got_seq,
	};
	gate->fault_cnt++;
}

int
weir_gate_fault(struct weir_gate *gate, struct weir_gate_fault *fault, struct weir_error *err)
{
	if (WEIR_LIKELY(gate->fault_cnt == 0))
		return 0;
	for (uint32_t c = 0; c < gate->channel_cnt; c++) {
		struct weir_gate_fault *f = &gate->channels[c].fault;

		if (!(gate->channels[c].state & CH_FAILED) || f->channel == UINT32_MAX)
			continue;
		*fault = *f;
		f->channel = UINT32_MAX; /* reported */
		gate->fault_cnt--;
		return weir_fail(err, WEIR_ERR_FAILED,
				 "input channel %u: items are missing or came twice: expected item "
				 "%u after frame %u, got item %u with frame number %u",
				 c, fault->want_ord, fault->want_seq - 1, fault->got_ord,
				 fault->got_seq);
	}
	return 0;
}

/* Opening and closing. */

void
weir_gate_open(struct weir_gate *gate, uint32_t channel)
{
	struct channel *ch = &gate->channels[channel];

	ch->state &= ~(uint32_t)(CH_HELD | CH_BEHIND);
	if (!(ch->state & CH_RESTORED))
		ch->state &= ~(uint32_t)CH_CLOSED;
}

void
weir_gate_open_restored(struct weir_gate *gate)
{
	for (uint32_t c = 0; c < gate->channel_cnt; c++) {
		struct channel *ch = &gate->channels[c];

		if (!(ch->state & CH_RESTORED))
			continue;
		if (ch->state & CH_BEHIND)
			ch->closed_ord = ch->behind_ord;
		else
			ch->state &= ~(uint32_t)CH_CLOSED;
		ch->state &= ~(uint32_t)(CH_RESTORED | CH_BEHIND);
	}
}

void
weir_gate_open_all(struct weir_gate *gate, uint32_t except)
{
	for (uint32_t c = 0; c < gate->channel_cnt; c++)
		if (c != except)
			weir_gate_open(gate, c);
}

void
weir_gate_hold(struct weir_gate *gate, uint32_t channel, uint32_t ord, uint32_t seq)
{
	struct channel *ch = &gate->channels[channel];

	if (ch->state & CH_CLOSED)
		return;
	ch->state |= CH_CLOSED | CH_HELD;
	ch->closed_ord = ord;
	ch->held_seq = seq;
}

void
weir_gate_open_held(struct weir_gate *gate)
{
	for (uint32_t c = 0; c < gate->channel_cnt; c++)
		if (gate->channels[c].state & CH_HELD)
			weir_gate_open(gate, c);
}

bool
weir_gate_is_closed(const struct weir_gate *gate, uint32_t channel)
{
	return (gate->channels[channel].state & CH_CLOSED) != 0;
}

uint32_t
weir_gate_last_seq(const struct weir_gate *gate, uint32_t channel)
{
	return gate->channels[channel].next_seq - 1;
}

uint32_t
weir_gate_queued(const struct weir_gate *gate, uint32_t channel)
{
	const struct channel *ch = &gate->channels[channel];

	return ch->ahead_cnt + weir_lane_count(ch->data);
}

void
weir_gate_replace(struct weir_gate *gate, uint32_t channel, struct weir_lane *lane)
{
	struct channel *ch = &gate->channels[channel];

	WEIR_ASSERT(lane->depth <= ch->data->depth);
	ch->data = lane;
}

/* The world of a barrier scenario: lanes in memory, one task that only takes notes. */

#include "tests/scenarios/barrier_world_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void *
world_grown(void *array, uint32_t cnt, uint32_t *cap, size_t size)
{
	if (cnt < *cap)
		return array;
	*cap = *cap == 0 ? 64 : *cap * 2;
	array = realloc(array, *cap * size);
	if (array == NULL)
		abort();
	return array;
}

/* Set-up. */

static uint64_t
arrival(void *arg, uint32_t channel, enum weir_gate_lane lane, uint32_t ord)
{
	struct world *w = arg;
	uint64_t *slot;

	if (ord >= NUMBERS_MAX)
		return UINT64_MAX;
	slot = &w->sources[channel]->arrival[lane][ord];
	if (*slot == 0)
		*slot = ++w->arrivals;
	return *slot;
}

static void
keep(void *arg, uint64_t checkpoint, uint32_t channel, const struct weir_item *frame)
{
	struct world *w = arg;

	WORLD_GROW(w, kept);
	w->kept[w->kept_cnt++] =
		(struct kept){ .id = checkpoint, .channel = channel, .frame = frame->ref };
}

struct world *
world_create(const struct header *header)
{
	const uint32_t cnt = header->channel_cnt;
	struct weir_gate_channel *channels = calloc(cnt + 1, sizeof(*channels));
	struct world *w = calloc(1, sizeof(*w));
	struct weir_input_config config = { 0 };
	struct weir_error err;

	if (channels == NULL || w == NULL)
		abort();
	w->header = *header;
	w->sources = calloc(cnt + 1, sizeof(struct source *));
	if (w->sources == NULL)
		abort();
	for (uint32_t c = 0; c < cnt; c++) {
		w->sources[c] = calloc(1, sizeof(struct source));
		if (w->sources[c] == NULL)
			abort();
		test_lane_init(&w->sources[c]->data);
		test_lane_init(&w->sources[c]->priority);
		channels[c] = (struct weir_gate_channel){
			.data = &w->sources[c]->data.lane,
			.priority = &w->sources[c]->priority.lane,
			.events = w->sources[c]->events,
			.next_seq = 1,
		};
	}
	config.gate = (struct weir_gate_config){
		.channel_cnt = cnt,
		.channels = channels,
		.complete = true,
		.keep = keep,
		.arrival = arrival,
		.arg = w,
	};
	config.mode = header->mode == MODE_TRACKER ? WEIR_HANDLER_AT_LEAST_ONCE
						   : WEIR_HANDLER_EXACTLY_ONCE;
	config.forced = header->forced;
	config.remember_max = header->remember;
	config.finished_tasks_off = header->finished_tasks_off;
	config.output_timer = header->output_timer;
	w->input = weir_input_create(&config, &err);
	free(channels);
	if (w->input == NULL)
		abort();
	return w;
}

void
world_destroy(struct world *w)
{
	weir_input_destroy(w->input);
	for (uint32_t c = 0; c < w->header.channel_cnt; c++)
		free(w->sources[c]);
	free(w->sources);
	free(w->frames);
	free(w->kept);
	free(w->stamps);
	free(w->measured);
	event_log_free(&w->log);
	free(w);
}

/* The log. */

struct event_log *
world_log(struct world *w)
{
	return &w->log;
}

void
world_skip_deliveries(struct world *w)
{
	w->deliveries_off = true;
}

static struct measured *
measured_of(struct world *w, uint64_t id)
{
	for (uint32_t i = 0; i < w->measured_cnt; i++)
		if (w->measured[i].id == id)
			return &w->measured[i];
	WORLD_GROW(w, measured);
	w->measured[w->measured_cnt] = (struct measured){ .id = id };
	return &w->measured[w->measured_cnt++];
}

static void
discard(struct world *w, uint64_t id)
{
	for (uint32_t i = 0; i < w->kept_cnt; i++)
		if (w->kept[i].id == id)
			w->kept[i].gone = true;
}

static void
take_note(struct world *w, const struct weir_handler_update *u)
{
	switch (u->kind) {
	case WEIR_UPDATE_TRIGGER:
		event_log_add(&w->log, "trigger %" PRIu64 " %s", u->id,
			      u->unaligned ? "unaligned" : "aligned");
		measured_of(w, u->id)->metrics = u->metrics;
		break;
	case WEIR_UPDATE_DONE:
		event_log_add(&w->log, "done %" PRIu64, u->id);
		measured_of(w, u->id)->metrics = u->metrics;
		break;
	case WEIR_UPDATE_OVER:
		measured_of(w, u->id)->metrics = u->metrics;
		break;
	case WEIR_UPDATE_ABORT:
		event_log_add(&w->log, "abort %" PRIu64 " %s", u->id,
			      weir_handler_reason_text(u->reason));
		break;
	case WEIR_UPDATE_DISCARD:
		event_log_add(&w->log, "discard %" PRIu64, u->id);
		discard(w, u->id);
		break;
	case WEIR_UPDATE_SUPPRESS:
		event_log_add(&w->log, "suppress %" PRIu64, u->id);
		break;
	case WEIR_UPDATE_RECOVERED:
		event_log_add(&w->log, "recovered");
		break;
	case WEIR_UPDATE_OUTPUT_TIMEOUT:
		event_log_add(&w->log, "output-timeout %" PRIu64, u->id);
		break;
	case WEIR_UPDATE_FAULT:
		event_log_add(&w->log, "fail %" PRIu32 " SEQUENCE", u->channel);
		break;
	default:
		event_log_add(&w->log, "an update that is none of the task's");
	}
}

void
world_take_notes(struct world *w)
{
	const struct weir_handler_updates updates = weir_input_updates(w->input);

	for (uint32_t i = 0; i < updates.cnt; i++)
		take_note(w, &updates.list[i]);
}

/* The task. */

static void
name_of(const struct world *w, const struct weir_burst *burst, char *name, size_t size)
{
	const struct weir_item *item = &burst->items[0];
	const char *word;

	if (item->kind == WEIR_ITEM_DATA) {
		snprintf(name, size, "d:%s@%u", w->frames[item->ref].label, burst->channel);
		return;
	}
	word = item->kind == WEIR_ITEM_ANNOUNCE
		       ? "a"
		       : item_kind_word(item->kind, (enum weir_barrier_kind)burst->event.barrier);
	if (item->kind == WEIR_ITEM_END || item->kind == WEIR_ITEM_END_STATE)
		snprintf(name, size, "%s@%u", word, burst->channel);
	else
		snprintf(name, size, "%s%" PRIu64 "@%u", word, burst->event.checkpoint,
			 burst->channel);
}

bool
world_hand_out(struct world *w, char *name, size_t size)
{
	struct weir_burst burst;
	uint32_t cnt = weir_input_poll_priority(w->input, &burst, w->now_ns);

	world_take_notes(w);
	if (cnt == 0) {
		cnt = weir_input_poll(w->input, &burst, 1, w->now_ns);
		world_take_notes(w);
	}
	if (cnt == 0)
		return false;
	name_of(w, &burst, name, size);
	if (!burst.is_event) {
		const struct frame *frame = &w->frames[burst.items[0].ref];

		weir_input_count(w->input, frame->size);
		if (!w->deliveries_off)
			event_log_add(&w->log, "deliver %s", frame->label);
	}
	return true;
}

void
world_drain(struct world *w)
{
	char name[NAME_MAX_LEN * 2];

	while (world_hand_out(w, name, sizeof(name)))
		;
}

bool
world_advance(struct world *w, int64_t ns)
{
	if (ns > INT64_MAX / 2 - w->now_ns)
		return false;
	w->now_ns += ns;
	return true;
}

void
world_fire(struct world *w)
{
	weir_input_timers(w->input, w->now_ns);
	world_take_notes(w);
}

void
world_notice(struct world *w, uint64_t id)
{
	weir_input_notice(w->input, id, w->now_ns);
	world_take_notes(w);
}

bool
world_rpc(struct world *w, const struct item_word *word)
{
	const struct item_kind *kind = item_kind_of(word->kind);
	struct weir_input_trigger trigger;

	if (kind == NULL || kind->item != WEIR_ITEM_BARRIER)
		return false;
	trigger = (struct weir_input_trigger){
		.id = word->id,
		.barrier = kind->barrier,
		.stamp_ns = world_stamp_of(w, word->id),
		.timeout_ns = kind->barrier == WEIR_BARRIER_TIMEOUTABLE ? w->header.timeout_ns : 0,
	};
	weir_input_trigger(w->input, &trigger, w->now_ns);
	world_take_notes(w);
	return true;
}

void
world_close(struct world *w)
{
	weir_input_close(w->input, w->now_ns);
	world_take_notes(w);
}

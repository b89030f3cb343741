/* The world of a barrier scenario: producers, lanes in memory, one task that only takes notes. */

#include "tests/scenarios/barrier.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct frame {
	uint64_t size;
	char label[NAME_MAX_LEN];
};

struct source {
	struct test_lane data;
	struct test_lane priority;
	struct weir_event events[EVENTS_MAX];
	uint32_t event_cursor;
	uint32_t ord; /* number of the next item */
	uint32_t seq; /* frames pushed */
	uint64_t arrival[3][NUMBERS_MAX];
};

struct kept {
	uint64_t id;
	uint32_t channel;
	uint32_t frame;
	bool gone;
};

struct stamped {
	uint64_t id;
	int64_t ns;
};

struct measured {
	uint64_t id;
	struct weir_handler_metrics metrics;
};

struct world {
	struct header header;
	struct weir_input *input;
	struct source **sources;
	uint64_t arrivals;
	int64_t now_ns;
	bool deliveries_off;
	struct frame *frames;
	uint32_t frame_cnt, frame_cap;
	struct kept *kept;
	uint32_t kept_cnt, kept_cap;
	struct stamped *stamps;
	uint32_t stamp_cnt, stamp_cap;
	struct measured *measured;
	uint32_t measured_cnt, measured_cap;
	struct event_log log;
};

/* Make room for one more element of an array. */
static void *
grown(void *array, uint32_t cnt, uint32_t *cap, size_t size)
{
	if (cnt < *cap)
		return array;
	*cap = *cap == 0 ? 64 : *cap * 2;
	array = realloc(array, *cap * size);
	if (array == NULL)
		abort();
	return array;
}

#define GROW(w, what)                                                                              \
	((w)->what##s =                                                                            \
		 grown((w)->what##s, (w)->what##_cnt, &(w)->what##_cap, sizeof(*(w)->what##s)))

/* Lanes in memory. */

static uint32_t
lane_push(struct weir_lane *lane, const struct weir_item *items, uint32_t cnt)
{
	struct test_lane *l = WEIR_CONTAINER(lane, struct test_lane, lane);
	uint32_t taken = 0;

	while (taken < cnt && l->tail - l->head < lane->depth)
		l->items[l->tail++ % LANE_DEPTH] = items[taken++];
	return taken;
}

static uint32_t
lane_peek(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	struct test_lane *l = WEIR_CONTAINER(lane, struct test_lane, lane);
	uint32_t cnt = 0;

	for (uint32_t i = l->head; i != l->tail && cnt < max; i++)
		items[cnt++] = l->items[i % LANE_DEPTH];
	return cnt;
}

static uint32_t
lane_pop(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	struct test_lane *l = WEIR_CONTAINER(lane, struct test_lane, lane);
	const uint32_t cnt = lane_peek(lane, items, max);

	l->head += cnt;
	return cnt;
}

static uint32_t
lane_count(const struct weir_lane *lane)
{
	const struct test_lane *l =
		(const struct test_lane *)((const char *)lane - offsetof(struct test_lane, lane));

	return l->tail - l->head;
}

static const struct weir_lane_ops lane_ops = {
	.push = lane_push, .pop = lane_pop, .peek = lane_peek, .count = lane_count, .name = "test"
};

void
test_lane_init(struct test_lane *lane)
{
	lane->lane.ops = &lane_ops;
	lane->lane.depth = LANE_DEPTH;
	lane->head = 0;
	lane->tail = 0;
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

	w->kept = grown(w->kept, w->kept_cnt, &w->kept_cap, sizeof(*w->kept));
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
	w->measured = grown(w->measured, w->measured_cnt, &w->measured_cap, sizeof(*w->measured));
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

static void
take_notes(struct world *w)
{
	const struct weir_handler_updates updates = weir_input_updates(w->input);

	for (uint32_t i = 0; i < updates.cnt; i++)
		take_note(w, &updates.list[i]);
}

/* Producers. */

void
world_stamp(struct world *w, uint64_t id, int64_t ns)
{
	GROW(w, stamp);
	w->stamps[w->stamp_cnt++] = (struct stamped){ .id = id, .ns = ns };
}

/* Trigger time of an id: the clock at its first barrier, unless it was set. */
static int64_t
stamp_of(struct world *w, uint64_t id)
{
	for (uint32_t i = 0; i < w->stamp_cnt; i++)
		if (w->stamps[i].id == id)
			return w->stamps[i].ns;
	world_stamp(w, id, w->now_ns);
	return w->now_ns;
}

static const struct {
	const char *word;
	enum weir_item_kind item;
	enum weir_barrier_kind barrier;
} kinds[] = {
	{ "b", WEIR_ITEM_BARRIER, WEIR_BARRIER_ALIGNED },
	{ "sp", WEIR_ITEM_BARRIER, WEIR_BARRIER_SAVEPOINT },
	{ "tb", WEIR_ITEM_BARRIER, WEIR_BARRIER_TIMEOUTABLE },
	{ "ub", WEIR_ITEM_BARRIER, WEIR_BARRIER_UNALIGNED },
	{ "x", WEIR_ITEM_CANCEL, 0 },
	{ "eop", WEIR_ITEM_END, 0 },
	{ "eos", WEIR_ITEM_END_STATE, 0 },
};

static int
kind_of(const char *word)
{
	for (size_t i = 0; i < WEIR_ARRAY_CNT(kinds); i++)
		if (strcmp(kinds[i].word, word) == 0)
			return (int)i;
	return -1;
}

static uint32_t
event_slot(struct source *s)
{
	for (uint32_t n = 0; n < EVENTS_MAX; n++) {
		const uint32_t i = s->event_cursor++ % EVENTS_MAX;

		if (atomic_load_explicit(&s->events[i].refs, memory_order_relaxed) == 0)
			return i;
	}
	return WEIR_GATE_NO_EVENT;
}

static uint32_t
frame_add(struct world *w, uint32_t channel, const struct item_word *item)
{
	struct frame *frame;

	GROW(w, frame);
	frame = &w->frames[w->frame_cnt];
	frame->size = item->has_size ? item->size : w->header.size;
	if (item->label[0] != '\0')
		snprintf(frame->label, sizeof(frame->label), "%s", item->label);
	else
		snprintf(frame->label, sizeof(frame->label), "%u.%u", channel,
			 w->sources[channel]->seq);
	return w->frame_cnt++;
}

static bool
lane_put(struct world *w, uint32_t channel, enum weir_gate_lane lane, const struct weir_item *item)
{
	struct source *s = w->sources[channel];
	struct test_lane *to = lane == WEIR_GATE_DATA ? &s->data : &s->priority;

	if (item->ord < NUMBERS_MAX)
		s->arrival[lane][item->ord] = ++w->arrivals;
	return weir_lane_push(&to->lane, item, 1) == 1;
}

static bool
push_event(struct world *w, uint32_t channel, const struct item_word *word, struct weir_item *item)
{
	struct source *s = w->sources[channel];
	const int kind = kind_of(word->kind);
	bool unaligned, announced;

	if (kind < 0)
		return false;
	item->kind = kinds[kind].item;
	item->ref = event_slot(s);
	if (item->ref == WEIR_GATE_NO_EVENT)
		return false;
	unaligned = kinds[kind].barrier == WEIR_BARRIER_UNALIGNED;
	announced = kinds[kind].barrier == WEIR_BARRIER_TIMEOUTABLE && w->header.remote[channel];
	s->events[item->ref] = (struct weir_event){
		.checkpoint = word->id,
		.stamp_ns = item->kind == WEIR_ITEM_BARRIER ? stamp_of(w, word->id) : 0,
		.timeout_ns =
			kinds[kind].barrier == WEIR_BARRIER_TIMEOUTABLE ? w->header.timeout_ns : 0,
		.barrier = kinds[kind].barrier,
		.refs = announced ? 2 : 1,
	};
	if (announced) {
		struct weir_item announcement = *item;

		announcement.kind = WEIR_ITEM_ANNOUNCE;
		if (!lane_put(w, channel, WEIR_GATE_PRIORITY, &announcement))
			return false;
	}
	return lane_put(w, channel, unaligned ? WEIR_GATE_PRIORITY : WEIR_GATE_DATA, item);
}

bool
world_push(struct world *w, const struct item_word *word)
{
	const uint32_t channel = (uint32_t)word->channel;
	struct weir_item item = { 0 };
	struct source *s;
	bool ok;

	if (word->channel < 0 || channel >= w->header.channel_cnt)
		return false;
	s = w->sources[channel];
	if (s->ord == NUMBERS_MAX)
		return false;
	item.ord = s->ord++;
	if (word->has_seq)
		item.ord = (uint32_t)word->seq;
	if (strcmp(word->kind, "d") == 0) {
		s->seq++;
		item.kind = WEIR_ITEM_DATA;
		item.seq = s->seq;
		item.ref = frame_add(w, channel, word);
		ok = lane_put(w, channel, WEIR_GATE_DATA, &item);
	} else {
		item.seq = s->seq;
		ok = push_event(w, channel, word, &item);
	}
	weir_input_look(w->input, channel);
	take_notes(w);
	return ok;
}

/* The task. */

static void
name_of(const struct world *w, const struct weir_burst *burst, char *name, size_t size)
{
	const struct weir_item *item = &burst->items[0];
	const char *word = "?";

	if (item->kind == WEIR_ITEM_DATA) {
		snprintf(name, size, "d:%s@%u", w->frames[item->ref].label, burst->channel);
		return;
	}
	if (item->kind == WEIR_ITEM_ANNOUNCE)
		word = "a";
	for (size_t i = 0; i < WEIR_ARRAY_CNT(kinds); i++)
		if (kinds[i].item == item->kind &&
		    (item->kind != WEIR_ITEM_BARRIER || kinds[i].barrier == burst->event.barrier))
			word = kinds[i].word;
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

	take_notes(w);
	if (cnt == 0) {
		cnt = weir_input_poll(w->input, &burst, 1, w->now_ns);
		take_notes(w);
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
	take_notes(w);
}

void
world_notice(struct world *w, uint64_t id)
{
	weir_input_notice(w->input, id, w->now_ns);
	take_notes(w);
}

bool
world_rpc(struct world *w, const struct item_word *word)
{
	const int kind = kind_of(word->kind);
	struct weir_input_trigger trigger;

	if (kind < 0 || kinds[kind].item != WEIR_ITEM_BARRIER)
		return false;
	trigger = (struct weir_input_trigger){
		.id = word->id,
		.barrier = kinds[kind].barrier,
		.stamp_ns = stamp_of(w, word->id),
		.timeout_ns =
			kinds[kind].barrier == WEIR_BARRIER_TIMEOUTABLE ? w->header.timeout_ns : 0,
	};
	weir_input_trigger(w->input, &trigger, w->now_ns);
	take_notes(w);
	return true;
}

void
world_close(struct world *w)
{
	weir_input_close(w->input, w->now_ns);
	take_notes(w);
}

/* State. */

static void WEIR_PRINTF(3, 4) append(char *text, size_t size, const char *fmt, ...)
{
	const size_t len = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + len, size - len, fmt, args);
	va_end(args);
}

void
world_blocked(const struct world *w, char *text, size_t size)
{
	const char *blank = "";

	snprintf(text, size, "{");
	for (uint32_t c = 0; c < w->header.channel_cnt; c++)
		if (weir_gate_is_closed(weir_input_gate(w->input), c)) {
			append(text, size, "%s%u", blank, c);
			blank = " ";
		}
	append(text, size, "}");
}

static struct weir_handler_view
view(const struct world *w)
{
	struct weir_handler_view v;

	weir_handler_look(weir_input_handler(w->input), &v);
	return v;
}

void
world_pending(const struct world *w, char *text, size_t size)
{
	const struct weir_handler_view v = view(w);

	snprintf(text, size, "%s", v.pending_cnt == 0 ? "none" : "");
	for (uint32_t i = 0; i < v.pending_cnt; i++)
		append(text, size, "%s%" PRIu64, i == 0 ? "" : " ", v.pending[i]);
}

static bool
keep_channel(const struct world *w, uint64_t id, uint32_t channel, char *text, size_t size)
{
	bool any = false;

	for (uint32_t i = 0; i < w->kept_cnt; i++) {
		const struct kept *k = &w->kept[i];

		if (k->id != id || k->channel != channel || k->gone)
			continue;
		if (!any)
			append(text, size, "%s%u:[", strcmp(text, "{") == 0 ? "" : " ", channel);
		append(text, size, "%s%s", any ? " " : "", w->frames[k->frame].label);
		any = true;
	}
	if (any)
		append(text, size, "]");
	return any;
}

void
world_keep(const struct world *w, uint64_t id, char *text, size_t size)
{
	snprintf(text, size, "{");
	for (uint32_t c = 0; c < w->header.channel_cnt; c++)
		keep_channel(w, id, c, text, size);
	append(text, size, "}");
}

void
world_latest(const struct world *w, char *text, size_t size)
{
	const struct weir_handler_view v = view(w);

	if (v.has_latest)
		snprintf(text, size, "%" PRIu64, v.latest);
	else
		snprintf(text, size, "none");
}

uint32_t
world_open(const struct world *w)
{
	return view(w).open_cnt;
}

uint32_t
world_remembered(const struct world *w)
{
	return view(w).remembered_cnt;
}

bool
world_aligning(const struct world *w)
{
	return view(w).aligning;
}

bool
world_metrics(const struct world *w, uint64_t id, struct weir_handler_metrics *metrics)
{
	for (uint32_t i = 0; i < w->measured_cnt; i++)
		if (w->measured[i].id == id) {
			*metrics = w->measured[i].metrics;
			return true;
		}
	return false;
}

/*
 * Scenarios of mode output: the producer's own queue of a channel is weir_overdraft. Its lanes take
 * nothing but when a step takes an item. A closed queue and the notice of a first priority item are
 * the consumer's business with local rings; here they are read off the queue.
 */

#include "tests/scenarios/barrier.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/exchange/overdraft.h"

#define LABELS_MAX 16384u
#define KEPT_MAX   (WEIR_OVERDRAFT_HELD * (NAME_MAX_LEN + 1)) /* labels and blanks */

struct queue {
	struct weir_overdraft overdraft;
	struct test_lane data, priority;
	uint32_t channel;
	uint32_t ord, seq;
	bool closed;
	char labels[LABELS_MAX][NAME_MAX_LEN]; /* by frame number */
	char kept[KEPT_MAX];		       /* of the capture that is being decided */
	struct out_world *world;
};

struct out_world {
	struct event_log log;
	uint32_t channel_cnt;
	uint32_t event_cnt;
	struct weir_event events[EVENTS_MAX];
	struct queue **queues;
};

static void
keep(void *arg, uint64_t checkpoint, const struct weir_item *frame)
{
	struct queue *q = arg;

	(void)checkpoint;
	text_add(q->kept, sizeof(q->kept), "%s%s", q->kept[0] == '\0' ? "" : " ",
		 q->labels[frame->ref]);
}

static void
settled(void *arg, uint64_t checkpoint, enum weir_output_capture how)
{
	static const char *const failures[] = {
		[WEIR_OUTPUT_ABORTED] = "ABORTED",
		[WEIR_OUTPUT_RELEASED] = "RELEASED",
		[WEIR_OUTPUT_CONCURRENT] = "CONCURRENT",
	};
	struct queue *q = arg;

	if (how == WEIR_OUTPUT_CAPTURED)
		event_log_add(&q->world->log, "capture %" PRIu64 " %u [%s]", checkpoint, q->channel,
			      q->kept);
	else
		event_log_add(&q->world->log, "capture-failed %" PRIu64 " %u %s", checkpoint,
			      q->channel, failures[how]);
	q->kept[0] = '\0';
}

static struct queue *
queue_create(struct out_world *w, uint32_t channel)
{
	struct queue *q = calloc(1, sizeof(*q));

	if (q == NULL)
		abort();
	q->world = w;
	q->channel = channel;
	test_lane_init(&q->data);
	test_lane_init(&q->priority);
	q->data.lane.depth = 0;
	q->priority.lane.depth = 0;
	weir_overdraft_init(&q->overdraft, &q->data.lane, &q->priority.lane);
	weir_overdraft_checkpoints(
		&q->overdraft,
		&(struct weir_overdraft_config){
			.events = w->events, .keep = keep, .settled = settled, .arg = q });
	return q;
}

struct out_world *
out_create(const struct header *header)
{
	struct out_world *w = calloc(1, sizeof(*w));

	if (w == NULL)
		abort();
	w->channel_cnt = header->channel_cnt;
	w->queues = calloc(w->channel_cnt + 1, sizeof(struct queue *));
	if (w->queues == NULL)
		abort();
	for (uint32_t c = 0; c < w->channel_cnt; c++)
		w->queues[c] = queue_create(w, c);
	return w;
}

void
out_destroy(struct out_world *w)
{
	for (uint32_t c = 0; c < w->channel_cnt; c++)
		free(w->queues[c]);
	free(w->queues);
	event_log_free(&w->log);
	free(w);
}

struct event_log *
out_log(struct out_world *w)
{
	return &w->log;
}

/* The consumer would hear of the first priority item of a queue that is not closed. */
static void
notice(struct queue *q, uint32_t first_cnt_before)
{
	if (first_cnt_before == 0 && q->overdraft.first_cnt > 0 && !q->closed)
		event_log_add(&q->world->log, "priority %u", q->channel);
}

static bool
fill_event(struct queue *q, const struct item_word *word, struct weir_item *item)
{
	const struct item_kind *kind = item_kind_of(word->kind);
	struct out_world *w = q->world;

	if (kind == NULL || w->event_cnt == EVENTS_MAX)
		return false;
	item->kind = kind->item;
	item->ref = w->event_cnt++;
	item->seq = q->seq;
	w->events[item->ref] =
		(struct weir_event){ .checkpoint = word->id, .barrier = kind->barrier, .refs = 1 };
	return true;
}

static bool
fill_frame(struct queue *q, const struct item_word *word, struct weir_item *item)
{
	if (q->seq + 1 == LABELS_MAX)
		return false;
	q->seq++;
	item->kind = WEIR_ITEM_DATA;
	item->seq = q->seq;
	item->ref = q->seq;
	if (word->label[0] != '\0')
		snprintf(q->labels[q->seq], sizeof(q->labels[0]), "%s", word->label);
	else
		snprintf(q->labels[q->seq], sizeof(q->labels[0]), "%u.%u", q->channel, q->seq);
	return true;
}

bool
out_push(struct out_world *w, const struct item_word *word)
{
	struct weir_item item = { 0 };
	struct queue *q;
	uint32_t before;

	if (word->channel < 0 || word->channel >= w->channel_cnt)
		return false;
	q = w->queues[word->channel];
	if (q->overdraft.tail - q->overdraft.head == WEIR_OVERDRAFT_HELD ||
	    q->overdraft.first_cnt == WEIR_OVERDRAFT_FIRST)
		return false;
	before = q->overdraft.first_cnt;
	item.ord = q->ord++;
	if (!(strcmp(word->kind, "d") == 0 ? fill_frame(q, word, &item)
					   : fill_event(q, word, &item)))
		return false;
	weir_overdraft_send(&q->overdraft, &item);
	notice(q, before);
	return true;
}

static void
name_of(const struct queue *q, const struct weir_item *item, bool first, char *name, size_t size)
{
	const struct weir_event *event;
	const char *word;

	if (item->kind == WEIR_ITEM_DATA) {
		snprintf(name, size, "%s", q->labels[item->ref]);
		return;
	}
	event = &q->world->events[item->ref];
	word = item_kind_word(item->kind, first ? WEIR_BARRIER_UNALIGNED
						: (enum weir_barrier_kind)event->barrier);
	if (item->kind == WEIR_ITEM_END || item->kind == WEIR_ITEM_END_STATE)
		snprintf(name, size, "%s", word);
	else
		snprintf(name, size, "%s%" PRIu64, word, event->checkpoint);
}

void
out_take(struct out_world *w, uint32_t channel, char *name, size_t size)
{
	struct queue *q = w->queues[channel];
	struct test_lane *lane = q->overdraft.first_cnt > 0 ? &q->priority : &q->data;
	struct weir_item item;
	uint32_t barrier;

	snprintf(name, size, "none");
	if (q->closed)
		return;
	lane->lane.depth = 1;
	weir_overdraft_flush(&q->overdraft);
	lane->lane.depth = 0;
	if (weir_lane_pop(&lane->lane, &item, 1) == 0)
		return;
	name_of(q, &item, lane == &q->priority, name, size);
	if (item.kind != WEIR_ITEM_BARRIER || lane == &q->priority)
		return;
	barrier = w->events[item.ref].barrier;
	q->closed = barrier != WEIR_BARRIER_UNALIGNED;
}

void
out_resume(struct out_world *w, uint32_t channel)
{
	w->queues[channel]->closed = false;
}

void
out_timeout(struct out_world *w, uint64_t id)
{
	for (uint32_t c = 0; c < w->channel_cnt; c++) {
		struct queue *q = w->queues[c];
		const uint32_t before = q->overdraft.first_cnt;

		weir_overdraft_timeout(&q->overdraft, id);
		notice(q, before);
	}
}

void
out_abort(struct out_world *w, uint64_t id)
{
	for (uint32_t c = 0; c < w->channel_cnt; c++)
		weir_overdraft_abort(&w->queues[c]->overdraft, id);
}

void
out_close(struct out_world *w)
{
	struct weir_item item;

	for (uint32_t c = 0; c < w->channel_cnt; c++)
		while (weir_overdraft_drop(&w->queues[c]->overdraft, &item))
			;
}

void
out_queue(const struct out_world *w, uint32_t channel, char *text, size_t size)
{
	const struct queue *q = w->queues[channel];
	const struct weir_overdraft *o = &q->overdraft;
	char name[NAME_MAX_LEN * 2];

	snprintf(text, size, "[");
	for (uint32_t i = 0; i < weir_overdraft_cnt(o); i++) {
		name_of(q, weir_overdraft_at(o, i), i < o->first_cnt, name, sizeof(name));
		text_add(text, size, "%s%s", i == 0 ? "" : " ", name);
	}
	text_add(text, size, "]");
}

void
out_blocked(const struct out_world *w, char *text, size_t size)
{
	const char *blank = "";

	snprintf(text, size, "{");
	for (uint32_t c = 0; c < w->channel_cnt; c++)
		if (w->queues[c]->closed) {
			text_add(text, size, "%s%u", blank, c);
			blank = " ";
		}
	text_add(text, size, "}");
}

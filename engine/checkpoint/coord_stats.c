#include "engine/checkpoint/coord_stats.h"

#include "engine/checkpoint/grow.h"

#include <stdlib.h>

void
weir_coord_stats_init(struct weir_coord_stats *s, uint32_t history_max)
{
	*s = (struct weir_coord_stats){
		.ring = weir_grow_alloc(history_max, sizeof(*s->ring)),
		.ring_max = history_max,
	};
}

void
weir_coord_stats_fini(struct weir_coord_stats *s)
{
	free(s->open);
	free(s->ring);
	*s = (struct weir_coord_stats){ 0 };
}

void
weir_coord_stats_begin(struct weir_coord_stats *s, uint64_t id, enum weir_request_kind kind,
		       int64_t trigger_ms)
{
	s->triggered_cnt++;
	s->open = weir_grow(s->open, &s->open_cap, s->open_cnt + 1, sizeof(*s->open));
	s->open[s->open_cnt++] = (struct weir_coord_history){
		.id = id,
		.kind = kind,
		.trigger_ms = trigger_ms,
	};
}

static struct weir_coord_history *
find_open(struct weir_coord_stats *s, uint64_t id)
{
	for (uint32_t i = 0; i < s->open_cnt; i++) {
		if (s->open[i].id == id)
			return &s->open[i];
	}
	return NULL;
}

void
weir_coord_stats_triggered(struct weir_coord_stats *s, uint64_t id, int64_t now_ms)
{
	struct weir_coord_history *h = find_open(s, id);

	if (h != NULL)
		h->triggered_ms = now_ms;
}

static void
raise(int64_t *max, int64_t v)
{
	if (*max < v)
		*max = v;
}

void
weir_coord_stats_ack(struct weir_coord_stats *s, uint64_t id, struct weir_attempt from,
		     const struct weir_ack_metrics *m, int64_t now_ms)
{
	struct weir_coord_history *h = find_open(s, id);

	if (h == NULL)
		return;
	h->acked_cnt++;
	h->last = from;
	h->last_metrics = *m;
	h->last_ack_ms = now_ms;
	raise(&h->max.start_delay_ms, m->start_delay_ms);
	raise(&h->max.alignment_ms, m->alignment_ms);
	raise(&h->max.sync_ms, m->sync_ms);
	raise(&h->max.async_ms, m->async_ms);
	h->max.alignment_bytes += m->alignment_bytes;
	h->max.persisted_bytes += m->persisted_bytes;
	h->max.written_bytes += m->written_bytes;
	h->max.state_bytes += m->state_bytes;
	h->unaligned = h->max.persisted_bytes > 0; /* K16 */
}

void
weir_coord_stats_end(struct weir_coord_stats *s, uint64_t id, enum weir_reason reason,
		     int64_t now_ms)
{
	struct weir_coord_history *h = find_open(s, id);

	if (reason == WEIR_REASON_NONE)
		s->completed_cnt++;
	else
		s->failed_cnt++;
	if (h == NULL)
		return;
	h->reason = reason;
	h->end_ms = now_ms;
	if (s->ring_max > 0)
		s->ring[s->ring_cnt++ % s->ring_max] = *h;
	weir_grow_remove(s->open, &s->open_cnt, (uint32_t)(h - s->open), sizeof(*s->open));
}

const struct weir_coord_history *
weir_coord_stats_history(const struct weir_coord_stats *s, uint64_t n)
{
	if (n >= s->ring_cnt || n >= s->ring_max)
		return NULL;
	return &s->ring[(s->ring_cnt - 1 - n) % s->ring_max];
}

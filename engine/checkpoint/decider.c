#include "engine/checkpoint/decider.h"

#include "engine/base/plant.h"
#include "engine/checkpoint/grow.h"

#include <stdlib.h>
#include <string.h>

void
weir_decider_init(struct weir_decider *d, uint32_t max_concurrent, uint32_t queue_limit,
		  int64_t min_pause)
{
	*d = (struct weir_decider){
		.queue_limit = queue_limit,
		.max_concurrent = max_concurrent,
		.min_pause = min_pause,
	};
}

void
weir_decider_fini(struct weir_decider *d)
{
	free(d->queue);
	*d = (struct weir_decider){ 0 };
}

/* C2: savepoint, forced, user-made, earlier. */
static bool
goes_before(const struct weir_request *a, const struct weir_request *b)
{
	bool a_save = weir_request_is_savepoint(a->kind);
	bool b_save = weir_request_is_savepoint(b->kind);

	if (a_save != b_save)
		return a_save;
	if (a->forced != b->forced)
		return a->forced;
	if (a->periodic != b->periodic)
		return b->periodic;
	if (a->time != b->time)
		return a->time < b->time;
	return a->arrival < b->arrival;
}

static void
insert(struct weir_decider *d, const struct weir_request *request)
{
	uint32_t at = d->queue_cnt;

	d->queue = weir_grow(d->queue, &d->queue_cap, d->queue_cnt + 1, sizeof(*d->queue));
	while (at > 0 && goes_before(request, &d->queue[at - 1]))
		at--;
	memmove(&d->queue[at + 1], &d->queue[at], (d->queue_cnt - at) * sizeof(*d->queue));
	d->queue[at] = *request;
	d->queue_cnt++;
}

bool
weir_decider_add(struct weir_decider *d, const struct weir_request *request,
		 struct weir_request *victim)
{
	struct weir_request r = *request;
	bool full = d->queue_cnt >= d->queue_limit;

	r.arrival = d->arrivals++;
	/* C3: users' requests are not pushed out by a newcomer. */
	if (full && d->queue_cnt > 0 && !d->queue[d->queue_cnt - 1].periodic) {
		*victim = r;
		return true;
	}
	insert(d, &r);
	if (!full)
		return false;
	*victim = d->queue[--d->queue_cnt];
	return true;
}

bool
weir_decider_take(struct weir_decider *d, struct weir_request *request)
{
	if (d->queue_cnt == 0)
		return false;
	*request = d->queue[0];
	weir_grow_remove(d->queue, &d->queue_cnt, 0, sizeof(*d->queue));
	return true;
}

static bool
inside_min_pause(const struct weir_decider *d, const struct weir_decider_view *view)
{
	return view->last_completion != WEIR_DECIDER_NEVER &&
	       view->now < view->last_completion + d->min_pause;
}

struct weir_decision
weir_decider_next(struct weir_decider *d, const struct weir_decider_view *view)
{
	struct weir_decision decision = { .kind = WEIR_DECISION_NOTHING };
	const struct weir_request *head = d->queue;

	/* C4 */
	if (d->queue_cnt == 0 || view->busy || view->cleaning_cnt > d->max_concurrent)
		return decision;
	/* C5 */
	if (view->pending_cnt >= d->max_concurrent && !head->forced && !WEIR_PLANT(TOO_MANY))
		return decision;
	decision.kind = WEIR_DECISION_RUN;
	/* C6: it fails and is not kept; the timer asks again when the pause is over. */
	if (head->periodic && !head->forced && !WEIR_PLANT(MIN_PAUSE) &&
	    inside_min_pause(d, view)) {
		decision.kind = WEIR_DECISION_DROP;
		decision.rearm = view->last_completion + d->min_pause;
	}
	if (!weir_decider_take(d, &decision.request))
		WEIR_ASSERT(false);
	return decision;
}

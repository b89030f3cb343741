#include "engine/operators/two_phase.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/plant.h"

#define MASK	   (WEIR_TRANSACTIONS_MAX - 1u)
#define JOIN_ABOVE (WEIR_TRANSACTIONS_MAX / 2)

enum state {
	OPEN,
	PREPARING, /* cut; precommit is called until it returns 0 */
	READY,
	GONE, /* committed, or nothing to commit */
};

struct slot {
	struct weir_transaction t; /* first */
	enum state state;
	bool commit; /* a checkpoint that covers it is complete */
	uint64_t rows;
	enum weir_transaction_origin origin;
};

struct weir_two_phase {
	struct weir_two_phase_config cfg;
	struct weir_two_phase *next; /* ring of the operator's subtasks */
	uint32_t head, tail;	     /* free-running; tail - 1 is the open one if any is */
	uint64_t named_by;	     /* newest checkpoint that names any */
	uint64_t over_below;	     /* lower ones are not under way */
	uint64_t paced;
	_Atomic uint64_t waiting_rows; /* of all transactions */
	int64_t start_ns;
	struct weir_error error;
	uint8_t *local; /* of all transactions */
	size_t local_bytes;
	uint64_t max_us;
	_Atomic uint64_t latency[WEIR_LATENCY_BUCKETS];
	struct slot slot[WEIR_TRANSACTIONS_MAX];
};

struct weir_two_phase *
weir_two_phase_create(const struct weir_two_phase_config *config)
{
	struct weir_two_phase *tp = calloc(1, sizeof(*tp));

	WEIR_ASSERT(tp != NULL);
	tp->cfg = *config;
	tp->local_bytes = weir_align_up(config->sink->transaction_bytes, WEIR_LINE);
	if (tp->local_bytes > 0) {
		tp->local = aligned_alloc(WEIR_LINE, tp->local_bytes * WEIR_TRANSACTIONS_MAX);
		WEIR_ASSERT(tp->local != NULL);
	}
	tp->next = tp;
	if (config->sibling != NULL) {
		tp->next = config->sibling->next;
		config->sibling->next = tp;
	}
	config->ctx->two_phase = tp;
	return tp;
}

void
weir_two_phase_destroy(struct weir_two_phase *tp)
{
	if (tp == NULL)
		return;
	free(tp->local);
	free(tp);
}

/* Keep the first error, with whose it is. */
static int
failed(struct weir_two_phase *tp, int rc)
{
	if (rc == 0 || tp->error.code != WEIR_OK)
		return rc;
	tp->error = tp->cfg.ctx->error;
	if (tp->error.code == WEIR_OK)
		weir_fail(&tp->error, WEIR_ERR_FAILED, "failed without a word");
	weir_error_prefix(&tp->error, "sink '%s'", tp->cfg.ctx->id);
	return tp->error.code;
}

static void *
local_of(struct weir_two_phase *tp, const struct slot *s)
{
	return tp->local + (size_t)(s - tp->slot) * tp->local_bytes;
}

static struct slot *
add(struct weir_two_phase *tp)
{
	struct slot *s = &tp->slot[tp->tail++ & MASK];

	WEIR_ASSERT(tp->tail - tp->head <= WEIR_TRANSACTIONS_MAX);
	*s = (struct slot){ .state = OPEN };
	if (tp->local_bytes > 0)
		memset(local_of(tp, s), 0, tp->local_bytes);
	return s;
}

static struct slot *
open_one(struct weir_two_phase *tp)
{
	struct slot *s = &tp->slot[(tp->tail - 1) & MASK];

	return tp->tail != tp->head && s->state == OPEN ? s : NULL;
}

uint32_t
weir_two_phase_room(const struct weir_two_phase *tp)
{
	return WEIR_TRANSACTIONS_MAX - (tp->tail - tp->head);
}

void
weir_two_phase_restore(struct weir_two_phase *tp, const struct weir_transaction *named,
		       uint32_t cnt, bool of_savepoint)
{
	/* With fewer subtasks than before, one takes over the transactions of several. */
	for (uint32_t i = 0; i < cnt; i++) {
		struct slot *s = add(tp);

		s->t = named[i];
		s->state = READY;
		s->commit = true;
		s->origin = of_savepoint ? WEIR_TRANSACTION_SAVEPOINT : WEIR_TRANSACTION_CHECKPOINT;
	}
}

int
weir_two_phase_open(struct weir_two_phase *tp)
{
	struct weir_transaction *named;
	uint32_t cnt = 0;
	int rc;

	if (tp->cfg.sink->open == NULL)
		return 0;
	named = calloc(tp->tail - tp->head + 1, sizeof(*named));
	WEIR_ASSERT(named != NULL);
	for (uint32_t i = tp->head; i != tp->tail; i++)
		named[cnt++] = tp->slot[i & MASK].t;
	rc = failed(tp, tp->cfg.sink->open(tp->cfg.ctx, named, cnt));
	free(named);
	return rc;
}

void
weir_two_phase_close(struct weir_two_phase *tp)
{
	if (tp->cfg.sink->close != NULL)
		tp->cfg.sink->close(tp->cfg.ctx);
}

/* Nothing is on its way to be committed that would make room. */
static bool
is_stuck(const struct weir_two_phase *tp)
{
	return tp->tail - tp->head >= WEIR_TRANSACTIONS_MAX - 1 &&
	       !tp->slot[tp->head & MASK].commit;
}

bool
weir_two_phase_ready(struct weir_two_phase *tp, int64_t now_ns)
{
	if (tp->cfg.rate > 0) {
		if (tp->start_ns == 0)
			tp->start_ns = now_ns;
		if (tp->paced > (uint64_t)((weir_u128)(uint64_t)(now_ns - tp->start_ns) *
					   tp->cfg.rate / 1000000000u))
			return false;
	}
	/* To wait would be for ever: the barrier that could end it stands behind rows. */
	if (is_stuck(tp) && tp->error.code == WEIR_OK)
		weir_fail(&tp->error, WEIR_ERR_FAILED,
			  "sink '%s': %u checkpoints and savepoints since the last that completed",
			  tp->cfg.ctx->id, tp->tail - tp->head);
	if (tp->tail - tp->head >= WEIR_TRANSACTIONS_MAX - 1)
		return false;
	return tp->cfg.sink->ready == NULL || tp->cfg.sink->ready(tp->cfg.ctx);
}

static void
note_latency(struct weir_two_phase *tp, const struct weir_batch *in, int64_t now_ns)
{
	const uint64_t us = now_ns > in->stamp_ns ? (uint64_t)(now_ns - in->stamp_ns) / 1000 : 0;
	const uint32_t log = us == 0 ? 0 : 63u - (uint32_t)__builtin_clzll(us);
	const uint32_t sub =
		log >= 3 ? (uint32_t)(us >> (log - 3)) & 7 : (uint32_t)(us << (3 - log)) & 7;
	const uint32_t b = log * 8 + sub;

	weir_count_add(&tp->latency[b < WEIR_LATENCY_BUCKETS ? b : WEIR_LATENCY_BUCKETS - 1],
		       in->selected);
	if (us > tp->max_us)
		tp->max_us = us;
}

int
weir_two_phase_write(struct weir_two_phase *tp, const struct weir_batch *in, int64_t now_ns)
{
	struct slot *s = open_one(tp);

	tp->paced += in->selected;
	if (tp->cfg.latency && in->stamp_ns != 0)
		note_latency(tp, in, now_ns);
	if (s == NULL) {
		int rc;

		s = add(tp);
		rc = failed(tp, tp->cfg.sink->begin(tp->cfg.ctx, &s->t));
		if (rc != 0)
			return rc;
	}
	s->rows += in->selected;
	weir_count_add(&tp->waiting_rows, in->selected);
	return failed(tp, tp->cfg.sink->write(tp->cfg.ctx, &s->t, in));
}

void
weir_two_phase_idle(struct weir_two_phase *tp)
{
	if (tp->cfg.sink->idle != NULL && tp->error.code == WEIR_OK)
		(void)failed(tp, tp->cfg.sink->idle(tp->cfg.ctx));
}

static void
go(struct weir_two_phase *tp, struct slot *s)
{
	s->state = GONE;
	weir_count_add(&tp->waiting_rows, -s->rows);
}

static void
precommit(struct weir_two_phase *tp, struct slot *s)
{
	const int rc = tp->cfg.sink->precommit(tp->cfg.ctx, &s->t);

	if (rc == WEIR_MORE && !WEIR_PLANT(PRECOMMIT_EARLY))
		return;
	if (rc != WEIR_MORE && failed(tp, rc) != 0)
		return;
	s->state = READY;
	if (tp->cfg.sink->commit == NULL)
		go(tp, s);
}

static void
cut(struct weir_two_phase *tp, uint64_t checkpoint)
{
	struct slot *s = open_one(tp);

	if (s == NULL || tp->error.code != WEIR_OK)
		return;
	s->t.checkpoint = checkpoint;
	s->state = PREPARING;
	precommit(tp, s);
}

uint32_t
weir_two_phase_snapshot(struct weir_two_phase *tp, uint64_t checkpoint,
			struct weir_transaction named[WEIR_TRANSACTIONS_MAX])
{
	uint32_t cnt = 0;

	cut(tp, checkpoint);
	if (tp->cfg.sink->commit == NULL)
		return 0;
	tp->named_by = checkpoint;
	for (uint32_t i = tp->head; i != tp->tail; i++)
		if (tp->slot[i & MASK].state != GONE)
			named[cnt++] = tp->slot[i & MASK].t;
	return cnt;
}

void
weir_two_phase_end(struct weir_two_phase *tp)
{
	cut(tp, 0);
}

bool
weir_two_phase_is_durable(const struct weir_two_phase *tp)
{
	for (uint32_t i = tp->head; i != tp->tail; i++)
		if (tp->slot[i & MASK].state == PREPARING)
			return false;
	return true;
}

void
weir_two_phase_commit(struct weir_two_phase *tp, uint64_t checkpoint)
{
	for (uint32_t i = tp->head; i != tp->tail; i++) {
		struct slot *s = &tp->slot[i & MASK];

		if (WEIR_PLANT(COMMIT_ONE) && s->t.checkpoint != checkpoint)
			continue;
		if (s->state != OPEN && s->t.checkpoint <= checkpoint)
			s->commit = true;
	}
}

void
weir_two_phase_abort(struct weir_two_phase *tp, uint64_t checkpoint)
{
	for (uint32_t i = tp->head; i != tp->tail; i++) {
		struct slot *s = &tp->slot[i & MASK];

		if (s->state != PREPARING && s->state != READY)
			continue;
		if (s->t.checkpoint == checkpoint && s->origin == WEIR_TRANSACTION_OWN &&
		    !s->commit && tp->cfg.sink->abort != NULL)
			(void)failed(tp, tp->cfg.sink->abort(tp->cfg.ctx, &s->t));
		if (WEIR_PLANT(ABORT_DROPS) && s->t.checkpoint == checkpoint && !s->commit)
			go(tp, s);
	}
}

void
weir_two_phase_over(struct weir_two_phase *tp, uint64_t below)
{
	if (below > tp->over_below)
		tp->over_below = below;
}

/* Checkpoints complete in the order of their ids: what is to be committed stands in front. */
bool
weir_two_phase_is_committing(const struct weir_two_phase *tp)
{
	return tp->head != tp->tail && tp->slot[tp->head & MASK].commit;
}

bool
weir_two_phase_is_committed(const struct weir_two_phase *tp)
{
	return tp->head == tp->tail;
}

uint64_t
weir_two_phase_waiting_rows(const struct weir_two_phase *tp)
{
	/* What such a sink has written is visible, maybe before its checkpoint. */
	return tp->cfg.sink->commit != NULL ? weir_count_get(&tp->waiting_rows) : 0;
}

/* In order, one at a time. */
static void
commit_some(struct weir_two_phase *tp)
{
	while (tp->head != tp->tail) {
		struct slot *s = &tp->slot[tp->head & MASK];

		if (s->state == READY && s->commit) {
			const int rc = tp->cfg.sink->commit(tp->cfg.ctx, &s->t);

			if ((rc == WEIR_MORE && !WEIR_PLANT(COMMIT_MORE)) ||
			    (rc != WEIR_MORE && failed(tp, rc) != 0))
				return;
			go(tp, s);
		}
		if (s->state != GONE)
			return;
		tp->head++;
	}
}

static bool
waits(const struct slot *s)
{
	return s->state == READY && !s->commit && s->origin == WEIR_TRANSACTION_OWN;
}

static void
join_oldest(struct weir_two_phase *tp)
{
	while (tp->tail - tp->head > JOIN_ABOVE && tp->named_by < tp->over_below) {
		const struct slot *before = &tp->slot[tp->head & MASK];
		struct slot *s = &tp->slot[(tp->head + 1) & MASK];

		if (!waits(before) || !waits(s) ||
		    failed(tp, tp->cfg.sink->join(tp->cfg.ctx, &s->t, &before->t)) != 0)
			return;
		s->rows += before->rows;
		tp->head++;
	}
}

void
weir_two_phase_step(struct weir_two_phase *tp)
{
	if (tp->error.code != WEIR_OK)
		return;
	if (tp->cfg.sink->step != NULL)
		(void)failed(tp, tp->cfg.sink->step(tp->cfg.ctx));
	for (uint32_t i = tp->head; i != tp->tail && tp->error.code == WEIR_OK; i++)
		if (tp->slot[i & MASK].state == PREPARING)
			precommit(tp, &tp->slot[i & MASK]);
	if (tp->error.code == WEIR_OK && tp->cfg.sink->join != NULL)
		join_oldest(tp);
	if (tp->error.code == WEIR_OK)
		commit_some(tp);
}

int
weir_two_phase_failed(const struct weir_two_phase *tp, struct weir_error *err)
{
	if (tp->error.code != WEIR_OK)
		*err = tp->error;
	return tp->error.code;
}

const struct weir_transaction *
weir_two_phase_at(const struct weir_two_phase *tp, uint32_t i)
{
	return i < tp->tail - tp->head ? &tp->slot[(tp->head + i) & MASK].t : NULL;
}

const struct weir_sink_connector *
weir_two_phase_sink(const struct weir_two_phase *tp)
{
	return tp->cfg.sink;
}

void *
weir_two_phase_local(const struct weir_two_phase *tp)
{
	return tp->cfg.ctx->local;
}

const _Atomic uint64_t *
weir_two_phase_latency(const struct weir_two_phase *tp, uint64_t *max_us)
{
	*max_us = tp->max_us;
	return tp->latency;
}

/* ---- the public side ---- */

void *
weir_sink_local(struct weir_operator_ctx *ctx, const struct weir_transaction *t)
{
	return local_of(ctx->two_phase, WEIR_CONTAINER(t, struct slot, t));
}

enum weir_transaction_origin
weir_sink_origin(const struct weir_operator_ctx *ctx, const struct weir_transaction *t)
{
	(void)ctx;
	return WEIR_CONTAINER(t, struct slot, t)->origin;
}

static bool
names(const struct weir_two_phase *tp, const struct weir_transaction *t)
{
	const struct weir_transaction *own;

	for (uint32_t i = 0; (own = weir_two_phase_at(tp, i)) != NULL; i++)
		if (memcmp(own->word, t->word, sizeof(t->word)) == 0)
			return true;
	return false;
}

bool
weir_sink_is_named(const struct weir_operator_ctx *ctx, const struct weir_transaction *t)
{
	const struct weir_two_phase *tp = ctx->two_phase;

	do {
		if (names(tp, t))
			return true;
		tp = tp->next;
	} while (tp != ctx->two_phase);
	return false;
}

const char *
weir_sink_job(const struct weir_operator_ctx *ctx)
{
	return ctx->host->job;
}

const char *
weir_sink_id(const struct weir_operator_ctx *ctx)
{
	return ctx->id;
}

uint64_t
weir_sink_attempt(const struct weir_operator_ctx *ctx)
{
	return ctx->host->attempt;
}

int
weir_sink_fail(struct weir_operator_ctx *ctx, int code, const char *fmt, ...)
{
	va_list ap;

	WEIR_ASSERT(code > 0);
	ctx->error.code = code;
	va_start(ap, fmt);
	vsnprintf(ctx->error.text, sizeof(ctx->error.text), fmt, ap);
	va_end(ap);
	return code;
}

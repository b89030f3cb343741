/*
 * Savepoints at the master: the order that cores and tasks read, the directory, and what the end of
 * one means (K5, S4, K13).
 */
#include "engine/core/master_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *
weir_master_savepoint_dir(const struct weir_master *m, uint64_t id)
{
	const struct weir_savepoint_order *o = weir_savepoint_orders_find(&m->cfg.rt->orders, id);

	return o != NULL && o->kind != WEIR_REQUEST_FULL ? o->dir : NULL;
}

void
weir_master_order_full(struct weir_master *m, uint64_t id)
{
	struct weir_savepoint_order *o = calloc(1, sizeof(*o));

	WEIR_ASSERT(o != NULL);
	o->id = id;
	o->kind = WEIR_REQUEST_FULL;
	weir_savepoint_orders_add(&m->cfg.rt->orders, o);
}

static void
refuse_storage(struct weir_master *m, uint64_t id)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_STORAGE_ANSWER };

	ev.answer.id = id;
	ev.answer.result = WEIR_COORD_FAILED;
	weir_master_event(m, &ev);
}

/* The request that is being prepared, as it was asked. */
static const struct weir_master_request *
asked(const struct weir_master *m)
{
	for (const struct weir_master_ask *a = m->asks; a != NULL; a = a->next)
		if (a->number == m->preparing.request.number)
			return &a->request;
	return NULL;
}

void
weir_master_savepoint_storage(struct weir_master *m, uint64_t id)
{
	const struct weir_master_request *request = asked(m);
	struct weir_savepoint_order *o = calloc(1, sizeof(*o));
	struct weir_path dir;

	WEIR_ASSERT(o != NULL);
	/* The job has failed while it waited, and whoever asked has had the answer. */
	if (request == NULL) {
		free(o);
		refuse_storage(m, id);
		return;
	}
	if (request->dir == NULL || strlen(request->dir) + 64 > sizeof(o->parent) ||
	    weir_layout_savepoint(&dir, request->dir, id, weir_rng_next(&m->rng), &m->decline) !=
		    0) {
		weir_fail(&m->decline, WEIR_ERR_CONFIG, "the savepoint's directory has no path");
		free(o);
		refuse_storage(m, id);
		return;
	}
	o->id = id;
	o->kind = request->kind;
	o->key_groups = request->native ? 0 : m->cfg.rt->cfg.plan->max_parallelism;
	memcpy(o->parent, request->dir, strlen(request->dir) + 1);
	memcpy(o->dir, dir.text, sizeof(o->dir));
	weir_savepoint_orders_add(&m->cfg.rt->orders, o);
	weir_master_make_storage(m, id, o->dir);
}

/* The tasks of a drain have ended their input: without the savepoint there is no way on but from
 * the last checkpoint. */
static void
drain_failed(struct weir_master *m, enum weir_reason reason)
{
	struct weir_error err;

	weir_fail(
		&err, WEIR_ERR_FAILED,
		"the savepoint of stop --drain failed (%s) when the input had been ended: the job "
		"goes on from its last checkpoint, if it is restarted",
		weir_reason_text(reason));
	weir_master_fail(m, &err);
}

void
weir_master_savepoint_over(struct weir_master *m, enum weir_request_kind kind, uint64_t id,
			   enum weir_reason reason)
{
	const struct weir_master_checkpoint *c = id != 0 ? weir_master_find(m, id) : NULL;

	if (reason == WEIR_REASON_NONE && kind == WEIR_REQUEST_SAVEPOINT)
		weir_master_checkpoint_over(m, id, reason); /* K5: nobody else is told */
	if (reason != WEIR_REASON_NONE && kind == WEIR_REQUEST_DRAIN && c != NULL && c->sent)
		drain_failed(m, reason);
}

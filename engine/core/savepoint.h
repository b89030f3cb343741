#ifndef WEIR_ENGINE_CORE_SAVEPOINT_H
#define WEIR_ENGINE_CORE_SAVEPOINT_H

/*
 * Orders of savepoints: what cores and tasks have to know of a savepoint besides its barrier, found
 * by its id: where its files go, in which format, and what comes after it (S4). A checkpoint that
 * was asked for as a full one has an order too: it writes everything.
 *
 *   control thread: add(order) -> trigger mail -> source -> barriers -> every task: find(id)
 *
 * Threads:   the control thread adds; cores find. An order never changes once it is added, and
 *            stays until fini, so whoever has one may keep it.
 * Ownership: add takes the order (allocated by the caller with malloc); fini frees all.
 * Cost:      find walks the list, at every barrier: savepoints and full checkpoints are rare.
 */

#include "engine/checkpoint/decider.h"
#include "engine/checkpoint/layout.h"

struct weir_savepoint_order {
	struct weir_savepoint_order *next;
	uint64_t id;
	enum weir_request_kind kind; /* SAVEPOINT, SUSPEND, DRAIN; or FULL: a checkpoint */
	uint32_t key_groups;	     /* canonical: max-parallelism (S1); 0: native */
	char parent[WEIR_PATH_MAX];  /* the directory that was asked for */
	char dir[WEIR_PATH_MAX];     /* in it: everything of this savepoint (S12); FULL: "" */
};

struct weir_savepoint_orders {
	_Atomic(struct weir_savepoint_order *) head;
};

void weir_savepoint_orders_add(struct weir_savepoint_orders *orders,
			       struct weir_savepoint_order *order);

/* NULL: id is no savepoint, and was not asked for as a full one. */
const struct weir_savepoint_order *
weir_savepoint_orders_find(const struct weir_savepoint_orders *orders, uint64_t id);

void weir_savepoint_orders_fini(struct weir_savepoint_orders *orders);

#endif /* WEIR_ENGINE_CORE_SAVEPOINT_H */

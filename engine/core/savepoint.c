#include "engine/core/savepoint.h"

#include <stdlib.h>

void
weir_savepoint_orders_add(struct weir_savepoint_orders *orders, struct weir_savepoint_order *order)
{
	order->next = atomic_load_explicit(&orders->head, memory_order_relaxed);
	/* O1: pairs with O2; makes the order and those before it visible. */
	atomic_store_explicit(&orders->head, order, memory_order_release);
}

const struct weir_savepoint_order *
weir_savepoint_orders_find(const struct weir_savepoint_orders *orders, uint64_t id)
{
	/* O2: pairs with O1; the order of a barrier that is here was added before its trigger. */
	const struct weir_savepoint_order *o =
		atomic_load_explicit(&orders->head, memory_order_acquire);

	while (o != NULL && o->id != id)
		o = o->next;
	return o;
}

void
weir_savepoint_orders_fini(struct weir_savepoint_orders *orders)
{
	struct weir_savepoint_order *o = atomic_load_explicit(&orders->head, memory_order_relaxed);

	while (o != NULL) {
		struct weir_savepoint_order *next = o->next;

		free(o);
		o = next;
	}
	atomic_store_explicit(&orders->head, NULL, memory_order_relaxed);
}

#ifndef WEIR_ENGINE_BASE_SPSC_H
#define WEIR_ENGINE_BASE_SPSC_H

/*
 * weir_spsc: a small queue of pointers from one thread to one other; control mail travels on it.
 *
 * Threads:   one producer calls push, one consumer calls pop.
 * Ownership: a pointer belongs to the producer until push accepts it, then to the consumer.
 * Cost:      warm; no allocation, no system call, no clock. Data frames use the channel lanes
 * instead.
 */

#include "engine/base/base.h"

#define WEIR_SPSC_DEPTH 256u /* a power of two */

struct weir_spsc {
	/* Written by the producer only. */
	alignas(WEIR_LINE_PAIR) _Atomic uint32_t tail;

	/* Written by the consumer only. */
	alignas(WEIR_LINE_PAIR) _Atomic uint32_t head;

	alignas(WEIR_LINE_PAIR) void *slot[WEIR_SPSC_DEPTH];
};

/* Producer: offer item (not NULL); false when full, and nothing changed. */
static inline WEIR_MUST_USE bool
weir_spsc_push(struct weir_spsc *q, void *item)
{
	const uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	/* P1: pairs with C2; the consumer has read the slot that is written below. */
	const uint32_t head = atomic_load_explicit(&q->head, memory_order_acquire);

	WEIR_ASSERT(item != NULL);
	if (tail - head == WEIR_SPSC_DEPTH)
		return false;
	q->slot[tail & (WEIR_SPSC_DEPTH - 1)] = item;
	/* P2: pairs with C1; publishes the slot and what it points to. */
	atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
	return true;
}

/* Consumer: the oldest item, or NULL when empty. */
static inline void *
weir_spsc_pop(struct weir_spsc *q)
{
	const uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
	/* C1: pairs with P2; the slot and what it points to are filled. */
	const uint32_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
	void *item;

	if (head == tail)
		return NULL;
	item = q->slot[head & (WEIR_SPSC_DEPTH - 1)];
	/* C2: pairs with P1; the slot may be overwritten. */
	atomic_store_explicit(&q->head, head + 1, memory_order_release);
	return item;
}

#endif /* WEIR_ENGINE_BASE_SPSC_H */

#ifndef WEIR_ENGINE_CHECKPOINT_GROW_H
#define WEIR_ENGINE_CHECKPOINT_GROW_H

/*
 * Growable arrays of the checkpoint coordinator. Control code only: never on a core's path.
 * Out of memory is an assertion: the supervisor restarts the worker from the last checkpoint.
 */

#include "engine/base/base.h"

/*
 * Room for at least need elements of size bytes in array, whose capacity is *cap. Returns the
 * array, which may have moved; new elements are not initialised.
 */
void *weir_grow(void *array, uint32_t *cap, uint32_t need, size_t size) WEIR_MUST_USE;

/* cnt zeroed elements; NULL for none. */
void *weir_grow_alloc(uint32_t cnt, size_t size) WEIR_MUST_USE;

/* A copy of cnt elements on the heap; NULL for none. */
void *weir_grow_copy(const void *array, uint32_t cnt, size_t size) WEIR_MUST_USE;

/* Take element i out of an array of *cnt elements, keeping the order of the others. */
void weir_grow_remove(void *array, uint32_t *cnt, uint32_t i, size_t size);

#endif /* WEIR_ENGINE_CHECKPOINT_GROW_H */

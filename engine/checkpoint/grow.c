#include "engine/checkpoint/grow.h"

#include <stdlib.h>
#include <string.h>

void *
weir_grow(void *array, uint32_t *cap, uint32_t need, size_t size)
{
	uint32_t want = *cap;

	if (need <= *cap)
		return array;
	while (want < need)
		want = want < 8 ? 8 : want * 2;
	array = realloc(array, (size_t)want * size);
	WEIR_ASSERT(array != NULL);
	*cap = want;
	return array;
}

void *
weir_grow_alloc(uint32_t cnt, size_t size)
{
	void *array;

	if (cnt == 0)
		return NULL;
	array = calloc(cnt, size);
	WEIR_ASSERT(array != NULL);
	return array;
}

void *
weir_grow_copy(const void *array, uint32_t cnt, size_t size)
{
	void *copy = weir_grow_alloc(cnt, size);

	if (cnt > 0)
		memcpy(copy, array, (size_t)cnt * size);
	return copy;
}

void
weir_grow_remove(void *array, uint32_t *cnt, uint32_t i, size_t size)
{
	char *at = (char *)array + (size_t)i * size;

	WEIR_ASSERT(i < *cnt);
	memmove(at, at + size, (size_t)(*cnt - i - 1) * size);
	(*cnt)--;
}

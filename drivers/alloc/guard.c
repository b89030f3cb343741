#include "drivers/alloc/guard.h"

#if WEIR_JEMALLOC
#include <jemalloc/jemalloc.h>

const char *
weir_alloc_name(void)
{
	return "jemalloc";
}

const uint64_t *
weir_alloc_thread_counter(void)
{
	uint64_t *counter = NULL;
	size_t bytes = sizeof(counter);

	if (mallctl("thread.allocatedp", &counter, &bytes, NULL, 0) != 0)
		return NULL;
	return counter;
}

#else

const char *
weir_alloc_name(void)
{
	return "system";
}

const uint64_t *
weir_alloc_thread_counter(void)
{
	return NULL;
}

#endif

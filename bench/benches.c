#include "bench/bench_priv.h"

#include <string.h>

const struct bench_def *const bench_defs[] = { &bench_ring, &bench_fused, &bench_exchange,
					       &bench_checkpoint, NULL };

const struct bench_def *
bench_find(const char *name)
{
	for (uint32_t i = 0; bench_defs[i] != NULL; i++)
		if (strcmp(bench_defs[i]->name, name) == 0)
			return bench_defs[i];
	return NULL;
}

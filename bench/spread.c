#include "bench/bench_priv.h"

#include <stdlib.h>

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a;
	const double y = *(const double *)b;

	return (x > y) - (x < y);
}

void
bench_sort(double *values, uint32_t n)
{
	qsort(values, n, sizeof(*values), by_value);
}

struct bench_spread
bench_spread_of(double *values, uint32_t n)
{
	WEIR_ASSERT(n > 0);
	bench_sort(values, n);
	return (struct bench_spread){
		.median = (values[(n - 1) / 2] + values[n / 2]) / 2,
		.min = values[0],
		.max = values[n - 1],
	};
}

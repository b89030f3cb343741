#define WEIR_LANES 8
#include "bench/jobs/kernels_inl.h"

const struct bench_kernels bench_kernels_v4 = { generate, map, filter };

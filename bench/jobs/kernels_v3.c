#define WEIR_LANES 4
#include "bench/jobs/kernels_inl.h"

const struct bench_kernels bench_kernels_v3 = { generate, map, filter };

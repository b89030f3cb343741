/* Baseline: x86-64-v2, two 128-bit compares per group. */

#include "statebackend/hash/kernel_inl.h"

const struct hash_kernel kernel_v2 = { .name = "x86-64-v2", .run = kernel_run };

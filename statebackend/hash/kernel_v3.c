/* x86-64-v3: one 256-bit compare per group, three-operand multiplication. */

#include "statebackend/hash/kernel_inl.h"

const struct hash_kernel kernel_v3 = { .name = "x86-64-v3", .run = kernel_run };

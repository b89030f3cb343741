#ifndef WEIR_ENGINE_BASE_ISA_H
#define WEIR_ENGINE_BASE_ISA_H

/*
 * Which instruction sets kernels may use, beyond the baseline x86-64-v2. Asked once, at set-up; a
 * kernel's scalar twin is what ISA_V2 selects.
 */

#include "engine/base/base.h"

enum weir_isa {
	WEIR_ISA_V2, /* scalar, SSE4.2 */
	WEIR_ISA_V3, /* AVX2, BMI2 */
	WEIR_ISA_V4, /* AVX-512 F, DQ, BW, VL */
};

static inline enum weir_isa
weir_isa(void)
{
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2"))
		return WEIR_ISA_V2;
	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
	    !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl"))
		return WEIR_ISA_V3;
	return WEIR_ISA_V4;
}

#endif /* WEIR_ENGINE_BASE_ISA_H */

#ifndef WEIR_BENCH_LIMIT_PACK_H
#define WEIR_BENCH_LIMIT_PACK_H

/*
 * Putting the lanes of a vector that a mask names close together, without a branch: AVX-512 has an
 * instruction for it, AVX2 takes the order of the lanes from a small table.
 */

#include "bench/limit/rows.h"

#define LANES_ALL ((1u << LANES) - 1)

/* Look-ups that travel at once; 16 to 64 measured alike, 8 is too few. */
#define AHEAD 32

/* One bit per lane that is 0. */
LIMIT_INLINE unsigned
lanes_zero(vec v)
{
#if LANES == 8
	return _mm512_testn_epi64_mask((__m512i)v, (__m512i)v);
#else
	const __m256i zero = _mm256_cmpeq_epi64((__m256i)v, _mm256_setzero_si256());

	return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(zero));
#endif
}

/* Store base + the numbers of keep's bits, together; LANES numbers are written. */
LIMIT_INLINE void
pick(uint16_t *picked, unsigned base, unsigned keep)
{
#if LANES == 8
	const __m512i lane = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
	const __m512i num = _mm512_add_epi64(lane, _mm512_set1_epi64(base));

	_mm_storeu_si128((__m128i *)picked,
			 _mm512_cvtepi64_epi16(_mm512_maskz_compress_epi64((__mmask8)keep, num)));
#else
	/* Four 16-bit numbers in one word, the first lowest. */
#define P(a, b, c, d) (a | b << 16 | c##ull << 32 | d##ull << 48)
	static const uint64_t lanes[16] = {
		P(0, 0, 0, 0), P(0, 0, 0, 0), P(1, 0, 0, 0), P(0, 1, 0, 0),
		P(2, 0, 0, 0), P(0, 2, 0, 0), P(1, 2, 0, 0), P(0, 1, 2, 0),
		P(3, 0, 0, 0), P(0, 3, 0, 0), P(1, 3, 0, 0), P(0, 1, 3, 0),
		P(2, 3, 0, 0), P(0, 2, 3, 0), P(1, 2, 3, 0), P(0, 1, 2, 3),
	};
#undef P
	const uint64_t four = lanes[keep] + base * 0x0001000100010001ull;

	memcpy(picked, &four, sizeof(four));
#endif
}

/* Store the lanes of v that keep has a bit for, together; a whole vector is written. */
LIMIT_INLINE void
pack(void *dst, vec v, unsigned keep)
{
#if LANES == 8
	_mm512_storeu_si512(dst, _mm512_maskz_compress_epi64((__mmask8)keep, (__m512i)v));
#else
	/* Pairs of 32-bit numbers of the lanes to keep. */
#define P(a, b, c, d)                                                                              \
	{                                                                                          \
		2 * a, 2 * a + 1, 2 * b, 2 * b + 1, 2 * c, 2 * c + 1, 2 * d, 2 * d + 1             \
	}
	static const _Alignas(64) uint32_t order[16][8] = {
		P(0, 0, 0, 0), P(0, 0, 0, 0), P(1, 0, 0, 0), P(0, 1, 0, 0),
		P(2, 0, 0, 0), P(0, 2, 0, 0), P(1, 2, 0, 0), P(0, 1, 2, 0),
		P(3, 0, 0, 0), P(0, 3, 0, 0), P(1, 3, 0, 0), P(0, 1, 3, 0),
		P(2, 3, 0, 0), P(0, 2, 3, 0), P(1, 2, 3, 0), P(0, 1, 2, 3),
	};
#undef P
	const __m256i by = _mm256_load_si256((const __m256i *)order[keep]);

	_mm256_storeu_si256(dst, _mm256_permutevar8x32_epi32((__m256i)v, by));
#endif
}

#endif /* WEIR_BENCH_LIMIT_PACK_H */

#ifndef WEIR_ENGINE_BASE_BASE_H
#define WEIR_ENGINE_BASE_BASE_H

/*
 * The words every file may use: line sizes, branch hints, assertions, small arithmetic.
 *
 * Assertions are always on. WEIR_ASSERT is for entries, batches, state moves and anything read from
 * disk or wire; WEIR_ASSERT_HOT is per record and on in sanitizer and simulator builds only.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_LINE 64
/* Two 64-byte lines: x86 prefetches lines in pairs, so a neighbour's line is shared too. */
#define WEIR_LINE_PAIR 128
#define WEIR_PAGE      4096

#define WEIR_LIKELY(c)	  __builtin_expect(!!(c), 1)
#define WEIR_UNLIKELY(c)  __builtin_expect(!!(c), 0)
#define WEIR_MUST_USE	  __attribute__((warn_unused_result))
#define WEIR_INLINE	  static inline __attribute__((always_inline))
#define WEIR_PRINTF(a, b) __attribute__((format(printf, a, b)))

_Noreturn void weir_assert_fail(const char *expr, const char *file, int line);

#define WEIR_ASSERT(c) (WEIR_LIKELY(c) ? (void)0 : weir_assert_fail(#c, __FILE__, __LINE__))

#if WEIR_ASSERT_HOT_ON
#define WEIR_ASSERT_HOT(c) WEIR_ASSERT(c)
#else
#define WEIR_ASSERT_HOT(c) ((void)sizeof(c))
#endif

#define WEIR_ARRAY_CNT(a)		  (sizeof(a) / sizeof((a)[0]))
#define WEIR_CONTAINER(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Round v up to a multiple of align, a power of two. */
WEIR_INLINE uint64_t
weir_align_up(uint64_t v, uint64_t align)
{
	return (v + align - 1) & ~(align - 1);
}

__extension__ typedef unsigned __int128 weir_u128;

/* High 64 bits of a 128-bit product: maps a uniform h to a uniform number below n. */
WEIR_INLINE uint64_t
weir_mulhi(uint64_t h, uint64_t n)
{
	return (uint64_t)(((weir_u128)h * n) >> 64);
}

#endif /* WEIR_ENGINE_BASE_BASE_H */

#ifndef WEIR_JOBS_TEXT_H
#define WEIR_JOBS_TEXT_H

/*
 * Numbers as decimal text, for sinks that write millions of lines. Every function writes at p and
 * returns the end of what it wrote; room is the caller's affair: WEIR_TEXT_U64 bytes per number.
 *
 * Threads: pure functions. Cost: a multiplication per two digits.
 */

#include <stdint.h>
#include <string.h>

#define WEIR_TEXT_U64 20u

static inline uint32_t
weir_text_digits(uint64_t v)
{
	uint32_t digits = 1;

	/* Four comparisons per division. */
	for (;;) {
		if (v < 10)
			return digits;
		if (v < 100)
			return digits + 1;
		if (v < 1000)
			return digits + 2;
		if (v < 10000)
			return digits + 3;
		v /= 10000;
		digits += 4;
	}
}

static inline char *
weir_text_u64(char *p, uint64_t v)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char *const end = p + weir_text_digits(v);
	char *at = end;

	while (v >= 100) {
		at -= 2;
		memcpy(at, pairs + 2 * (v % 100), 2);
		v /= 100;
	}
	if (v >= 10)
		memcpy(at - 2, pairs + 2 * v, 2);
	else
		at[-1] = (char)('0' + v);
	return end;
}

static inline char *
weir_text_i64(char *p, int64_t v)
{
	if (v < 0)
		*p++ = '-';
	return weir_text_u64(p, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* Nanoseconds in whole units, rounded down. */
static inline char *
weir_text_time(char *p, int64_t ns, int64_t unit_ns)
{
	return weir_text_i64(p, ns / unit_ns - (ns % unit_ns < 0));
}

#endif /* WEIR_JOBS_TEXT_H */

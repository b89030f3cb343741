#ifndef WEIR_BENCH_LIMIT_LIMIT_H
#define WEIR_BENCH_LIMIT_LIMIT_H

/*
 * What the reference programs have in common: arguments, pinned threads, memory, the clock and the
 * one line of JSON at the end. They use no part of weir: they say how fast the work can be done.
 *
 * Arguments are key=value. `rows=N` does exactly N rows; without it the program runs for `seconds`
 * and reports how many it did. `warm=N` rows come first, so that tables have grown. With `wait=1`
 * it prints "ready" once its memory is touched and starts when a line comes in on standard input.
 *
 * Threads: options are read-only once the work has started. Failure: a message and exit code 64
 * (usage), 70 (no memory, no thread); nothing is returned.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIMIT_INLINE	  static inline __attribute__((always_inline))
#define LIMIT_LIKELY(c)	  __builtin_expect(!!(c), 1)
#define LIMIT_UNLIKELY(c) __builtin_expect(!!(c), 0)

/* Above this many keys a table is larger than the near caches and look-ups are prefetched. */
#define LIMIT_KEYS_NEAR 20000

struct limit_opts {
	uint64_t keys;	  /* K, 1 to 2^32-1 */
	uint64_t rows;	  /* 0: as many as fit into seconds */
	uint64_t warm;	  /* rows before the first that is measured */
	double seconds;	  /* of work, when rows is 0 */
	unsigned cpus[2]; /* OS numbers; the second only where two threads work */
	bool wait;
	bool one_to_one;     /* exchange: one generates, one sums */
	bool sums_at_end;    /* exchange: the checksum is over the sums that stand at the end */
	const char *variant; /* NULL: the program's own choice */
};

struct limit_result {
	uint64_t rows;	  /* that were measured */
	uint64_t sum;	  /* checksum over all returned sums, warm-up too, modulo 2^64 */
	double seconds;	  /* from the first of these rows to the last */
	const char *name; /* of the variant that ran */
};

/* Fill *opts from the arguments, defaults for what is not given. */
void limit_parse(struct limit_opts *opts, int argc, char **argv);

/* Run the calling thread on one CPU. */
void limit_pin(unsigned cpu);

/* Zeroed, touched, 2 MiB-aligned memory on huge pages where the kernel gives them. */
void *limit_memory(size_t bytes);
void limit_free(void *mem);

/* Seconds of the monotonic clock. */
double limit_now(void);

/* Say "ready" and wait for the start line, if asked to. */
void limit_wait(const struct limit_opts *opts);

/* The line of JSON. */
void limit_print(const struct limit_result *result);

_Noreturn void limit_die(int exit_code, const char *what, const char *detail);

#endif /* WEIR_BENCH_LIMIT_LIMIT_H */

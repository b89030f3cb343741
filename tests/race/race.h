#ifndef WEIR_TESTS_RACE_RACE_H
#define WEIR_TESTS_RACE_RACE_H

/*
 * Race programs: plain programs under ThreadSanitizer (Criterion does not start under it). Each
 * moves data that is written and read with plain accesses through one of our lock-free structures;
 * if the structure does not order them, the sanitizer reports it and the program fails.
 */

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/base.h"

#define RACE_CHECK(c)                                                                              \
	do {                                                                                       \
		if (!(c)) {                                                                        \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #c);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* Run both at the same time to their end. */
static inline void
race_pair(void *(*one)(void *), void *(*other)(void *), void *arg)
{
	pthread_t a, b;

	RACE_CHECK(pthread_create(&a, NULL, one, arg) == 0);
	RACE_CHECK(pthread_create(&b, NULL, other, arg) == 0);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

/* Where two threads share a CPU the one that waits lets the other run. */
static inline void
race_wait(void)
{
	sched_yield();
}

#endif /* WEIR_TESTS_RACE_RACE_H */

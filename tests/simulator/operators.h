#ifndef WEIR_TESTS_SIMULATOR_OPERATORS_H
#define WEIR_TESTS_SIMULATOR_OPERATORS_H

/* The operators of the graphs (jobs.c), on rows of the simulated sources. */

#include <weir/weir.h>

/* Columns of the sources. */
enum { KEY, VALUE, TIME, WORD, PAD };

extern const struct weir_operator sim_op_mix;	 /* value = value * 7 + key */
extern const struct weir_operator sim_op_keep;	 /* rows whose value is no multiple of three */
extern struct weir_operator sim_op_hold;	 /* the same, held back; out: the sources' type */
extern const struct weir_operator sim_op_repeat; /* a row value % 4 times, (key + n, value) */
extern const struct weir_operator
	sim_op_even; /* of running counts the even ones, as rows of their own */
extern const struct weir_operator sim_op_burst;	    /* a row makes many, put off in state (T27) */
extern const struct weir_operator sim_op_drop_word; /* (key, value, time) */

#endif /* WEIR_TESTS_SIMULATOR_OPERATORS_H */

#ifndef WEIR_ENGINE_CONFIG_VALUE_PRIV_H
#define WEIR_ENGINE_CONFIG_VALUE_PRIV_H

/*
 * What the files of a value share: value.c (kinds, words), value_number.c (numbers with units),
 * value_cpus.c (lists of CPUs).
 *
 * A parser that fails has filled *e: bytes at to at + len of the text that the user wrote, a
 * sentence, perhaps a hint. What it would have stored is undefined then.
 */

#include "engine/config/config_priv.h"

/* Say what is wrong, without a hint; always false. An empty range means the one byte at it. */
bool weir_value_fail(struct weir_value_error *e, size_t at, size_t len, const char *fmt, ...)
	WEIR_PRINTF(4, 5);

/* What the user may have meant, after weir_value_fail. */
void weir_value_hint(struct weir_value_error *e, const char *fmt, ...) WEIR_PRINTF(2, 3);

/* How many digits text begins with. */
size_t weir_value_digits(const char *text);

/* The leading digits of text as *out, *used of them; they begin with 0 only if that is all. */
bool weir_value_parse_digits(const char *text, uint64_t *out, size_t *used,
			     struct weir_value_error *e);

/* The whole text as COUNT, SIZE, TIME or BOUND, in units of one, bytes or nanoseconds. */
bool weir_value_parse_number(enum weir_config_kind kind, const char *text, uint64_t *out,
			     struct weir_value_error *e);

/* The whole text as a FACTOR, in thousandths: 1.5 is 1500. */
bool weir_value_parse_factor(const char *text, uint64_t *out, struct weir_value_error *e);

/* What a number of this kind is called in a sentence, with its units; stands for ever. */
const char *weir_value_noun(enum weir_config_kind kind);

#endif /* WEIR_ENGINE_CONFIG_VALUE_PRIV_H */

#ifndef WEIR_JOBS_WORDCOUNT_WORDCOUNT_H
#define WEIR_JOBS_WORDCOUNT_WORDCOUNT_H

/*
 * The words of text and how often each stands there: a flat_map that makes words of lines, and a
 * count per key. A word is a longest run of ASCII letters, ASCII digits and bytes >= 0x80, ASCII
 * letters lower-cased; a longer one than WEIR_WORD_MAX counts under its beginning.
 */

#include <weir/job.h>

#define WEIR_WORD_MAX 4096u

int weir_wordcount(struct weir_job *job, const struct weir_params *params);

/* The flat_map of its own, for tests: {BYTES line} to {BYTES word}. */
extern const struct weir_operator weir_split_words;

#endif /* WEIR_JOBS_WORDCOUNT_WORDCOUNT_H */

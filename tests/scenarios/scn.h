#ifndef WEIR_TESTS_SCENARIOS_SCN_H
#define WEIR_TESTS_SCENARIOS_SCN_H

/*
 * What the runner of the coordinator kinds stands on: files as lines of words, text buffers, names
 * as numbers, and the report `FILE:LINE: [ID] expected ..., got ...` per deviation.
 */

#include "engine/base/base.h"

struct scn_line {
	uint32_t number; /* in the file, from 1 */
	char *text;	 /* the words with single blanks between, without comment */
	char *copy;	 /* what the words point into */
	char **words;
	uint32_t word_cnt;
};

struct scn_file {
	const char *path;
	struct scn_line *lines; /* those that are not empty */
	uint32_t cnt;
};

/* Growing text. Zero it to start; free .at. */
struct scn_text {
	char *at;
	size_t len;
	size_t cap;
};

/* Names and the numbers, from 1, that stand for them in the product's interface. */
struct scn_names {
	char **list;
	uint32_t cnt;
	uint32_t cap;
};

void scn_text_add(struct scn_text *t, const char *fmt, ...) WEIR_PRINTF(2, 3);
/* Empty it; .at is "" afterwards. */
void scn_text_reset(struct scn_text *t);

uint64_t scn_number(struct scn_names *n, const char *name);
const char *scn_name(const struct scn_names *n, uint64_t number);
void scn_names_fini(struct scn_names *n);

/* The whole word as a decimal number up to max; false if it is none. */
bool scn_u64(const char *word, uint64_t max, uint64_t *value) WEIR_MUST_USE;
bool scn_u32(const char *word, uint32_t min, uint32_t max, uint32_t *value) WEIR_MUST_USE;
/* Times: small enough that sums of some stay numbers. */
bool scn_time(const char *word, int64_t *value) WEIR_MUST_USE;

/* Sort texts (as names are sorted in a scenario). */
void scn_sort(const char **texts, uint32_t cnt);

void scn_deviation(const struct scn_file *f, uint32_t line, const char *id, const char *expected,
		   const char *got);

/* Read the file at f->path; -1 if that is not possible (reported). Then free it. */
int scn_read(struct scn_file *f);
void scn_free(struct scn_file *f);

#endif /* WEIR_TESTS_SCENARIOS_SCN_H */

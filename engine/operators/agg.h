#ifndef WEIR_ENGINE_OPERATORS_AGG_H
#define WEIR_ENGINE_OPERATORS_AGG_H

/*
 * Accumulators of declared aggregates: one u64 per aggregate, and one more that counts the rows
 * seen if a minimum or maximum is among them (a new accumulator is all zero). Also the row types
 * that come of a key and its aggregates.
 *
 * Cost: hot; loops over a batch, one aggregate after the other.
 */

#include "engine/graph/graph.h"

struct weir_aggs {
	uint32_t cnt;
	bool seen;		       /* a row counter stands behind the accumulators */
	bool as_signed[WEIR_AGGS_MAX]; /* MIN, MAX of I64 or TIME */
	struct weir_agg agg[WEIR_AGGS_MAX];
};

/* Check the aggregates against the input's type; false: a column is missing or not U64, I64, TIME.
 */
WEIR_MUST_USE bool weir_aggs_init(struct weir_aggs *aggs, const struct weir_type *in,
				  const struct weir_agg *agg, uint32_t cnt);

static inline uint32_t
weir_aggs_bytes(const struct weir_aggs *aggs)
{
	return (aggs->cnt + aggs->seen) * (uint32_t)sizeof(uint64_t);
}

/* In words, for what a state is called in checkpoints: "count, sum(price)"; in: the rows' type. */
void weir_aggs_print(const struct weir_aggs *aggs, const struct weir_type *in, char *text,
		     size_t room);

/* Add the selected rows to their accumulators acc[i], i < in->selected. */
void weir_aggs_add(const struct weir_aggs *aggs, const struct weir_batch *in, void *const *acc);

/* Add one accumulator to another. */
void weir_aggs_merge(const struct weir_aggs *aggs, uint64_t *into, const uint64_t *from);

/* The same aggregates over partial results that stand in columns first, first + 1, … */
struct weir_aggs weir_aggs_of_partials(const struct weir_aggs *aggs, uint32_t first);

/*
 * A new type {key columns of in, TIME `time` if it is named, U64 per aggregate}, freed by free();
 * NULL if it has too many columns. With all_of_in the input's columns stand in place of the key's.
 */
struct weir_type *weir_aggs_type(const struct weir_type *in, const struct weir_key *key,
				 const char *time, const struct weir_aggs *aggs, bool all_of_in);

/* Write key number r of an output batch of such a type, from packed bytes. BYTES keys go to the
 * heap of out; false: no room there. */
WEIR_MUST_USE bool weir_aggs_put_key(struct weir_out *out, const struct weir_key *key, uint32_t r,
				     const void *bytes, uint32_t len);

#endif /* WEIR_ENGINE_OPERATORS_AGG_H */

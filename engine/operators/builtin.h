#ifndef WEIR_ENGINE_OPERATORS_BUILTIN_H
#define WEIR_ENGINE_OPERATORS_BUILTIN_H

/* What the built-in operators need of one another. */

#include "engine/operators/agg.h"

/*
 * The partial aggregation in front of v's exchange (combine.c): fills *combiner, whose rows are
 * {key columns, TIME pane if pane_ns > 0, U64 per aggregate}; takes owned[0] and owned[1]. False if
 * the key is of a kind that it does not hold.
 */
WEIR_MUST_USE bool weir_combine_operator(const struct weir_vertex *v, const struct weir_aggs *aggs,
					 int64_t pane_ns, uint32_t time_column,
					 struct weir_operator *combiner, void *owned[4]);

#endif /* WEIR_ENGINE_OPERATORS_BUILTIN_H */

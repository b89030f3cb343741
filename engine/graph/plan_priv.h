#ifndef WEIR_ENGINE_GRAPH_PLAN_PRIV_H
#define WEIR_ENGINE_GRAPH_PLAN_PRIV_H

/* The steps of planning, in the order in which weir_plan_create takes them. */

#include "engine/graph/plan.h"

/* plan_cores.c: which CPUs, one core thread each. */
WEIR_MUST_USE int weir_plan_choose_cores(struct weir_plan *plan, const struct weir_topology *topo,
					 struct weir_error *err);
/* plan_cores.c: which subtask on which core. */
WEIR_MUST_USE int weir_plan_place(struct weir_plan *plan, struct weir_error *err);
/* plan_columns.c: which columns are read, how frames are laid out, how many there are. */
WEIR_MUST_USE int weir_plan_columns(struct weir_plan *plan, struct weir_error *err);

const struct weir_plan_operator *weir_plan_operator_option(const struct weir_plan *plan,
							   const char *id);
void weir_plan_warn(struct weir_plan *plan, const char *fmt, ...) WEIR_PRINTF(2, 3);

#endif /* WEIR_ENGINE_GRAPH_PLAN_PRIV_H */

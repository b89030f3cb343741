/* Restore: which operators had ended in the checkpoint (T28, T29). */
#include "engine/core/restore_priv.h"

bool
weir_restore_ended(const struct weir_manifest_subtask *s)
{
	const struct weir_subtask_blob *b = weir_restore_blob(s);

	return s->finished || (b != NULL && (b->flags & WEIR_SUBTASK_ENDED) != 0);
}

enum ends { GOES_ON, PARTLY, HAD_ENDED };

/* All inputs of a new operator: it ends when they have. */
static enum ends
ends_of_new(const struct weir_plan *plan, uint32_t o, const enum ends *ends)
{
	for (uint32_t e = 0; e < plan->edge_cnt; e++)
		if (plan->edge[e].to == o && ends[plan->edge[e].from] != HAD_ENDED)
			return GOES_ON;
	return weir_restore_is_kind(plan, o, WEIR_VERTEX_SOURCE) ? GOES_ON : HAD_ENDED;
}

static enum ends
ends_of_known(const struct weir_manifest_operator *mo)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < mo->subtask_cnt; i++)
		cnt += weir_restore_ended(&mo->subtasks[i]);
	return cnt == mo->subtask_cnt ? HAD_ENDED : cnt > 0 ? PARTLY : GOES_ON;
}

/* Would an operator that had ended, or a subtask of it, get rows again? */
static bool
feeds_ended(const struct weir_plan *plan, const struct weir_manifest *m,
	    const struct weir_plan_edge *e, const enum ends *ends)
{
	const struct weir_manifest_operator *to = weir_restore_operator(m, plan->op[e->to].id);
	const bool is_new = weir_restore_operator(m, plan->op[e->from].id) == NULL;

	if (to == NULL || ends[e->from] == HAD_ENDED)
		return false;
	/* Ends of single subtasks are taken over at unchanged parallelism only; with the inputs
	 * that they had they are as they were. */
	return ends[e->to] == HAD_ENDED ||
	       (ends[e->to] == PARTLY && is_new && to->subtask_cnt == plan->op[e->to].parallelism);
}

/*
 * T18: with at-least-once a consumer may have gone on beyond the cut, to its end even, while a
 * producer had not: it gets rows once more, and has not ended.
 */
static enum ends
ends_at_least_once(const struct weir_plan *plan, uint32_t o, const enum ends *ends, enum ends known)
{
	for (uint32_t e = 0; e < plan->edge_cnt; e++)
		if (plan->edge[e].to == o && ends[plan->edge[e].from] != HAD_ENDED)
			return GOES_ON;
	return known;
}

static void
settle(const struct weir_plan *plan, const struct weir_manifest *m, enum ends *ends)
{
	/* Each round settles the new ones one step further down. */
	for (uint32_t round = 0; round < plan->op_cnt; round++)
		for (uint32_t o = 0; o < plan->op_cnt; o++) {
			const struct weir_manifest_operator *mo =
				weir_restore_operator(m, plan->op[o].id);

			ends[o] = mo != NULL ? ends_of_known(mo) : ends_of_new(plan, o, ends);
			if (m->at_least_once)
				ends[o] = ends_at_least_once(plan, o, ends, ends[o]);
		}
}

bool
weir_restore_had_ended(const struct weir_plan *plan, const struct weir_manifest *m, uint32_t op,
		       const struct weir_manifest_subtask *s)
{
	enum ends ends[WEIR_ARRAY_CNT(plan->op)] = { GOES_ON };

	if (!weir_restore_ended(s) || !m->at_least_once)
		return weir_restore_ended(s);
	settle(plan, m, ends);
	return ends[op] != GOES_ON;
}

/* T29: an operator that had ended takes no row any more; nothing that goes on may feed it. */
void
weir_restore_check_ends(const struct weir_plan *plan, const struct weir_manifest *m,
			struct weir_error *err)
{
	enum ends ends[WEIR_ARRAY_CNT(plan->op)] = { GOES_ON };

	settle(plan, m, ends);
	for (uint32_t e = 0; e < plan->edge_cnt; e++) {
		const struct weir_plan_edge *pe = &plan->edge[e];

		if (feeds_ended(plan, m, pe, ends))
			weir_error_append(
				err, WEIR_ERR_DATA,
				"operator '%s' had ended in the checkpoint, and would get "
				"rows of '%s' now",
				plan->op[pe->to].id, plan->op[pe->from].id);
	}
}

#include "engine/graph/plan_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct weir_plan_operator *
weir_plan_operator_option(const struct weir_plan *plan, const char *id)
{
	for (uint32_t i = 0; i < plan->options.operator_cnt; i++)
		if (strcmp(plan->options.operators[i].id, id) == 0)
			return &plan->options.operators[i];
	return NULL;
}

void
weir_plan_warn(struct weir_plan *plan, const char *fmt, ...)
{
	va_list ap;

	if (plan->warning_cnt == WEIR_PLAN_WARNINGS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(plan->warning[plan->warning_cnt++], sizeof(plan->warning[0]), fmt, ap);
	va_end(ap);
}

static const char *
kind_name(const struct weir_vertex *v)
{
	switch (v->kind) {
	case WEIR_VERTEX_SOURCE:
		return v->connector->name;
	case WEIR_VERTEX_PROCESS:
		return v->op.name;
	case WEIR_VERTEX_SINK:
		return v->sink != NULL ? v->sink->name : "sink";
	}
	return "?";
}

static uint32_t
parallelism_of(const struct weir_plan *plan, const struct weir_vertex *v)
{
	const struct weir_plan_operator *o = weir_plan_operator_option(plan, v->id);

	if (o != NULL && o->parallelism > 0)
		return o->parallelism;
	if (v->parallelism > 0)
		return v->parallelism;
	if (o != NULL && o->cpu_cnt > 0)
		return o->cpu_cnt;
	return plan->options.parallelism > 0 ? plan->options.parallelism : plan->core_cnt;
}

static int
take_operators(struct weir_plan *plan, struct weir_error *err)
{
	for (uint32_t i = 0; i < plan->options.operator_cnt; i++)
		if (weir_job_find(plan->job, plan->options.operators[i].id) == UINT32_MAX)
			return weir_fail(err, WEIR_ERR_CONFIG,
					 "operators.%s: the job has no such operator",
					 plan->options.operators[i].id);
	for (uint32_t i = 0; i < plan->job->vertex_cnt; i++) {
		const struct weir_vertex *v = &plan->job->vertex[i];
		struct weir_plan_operator_info *o = &plan->op[plan->op_cnt++];

		*o = (struct weir_plan_operator_info){ .vertex = i,
						       .type = kind_name(v),
						       .op = v->op,
						       .in_type = v->in_type,
						       .out_type = v->out_type,
						       .key = v->key,
						       .passes = v->passes,
						       .pass_shift = v->pass_shift,
						       .parallelism = parallelism_of(plan, v) };
		snprintf(o->id, sizeof(o->id), "%s", v->id);
		if (o->parallelism > WEIR_PARALLELISM_MAX)
			return weir_fail(err, WEIR_ERR_CONFIG,
					 "operators.%s.parallelism: %u is more than %u", v->id,
					 o->parallelism, WEIR_PARALLELISM_MAX);
	}
	return 0;
}

static bool
is_made_head(const struct weir_plan *plan, uint32_t op)
{
	for (uint32_t i = 0; i < plan->options.head_cnt; i++)
		if (strcmp(plan->options.heads[i], plan->op[op].id) == 0)
			return true;
	return false;
}

static void
take_edges(struct weir_plan *plan)
{
	for (uint32_t i = 0; i < plan->job->edge_cnt; i++) {
		const struct weir_edge *je = &plan->job->edge[i];
		struct weir_plan_edge *e = &plan->edge[plan->edge_cnt++];

		*e = (struct weir_plan_edge){ .from = je->from,
					      .to = je->to,
					      .partitioner = je->partitioner,
					      .key = je->key };
		if (je->automatic &&
		    (plan->op[e->from].parallelism != plan->op[e->to].parallelism ||
		     is_made_head(plan, e->to)))
			e->partitioner = WEIR_REBALANCE;
	}
}

static uint32_t
edges_at(const struct weir_plan *plan, uint32_t op, bool in)
{
	uint32_t cnt = 0;

	for (uint32_t e = 0; e < plan->edge_cnt; e++)
		cnt += (in ? plan->edge[e].to : plan->edge[e].from) == op;
	return cnt;
}

/* Same subtasks on the same cores? Placement by configuration keeps two operators apart. */
static bool
same_place(const struct weir_plan *plan, uint32_t a, uint32_t b)
{
	const struct weir_plan_operator *x = weir_plan_operator_option(plan, plan->op[a].id);
	const struct weir_plan_operator *y = weir_plan_operator_option(plan, plan->op[b].id);
	const uint32_t xc = x != NULL ? x->cpu_cnt : 0;
	const uint32_t yc = y != NULL ? y->cpu_cnt : 0;

	/* What the plan itself put in stands where its producer stands. */
	if (plan->op[b].vertex == UINT32_MAX)
		return true;
	return xc == yc && (xc == 0 || memcmp(x->cpus, y->cpus, xc * sizeof(x->cpus[0])) == 0);
}

static bool
can_chain(const struct weir_plan *plan, const struct weir_plan_edge *e)
{
	const uint32_t p = plan->op[e->from].parallelism;

	if (is_made_head(plan, e->to))
		return false;
	if (p != plan->op[e->to].parallelism || edges_at(plan, e->to, true) != 1 ||
	    edges_at(plan, e->from, false) != 1 || !same_place(plan, e->from, e->to))
		return false;
	return e->partitioner == WEIR_FORWARD || (e->partitioner == WEIR_HASH && p == 1);
}

/* Put a combiner in front of the hash exchange e, where the consumer can be done in part. */
static void
add_combiner(struct weir_plan *plan, uint32_t edge_idx)
{
	struct weir_plan_edge *e = &plan->edge[edge_idx];
	struct weir_plan_operator_info *to = &plan->op[e->to];
	const struct weir_vertex *v = &plan->job->vertex[to->vertex];
	struct weir_operator combiner, merger;
	struct weir_plan_operator_info *c;
	void *owned[4] = { NULL };
	uint32_t columns[WEIR_COLUMNS_MAX];

	if (e->partitioner != WEIR_HASH || v->combine == NULL || can_chain(plan, e) ||
	    edges_at(plan, e->to, true) != 1 || !v->combine(v, &combiner, &merger, owned))
		return;
	c = &plan->op[plan->op_cnt];
	*c = (struct weir_plan_operator_info){ .vertex = UINT32_MAX,
					       .type = combiner.name,
					       .op = combiner,
					       .in_type = to->in_type,
					       .out_type = combiner.out,
					       .key = e->key,
					       .parallelism = plan->op[e->from].parallelism };
	memcpy(c->owned, owned, sizeof(owned));
	snprintf(c->id, sizeof(c->id), "%s-combine", v->id);
	for (uint32_t k = 0; k < e->key.cnt; k++)
		columns[k] = k;
	to->op = merger;
	to->in_type = combiner.out;
	if (!weir_key_init(&to->key, combiner.out, columns, e->key.cnt))
		WEIR_ASSERT(!"a combiner's first columns are the key");
	plan->edge[plan->edge_cnt++] = (struct weir_plan_edge){ .from = e->from,
								.to = plan->op_cnt,
								.partitioner = WEIR_FORWARD };
	e->from = plan->op_cnt++;
	e->key = to->key;
	e->combiner = true;
}

static uint32_t
chained_next(const struct weir_plan *plan, uint32_t op)
{
	for (uint32_t e = 0; e < plan->edge_cnt; e++)
		if (plan->edge[e].chained && plan->edge[e].from == op)
			return plan->edge[e].to;
	return UINT32_MAX;
}

static bool
is_head(const struct weir_plan *plan, uint32_t op)
{
	for (uint32_t e = 0; e < plan->edge_cnt; e++)
		if (plan->edge[e].chained && plan->edge[e].to == op)
			return false;
	return true;
}

static int
make_tasks(struct weir_plan *plan, struct weir_error *err)
{
	for (uint32_t e = 0; e < plan->edge_cnt; e++)
		plan->edge[e].chained = can_chain(plan, &plan->edge[e]);
	for (uint32_t o = 0; o < plan->op_cnt; o++) {
		struct weir_plan_task *t = &plan->task[plan->task_cnt];

		if (!is_head(plan, o))
			continue;
		*t = (struct weir_plan_task){ .parallelism = plan->op[o].parallelism,
					      .first = plan->subtask_cnt };
		for (uint32_t n = o; n != UINT32_MAX; n = chained_next(plan, n)) {
			if (t->op_cnt == WEIR_CHAIN_MAX)
				return weir_fail(err, WEIR_ERR_CONFIG,
						 "operator '%s': more than %u operators in one "
						 "chain; put a rebalance between them",
						 plan->op[n].id, WEIR_CHAIN_MAX);
			plan->op[n].task = plan->task_cnt;
			plan->op[n].chain_idx = t->op_cnt;
			t->op[t->op_cnt++] = n;
		}
		plan->subtask_cnt += t->parallelism;
		plan->task_cnt++;
	}
	return 0;
}

static int
choose_max_parallelism(struct weir_plan *plan, struct weir_error *err)
{
	const uint32_t given = plan->options.max_parallelism;
	uint32_t least = 1;

	for (uint32_t o = 0; o < plan->op_cnt; o++) {
		const uint32_t p = plan->op[o].parallelism;

		if (given > 0 && p > given)
			return weir_fail(err, WEIR_ERR_CONFIG,
					 "operator '%s': parallelism %u is more than "
					 "max-parallelism, which is %u",
					 plan->op[o].id, p, given);
		if (p + (p + 1) / 2 > least)
			least = p + (p + 1) / 2;
	}
	/* R4: 1.5 times the parallelism, rounded up to a power of two, within 128..32768. */
	plan->max_parallelism_log2 = given > 0 ? 1 : 7;
	while ((1u << plan->max_parallelism_log2) < (given > 0 ? given : least))
		plan->max_parallelism_log2++;
	plan->max_parallelism = 1u << plan->max_parallelism_log2;
	return 0;
}

/* Chained ones are calls. */
static int
check_outputs(const struct weir_plan *plan, struct weir_error *err)
{
	uint32_t cnt[WEIR_OPERATORS_MAX * 2] = { 0 };

	for (uint32_t e = 0; e < plan->edge_cnt; e++) {
		const uint32_t from = plan->edge[e].from;

		cnt[from] += !plan->edge[e].chained;
		if (cnt[from] > WEIR_EMITTERS_MAX)
			return weir_fail(err, WEIR_ERR_CONFIG,
					 "operator '%s': its rows go to more than %u operators",
					 plan->op[from].id, WEIR_EMITTERS_MAX);
	}
	return 0;
}

static void
number_channels(struct weir_plan *plan)
{
	for (uint32_t i = 0; i < plan->edge_cnt; i++) {
		struct weir_plan_edge *e = &plan->edge[i];
		const uint32_t from = plan->op[e->from].parallelism;

		if (e->chained)
			continue;
		e->first = plan->channel_cnt;
		e->channel_cnt =
			e->partitioner == WEIR_FORWARD ? from : from * plan->op[e->to].parallelism;
		plan->channel_cnt += e->channel_cnt;
	}
}

/*
 * T25: decided edge by edge. What goes to any consumer, or to one by its key, can be routed again
 * when frames in flight are restored; an edge whose consumers are tied to their producers, or get
 * everything, is forced aligned.
 */
static enum weir_edge_alignment
alignment_of(const struct weir_plan *plan, const struct weir_plan_edge *e)
{
	if (!plan->options.unaligned || e->chained)
		return WEIR_EDGE_ALIGNED;
	switch (e->partitioner) {
	case WEIR_HASH:
	case WEIR_REBALANCE:
		return WEIR_EDGE_UNALIGNED;
	case WEIR_FORWARD:
	case WEIR_BROADCAST:
		return WEIR_EDGE_FORCED;
	}
	return WEIR_EDGE_FORCED;
}

/* All that follows from the graph alone. */
static int
shape(struct weir_plan *plan, struct weir_error *err)
{
	uint32_t job_edges;
	int rc = take_operators(plan, err);

	if (rc != 0)
		return rc;
	take_edges(plan);
	job_edges = plan->edge_cnt;
	for (uint32_t e = 0; plan->options.combiner && e < job_edges; e++)
		add_combiner(plan, e);
	rc = choose_max_parallelism(plan, err);
	if (rc == 0)
		rc = make_tasks(plan, err);
	if (rc == 0)
		rc = check_outputs(plan, err);
	if (rc != 0)
		return rc;
	number_channels(plan);
	for (uint32_t e = 0; e < plan->edge_cnt; e++)
		plan->edge[e].alignment = alignment_of(plan, &plan->edge[e]);
	return 0;
}

struct weir_plan *
weir_plan_create(const struct weir_job *job, const struct weir_topology *topo,
		 const struct weir_plan_options *options, struct weir_error *err)
{
	struct weir_plan *plan = calloc(1, sizeof(*plan));

	if (plan == NULL) {
		weir_fail(err, WEIR_ERR_FAILED, "no memory for the plan");
		return NULL;
	}
	plan->job = job;
	plan->options = *options;
	plan->lane_depth = options->lane_depth;
	if (weir_plan_choose_cores(plan, topo, err) != 0 || shape(plan, err) != 0 ||
	    weir_plan_place(plan, err) != 0 || weir_plan_columns(plan, err) != 0) {
		weir_plan_destroy(plan);
		return NULL;
	}
	return plan;
}

void
weir_plan_destroy(struct weir_plan *plan)
{
	if (plan == NULL)
		return;
	for (uint32_t o = 0; o < plan->op_cnt; o++)
		for (uint32_t i = 0; i < WEIR_ARRAY_CNT(plan->op[o].owned); i++)
			free(plan->op[o].owned[i]);
	free(plan);
}

void
weir_plan_hash_range(const struct weir_plan *plan, uint32_t subtask, uint32_t parallelism,
		     uint64_t *first, uint64_t *last)
{
	const uint64_t groups = plan->max_parallelism;
	const uint32_t shift = 64 - plan->max_parallelism_log2;
	/* The lowest group g with g * parallelism / groups == subtask, and of the next subtask. */
	const uint64_t g0 = (subtask * groups + parallelism - 1) / parallelism;
	const uint64_t g1 = ((subtask + 1) * groups + parallelism - 1) / parallelism;

	WEIR_ASSERT(subtask < parallelism);
	*first = g0 << shift;
	*last = g1 == groups ? UINT64_MAX : (g1 << shift) - 1;
}

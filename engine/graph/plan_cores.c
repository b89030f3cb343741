#include "engine/graph/plan_priv.h"

#include <string.h>

static bool
is_excluded(const struct weir_plan *plan, uint32_t cpu)
{
	for (uint32_t i = 0; i < plan->options.exclude_cnt; i++)
		if (plan->options.exclude[i] == cpu)
			return true;
	return false;
}

static int
add_core(struct weir_plan *plan, const struct weir_cpu *cpu, struct weir_error *err)
{
	if (plan->core_cnt == WEIR_PLAN_CORES_MAX)
		return weir_fail(err, WEIR_ERR_CONFIG, "cores: more than %u cores",
				 WEIR_PLAN_CORES_MAX);
	plan->core[plan->core_cnt++] =
		(struct weir_plan_core){ .cpu = cpu->os_idx, .node = cpu->node };
	return 0;
}

static int
take_cores(struct weir_plan *plan, const struct weir_topology *topo, struct weir_error *err)
{
	for (uint32_t i = 0; i < plan->options.cpu_cnt; i++) {
		const struct weir_cpu *cpu = weir_topology_cpu(topo, plan->options.cpus[i]);
		int rc;

		if (cpu == NULL || !cpu->allowed)
			return weir_fail(err, WEIR_ERR_CONFIG,
					 cpu == NULL ? "cores: there is no CPU %u on this machine"
						     : "cores: CPU %u is not allowed to this "
						       "process (cpuset or affinity mask)",
					 plan->options.cpus[i]);
		rc = add_core(plan, cpu, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* One busy core per physical core; siblings only if asked for by name (`cores`). */
static int
find_cores(struct weir_plan *plan, const struct weir_topology *topo, struct weir_error *err)
{
	for (uint32_t i = 0; i < topo->cpu_cnt; i++) {
		const struct weir_cpu *cpu = &topo->cpus[i];
		bool taken = false;
		int rc;

		if (!cpu->allowed || is_excluded(plan, cpu->os_idx))
			continue;
		for (uint32_t c = 0; c < plan->core_cnt; c++)
			taken |= weir_topology_cpu(topo, plan->core[c].cpu)->core == cpu->core;
		if (taken)
			continue;
		if (plan->core_cnt == WEIR_PLAN_CORES_MAX)
			break;
		rc = add_core(plan, cpu, err);
		if (rc != 0)
			return rc;
	}
	if (plan->core_cnt == 0)
		return weir_fail(err, WEIR_ERR_CONFIG,
				 "exclude: no CPU is left; this process may use %u",
				 topo->allowed_cnt);
	return 0;
}

/* What the machine calls its last-level caches; without any, its nodes are as good. */
static uint32_t
cache_of(const struct weir_topology *topo, const struct weir_plan_core *core)
{
	const struct weir_cpu *cpu = weir_topology_cpu(topo, core->cpu);

	if (cpu->l3 != WEIR_TOPOLOGY_NONE)
		return cpu->l3;
	return cpu->l2 != WEIR_TOPOLOGY_NONE ? cpu->l2 : cpu->node;
}

/* Of the cores from at on: how many share the cache of core c? */
static uint32_t
sharing(const struct weir_plan *plan, const struct weir_topology *topo, uint32_t at, uint32_t c)
{
	const uint32_t cache = cache_of(topo, &plan->core[c]);
	uint32_t cnt = 0;

	for (uint32_t i = at; i < plan->core_cnt; i++)
		cnt += cache_of(topo, &plan->core[i]) == cache;
	return cnt;
}

/* The core from at on that comes next: of the same cache as the one before it, there one with the
 * same second-level cache; else the first of the largest cache, on the same node if there is one.
 */
static uint32_t
next_core(const struct weir_plan *plan, const struct weir_topology *topo, uint32_t at)
{
	uint32_t best = at, best_rank = 0;

	for (uint32_t c = at; c < plan->core_cnt; c++) {
		const struct weir_cpu *cpu = weir_topology_cpu(topo, plan->core[c].cpu);
		uint32_t rank = sharing(plan, topo, at, c);

		if (at > 0) {
			const struct weir_plan_core *prev = &plan->core[at - 1];
			const bool l2 = cpu->l2 != WEIR_TOPOLOGY_NONE &&
					cpu->l2 == weir_topology_cpu(topo, prev->cpu)->l2;

			rank += l2 ? 8 * WEIR_PLAN_CORES_MAX : 0;
			rank += cache_of(topo, &plan->core[c]) == cache_of(topo, prev)
					? 4 * WEIR_PLAN_CORES_MAX
					: 0;
			rank += cpu->node == prev->node ? 2 * WEIR_PLAN_CORES_MAX : 0;
		}
		if (rank > best_rank) {
			best = c;
			best_rank = rank;
		}
	}
	return best;
}

/* Cores that share a cache one behind the other: the subtasks of all tasks fill one cache after the
 * other. What is equal keeps its order. */
static void
order_by_cache(struct weir_plan *plan, const struct weir_topology *topo)
{
	for (uint32_t at = 0; at < plan->core_cnt; at++) {
		const uint32_t c = next_core(plan, topo, at);
		const struct weir_plan_core core = plan->core[c];

		memmove(&plan->core[at + 1], &plan->core[at], (c - at) * sizeof(core));
		plan->core[at] = core;
	}
}

static void
warn_siblings(struct weir_plan *plan, const struct weir_topology *topo)
{
	for (uint32_t a = 0; a < plan->core_cnt; a++)
		for (uint32_t b = 0; b < a; b++) {
			const struct weir_cpu *x = weir_topology_cpu(topo, plan->core[a].cpu);
			const struct weir_cpu *y = weir_topology_cpu(topo, plan->core[b].cpu);

			if (x != y && x->core == y->core)
				weir_plan_warn(
					plan,
					"CPUs %u and %u are hyper-threads of one physical core",
					y->os_idx, x->os_idx);
		}
}

int
weir_plan_choose_cores(struct weir_plan *plan, const struct weir_topology *topo,
		       struct weir_error *err)
{
	const int rc = plan->options.cpu_cnt > 0 ? take_cores(plan, topo, err)
						 : find_cores(plan, topo, err);
	bool shared = false;

	if (rc != 0)
		return rc;
	if (plan->options.placement == WEIR_PLACE_SAME_CACHE)
		order_by_cache(plan, topo);
	for (uint32_t a = 0; a < plan->core_cnt; a++) {
		for (uint32_t b = 0; b < plan->core_cnt; b++) {
			if (plan->core[a].cpu != plan->core[b].cpu)
				continue;
			plan->core[a].nth += b < a;
			plan->core[a].shared++;
		}
		shared |= plan->core[a].shared > 1;
	}
	if (shared)
		weir_plan_warn(plan, "several core threads share a CPU: they yield instead of "
				     "spinning, and rates say little");
	warn_siblings(plan, topo);
	return 0;
}

static int
core_of_cpu(const struct weir_plan *plan, const char *id, uint32_t cpu, uint32_t *core,
	    struct weir_error *err)
{
	for (uint32_t c = 0; c < plan->core_cnt; c++)
		if (plan->core[c].cpu == cpu) {
			*core = c;
			return 0;
		}
	return weir_fail(err, WEIR_ERR_CONFIG,
			 "operators.%s.cores: CPU %u is not among the job's cores (key: cores)", id,
			 cpu);
}

int
weir_plan_place(struct weir_plan *plan, struct weir_error *err)
{
	uint32_t cnt[WEIR_PLAN_CORES_MAX] = { 0 };
	uint32_t next = 0;

	for (uint32_t i = 0; i < plan->task_cnt; i++) {
		struct weir_plan_task *t = &plan->task[i];
		const char *id = plan->op[t->op[0]].id;
		const struct weir_plan_operator *o = weir_plan_operator_option(plan, id);

		for (uint32_t s = 0; s < t->parallelism; s++) {
			int rc = 0;

			if (o != NULL && o->cpu_cnt > 0)
				rc = core_of_cpu(plan, id, o->cpus[s % o->cpu_cnt], &t->core[s],
						 err);
			else
				t->core[s] = (plan->options.placement == WEIR_PLACE_SPREAD ? next++
											   : s) %
					     plan->core_cnt;
			if (rc != 0)
				return rc;
			if (++cnt[t->core[s]] > WEIR_CORE_TASKS_MAX)
				return weir_fail(err, WEIR_ERR_CONFIG,
						 "parallelism: more than %u subtasks on one core "
						 "(CPU %u); name more cores, or lower it",
						 WEIR_CORE_TASKS_MAX, plan->core[t->core[s]].cpu);
		}
	}
	return 0;
}

#include "engine/graph/plan_priv.h"

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
				/* compact: subtask i of every operator together; spread: one by
				 * one. */
				t->core[s] = (plan->options.spread ? next++ : s) % plan->core_cnt;
			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

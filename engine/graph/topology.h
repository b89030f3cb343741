#ifndef WEIR_ENGINE_GRAPH_TOPOLOGY_H
#define WEIR_ENGINE_GRAPH_TOPOLOGY_H

/*
 * weir_topology: the machine as the planner sees it. Plain numbers, no pointers into any library:
 * drivers/topology fills it from the host, a test fills it by hand or from a synthetic machine.
 *
 * CPU means the operating system's CPU number, node means NUMA node, core means physical core.
 * Threads:   read-only after it was filled. Ownership: cpus belongs to who filled it.
 */

#include "engine/base/base.h"

#define WEIR_TOPOLOGY_NONE UINT32_MAX /* the host does not tell (no L3, no NUMA) */

struct weir_cpu {
	uint32_t os_idx;   /* what `cores: 2-5,8` names; need not be dense */
	uint32_t core;	   /* physical core, 0 .. core_cnt - 1: equal for hyper-thread siblings */
	uint32_t smt_rank; /* 0 for the first CPU of its core, 1 for its sibling */
	uint32_t node;	   /* the host's number of the NUMA node; 0 if the host has none */
	uint32_t l2;	   /* CPUs with the same number share this cache; or WEIR_TOPOLOGY_NONE */
	uint32_t l3;	   /* the same */
	bool allowed;	   /* cpuset ∩ online ∩ affinity mask of this process */
};

struct weir_topology {
	struct weir_cpu *cpus; /* in the order of os_idx */
	uint32_t cpu_cnt;
	uint32_t allowed_cnt;
	uint32_t core_cnt; /* physical cores, allowed or not */
	uint32_t node_cnt;
};

/* The CPU with this number, or NULL if the machine has none. */
static inline const struct weir_cpu *
weir_topology_cpu(const struct weir_topology *topo, uint32_t os_idx)
{
	for (uint32_t i = 0; i < topo->cpu_cnt; i++)
		if (topo->cpus[i].os_idx == os_idx)
			return &topo->cpus[i];
	return NULL;
}

#endif /* WEIR_ENGINE_GRAPH_TOPOLOGY_H */

#include "drivers/topology/topology.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <hwloc.h>

static uint32_t
ancestor_number(hwloc_topology_t hw, hwloc_obj_type_t type, hwloc_obj_t pu)
{
	const hwloc_obj_t obj = hwloc_get_ancestor_obj_by_type(hw, type, pu);

	return obj != NULL ? obj->logical_index : WEIR_TOPOLOGY_NONE;
}

/* Position of pu among the CPUs of its core. */
static uint32_t
smt_rank(hwloc_topology_t hw, hwloc_obj_t pu)
{
	const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(hw, HWLOC_OBJ_CORE, pu);
	uint32_t rank = 0;
	int cpu;

	if (core == NULL)
		return 0;
	for (cpu = hwloc_bitmap_first(core->cpuset); cpu >= 0 && (unsigned)cpu != pu->os_index;
	     cpu = hwloc_bitmap_next(core->cpuset, cpu))
		rank++;
	return rank;
}

/* A node's local CPUs are in the node set of each of them; memory-only nodes are in none. */
static uint32_t
node_of(hwloc_obj_t pu)
{
	const int node = pu->nodeset != NULL ? hwloc_bitmap_first(pu->nodeset) : -1;

	return node < 0 ? 0 : (uint32_t)node;
}

static struct weir_cpu
describe(hwloc_topology_t hw, hwloc_obj_t pu, const cpu_set_t *mask)
{
	struct weir_cpu cpu = {
		.os_idx = pu->os_index,
		.core = ancestor_number(hw, HWLOC_OBJ_CORE, pu),
		.smt_rank = smt_rank(hw, pu),
		.node = node_of(pu),
		.l2 = ancestor_number(hw, HWLOC_OBJ_L2CACHE, pu),
		.l3 = ancestor_number(hw, HWLOC_OBJ_L3CACHE, pu),
		.allowed = hwloc_bitmap_isset(hwloc_topology_get_allowed_cpuset(hw),
					      pu->os_index) != 0,
	};

	/* A host that does not tell its cores: each CPU counts as one. */
	if (cpu.core == WEIR_TOPOLOGY_NONE)
		cpu.core = pu->logical_index;
	if (mask != NULL && (cpu.os_idx >= CPU_SETSIZE || !CPU_ISSET(cpu.os_idx, mask)))
		cpu.allowed = false;
	return cpu;
}

static uint32_t
cpu_core_cnt(const struct weir_topology *topo)
{
	uint32_t max = 0;

	for (uint32_t i = 0; i < topo->cpu_cnt; i++)
		if (topo->cpus[i].core + 1 > max)
			max = topo->cpus[i].core + 1;
	return max;
}

static int
compare_os_idx(const void *a, const void *b)
{
	const struct weir_cpu *x = a, *y = b;

	return (x->os_idx > y->os_idx) - (x->os_idx < y->os_idx);
}

/* mask: CPUs this process may use, or NULL for all. */
static int
fill(hwloc_topology_t hw, const cpu_set_t *mask, struct weir_topology *topo, struct weir_error *err)
{
	const int cnt = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_PU);
	const int nodes = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_NUMANODE);
	struct weir_topology t = { .cpu_cnt = cnt > 0 ? (uint32_t)cnt : 0 };

	if (t.cpu_cnt == 0)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "hwloc finds no CPU");
	t.cpus = calloc(t.cpu_cnt, sizeof(*t.cpus));
	if (t.cpus == NULL)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "no memory for %u CPUs", t.cpu_cnt);
	for (uint32_t i = 0; i < t.cpu_cnt; i++) {
		t.cpus[i] = describe(hw, hwloc_get_obj_by_type(hw, HWLOC_OBJ_PU, i), mask);
		t.allowed_cnt += t.cpus[i].allowed;
	}
	qsort(t.cpus, t.cpu_cnt, sizeof(*t.cpus), compare_os_idx);
	t.core_cnt = cpu_core_cnt(&t);
	t.node_cnt = nodes > 0 ? (uint32_t)nodes : 1;
	*topo = t;
	return 0;
}

int
weir_topology_read(struct weir_topology *topo, struct weir_error *err)
{
	hwloc_topology_t hw;
	cpu_set_t mask;
	int rc;

	if (sched_getaffinity(0, sizeof(mask), &mask) != 0)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "cannot read the CPU mask: %s",
				 strerror(errno));
	if (hwloc_topology_init(&hw) != 0)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "hwloc: %s", strerror(errno));
	/* CPUs outside our cpuset too: the plan names what exists and is not allowed. */
	if (hwloc_topology_set_flags(hw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
	    hwloc_topology_load(hw) != 0)
		rc = weir_fail(err, WEIR_ERR_UNAVAILABLE, "hwloc cannot read this host: %s",
			       strerror(errno));
	else
		rc = fill(hw, &mask, topo, err);
	hwloc_topology_destroy(hw);
	return rc;
}

int
weir_topology_synthetic(const char *text, struct weir_topology *topo, struct weir_error *err)
{
	hwloc_topology_t hw;
	int rc;

	if (hwloc_topology_init(&hw) != 0)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "hwloc: %s", strerror(errno));
	if (hwloc_topology_set_synthetic(hw, text) != 0 || hwloc_topology_load(hw) != 0)
		rc = weir_fail(err, WEIR_ERR_CONFIG, "\"%s\" describes no machine", text);
	else
		rc = fill(hw, NULL, topo, err);
	hwloc_topology_destroy(hw);
	return rc;
}

void
weir_topology_fini(struct weir_topology *topo)
{
	free(topo->cpus);
	*topo = (struct weir_topology){ .cpus = NULL };
}

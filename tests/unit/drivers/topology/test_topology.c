#include <sched.h>
#include <string.h>

#include <criterion/criterion.h>

#include "drivers/topology/topology.h"

static struct weir_topology
synthetic(const char *text)
{
	struct weir_topology topo;
	struct weir_error err;

	cr_assert_eq(weir_topology_synthetic(text, &topo, &err), 0, "%s", err.text);
	return topo;
}

Test(topology, two_nodes_with_siblings)
{
	struct weir_topology topo = synthetic("node:2 l3:1 l2:4 core:1 pu:2");
	const struct weir_cpu *cpu;

	cr_assert_eq(topo.cpu_cnt, 16);
	cr_assert_eq(topo.allowed_cnt, 16);
	cr_assert_eq(topo.core_cnt, 8);
	cr_assert_eq(topo.node_cnt, 2);
	cpu = weir_topology_cpu(&topo, 11);
	cr_assert_not_null(cpu);
	cr_assert_eq(cpu->core, 5);
	cr_assert_eq(cpu->smt_rank, 1);
	cr_assert_eq(cpu->node, 1);
	cr_assert_eq(cpu->l2, 5);
	cr_assert_eq(cpu->l3, 1);
	cr_assert(cpu->allowed);
	cr_assert_null(weir_topology_cpu(&topo, 99));
	weir_topology_fini(&topo);
	cr_assert_null(topo.cpus);
	weir_topology_fini(&topo);
}

/* EPYC: several L3 per node. */
Test(topology, caches_smaller_than_a_node)
{
	struct weir_topology topo = synthetic("package:1 node:1 l3:4 core:2 pu:1");

	cr_assert_eq(topo.cpu_cnt, 8);
	cr_assert_eq(topo.node_cnt, 1);
	cr_assert_eq(weir_topology_cpu(&topo, 0)->l3, weir_topology_cpu(&topo, 1)->l3);
	cr_assert_neq(weir_topology_cpu(&topo, 1)->l3, weir_topology_cpu(&topo, 2)->l3);
	cr_assert_eq(weir_topology_cpu(&topo, 3)->l2, WEIR_TOPOLOGY_NONE);
	weir_topology_fini(&topo);
}

/* Numbers of the operating system as many servers have them: siblings far apart. */
Test(topology, cpus_come_in_the_order_of_their_numbers)
{
	struct weir_topology topo = synthetic("core:4 pu:2(indexes=0,4,1,5,2,6,3,7)");

	for (uint32_t i = 0; i < 8; i++) {
		cr_assert_eq(topo.cpus[i].os_idx, i);
		cr_assert_eq(topo.cpus[i].core, i % 4);
		cr_assert_eq(topo.cpus[i].smt_rank, i / 4);
	}
	weir_topology_fini(&topo);
}

Test(topology, nonsense_is_an_error)
{
	struct weir_topology topo = { .cpu_cnt = 7 };
	struct weir_error err;

	cr_assert_eq(weir_topology_synthetic("cheese:2", &topo, &err), WEIR_ERR_CONFIG);
	cr_assert_eq(topo.cpu_cnt, 7);
	cr_assert(strstr(err.text, "cheese:2") != NULL);
}

/* Only what the affinity mask leaves is allowed, but all CPUs are known. */
Test(topology, this_host_within_its_mask)
{
	struct weir_topology topo;
	struct weir_error err;
	cpu_set_t mask, one;
	uint32_t cpu = 0;

	cr_assert_eq(sched_getaffinity(0, sizeof(mask), &mask), 0);
	cr_assert_eq(weir_topology_read(&topo, &err), 0, "%s", err.text);
	cr_assert_eq(topo.allowed_cnt, (uint32_t)CPU_COUNT(&mask));
	for (uint32_t i = 0; i < topo.cpu_cnt; i++) {
		cr_assert_eq(topo.cpus[i].allowed, CPU_ISSET(topo.cpus[i].os_idx, &mask) != 0);
		if (topo.cpus[i].allowed)
			cpu = topo.cpus[i].os_idx;
	}
	weir_topology_fini(&topo);

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	cr_assert_eq(weir_topology_read(&topo, &err), 0, "%s", err.text);
	cr_assert_eq(topo.allowed_cnt, 1);
	cr_assert(weir_topology_cpu(&topo, cpu)->allowed);
	weir_topology_fini(&topo);
}

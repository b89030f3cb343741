/* Which cores a job gets and in which order, on machines that are described and not there. */

#include "engine/graph/plan.h"

#include "drivers/topology/topology.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <weir/weir.h>

WEIR_TYPE(number, WEIR_U64("number"));

static const struct weir_connector connector = { .name = "none", .type = &number };

static uint32_t
format(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	(void)text;
	(void)cap;
	*bytes = 0;
	return in->selected - from;
}

/* The CPUs of the job's cores in their order, "0 1 4"; or the error. */
static const char *
cores(const char *machine, const struct weir_plan_options *from)
{
	static char text[400];
	struct weir_plan_options options = *from;
	struct weir_job *job = weir_job_create();
	struct weir_topology topo;
	struct weir_plan *plan;
	struct weir_error err = { 0 };
	size_t len = 0;

	options.frame_bytes = 8192;
	options.lane_depth = 64;
	options.state_bytes = 1 << 24;
	cr_assert_eq(weir_topology_synthetic(machine, &topo, &err), 0, "%s", err.text);
	weir_sink(weir_key_by(weir_source(job, "source", &connector), 0), "sink", format);
	cr_assert_eq(weir_job_finish(job, &err), 0, "%s", err.text);
	plan = weir_plan_create(job, &topo, &options, &err);
	cr_assert_not_null(plan, "%s", err.text);
	for (uint32_t c = 0; c < plan->core_cnt; c++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u", c > 0 ? " " : "",
					plan->core[c].cpu);
	/* Whatever the order: subtask i of every task is on core i. */
	for (uint32_t t = 0; t < plan->task_cnt; t++)
		for (uint32_t s = 0; s < plan->task[t].parallelism; s++)
			cr_assert_eq(plan->task[t].core[s], s % plan->core_cnt);
	weir_plan_destroy(plan);
	weir_job_destroy(job);
	weir_topology_fini(&topo);
	return text;
}

static const struct weir_plan_options compact = { .placement = WEIR_PLACE_COMPACT };
static const struct weir_plan_options same_cache = { .placement = WEIR_PLACE_SAME_CACHE };

/* Two sockets whose CPUs are numbered in turns, as many firmwares do it. */
#define TURNS "package:2 l3:1 core:4 pu:1(indexes=0,2,4,6,1,3,5,7)"

Test(plan_cores, compact_takes_cpus_by_their_numbers)
{
	cr_expect_str_eq(cores(TURNS, &compact), "0 1 2 3 4 5 6 7");
}

Test(plan_cores, same_cache_fills_one_cache_after_the_other)
{
	cr_expect_str_eq(cores(TURNS, &same_cache), "0 2 4 6 1 3 5 7");
}

Test(plan_cores, same_cache_begins_where_most_cores_are_left)
{
	static const uint32_t exclude[] = { 0, 6 };
	struct weir_plan_options o = same_cache;

	o.exclude = exclude;
	o.exclude_cnt = 2;
	cr_expect_str_eq(cores(TURNS, &o), "1 3 5 7 2 4");
}

Test(plan_cores, same_cache_orders_what_cores_names_too)
{
	static const uint32_t cpus[] = { 5, 0, 1, 2 };
	struct weir_plan_options o = same_cache;

	o.cpus = cpus;
	o.cpu_cnt = 4;
	cr_expect_str_eq(cores(TURNS, &o), "5 1 0 2");
	/* Written back as it was printed, it stays. */
	o.cpus = (const uint32_t[]){ 5, 1, 0, 2 };
	cr_expect_str_eq(cores(TURNS, &o), "5 1 0 2");
	/* A CPU may be there twice. */
	o.cpus = (const uint32_t[]){ 1, 0, 1, 0 };
	cr_expect_str_eq(cores(TURNS, &o), "1 1 0 0");
}

/* Several caches a node, node after node in turns: the next cache is one of the same node. */
Test(plan_cores, same_cache_stays_on_the_node)
{
	cr_expect_str_eq(cores("node:2 l3:2 core:2 pu:1(indexes=0,4,2,6,1,5,3,7)", &same_cache),
			 "0 4 2 6 1 5 3 7");
}

/* Cores in pairs that share the second level. */
Test(plan_cores, same_cache_keeps_pairs_of_a_smaller_cache_together)
{
	cr_expect_str_eq(cores("l3:1 l2:2 core:2 pu:1(indexes=0,2,1,3)", &same_cache), "0 2 1 3");
}

Test(plan_cores, same_cache_takes_one_cpu_of_a_core)
{
	cr_expect_str_eq(cores("package:2 l3:1 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)", &same_cache),
			 "0 2 1 3");
}

/* Without a third level the second is the last; without any, the node. */
Test(plan_cores, same_cache_without_a_third_level)
{
	cr_expect_str_eq(cores("l2:2 core:2 pu:1(indexes=0,2,1,3)", &same_cache), "0 2 1 3");
	cr_expect_str_eq(cores("node:2 core:2 pu:1(indexes=0,2,1,3)", &same_cache), "0 2 1 3");
	cr_expect_str_eq(cores("core:4 pu:1", &same_cache), "0 1 2 3");
}

/* Mistakes of who builds a job: the first is kept and said, and nothing is done with it. */
#include "engine/graph/plan.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <weir/weir.h>

#define WIDE (WEIR_COLUMNS_MAX + 1)

WEIR_TYPE(twelve, WEIR_U64("a"), WEIR_U64("b"), WEIR_U64("c"), WEIR_U64("d"), WEIR_U64("e"),
	  WEIR_U64("f"), WEIR_U64("g"), WEIR_U64("h"), WEIR_U64("i"), WEIR_U64("j"), WEIR_U64("k"),
	  WEIR_TIME("time"));

static const struct weir_column columns[WIDE];
static const struct weir_type wide = { .name = "wide", .column_cnt = WIDE, .columns = columns };

static struct weir_job *job;

static void
setup(void)
{
	job = weir_job_create();
}

static void
teardown(void)
{
	weir_job_destroy(job);
}

TestSuite(job, .init = setup, .fini = teardown);

static uint32_t
format(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	(void)text;
	(void)cap;
	*bytes = 0;
	return in->selected - from;
}

static int
process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	(void)ctx;
	return weir_out_pass(out, in);
}

static struct weir_stream *
source(const struct weir_type *type)
{
	static struct weir_connector connector;

	connector = (struct weir_connector){ .name = "none", .type = type };
	return weir_source(job, "source", &connector);
}

static void
is_mistaken(struct weir_stream *s, const char *text)
{
	struct weir_error err = { 0 };

	weir_sink(s, "sink", format);
	cr_assert_eq(weir_job_finish(job, &err), WEIR_ERR_CONFIG);
	cr_assert_not_null(strstr(err.text, text), "%s", err.text);
}

static struct weir_stream *
keyed_by_many(void)
{
	static const uint32_t key[11] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };

	return weir_key_by_columns(source(&twelve), key, 11);
}

Test(job, a_window_whose_rows_are_too_wide)
{
	const struct weir_window w = { .size_ns = 1, .time_column = 11, .agg_cnt = 5 };

	is_mistaken(weir_window(keyed_by_many(), "many", &w),
		    "window 'many': more than 16 columns");
}

Test(job, a_window_whose_rows_just_fit)
{
	const struct weir_window w = { .size_ns = 1, .time_column = 11, .agg_cnt = 4 };
	struct weir_error err = { 0 };

	weir_sink(weir_window(keyed_by_many(), "many", &w), "sink", format);
	cr_assert_eq(weir_job_finish(job, &err), 0, "%s", err.text);
}

Test(job, a_source_whose_rows_are_too_wide)
{
	is_mistaken(source(&wide), "'source': rows of 17 columns, there may be 1 to 16");
}

Test(job, a_source_without_rows)
{
	is_mistaken(source(NULL), "source 'source': its connector has no type of rows");
}

Test(job, a_source_with_too_many_reasons)
{
	static const struct weir_connector c = { .name = "none", .type = &twelve, .reason_cnt = 9 };

	is_mistaken(weir_source(job, "picky", &c), "source 'picky': more than 8 reasons");
}

Test(job, an_operator_that_does_nothing)
{
	const struct weir_operator op = { .name = "idle" };

	is_mistaken(weir_process(source(&twelve), "idle", &op),
		    "operator 'idle': it needs process");
}

Test(job, an_operator_whose_rows_are_too_wide)
{
	const struct weir_operator op = { .name = "widen", .out = &wide, .process = process };

	is_mistaken(weir_process(source(&twelve), "widen", &op), "'widen': rows of 17 columns");
}

static void
states_are_mistaken(const struct weir_state_decl *states, uint32_t cnt, const char *text)
{
	const struct weir_operator op = {
		.name = "keep", .process = process, .states = states, .state_cnt = cnt
	};

	is_mistaken(weir_process(weir_key_by(source(&twelve), 0), "keep", &op), text);
}

Test(job, too_many_states)
{
	static const struct weir_state_decl five[] = {
		{ .name = "a" }, { .name = "b" }, { .name = "c" }, { .name = "d" }, { .name = "e" }
	};

	states_are_mistaken(five, WEIR_STATES_MAX + 1, "operator 'keep': more than 4 states");
}

Test(job, two_states_of_one_name)
{
	static const struct weir_state_decl two[2] = { { .name = "a", .value_bytes = 8 },
						       { .name = "a", .value_bytes = 16 } };

	states_are_mistaken(two, 2, "operator 'keep' state 'a': its name is used twice");
}

Test(job, a_state_without_a_name)
{
	static const struct weir_state_decl one = { .value_bytes = 8 };

	states_are_mistaken(&one, 1, "operator 'keep' state 0: it has no name");
}

Test(job, states_of_lengths_that_there_are_not)
{
	static const struct weir_state_decl none = { .name = "a" };
	static const struct weir_state_decl large = { .name = "b", .value_bytes = 1025 };
	static const struct weir_state_decl keys = { .name = "c",
						     .value_bytes = 8,
						     .key_bytes = 257 };

	states_are_mistaken(&none, 1, "state 'a': values of 0 bytes, there may be 1 to 1024");
	teardown();
	setup();
	states_are_mistaken(&large, 1, "state 'b': values of 1025 bytes, there may be 1 to 1024");
	teardown();
	setup();
	states_are_mistaken(&keys, 1, "state 'c': keys of 257 bytes, at most 256");
}

Test(job, too_many_edges)
{
	struct weir_stream *all = source(&twelve);
	const struct weir_operator op = { .name = "pass", .process = process };
	struct weir_stream *in[WEIR_INPUTS_MAX];
	char id[16];

	for (uint32_t i = 0; i < WEIR_INPUTS_MAX; i++) {
		snprintf(id, sizeof(id), "a%u", i);
		in[i] = weir_process(all, id, &op);
	}
	for (uint32_t i = 1; i < WEIR_INPUTS_MAX; i++)
		in[0] = weir_union(in[0], in[i]);
	for (uint32_t i = 0; i < 15; i++) {
		snprintf(id, sizeof(id), "b%u", i);
		weir_sink(in[0], id, format);
	}
	is_mistaken(in[0], "operator 'sink': a job has at most 128 edges");
}

/* ---- what shows when it is planned ---- */

static void
has_no_plan(uint32_t parallelism, const char *text)
{
	struct weir_cpu cpu = { .allowed = true };
	const struct weir_topology topo = {
		.cpus = &cpu, .cpu_cnt = 1, .allowed_cnt = 1, .core_cnt = 1, .node_cnt = 1
	};
	const struct weir_plan_options o = { .parallelism = parallelism,
					     .frame_bytes = 8192,
					     .lane_depth = 64,
					     .state_bytes = 1 << 24 };
	struct weir_error err = { 0 };

	cr_assert_eq(weir_job_finish(job, &err), 0, "%s", err.text);
	cr_assert_null(weir_plan_create(job, &topo, &o, &err));
	cr_assert_eq(err.code, WEIR_ERR_CONFIG);
	cr_assert_not_null(strstr(err.text, text), "%s", err.text);
}

Test(job, more_subtasks_than_a_core_takes)
{
	weir_sink(weir_key_by(source(&twelve), 0), "sink", format);
	has_no_plan(WEIR_CORE_TASKS_MAX / 2 + 1, "more than 256 subtasks on one core (CPU 0)");
}

Test(job, rows_that_go_everywhere)
{
	struct weir_stream *s = source(&twelve);
	char id[16];

	for (uint32_t i = 0; i <= WEIR_EMITTERS_MAX; i++) {
		snprintf(id, sizeof(id), "sink%u", i);
		weir_sink(s, id, format);
	}
	has_no_plan(1, "operator 'source': its rows go to more than 8 operators");
}

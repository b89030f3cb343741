/* A restore that has not read all that the manifest names, or has lost some of it, is refused. */
#include "tests/unit/engine/core/world.h"

#include <criterion/criterion.h>
#include <string.h>

/* A world whose first checkpoint is on its disk, and whose attempt is over. */
static void
first_checkpoint(struct world *w)
{
	struct weir_error err = { 0 };

	world_create(w,
		     &(struct world_options){ .seed = 7, .rows = 4000, .interval_ns = 20000000 });
	world_begin(w);
	while (world_count(w, "completed") == 0)
		cr_assert_eq(world_run(w, 1, &err), WEIR_END_NOT_YET, "%s", err.text);
	world_end(w);
}

static void
goes_on(struct world *w)
{
	struct weir_error err = { 0 };

	world_begin(w);
	cr_assert_eq(w->refused.code, WEIR_OK, "%s", w->refused.text);
	cr_assert_eq(world_run(w, 400000, &err), WEIR_END_FINISHED, "%s", err.text);
	world_check_output(w);
	world_destroy(w);
}

static void
is_refused(struct world *w, const char *why)
{
	world_begin(w);
	cr_assert_eq(w->refused.code, WEIR_ERR_DATA);
	cr_assert_not_null(strstr(w->refused.text, why), "%s", w->refused.text);
	world_end(w);
}

Test(restore_counts, a_segment_that_is_not_read_is_named)
{
	struct world w;
	uint32_t cnt = 1;

	first_checkpoint(&w);
	for (uint32_t i = 1; i <= cnt; i++) {
		w.left_out = i;
		is_refused(&w, "was not read");
		cr_assert_not_null(strstr(w.refused.text, ".dat at "), "%s", w.refused.text);
		cr_assert_not_null(strstr(w.refused.text, "operator 'counts' subtask "), "%s",
				   w.refused.text);
		cnt = w.segment_cnt;
	}
	cr_assert_geq(cnt, 2, "one of each subtask");
	w.left_out = 0;
	goes_on(&w);
}

Test(restore_counts, a_segment_that_comes_twice_is_named)
{
	struct world w;

	first_checkpoint(&w);
	w.twice = 1;
	is_refused(&w, ": came twice");
	w.twice = 0;
	goes_on(&w);
}

static struct weir_kstate *
state_of(struct world *w)
{
	for (uint32_t t = 0; t < w->plan->subtask_cnt; t++)
		for (uint32_t k = 0; k < w->rt->tasks[t].ctx_cnt; k++) {
			struct weir_operator_ctx *c = w->rt->tasks[t].ctx[k];

			if (c->state_cnt > 0 && weir_kstate_entries(c->state[0]) > 0)
				return c->state[0];
		}
	cr_assert_fail("no state holds anything");
	return NULL;
}

static void
lose_entry(struct world *w)
{
	struct weir_kstate *st = state_of(w);
	struct weir_table *t = weir_kstate_table_from(st, INT64_MIN);
	struct weir_table_entry e;
	uint64_t cursor = 0;

	cr_assert_eq(weir_table_next(t, &WEIR_TABLE_SCAN_READ, &cursor, &e, 1), 1);
	cr_assert(weir_table_remove(t, e.key, e.key_len, e.hash));
}

static void
add_entry(struct world *w)
{
	struct weir_kstate *st = state_of(w);
	uint64_t key = WORLD_KEYS;

	while (weir_hash_u64(key) < st->spec.hash_first || weir_hash_u64(key) > st->spec.hash_last)
		key++;
	cr_assert_eq(weir_kstate_reserve(st, 2), WEIR_STATE_ROOM);
	(void)weir_table_put(weir_kstate_table(st, 0, true), &key, sizeof(key), weir_hash_u64(key));
}

Test(restore_counts, entries_that_get_lost_or_come_from_nowhere_are_counted)
{
	struct world w;

	first_checkpoint(&w);
	w.loaded = lose_entry;
	is_refused(&w, "operator 'counts' state ");
	w.loaded = add_entry;
	is_refused(&w, " entries are there, its segments hold ");
	w.loaded = NULL;
	goes_on(&w);
}

/*
 * Canonical snapshots (S1) while the state changes: what is written is the model of the freeze, in
 * the order that docs/formats.md promises, and any kstate takes it back.
 */

#include "statebackend/snapshot/canonical.h"
#include "tests/unit/statebackend/there_and_back.h"

static uint32_t sort_groups;

/* The order of the format, said once more. */
static int
by_order(const void *pa, const void *pb)
{
	const struct model_entry *const *a = pa, *const *b = pb;
	const uint64_t width = UINT64_MAX / sort_groups + (sort_groups > 1);
	const uint64_t ga = sort_groups == 1 ? 0 : (*a)->hash / width;
	const uint64_t gb = sort_groups == 1 ? 0 : (*b)->hash / width;
	uint32_t i;

	if (ga != gb)
		return ga < gb ? -1 : 1;
	if ((*a)->ns != (*b)->ns)
		return (*a)->ns < (*b)->ns ? -1 : 1;
	for (i = 0; i < (*a)->len && i < (*b)->len; i++)
		if ((*a)->key[i] != (*b)->key[i])
			return (*a)->key[i] < (*b)->key[i] ? -1 : 1;
	return (*a)->len < (*b)->len ? -1 : (*a)->len > (*b)->len;
}

/* All entries of all segments, one behind the other: exactly the model's, sorted. */
static void
written_is(struct snap_rig *r, const struct weir_kstate_spec *spec, const struct model *m)
{
	const uint32_t width = spec->value_bytes < 8 ? spec->value_bytes : 8;
	const struct model_entry **want = calloc(m->cnt + 1, sizeof(*want));
	const struct fake_file *file = fake_find(&r->io, r->path);
	struct weir_error err;
	uint32_t cnt, n = 0, at = 0;
	uint64_t bytes;
	const struct weir_segment *segs = weir_snap_writer_segments(r->w, &cnt, &bytes);

	for (uint32_t i = 0; i < m->cnt; i++)
		if (m->e[i].alive)
			want[n++] = &m->e[i];
	sort_groups = r->key_groups;
	qsort(want, n, sizeof(*want), by_order);
	for (uint32_t i = 0; i < cnt; i++) {
		struct weir_canonical_walk w;
		bool more = true;

		cr_assert_eq(segs[i].kind, WEIR_SEGMENT_CANONICAL);
		cr_assert_eq(weir_canonical_walk_start(&w, file->bytes + segs[i].offset, &err), 0);
		cr_assert_eq(w.head.part, i);
		for (;;) {
			cr_assert_eq(weir_canonical_walk_next(&w, &more, &err), 0, "%s", err.text);
			if (!more)
				break;
			cr_assert_lt(at, n);
			cr_assert_eq(w.entry.ns, want[at]->ns);
			cr_assert_eq(w.entry.key_len, want[at]->len);
			cr_assert(memcmp(w.entry.key, want[at]->key, want[at]->len) == 0);
			cr_assert(memcmp(w.entry.value, &want[at]->value, width) == 0);
			at++;
		}
	}
	cr_assert_eq(at, n, "%u of %u", at, n);
	free(want);
}

static void
snapshots(struct weir_kstate_spec spec, struct rounds plan)
{
	plan.also = written_is;
	if (plan.key_groups == 0)
		plan.key_groups = 128;
	there_and_back(spec, &plan);
}

Test(canonical, numbers_in_one_block_and_in_pages)
{
	snapshots(NUMBERS, (struct rounds){ .key_cnt = 400, .ns_cnt = 1, .slice = 1, .rounds = 4 });
	snapshots(NUMBERS,
		  (struct rounds){ .key_cnt = 100000, .ns_cnt = 1, .slice = 1, .rounds = 3 });
	snapshots(
		NUMBERS,
		(struct rounds){
			.key_cnt = 100000, .ns_cnt = 1, .slice = 16, .rounds = 2, .still = true });
	snapshots(NUMBERS, (struct rounds){ .key_cnt = 20000,
					    .ns_cnt = 1,
					    .key_groups = 32768,
					    .slice = 4,
					    .rounds = 2 });
	/* One key group with everything in it: many runs to merge. */
	snapshots(NUMBERS, (struct rounds){ .key_cnt = 100000,
					    .ns_cnt = 1,
					    .key_groups = 1,
					    .slice = 16,
					    .rounds = 2 });
}

Test(canonical, narrow_keys)
{
	struct weir_kstate_spec spec = NUMBERS;

	spec.key_bytes = 3;
	spec.value_bytes = 4;
	snapshots(spec, (struct rounds){ .key_cnt = 20000, .ns_cnt = 2, .slice = 2, .rounds = 2 });
}

Test(canonical, namespaces_dropped_and_made_while_it_runs)
{
	snapshots(NUMBERS,
		  (struct rounds){ .key_cnt = 3000, .ns_cnt = 300, .slice = 1, .rounds = 4 });
	snapshots(NUMBERS,
		  (struct rounds){ .key_cnt = 60000, .ns_cnt = 6, .slice = 1, .rounds = 3 });
}

Test(canonical, byte_strings)
{
	struct weir_kstate_spec spec = NUMBERS;

	spec.key_kind = WEIR_KEY_BYTES;
	spec.key_bytes = 0;
	spec.value_bytes = 20;
	snapshots(spec, (struct rounds){ .key_cnt = 20000, .ns_cnt = 3, .slice = 2, .rounds = 3 });
	snapshots(spec, (struct rounds){ .key_cnt = 300, .ns_cnt = 1, .slice = 1, .rounds = 3 });
}

Test(canonical, long_fixed_keys_and_grouped_ones)
{
	struct weir_kstate_spec spec = NUMBERS;

	spec.key_bytes = 24;
	spec.value_bytes = 3;
	snapshots(spec, (struct rounds){ .key_cnt = 20000, .ns_cnt = 2, .slice = 2, .rounds = 3 });
	spec = NUMBERS;
	spec.grouped = true;
	snapshots(spec, (struct rounds){ .key_cnt = 20000, .ns_cnt = 2, .slice = 2, .rounds = 3 });
}

Test(canonical, an_empty_state_leaves_a_segment)
{
	empty_state_leaves_a_segment(128);
}

Test(canonical, parallelism_may_change)
{
	recut(NUMBERS, 2, 3, 128);
}

/* Given up at any moment: nothing is held any more, and the next one is whole. */
Test(canonical, abort_in_the_middle_then_another)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 8);
	struct world w;

	world_init(&w, &NUMBERS, 64u << 20, 2);
	w.key_cnt = 50000;
	w.ns_cnt = 20;
	world_steps(&w, 300);
	for (uint32_t round = 0; round < 12; round++) {
		struct model frozen = model_copy(&w.m);
		bool all = false;

		/* In turns with the other format: the pages know what was captured when. */
		r->key_groups = round % 3 == 2 ? 0 : 128;
		snap_freeze(r, w.st);
		for (uint32_t i = 0; !all && i < round * 12; i++) {
			world_step(&w);
			(void)snap_turn(r);
			all = weir_kstate_slice(w.st, 1);
		}
		if (round % 2 == 0) {
			snap_give_up(r, w.st);
		} else {
			snap_slices(r, w.st, 4);
			snap_seal(r);
			restored_is(r, &NUMBERS, &frozen);
		}
		world_nothing_is_frozen(&w);
		world_check(&w);
		model_fini(&frozen);
	}
	world_fini(&w);
	snap_rig_destroy(r);
}

Test(canonical, the_kth_request_fails_for_every_k)
{
	for (uint64_t k = 1; k < 40; k++)
		request_fails(k, 128);
}

/* No memory to sort: given up by name, and the state goes on as if nothing had been. */
static void
without_memory(const struct weir_kstate_spec *spec, uint64_t bytes, uint64_t key_cnt)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 5);
	uint32_t failed = 0;
	struct world w;

	r->key_groups = 1;
	world_init(&w, spec, bytes, 3);
	w.key_cnt = key_cnt;
	w.scrambled = true;
	while (weir_kstate_reserve(w.st, 257) == WEIR_STATE_ROOM && w.m.alive < key_cnt - 10)
		world_batch(&w);
	for (uint32_t round = 0; round < 2; round++) {
		bool all = false;

		snap_freeze(r, w.st);
		while (!all) {
			if (weir_kstate_reserve(w.st, 257) == WEIR_STATE_ROOM)
				world_remove(&w);
			(void)snap_turn(r);
			all = weir_kstate_slice(w.st, 1);
		}
		weir_snap_writer_seal(r->w);
		if (snap_finish(r) == WEIR_SNAP_FAILED) {
			const struct weir_error *err = weir_snap_writer_error(r->w);

			failed++;
			cr_assert_eq(err->code, WEIR_ERR_FAILED);
			cr_assert_not_null(strstr(err->text, "canonical"), "%s", err->text);
			cr_assert_not_null(strstr(err->text, "state.memory"), "%s", err->text);
		}
		world_nothing_is_frozen(&w);
		world_check(&w);
	}
	cr_assert_gt(failed, 0);
	world_fini(&w);
	snap_rig_destroy(r);
}

Test(canonical, no_memory_to_sort_is_said)
{
	struct weir_kstate_spec spec = NUMBERS;

	without_memory(&spec, 12u << 20, 2000000);
	spec.key_kind = WEIR_KEY_BYTES;
	spec.key_bytes = 0;
	without_memory(&spec, 24u << 20, 1000000);
}

Test(canonical, refuses_another_shape)
{
	struct weir_kstate_spec other = NUMBERS;

	other.key_bytes = 4;
	refused_by(&other, 128);
}

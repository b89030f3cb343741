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

struct plan {
	uint64_t key_cnt;
	int64_t ns_cnt;
	uint32_t key_groups, slice, rounds;
	bool still; /* nothing changes meanwhile */
};

static void
snapshots(struct weir_kstate_spec spec, const struct plan *plan)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 5);
	struct weir_state_usage usage;
	struct world w;

	r->key_groups = plan->key_groups;
	world_init(&w, &spec, 96u << 20, 42);
	w.key_cnt = plan->key_cnt;
	w.ns_cnt = plan->ns_cnt;
	w.scrambled = true;
	for (uint32_t i = 0; i < 150; i++)
		world_step(&w);
	for (uint32_t round = 0; round < plan->rounds; round++) {
		struct model frozen = model_copy(&w.m);
		bool all = false;

		snap_begin(r);
		weir_kstate_freeze(w.st, r->w);
		for (uint32_t i = 0; !all; i++) {
			cr_assert_lt(i, 1000000);
			if (!plan->still && i < 300)
				world_step(&w);
			(void)snap_turn(r);
			all = weir_kstate_slice(w.st, plan->slice);
		}
		weir_snap_writer_seal(r->w);
		cr_assert_eq(snap_finish(r), WEIR_SNAP_DONE);
		weir_backend_usage(w.be, &usage);
		cr_assert_eq(usage.frozen_bytes, 0);
		written_is(r, &spec, &frozen);
		restored_is(r, &spec, &frozen);
		world_check(&w);
		model_fini(&frozen);
	}
	world_fini(&w);
	snap_rig_destroy(r);
}

Test(canonical, numbers_in_one_block_and_in_pages)
{
	snapshots(NUMBERS, &(struct plan){ 400, 1, 128, 1, 4, false });
	snapshots(NUMBERS, &(struct plan){ 100000, 1, 128, 1, 3, false });
	snapshots(NUMBERS, &(struct plan){ 100000, 1, 128, 16, 2, true });
	snapshots(NUMBERS, &(struct plan){ 20000, 1, 32768, 4, 2, false });
	/* One key group with everything in it: many runs to merge. */
	snapshots(NUMBERS, &(struct plan){ 100000, 1, 1, 16, 2, false });
}

Test(canonical, narrow_keys)
{
	struct weir_kstate_spec spec = NUMBERS;

	spec.key_bytes = 3;
	spec.value_bytes = 4;
	snapshots(spec, &(struct plan){ 20000, 2, 128, 2, 2, false });
}

Test(canonical, namespaces_dropped_and_made_while_it_runs)
{
	snapshots(NUMBERS, &(struct plan){ 3000, 300, 128, 1, 4, false });
	snapshots(NUMBERS, &(struct plan){ 60000, 6, 128, 1, 3, false });
}

Test(canonical, byte_strings)
{
	struct weir_kstate_spec spec = NUMBERS;

	spec.key_kind = WEIR_KEY_BYTES;
	spec.key_bytes = 0;
	spec.value_bytes = 20;
	snapshots(spec, &(struct plan){ 20000, 3, 128, 2, 3, false });
	snapshots(spec, &(struct plan){ 300, 1, 128, 1, 3, false });
}

Test(canonical, long_fixed_keys_and_grouped_ones)
{
	struct weir_kstate_spec spec = NUMBERS;

	spec.key_bytes = 24;
	spec.value_bytes = 3;
	snapshots(spec, &(struct plan){ 20000, 2, 128, 2, 3, false });
	spec = NUMBERS;
	spec.grouped = true;
	snapshots(spec, &(struct plan){ 20000, 2, 128, 2, 3, false });
}

Test(canonical, an_empty_state_leaves_a_segment)
{
	empty_state_leaves_a_segment(128);
}

/* Of two subtasks, into three: each takes what is in its range. */
Test(canonical, parallelism_may_change)
{
	struct snap_rig *rigs[2];
	struct weir_kstate_spec spec = NUMBERS;
	struct world all[2];

	for (uint32_t i = 0; i < 2; i++) {
		spec.hash_first = (uint64_t)i << 63;
		spec.hash_last = i == 0 ? (1ull << 63) - 1 : UINT64_MAX;
		rigs[i] = snap_rig_create(65536, 3, i);
		rigs[i]->key_groups = 128;
		world_init(&all[i], &spec, 64u << 20, 7);
		all[i].key_cnt = 30000;
		for (uint32_t k = 0; k < 200; k++)
			world_step(&all[i]);
		snap_begin(rigs[i]);
		weir_kstate_freeze(all[i].st, rigs[i]->w);
		while (!weir_kstate_slice(all[i].st, 16))
			(void)snap_turn(rigs[i]);
		weir_snap_writer_seal(rigs[i]->w);
		cr_assert_eq(snap_finish(rigs[i]), WEIR_SNAP_DONE);
	}
	for (uint32_t k = 0; k < all[1].m.cnt; k++)
		if (all[1].m.e[k].alive)
			model_put(&all[0].m, all[1].m.e[k].ns, all[1].m.e[k].key, all[1].m.e[k].len,
				  all[1].m.e[k].hash)
				->value = all[1].m.e[k].value;
	for (uint32_t i = 0; i < 3; i++) {
		struct weir_error err;
		void *region;
		struct weir_backend *be = world_backend(&region, 48u << 20);
		struct weir_kstate *st;

		spec.hash_first = (128 * i / 3) * (1ull << 57);
		spec.hash_last = (128 * (i + 1) / 3) * (1ull << 57) - 1;
		st = weir_kstate_open(be, &spec, &err);
		snap_load(rigs[0], st);
		snap_load(rigs[1], st);
		cr_assert_eq(model_differs(&all[0].m, st, spec.hash_first, spec.hash_last), 0);
		free(region);
	}
	for (uint32_t i = 0; i < 2; i++) {
		world_fini(&all[i]);
		snap_rig_destroy(rigs[i]);
	}
}

/* Given up at any moment: nothing is held any more, and the next one is whole. */
Test(canonical, abort_in_the_middle_then_another)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 8);
	struct weir_state_usage usage;
	struct world w;

	world_init(&w, &NUMBERS, 64u << 20, 2);
	w.key_cnt = 50000;
	w.ns_cnt = 20;
	for (uint32_t i = 0; i < 300; i++)
		world_step(&w);
	for (uint32_t round = 0; round < 12; round++) {
		struct model frozen = model_copy(&w.m);
		bool all = false;

		/* In turns with the other format: the pages know what was captured when. */
		r->key_groups = round % 3 == 2 ? 0 : 128;
		snap_begin(r);
		weir_kstate_freeze(w.st, r->w);
		for (uint32_t i = 0; !all && i < round * 12; i++) {
			world_step(&w);
			(void)snap_turn(r);
			all = weir_kstate_slice(w.st, 1);
		}
		if (round % 2 == 0) {
			weir_kstate_thaw(w.st);
			weir_snap_writer_abort(r->w);
			cr_assert_eq(snap_finish(r), WEIR_SNAP_FAILED);
		} else {
			while (!weir_kstate_slice(w.st, 4))
				(void)snap_turn(r);
			weir_snap_writer_seal(r->w);
			cr_assert_eq(snap_finish(r), WEIR_SNAP_DONE);
			restored_is(r, &NUMBERS, &frozen);
		}
		cr_assert_eq(r->io.io.in_flight, 0);
		weir_backend_usage(w.be, &usage);
		cr_assert_eq(usage.frozen_bytes, 0);
		world_check(&w);
		model_fini(&frozen);
	}
	world_fini(&w);
	snap_rig_destroy(r);
}

Test(canonical, the_kth_request_fails_for_every_k)
{
	for (uint64_t k = 1; k < 40; k++) {
		struct snap_rig *r = snap_rig_create(65536, 3, k);
		enum weir_snap_state state;
		struct world w;

		r->key_groups = 128;
		r->io.fail_at = k;
		world_init(&w, &NUMBERS, 32u << 20, 2);
		w.key_cnt = 20000;
		for (uint32_t i = 0; i < 100; i++)
			world_step(&w);
		snap_begin(r);
		weir_kstate_freeze(w.st, r->w);
		while (!weir_kstate_slice(w.st, 4))
			(void)snap_turn(r);
		weir_snap_writer_seal(r->w);
		state = snap_finish(r);
		cr_assert_eq(r->io.io.in_flight, 0);
		cr_assert_eq(state, r->io.started < k ? WEIR_SNAP_DONE : WEIR_SNAP_FAILED);
		world_check(&w);
		world_fini(&w);
		snap_rig_destroy(r);
	}
}

/* No memory to sort: given up by name, and the state goes on as if nothing had been. */
static void
without_memory(const struct weir_kstate_spec *spec, uint64_t bytes, uint64_t key_cnt)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 5);
	struct weir_state_usage usage;
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

		snap_begin(r);
		weir_kstate_freeze(w.st, r->w);
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
		weir_backend_usage(w.be, &usage);
		cr_assert_eq(usage.frozen_bytes, 0);
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
	struct snap_rig *r = snap_rig_create(65536, 3, 5);
	struct weir_kstate_spec other = NUMBERS;
	struct weir_error err;
	struct weir_segment seg;
	struct world w, w2;
	uint32_t cnt;
	uint64_t bytes;

	r->key_groups = 128;
	world_init(&w, &NUMBERS, 8u << 20, 1);
	world_step(&w);
	snap_write(r, w.st, 100);
	other.key_bytes = 4;
	world_init(&w2, &other, 8u << 20, 1);
	seg = weir_snap_writer_segments(r->w, &cnt, &bytes)[0];
	cr_assert_eq(weir_kstate_load(w2.st, &seg, r->io.files[0].bytes + seg.offset, NULL, &err),
		     WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, "numbers"));
	world_fini(&w);
	world_fini(&w2);
	snap_rig_destroy(r);
}

/* Snapshots of the hash backend while it changes, and restore, against the slow model. */

#include "tests/unit/statebackend/there_and_back.h"

Test(snapshot, flat)
{
	there_and_back(NUMBERS,
		       &(struct rounds){ .key_cnt = 400, .ns_cnt = 1, .slice = 1, .rounds = 4 });
}

Test(snapshot, pages_in_small_slices)
{
	there_and_back(NUMBERS,
		       &(struct rounds){ .key_cnt = 100000, .ns_cnt = 1, .slice = 1, .rounds = 4 });
}

Test(snapshot, pages_in_large_chunks)
{
	there_and_back(NUMBERS, &(struct rounds){ .key_cnt = 100000,
						  .ns_cnt = 1,
						  .chunk_bytes = 1u << 20,
						  .chunk_cnt = 4,
						  .slice = 16,
						  .rounds = 4 });
}

Test(snapshot, namespaces_dropped_and_made_while_it_runs)
{
	there_and_back(NUMBERS,
		       &(struct rounds){ .key_cnt = 3000, .ns_cnt = 300, .slice = 1, .rounds = 4 });
}

Test(snapshot, byte_strings)
{
	struct weir_kstate_spec spec = NUMBERS;

	spec.key_kind = WEIR_KEY_BYTES;
	spec.value_bytes = 20;
	there_and_back(spec,
		       &(struct rounds){ .key_cnt = 20000, .ns_cnt = 3, .slice = 2, .rounds = 3 });
}

Test(snapshot, long_fixed_keys_and_grouped_ones)
{
	struct weir_kstate_spec spec = NUMBERS;

	spec.key_bytes = 24;
	spec.value_bytes = 3;
	there_and_back(spec,
		       &(struct rounds){ .key_cnt = 20000, .ns_cnt = 2, .slice = 2, .rounds = 3 });
	spec = NUMBERS;
	spec.grouped = true;
	there_and_back(spec,
		       &(struct rounds){ .key_cnt = 20000, .ns_cnt = 2, .slice = 2, .rounds = 3 });
}

Test(snapshot, an_empty_state_leaves_a_segment)
{
	empty_state_leaves_a_segment(0);
}

Test(snapshot, parallelism_may_change)
{
	struct weir_kstate_spec strings = NUMBERS;

	strings.key_kind = WEIR_KEY_BYTES;
	recut(NUMBERS, 1, 2, 0);
	recut(NUMBERS, 2, 3, 0);
	recut(NUMBERS, 3, 1, 0);
	recut(strings, 2, 3, 0);
}

Test(snapshot, abort_in_the_middle_then_another)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 8);
	struct world w;

	world_init(&w, &NUMBERS, 64u << 20, 2);
	w.key_cnt = 50000;
	w.ns_cnt = 20;
	world_steps(&w, 300);
	for (uint32_t round = 0; round < 8; round++) {
		struct model frozen = model_copy(&w.m);

		snap_freeze(r, w.st);
		for (uint32_t i = 0; i < round * 3; i++) {
			world_step(&w);
			(void)snap_turn(r);
			if (weir_kstate_slice(w.st, 1))
				break;
		}
		if (round % 2 == 0) {
			snap_give_up(r, w.st);
			world_nothing_is_frozen(&w);
			world_check(&w);
		} else {
			while (!weir_kstate_slice(w.st, 4)) {
				world_step(&w);
				(void)snap_turn(r);
			}
			snap_seal(r);
			restored_is(r, &NUMBERS, &frozen);
		}
		model_fini(&frozen);
	}
	world_fini(&w);
	snap_rig_destroy(r);
}

Test(snapshot, the_kth_request_fails_for_every_k)
{
	for (uint64_t k = 1; k < 40; k++)
		request_fails(k, 0);
}

/* Blocks written in epoch 1, and a freeze that makes epoch 1 again: they must count as old. */
static void
epochs_come_round(uint64_t key_cnt)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 8);
	struct world w;

	world_init(&w, &NUMBERS, 32u << 20, 2);
	w.key_cnt = key_cnt;
	world_steps(&w, 100);
	for (uint32_t i = 0; i < UINT16_MAX - 1; i++) {
		snap_freeze(r, w.st);
		weir_kstate_thaw(w.st);
		weir_snap_writer_abort(r->w);
		cr_assert_eq(weir_snap_writer_step(r->w), WEIR_SNAP_FAILED);
	}
	for (uint32_t round = 0; round < 3; round++) {
		struct model frozen = model_copy(&w.m);

		snap_freeze(r, w.st);
		world_steps(&w, 2);
		snap_slices(r, w.st, 4);
		snap_seal(r);
		restored_is(r, &NUMBERS, &frozen);
		model_fini(&frozen);
	}
	world_fini(&w);
	snap_rig_destroy(r);
}

Test(snapshot, epochs_come_round)
{
	epochs_come_round(800);
	epochs_come_round(8000);
}

Test(snapshot, refuses_another_shape)
{
	struct weir_kstate_spec other = NUMBERS;

	other.value_bytes = 16;
	refused_by(&other, 0);
}

/* No slices, no chunks: copies pile up in the region until reserve says WAIT; slices clear it. */
static uint32_t
waits_of_a_round(struct snap_rig *r, struct world *w)
{
	struct model frozen = model_copy(&w->m);
	uint32_t waits = 0;

	w->key_cnt = 1000;
	snap_freeze(r, w->st);
	for (uint32_t i = 0; i < 400; i++) {
		const enum weir_state_room room = weir_kstate_reserve(w->st, 257);

		cr_assert_neq(room, WEIR_STATE_FULL);
		if (room == WEIR_STATE_WAIT) {
			waits++;
			(void)snap_turn(r);
			if (weir_kstate_slice(w->st, 4))
				break;
			continue;
		}
		w->key_cnt = 300000;
		world_remove(w);
	}
	snap_slices(r, w->st, 4);
	snap_seal(r);
	world_nothing_is_frozen(w);
	restored_is(r, &NUMBERS, &frozen);
	model_fini(&frozen);
	return waits;
}

Test(snapshot, memory_held_by_a_snapshot_makes_writers_wait)
{
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct snap_rig *r = snap_rig_create(65536, 3, seed);
		uint32_t waits = 0;
		struct world w;

		world_init(&w, &NUMBERS, 12u << 20, seed);
		w.key_cnt = 300000;
		w.ns_cnt = seed % 3 == 0 ? 100 : 1;
		while (weir_kstate_reserve(w.st, 600) == WEIR_STATE_ROOM && w.m.alive < 290000)
			world_batch(&w);
		for (uint32_t round = 0; round < 3; round++)
			waits += waits_of_a_round(r, &w);
		cr_assert_gt(waits, 0);
		world_fini(&w);
		snap_rig_destroy(r);
	}
}

/* Touch key number nr, which is as long as a key may be. */
static void
touch_long(struct world *w, uint64_t nr)
{
	static uint8_t heap[WEIR_KEY_BYTES_MAX];
	const struct weir_bytes bytes = { .len = sizeof(heap) };
	const struct weir_keys keys = { .bytes = &bytes, .heap = (char *)heap };
	const uint16_t sel = 0;
	void *value;

	memset(heap, 7, sizeof(heap));
	memcpy(heap, &nr, sizeof(nr));
	weir_table_batch(weir_kstate_table(w->st, 0, true), &keys, &sel, 1, &value);
}

/* A small region, full of the longest keys, and its snapshot begun. How many keys. */
static uint64_t
freeze_long_keys(struct snap_rig *r, struct world *w)
{
	struct weir_kstate_spec spec = NUMBERS;
	uint64_t cnt = 0;

	spec.key_kind = WEIR_KEY_BYTES;
	spec.key_bytes = 0;
	world_init(w, &spec, 8u << 20, 1);
	while (cnt < 1000 && weir_kstate_reserve(w->st, 1) == WEIR_STATE_ROOM)
		touch_long(w, cnt++);
	snap_freeze(r, w->st);
	return cnt;
}

/* A copy of a block takes its long keys along, each as a shadow of its own: when there is no memory
 * for them, the snapshot is given up, and rows go on. */
Test(snapshot, no_memory_for_long_keys_fails_the_snapshot)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 1);
	struct world w;
	const uint64_t cnt = freeze_long_keys(r, &w);

	for (uint64_t nr = 0; nr < cnt; nr++) {
		while (weir_kstate_reserve(w.st, 1) == WEIR_STATE_WAIT) {
			(void)snap_turn(r);
			(void)!weir_kstate_slice(w.st, 1);
		}
		touch_long(&w, nr);
	}
	snap_slices(r, w.st, 4);
	cr_assert_eq(snap_finish(r), WEIR_SNAP_FAILED);
	cr_assert_not_null(strstr(weir_snap_writer_error(r->w)->text, "state.memory"), "%s",
			   weir_snap_writer_error(r->w)->text);
	world_nothing_is_frozen(&w);
	world_fini(&w);
	snap_rig_destroy(r);
}

/* The walk gives up in a table that goes when the snapshot does. */
Test(snapshot, no_memory_for_long_keys_of_a_dropped_table)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 1);
	struct world w;

	(void)freeze_long_keys(r, &w);
	weir_table_drop(weir_kstate_table(w.st, 0, false));
	snap_slices(r, w.st, 4);
	cr_assert_eq(snap_finish(r), WEIR_SNAP_FAILED);
	cr_assert_null(weir_kstate_table_from(w.st, INT64_MIN));
	world_nothing_is_frozen(&w);
	touch_long(&w, 0);
	cr_assert_eq(weir_table_count(weir_kstate_table(w.st, 0, false)), 1);
	world_fini(&w);
	snap_rig_destroy(r);
}

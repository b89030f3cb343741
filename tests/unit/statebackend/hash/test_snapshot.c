/* Snapshots of the hash backend while it changes, and restore, against the slow model. */

#include "tests/unit/statebackend/there_and_back.h"

struct plan {
	uint64_t key_cnt;
	int64_t ns_cnt;
	uint32_t chunk_bytes, chunk_cnt;
	uint32_t rounds;
	uint32_t slice; /* pages */
};

static void
snapshots_while_updating(struct weir_kstate_spec spec, const struct plan *plan)
{
	struct snap_rig *r = snap_rig_create(plan->chunk_bytes, plan->chunk_cnt, 5);
	struct world w;

	world_init(&w, &spec, 64u << 20, 42);
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
			cr_assert_lt(i, 100000);
			world_step(&w);
			(void)snap_turn(r);
			all = weir_kstate_slice(w.st, plan->slice);
		}
		weir_snap_writer_seal(r->w);
		cr_assert_eq(snap_finish(r), WEIR_SNAP_DONE);
		cr_assert(!r->io.sync_early);
		restored_is(r, &spec, &frozen);
		world_check(&w);
		model_fini(&frozen);
	}
	world_fini(&w);
	snap_rig_destroy(r);
}

Test(snapshot, flat)
{
	snapshots_while_updating(NUMBERS, &(struct plan){ .key_cnt = 400,
							  .ns_cnt = 1,
							  .chunk_bytes = 65536,
							  .chunk_cnt = 3,
							  .rounds = 4,
							  .slice = 1 });
}

Test(snapshot, pages_in_small_slices)
{
	snapshots_while_updating(NUMBERS, &(struct plan){ .key_cnt = 100000,
							  .ns_cnt = 1,
							  .chunk_bytes = 65536,
							  .chunk_cnt = 3,
							  .rounds = 4,
							  .slice = 1 });
}

Test(snapshot, pages_in_large_chunks)
{
	snapshots_while_updating(NUMBERS, &(struct plan){ .key_cnt = 100000,
							  .ns_cnt = 1,
							  .chunk_bytes = 1u << 20,
							  .chunk_cnt = 4,
							  .rounds = 4,
							  .slice = 16 });
}

Test(snapshot, namespaces_dropped_and_made_while_it_runs)
{
	snapshots_while_updating(NUMBERS, &(struct plan){ .key_cnt = 3000,
							  .ns_cnt = 300,
							  .chunk_bytes = 65536,
							  .chunk_cnt = 3,
							  .rounds = 4,
							  .slice = 1 });
}

Test(snapshot, byte_strings)
{
	struct weir_kstate_spec spec = NUMBERS;

	spec.key_kind = WEIR_KEY_BYTES;
	spec.value_bytes = 20;
	snapshots_while_updating(spec, &(struct plan){ .key_cnt = 20000,
						       .ns_cnt = 3,
						       .chunk_bytes = 65536,
						       .chunk_cnt = 3,
						       .rounds = 3,
						       .slice = 2 });
}

Test(snapshot, long_fixed_keys_and_grouped_ones)
{
	struct weir_kstate_spec spec = NUMBERS;

	spec.key_bytes = 24;
	spec.value_bytes = 3;
	snapshots_while_updating(spec, &(struct plan){ .key_cnt = 20000,
						       .ns_cnt = 2,
						       .chunk_bytes = 65536,
						       .chunk_cnt = 3,
						       .rounds = 3,
						       .slice = 2 });
	spec = NUMBERS;
	spec.grouped = true;
	snapshots_while_updating(spec, &(struct plan){ .key_cnt = 20000,
						       .ns_cnt = 2,
						       .chunk_bytes = 65536,
						       .chunk_cnt = 3,
						       .rounds = 3,
						       .slice = 2 });
}

Test(snapshot, an_empty_state_leaves_a_segment)
{
	empty_state_leaves_a_segment(0);
}

/* Write with old parallelism, restore with new: the parts are disjoint and together everything. */
static void
recut(uint32_t from, uint32_t to, bool bytes_keys)
{
	struct snap_rig *rigs[4];
	struct weir_kstate_spec spec = NUMBERS;
	struct world all[4];
	struct model sum;

	if (bytes_keys)
		spec.key_kind = WEIR_KEY_BYTES;
	model_init(&sum);
	for (uint32_t i = 0; i < from; i++) {
		spec.hash_first = (128 * i / from) * (1ull << 57);
		spec.hash_last = (128 * (i + 1) / from) * (1ull << 57) - 1;
		rigs[i] = snap_rig_create(65536, 3, i);
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
		for (uint32_t k = 0; k < all[i].m.cnt; k++) {
			const struct model_entry *e = &all[i].m.e[k];

			if (e->alive)
				model_put(&sum, e->ns, e->key, e->len, e->hash)->value = e->value;
		}
	}
	for (uint32_t i = 0; i < to; i++) {
		struct weir_error err;
		void *region;
		struct weir_backend *be = world_backend(&region, 48u << 20);
		struct weir_kstate *st;

		spec.hash_first = (128 * i / to) * (1ull << 57);
		spec.hash_last = (128 * (i + 1) / to) * (1ull << 57) - 1;
		st = weir_kstate_open(be, &spec, &err);
		for (uint32_t k = 0; k < from; k++)
			snap_load(rigs[k], st);
		cr_assert_eq(model_differs(&sum, st, spec.hash_first, spec.hash_last), 0);
		free(region);
	}
	for (uint32_t i = 0; i < from; i++) {
		world_fini(&all[i]);
		snap_rig_destroy(rigs[i]);
	}
	model_fini(&sum);
}

Test(snapshot, parallelism_may_change)
{
	recut(1, 2, false);
	recut(2, 3, false);
	recut(3, 1, false);
	recut(2, 3, true);
}

Test(snapshot, abort_in_the_middle_then_another)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 8);
	struct weir_state_usage usage;
	struct world w;

	world_init(&w, &NUMBERS, 64u << 20, 2);
	w.key_cnt = 50000;
	w.ns_cnt = 20;
	for (uint32_t i = 0; i < 300; i++)
		world_step(&w);
	for (uint32_t round = 0; round < 8; round++) {
		struct model frozen = model_copy(&w.m);

		snap_begin(r);
		weir_kstate_freeze(w.st, r->w);
		for (uint32_t i = 0; i < round * 3; i++) {
			world_step(&w);
			(void)snap_turn(r);
			if (weir_kstate_slice(w.st, 1))
				break;
		}
		if (round % 2 == 0) {
			weir_kstate_thaw(w.st);
			weir_snap_writer_abort(r->w);
			cr_assert_eq(snap_finish(r), WEIR_SNAP_FAILED);
			cr_assert_eq(r->io.io.in_flight, 0);
			weir_backend_usage(w.be, &usage);
			cr_assert_eq(usage.frozen_bytes, 0);
			world_check(&w);
		} else {
			while (!weir_kstate_slice(w.st, 4)) {
				world_step(&w);
				(void)snap_turn(r);
			}
			weir_snap_writer_seal(r->w);
			cr_assert_eq(snap_finish(r), WEIR_SNAP_DONE);
			restored_is(r, &NUMBERS, &frozen);
		}
		model_fini(&frozen);
	}
	world_fini(&w);
	snap_rig_destroy(r);
}

Test(snapshot, the_kth_request_fails_for_every_k)
{
	for (uint64_t k = 1; k < 40; k++) {
		struct snap_rig *r = snap_rig_create(65536, 3, k);
		enum weir_snap_state state;
		struct world w;

		r->io.fail_at = k;
		r->io.fail_errno = k % 2 ? ENOSPC : EIO;
		world_init(&w, &NUMBERS, 32u << 20, 2);
		w.key_cnt = 20000;
		for (uint32_t i = 0; i < 100; i++)
			world_step(&w);
		snap_begin(r);
		weir_kstate_freeze(w.st, r->w);
		while (!weir_kstate_slice(w.st, 4)) {
			world_step(&w);
			(void)snap_turn(r);
		}
		weir_snap_writer_seal(r->w);
		state = snap_finish(r);
		cr_assert_eq(r->io.io.in_flight, 0);
		if (r->io.started < k) {
			cr_assert_eq(state, WEIR_SNAP_DONE);
		} else {
			cr_assert_eq(state, WEIR_SNAP_FAILED, "request %u", (unsigned)k);
			cr_assert_eq(weir_snap_writer_error(r->w)->code, WEIR_ERR_IO);
			cr_assert_not_null(strstr(weir_snap_writer_error(r->w)->text, r->path));
		}
		for (uint32_t i = 0; i < r->io.file_cnt; i++)
			cr_assert(!r->io.files[i].open);
		/* The state lives on; a later snapshot is whole. */
		r->io.fail_at = 0;
		snap_write(r, w.st, 4);
		restored_is(r, &NUMBERS, &w.m);
		world_fini(&w);
		snap_rig_destroy(r);
	}
}

/* Blocks written in epoch 1, and a freeze that makes epoch 1 again: they must count as old. */
static void
epochs_come_round(uint64_t key_cnt)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 8);
	struct world w;

	world_init(&w, &NUMBERS, 32u << 20, 2);
	w.key_cnt = key_cnt;
	for (uint32_t i = 0; i < 100; i++)
		world_step(&w);
	for (uint32_t i = 0; i < UINT16_MAX - 1; i++) {
		snap_begin(r);
		weir_kstate_freeze(w.st, r->w);
		weir_kstate_thaw(w.st);
		weir_snap_writer_abort(r->w);
		cr_assert_eq(weir_snap_writer_step(r->w), WEIR_SNAP_FAILED);
	}
	for (uint32_t round = 0; round < 3; round++) {
		struct model frozen = model_copy(&w.m);

		snap_begin(r);
		weir_kstate_freeze(w.st, r->w);
		world_step(&w);
		world_step(&w);
		while (!weir_kstate_slice(w.st, 4))
			(void)snap_turn(r);
		weir_snap_writer_seal(r->w);
		cr_assert_eq(snap_finish(r), WEIR_SNAP_DONE);
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
	struct snap_rig *r = snap_rig_create(65536, 3, 5);
	struct weir_kstate_spec other = NUMBERS;
	struct weir_error err;
	struct weir_segment seg;
	struct world w, w2;
	uint32_t cnt;
	uint64_t bytes;

	world_init(&w, &NUMBERS, 8u << 20, 1);
	world_step(&w);
	snap_begin(r);
	weir_kstate_freeze(w.st, r->w);
	cr_assert(weir_kstate_slice(w.st, 10));
	weir_snap_writer_seal(r->w);
	cr_assert_eq(snap_finish(r), WEIR_SNAP_DONE);
	other.value_bytes = 16;
	world_init(&w2, &other, 8u << 20, 1);
	seg = weir_snap_writer_segments(r->w, &cnt, &bytes)[0];
	cr_assert_eq(weir_kstate_load(w2.st, &seg, r->io.files[0].bytes + seg.offset, NULL, &err),
		     WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, "numbers"));
	world_fini(&w);
	world_fini(&w2);
	snap_rig_destroy(r);
}

/* No slices, no chunks: copies pile up in the region until reserve says WAIT; slices clear it. */
Test(snapshot, memory_held_by_a_snapshot_makes_writers_wait)
{
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct snap_rig *r = snap_rig_create(65536, 3, seed);
		struct weir_state_usage usage;
		uint32_t waits = 0;
		struct world w;

		world_init(&w, &NUMBERS, 12u << 20, seed);
		w.key_cnt = 300000;
		w.ns_cnt = seed % 3 == 0 ? 100 : 1;
		while (weir_kstate_reserve(w.st, 600) == WEIR_STATE_ROOM && w.m.alive < 290000)
			world_batch(&w);
		for (uint32_t round = 0; round < 3; round++) {
			struct model frozen = model_copy(&w.m);
			bool all = false;

			w.key_cnt = 1000;
			snap_begin(r);
			weir_kstate_freeze(w.st, r->w);
			for (uint32_t i = 0; i < 400; i++) {
				const enum weir_state_room room = weir_kstate_reserve(w.st, 257);

				cr_assert_neq(room, WEIR_STATE_FULL);
				if (room == WEIR_STATE_WAIT) {
					waits++;
					(void)snap_turn(r);
					if (weir_kstate_slice(w.st, 4))
						break;
					continue;
				}
				w.key_cnt = 300000;
				world_remove(&w);
			}
			while (!all) {
				(void)snap_turn(r);
				all = weir_kstate_slice(w.st, 4);
			}
			weir_snap_writer_seal(r->w);
			cr_assert_eq(snap_finish(r), WEIR_SNAP_DONE);
			weir_backend_usage(w.be, &usage);
			cr_assert_eq(usage.frozen_bytes, 0);
			restored_is(r, &NUMBERS, &frozen);
			model_fini(&frozen);
		}
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

/* A copy of a block takes its long keys along, each as a shadow of its own: when there is no memory
 * for them, the snapshot is given up, and rows go on. */
Test(snapshot, no_memory_for_long_keys_fails_the_snapshot)
{
	struct weir_kstate_spec spec = NUMBERS;
	struct snap_rig *r = snap_rig_create(65536, 3, 1);
	struct weir_state_usage usage;
	uint64_t cnt = 0;
	struct world w;

	spec.key_kind = WEIR_KEY_BYTES;
	spec.key_bytes = 0;
	world_init(&w, &spec, 8u << 20, 1);
	while (cnt < 1000 && weir_kstate_reserve(w.st, 1) == WEIR_STATE_ROOM)
		touch_long(&w, cnt++);
	snap_begin(r);
	weir_kstate_freeze(w.st, r->w);
	for (uint64_t nr = 0; nr < cnt; nr++) {
		while (weir_kstate_reserve(w.st, 1) == WEIR_STATE_WAIT) {
			(void)snap_turn(r);
			(void)!weir_kstate_slice(w.st, 1);
		}
		touch_long(&w, nr);
	}
	while (!weir_kstate_slice(w.st, 4))
		(void)snap_turn(r);
	cr_assert_eq(snap_finish(r), WEIR_SNAP_FAILED);
	cr_assert_not_null(strstr(weir_snap_writer_error(r->w)->text, "state.memory"), "%s",
			   weir_snap_writer_error(r->w)->text);
	weir_backend_usage(w.be, &usage);
	cr_assert_eq(usage.frozen_bytes, 0);
	world_fini(&w);
	snap_rig_destroy(r);
}

/* The walk gives up in a table that goes when the snapshot does. */
Test(snapshot, no_memory_for_long_keys_of_a_dropped_table)
{
	struct weir_kstate_spec spec = NUMBERS;
	struct snap_rig *r = snap_rig_create(65536, 3, 1);
	struct weir_state_usage usage;
	uint64_t cnt = 0;
	struct world w;

	spec.key_kind = WEIR_KEY_BYTES;
	spec.key_bytes = 0;
	world_init(&w, &spec, 8u << 20, 1);
	while (cnt < 1000 && weir_kstate_reserve(w.st, 1) == WEIR_STATE_ROOM)
		touch_long(&w, cnt++);
	snap_begin(r);
	weir_kstate_freeze(w.st, r->w);
	weir_table_drop(weir_kstate_table(w.st, 0, false));
	while (!weir_kstate_slice(w.st, 4))
		(void)snap_turn(r);
	cr_assert_eq(snap_finish(r), WEIR_SNAP_FAILED);
	cr_assert_null(weir_kstate_table_from(w.st, INT64_MIN));
	weir_backend_usage(w.be, &usage);
	cr_assert_eq(usage.frozen_bytes, 0);
	touch_long(&w, 0);
	cr_assert_eq(weir_table_count(weir_kstate_table(w.st, 0, false)), 1);
	world_fini(&w);
	snap_rig_destroy(r);
}

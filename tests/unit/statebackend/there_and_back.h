#ifndef TESTS_UNIT_STATEBACKEND_THERE_AND_BACK_H
#define TESTS_UNIT_STATEBACKEND_THERE_AND_BACK_H

/* A state into a snapshot and back, in whichever format the rig writes, against the slow model. */

#include "tests/unit/statebackend/snap.h"
#include "tests/unit/statebackend/world.h"

/* Load the rig's file into a fresh kstate of this range; is it the model? */
static inline void
restored_is(struct snap_rig *r, const struct weir_kstate_spec *spec, struct model *m)
{
	struct weir_error err;
	void *region;
	struct weir_backend *be = world_backend(&region, 48u << 20);
	struct weir_kstate *st = weir_kstate_open(be, spec, &err);
	int differs;

	cr_assert_not_null(st);
	snap_load(r, st);
	differs = model_differs(m, st, spec->hash_first, spec->hash_last);
	cr_assert_eq(differs, 0, "after restore: check %d failed", differs);
	free(region);
}

/* Snapshots, one after the other, of a state that changes meanwhile. */
struct rounds {
	uint64_t key_cnt;
	int64_t ns_cnt;
	uint32_t key_groups;		 /* of the canonical format; 0: native */
	uint32_t chunk_bytes, chunk_cnt; /* 0: three of 64 KiB */
	uint32_t slice;			 /* pages */
	uint32_t rounds;
	bool still; /* nothing changes meanwhile */
	/* What else must be true of the file; NULL: nothing. */
	void (*also)(struct snap_rig *r, const struct weir_kstate_spec *spec,
		     const struct model *frozen);
};

static inline void
there_and_back(struct weir_kstate_spec spec, const struct rounds *plan)
{
	struct snap_rig *r = plan->chunk_cnt == 0
				     ? snap_rig_create(65536, 3, 5)
				     : snap_rig_create(plan->chunk_bytes, plan->chunk_cnt, 5);
	/* To sort takes many turns: it would never end if each made more to sort. */
	const uint32_t steps = plan->still ? 0 : plan->key_groups > 0 ? 300 : UINT32_MAX;
	struct world w;

	r->key_groups = plan->key_groups;
	world_init(&w, &spec, 96u << 20, 42);
	w.key_cnt = plan->key_cnt;
	w.ns_cnt = plan->ns_cnt;
	w.scrambled = true;
	world_steps(&w, 150);
	for (uint32_t round = 0; round < plan->rounds; round++) {
		struct model frozen = model_copy(&w.m);
		bool all = false;

		snap_freeze(r, w.st);
		for (uint32_t i = 0; !all; i++) {
			cr_assert_lt(i, 1000000);
			if (i < steps)
				world_step(&w);
			(void)snap_turn(r);
			all = weir_kstate_slice(w.st, plan->slice);
		}
		snap_seal(r);
		cr_assert(!r->io.sync_early);
		world_nothing_is_frozen(&w);
		if (plan->also != NULL)
			plan->also(r, &spec, &frozen);
		restored_is(r, &spec, &frozen);
		world_check(&w);
		model_fini(&frozen);
	}
	world_fini(&w);
	snap_rig_destroy(r);
}

/* key_groups: of the canonical format; 0: native. */
static inline void
empty_state_leaves_a_segment(uint32_t key_groups)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 5);
	struct world w;
	uint32_t cnt;
	uint64_t bytes;

	r->key_groups = key_groups;
	world_init(&w, &NUMBERS, 4u << 20, 1);
	snap_freeze(r, w.st);
	cr_assert(weir_kstate_slice(w.st, key_groups > 0 ? 1000 : 1));
	snap_seal(r);
	cr_assert_eq(weir_snap_writer_segments(r->w, &cnt, &bytes)[0].entry_cnt, 0);
	cr_assert_eq(cnt, 1);
	restored_is(r, &NUMBERS, &w.m);
	world_fini(&w);
	snap_rig_destroy(r);
}

/* The range of subtask i of cnt, in 128 key groups. */
static inline void
range_of(struct weir_kstate_spec *spec, uint32_t i, uint32_t cnt)
{
	spec->hash_first = (128 * i / cnt) * (1ull << 57);
	spec->hash_last = (128 * (i + 1) / cnt) * (1ull << 57) - 1;
}

/* Write with old parallelism, restore with new: the parts are disjoint and together everything. */
static inline void
recut(struct weir_kstate_spec spec, uint32_t from, uint32_t to, uint32_t key_groups)
{
	struct snap_rig *rigs[4];
	struct world all[4];
	struct model sum;

	model_init(&sum);
	for (uint32_t i = 0; i < from; i++) {
		range_of(&spec, i, from);
		rigs[i] = snap_rig_create(65536, 3, i);
		rigs[i]->key_groups = key_groups;
		world_init(&all[i], &spec, 64u << 20, 7);
		all[i].key_cnt = 30000;
		world_steps(&all[i], 200);
		snap_write(rigs[i], all[i].st, 16);
		model_add(&sum, &all[i].m);
	}
	for (uint32_t i = 0; i < to; i++) {
		struct weir_error err;
		void *region;
		struct weir_backend *be = world_backend(&region, 48u << 20);
		struct weir_kstate *st;

		range_of(&spec, i, to);
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

/* The k-th request fails: said by name, and the state goes on as if nothing had been. */
static inline void
request_fails(uint64_t k, uint32_t key_groups)
{
	struct snap_rig *r = snap_rig_create(65536, 3, k);
	enum weir_snap_state state;
	struct world w;

	r->key_groups = key_groups;
	r->io.fail_at = k;
	r->io.fail_errno = k % 2 ? ENOSPC : EIO;
	world_init(&w, &NUMBERS, 32u << 20, 2);
	w.key_cnt = 20000;
	world_steps(&w, 100);
	snap_freeze(r, w.st);
	for (uint32_t i = 0; !weir_kstate_slice(w.st, 4); i++) {
		if (i < 300)
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
	world_nothing_is_frozen(&w);
	world_check(&w);
	r->io.fail_at = 0;
	snap_write(r, w.st, 4);
	restored_is(r, &NUMBERS, &w.m);
	world_fini(&w);
	snap_rig_destroy(r);
}

/* A segment of NUMBERS is refused by a state of another shape, by name. */
static inline void
refused_by(const struct weir_kstate_spec *other, uint32_t key_groups)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 5);
	struct weir_error err;
	struct weir_segment seg;
	struct world w, w2;
	uint32_t cnt;
	uint64_t bytes;

	r->key_groups = key_groups;
	world_init(&w, &NUMBERS, 8u << 20, 1);
	world_step(&w);
	snap_write(r, w.st, 100);
	world_init(&w2, other, 8u << 20, 1);
	seg = weir_snap_writer_segments(r->w, &cnt, &bytes)[0];
	cr_assert_eq(weir_kstate_load(w2.st, &seg, r->io.files[0].bytes + seg.offset, NULL, &err),
		     WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, "numbers"));
	world_fini(&w);
	world_fini(&w2);
	snap_rig_destroy(r);
}

#endif /* TESTS_UNIT_STATEBACKEND_THERE_AND_BACK_H */

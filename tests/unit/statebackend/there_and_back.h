#ifndef TESTS_UNIT_STATEBACKEND_THERE_AND_BACK_H
#define TESTS_UNIT_STATEBACKEND_THERE_AND_BACK_H

/* A state into a snapshot and back, in whichever format the rig writes, against the slow model. */

#include "tests/unit/statebackend/snap.h"
#include "tests/unit/statebackend/world.h"

static const struct weir_kstate_spec NUMBERS = {
	.name = "numbers",
	.operator_idx = 3,
	.subtask = 1,
	.key_kind = WEIR_KEY_FIXED,
	.key_bytes = 8,
	.value_bytes = 8,
	.hash_last = UINT64_MAX,
};

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
	snap_begin(r);
	weir_kstate_freeze(w.st, r->w);
	cr_assert(weir_kstate_slice(w.st, key_groups > 0 ? 1000 : 1));
	weir_snap_writer_seal(r->w);
	cr_assert_eq(snap_finish(r), WEIR_SNAP_DONE);
	cr_assert_eq(weir_snap_writer_segments(r->w, &cnt, &bytes)[0].entry_cnt, 0);
	cr_assert_eq(cnt, 1);
	restored_is(r, &NUMBERS, &w.m);
	world_fini(&w);
	snap_rig_destroy(r);
}

#endif /* TESTS_UNIT_STATEBACKEND_THERE_AND_BACK_H */

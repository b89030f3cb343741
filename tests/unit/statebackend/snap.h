#ifndef TESTS_UNIT_STATEBACKEND_SNAP_H
#define TESTS_UNIT_STATEBACKEND_SNAP_H

/* A snapshot writer over the fake files, and loading what it wrote. */

#include <criterion/criterion.h>
#include <stdio.h>

#include "statebackend/backend.h"
#include "statebackend/snapshot/records.h"
#include "statebackend/snapshot/writer.h"
#include "tests/unit/statebackend/fake_io.h"

#define SNAP_SEGS 4096

struct snap_rig {
	struct fake_io io;
	struct weir_snap_writer *w;
	struct weir_segment segs[SNAP_SEGS];
	void *staging;
	uint64_t checkpoint;
	uint32_t key_groups; /* canonical; 0: native */
	char path[64];
};

static inline struct snap_rig *
snap_rig_create(uint32_t chunk_bytes, uint32_t chunk_cnt, uint64_t seed)
{
	struct snap_rig *r = calloc(1, sizeof(*r));
	const uint64_t bytes = 4096 + (uint64_t)chunk_bytes * chunk_cnt;
	struct weir_error err;

	fake_init(&r->io, seed);
	r->staging = aligned_alloc(4096, bytes);
	memset(r->staging, 0xd7, bytes);
	r->w = weir_snap_writer_create(&(struct weir_snap_config){ .io = &r->io.io,
								   .staging = r->staging,
								   .staging_bytes = bytes,
								   .chunk_bytes = chunk_bytes,
								   .segs = r->segs,
								   .seg_max = SNAP_SEGS },
				       &err);
	cr_assert(r->w != NULL, "%s", err.text);
	return r;
}

static inline void
snap_rig_destroy(struct snap_rig *r)
{
	weir_snap_writer_destroy(r->w);
	fake_fini(&r->io);
	free(r->staging);
	free(r);
}

static inline void
snap_begin(struct snap_rig *r)
{
	r->checkpoint++;
	(void)snprintf(r->path, sizeof(r->path), "data/1-%llu-0",
		       (unsigned long long)r->checkpoint);
	weir_snap_writer_begin(r->w, r->path,
			       &(struct weir_snap_id){
				       .job_hash = 77, .attempt = 1, .checkpoint = r->checkpoint });
	if (r->key_groups > 0)
		weir_snap_writer_canonical(r->w, r->key_groups);
}

/* One turn of the owner: harvest, hand on, step. */
static inline enum weir_snap_state
snap_turn(struct snap_rig *r)
{
	struct weir_io_req *done[8];
	const uint32_t cnt = weir_io_harvest(&r->io.io, done, 8);

	for (uint32_t i = 0; i < cnt; i++)
		weir_snap_writer_done(r->w, done[i]);
	return weir_snap_writer_step(r->w);
}

/* Turns until the file is durable or given up. */
static inline enum weir_snap_state
snap_finish(struct snap_rig *r)
{
	enum weir_snap_state state = snap_turn(r);

	for (uint32_t i = 0; state != WEIR_SNAP_DONE && state != WEIR_SNAP_FAILED; i++) {
		cr_assert_lt(i, 100000, "the writer does not come to an end");
		state = snap_turn(r);
	}
	return state;
}

/* Nothing more comes: turns until the file is durable. */
static inline void
snap_seal(struct snap_rig *r)
{
	weir_snap_writer_seal(r->w);
	cr_assert_eq(snap_finish(r), WEIR_SNAP_DONE);
}

static inline void
snap_freeze(struct snap_rig *r, struct weir_kstate *st)
{
	snap_begin(r);
	weir_kstate_freeze(st, r->w);
}

/* Slices of so many pages until all is handed over; nothing changes the state meanwhile. */
static inline void
snap_slices(struct snap_rig *r, struct weir_kstate *st, uint32_t slice)
{
	while (!weir_kstate_slice(st, slice))
		(void)snap_turn(r);
}

/* A whole snapshot of a state that nothing changes meanwhile, slice pages at a time. */
static inline void
snap_write(struct snap_rig *r, struct weir_kstate *st, uint32_t slice)
{
	snap_freeze(r, st);
	snap_slices(r, st, slice);
	snap_seal(r);
}

/* Given up: no request is out any more. */
static inline void
snap_give_up(struct snap_rig *r, struct weir_kstate *st)
{
	weir_kstate_thaw(st);
	weir_snap_writer_abort(r->w);
	cr_assert_eq(snap_finish(r), WEIR_SNAP_FAILED);
	cr_assert_eq(r->io.io.in_flight, 0);
}

/* Load all state segments that the writer names into st. */
static inline void
snap_load(struct snap_rig *r, struct weir_kstate *st)
{
	const struct fake_file *file = fake_find(&r->io, r->path);
	struct weir_error err;
	uint32_t cnt;
	uint64_t bytes;
	const struct weir_segment *segs = weir_snap_writer_segments(r->w, &cnt, &bytes);

	cr_assert_eq(bytes, file->len);
	cr_assert(file->synced);
	for (uint32_t i = 0; i < cnt; i++) {
		const void *at = file->bytes + segs[i].offset;

		cr_assert_eq(weir_segment_check(&segs[i], at, &err), 0, "%s", err.text);
		if (!weir_segment_is_state(&segs[i]) || segs[i].state_idx != st->spec.state_idx)
			continue;
		cr_assert_eq(weir_kstate_load(st, &segs[i], at, NULL, &err), 0, "%s", err.text);
	}
}

#endif /* TESTS_UNIT_STATEBACKEND_SNAP_H */

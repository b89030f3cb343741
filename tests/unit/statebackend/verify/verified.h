#ifndef TESTS_UNIT_STATEBACKEND_VERIFY_VERIFIED_H
#define TESTS_UNIT_STATEBACKEND_VERIFY_VERIFIED_H

/* Data files of both formats, as the writer makes them, and the verifier's word on them. */

#include "statebackend/verify/verify.h"
#include "tests/unit/statebackend/there_and_back.h"

static const struct weir_verify_id ID = { .job_hash = 77, .attempt = 1, .checkpoint = 1 };

/* A file with the state after some random steps. key_groups: of the canonical format; 0: native,
 * and a blob in front. */
static inline struct snap_rig *
written(const struct weir_kstate_spec *spec, uint32_t key_groups, uint64_t key_cnt, int64_t ns_cnt,
	uint32_t steps, uint64_t *entries)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 4);
	const struct weir_snap_blob blob = { .kind = WEIR_SEGMENT_BLOB, .bytes = "x", .len = 1 };
	uint64_t taken = 0;
	struct world w;

	r->key_groups = key_groups;
	world_init(&w, spec, 64u << 20, 5);
	w.key_cnt = key_cnt;
	w.ns_cnt = ns_cnt;
	world_steps(&w, steps);
	snap_begin(r);
	if (key_groups == 0)
		cr_assert(weir_snap_writer_append(r->w, &blob, &taken));
	weir_kstate_freeze(w.st, r->w);
	snap_slices(r, w.st, 4);
	snap_seal(r);
	*entries = w.m.alive;
	world_fini(&w);
	return r;
}

/* The file and, of the canonical format, the order from segment to segment. */
static inline int
verify(struct snap_rig *r, uint64_t len, struct weir_verify_sum *sum, struct weir_error *err)
{
	struct weir_verify_last *last = calloc(1, sizeof(*last));
	struct weir_verify_sum again = { 0 };
	const uint8_t *file = fake_find(&r->io, r->path)->bytes;
	uint32_t cnt;
	uint64_t bytes;
	const struct weir_segment *segs = weir_snap_writer_segments(r->w, &cnt, &bytes);
	int rc;

	memset(sum, 0, sizeof(*sum));
	rc = weir_verify_file(file, len, &ID, segs, cnt, sum, err);
	for (uint32_t i = 0; r->key_groups > 0 && rc == 0 && i < cnt; i++)
		rc = weir_verify_segment(&segs[i], file + segs[i].offset, last, &again, err);
	free(last);
	return rc;
}

static inline void
accepts(struct weir_kstate_spec spec, uint32_t key_groups, uint64_t key_cnt, int64_t ns_cnt,
	uint32_t steps)
{
	struct weir_verify_sum sum;
	struct weir_error err;
	uint64_t entries;
	struct snap_rig *r = written(&spec, key_groups, key_cnt, ns_cnt, steps, &entries);

	cr_assert_eq(verify(r, fake_find(&r->io, r->path)->len, &sum, &err), 0, "%s", err.text);
	cr_assert_eq(sum.entries, entries);
	snap_rig_destroy(r);
}

static inline void
accepts_every_kind_of_state(uint32_t key_groups)
{
	struct weir_kstate_spec spec = NUMBERS;

	accepts(spec, key_groups, 100, 1, 20);
	accepts(spec, key_groups, 60000, 1, 300);
	accepts(spec, key_groups, 3000, 50, 200);
	spec.hash_first = 3 * (1ull << 61);
	spec.hash_last = 5 * (1ull << 61) - 1;
	accepts(spec, key_groups, 60000, 1, 300);
	spec.hash_first = 0x5555555555555555u;
	spec.hash_last = 0xaaaaaaaaaaaaaaaau;
	accepts(spec, key_groups, 60000, 1, 300);
	spec = NUMBERS;
	spec.key_bytes = 3;
	accepts(spec, key_groups, 30000, 1, 100);
	spec.value_bytes = 5;
	accepts(spec, key_groups, 30000, 1, 100);
	spec.key_bytes = 30;
	accepts(spec, key_groups, 30000, 1, 100);
	spec.key_bytes = 8;
	spec.grouped = true;
	accepts(spec, key_groups, 30000, 1, 100);
	spec = NUMBERS;
	spec.key_kind = WEIR_KEY_BYTES;
	spec.key_bytes = 0;
	accepts(spec, key_groups, 30000, 2, 200);
}

static inline void
refuses_flipped_bytes_and_short_files(uint32_t key_groups)
{
	struct weir_verify_sum sum;
	struct weir_error err;
	uint64_t entries;
	struct snap_rig *r = written(&NUMBERS, key_groups, 30, 3, 10, &entries);
	struct fake_file *f = fake_find(&r->io, r->path);

	cr_assert_eq(verify(r, f->len, &sum, &err), 0, "%s", err.text);
	for (uint64_t i = 0; i < f->len; i++) {
		f->bytes[i] ^= (uint8_t)(1u << i % 8);
		cr_assert_eq(verify(r, f->len, &sum, &err), WEIR_ERR_DATA, "byte %u", (unsigned)i);
		f->bytes[i] ^= (uint8_t)(1u << i % 8);
	}
	for (uint64_t len = 0; len < f->len; len++)
		cr_assert_eq(verify(r, len, &sum, &err), WEIR_ERR_DATA);
	snap_rig_destroy(r);
}

#endif /* TESTS_UNIT_STATEBACKEND_VERIFY_VERIFIED_H */

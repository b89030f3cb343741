/* The verifier accepts what the writer wrote and refuses every change of it. */

#include "statebackend/verify/verify.h"

#include "engine/base/crc32c.h"
#include "tests/unit/statebackend/snap.h"
#include "tests/unit/statebackend/world.h"

static const struct weir_verify_id ID = { .job_hash = 77, .attempt = 1, .checkpoint = 1 };

static const struct weir_kstate_spec NUMBERS = {
	.name = "numbers",
	.operator_idx = 3,
	.subtask = 1,
	.key_kind = WEIR_KEY_FIXED,
	.key_bytes = 8,
	.value_bytes = 8,
	.hash_last = UINT64_MAX,
};

/* A file with one blob and the state after some random steps. */
static struct snap_rig *
written(const struct weir_kstate_spec *spec, uint64_t key_cnt, int64_t ns_cnt, uint32_t steps,
	uint64_t *entries)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 4);
	const struct weir_snap_blob blob = { .kind = WEIR_SEGMENT_BLOB, .bytes = "x", .len = 1 };
	uint64_t taken = 0;
	struct world w;

	world_init(&w, spec, 64u << 20, 5);
	w.key_cnt = key_cnt;
	w.ns_cnt = ns_cnt;
	for (uint32_t i = 0; i < steps; i++)
		world_step(&w);
	snap_begin(r);
	cr_assert(weir_snap_writer_append(r->w, &blob, &taken));
	weir_kstate_freeze(w.st, r->w);
	while (!weir_kstate_slice(w.st, 4))
		(void)snap_turn(r);
	weir_snap_writer_seal(r->w);
	cr_assert_eq(snap_finish(r), WEIR_SNAP_DONE);
	*entries = w.m.alive;
	world_fini(&w);
	return r;
}

static int
verify(struct snap_rig *r, uint64_t len, struct weir_verify_sum *sum, struct weir_error *err)
{
	uint32_t cnt;
	uint64_t bytes;
	const struct weir_segment *segs = weir_snap_writer_segments(r->w, &cnt, &bytes);

	memset(sum, 0, sizeof(*sum));
	return weir_verify_file(fake_find(&r->io, r->path)->bytes, len, &ID, segs, cnt, sum, err);
}

static void
accepts(struct weir_kstate_spec spec, uint64_t key_cnt, int64_t ns_cnt, uint32_t steps)
{
	struct weir_verify_sum sum;
	struct weir_error err;
	uint64_t entries;
	struct snap_rig *r = written(&spec, key_cnt, ns_cnt, steps, &entries);

	cr_assert_eq(verify(r, fake_find(&r->io, r->path)->len, &sum, &err), 0, "%s", err.text);
	cr_assert_eq(sum.entries, entries);
	snap_rig_destroy(r);
}

Test(verify, accepts_every_kind_of_state)
{
	struct weir_kstate_spec spec = NUMBERS;

	accepts(spec, 100, 1, 20);
	accepts(spec, 60000, 1, 400);
	accepts(spec, 3000, 50, 200);
	spec.hash_first = 3 * (1ull << 61);
	spec.hash_last = 5 * (1ull << 61) - 1;
	accepts(spec, 60000, 1, 400);
	spec.hash_first = 0x5555555555555555u;
	spec.hash_last = 0xaaaaaaaaaaaaaaaau;
	accepts(spec, 60000, 1, 400);
	spec = NUMBERS;
	spec.key_bytes = 3;
	accepts(spec, 30000, 1, 100);
	spec.key_bytes = 30;
	spec.value_bytes = 5;
	accepts(spec, 30000, 1, 100);
	spec.key_bytes = 8;
	spec.grouped = true;
	accepts(spec, 30000, 1, 100);
	spec = NUMBERS;
	spec.key_kind = WEIR_KEY_BYTES;
	accepts(spec, 30000, 2, 200);
}

Test(verify, refuses_every_flipped_byte)
{
	struct weir_verify_sum sum;
	struct weir_error err;
	uint64_t entries;
	struct snap_rig *r = written(&NUMBERS, 30, 3, 10, &entries);
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

/*
 * Behind a checksum that fits: flip bytes of a state segment's content, mend checksum and manifest,
 * and see that structure alone finds it, or that nothing but a value changed.
 */
Test(verify, finds_broken_structure_behind_a_good_checksum)
{
	struct weir_kstate_spec spec = NUMBERS;
	struct weir_verify_sum sum;
	struct weir_error err;
	uint64_t entries, refused = 0, tried = 0, bytes;
	struct snap_rig *r;
	struct fake_file *f;
	uint32_t cnt;

	spec.key_bytes = 12;
	r = written(&spec, 3000, 1, 40, &entries);
	f = fake_find(&r->io, r->path);
	cr_assert_eq(verify(r, f->len, &sum, &err), 0, "%s", err.text);
	(void)weir_snap_writer_segments(r->w, &cnt, &bytes);
	for (uint32_t i = 1; i < cnt; i++) {
		struct weir_segment *seg = &r->segs[i];
		const uint32_t crc = seg->crc;

		for (uint64_t at = 192; at < seg->used; at += 37) {
			uint8_t *byte = &f->bytes[seg->offset + at];

			*byte ^= 0x10;
			seg->crc = weir_crc32c(0, f->bytes + seg->offset, seg->length);
			tried++;
			refused += verify(r, f->len, &sum, &err) == WEIR_ERR_DATA;
			*byte ^= 0x10;
			seg->crc = crc;
		}
	}
	/* tags and keys are 20 of 32 bytes of a slot; slots are half empty */
	cr_assert_gt(refused * 4, tried, "%u of %u", (unsigned)refused, (unsigned)tried);
	snap_rig_destroy(r);
}

Test(verify, refuses_lists_with_gaps)
{
	struct weir_verify_sum sum;
	struct weir_error err;
	uint64_t entries, len;
	struct snap_rig *r = written(&NUMBERS, 30000, 1, 100, &entries);

	len = fake_find(&r->io, r->path)->len;
	r->segs[1].offset += 4096;
	cr_assert_eq(verify(r, len, &sum, &err), WEIR_ERR_DATA);
	r->segs[1].offset -= 4096;
	r->segs[1].length -= 4096;
	cr_assert_eq(verify(r, len, &sum, &err), WEIR_ERR_DATA);
	r->segs[1].length += 4096;
	r->segs[1].operator_idx++;
	cr_assert_eq(verify(r, len, &sum, &err), WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, "segment at"));
	snap_rig_destroy(r);
}

/* Canonical segments: the verifier accepts what the writer wrote, and refuses every change of it.
 */

#include "engine/base/crc32c.h"
#include "tests/unit/statebackend/verify/verified.h"

Test(verify_canonical, accepts_every_kind_of_state)
{
	accepts_every_kind_of_state(128);
}

Test(verify_canonical, refuses_every_flipped_byte)
{
	refuses_flipped_bytes_and_short_files(128);
}

/* Behind a checksum that fits: everything but the value of an entry, and the namespace of a run, is
 * found by structure alone. */
static void
finds_all_but_values(struct weir_kstate_spec spec)
{
	struct weir_verify_sum sum;
	struct weir_error err;
	uint64_t entries, passed = 0, loaded = 0, tried = 0;
	struct snap_rig *r = written(&spec, 128, 300, 2, 10, &entries);
	struct fake_file *f = fake_find(&r->io, r->path);
	struct weir_segment *seg = &r->segs[0];
	void *region;
	struct weir_backend *be = world_backend(&region, 4u << 20);
	struct weir_kstate *st = weir_kstate_open(be, &spec, &err);

	cr_assert_eq(verify(r, f->len, &sum, &err), 0, "%s", err.text);
	for (uint64_t at = 104; at < seg->used; at++) {
		uint8_t *byte = &f->bytes[seg->offset + at];

		*byte ^= 0x10;
		seg->crc = weir_crc32c(0, f->bytes + seg->offset, seg->length);
		tried++;
		if (verify(r, f->len, &sum, &err) == 0) {
			passed++;
			cr_assert_eq(weir_kstate_load(st, seg, f->bytes + seg->offset, NULL, &err),
				     0);
		} else {
			/* The reader need not look at padding. */
			loaded +=
				weir_kstate_load(st, seg, f->bytes + seg->offset, NULL, &err) == 0;
		}
		*byte ^= 0x10;
	}
	cr_assert_leq(passed, entries * spec.value_bytes + seg->page_cnt * 8, "%u of %u",
		      (unsigned)passed, (unsigned)tried);
	cr_assert_lt(loaded * 2, tried);
	free(region);
	snap_rig_destroy(r);
}

Test(verify_canonical, finds_broken_structure_behind_a_good_checksum)
{
	struct weir_kstate_spec spec = NUMBERS;

	finds_all_but_values(spec);
	spec.key_bytes = 12;
	spec.value_bytes = 5;
	finds_all_but_values(spec);
	spec.key_kind = WEIR_KEY_BYTES;
	spec.key_bytes = 0;
	finds_all_but_values(spec);
}

/* Two segments changed over: each is sound, their order is not. */
Test(verify_canonical, finds_segments_out_of_order)
{
	struct weir_verify_last *last = calloc(1, sizeof(*last));
	struct weir_verify_sum sum = { 0 };
	struct weir_error err;
	uint64_t entries;
	struct snap_rig *r = written(&NUMBERS, 128, 60000, 1, 200, &entries);
	const uint8_t *file = fake_find(&r->io, r->path)->bytes;

	cr_assert_eq(weir_verify_segment(&r->segs[0], file + r->segs[0].offset, last, &sum, &err),
		     0);
	cr_assert_neq(weir_verify_segment(&r->segs[2], file + r->segs[2].offset, last, &sum, &err),
		      0);
	cr_assert_not_null(strstr(err.text, "part 2"), "%s", err.text);
	last->parts = 1;
	cr_assert_eq(weir_verify_segment(&r->segs[1], file + r->segs[1].offset, last, &sum, &err),
		     0);
	last->parts = 0;
	cr_assert_neq(weir_verify_segment(&r->segs[0], file + r->segs[0].offset, last, &sum, &err),
		      0);
	cr_assert_not_null(strstr(err.text, "not above"), "%s", err.text);
	free(last);
	snap_rig_destroy(r);
}

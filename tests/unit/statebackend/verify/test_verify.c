/* The verifier accepts what the writer wrote and refuses every change of it. */

#include "engine/base/crc32c.h"
#include "tests/unit/statebackend/verify/verified.h"

Test(verify, accepts_every_kind_of_state)
{
	accepts_every_kind_of_state(0);
}

Test(verify, refuses_every_flipped_byte)
{
	refuses_flipped_bytes_and_short_files(0);
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
	r = written(&spec, 0, 3000, 1, 40, &entries);
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
	struct snap_rig *r = written(&NUMBERS, 0, 30000, 1, 100, &entries);

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

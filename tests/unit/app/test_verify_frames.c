#include "app/checkpoint/verify_frames.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/engine/core/cut.h"

static struct cut cut;
static struct weir_error err;

static int
verify(uint32_t side, uint32_t subtask)
{
	return weir_checkpoint_verify_frames(&cut.m, &cut.seg[side][subtask],
					     (const uint8_t *)cut.bytes[side][subtask], &err);
}

static void
refused(const char *why)
{
	cr_assert_eq(verify(1, 1), WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, why), "%s", err.text);
	cr_assert_not_null(strstr(err.text, "edge 'source' -> 'middle' subtask 1 frame 12"), "%s",
			   err.text);
}

Test(verify_frames, each_by_its_header)
{
	struct weir_manifest_frame *said;
	struct weir_frame *f;

	cut_make(&cut, WEIR_HASH, 2, 2, 2, 1);
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t s = 0; s < 2; s++) {
			cut.seg[side][s].seg.operator_idx = side;
			cut.seg[side][s].seg.subtask = s;
			cr_assert_eq(verify(side, s), 0, "%s", err.text);
		}
	said = &cut.frames[1][1][1];
	f = (void *)(cut.bytes[1][1] + said->offset);
	f->magic ^= 1;
	refused("there is no frame");
	f->magic ^= 1;
	f->edge = 3;
	refused("it is of another edge");
	f->edge = 0;
	f->rows = 257;
	refused("more rows than");
	f->rows = 0;
	refused("its length is not that of its rows");
	f->rows = 40;
	f->heap_len = said->length;
	refused("its length is not that of its rows");
	cut_fini(&cut);
}

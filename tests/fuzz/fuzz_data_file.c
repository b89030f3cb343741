/*
 * A data file from bytes: one segment whose checksum and lengths are mended so that the parsers
 * behind them are reached. Nothing may crash, and what the verifier accepts must load, entry for
 * entry.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/crc32c.h"
#include "statebackend/hash/hash.h"
#include "statebackend/snapshot/format.h"
#include "statebackend/snapshot/records.h"
#include "statebackend/verify/verify.h"

#define SEGMENT_MAX (1u << 18)
#define REGION	    (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The manifest's entry of a segment whose header says this. */
static struct weir_segment
mend(uint8_t *bytes, uint64_t used)
{
	struct weir_seg_header *h = (struct weir_seg_header *)(void *)bytes;
	struct weir_segment seg = {
		.length = weir_align_up(used, WEIR_DATA_ALIGN),
		.used = used,
	};

	h->magic = WEIR_SEG_MAGIC;
	h->version = WEIR_DATA_VERSION;
	h->used = used;
	h->length = seg.length;
	seg.kind = h->kind;
	seg.operator_idx = h->operator_idx;
	seg.subtask = h->subtask;
	seg.state_idx = h->state_idx;
	seg.page_cnt = h->record_cnt;
	seg.entry_cnt = h->entry_cnt;
	seg.hash_first = h->hash_first;
	seg.hash_last = h->hash_last;
	seg.crc = weir_crc32c(0, bytes, seg.length);
	return seg;
}

static struct weir_kstate *
state_like(const struct weir_seg_header *h, void *region)
{
	const struct weir_kstate_spec spec = {
		.name = "fuzz",
		.key_kind = h->key_mode == 2 ? WEIR_KEY_BYTES : WEIR_KEY_FIXED,
		.key_bytes = h->key_bytes,
		.value_bytes = h->value_bytes,
		.grouped = h->grouped != 0,
		.hash_first = h->hash_first,
		.hash_last = h->hash_last,
	};
	struct weir_backend *be = weir_backend_hash_open(
		&(struct weir_backend_hash_config){
			.base = region, .bytes = REGION, .budget_key = "state.memory" },
		NULL);

	return weir_kstate_open(be, &spec, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(4096) uint8_t bytes[SEGMENT_MAX];
	static void *region;
	struct weir_verify_sum sum = { 0 };
	struct weir_error err;
	struct weir_segment seg;
	struct weir_kstate *st;
	bool sound;
	int rc;

	if (size < sizeof(struct weir_seg_header) || size > SEGMENT_MAX)
		return 0;
	if (region == NULL)
		region = malloc(REGION);
	memset(bytes, 0, weir_align_up(size, WEIR_DATA_ALIGN));
	memcpy(bytes, data, size);
	seg = mend(bytes, size);
	sound = weir_verify_segment(&seg, bytes, NULL, &sum, &err) == 0;
	rc = weir_segment_check(&seg, bytes, &err);
	WEIR_ASSERT(!sound || rc == 0);
	if (rc != 0 || !weir_segment_is_state(&seg))
		return 0;
	st = state_like((const struct weir_seg_header *)(const void *)bytes, region);
	if (st == NULL) {
		WEIR_ASSERT(!sound);
		return 0;
	}
	rc = weir_kstate_load(st, &seg, bytes, NULL, &err);
	WEIR_ASSERT(!sound || rc == 0);
	return 0;
}

#ifndef WEIR_STATEBACKEND_SNAPSHOT_FORMAT_H
#define WEIR_STATEBACKEND_SNAPSHOT_FORMAT_H

/*
 * The data file of a checkpoint, byte by byte. Little endian; version 1.
 *
 *   offset 0      file header, 4096 bytes: struct weir_data_header, the rest zero
 *   then          segments, one behind the other, each a multiple of 4096 bytes:
 *                   struct weir_seg_header (128 bytes)
 *                   state:  records, each struct weir_record (64 bytes) and its image
 *                   canonical: runs, each struct weir_run (32 bytes) and its entries
 *                   other:  the bytes that were appended
 *                   zero bytes up to the multiple of 4096
 *
 * Valid is what a manifest names: for each segment its offset, length and the CRC32C of all length
 * bytes, padding included. The file header holds its own CRC32C. Bytes that no manifest names mean
 * nothing. Several segments of one (kind, operator, subtask, state) are parts in file order; part
 * counts them from 0.
 *
 * Records of a state: the images of its blocks as they lie in memory (statebackend/hash/layout.h),
 * and entries whose key is too long for its block:
 *
 *   PAGE   image_bytes: 256 << 0..7. pages = 0: a table of one block. Else 16 KiB, page sub of the
 *          pages that share the z range with the depth first bits prefix.
 *   ENTRY  image: key_len bytes of key, zero up to a multiple of 8; then the value, zero up to one.
 *          The slot of this key in a PAGE is skipped by readers: its length is above 256.
 *
 * Slot i of an image: tag at (i / 4) * group_bytes + (i % 4) * 8, payload at (i / 4) * group_bytes
 * + 32
 * + (i % 4) * payload_bytes. Tag 0 and 1: no entry. Key mode 0 (number): tag = key + bias (bias_odd
 * in records flagged ODD), payload = value. Mode 1: payload = key, zero to a multiple of 8, value.
 * Mode 2: payload = u32 offset of the key in the image, u32 length, value. In modes 1 and 2 the tag
 * is the entry's place in the hash order (0 and 1 written as 2 and 3).
 *
 * Runs of a canonical segment (S1: no backend's own layout): the entries of one key group and one
 * namespace, sorted by the bytes of their keys (memcmp, then the shorter first). Runs are sorted by
 * key group, then namespace; all segments of one state of a subtask, in the order of their parts,
 * are one sorted sequence, in which a long run may go on in a run of the next segment. An entry:
 *
 *   place   u64, only if grouped: its place in the hash order; its top bits are the key group's
 *   length  u32 and u32 zero, only of byte-string keys
 *   key     zero up to a multiple of 8
 *   value   zero up to a multiple of 8
 *
 * Key group: the top log2(key_groups) bits of the place; the place of an entry that is not grouped
 * is its key's hash (weir_key_hash).
 */

#include "engine/base/base.h"

#define WEIR_DATA_MAGIC	     0x4154414452494557ull /* "WEIRDATA" */
#define WEIR_DATA_VERSION    1u
#define WEIR_DATA_HEADER     4096u
#define WEIR_DATA_ALIGN	     4096u
#define WEIR_SEG_MAGIC	     0x47455357u /* "WSEG" */
#define WEIR_RECORD_MAGIC    0x43455257u /* "WREC" */
#define WEIR_RUN_MAGIC	     0x4e555257u /* "WRUN" */
#define WEIR_FORMAT_BIAS     0x5bd1e995a7c43b1dull
#define WEIR_FORMAT_BIAS_ODD (WEIR_FORMAT_BIAS + 2)
#define WEIR_FORMAT_INLINE   256u

struct weir_data_header {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes; /* WEIR_DATA_HEADER */
	uint64_t job_hash;
	uint64_t attempt;
	uint64_t checkpoint;
	uint32_t core;
	uint32_t crc; /* CRC32C of the 4096 bytes with this field 0 */
};
_Static_assert(sizeof(struct weir_data_header) == 48, "on disk");

struct weir_seg_header {
	uint32_t magic;
	uint16_t version;
	uint16_t kind; /* enum weir_segment_kind */
	uint32_t operator_idx;
	uint32_t subtask;
	uint32_t state_idx;
	uint32_t part;
	uint64_t checkpoint;
	uint64_t length; /* padded */
	uint64_t used;	 /* header included */
	uint64_t entry_cnt;
	uint64_t hash_first;
	uint64_t hash_last;
	uint32_t record_cnt;
	/* state and canonical; canonical has no key mode 0, and zero from group_bytes to value_at
	 */
	uint32_t key_mode;
	uint32_t key_bytes; /* modes 0 and 1 */
	uint32_t value_bytes;
	uint32_t group_bytes;
	uint32_t payload_bytes;
	uint32_t value_at; /* in the payload */
	uint32_t grouped;
	uint32_t key_groups; /* canonical only */
	uint32_t pad;
	uint64_t reserved[2];
};
_Static_assert(sizeof(struct weir_seg_header) == 128, "on disk");

enum weir_record_kind { WEIR_RECORD_PAGE = 1, WEIR_RECORD_ENTRY = 2 };

#define WEIR_RECORD_ODD 1u

struct weir_record {
	uint32_t magic;
	uint8_t kind;
	uint8_t flags;
	uint8_t depth;
	uint8_t pages;
	uint8_t sub;
	uint8_t pad;
	uint16_t used;	    /* slots that are not empty */
	uint16_t live;	    /* entries */
	uint16_t heap_used; /* key bytes at the image's end, units of 8, dead ones included */
	uint32_t image_bytes;
	uint32_t key_len; /* ENTRY */
	int64_t ns;
	uint64_t prefix; /* ENTRY: the place in the hash order */
	uint32_t slot_cnt;
	uint32_t heap_from;
	uint16_t heap_live;
	uint16_t pad2[3];
	uint64_t pad3;
};
_Static_assert(sizeof(struct weir_record) == 64, "on disk");

struct weir_run {
	uint32_t magic;
	uint32_t key_group;
	int64_t ns;
	uint32_t entry_cnt;
	uint32_t bytes; /* of the entries */
	uint64_t pad;
};
_Static_assert(sizeof(struct weir_run) == 32, "on disk");

#endif /* WEIR_STATEBACKEND_SNAPSHOT_FORMAT_H */

#ifndef WEIR_STATEBACKEND_HASH_LAYOUT_H
#define WEIR_STATEBACKEND_HASH_LAYOUT_H

/*
 * How entries lie in a block, and how blocks make a table.
 *
 * Block. 256 bytes to 32 KiB, a power of two; a *page* is one of 16 KiB. It is a row of groups:
 * four 8-byte tags, then the four payloads of those slots; tags apart from payloads, so that a
 * compare of tags does not read what was just stored. With 8-byte keys and values a group is one
 * 64-byte line. No header in the block (headers at one offset of every page collide in L1): its
 * counters are a block_meta elsewhere. Byte-string keys grow down from the block's end.
 *
 *   tag    TAG_EMPTY, TAG_TOMB, or the slot's key:
 *            number keys   key + table bias; the two keys that would meet EMPTY and TOMB live in a
 *                          second, "odd" table with another bias
 *            other keys    the place itself (0 and 1 become 2 and 3), the key is in the payload
 *   payload  number keys: value. fixed keys: key, padded to 8, value. byte strings: u32 where the
 *            key is, u32 length, value. A key of up to KEY_INLINE_MAX bytes is in the block, at
 *            that offset; a longer one in a block of its own, at that number of 128-byte units.
 *
 * Hash order. An entry's *place* is its hash (grouped keys: top 16 bits of the group's hash, the
 * rest of the key's own). place -> z spreads the kstate's range over all 64 bits; z is cut from
 * the top: row of the directory, page of the row, home slot of the page. All cuts keep the order,
 * so any range of the hash order is a contiguous part of a table.
 *
 * Table. "Flat" while one block is enough: the block doubles up to 32 KiB (1,792 entries of 16
 * bytes stay without a directory). Then a directory of 2^gd
 * rows of four words:
 *
 *   | page 0 | page 1 | page 2 or 0 | n << 8 | ld |     page word: address, top 16 bits = epoch
 *
 * A row has n = 2 or 3 pages that share the z range of its prefix of ld <= gd bits evenly, and is
 * repeated in all 2^(gd - ld) rows of that prefix. A row grows by one page at a time; a row of four
 * is two rows of two with one more bit. Memory stays near 1.4 x key + value.
 *
 * A group with an empty slot ends every probe chain through it: a removed slot becomes EMPTY there,
 * TOMB in a full group.
 */

#include "statebackend/hash/mem.h"

#include <immintrin.h>

#define GROUP	  4u
#define TAG_EMPTY 0ull
#define TAG_TOMB  1ull
/* Any constant that real keys will not lie next to. */
#define TAG_BIAS       0x5bd1e995a7c43b1dull
#define TAG_BIAS_ODD   (TAG_BIAS + 2)
#define BLOCK_ORDERS   8u /* 256 << order bytes */
#define BLOCK_SHIFT    8u
#define ROOMY_ORDER    3u /* flat blocks from 2 KiB on are filled by half */
#define PAGE_ORDER     6u /* a page is a block of 16 KiB; a flat block may be twice that */
#define ROW_WORDS      4u
#define ROW_META       3u
#define ROW_PAGES_MIN  2u
#define ROW_PAGES_MAX  3u
#define DEPTH_MAX      40u
#define KEY_INLINE_MAX 256u
/* The key bytes that a page can hold at least: many of the longest, or the cuts become uneven. */
#define HEAP_MIN    4096u
#define EPOCH_SHIFT 48u
#define ADDR_MASK   ((1ull << EPOCH_SHIFT) - 1)

enum key_mode { MODE_NUMBER, MODE_FIXED, MODE_BYTES };

/* Of a block size of one kstate. */
struct geometry {
	uint32_t slot_cnt; /* multiple of GROUP */
	uint32_t group_cnt;
	uint32_t used_max;  /* slots in use at which the block must grow; leaves an empty one */
	uint32_t heap_from; /* bytes of the slots; key bytes lie between here and the end */
	uint32_t bytes;
};

struct layout {
	enum key_mode mode;
	bool grouped;
	uint32_t key_bytes;
	uint32_t payload_bytes; /* of a slot */
	uint32_t value_at;	/* in the payload */
	uint32_t value_bytes;
	uint32_t group_bytes;
	uint32_t order_min; /* smallest block that can hold a group */
	uint8_t *long_base; /* long keys: start of block 0 */
	uint64_t range_first;
	uint32_t range_shift;
	uint64_t range_scale; /* what the width lacks to a power of two, as a fraction of 2^64 */
	struct geometry geo[BLOCK_ORDERS]; /* flat blocks */
	struct geometry page;		   /* pages of a directory */
};

WEIR_INLINE uint64_t
place_z(const struct layout *l, uint64_t place)
{
	const uint64_t z = (place - l->range_first) << l->range_shift;

	return z + weir_mulhi(z, l->range_scale);
}

WEIR_INLINE uint64_t
tag_of_place(uint64_t place)
{
	return place < 2 ? place + 2 : place;
}

/* Operator-made keys: the group decides the top 16 bits (max-parallelism is at most 2^15). */
WEIR_INLINE uint64_t
place_grouped(uint64_t group_hash, uint64_t key_hash)
{
	return (group_hash & ~ADDR_MASK) | (key_hash & ADDR_MASK);
}

/* The tag word of slot i of a block; its payload. */
WEIR_INLINE uint64_t *
slot_tag(const struct layout *l, uint8_t *block, uint32_t i)
{
	return (uint64_t *)(void *)(block + (uint64_t)(i / GROUP) * l->group_bytes +
				    (i % GROUP) * 8);
}

WEIR_INLINE uint8_t *
slot_payload(const struct layout *l, uint8_t *block, uint32_t i)
{
	return block + (uint64_t)(i / GROUP) * l->group_bytes + GROUP * 8 +
	       (uint64_t)(i % GROUP) * l->payload_bytes;
}

/* Which of a group's four tags equal tag: bit j. Two 128-bit compares; the v3 kernel has one. */
WEIR_INLINE uint32_t
group_match(const uint64_t *tags, uint64_t tag)
{
#ifdef __AVX2__
	const __m256i t = _mm256_set1_epi64x((long long)tag);
	const __m256i eq = _mm256_cmpeq_epi64(_mm256_load_si256((const __m256i *)tags), t);

	return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(eq));
#else
	const __m128i t = _mm_set1_epi64x((long long)tag);
	const __m128i lo = _mm_cmpeq_epi64(_mm_load_si128((const __m128i *)tags), t);
	const __m128i hi = _mm_cmpeq_epi64(_mm_load_si128((const __m128i *)tags + 1), t);

	return (uint32_t)_mm_movemask_pd(_mm_castsi128_pd(lo)) |
	       (uint32_t)_mm_movemask_pd(_mm_castsi128_pd(hi)) << 2;
#endif
}

/* The scalar twin, for the differential test. */
WEIR_INLINE uint32_t
group_match_scalar(const uint64_t *tags, uint64_t tag)
{
	return (uint32_t)(tags[0] == tag) | (uint32_t)(tags[1] == tag) << 1 |
	       (uint32_t)(tags[2] == tag) << 2 | (uint32_t)(tags[3] == tag) << 3;
}

#endif /* WEIR_STATEBACKEND_HASH_LAYOUT_H */

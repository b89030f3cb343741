#include "engine/base/crc32c.h"

#include <nmmintrin.h>
#include <string.h>

/*
 * The crc32 instruction has a latency of three cycles and can start one each cycle, so large inputs
 * run in three lanes of LANE bytes. Joining two lanes means to move a checksum over LANE zero
 * bytes: a linear map, so the image of each of its 32 bits is enough.
 */
#define LANE	  4096u
#define LANE_WORD (LANE / 8)

static const uint32_t lane_shift[32] = {
	0xc2a5b65e, 0x80a71a4d, 0x04a2426b, 0x094484d6, 0x128909ac, 0x25121358, 0x4a2426b0,
	0x94484d60, 0x2d7cec31, 0x5af9d862, 0xb5f3b0c4, 0x6e0b1779, 0xdc162ef2, 0xbdc02b15,
	0x7e6c20db, 0xfcd841b6, 0xfc5cf59d, 0xfd559dcb, 0xff474d67, 0xfb62ec3f, 0xf329ae8f,
	0xe3bf2bef, 0xc292212f, 0x80c834af, 0x047c1faf, 0x08f83f5e, 0x11f07ebc, 0x23e0fd78,
	0x47c1faf0, 0x8f83f5e0, 0x1aeb9d31, 0x35d73a62,
};

static uint32_t
shift_lane(uint32_t crc)
{
	uint32_t out = 0;
	uint32_t bit;

	for (bit = 0; bit < 32; bit++)
		out ^= lane_shift[bit] & (0u - ((crc >> bit) & 1u));
	return out;
}

static uint64_t
load_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t
three_lanes(uint32_t crc, const uint8_t *p)
{
	uint64_t a = crc;
	uint64_t b = 0;
	uint64_t c = 0;
	uint32_t i;

	for (i = 0; i < LANE_WORD; i++, p += 8) {
		a = _mm_crc32_u64(a, load_u64(p));
		b = _mm_crc32_u64(b, load_u64(p + LANE));
		c = _mm_crc32_u64(c, load_u64(p + 2 * (size_t)LANE));
	}
	return shift_lane(shift_lane((uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
}

uint32_t
weir_crc32c(uint32_t crc, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	uint32_t c = ~crc;

	for (; len >= 3 * (size_t)LANE; len -= 3 * (size_t)LANE, p += 3 * (size_t)LANE)
		c = three_lanes(c, p);
	for (; len >= 8; len -= 8, p += 8)
		c = (uint32_t)_mm_crc32_u64(c, load_u64(p));
	for (; len > 0; len--, p++)
		c = _mm_crc32_u8(c, *p);
	return ~c;
}

uint32_t
weir_crc32c_slow(uint32_t crc, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	uint32_t c = ~crc;
	uint32_t bit;

	for (; len > 0; len--, p++) {
		c ^= *p;
		for (bit = 0; bit < 8; bit++)
			c = (c >> 1) ^ (0x82f63b78u & (0u - (c & 1u)));
	}
	return ~c;
}

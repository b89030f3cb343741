#ifndef WEIR_ENGINE_BASE_HASH_H
#define WEIR_ENGINE_BASE_HASH_H

/*
 * The one hash of a key. Key groups, the destination of a hash exchange and the place in a state
 * page are all read from the top bits of the same 64-bit number, so that a key group is a
 * contiguous range of the hash order (R4, docs/decisions/0002-key-groups-are-hash-ranges.md).
 */

#include "engine/base/base.h"

#define WEIR_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* splitmix64's finaliser. */
WEIR_INLINE uint64_t
weir_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Keys of up to 8 bytes, zero-extended: one multiplication; dense keys spread evenly. */
WEIR_INLINE uint64_t
weir_hash_u64(uint64_t key)
{
	return key * WEIR_GOLDEN;
}

/* Longer keys: any bytes. Fixed for the life of the state formats; len in bytes. */
uint64_t weir_hash_bytes(const void *key, size_t len);

#endif /* WEIR_ENGINE_BASE_HASH_H */

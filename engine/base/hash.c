#include "engine/base/hash.h"

#include <xxhash.h>

uint64_t
weir_hash_bytes(const void *key, size_t len)
{
	return XXH3_64bits(key, len);
}

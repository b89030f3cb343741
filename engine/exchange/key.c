#include "engine/exchange/key.h"

#include <string.h>

bool
weir_key_init(struct weir_key *key, const struct weir_type *type, const uint32_t *columns,
	      uint32_t cnt)
{
	*key = (struct weir_key){ .cnt = cnt };
	if (cnt == 0 || cnt > WEIR_COLUMNS_MAX)
		return false;
	for (uint32_t i = 0; i < cnt; i++) {
		if (columns[i] >= type->column_cnt)
			return false;
		key->column[i] = (uint8_t)columns[i];
		key->width[i] = type->columns[columns[i]].width;
		if (type->columns[columns[i]].kind == WEIR_KIND_BYTES)
			return cnt == 1;
		key->bytes += key->width[i];
	}
	return key->bytes <= 256;
}

const void *
weir_key_pack(const struct weir_key *key, const struct weir_batch *in, void *scratch)
{
	char *to = scratch;

	WEIR_ASSERT(key->bytes > 0);
	if (key->cnt == 1)
		return in->col[key->column[0]];
	for (uint32_t k = 0; k < key->cnt; k++) {
		const char *from = in->col[key->column[k]];
		const uint32_t width = key->width[k];

		for (uint32_t r = 0; r < in->rows; r++)
			memcpy(to + (size_t)r * key->bytes, from + (size_t)r * width, width);
		to += width;
	}
	return scratch;
}

static void
hash_u64(const uint64_t *keys, const struct weir_batch *in, uint64_t *restrict hash)
{
	if (in->sel == NULL)
		for (uint32_t i = 0; i < in->selected; i++)
			hash[i] = weir_hash_u64(keys[i]);
	else
		for (uint32_t i = 0; i < in->selected; i++)
			hash[i] = weir_hash_u64(keys[in->sel[i]]);
}

static void
hash_narrow(const char *keys, uint32_t width, const struct weir_batch *in, uint64_t *hash)
{
	for (uint32_t i = 0; i < in->selected; i++) {
		uint64_t k = 0;

		memcpy(&k, keys + (size_t)weir_row(in, i) * width, width);
		hash[i] = weir_hash_u64(k);
	}
}

void
weir_key_hashes(const struct weir_key *key, const struct weir_batch *in, void *scratch,
		uint64_t *hash)
{
	const char *keys;

	if (key->bytes == 0) {
		const struct weir_bytes *b = weir_bytes(in, key->column[0]);
		const char *heap = in->heap[key->column[0]];

		for (uint32_t i = 0; i < in->selected; i++) {
			const struct weir_bytes v = b[weir_row(in, i)];

			hash[i] = weir_hash_bytes(heap + v.off, v.len);
		}
		return;
	}
	keys = weir_key_pack(key, in, scratch);
	if (key->bytes == 8)
		hash_u64((const uint64_t *)(const void *)keys, in, hash);
	else if (key->bytes < 8)
		hash_narrow(keys, key->bytes, in, hash);
	else
		for (uint32_t i = 0; i < in->selected; i++)
			hash[i] = weir_hash_bytes(keys + (size_t)weir_row(in, i) * key->bytes,
						  key->bytes);
}

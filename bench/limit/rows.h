#ifndef WEIR_BENCH_LIMIT_ROWS_H
#define WEIR_BENCH_LIMIT_ROWS_H

/*
 * The rows of `fused` and `exchange`, one at a time as a struct and in columns, and the table that
 * keeps a running sum per key.
 *
 * Row i of stream s: key = (mix(s * 2^40 + i + G) >> 32) * K >> 32, value = (key & 7) + 1,
 * time = i, pad = s.
 */

#include "bench/limit/limit.h"

#include <immintrin.h>
#include <string.h>

#define ROWS_GOLDEN 0x9e3779b97f4a7c15ull
#define ROWS_MIX_A  0xbf58476d1ce4e5b9ull
#define ROWS_MIX_B  0x94d049bb133111ebull

struct row {
	uint64_t key;
	int64_t value;
	int64_t time;
	uint64_t pad;
};
_Static_assert(sizeof(struct row) == 32, "two rows fill a cache line");

/* CHUNK rows in columns. */
#define CHUNK 256

struct columns {
	_Alignas(64) uint64_t key[CHUNK];
	_Alignas(64) int64_t value[CHUNK];
	_Alignas(64) int64_t time[CHUNK];
	_Alignas(64) uint64_t pad[CHUNK];
};

LIMIT_INLINE uint64_t
row_key(uint64_t stream, uint64_t i, uint64_t keys)
{
	uint64_t z = (stream << 40) + i + ROWS_GOLDEN;

	z = (z ^ (z >> 30)) * ROWS_MIX_A;
	z = (z ^ (z >> 27)) * ROWS_MIX_B;
	z ^= z >> 31;
	return ((z >> 32) * keys) >> 32;
}

LIMIT_INLINE struct row
row_make(uint64_t stream, uint64_t i, uint64_t keys)
{
	const uint64_t key = row_key(stream, i, keys);

	return (struct row){ key, (int64_t)(key & 7) + 1, (int64_t)i, stream };
}

/* The widest vector of 64-bit numbers this CPU multiplies; the compiler lowers the arithmetic. */
#ifdef __AVX512DQ__
#define LANES 8
#else
#define LANES 4
#endif
typedef uint64_t vec __attribute__((vector_size(LANES * 8)));

LIMIT_INLINE vec
vec_count(void)
{
#if LANES == 8
	return (vec){ 0, 1, 2, 3, 4, 5, 6, 7 };
#else
	return (vec){ 0, 1, 2, 3 };
#endif
}

LIMIT_INLINE vec
vec_all(uint64_t v)
{
	return (vec){ 0 } + v;
}

/* Keys of LANES consecutive rows; z: their stream * 2^40 + i + G. Both factors of the last product
 * fit in 32 bits: one instruction in place of three multiplications. */
LIMIT_INLINE vec
vec_keys(vec z, vec keys)
{
	z = (z ^ (z >> 30)) * ROWS_MIX_A;
	z = (z ^ (z >> 27)) * ROWS_MIX_B;
	z ^= z >> 31;
#if LANES == 8
	return (vec)_mm512_mul_epu32((__m512i)(z >> 32), (__m512i)keys) >> 32;
#else
	return (vec)_mm256_mul_epu32((__m256i)(z >> 32), (__m256i)keys) >> 32;
#endif
}

/* Rows first..first+CHUNK-1 of a stream; the value is that of the row, mapped where map says so. */
LIMIT_INLINE void
columns_make(struct columns *cols, uint64_t stream, uint64_t first, uint64_t keys, bool map)
{
	const vec many = vec_all(keys);
	vec time = vec_count() + first;
	vec z = time + (stream << 40) + ROWS_GOLDEN;

	for (unsigned i = 0; i < CHUNK; i += LANES) {
		const vec key = vec_keys(z, many);
		const vec value = (key & 7) + 1;

		*(vec *)&cols->key[i] = key;
		*(vec *)&cols->value[i] = map ? value * 3 + 1 : value;
		*(vec *)&cols->time[i] = time;
		*(vec *)&cols->pad[i] = vec_all(stream);
		time += LANES;
		z += LANES;
	}
}

/* The memory counts as read: what was written there is really written. */
LIMIT_INLINE void
written(const void *mem)
{
	__asm__ volatile("" : : "r"(mem) : "memory");
}

/*
 * Open addressing with linear probing, twice as many slots as keys, for any 64-bit key. The key
 * that marks an empty slot has a slot of its own behind the table.
 */
#define TABLE_EMPTY UINT64_MAX

struct slot {
	uint64_t key;
	int64_t sum;
};

struct table {
	struct slot *slots; /* mask + 1, and one for TABLE_EMPTY */
	uint64_t mask;
	uint64_t factor; /* of the multiplicative hash; doubled, it skips the top bit */
	unsigned shift;
};

LIMIT_INLINE void
table_clear(struct table *table)
{
	for (uint64_t i = 0; i <= table->mask + 1; i++)
		table->slots[i] = (struct slot){ TABLE_EMPTY, 0 };
}

LIMIT_INLINE void
table_init(struct table *table, uint64_t keys, uint64_t factor)
{
	unsigned bits = 10;

	while ((1ull << bits) < keys * 2)
		bits++;
	table->mask = (1ull << bits) - 1;
	table->factor = factor;
	table->shift = 64 - bits;
	table->slots = limit_memory((table->mask + 2) * sizeof(struct slot));
	table_clear(table);
}

LIMIT_INLINE uint64_t
table_place(const struct table *table, uint64_t key)
{
	return (key * table->factor) >> table->shift;
}

LIMIT_INLINE void
table_prefetch(const struct table *table, uint64_t key)
{
	__builtin_prefetch(&table->slots[table_place(table, key)], 1);
}

/* Add value to the key's sum, return the new sum. */
LIMIT_INLINE uint64_t
table_add(struct table *table, uint64_t key, int64_t value)
{
	uint64_t i = table_place(table, key);

	if (LIMIT_UNLIKELY(key == TABLE_EMPTY)) {
		i = table->mask + 1;
	} else {
		while (LIMIT_UNLIKELY(table->slots[i].key != key)) {
			if (table->slots[i].key == TABLE_EMPTY) {
				table->slots[i].key = key;
				break;
			}
			i = (i + 1) & table->mask;
		}
	}
	table->slots[i].sum += value;
	return (uint64_t)table->slots[i].sum;
}

#endif /* WEIR_BENCH_LIMIT_ROWS_H */

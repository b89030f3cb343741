#include "bench/limit/exchange.h"

/* Rows as structs: every row is stored to both sides and one of the two advances. */

LIMIT_INLINE uint64_t
sum_rows(struct table *table, const struct row *rows, unsigned cnt, bool far)
{
	uint64_t sum = 0;

	for (unsigned i = 0; far && i < AHEAD && i < cnt; i++)
		table_prefetch(table, rows[i].key);
	for (unsigned i = 0; i < cnt; i++) {
		if (far && i + AHEAD < cnt)
			table_prefetch(table, rows[i + AHEAD].key);
		sum += table_add(table, rows[i].key, rows[i].value);
	}
	return sum;
}

/* Partition rows pos..pos+cnt-1 of the chunk; both sides have room for them all. */
LIMIT_INLINE void
partition(struct core *core, unsigned cnt)
{
	const struct row *rows = &core->rows[core->pos];
	struct row *kept = core->kept;
	struct row *sent = core->out->rows;
	unsigned own = core->own;
	unsigned out = core->out->cnt;
	const unsigned me = core->me;

	for (unsigned i = 0; i < cnt; i++) {
		const __m256i row = _mm256_load_si256((const __m256i *)&rows[i]);
		const unsigned stays = home_of(rows[i].key) == me;

		_mm256_store_si256((__m256i *)&kept[own], row);
		_mm256_store_si256((__m256i *)&sent[out], row);
		own += stays;
		out += 1 - stays;
	}
	core->own = own;
	core->out->cnt = out;
	core->pos += cnt;
}

LIMIT_INLINE void
next_chunk(struct core *core)
{
	for (unsigned i = 0; i < CHUNK; i++)
		core->rows[i] = row_make(core->me, core->next + i, core->keys);
	core->next += CHUNK;
	core->pos = 0;
	core->own = 0;
}

LIMIT_INLINE bool
fill(struct core *core, bool far)
{
	for (;;) {
		unsigned room;

		if (core->pos == CHUNK) {
			if (core->next >= core->end)
				return true;
			next_chunk(core);
		}
		/* The row that stays is written to the frame as well: one place is never used. */
		room = FRAME_ROWS - 1 - core->out->cnt;
		if (room == 0)
			return false;
		partition(core, room < CHUNK - core->pos ? room : CHUNK - core->pos);
		if (core->pos == CHUNK)
			core->sum += sum_rows(&core->table, core->kept, core->own, far);
	}
}

bool
rows_fill_near(struct core *core)
{
	return fill(core, false);
}

bool
rows_fill_far(struct core *core)
{
	return fill(core, true);
}

uint64_t
rows_sum_near(struct table *table, const struct frame *frame)
{
	return sum_rows(table, frame->rows, frame->cnt, false);
}

uint64_t
rows_sum_far(struct table *table, const struct frame *frame)
{
	return sum_rows(table, frame->rows, frame->cnt, true);
}

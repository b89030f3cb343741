#include "bench/limit/exchange.h"

/* Columns: what leaves is packed into the frame column by column, what stays is picked. */

enum { KEY, VALUE, TIME, PAD };

LIMIT_INLINE uint64_t
sum_columns(struct table *table, const uint64_t *key, const uint64_t *value, unsigned cnt, bool far)
{
	uint64_t sum = 0;

	for (unsigned i = 0; far && i < AHEAD && i < cnt; i++)
		table_prefetch(table, key[i]);
	for (unsigned i = 0; i < cnt; i++) {
		if (far && i + AHEAD < cnt)
			table_prefetch(table, key[i + AHEAD]);
		sum += table_add(table, key[i], (int64_t)value[i]);
	}
	return sum;
}

LIMIT_INLINE uint64_t
sum_picked(struct core *core, bool far)
{
	const struct columns *cols = &core->cols;
	const uint16_t *picked = core->picked;
	uint64_t sum = 0;

	for (unsigned i = 0; far && i < AHEAD && i < core->own; i++)
		table_prefetch(&core->table, cols->key[picked[i]]);
	for (unsigned i = 0; i < core->own; i++) {
		if (far && i + AHEAD < core->own)
			table_prefetch(&core->table, cols->key[picked[i + AHEAD]]);
		sum += table_add(&core->table, cols->key[picked[i]], cols->value[picked[i]]);
	}
	return sum;
}

/* Partition from pos on until the chunk is through or the frame might not hold a vector more. */
LIMIT_INLINE void
partition(struct core *core)
{
	const struct columns *cols = &core->cols;
	struct frame *frame = core->out;
	const unsigned flip = core->me ? 0 : LANES_ALL;
	unsigned out = frame->cnt;
	unsigned own = core->own;
	unsigned i = core->pos;

	for (; i < CHUNK && out <= FRAME_COLS - LANES; i += LANES) {
		const vec key = *(const vec *)&cols->key[i];
		/* A bit per lane whose hash has its top bit clear: home is core 0. */
		const unsigned zero = lanes_zero((key * ROWS_GOLDEN) >> 63);
		const unsigned leave = zero ^ flip;

		pick(&core->picked[own], i, leave ^ LANES_ALL);
		pack(&frame->cols[KEY][out], key, leave);
		pack(&frame->cols[VALUE][out], *(const vec *)&cols->value[i], leave);
		pack(&frame->cols[TIME][out], *(const vec *)&cols->time[i], leave);
		pack(&frame->cols[PAD][out], *(const vec *)&cols->pad[i], leave);
		out += (unsigned)__builtin_popcount(leave);
		own += LANES - (unsigned)__builtin_popcount(leave);
	}
	frame->cnt = out;
	core->own = own;
	core->pos = i;
}

LIMIT_INLINE bool
fill(struct core *core, bool far)
{
	for (;;) {
		if (core->pos == CHUNK) {
			if (core->next >= core->end)
				return true;
			columns_make(&core->cols, core->me, core->next, core->keys, false);
			core->next += CHUNK;
			core->pos = 0;
			core->own = 0;
		}
		partition(core);
		if (core->pos < CHUNK)
			return false;
		core->sum += sum_picked(core, far);
	}
}

bool
columns_fill_near(struct core *core)
{
	return fill(core, false);
}

bool
columns_fill_far(struct core *core)
{
	return fill(core, true);
}

/* Shape 1-1: everything leaves. */
bool
straight_fill(struct core *core)
{
	const unsigned left = core->end - core->next < FRAME_COLS
				      ? (unsigned)(core->end - core->next)
				      : FRAME_COLS;
	struct frame *frame = core->out;
	const vec many = vec_all(core->keys);
	vec time = vec_count() + core->next;
	vec z = time + ROWS_GOLDEN;

	for (unsigned i = 0; i < left; i += LANES) {
		const vec key = vec_keys(z, many);

		*(vec *)&frame->cols[KEY][i] = key;
		*(vec *)&frame->cols[VALUE][i] = (key & 7) + 1;
		*(vec *)&frame->cols[TIME][i] = time;
		*(vec *)&frame->cols[PAD][i] = vec_all(0);
		time += LANES;
		z += LANES;
	}
	frame->cnt = left;
	core->next += left;
	return core->next >= core->end;
}

uint64_t
columns_sum_near(struct table *table, const struct frame *frame)
{
	return sum_columns(table, frame->cols[KEY], frame->cols[VALUE], frame->cnt, false);
}

uint64_t
columns_sum_far(struct table *table, const struct frame *frame)
{
	return sum_columns(table, frame->cols[KEY], frame->cols[VALUE], frame->cnt, true);
}

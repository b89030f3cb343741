/*
 * limit_fused: generate, map, filter, keyed sum on one core, by hand.
 *
 * Value becomes value * 3 + 1; a row whose new value is divisible by 8 is dropped, which is one in
 * eight. Every variant writes all four fields of every row to memory. Which one is fastest depends
 * on the CPU and on whether the table fits the near caches, so a short calibration on a table of
 * its own chooses; variant=NAME chooses by hand.
 */

#include "bench/limit/pack.h"
#include "bench/limit/rows.h"

#include <stdio.h>

/* The rows of one chunk that pass: numbers of rows in the columns beside them. */
struct chunk {
	struct columns cols;
	unsigned cnt;
	uint16_t picked[CHUNK + LANES]; /* a whole vector of numbers is written at a time */
};

struct work {
	struct table table;
	uint64_t keys;
	uint64_t sum;
	unsigned turn;
	struct chunk chunk[2];
	struct row rows[CHUNK + 1]; /* compaction writes one behind the last */
};

LIMIT_INLINE struct row
mapped_row(uint64_t i, uint64_t keys)
{
	struct row row = row_make(0, i, keys);

	row.value = row.value * 3 + 1;
	return row;
}

/* One loop, a branch for the filter: no second pass over the rows. */
static void
row_loop(struct work *work, uint64_t first)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < CHUNK; i++) {
		const struct row row = mapped_row(first + i, work->keys);

		work->rows[i] = row;
		if (row.value & 7)
			sum += table_add(&work->table, row.key, row.value);
	}
	written(work->rows);
	work->sum += sum;
}

LIMIT_INLINE unsigned
rows_make(struct work *work, uint64_t first)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < CHUNK; i++) {
		const struct row row = mapped_row(first + i, work->keys);

		work->rows[cnt] = row;
		cnt += (row.value & 7) != 0;
	}
	written(work->rows);
	return cnt;
}

static void
rows_near(struct work *work, uint64_t first)
{
	const unsigned cnt = rows_make(work, first);
	uint64_t sum = 0;

	for (unsigned i = 0; i < cnt; i++)
		sum += table_add(&work->table, work->rows[i].key, work->rows[i].value);
	work->sum += sum;
}

static void
rows_far(struct work *work, uint64_t first)
{
	const unsigned cnt = rows_make(work, first);
	uint64_t sum = 0;

	for (unsigned i = 0; i < AHEAD; i++)
		table_prefetch(&work->table, work->rows[i].key);
	for (unsigned i = 0; i < cnt; i++) {
		if (i + AHEAD < cnt)
			table_prefetch(&work->table, work->rows[i + AHEAD].key);
		sum += table_add(&work->table, work->rows[i].key, work->rows[i].value);
	}
	work->sum += sum;
}

/* Generate, map and filter in one pass over the columns. */
LIMIT_INLINE void
chunk_make(struct chunk *chunk, uint64_t first, uint64_t keys)
{
	const vec many = vec_all(keys);
	vec time = vec_count() + first;
	vec z = time + ROWS_GOLDEN;
	unsigned cnt = 0;

	for (unsigned i = 0; i < CHUNK; i += LANES) {
		const vec key = vec_keys(z, many);
		const vec value = ((key & 7) + 1) * 3 + 1;
		const unsigned keep = ~lanes_zero(value & 7) & LANES_ALL;

		*(vec *)&chunk->cols.key[i] = key;
		*(vec *)&chunk->cols.value[i] = value;
		*(vec *)&chunk->cols.time[i] = time;
		*(vec *)&chunk->cols.pad[i] = vec_all(0);
		pick(&chunk->picked[cnt], i, keep);
		cnt += (unsigned)__builtin_popcount(keep);
		time += LANES;
		z += LANES;
	}
	chunk->cnt = cnt;
	written(chunk);
}

LIMIT_INLINE uint64_t
add_picked(struct table *table, const struct chunk *chunk, unsigned i)
{
	const unsigned row = chunk->picked[i];

	return table_add(table, chunk->cols.key[row], chunk->cols.value[row]);
}

LIMIT_INLINE void
prefetch_picked(const struct table *table, const struct chunk *chunk, unsigned i)
{
	table_prefetch(table, chunk->cols.key[chunk->picked[i]]);
}

static void
columns_near(struct work *work, uint64_t first)
{
	struct chunk *chunk = &work->chunk[0];
	uint64_t sum = 0;

	chunk_make(chunk, first, work->keys);
	for (unsigned i = 0; i < chunk->cnt; i++)
		sum += add_picked(&work->table, chunk, i);
	work->sum += sum;
}

static void
columns_far(struct work *work, uint64_t first)
{
	struct chunk *chunk = &work->chunk[0];
	uint64_t sum = 0;

	chunk_make(chunk, first, work->keys);
	for (unsigned i = 0; i < AHEAD; i++)
		prefetch_picked(&work->table, chunk, i);
	for (unsigned i = 0; i < chunk->cnt; i++) {
		if (i + AHEAD < chunk->cnt)
			prefetch_picked(&work->table, chunk, i + AHEAD);
		sum += add_picked(&work->table, chunk, i);
	}
	work->sum += sum;
}

/* The lines of one chunk travel while the chunk before it is summed, one prefetch to one sum: the
 * CPU's miss queue stays full and never overflows. The last chunk is left for drain. */
static void
columns_ahead(struct work *work, uint64_t first)
{
	struct chunk *next = &work->chunk[work->turn & 1];
	struct chunk *last = &work->chunk[~work->turn & 1];
	uint64_t sum = 0;
	unsigned i = 0;

	work->turn++;
	chunk_make(next, first, work->keys);
	for (; i < last->cnt && i < next->cnt; i++) {
		prefetch_picked(&work->table, next, i);
		sum += add_picked(&work->table, last, i);
	}
	for (unsigned p = i; p < next->cnt; p++)
		prefetch_picked(&work->table, next, p);
	for (; i < last->cnt; i++)
		sum += add_picked(&work->table, last, i);
	last->cnt = 0;
	work->sum += sum;
}

static void
drain(struct work *work)
{
	struct chunk *last = &work->chunk[~work->turn & 1];

	for (unsigned i = 0; i < last->cnt; i++)
		work->sum += add_picked(&work->table, last, i);
	last->cnt = 0;
}

static const struct variant {
	const char *name;
	void (*chunk)(struct work *work, uint64_t first); /* do CHUNK rows from first on */
	bool ahead;					  /* the last chunk has to be drained */
} variants[] = {
	{ "row-loop", row_loop, false },
	{ "rows", rows_near, false },
	{ "rows-prefetch", rows_far, false },
	{ "columns", columns_near, false },
	{ "columns-prefetch", columns_far, false },
	{ "columns-ahead", columns_ahead, true },
};
#define VARIANT_CNT (sizeof(variants) / sizeof(variants[0]))

static struct work work;

/* Do rows rows, or as many as fit into seconds if rows is 0, behind warm others; all are multiples
 * of CHUNK. */
static void
run(const struct variant *variant, struct limit_result *result, uint64_t warm, uint64_t rows,
    double seconds)
{
	const uint64_t end = warm + rows;
	uint64_t i = 0;
	double start;

	work.sum = 0;
	for (; i < warm; i += CHUNK)
		variant->chunk(&work, i);
	start = limit_now();
	do {
		for (unsigned c = 0; c < 64 && (rows == 0 || i < end); c++, i += CHUNK)
			variant->chunk(&work, i);
	} while (rows == 0 ? limit_now() - start < seconds : i < end);
	if (variant->ahead)
		drain(&work);
	*result = (struct limit_result){ i - warm, work.sum, limit_now() - start, variant->name };
}

static const struct variant *
calibrate(void)
{
	const struct variant *best = &variants[0];
	double rate[VARIANT_CNT] = { 0 };

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned v = 0; v < VARIANT_CNT; v++) {
			struct limit_result result;

			run(&variants[v], &result, 0, 0, 0.02);
			if ((double)result.rows / result.seconds > rate[v])
				rate[v] = (double)result.rows / result.seconds;
		}
	}
	for (unsigned v = 1; v < VARIANT_CNT; v++)
		if (rate[v] > rate[best - variants])
			best = &variants[v];
	return best;
}

static const struct variant *
find(const char *name)
{
	for (unsigned v = 0; v < VARIANT_CNT; v++)
		if (strcmp(variants[v].name, name) == 0)
			return &variants[v];
	limit_die(64, "variant", "expects row-loop, rows, columns, with -prefetch, columns-ahead");
}

int
main(int argc, char **argv)
{
	const struct variant *variant;
	struct limit_result result;
	struct limit_opts opts;

	limit_parse(&opts, argc, argv);
	if (opts.rows % CHUNK != 0 || opts.warm % CHUNK != 0)
		limit_die(64, "rows, warm", "expect multiples of 256");
	limit_pin(opts.cpus[0]);
	work.keys = opts.keys;
	table_init(&work.table, opts.keys, ROWS_GOLDEN);
	variant = opts.variant != NULL ? find(opts.variant) : calibrate();
	table_clear(&work.table);
	limit_wait(&opts);
	run(variant, &result, opts.warm, opts.rows, opts.seconds);
	limit_print(&result);
	return 0;
}

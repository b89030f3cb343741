/* The input: rows that anybody can compute, and a connector that reads them. */

#include "tests/simulator/sim.h"

#include <string.h>

#include <weir/weir.h>

WEIR_TYPE(sim_row_type, WEIR_U64("key"), WEIR_U64("value"), WEIR_TIME("time"), WEIR_BYTES("word"),
	  WEIR_FIXED("pad", SIM_PAD));

const struct sim_scenario *sim_scenario;
struct weir_rng sim_source_rng;
bool sim_source_calm;

void
sim_row_make(const struct sim_scenario *s, uint32_t source, uint32_t split, uint32_t row,
	     struct sim_row *out)
{
	struct weir_rng r = { .state =
				      weir_mix(s->seed ^ weir_mix(((uint64_t)source << 48) +
								  ((uint64_t)split << 32) + row)) };

	out->key = weir_rng_below(&r, s->key_cnt);
	out->value = weir_rng_below(&r, 1000);
	out->time_ns = s->split[source][split].first_ns + row * s->step_ns;
	if (s->jitter_ns > 0)
		out->time_ns += (int64_t)weir_rng_below(&r, (uint64_t)s->jitter_ns);
	out->word_len = 1 + (uint32_t)(out->key % s->word_len_max);
	for (uint32_t i = 0; i < out->word_len; i++)
		out->word[i] = (char)('a' + (out->key * (i + 3) + i) % 26);
	out->word[out->word_len] = '\0';
}

struct reader {
	uint32_t source, split;
	uint32_t next;
};

static int
enumerate(uint32_t source, struct weir_splits *splits)
{
	for (uint32_t k = 0; k < sim_scenario->split_cnt[source]; k++) {
		char name[32];
		struct weir_split split = { .name = name,
					    .end = sim_scenario->split[source][k].rows,
					    .hold_ns = sim_scenario->split[source][k].first_ns - 1,
					    .word = { source, k } };
		int rc;

		snprintf(name, sizeof(name), "source%u-split%u", source, k);
		rc = weir_splits_add(splits, &split);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
enumerate_first(const struct weir_params *params, uint32_t parallelism, struct weir_splits *splits)
{
	(void)params;
	(void)parallelism;
	return enumerate(0, splits);
}

static int
enumerate_second(const struct weir_params *params, uint32_t parallelism, struct weir_splits *splits)
{
	(void)params;
	(void)parallelism;
	return enumerate(1, splits);
}

static int
open_split(struct weir_reader_ctx *ctx, void *reader, const struct weir_split *split,
	   const struct weir_position *position)
{
	struct reader *r = reader;

	(void)ctx;
	*r = (struct reader){ .source = (uint32_t)split->word[0],
			      .split = (uint32_t)split->word[1],
			      .next = (uint32_t)position->word[0] };
	return 0;
}

static void
put_row(struct weir_read *b, const struct sim_row *row)
{
	((uint64_t *)b->col[0])[b->rows] = row->key;
	((uint64_t *)b->col[1])[b->rows] = row->value;
	((int64_t *)b->col[2])[b->rows] = row->time_ns;
	((struct weir_bytes *)b->col[3])[b->rows] =
		(struct weir_bytes){ .off = b->heap_len, .len = row->word_len };
	memcpy(b->heap + b->heap_len, row->word, row->word_len);
	b->heap_len += row->word_len;
	for (uint32_t i = 0; i < SIM_PAD; i++)
		((uint8_t *)b->col[4])[b->rows * SIM_PAD + i] = (uint8_t)(row->key + i);
	b->rows++;
}

static int
read_split(struct weir_reader_ctx *ctx, void *reader, struct weir_read *b)
{
	struct reader *r = reader;
	const struct sim_split *split = &sim_scenario->split[r->source][r->split];
	const uint32_t most =
		1 + (uint32_t)weir_rng_below(&sim_source_rng, sim_scenario->batch_max);

	(void)ctx;
	if (!sim_source_calm && weir_rng_below(&sim_source_rng, 100) < sim_scenario->pause_pct)
		return 0;
	while (r->next < split->rows && b->rows < most && b->rows < b->cap) {
		struct sim_row row;

		sim_row_make(sim_scenario, r->source, r->split, r->next, &row);
		if (row.word_len > b->heap_cap - b->heap_len)
			break;
		put_row(b, &row);
		r->next++;
	}
	b->bytes = b->rows;
	b->end = r->next == split->rows;
	/* Said now and then only. */
	if (weir_rng_below(&sim_source_rng, 3) != 0)
		b->watermark_ns = split->first_ns + r->next * sim_scenario->step_ns - 1;
	return 0;
}

static void
position_of(const void *reader, struct weir_position *position)
{
	*position = (struct weir_position){ .word = { ((const struct reader *)reader)->next } };
}

const struct weir_connector sim_connectors[SIM_SOURCES_MAX] = {
	{ .name = "first",
	  .type = &sim_row_type,
	  .reader_bytes = sizeof(struct reader),
	  .enumerate = enumerate_first,
	  .open = open_split,
	  .read = read_split,
	  .position = position_of },
	{ .name = "second",
	  .type = &sim_row_type,
	  .reader_bytes = sizeof(struct reader),
	  .enumerate = enumerate_second,
	  .open = open_split,
	  .read = read_split,
	  .position = position_of },
};

#include "jobs/nexmark/gen.h"
#include "jobs/nexmark/nexmark.h"

#include <stdio.h>

/* Positions that go to one split before the next one has its turn, about. */
#define BLOCK	    4000u
#define EXIT_CONFIG 78

WEIR_TYPE(bid, WEIR_U64("auction"), WEIR_U64("bidder"), WEIR_U64("price"), WEIR_TIME("time"));

enum { KIND };
static const char *const reasons[] = { "kind" };

struct reader {
	struct weir_nexmark gen;
	uint64_t at;	    /* position of the next event */
	uint64_t end;	    /* positions there are */
	uint64_t block;	    /* positions in one */
	uint64_t block_end; /* of the block that at is in */
	uint64_t skip;	    /* from the end of a block to the next of this split */
};

/* Words of a split. */
enum { S_BLOCK, S_SPLITS };

static int
gen_init(struct weir_nexmark *gen, const struct weir_params *params, struct weir_error *err)
{
	const struct weir_nexmark_params p = {
		.seed = weir_param_u64(params, "seed", 1),
		.rate = weir_param_u64(params, "event-rate", 10000000),
		.group = weir_param_u64(params, "out-of-order-group", 1),
		.events = weir_param_u64(params, "events", UINT64_MAX),
	};

	return weir_nexmark_init(gen, &p, weir_isa(), err);
}

static int
source_enumerate(const struct weir_params *params, uint32_t parallelism, struct weir_splits *splits)
{
	struct weir_nexmark gen;
	struct weir_error err;
	uint64_t block;
	char name[64];
	int rc = 0;

	if (gen_init(&gen, params, &err) != 0)
		return weir_splits_fail(splits, EXIT_CONFIG, "%s", err.text);
	/* Whole groups, so that the watermark of a split never waits inside another's. */
	block = (BLOCK + gen.params.group - 1) / gen.params.group * gen.params.group;
	for (uint32_t i = 0; i < parallelism && rc == 0; i++) {
		snprintf(name, sizeof(name), "share %u of %u", i + 1, parallelism);
		rc = weir_splits_add(splits,
				     &(struct weir_split){
					     .name = name,
					     .begin = i * block,
					     .end = weir_nexmark_positions(&gen),
					     .hold_ns = weir_nexmark_watermark(&gen, i * block),
					     .word = { block, parallelism },
				     });
	}
	return rc;
}

static int
source_open(struct weir_reader_ctx *ctx, void *reader, const struct weir_split *split,
	    const struct weir_position *position)
{
	struct reader *r = reader;
	struct weir_error err;

	if (gen_init(&r->gen, weir_reader_params(ctx), &err) != 0)
		return weir_reader_fail(ctx, EXIT_CONFIG, "%s", err.text);
	/* A restored split may be of a run with other settings: another number of events is taken
	 * up, other groups cannot be. */
	if (split->word[S_BLOCK] % r->gen.params.group != 0)
		return weir_reader_fail(ctx, EXIT_CONFIG,
					"job.out-of-order-group is not that of the checkpoint");
	r->end = weir_nexmark_positions(&r->gen);
	r->block = split->word[S_BLOCK];
	r->skip = (split->word[S_SPLITS] - 1) * r->block;
	r->at = position->word[0] != 0 ? position->word[0] : split->begin;
	r->block_end = r->at / r->block * r->block + r->block;
	return 0;
}

static void *
wanted(const struct weir_read *batch, uint32_t column)
{
	return batch->demand >> column & 1 ? batch->col[column] : NULL;
}

static int
source_read(struct weir_reader_ctx *ctx, void *reader, struct weir_read *batch)
{
	struct reader *r = reader;
	const struct weir_nexmark_bids out = {
		.auction = wanted(batch, WEIR_BID_AUCTION),
		.bidder = wanted(batch, WEIR_BID_BIDDER),
		.price = wanted(batch, WEIR_BID_PRICE),
		.time_ns = wanted(batch, WEIR_BID_TIME),
	};
	const uint64_t stop = r->block_end < r->end ? r->block_end : r->end;
	struct weir_nexmark_tally tally = { 0 };

	(void)ctx;
	if (r->at < stop) {
		const uint64_t left = stop - r->at;
		const uint32_t cnt = left < batch->cap ? (uint32_t)left : batch->cap;

		batch->rows = weir_nexmark_bids(&r->gen, r->at, cnt, &out, &tally);
		batch->dropped[KIND] = tally.persons + tally.auctions;
		r->at += cnt;
	}
	if (r->at == r->block_end && r->at < r->end) {
		/* Near 2^64 nothing comes any more. */
		if (__builtin_add_overflow(r->at, r->skip, &r->at))
			r->at = r->end;
		r->block_end = r->at + r->block;
	}
	batch->end = r->at >= r->end;
	batch->watermark_ns = weir_nexmark_watermark(&r->gen, r->at);
	return 0;
}

static void
source_position(const void *reader, struct weir_position *position)
{
	const struct reader *r = reader;

	*position = (struct weir_position){ { r->at } };
}

static void
source_close(void *reader)
{
	(void)reader;
}

const struct weir_connector weir_nexmark_source = {
	.name = "generator",
	.type = &bid,
	.reasons = reasons,
	.reason_cnt = 1,
	.reader_bytes = sizeof(struct reader),
	.enumerate = source_enumerate,
	.open = source_open,
	.read = source_read,
	.position = source_position,
	.close = source_close,
};

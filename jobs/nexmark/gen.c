#include "jobs/nexmark/gen.h"

#include "engine/base/hash.h"

#include <math.h>

#define EPOCH	   50 /* events: 1 person, 3 auctions, 46 bids */
#define EPOCH_BIDS 4  /* where the bids of an epoch begin */
#define NS_PER_MS  1000000
#define FIRST_ID   1000
#define SCRAMBLE   953

static uint64_t
price_step(unsigned k)
{
	return (uint64_t)roundl(powl(10.0L, 6.0L * k / WEIR_NEXMARK_PRICES) * 100.0L);
}

static weir_nexmark_kernel
kernel_for(enum weir_isa isa)
{
	switch (isa) {
	case WEIR_ISA_V4:
		return weir_nexmark_kernel_v4;
	case WEIR_ISA_V3:
		return weir_nexmark_kernel_v3;
	case WEIR_ISA_V2:
		break;
	}
	return weir_nexmark_kernel_v2;
}

int
weir_nexmark_init(struct weir_nexmark *gen, const struct weir_nexmark_params *params,
		  enum weir_isa isa, struct weir_error *err)
{
	if (params->rate == 0)
		return weir_fail(err, WEIR_ERR_CONFIG, "job.event-rate must be at least 1");
	if (params->group == 0 || params->group % SCRAMBLE == 0)
		return weir_fail(err, WEIR_ERR_CONFIG,
				 "job.out-of-order-group is %llu: must be at least 1 and no "
				 "multiple of 953",
				 (unsigned long long)params->group);
	gen->params = *params;
	gen->kernel = kernel_for(isa);
	gen->rate_inverse = UINT64_MAX / params->rate;
	for (unsigned k = 0; k < WEIR_NEXMARK_PRICES; k++)
		gen->price[k] = price_step(k) | (price_step(k + 1) - price_step(k)) << 32;
	return 0;
}

/* x / rate by the inverse of the rate, which is at most one too low. */
WEIR_INLINE uint64_t
by_rate(const struct weir_nexmark *gen, uint64_t x, uint64_t *rest)
{
	const uint64_t rate = gen->params.rate;
	uint64_t quotient = weir_mulhi(x, gen->rate_inverse);
	uint64_t left = x - quotient * rate;

	while (left >= rate) {
		left -= rate;
		quotient++;
	}
	*rest = left;
	return quotient;
}

int64_t
weir_nexmark_time(const struct weir_nexmark *gen, uint64_t n)
{
	uint64_t rest;

	return WEIR_NEXMARK_BASE_NS + (int64_t)by_rate(gen, n * 1000, &rest) * NS_PER_MS;
}

uint64_t
weir_nexmark_positions(const struct weir_nexmark *gen)
{
	const uint64_t group = gen->params.group;
	const uint64_t events = gen->params.events;

	if (events == UINT64_MAX)
		return UINT64_MAX;
	return (events / group + (events % group != 0)) * group;
}

int64_t
weir_nexmark_watermark(const struct weir_nexmark *gen, uint64_t pos)
{
	return weir_nexmark_time(gen, pos - pos % gen->params.group) - 1;
}

static void
epoch_init(struct weir_nexmark_epoch *epoch, uint64_t number)
{
	const uint64_t person = number;		 /* newest */
	const uint64_t auction = 3 * number + 2; /* newest */
	const uint64_t active = person + 1 < 1000 ? person + 1 : 1000;
	const uint64_t oldest = auction < 100 ? 0 : auction - 100;

	*epoch = (struct weir_nexmark_epoch){
		.auction_hot = auction / 100 * 100 + FIRST_ID,
		.auction_min = oldest + FIRST_ID,
		.auction_cnt = auction - oldest + 11,
		.bidder_hot = person / 100 * 100 + 1 + FIRST_ID,
		.bidder_min = person + 1 - active + FIRST_ID,
		.bidder_cnt = active + 10,
	};
}

/* Draw i of the event whose base is mix(seed + n * G). */
WEIR_INLINE uint64_t
draw(uint64_t base, uint64_t i)
{
	return weir_mix(base + (i + 1) * WEIR_GOLDEN);
}

WEIR_INLINE uint64_t
price_of(const struct weir_nexmark *gen, uint64_t x)
{
	const uint64_t step = gen->price[x >> 54];

	return (step & UINT32_MAX) + ((step >> 32) * ((x >> 22) & UINT32_MAX) >> 32);
}

void
weir_nexmark_kernel_v2(const struct weir_nexmark *gen, const struct weir_nexmark_epoch *epoch,
		       uint64_t first, uint32_t cnt, const struct weir_nexmark_bids *out)
{
	for (uint32_t i = 0; i < cnt; i++) {
		const uint64_t base = weir_mix(gen->params.seed + (first + i) * WEIR_GOLDEN);

		if (out->auction != NULL) {
			const uint64_t any = weir_mulhi(draw(base, 1), epoch->auction_cnt);

			out->auction[i] =
				draw(base, 0) >> 63 ? epoch->auction_hot : epoch->auction_min + any;
		}
		if (out->bidder != NULL) {
			const uint64_t any = weir_mulhi(draw(base, 3), epoch->bidder_cnt);

			out->bidder[i] =
				draw(base, 2) >> 62 ? epoch->bidder_hot : epoch->bidder_min + any;
		}
		if (out->price != NULL)
			out->price[i] = price_of(gen, draw(base, 4));
	}
}

/* Times of consecutive events: all the same most often, as an epoch is short. */
static void
fill_times(const struct weir_nexmark *gen, uint64_t first, uint32_t cnt, int64_t *time_ns)
{
	uint64_t rest;
	const uint64_t rate = gen->params.rate;
	int64_t time =
		WEIR_NEXMARK_BASE_NS + (int64_t)by_rate(gen, first * 1000, &rest) * NS_PER_MS;

	if (rest + (uint64_t)(cnt - 1) * 1000 < rate) {
		for (uint32_t i = 0; i < cnt; i++)
			time_ns[i] = time;
		return;
	}
	if (rate < 1000) {
		for (uint32_t i = 0; i < cnt; i++)
			time_ns[i] = weir_nexmark_time(gen, first + i);
		return;
	}
	for (uint32_t i = 0; i < cnt; i++) {
		time_ns[i] = time;
		rest += 1000;
		time += rest >= rate ? NS_PER_MS : 0;
		rest -= rest >= rate ? rate : 0;
	}
}

static struct weir_nexmark_bids
columns_from(const struct weir_nexmark_bids *out, uint32_t row)
{
	return (struct weir_nexmark_bids){
		.auction = out->auction != NULL ? out->auction + row : NULL,
		.bidder = out->bidder != NULL ? out->bidder + row : NULL,
		.price = out->price != NULL ? out->price + row : NULL,
		.time_ns = out->time_ns != NULL ? out->time_ns + row : NULL,
	};
}

/* Bids first..first+cnt-1, all of epoch number, into rows row.. of out. */
static void
fill_bids(const struct weir_nexmark *gen, uint64_t number, uint64_t first, uint32_t cnt,
	  const struct weir_nexmark_bids *out, uint32_t row, weir_nexmark_kernel kernel)
{
	const struct weir_nexmark_bids cols = columns_from(out, row);
	struct weir_nexmark_epoch epoch;

	epoch_init(&epoch, number);
	kernel(gen, &epoch, first, cnt, &cols);
	if (cols.time_ns != NULL)
		fill_times(gen, first, cnt, cols.time_ns);
}

/* Group 1: positions are numbers, one epoch at a time. */
static uint32_t
in_order(const struct weir_nexmark *gen, uint64_t pos, uint32_t cnt,
	 const struct weir_nexmark_bids *out, struct weir_nexmark_tally *tally)
{
	uint64_t number = pos / EPOCH;
	uint32_t at = (uint32_t)(pos - number * EPOCH); /* within the epoch */
	uint32_t rows = 0;

	while (cnt > 0) {
		const uint32_t end = cnt < EPOCH - at ? at + cnt : EPOCH;
		const uint32_t from = at < EPOCH_BIDS ? EPOCH_BIDS : at;
		const uint32_t before = (end < from ? end : from) - at;

		tally->persons += at == 0;
		tally->auctions += before - (at == 0);
		if (end > from) {
			fill_bids(gen, number, number * EPOCH + from, end - from, out, rows,
				  gen->kernel);
			rows += end - from;
		}
		cnt -= end - at;
		at = 0;
		number++;
	}
	return rows;
}

/* Larger groups: every position on its own, its number kept without dividing by the group. */
static uint32_t
scrambled(const struct weir_nexmark *gen, uint64_t pos, uint32_t cnt,
	  const struct weir_nexmark_bids *out, struct weir_nexmark_tally *tally)
{
	const uint64_t group = gen->params.group;
	const uint64_t step = SCRAMBLE % group;
	uint64_t within = pos % group;
	uint64_t start = pos - within;
	uint64_t off = (uint64_t)((weir_u128)within * step % group); /* start adds nothing */
	uint32_t rows = 0;

	for (; cnt > 0; cnt--) {
		const uint64_t n = start + off;
		const uint64_t number = n / EPOCH;
		const uint32_t at = (uint32_t)(n - number * EPOCH);

		if (n >= gen->params.events) {
			tally->absent++;
		} else if (at >= EPOCH_BIDS) {
			fill_bids(gen, number, n, 1, out, rows++, weir_nexmark_kernel_v2);
		} else {
			tally->persons += at == 0;
			tally->auctions += at != 0;
		}
		off += step;
		off -= off >= group ? group : 0;
		if (++within == group) {
			within = 0;
			start += group;
		}
	}
	return rows;
}

uint32_t
weir_nexmark_bids(const struct weir_nexmark *gen, uint64_t pos, uint32_t cnt,
		  const struct weir_nexmark_bids *out, struct weir_nexmark_tally *tally)
{
	uint32_t rows;

	WEIR_ASSERT(cnt <= weir_nexmark_positions(gen));
	WEIR_ASSERT(pos <= weir_nexmark_positions(gen) - cnt);
	rows = gen->params.group == 1 ? in_order(gen, pos, cnt, out, tally)
				      : scrambled(gen, pos, cnt, out, tally);
	tally->bids += rows;
	return rows;
}

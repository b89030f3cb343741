#include "jobs/nexmark/gen.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/rng.h"

/* Rows of one call, with room behind to see what is written too far. */
#define ROWS_MAX 512
#define GUARD	 0x5a5a5a5a5a5a5a5aull

struct rows {
	uint64_t auction[ROWS_MAX + 16];
	uint64_t bidder[ROWS_MAX + 16];
	uint64_t price[ROWS_MAX + 16];
	int64_t time_ns[ROWS_MAX + 16];
};

static struct weir_nexmark_bids
columns(struct rows *rows)
{
	memset(rows, 0x5a, sizeof(*rows));
	return (struct weir_nexmark_bids){ rows->auction, rows->bidder, rows->price,
					   rows->time_ns };
}

static struct weir_nexmark *
make(uint64_t seed, uint64_t rate, uint64_t group, uint64_t events)
{
	const struct weir_nexmark_params params = { seed, rate, group, events };
	struct weir_nexmark *gen = malloc(sizeof(*gen));
	struct weir_error err;

	cr_assert_eq(weir_nexmark_init(gen, &params, weir_isa(), &err), 0);
	return gen;
}

/*
 * The rules once more, as slowly and as literally as they are written down. Only event numbers come
 * in; nothing of the generator is used.
 */
static uint64_t
slow_mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint64_t
slow_draw(uint64_t seed, uint64_t n, uint64_t i)
{
	return slow_mix(slow_mix(seed + n * 0x9e3779b97f4a7c15) + (i + 1) * 0x9e3779b97f4a7c15);
}

static uint64_t
slow_uniform(uint64_t seed, uint64_t n, uint64_t i, uint64_t m)
{
	return (uint64_t)(((weir_u128)slow_draw(seed, n, i) * m) >> 64);
}

static uint64_t
slow_table(uint64_t k)
{
	return (uint64_t)(pow(10.0, 6.0 * (double)k / 1024.0) * 100.0 + 0.5);
}

struct bid {
	uint64_t auction, bidder, price;
	int64_t time_ns;
};

static struct bid
slow_bid(uint64_t seed, uint64_t rate, uint64_t n)
{
	const uint64_t e = n / 50;
	const uint64_t a = 3 * e + 2;
	const uint64_t p = e;
	struct bid bid;

	if (slow_uniform(seed, n, 0, 2) > 0) {
		bid.auction = (a / 100) * 100;
	} else {
		const uint64_t m = a >= 100 ? a - 100 : 0;

		bid.auction = m + slow_uniform(seed, n, 1, a - m + 11);
	}
	if (slow_uniform(seed, n, 2, 4) > 0) {
		bid.bidder = (p / 100) * 100 + 1;
	} else {
		const uint64_t active = p + 1 < 1000 ? p + 1 : 1000;

		bid.bidder = p + 1 - active + slow_uniform(seed, n, 3, active + 10);
	}
	bid.auction += 1000;
	bid.bidder += 1000;
	const uint64_t x = slow_draw(seed, n, 4);
	const uint64_t j = x >> 54;
	const uint64_t f = (x >> 22) & 0xffffffff;

	bid.price = slow_table(j) + ((slow_table(j + 1) - slow_table(j)) * f >> 32);
	bid.time_ns = (int64_t)(1436918400000 + n * 1000 / rate) * 1000000;
	return bid;
}

/* Compare the rows of positions pos..pos+cnt-1 with the rules. */
static void
compare(const struct weir_nexmark *gen, uint64_t pos, uint32_t cnt)
{
	const struct weir_nexmark_params *p = &gen->params;
	static struct rows rows;
	const struct weir_nexmark_bids out = columns(&rows);
	struct weir_nexmark_tally tally = { 0 };
	struct weir_nexmark_tally want = { 0 };
	const uint32_t got = weir_nexmark_bids(gen, pos, cnt, &out, &tally);
	uint32_t row = 0;

	for (uint64_t at = pos; at < pos + cnt; at++) {
		const uint64_t n = at / p->group * p->group + at * 953 % p->group;

		if (n >= p->events) {
			want.absent++;
		} else if (n % 50 == 0) {
			want.persons++;
		} else if (n % 50 < 4) {
			want.auctions++;
		} else {
			const struct bid bid = slow_bid(p->seed, p->rate, n);

			want.bids++;
			cr_assert_eq(rows.auction[row], bid.auction, "event %lu", n);
			cr_assert_eq(rows.bidder[row], bid.bidder, "event %lu", n);
			cr_assert_eq(rows.price[row], bid.price, "event %lu", n);
			cr_assert_eq(rows.time_ns[row], bid.time_ns, "event %lu", n);
			row++;
		}
	}
	cr_assert_eq(got, row);
	cr_assert_eq(memcmp(&tally, &want, sizeof(tally)), 0);
	cr_assert_eq(rows.auction[row], GUARD, "written beyond the last row");
	cr_assert_eq(rows.bidder[row], GUARD);
	cr_assert_eq(rows.price[row], GUARD);
	cr_assert_eq((uint64_t)rows.time_ns[row], GUARD);
}

Test(nexmark_gen, first_bids_are_the_published_ones)
{
	static const uint64_t want[6][3] = {
		{ 1009, 1009, 11314864 }, { 1006, 1001, 499 },	    { 1000, 1001, 153212 },
		{ 1000, 1001, 1347419 },  { 1000, 1001, 16099917 }, { 1000, 1005, 57697 },
	};
	struct weir_nexmark *gen = make(1, 100000, 1, UINT64_MAX);
	static struct rows rows;
	const struct weir_nexmark_bids out = columns(&rows);
	struct weir_nexmark_tally tally = { 0 };

	cr_assert_eq(weir_nexmark_bids(gen, 0, 10, &out, &tally), 6);
	for (unsigned i = 0; i < 6; i++) {
		cr_assert_eq(rows.auction[i], want[i][0]);
		cr_assert_eq(rows.bidder[i], want[i][1]);
		cr_assert_eq(rows.price[i], want[i][2]);
		cr_assert_eq(rows.time_ns[i], 1436918400000000000);
	}
	free(gen);
}

/* Sum of (k + 1) * T[k], worked out with 50 decimal digits by tests/reference/nexmark.py. */
Test(nexmark_gen, prices_are_rounded_exactly)
{
	struct weir_nexmark *gen = make(1, 100000, 1, UINT64_MAX);
	uint64_t sum = 1025ull * 100000000;

	for (uint64_t k = 0; k < 1024; k++)
		sum += (k + 1) * (gen->price[k] & UINT32_MAX);
	cr_assert_eq(sum, 7099260868259);
	free(gen);
}

Test(nexmark_gen, every_position_follows_the_rules)
{
	static const uint64_t rates[] = { 1, 7, 999, 1000, 12345, 100000, 10000000, 3000000000 };
	static const uint64_t groups[] = { 1, 2, 7, 50, 952, 1000, 100003 };
	struct weir_rng rng = { 11 };

	for (unsigned r = 0; r < WEIR_ARRAY_CNT(rates); r++) {
		for (unsigned g = 0; g < WEIR_ARRAY_CNT(groups); g++) {
			struct weir_nexmark *gen =
				make(weir_rng_next(&rng), rates[r], groups[g], UINT64_MAX);

			compare(gen, 0, 300);
			for (unsigned i = 0; i < 40; i++)
				compare(gen, weir_rng_below(&rng, 1ull << (10 + i)),
					(uint32_t)weir_rng_below(&rng, ROWS_MAX));
			free(gen);
		}
	}
}

Test(nexmark_gen, numbers_beyond_the_end_are_absent)
{
	static const uint64_t groups[] = { 1, 7, 50, 1000 };

	for (unsigned g = 0; g < WEIR_ARRAY_CNT(groups); g++) {
		for (uint64_t events = 0; events < 400; events += 13) {
			struct weir_nexmark *gen = make(3, 100000, groups[g], events);
			const uint64_t positions = weir_nexmark_positions(gen);

			cr_assert_eq(positions % groups[g], 0);
			cr_assert_geq(positions, events);
			cr_assert_lt(positions, events + groups[g]);
			for (uint64_t pos = 0; pos < positions; pos += 250)
				compare(gen, pos,
					positions - pos < 250 ? (uint32_t)(positions - pos) : 250);
			free(gen);
		}
	}
}

Test(nexmark_gen, nothing_comes_at_or_below_the_watermark)
{
	static const uint64_t groups[] = { 1, 7, 1000 };

	for (unsigned g = 0; g < WEIR_ARRAY_CNT(groups); g++) {
		struct weir_nexmark *gen = make(3, 20000, groups[g], UINT64_MAX);
		int64_t watermark = WEIR_NEXMARK_BASE_NS - 1;

		for (uint64_t pos = 0; pos < 5000; pos++) {
			const uint64_t n = pos / groups[g] * groups[g] + pos * 953 % groups[g];

			cr_assert_gt(weir_nexmark_time(gen, n), watermark);
			cr_assert_geq(weir_nexmark_watermark(gen, pos), watermark);
			watermark = weir_nexmark_watermark(gen, pos);
		}
		free(gen);
	}
}

static void
kernels_agree(struct weir_nexmark *gen, weir_nexmark_kernel kernel, struct weir_rng *rng)
{
	static struct rows a;
	static struct rows b;
	struct weir_nexmark_bids out[2] = { columns(&a), columns(&b) };
	const struct weir_nexmark_epoch epoch = {
		.auction_hot = weir_rng_next(rng),
		.auction_min = weir_rng_next(rng),
		.auction_cnt = 1 + weir_rng_below(rng, UINT32_MAX),
		.bidder_hot = weir_rng_next(rng),
		.bidder_min = weir_rng_next(rng),
		.bidder_cnt = 1 + weir_rng_below(rng, UINT32_MAX),
	};
	const uint64_t first = weir_rng_next(rng);
	const uint32_t cnt = 1 + (uint32_t)weir_rng_below(rng, 46);
	const uint64_t wanted = weir_rng_below(rng, 8);

	gen->params.seed = weir_rng_next(rng);
	for (unsigned k = 0; k < 2; k++) {
		out[k].auction = wanted & 1 ? out[k].auction : NULL;
		out[k].bidder = wanted & 2 ? out[k].bidder : NULL;
		out[k].price = wanted & 4 ? out[k].price : NULL;
	}
	weir_nexmark_kernel_v2(gen, &epoch, first, cnt, &out[0]);
	kernel(gen, &epoch, first, cnt, &out[1]);
	cr_assert_eq(memcmp(&a, &b, sizeof(a)), 0, "cnt %u, wanted %lu", cnt, wanted);
}

Test(nexmark_gen, vector_kernels_equal_their_scalar_twin)
{
	struct weir_nexmark *gen = make(1, 100000, 1, UINT64_MAX);
	struct weir_rng rng = { 5 };

	for (unsigned i = 0; i < 20000; i++) {
		if (weir_isa() >= WEIR_ISA_V3)
			kernels_agree(gen, weir_nexmark_kernel_v3, &rng);
		if (weir_isa() >= WEIR_ISA_V4)
			kernels_agree(gen, weir_nexmark_kernel_v4, &rng);
	}
	free(gen);
}

Test(nexmark_gen, refuses_groups_that_do_not_reorder)
{
	struct weir_nexmark_params params = { 1, 1000, 0, 10 };
	static const uint64_t bad[] = { 0, 953, 9530 };
	static struct weir_nexmark gen;
	struct weir_error err;

	for (unsigned i = 0; i < WEIR_ARRAY_CNT(bad); i++) {
		params.group = bad[i];
		cr_assert_eq(weir_nexmark_init(&gen, &params, WEIR_ISA_V2, &err), WEIR_ERR_CONFIG);
		cr_assert_not_null(strstr(err.text, "out-of-order-group"));
	}
	params.group = 1;
	params.rate = 0;
	cr_assert_eq(weir_nexmark_init(&gen, &params, WEIR_ISA_V2, &err), WEIR_ERR_CONFIG);
}

/* Frames in flight on their way back (R1, R2, R3, S2): where each row goes, and in which order. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/engine/core/cut.h"

static struct cut cut;
static struct cut_job now;
static struct cut_pool pool;
static struct weir_recovery *rec;
static struct weir_error err;
/* What every row's text was seen as: set when it came out. */
static char *seen[8192];
static uint32_t seen_cnt;

/* A recovery of the cut by a job of this shape; it has read nothing yet. */
static void
prepare(enum weir_partitioner how, uint32_t sources, uint32_t middles)
{
	now = cut_plan(how, sources, middles, true);
	rec = weir_recovery_create(now.plan, &cut.m, &err);
	cr_assert_not_null(rec, "%s", err.text);
	cut_pool_make(&pool, weir_recovery_frame_cnt(rec));
}

/* It is over, and has kept no frame. */
static void
put_away(void)
{
	weir_recovery_drain(rec, &pool.pool);
	weir_frame_pool_drain(&pool.pool);
	cr_assert_eq(pool.free_cnt, pool.source.frame_cnt);
	weir_recovery_destroy(rec);
	cut_pool_fini(&pool);
	cut_plan_fini(&now);
}

static void
start(enum weir_partitioner how, uint32_t sources, uint32_t middles)
{
	prepare(how, sources, middles);
	cr_assert_eq(cut_load(&cut, rec, &pool.pool, &err), 0, "%s", err.text);
	seen_cnt = 0;
}

static void
stop(void)
{
	put_away();
	for (uint32_t i = 0; i < seen_cnt; i++)
		free(seen[i]);
	cut_fini(&cut);
}

/* A row came out at a consumer: it must be its own, as it was, and behind those of its channel. */
static void
take_row(const struct weir_batch *b, uint32_t r, uint32_t consumer, bool keyed, uint64_t *last)
{
	const struct weir_bytes text = weir_bytes(b, CUT_TEXT)[r];
	const uint64_t number = weir_u64(b, CUT_NUMBER)[r];
	char want[24];

	if (keyed)
		cr_assert_eq(weir_emitter_subtask(weir_hash_u64(weir_u64(b, CUT_KEY)[r]),
						  now.plan->max_parallelism_log2,
						  now.plan->op[1].parallelism),
			     consumer);
	cr_assert_gt(number, *last);
	*last = number;
	seen[seen_cnt] = strndup(b->heap[CUT_TEXT] + text.off, text.len);
	snprintf(want, sizeof(want), "-%llu", (unsigned long long)number);
	cr_assert_not_null(strstr(seen[seen_cnt], want));
	seen_cnt++;
}

/* All frames of a lane; watermarks rise. Returns how many. */
static uint32_t
take_lane(struct weir_recovered *lane, uint32_t consumer, bool keyed)
{
	int64_t watermark = INT64_MIN;
	uint64_t last = 0;

	for (uint32_t i = 0; i < lane->frame_cnt; i++) {
		struct weir_frame *f = weir_frame_at(&pool.pool, lane->frames[i]);
		struct weir_batch b;

		cr_assert_eq(f->magic, WEIR_FRAME_MAGIC);
		cr_assert_eq(f->edge, 0);
		cr_assert_eq(f->stamp_ns, 7);
		cr_assert_gt(f->watermark_ns, watermark);
		watermark = f->watermark_ns;
		weir_frame_batch(&now.plan->edge[0].layout, f, &b);
		for (uint32_t r = 0; r < b.rows; r++)
			take_row(&b, r, consumer, keyed, &last);
	}
	return lane->frame_cnt;
}

static uint32_t
first_middle(void)
{
	return now.plan->task[now.plan->op[1].task].first;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
expect_every_row_once(void)
{
	cr_assert_eq(seen_cnt, cut.rows, "%u of %u", seen_cnt, cut.rows);
	qsort(seen, seen_cnt, sizeof(*seen), by_text);
	for (uint32_t i = 1; i < seen_cnt; i++)
		cr_assert_str_neq(seen[i - 1], seen[i]);
}

static void
rescale(enum weir_partitioner how, uint32_t was, uint32_t is)
{
	cut_make(&cut, how, was, was, 2, 1);
	start(how, is, is);
	cr_assert_eq(weir_recovery_in_flight(rec), 3 * was * was);
	for (uint32_t c = 0; c < is; c++) {
		struct weir_recovery_virtual v;

		for (uint32_t i = 0; weir_recovery_virtual(rec, first_middle() + c, i, &v); i++) {
			cr_assert_eq(v.last_seq, 3);
			cr_assert_eq(v.stage, 0);
			cr_assert_eq(v.watermark_ns, 10 + v.producer);
			take_lane(v.lane, c, how == WEIR_HASH);
		}
		/* Its own channels wait for them, and their producers count from there. */
		for (uint32_t p = 0; p < is; p++) {
			uint64_t seq, ord;

			weir_recovery_sent(rec, p * is + c, &seq, &ord);
			cr_assert_eq(seq, 0);
			cr_assert_leq(ord, 1);
		}
	}
	expect_every_row_once();
	stop();
}

static const uint32_t steps[][2] = { { 1, 2 }, { 2, 4 }, { 4, 3 }, { 3, 1 }, { 7, 5 } };

Test(recovery, by_key_every_row_to_its_owner)
{
	for (uint32_t i = 0; i < WEIR_ARRAY_CNT(steps); i++)
		rescale(WEIR_HASH, steps[i][0], steps[i][1]);
}

Test(recovery, rebalance_whole_frames)
{
	for (uint32_t i = 0; i < WEIR_ARRAY_CNT(steps); i++)
		rescale(WEIR_REBALANCE, steps[i][0], steps[i][1]);
}

Test(recovery, at_the_same_parallelism_in_front_of_the_same_channels)
{
	struct weir_recovery_virtual v;

	cut_make(&cut, WEIR_HASH, 2, 3, 2, 2);
	start(WEIR_HASH, 2, 3);
	cr_assert_eq(weir_recovery_frame_cnt(rec), 24);
	for (uint32_t n = 0; n < 6; n++) {
		struct weir_lane real = { .depth = 8 };
		struct weir_lane *lane = weir_recovery_lane(rec, n, &real);
		uint64_t seq, ord;

		cr_assert_neq(lane, &real);
		cr_assert_eq(lane->depth, 4 + 1 + 8);
		cr_assert_eq(take_lane((struct weir_recovered *)lane, n % 3, true), 4);
		weir_recovery_sent(rec, n, &seq, &ord);
		cr_assert_eq(seq, 4);
		cr_assert_eq(ord, 5);
	}
	cr_assert_not(weir_recovery_virtual(rec, first_middle(), 0, &v));
	expect_every_row_once();
	stop();
}

Test(recovery, other_producers_leave_the_consumers_their_frames)
{
	cut_make(&cut, WEIR_HASH, 4, 2, 1, 1);
	start(WEIR_HASH, 3, 2);
	cr_assert_eq(weir_recovery_frame_cnt(rec), 16);
	for (uint32_t c = 0; c < 2; c++) {
		struct weir_recovery_virtual v;
		uint32_t cnt = 0;

		while (weir_recovery_virtual(rec, first_middle() + c, cnt, &v)) {
			take_lane(v.lane, c, true);
			cnt++;
		}
		cr_assert_eq(cnt, 4);
	}
	expect_every_row_once();
	stop();
}

/* What an earlier rescale brought comes before what was sent after it. */
Test(recovery, virtual_channels_keep_their_place)
{
	struct weir_recovery_virtual v;
	uint32_t at_stage[3] = { 0 };

	cut_make(&cut, WEIR_HASH, 2, 2, 1, 0);
	cut_add_virtual(&cut, 0, 6, 2, 3);
	cut_add_virtual(&cut, 0, 7, 3, 1);
	start(WEIR_HASH, 2, 1);
	for (uint32_t i = 0; weir_recovery_virtual(rec, first_middle(), i, &v); i++) {
		take_lane(v.lane, 0, true);
		cr_assert_leq(v.stage, 2);
		at_stage[v.stage] += v.lane->frame_cnt;
		if (v.producer == 6)
			cr_assert_eq(v.watermark_ns, 5);
	}
	cr_assert_eq(at_stage[0], 3 + 2); /* consumer 1 had no virtual channels */
	cr_assert_eq(at_stage[1], 1);
	cr_assert_eq(at_stage[2], 2);
	expect_every_row_once();
	stop();
}

Test(recovery, nothing_in_flight_is_nothing_to_do)
{
	struct weir_lane real = { 0 };

	cut_make(&cut, WEIR_HASH, 2, 2, 0, 0);
	start(WEIR_HASH, 3, 3);
	cr_assert_eq(weir_recovery_frame_cnt(rec), 0);
	cr_assert_eq(weir_recovery_lane(rec, 0, &real), &real);
	stop();
}

static void
refused(enum weir_partitioner how, const char *text)
{
	now = cut_plan(how, 2, 2, true);
	rec = weir_recovery_create(now.plan, &cut.m, &err);
	cr_assert_null(rec);
	cr_assert_eq(err.code, WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, text), "%s", err.text);
	cr_assert_not_null(strstr(err.text, "'source' -> "), "%s", err.text);
	cut_plan_fini(&now);
}

Test(recovery, what_cannot_be_placed_is_refused_by_name)
{
	cut_make(&cut, WEIR_HASH, 2, 2, 1, 0);
	refused(WEIR_REBALANCE, "'middle' holds data in flight by hash, and is rebalance");
	cut.edge.layout++;
	refused(WEIR_HASH, "whose columns or frame size are not those");
	cut.edge.layout--;
	cut.ops[1].id = "other";
	refused(WEIR_HASH, "'other' holds data in flight, and the job has no such edge");
	cut.ops[1].id = "middle";
	/* An edge that holds nothing may be anything. */
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t i = 0; i < 2; i++)
			cut.in[s][i].frame_cnt = 0;
	now = cut_plan(WEIR_REBALANCE, 2, 2, true);
	rec = weir_recovery_create(now.plan, &cut.m, &err);
	cr_assert_not_null(rec);
	weir_recovery_destroy(rec);
	cut_plan_fini(&now);
	cut_fini(&cut);
}

static void
load_fails(const char *text)
{
	prepare(WEIR_HASH, 3, 3);
	cr_assert_eq(cut_load(&cut, rec, &pool.pool, &err), WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, text), "%s", err.text);
	put_away();
}

Test(recovery, frames_that_are_none_are_refused_by_name)
{
	struct weir_frame *f;

	cut_make(&cut, WEIR_HASH, 2, 2, 2, 0);
	f = (void *)(cut.bytes[1][1] + cut.frames[1][1][1].offset);
	f->magic++;
	load_fails("channel 'source' 0 -> 'middle' 1 frame 12: is none");
	f->magic--;
	f->rows = 5000;
	load_fails("frame 12: holds more than a frame can");
	f->rows = 40;
	cut.frames[1][1][1].length -= 1;
	load_fails("frame 12: is shorter than its rows");
	cut.frames[1][1][1].length += 1;
	cut.frames[1][1][1].length += CUT_FRAME_BYTES;
	load_fails("frame 12: is longer than a frame");
	cut.frames[1][1][1].length -= CUT_FRAME_BYTES;
	((uint64_t *)((char *)f + cut.old.plan->edge[0].layout.off[CUT_KEY]))[3] ^= 1ull << 60;
	load_fails("frame 12: holds keys of another subtask");
	((uint64_t *)((char *)f + cut.old.plan->edge[0].layout.off[CUT_KEY]))[3] ^= 1ull << 60;
	cut.frames[1][1][1].segment = 1;
	load_fails("frame 2: of those in flight is in no file");
	cut_fini(&cut);
}

/* Frames that a checkpoint keeps: references, places in segments, and who gives them back when. */
#include "engine/core/capture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES	     400u
#define BUFFER_BYTES 8192u
#define CAP	     300u

static struct weir_capture captures[WEIR_CAPTURES];
static struct weir_frame_pool pool;
static _Atomic uint16_t shared[FRAMES];
static struct weir_layout layout;
/* A writer that takes lists and gives pieces back when told to. */
struct weir_snap_writer {
	struct weir_snap_pieces *list[16];
	uint32_t cnt;
	uint32_t room; /* lists that it takes */
};
static struct weir_snap_writer writer;

static bool
take_pieces(struct weir_snap_writer *w, struct weir_snap_pieces *list)
{
	if (w->cnt == w->room)
		return false;
	w->list[w->cnt++] = list;
	return true;
}
static const struct weir_snapshot_ops ops = { .pieces = take_pieces };

static const struct weir_layout *
layout_of(void *arg, uint32_t side, uint32_t end)
{
	(void)arg;
	(void)side;
	(void)end;
	return &layout;
}

static void
setup(void)
{
	static const struct weir_column columns[] = { WEIR_U64("a"), WEIR_U64("b") };
	static const struct weir_type type = { "pair", 2, columns };

	cr_assert(weir_layout_init(&layout, &type, 3, BUFFER_BYTES));
	writer = (struct weir_snap_writer){ .room = 16 };
	pool = (struct weir_frame_pool){ .shared = shared, .buffer_bytes = BUFFER_BYTES };
	pool.base = aligned_alloc(WEIR_PAGE, (size_t)FRAMES * BUFFER_BYTES);
	memset(pool.base, 0, (size_t)FRAMES * BUFFER_BYTES);
	for (uint32_t i = 0; i < FRAMES; i++) {
		struct weir_frame *f = weir_frame_at(&pool, i);

		f->magic = WEIR_FRAME_MAGIC;
		f->rows = i % 3 == 0 ? 0 : layout.cap;
		atomic_store(&shared[i], 0);
	}
	for (uint32_t i = 0; i < WEIR_CAPTURES; i++) {
		const struct weir_capture_memory m = {
			calloc(CAP, sizeof(*m.frame)), calloc(CAP, sizeof(*m.piece)),
			calloc(CAP, sizeof(*m.frame_of)),
			calloc(weir_capture_segments(&pool, CAP), sizeof(*m.list))
		};

		weir_capture_init(&captures[i], &pool, CAP, &m);
	}
}

static void
teardown(void)
{
	for (uint32_t i = 0; i < WEIR_CAPTURES; i++) {
		free(captures[i].frame);
		free(captures[i].piece);
		free(captures[i].frame_of);
		free(captures[i].list);
	}
	free(pool.base);
}

TestSuite(capture, .init = setup, .fini = teardown);

static void
keep(struct weir_capture *c, uint32_t side, uint32_t end, uint32_t ref)
{
	const struct weir_item item = { .ref = ref, .seq = ref + 1, .kind = WEIR_ITEM_DATA };

	weir_capture_keep(c, side, end, &item);
}

static void
give_back_all(void)
{
	for (uint32_t l = 0; l < writer.cnt; l++)
		for (uint32_t i = 0, cnt = writer.list[l]->cnt; i < cnt; i++)
			writer.list[l]->release(writer.list[l], i);
	writer.cnt = 0;
}

static uint32_t
references(void)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < FRAMES; i++)
		sum += atomic_load(&shared[i]);
	return sum;
}

Test(capture, frames_lie_in_segments_that_a_reader_can_hold)
{
	const uint32_t operators[WEIR_CHAIN_MAX] = { 5, 6, 7 };
	struct weir_capture *c = weir_capture_of(captures, WEIR_CAPTURES, 9);

	for (uint32_t i = 0; i < CAP; i++)
		keep(c, i % 2 == 0 ? 0 : 1 + i % 3, i % 4, i);
	cr_assert_eq(references(), CAP);
	cr_assert_eq(c->input_cnt, CAP / 2);
	weir_capture_sort(c, layout_of, NULL, operators, 3);
	cr_assert(weir_capture_hand_over(c, &ops, &writer));
	for (uint32_t i = 0; i < CAP; i++) {
		const struct weir_captured *f = &c->frame[i];

		cr_assert_eq(f->length, i % 3 == 0 ? 64 : layout.off[1] + layout.cap * 8);
		cr_assert_eq(f->offset % WEIR_PAGE, WEIR_FRAME_HEADROOM);
		cr_assert_leq(f->offset + f->length, WEIR_SNAP_SEGMENT_MAX);
	}
	for (uint32_t l = 0; l < writer.cnt; l++) {
		const struct weir_snap_pieces *list = writer.list[l];
		uint64_t bytes = WEIR_SNAP_PIECES_AT;

		for (uint32_t i = 0; i < list->cnt; i++)
			bytes += list->piece[i].len;
		cr_assert_leq(bytes, WEIR_SNAP_SEGMENT_MAX);
		cr_assert_eq(list->subtask, 3);
		cr_assert(list->state_idx == WEIR_CAPTURE_INPUT ? list->operator_idx == 5
								: list->operator_idx >= 5);
	}
	/* Written, but not acknowledged: the references are back, the slot is not. */
	give_back_all();
	cr_assert_eq(references(), 0);
	cr_assert_eq(weir_capture_find(captures, WEIR_CAPTURES, 9), c);
	weir_capture_over(c);
	cr_assert_null(weir_capture_find(captures, WEIR_CAPTURES, 9));
	cr_assert_eq(c->id, 0);
}

Test(capture, given_up_while_it_is_written)
{
	const uint32_t operators[WEIR_CHAIN_MAX] = { 0 };
	struct weir_capture *c = weir_capture_of(captures, WEIR_CAPTURES, 1);
	struct weir_capture *next;

	keep(c, 0, 0, 4);
	keep(c, 0, 0, 5);
	weir_capture_sort(c, layout_of, NULL, operators, 0);
	cr_assert(weir_capture_hand_over(c, &ops, &writer));
	weir_capture_over(c);
	/* The writer may still read the memory. */
	cr_assert_eq(references(), 2);
	next = weir_capture_of(captures, WEIR_CAPTURES, 2);
	cr_assert_neq(next, c);
	cr_assert_null(weir_capture_of(captures, WEIR_CAPTURES, 3));
	give_back_all();
	cr_assert_eq(references(), 0);
	cr_assert_not_null(weir_capture_of(captures, WEIR_CAPTURES, 3));
	weir_capture_over(next);
}

Test(capture, given_up_before_gives_back_at_once)
{
	struct weir_capture *c = weir_capture_of(captures, WEIR_CAPTURES, 1);

	keep(c, 0, 0, 4);
	weir_capture_over(c);
	cr_assert_eq(references(), 0);
	cr_assert_eq(c->id, 0);
}

Test(capture, a_writer_without_room_is_asked_again)
{
	const uint32_t operators[WEIR_CHAIN_MAX] = { 0, 1 };
	struct weir_capture *c = weir_capture_of(captures, WEIR_CAPTURES, 1);

	keep(c, 0, 0, 4);
	keep(c, 2, 0, 5);
	weir_capture_sort(c, layout_of, NULL, operators, 0);
	writer.room = 1;
	cr_assert_not(weir_capture_hand_over(c, &ops, &writer));
	writer.room = 2;
	cr_assert(weir_capture_hand_over(c, &ops, &writer));
	cr_assert_eq(writer.cnt, 2, "no list twice");
	cr_assert_eq(writer.list[1]->state_idx, WEIR_CAPTURE_OUTPUT);
	cr_assert_eq(writer.list[1]->operator_idx, 1);
	weir_capture_over(c);
	give_back_all();
	cr_assert_eq(references(), 0);
}

Test(capture, what_finds_no_room_is_lost_and_takes_no_reference)
{
	struct weir_capture *c = weir_capture_of(captures, WEIR_CAPTURES, 1);

	for (uint32_t i = 0; i <= CAP; i++)
		keep(c, 0, 0, i);
	cr_assert(c->lost);
	cr_assert_eq(references(), CAP);
	weir_capture_over(c);
	cr_assert_eq(references(), 0);
	cr_assert_not(captures[0].lost, "the next one starts afresh");
}

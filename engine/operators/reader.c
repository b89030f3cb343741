#include "engine/operators/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

int
weir_splits_add(struct weir_splits *splits, const struct weir_split *split)
{
	struct weir_split_list *list = (struct weir_split_list *)splits;

	if (list->cnt == list->cap) {
		const uint32_t cap = list->cap == 0 ? 64 : list->cap * 2;
		struct weir_split *grown = realloc(list->split, cap * sizeof(*grown));

		if (grown == NULL)
			return weir_fail(&list->error, WEIR_ERR_FAILED, "no memory for %u splits",
					 cap);
		list->split = grown;
		list->cap = cap;
	}
	list->split[list->cnt] = *split;
	list->split[list->cnt].name = strdup(split->name != NULL ? split->name : "");
	if (list->split[list->cnt].name == NULL)
		return weir_fail(&list->error, WEIR_ERR_FAILED, "no memory for a split");
	list->cnt++;
	return 0;
}

void
weir_splits_warn(struct weir_splits *splits, const char *fmt, ...)
{
	struct weir_split_list *list = (struct weir_split_list *)splits;
	char(*grown)[WEIR_WARNING_BYTES] =
		realloc(list->warning, (list->warning_cnt + 1) * sizeof(*grown));
	va_list ap;

	if (grown == NULL)
		return;
	list->warning = grown;
	va_start(ap, fmt);
	vsnprintf(list->warning[list->warning_cnt++], sizeof(*grown), fmt, ap);
	va_end(ap);
}

int
weir_splits_fail(struct weir_splits *splits, int code, const char *fmt, ...)
{
	struct weir_split_list *list = (struct weir_split_list *)splits;
	va_list ap;

	list->error.code = code;
	va_start(ap, fmt);
	vsnprintf(list->error.text, sizeof(list->error.text), fmt, ap);
	va_end(ap);
	return code;
}

void
weir_split_list_fini(struct weir_split_list *list)
{
	for (uint32_t i = 0; i < list->cnt; i++)
		free((void *)(uintptr_t)list->split[i].name);
	free(list->split);
	free(list->warning);
	*list = (struct weir_split_list){ 0 };
}

/* ---- what a reader may ask of its surroundings ---- */

const struct weir_params *
weir_reader_params(const struct weir_reader_ctx *ctx)
{
	return ctx->op->params;
}

void
weir_reader_warn(struct weir_reader_ctx *ctx, const char *fmt, ...)
{
	char text[WEIR_WARNING_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (ctx->warn != NULL)
		ctx->warn(ctx->warn_arg, text);
}

int
weir_reader_fail(struct weir_reader_ctx *ctx, int code, const char *fmt, ...)
{
	va_list ap;

	ctx->op->error.code = code;
	va_start(ap, fmt);
	vsnprintf(ctx->op->error.text, sizeof(ctx->op->error.text), fmt, ap);
	va_end(ap);
	return code;
}

/* ---- readers ---- */

void
weir_readers_grow(struct weir_readers *r)
{
	const size_t bytes = weir_align_up(r->connector->reader_bytes + 1, WEIR_LINE);

	r->reader = realloc(r->reader, (r->reader_cnt + 1u) * sizeof(*r->reader));
	WEIR_ASSERT(r->reader != NULL);
	r->reader[r->reader_cnt] =
		(struct weir_reader){ .memory = aligned_alloc(WEIR_LINE, bytes) };
	WEIR_ASSERT(r->reader[r->reader_cnt].memory != NULL);
	r->reader_cnt++;
}

struct weir_readers *
weir_readers_create(const struct weir_connector *connector, struct weir_operator_ctx *op,
		    uint32_t split_cnt)
{
	struct weir_readers *r = calloc(1, sizeof(*r));

	WEIR_ASSERT(r != NULL);
	r->connector = connector;
	r->ctx.op = op;
	r->hold_ns = WEIR_TIME_NONE;
	r->watermark_ns = WEIR_TIME_NONE;
	weir_readers_grow(r);
	r->finished = calloc(split_cnt + 1, sizeof(r->finished[0]));
	WEIR_ASSERT(r->finished != NULL);
	return r;
}

void
weir_readers_destroy(struct weir_readers *r)
{
	if (r == NULL)
		return;
	for (uint32_t i = 0; i < r->reader_cnt; i++) {
		if (r->reader[i].open && r->connector->close != NULL)
			r->connector->close(r->reader[i].memory);
		free(r->reader[i].memory);
	}
	free(r->reader);
	free(r->finished);
	free(r);
}

void
weir_readers_give(struct weir_readers *r, const struct weir_split_given *given)
{
	for (uint32_t i = 0; i < r->reader_cnt; i++) {
		struct weir_reader *s = &r->reader[i];

		if (s->used)
			continue;
		s->used = true;
		s->open = false;
		s->given = *given;
		s->watermark_ns = given->split.hold_ns;
		r->active++;
		r->wanted = false;
		return;
	}
	WEIR_ASSERT(!"a reader is free for the split that was asked for");
}

int64_t
weir_readers_watermark(struct weir_readers *r)
{
	int64_t min = r->no_more ? WEIR_TIME_END : r->hold_ns;

	for (uint32_t i = 0; i < r->reader_cnt; i++)
		if (r->reader[i].used && r->reader[i].watermark_ns < min)
			min = r->reader[i].watermark_ns;
	/* The end of all input is announced by the end of data, not before. */
	if (min == WEIR_TIME_END && r->active > 0)
		min = WEIR_TIME_END - 1;
	if (min > r->watermark_ns)
		r->watermark_ns = min;
	return r->watermark_ns;
}

/* Rows that the schedule allows now. */
static uint32_t
allowance(struct weir_readers *r, int64_t now_ns, uint32_t cap)
{
	uint64_t due;

	if (r->rate == 0)
		return cap;
	if (r->start_ns == 0)
		r->start_ns = now_ns;
	due = (uint64_t)((weir_u128)(uint64_t)(now_ns - r->start_ns) * r->rate / 1000000000u);
	if (due <= r->paced)
		return 0;
	return due - r->paced < cap ? (uint32_t)(due - r->paced) : cap;
}

static struct weir_reader *
pick(struct weir_readers *r)
{
	for (uint32_t i = 0; i < r->reader_cnt; i++) {
		struct weir_reader *s = &r->reader[r->next];

		r->next = r->next + 1 == r->reader_cnt ? 0 : r->next + 1;
		if (s->used)
			return s;
	}
	return NULL;
}

static int
open_reader(struct weir_readers *r, struct weir_reader *s)
{
	int rc;

	memset(s->memory, 0, r->connector->reader_bytes);
	rc = r->connector->open(&r->ctx, s->memory, &s->given.split, &s->given.position);
	if (rc == 0)
		s->open = true;
	return rc;
}

static void
end_reader(struct weir_readers *r, struct weir_reader *s)
{
	if (r->connector->close != NULL)
		r->connector->close(s->memory);
	s->open = false;
	s->used = false;
	r->active--;
	r->finished[r->finished_cnt++] = s->given.idx;
	weir_count_add(&r->splits, 1);
}

static int
emit(struct weir_readers *r, int64_t now_ns)
{
	struct weir_out *out = &r->ctx.op->out;
	struct weir_read *b = &r->batch;

	(void)weir_out_rows(out);
	out->batch.rows = b->rows;
	out->batch.selected = b->rows;
	out->batch.stamp_ns = r->stamp ? now_ns : 0;
	r->ctx.op->host->stamp_ns = out->batch.stamp_ns;
	return weir_out_emit(out);
}

/* Field by field: clearing the whole is a string instruction, which costs more than it clears. */
static void
batch_start(struct weir_read *b, const struct weir_out *out, uint32_t cap, int64_t now_ns)
{
	b->cap = cap;
	b->demand = out->demand;
	memcpy(b->col, out->own, sizeof(b->col));
	b->heap = out->heap;
	b->heap_cap = out->heap_cap;
	b->now_ns = now_ns;
	b->rows = 0;
	b->heap_len = 0;
	b->watermark_ns = WEIR_TIME_NONE;
	b->bytes = 0;
	memset(b->dropped, 0, sizeof(b->dropped));
	b->truncated = 0;
	b->end = false;
}

int
weir_readers_read(struct weir_readers *r, int64_t now_ns, uint32_t *rows)
{
	struct weir_operator_ctx *op = r->ctx.op;
	struct weir_read *b = &r->batch;
	struct weir_reader *s;
	uint64_t dropped = 0;
	uint32_t cap;
	int rc;

	*rows = 0;
	if (r->active == 0)
		return 0;
	cap = allowance(r, now_ns, op->out.cap);
	if (cap == 0)
		return 0;
	s = pick(r);
	if (!s->open && (rc = open_reader(r, s)) != 0)
		return rc;
	batch_start(b, &op->out, cap, now_ns);
	rc = r->connector->read(&r->ctx, s->memory, b);
	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < r->connector->reason_cnt; i++) {
		dropped += b->dropped[i];
		if (b->dropped[i] > 0)
			weir_operator_drop(op, i, b->dropped[i]);
	}
	if (b->truncated > 0)
		weir_operator_truncated(op, b->truncated);
	if (b->watermark_ns > s->watermark_ns)
		s->watermark_ns = b->watermark_ns;
	weir_count_add(&r->rows, b->rows + dropped);
	weir_count_add(&r->bytes, b->bytes);
	r->paced += b->rows;
	*rows = b->rows + (uint32_t)dropped;
	rc = b->rows > 0 ? emit(r, now_ns) : 0;
	if (rc == 0 && b->end)
		end_reader(r, s);
	return rc;
}

void
weir_readers_position(const struct weir_readers *r, uint32_t slot, struct weir_position *position)
{
	const struct weir_reader *s = &r->reader[slot];

	if (s->open)
		r->connector->position(s->memory, position);
	else
		*position = s->given.position;
}

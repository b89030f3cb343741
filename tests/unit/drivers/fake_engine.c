#include "tests/unit/drivers/fake_engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
weir_splits_add(struct weir_splits *splits, const struct weir_split *split)
{
	splits->list = realloc(splits->list, (splits->cnt + 1) * sizeof(*split));
	splits->list[splits->cnt] = *split;
	splits->list[splits->cnt].name = strdup(split->name);
	splits->cnt++;
	return 0;
}

void
weir_splits_warn(struct weir_splits *splits, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(splits->warning[splits->warning_cnt++ % 16], FAKE_TEXT, fmt, ap);
	va_end(ap);
}

int
weir_splits_fail(struct weir_splits *splits, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(splits->error, FAKE_TEXT, fmt, ap);
	va_end(ap);
	splits->code = code;
	return code;
}

void
fake_splits_free(struct weir_splits *splits)
{
	for (uint32_t i = 0; i < splits->cnt; i++)
		free((void *)(uintptr_t)splits->list[i].name);
	free(splits->list);
	memset(splits, 0, sizeof(*splits));
}

const struct weir_params *
weir_reader_params(const struct weir_reader_ctx *ctx)
{
	return ctx->params;
}

void
weir_reader_warn(struct weir_reader_ctx *ctx, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ctx->warning[ctx->warning_cnt++ % 16], FAKE_TEXT, fmt, ap);
	va_end(ap);
}

int
weir_reader_fail(struct weir_reader_ctx *ctx, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ctx->error, FAKE_TEXT, fmt, ap);
	va_end(ap);
	ctx->code = code;
	return code;
}

const char *
weir_param_text(const struct weir_params *params, const char *name, const char *def)
{
	const char *text = NULL;

	if (strcmp(name, "input") == 0)
		text = params->input;
	else if (strcmp(name, "out-of-order") == 0)
		text = params->out_of_order;
	return text != NULL ? text : def;
}

int64_t
weir_param_time_ns(const struct weir_params *params, const char *name, int64_t def)
{
	return strcmp(name, "out-of-order") == 0 && params->out_of_order != NULL
		       ? params->out_of_order_ns
		       : def;
}

bool
weir_param_bool(const struct weir_params *params, const char *name, bool def)
{
	if (strcmp(name, "strict") == 0)
		return params->strict;
	if (strcmp(name, "skip-unsupported") == 0)
		return params->skip_unsupported;
	return def;
}

uint64_t
weir_param_u64(const struct weir_params *params, const char *name, uint64_t def)
{
	if (strcmp(name, "events") == 0)
		return params->events;
	if (strcmp(name, "seed") == 0)
		return params->seed;
	if (strcmp(name, "event-rate") == 0)
		return params->event_rate;
	if (strcmp(name, "out-of-order-group") == 0)
		return params->group;
	return def;
}

static void
batch_init(struct weir_read *batch, const struct weir_type *type, uint32_t cap, uint32_t heap_cap)
{
	uint32_t c;

	memset(batch, 0, sizeof(*batch));
	batch->cap = cap;
	batch->demand = ~0u;
	batch->heap_cap = heap_cap;
	batch->heap = malloc(heap_cap + 1);
	for (c = 0; c < type->column_cnt; c++)
		batch->col[c] = malloc((size_t)cap * type->columns[c].width);
}

static void
batch_fini(struct weir_read *batch, const struct weir_type *type)
{
	uint32_t c;

	for (c = 0; c < type->column_cnt; c++)
		free(batch->col[c]);
	free(batch->heap);
}

static void
add_sums(struct fake_sums *sums, const struct weir_read *batch)
{
	uint32_t i;

	sums->rows += batch->rows;
	sums->bytes += batch->bytes;
	sums->truncated += batch->truncated;
	for (i = 0; i < 8; i++)
		sums->dropped[i] += batch->dropped[i];
	sums->reads++;
}

int
fake_read_split(const struct weir_connector *connector, struct weir_reader_ctx *ctx,
		const struct weir_split *split, uint32_t cap, uint32_t heap_cap, uint32_t reopen,
		struct fake_sums *sums, fake_rows_fn rows, void *arg)
{
	void *reader = calloc(1, connector->reader_bytes);
	struct weir_position position = { { 0 } };
	struct weir_read batch;
	int rc;

	memset(sums, 0, sizeof(*sums));
	rc = connector->open(ctx, reader, split, &position);
	for (bool end = false; rc == 0 && !end;) {
		/* Fresh memory each time, so that a sanitizer sees every byte too far. */
		batch_init(&batch, connector->type, cap, heap_cap);
		batch.watermark_ns = WEIR_TIME_NONE;
		rc = connector->read(ctx, reader, &batch);
		if (rc == 0) {
			add_sums(sums, &batch);
			if (rows != NULL)
				rows(arg, &batch);
		}
		end = batch.end;
		batch_fini(&batch, connector->type);
		if (rc == 0 && !end && reopen != 0 && sums->reads % reopen == 0) {
			connector->position(reader, &position);
			connector->close(reader);
			memset(reader, 0, connector->reader_bytes);
			rc = connector->open(ctx, reader, split, &position);
		}
	}
	connector->close(reader);
	free(reader);
	return rc;
}

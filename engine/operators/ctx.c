#include "engine/operators/ctx.h"

#include <stdarg.h>
#include <stdio.h>

static struct weir_operator_ctx *
ctx_of(const struct weir_out *out)
{
	return WEIR_CONTAINER(out, struct weir_operator_ctx, out);
}

int
weir_ctx_reserve(struct weir_operator_ctx *ctx, uint32_t rows)
{
	/* All states share one region: each is asked for what all of them may take. */
	for (uint32_t s = 0; s < ctx->state_cnt; s++) {
		for (;;) {
			const enum weir_state_room room =
				weir_kstate_reserve(ctx->state[s], rows * ctx->state_cnt);

			if (room == WEIR_STATE_ROOM)
				break;
			if (room == WEIR_STATE_FULL)
				return weir_kstate_full(ctx->state[s], &ctx->error);
			ctx->host->relieve(ctx->host);
		}
	}
	return 0;
}

int
weir_ctx_process(struct weir_operator_ctx *ctx, const struct weir_batch *in)
{
	const int rc = ctx->op->process(ctx, in, &ctx->out);

	if (WEIR_LIKELY(rc != WEIR_MORE))
		return rc;
	if (ctx->op->more == NULL)
		return weir_operator_fail(ctx, "process has more, but there is no function more");
	ctx->more = true;
	ctx->host->more = true;
	return 0;
}

static int
hand_on(struct weir_operator_ctx *ctx, const struct weir_batch *batch)
{
	int rc;

	weir_count_add(&ctx->rows_in, batch->selected);
	if (ctx->state_cnt > 0) {
		/* A row can make an entry and the table of its namespace. */
		rc = weir_ctx_reserve(ctx, 2 * batch->selected);
		if (WEIR_UNLIKELY(rc != 0))
			return rc;
	}
	return weir_ctx_process(ctx, batch);
}

int
weir_ctx_emit(struct weir_out *out, const struct weir_batch *batch)
{
	struct weir_operator_ctx *ctx = ctx_of(out);

	WEIR_ASSERT_HOT(batch->selected <= WEIR_BATCH_ROWS);
	weir_count_add(&ctx->rows_out, batch->selected);
	ctx->host->emitted += batch->selected;
	if (out->batch.stamp_ns == 0)
		out->batch.stamp_ns = ctx->host->stamp_ns;
	for (uint32_t e = 0; e < ctx->emitter_cnt; e++)
		weir_emitter_emit(ctx->emitters[e], batch, ctx->host->now_ns);
	return ctx->next != NULL ? hand_on(ctx->next, batch) : 0;
}

bool
weir_out_full(const struct weir_out *out)
{
	const struct weir_operator_ctx *ctx = ctx_of(out);

	return ctx->host->full(ctx->host);
}

void *
weir_operator_local(struct weir_operator_ctx *ctx)
{
	return ctx->local;
}

const void *
weir_operator_arg(const struct weir_operator_ctx *ctx)
{
	return ctx->op->arg;
}

uint32_t
weir_operator_subtask(const struct weir_operator_ctx *ctx)
{
	return ctx->subtask;
}

uint32_t
weir_operator_parallelism(const struct weir_operator_ctx *ctx)
{
	return ctx->parallelism;
}

const struct weir_params *
weir_operator_params(const struct weir_operator_ctx *ctx)
{
	return ctx->params;
}

int64_t
weir_operator_watermark(const struct weir_operator_ctx *ctx)
{
	return ctx->watermark_ns;
}

void
weir_operator_drop(struct weir_operator_ctx *ctx, uint32_t reason, uint64_t rows)
{
	WEIR_ASSERT(reason < WEIR_REASONS_MAX);
	weir_count_add(&ctx->dropped[reason], rows);
}

void
weir_operator_reasons(struct weir_operator_ctx *ctx, const char *const *names, uint32_t cnt)
{
	WEIR_ASSERT(cnt <= WEIR_REASONS_MAX);
	ctx->reasons = names;
	ctx->reason_cnt = cnt;
}

void
weir_operator_truncated(struct weir_operator_ctx *ctx, uint64_t values)
{
	weir_count_add(&ctx->truncated, values);
}

int
weir_operator_fail(struct weir_operator_ctx *ctx, const char *fmt, ...)
{
	va_list ap;

	ctx->error.code = WEIR_ERR_FAILED;
	va_start(ap, fmt);
	vsnprintf(ctx->error.text, sizeof(ctx->error.text), fmt, ap);
	va_end(ap);
	return ctx->error.code;
}

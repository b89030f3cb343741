/* include/weir/state.h over the backend contract. */
#include "weir/state.h"

#include "engine/operators/ctx.h"

void
weir_ctx_keys(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_keys *keys)
{
	*keys = (struct weir_keys){ 0 };
	if (ctx->key.bytes == 0) {
		keys->bytes = weir_bytes(in, ctx->key.column[0]);
		keys->heap = in->heap[ctx->key.column[0]];
	} else {
		keys->fixed = weir_key_pack(&ctx->key, in, ctx->pack);
	}
}

static struct weir_table *
table(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns, bool make)
{
	WEIR_ASSERT(state < ctx->state_cnt);
	return weir_kstate_table(ctx->state[state], ns, make);
}

void **
weir_state_batch(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns,
		 const struct weir_batch *in)
{
	struct weir_keys keys;

	weir_ctx_keys(ctx, in, &keys);
	weir_table_batch(table(ctx, state, ns, true), &keys, in->sel, in->selected, ctx->values);
	return ctx->values;
}

void
weir_state_add(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns,
	       const struct weir_batch *in, const uint64_t *values, uint64_t *sums)
{
	struct weir_keys keys;

	weir_ctx_keys(ctx, in, &keys);
	weir_table_add_u64(table(ctx, state, ns, true), &keys, in->sel, in->selected, values, sums);
}

void *
weir_state_put(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns, const void *key,
	       uint32_t len, uint64_t group_hash)
{
	return weir_table_put(table(ctx, state, ns, true), key, len, group_hash);
}

void *
weir_state_get(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns, const void *key,
	       uint32_t len, uint64_t group_hash)
{
	struct weir_table *t = table(ctx, state, ns, false);

	if (t == NULL || weir_table_get(t, key, len, group_hash) == NULL)
		return NULL;
	/* It is there, so nothing is made: the value for writing. */
	return weir_table_put(t, key, len, group_hash);
}

uint64_t
weir_state_hash(const void *key, uint32_t len)
{
	return weir_key_hash(WEIR_KEY_FIXED, key, len);
}

bool
weir_state_next(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns, uint64_t *cursor,
		const void **key, uint32_t *len, const void **value)
{
	struct weir_table *t = table(ctx, state, ns, false);
	const struct weir_table_scan scan = WEIR_TABLE_SCAN_READ;
	struct weir_table_entry entry;

	if (t == NULL || weir_table_next(t, &scan, cursor, &entry, 1) == 0)
		return false;
	ctx->key_u64 = entry.key_u64;
	*key = entry.key == &entry.key_u64 ? (const void *)&ctx->key_u64 : entry.key;
	*len = entry.key_len;
	*value = entry.value;
	return true;
}

void
weir_state_drop(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns)
{
	struct weir_table *t = table(ctx, state, ns, false);

	if (t != NULL)
		weir_table_drop(t);
}

bool
weir_state_namespace(struct weir_operator_ctx *ctx, uint32_t state, int64_t from, int64_t *ns)
{
	struct weir_table *t;

	WEIR_ASSERT(state < ctx->state_cnt);
	t = weir_kstate_table_from(ctx->state[state], from);
	if (t == NULL)
		return false;
	*ns = weir_table_ns(t);
	return true;
}

uint64_t
weir_state_count(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns)
{
	struct weir_table *t = table(ctx, state, ns, false);

	return t == NULL ? 0 : weir_table_count(t);
}

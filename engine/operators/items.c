/* include/weir/operator_state.h: an operator's own lists and maps. */
#include "weir/operator_state.h"

#include "engine/operators/ctx.h"

static struct weir_opstate *
state_of(struct weir_operator_ctx *ctx, uint32_t state)
{
	WEIR_ASSERT(state < ctx->opstate_cnt);
	return &ctx->opstate[state];
}

static struct weir_opstate *
list_of(struct weir_operator_ctx *ctx, uint32_t state)
{
	struct weir_opstate *s = state_of(ctx, state);

	WEIR_ASSERT(s->decl.kind != WEIR_BROADCAST_MAP);
	return s;
}

static struct weir_opstate *
map_of(struct weir_operator_ctx *ctx, uint32_t state)
{
	struct weir_opstate *s = state_of(ctx, state);

	WEIR_ASSERT(s->decl.kind == WEIR_BROADCAST_MAP);
	return s;
}

/* Does a length fit the declaration? want 0: byte strings of at most max. */
static int
check_len(struct weir_operator_ctx *ctx, const struct weir_opstate *s, const char *what,
	  uint32_t len, uint32_t want, uint32_t max)
{
	if (want > 0 && len != want)
		return weir_operator_fail(ctx, "state '%s': %s of %u bytes, it is declared with %u",
					  s->decl.name, what, len, want);
	if (len > max)
		return weir_operator_fail(ctx, "state '%s': %s of %u bytes, at most %u",
					  s->decl.name, what, len, max);
	return 0;
}

static int
full(struct weir_operator_ctx *ctx, const struct weir_opstate *s, uint64_t bytes)
{
	return weir_operator_fail(
		ctx,
		"state '%s' is full: %llu entries, of %llu bytes %llu are used, "
		"and %llu more are wanted: raise bytes_max of its declaration",
		s->decl.name, (unsigned long long)s->cnt, (unsigned long long)s->cap,
		(unsigned long long)(s->used - s->gone), (unsigned long long)bytes);
}

uint64_t
weir_operator_state_count(struct weir_operator_ctx *ctx, uint32_t state)
{
	return state_of(ctx, state)->cnt;
}

void
weir_operator_state_clear(struct weir_operator_ctx *ctx, uint32_t state)
{
	weir_opstate_clear(state_of(ctx, state));
}

int
weir_operator_list_add(struct weir_operator_ctx *ctx, uint32_t state, const void *item,
		       uint32_t len)
{
	struct weir_opstate *s = list_of(ctx, state);
	const int rc =
		check_len(ctx, s, "an item", len, s->decl.item_bytes, WEIR_OPERATOR_STATE_ITEM_MAX);

	if (rc != 0)
		return rc;
	return weir_opstate_add(s, item, len) ? 0 : full(ctx, s, weir_opstate_entry_bytes(0, len));
}

bool
weir_operator_list_next(struct weir_operator_ctx *ctx, uint32_t state, uint64_t *cursor,
			const void **item, uint32_t *len)
{
	const struct weir_opstate_entry *e = weir_opstate_next(list_of(ctx, state), cursor);

	if (e == NULL)
		return false;
	*item = weir_opstate_item(e);
	*len = e->len;
	return true;
}

static bool
lies_in(const struct weir_opstate *s, const void *bytes)
{
	const uintptr_t at = (uintptr_t)bytes, first = (uintptr_t)s->at;

	return at >= first && at < first + s->cap;
}

int
weir_operator_map_put(struct weir_operator_ctx *ctx, uint32_t state, const void *key,
		      uint32_t key_len, const void *value, uint32_t len)
{
	struct weir_opstate *s = map_of(ctx, state);
	int rc =
		check_len(ctx, s, "a key", key_len, s->decl.key_bytes, WEIR_OPERATOR_STATE_KEY_MAX);

	if (rc == 0 && key_len == 0)
		rc = weir_operator_fail(ctx, "state '%s': an empty key", s->decl.name);
	if (rc == 0 && (lies_in(s, key) || lies_in(s, value)))
		rc = weir_operator_fail(ctx,
					"state '%s': what is put lies in the map itself: copy it "
					"first",
					s->decl.name);
	if (rc == 0)
		rc = check_len(ctx, s, "a value", len, s->decl.item_bytes,
			       WEIR_OPERATOR_STATE_ITEM_MAX);
	if (rc != 0)
		return rc;
	return weir_opstate_put(s, key, key_len, value, len)
		       ? 0
		       : full(ctx, s, weir_opstate_entry_bytes(key_len, len));
}

const void *
weir_operator_map_get(struct weir_operator_ctx *ctx, uint32_t state, const void *key,
		      uint32_t key_len, uint32_t *len)
{
	const struct weir_opstate_entry *e = weir_opstate_get(map_of(ctx, state), key, key_len);

	if (e == NULL)
		return NULL;
	if (len != NULL)
		*len = e->len;
	return weir_opstate_item(e);
}

bool
weir_operator_map_remove(struct weir_operator_ctx *ctx, uint32_t state, const void *key,
			 uint32_t key_len)
{
	return weir_opstate_remove(map_of(ctx, state), key, key_len);
}

bool
weir_operator_map_next(struct weir_operator_ctx *ctx, uint32_t state, uint64_t *cursor,
		       const void **key, uint32_t *key_len, const void **value, uint32_t *len)
{
	const struct weir_opstate_entry *e = weir_opstate_next(map_of(ctx, state), cursor);

	if (e == NULL)
		return false;
	*key = weir_opstate_key(e);
	*key_len = e->key_len;
	*value = weir_opstate_item(e);
	*len = e->len;
	return true;
}

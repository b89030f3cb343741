/* The hash backend: opening it and its kstates, what fits, and the contract's table. */

#include "statebackend/hash/hash.h"

#include <string.h>

#include "statebackend/hash/kernel.h"

/* Expected bytes of a byte-string key: sizes the heap of a block against its slots. */
#define HEAP_PER_SLOT 24u
#define SLACK_PAGES   20u
/* What a block that counts as small is doubled to at most. */
#define SMALL_MAX 4096u

static struct hash_backend *
backend_of(const struct weir_backend *be)
{
	struct hash_backend *h = (struct hash_backend *)(uintptr_t)be;

	WEIR_ASSERT(h->magic == HASH_MAGIC);
	return h;
}

static struct geometry
geometry_of(const struct layout *l, uint32_t order, bool flat)
{
	const uint32_t per_group =
		l->group_bytes + (l->mode == MODE_BYTES ? GROUP * HEAP_PER_SLOT : 0);
	struct geometry geo, *g = &geo;

	g->bytes = 1u << (BLOCK_SHIFT + order);
	g->group_cnt = g->bytes / per_group;
	if (l->mode == MODE_BYTES && order >= PAGE_ORDER &&
	    g->group_cnt * l->group_bytes > g->bytes - HEAP_MIN)
		g->group_cnt = (g->bytes - HEAP_MIN) / l->group_bytes;
	g->slot_cnt = g->group_cnt * GROUP;
	/* Split at 0.875; a small block keeps one slot empty. Between the very small, of which
	 * there may be very many, and the largest, half is enough: fuller, many keys miss their
	 * home slot, and a look-up takes up to twice the time. */
	if (flat && order >= ROOMY_ORDER && order + 1 < BLOCK_ORDERS)
		g->used_max = g->slot_cnt / 2;
	else
		g->used_max = g->slot_cnt - (g->slot_cnt + 7) / 8;
	g->heap_from = l->mode == MODE_BYTES ? g->group_cnt * l->group_bytes : g->bytes;
	return geo;
}

static void
layout_set(struct layout *l, const struct weir_kstate_spec *spec)
{
	const uint64_t width = spec->hash_last - spec->hash_first;
	weir_u128 scale;

	memset(l, 0, sizeof(*l));
	l->mode = spec->key_kind == WEIR_KEY_BYTES	   ? MODE_BYTES
		  : spec->key_bytes <= 8 && !spec->grouped ? MODE_NUMBER
							   : MODE_FIXED;
	l->grouped = spec->grouped;
	l->key_bytes = spec->key_kind == WEIR_KEY_FIXED ? spec->key_bytes : 0;
	l->value_bytes = spec->value_bytes;
	l->value_at = l->mode == MODE_NUMBER  ? 0
		      : l->mode == MODE_BYTES ? 8
					      : (uint32_t)weir_align_up(spec->key_bytes, 8);
	l->payload_bytes = l->value_at + (uint32_t)weir_align_up(spec->value_bytes, 8);
	l->group_bytes = GROUP * (8 + l->payload_bytes);
	l->range_first = spec->hash_first;
	l->range_shift = width == 0 ? 63 : (uint32_t)__builtin_clzll(width);
	scale = width == UINT64_MAX
			? 0
			: ((weir_u128)1 << 127) / (((weir_u128)width + 1) << l->range_shift >> 1) -
				  ((weir_u128)1 << 64);
	l->range_scale = scale >> 64 != 0 ? UINT64_MAX : (uint64_t)scale;
	for (uint32_t o = 0; o < BLOCK_ORDERS; o++)
		l->geo[o] = geometry_of(l, o, true);
	l->page = geometry_of(l, PAGE_ORDER, false);
	while (l->order_min < PAGE_ORDER && l->geo[l->order_min].slot_cnt < GROUP)
		l->order_min++;
}

static int
spec_check(const struct weir_kstate_spec *spec, struct weir_error *err)
{
	if (spec->key_kind == WEIR_KEY_FIXED &&
	    (spec->key_bytes == 0 || spec->key_bytes > WEIR_KEY_FIXED_MAX))
		return weir_fail(err, WEIR_ERR_CONFIG,
				 "state %s: key of %u bytes, 1..%u are possible", spec->name,
				 spec->key_bytes, WEIR_KEY_FIXED_MAX);
	if (spec->value_bytes == 0 || spec->value_bytes > WEIR_VALUE_MAX)
		return weir_fail(err, WEIR_ERR_CONFIG,
				 "state %s: value of %u bytes, 1..%u are possible", spec->name,
				 spec->value_bytes, WEIR_VALUE_MAX);
	if (spec->hash_first > spec->hash_last)
		return weir_fail(err, WEIR_ERR_CONFIG, "state %s: empty range of hashes",
				 spec->name);
	return 0;
}

static struct weir_kstate *
hash_open(struct weir_backend *pub, const struct weir_kstate_spec *spec, struct weir_error *err)
{
	struct hash_backend *be = backend_of(pub);
	struct kstate *st;

	if (spec_check(spec, err) != 0)
		return NULL;
	st = mem_alloc(&be->mem, sizeof(*st));
	if (st == NULL) {
		(void)weir_fail(err, WEIR_ERR_CONFIG, "state %s: no room in %s", spec->name,
				be->budget_key);
		return NULL;
	}
	memset(st, 0, sizeof(*st));
	st->pub.ops = pub->ops;
	st->pub.spec = *spec;
	st->be = be;
	st->cur = 1ull << EPOCH_SHIFT;
	layout_set(&st->l, spec);
	st->l.long_base = be->mem.pages;
	st->kernel = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") ? &kernel_v3
										      : &kernel_v2;
	st->next = be->states;
	be->states = st;
	return &st->pub;
}

/*
 * What rows new entries can take at most. A block of 4 KiB and more grows by one page when it is
 * rebuilt, a smaller one to 4 KiB; a new table takes its first block; a slack covers the old blocks
 * of one row, which are given back last, uneven cuts and partly used pages of small blocks. Keys
 * that stand outside their page may need 4 KiB each.
 */
uint64_t
hash_growth_bytes(const struct kstate *st, uint32_t rows)
{
	const struct hash_backend *be = st->be;
	const uint64_t slot = st->l.group_bytes / GROUP;
	const uint64_t fresh =
		rows / (MEM_PAGE / 4 / slot) + 1; /* pages filled by the rows alone */
	const uint64_t large = be->page_cnt + fresh < rows ? be->page_cnt + fresh : rows;
	const uint64_t small = be->block_cnt < rows ? be->block_cnt : rows;
	uint64_t bytes = (large + SLACK_PAGES) * MEM_PAGE + small * SMALL_MAX;

	bytes += rows * (sizeof(struct table) + 2ull * st->l.geo[st->l.order_min].bytes + 4 * slot);
	if (st->l.mode == MODE_BYTES)
		bytes += (uint64_t)rows * WEIR_KEY_BYTES_MAX;
	return bytes;
}

/* What rows writes can make a running snapshot copy: a block each. */
static uint64_t
frozen_bytes(const struct hash_backend *be, uint32_t rows)
{
	const uint64_t large = be->page_cnt < rows ? be->page_cnt : rows;
	const uint64_t twice = be->double_cnt < rows ? be->double_cnt : rows;
	const uint64_t small = be->block_cnt < rows ? be->block_cnt : rows;

	return (large + twice) * MEM_PAGE + small * SMALL_MAX / 2 +
	       (uint64_t)rows * sizeof(struct shadow) * 2;
}

static enum weir_state_room
hash_reserve(struct weir_kstate *pub, uint32_t rows)
{
	struct kstate *st = (struct kstate *)(void *)pub;
	uint64_t need = hash_growth_bytes(st, rows);
	bool ready;

	if (st->snap.active)
		need += frozen_bytes(st->be, rows);
	if (st->gd_max > 0)
		need += dir_bytes(st->gd_max + 1);
	ready = mem_free_bytes(&st->be->mem) >= need;
	if (ready && dir_bytes(st->gd_max + 1) > MEM_PAGE)
		ready = mem_run_ready(&st->be->mem,
				      st->gd_max + 1 - (MEM_PAGE_SHIFT - 5)); /* rows of 32 bytes */
	if (WEIR_LIKELY(ready))
		return WEIR_STATE_ROOM;
	for (const struct kstate *s = st->be->states; s != NULL; s = s->next)
		if (s->snap.active)
			return WEIR_STATE_WAIT;
	return WEIR_STATE_FULL;
}

static void
hash_usage(const struct weir_backend *pub, struct weir_state_usage *usage)
{
	const struct hash_backend *be = backend_of(pub);

	usage->budget_bytes = (uint64_t)be->mem.page_cnt << MEM_PAGE_SHIFT;
	usage->used_bytes = usage->budget_bytes - mem_free_bytes(&be->mem);
	usage->frozen_bytes = be->frozen_bytes;
}

int
hash_full(const struct weir_kstate *pub, struct weir_error *err)
{
	const struct kstate *st = (const struct kstate *)(const void *)pub;
	struct weir_state_usage usage;

	hash_usage(&st->be->pub, &usage);
	return weir_fail(
		err, WEIR_ERR_FAILED,
		"operator %u, subtask %u, state %s: the state memory of this core is full: "
		"%llu of %llu bytes used, %llu entries in this state; raise %s",
		pub->spec.operator_idx, pub->spec.subtask, pub->spec.name,
		(unsigned long long)usage.used_bytes, (unsigned long long)usage.budget_bytes,
		(unsigned long long)st->entry_cnt, st->be->budget_key);
}

static int64_t
hash_ns(const struct weir_table *t)
{
	return ((const struct table *)(const void *)t)->ns;
}

static uint64_t
hash_count(const struct weir_table *pub)
{
	const struct table *t = (const struct table *)(const void *)pub;

	return t->count + (t->odd != NULL ? t->odd->count : 0);
}

static void
hash_stored(struct weir_backend *pub, uint64_t checkpoint, uint64_t file_bytes)
{
	home_stored(&backend_of(pub)->homes, checkpoint, file_bytes);
}

static void
hash_completed(struct weir_backend *pub, uint64_t checkpoint)
{
	home_completed(&backend_of(pub)->homes, checkpoint);
}

static const struct weir_backend_ops hash_ops = {
	.name = "hash",
	.open = hash_open,
	.table = hash_table,
	.table_from = hash_table_from,
	.ns = hash_ns,
	.count = hash_count,
	.drop = hash_table_drop,
	.reserve = hash_reserve,
	.full = hash_full,
	.batch = hash_batch,
	.find = hash_find,
	.add_u64 = hash_add_u64,
	.remove = hash_remove,
	.scan = hash_scan,
	.usage = hash_usage,
	.freeze = hash_freeze,
	.slice = hash_slice,
	.thaw = hash_thaw,
	.stored = hash_stored,
	.completed = hash_completed,
	.load = hash_load,
};

struct weir_backend *
weir_backend_hash_open(const struct weir_backend_hash_config *cfg, struct weir_error *err)
{
	struct hash_backend *be =
		(struct hash_backend *)(uintptr_t)weir_align_up((uintptr_t)cfg->base, WEIR_LINE);
	const uint64_t head = weir_align_up(sizeof(*be), WEIR_LINE) + WEIR_LINE;

	if (cfg->bytes < 1u << 20 || cfg->bytes <= head ||
	    (memset(be, 0, sizeof(*be)),
	     !mem_init(&be->mem, (uint8_t *)be + head - WEIR_LINE, cfg->bytes - head))) {
		(void)weir_fail(err, WEIR_ERR_CONFIG, "%s: %llu bytes are too few for state",
				cfg->budget_key, (unsigned long long)cfg->bytes);
		return NULL;
	}
	be->pub.ops = &hash_ops;
	be->magic = HASH_MAGIC;
	be->budget_key = cfg->budget_key;
	return &be->pub;
}

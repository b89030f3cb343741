/* Lists and maps that belong to no key: in memory against a slow model, and as pieces (R5). */
#include "engine/operators/operator_state.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/rng.h"
#include "engine/operators/ctx.h"

#define KEYS 300u

static struct weir_error err;
static void *owned[64];
static uint32_t owned_cnt;

static void *
take(void *arg, size_t bytes)
{
	(void)arg;
	cr_assert_lt(owned_cnt, 64);
	owned[owned_cnt] = calloc(1, bytes + 64);
	cr_assert_not_null(owned[owned_cnt]);
	return owned[owned_cnt++];
}

static void
give_back(void)
{
	while (owned_cnt > 0)
		free(owned[--owned_cnt]);
}

TestSuite(operator_state, .fini = give_back);

static struct weir_opstate
open_state(enum weir_operator_state_kind kind, uint32_t key_bytes, uint32_t item_bytes,
	   uint32_t bytes)
{
	const struct weir_operator_state_decl d = { .name = "s",
						    .kind = kind,
						    .key_bytes = key_bytes,
						    .item_bytes = item_bytes,
						    .bytes_max = bytes };
	struct weir_opstate s;

	weir_opstate_init(&s, &d, weir_opstate_room(&d), take, NULL);
	return s;
}

Test(operator_state, list_keeps_order_until_it_is_full)
{
	struct weir_opstate s = open_state(WEIR_SPLIT_LIST, 0, 0, 64);
	const struct weir_opstate_entry *e;
	uint64_t cursor = 0;

	cr_assert(weir_opstate_add(&s, "abc", 3));
	cr_assert(weir_opstate_add(&s, NULL, 0));
	cr_assert(weir_opstate_add(&s, "0123456789abcdefABCDEFGH", 24));
	cr_assert_not(weir_opstate_add(&s, "x", 1), "8 of 64 bytes are left");
	cr_assert_eq(s.cnt, 3);
	e = weir_opstate_next(&s, &cursor);
	cr_assert_eq(e->len, 3);
	cr_assert_arr_eq(weir_opstate_item(e), "abc", 3);
	cr_assert_eq(weir_opstate_next(&s, &cursor)->len, 0);
	cr_assert_eq(weir_opstate_next(&s, &cursor)->len, 24);
	cr_assert_null(weir_opstate_next(&s, &cursor));
	weir_opstate_clear(&s);
	cr_assert_eq(s.cnt, 0);
	cursor = 0;
	cr_assert_null(weir_opstate_next(&s, &cursor));
	cr_assert(weir_opstate_add(&s, "x", 1));
}

/* ---- a map against a model ---- */

struct model {
	bool there[KEYS];
	uint32_t len[KEYS];
	uint8_t value[KEYS][40];
};

static uint32_t
key_of(uint32_t k, char *key)
{
	memset(key, 'a' + (int)(k % 26), 16);
	memcpy(key, &k, sizeof(k));
	return 4 + k % 13;
}

static uint64_t
model_bytes(const struct model *m, uint32_t without)
{
	char key[16];
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < KEYS; k++)
		if (m->there[k] && k != without)
			bytes += weir_opstate_entry_bytes(key_of(k, key), m->len[k]);
	return bytes;
}

static void
same_map(const struct weir_opstate *s, const struct model *m)
{
	uint64_t cursor = 0, cnt = 0;
	char key[16];

	for (uint32_t k = 0; k < KEYS; k++) {
		const struct weir_opstate_entry *e = weir_opstate_get(s, key, key_of(k, key));

		cr_assert_eq(e != NULL, m->there[k], "key %u", k);
		if (e == NULL)
			continue;
		cnt++;
		cr_assert_eq(e->len, m->len[k]);
		cr_assert_eq(memcmp(weir_opstate_item(e), m->value[k], e->len), 0);
	}
	cr_assert_eq(s->cnt, cnt);
	while (weir_opstate_next(s, &cursor) != NULL)
		cnt--;
	cr_assert_eq(cnt, 0);
}

static void
change(struct weir_opstate *s, struct model *m, struct weir_rng *rng)
{
	const uint32_t k = (uint32_t)(weir_rng_next(rng) % KEYS);
	const uint32_t len = (uint32_t)(weir_rng_next(rng) % 40);
	uint8_t value[40];
	char key[16];
	const uint32_t key_len = key_of(k, key);

	if (weir_rng_next(rng) % 3 == 0) {
		cr_assert_eq(weir_opstate_remove(s, key, key_len), m->there[k]);
		m->there[k] = false;
		return;
	}
	memset(value, (int)(weir_rng_next(rng) % 256), sizeof(value));
	cr_assert_eq(weir_opstate_put(s, key, key_len, value, len),
		     model_bytes(m, k) + weir_opstate_entry_bytes(key_len, len) <= s->cap);
	if (model_bytes(m, k) + weir_opstate_entry_bytes(key_len, len) > s->cap)
		return;
	m->there[k] = true;
	m->len[k] = len;
	memcpy(m->value[k], value, sizeof(value));
}

Test(operator_state, map_is_what_a_model_is_and_full_when_that_is)
{
	static struct model m;
	struct weir_rng rng = { .state = 3 };
	struct weir_opstate s = open_state(WEIR_BROADCAST_MAP, 0, 0, 6000);
	bool was_full = false;

	for (uint32_t i = 0; i < 40000; i++) {
		change(&s, &m, &rng);
		was_full |= s.cap - model_bytes(&m, KEYS) < 64;
		if (i % 500 == 0)
			same_map(&s, &m);
	}
	same_map(&s, &m);
	cr_assert(was_full);
	weir_opstate_clear(&s);
	memset(&m, 0, sizeof(m));
	same_map(&s, &m);
}

/* ---- pieces ---- */

/* Write s out piece by piece into to. */
static void
carry_over(struct weir_opstate *s, struct weir_opstate *to, uint32_t *pieces)
{
	const struct weir_opstate_piece *p;
	const struct weir_opstate_entry *e;
	uint64_t len;

	for (*pieces = 0; (p = weir_opstate_piece(s, &len)) != NULL; ++*pieces) {
		cr_assert_leq(len, WEIR_OPSTATE_PIECE_MAX);
		cr_assert_eq(weir_opstate_piece_check(p, len, &to->decl, &e, &err), 0, "%s",
			     err.text);
		for (uint32_t i = 0; i < p->entry_cnt; i++, e = weir_opstate_behind(e))
			cr_assert(to->decl.kind == WEIR_BROADCAST_MAP
					  ? weir_opstate_put(to, weir_opstate_key(e), e->key_len,
							     weir_opstate_item(e), e->len)
					  : weir_opstate_add(to, weir_opstate_item(e), e->len));
		weir_opstate_piece_out(s);
	}
}

/* A put may close gaps: what lies in the map would move under it. */
Test(operator_state, regress_a_map_takes_nothing_that_lies_in_it)
{
	struct weir_opstate s = open_state(WEIR_BROADCAST_MAP, 0, 0, 96);
	struct weir_operator_ctx ctx = { .opstate = &s, .opstate_cnt = 1 };
	const void *key, *value;
	uint32_t key_len, len;
	uint64_t cursor = 0;

	cr_assert_eq(weir_operator_map_put(&ctx, 0, "gone", 4, "1234567", 7), 0);
	cr_assert_eq(weir_operator_map_put(&ctx, 0, "stays", 5, "abcdefgh12345678", 16), 0);
	cr_assert(weir_operator_map_remove(&ctx, 0, "gone", 4));
	cr_assert(weir_operator_map_next(&ctx, 0, &cursor, &key, &key_len, &value, &len));
	/* 56 of 96 bytes are used, 24 of them by what is gone. */
	cr_assert_neq(weir_operator_map_put(&ctx, 0, "other", 5, value, len), 0);
	cr_assert_not_null(strstr(ctx.error.text, "copy it first"), "%s", ctx.error.text);
	cr_assert_neq(weir_operator_map_put(&ctx, 0, key, key_len, "new value of 24 bytes...", 24),
		      0);
	value = weir_operator_map_get(&ctx, 0, "stays", 5, &len);
	cr_assert_eq(len, 16);
	cr_assert_eq(memcmp(value, "abcdefgh12345678", 16), 0);
	cr_assert_eq(s.cnt, 1);
}

Test(operator_state, pieces_are_what_was_there_at_the_freeze) /* T22 */
{
	static struct model m, then;
	struct weir_rng rng = { .state = 5 };
	struct weir_opstate s = open_state(WEIR_BROADCAST_MAP, 0, 0, 20000);
	struct weir_opstate to = open_state(WEIR_BROADCAST_MAP, 0, 0, 20000);
	uint32_t pieces;

	for (uint32_t i = 0; i < 2000; i++)
		change(&s, &m, &rng);
	weir_opstate_freeze(&s);
	then = m;
	for (uint32_t i = 0; i < 2000; i++)
		change(&s, &m, &rng);
	carry_over(&s, &to, &pieces);
	cr_assert_eq(pieces, 1);
	same_map(&to, &then);
	same_map(&s, &m);
}

Test(operator_state, large_lists_are_many_pieces_and_empty_ones_one)
{
	static uint8_t item[WEIR_OPERATOR_STATE_ITEM_MAX];
	struct weir_opstate s = open_state(WEIR_UNION_LIST, 0, 0, 4u << 20);
	struct weir_opstate to = open_state(WEIR_UNION_LIST, 0, 0, 4u << 20);
	struct weir_rng rng = { .state = 9 };
	uint32_t pieces;
	uint64_t a = 0, b = 0;

	weir_opstate_freeze(&s);
	carry_over(&s, &to, &pieces);
	cr_assert_eq(pieces, 1);
	cr_assert_eq(to.cnt, 0);
	/* The worst for pieces: each is left when it is little more than half full. */
	while (weir_opstate_add(&s, item, s.cnt % 2 == 0 ? sizeof(item) : 28400))
		item[weir_rng_next(&rng) % sizeof(item)]++;
	weir_opstate_freeze(&s);
	carry_over(&s, &to, &pieces);
	cr_assert_gt(pieces, 60);
	cr_assert_eq(to.cnt, s.cnt);
	for (uint64_t i = 0; i < s.cnt; i++) {
		const struct weir_opstate_entry *x = weir_opstate_next(&s, &a);
		const struct weir_opstate_entry *y = weir_opstate_next(&to, &b);

		cr_assert_eq(x->len, y->len);
		cr_assert_eq(memcmp(weir_opstate_item(x), weir_opstate_item(y), x->len), 0);
	}
}

static void
is_refused(const struct weir_opstate_piece *p, uint64_t len,
	   const struct weir_operator_state_decl *d, const char *why)
{
	const struct weir_opstate_entry *e = NULL;

	cr_assert_eq(weir_opstate_piece_check(p, len, d, &e, &err), WEIR_ERR_DATA, "%s", why);
	cr_assert_not_null(strstr(err.text, why), "%s", err.text);
	cr_assert_null(e);
}

Test(operator_state, what_is_no_piece_of_it_is_refused)
{
	struct weir_opstate s = open_state(WEIR_BROADCAST_MAP, 4, 0, 4096);
	struct weir_operator_state_decl d = s.decl;
	struct weir_opstate_piece *p;
	struct weir_opstate_entry *e;
	uint64_t len;

	cr_assert(weir_opstate_put(&s, "abcd", 4, "12345", 5));
	weir_opstate_freeze(&s);
	p = (void *)(uintptr_t)weir_opstate_piece(&s, &len);
	e = (void *)(p + 1);
	cr_assert_eq(len, 32 + 24);
	is_refused(p, len - 8, &d, "no piece");
	is_refused(p, 31, &d, "no piece");
	p->version = 2;
	is_refused(p, len, &d, "no piece");
	p->version = 1;
	d.kind = WEIR_SPLIT_LIST;
	is_refused(p, len, &d, "a piece of a broadcast map");
	d.kind = WEIR_BROADCAST_MAP;
	d.key_bytes = p->key_bytes = 8;
	is_refused(p, len, &d, "entry 0: its key has another length");
	d.key_bytes = p->key_bytes = 4;
	d.item_bytes = p->item_bytes = 6;
	is_refused(p, len, &d, "entry 0: it has another length");
	d.item_bytes = p->item_bytes = 0;
	e->len = 9;
	is_refused(p, len, &d, "entry 0: it leaves its piece");
	e->len = UINT32_MAX;
	is_refused(p, len, &d, "entry 0: it leaves its piece");
	e->len = 4;
	is_refused(p, len, &d, "entry 0: its padding is not zero");
	e->len = 5;
	p->entry_cnt = 0;
	is_refused(p, len, &d, "bytes behind its 0 entries");
	p->entry_cnt = 2;
	is_refused(p, len, &d, "entry 1: it leaves its piece");
}

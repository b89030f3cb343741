/* The tables of a kstate: a tree by namespace (a heap by the namespace's hash), and a list by age.
 */

#include "statebackend/hash/hash_priv.h"

#include <string.h>

static uint64_t
priority(const struct table *t)
{
	return weir_mix((uint64_t)t->ns + WEIR_GOLDEN);
}

static void
tree_insert(struct kstate *st, struct table *t)
{
	struct table **link = &st->root, **left = &t->left, **right = &t->right, *at;

	while (*link != NULL && priority(*link) >= priority(t))
		link = t->ns < (*link)->ns ? &(*link)->left : &(*link)->right;
	at = *link;
	*link = t;
	while (at != NULL) {
		if (at->ns < t->ns) {
			*left = at;
			left = &at->right;
			at = at->right;
		} else {
			*right = at;
			right = &at->left;
			at = at->left;
		}
	}
	*left = *right = NULL;
}

static void
tree_remove(struct kstate *st, struct table *t)
{
	struct table **link = &st->root, *a = t->left, *b = t->right;

	while (*link != t) {
		WEIR_ASSERT(*link != NULL);
		link = t->ns < (*link)->ns ? &(*link)->left : &(*link)->right;
	}
	while (a != NULL && b != NULL) {
		if (priority(a) >= priority(b)) {
			*link = a;
			link = &a->right;
			a = a->right;
		} else {
			*link = b;
			link = &b->left;
			b = b->left;
		}
	}
	*link = a != NULL ? a : b;
	t->left = t->right = NULL;
}

static void
list_append(struct kstate *st, struct table *t)
{
	t->prev = st->tail;
	t->next = NULL;
	if (st->tail != NULL)
		st->tail->next = t;
	else
		st->head = t;
	st->tail = t;
}

static void
list_unlink(struct kstate *st, struct table *t)
{
	if (t->prev != NULL)
		t->prev->next = t->next;
	else
		st->head = t->next;
	if (t->next != NULL)
		t->next->prev = t->prev;
	else
		st->tail = t->prev;
}

struct table *
table_make(struct kstate *st, int64_t ns, bool is_odd)
{
	struct table *t = mem_alloc(&st->be->mem, sizeof(*t));

	if (t == NULL)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->pub.ops = st->pub.ops;
	t->pub.state = &st->pub;
	t->ns = ns;
	t->is_odd = is_odd;
	t->bias = is_odd ? TAG_BIAS_ODD : TAG_BIAS;
	t->done = st->snap.no; /* Made after the freeze: not in it. */
	if (!table_start(t)) {
		mem_free(&st->be->mem, t, sizeof(*t));
		return NULL;
	}
	list_append(st, t);
	if (!is_odd) {
		tree_insert(st, t);
		st->table_cnt++;
	}
	return t;
}

void
table_destroy(struct table *t)
{
	struct kstate *st = (struct kstate *)(void *)t->pub.state;

	list_unlink(st, t);
	table_clear(t);
	mem_free(&st->be->mem, t, sizeof(*t));
}

struct weir_table *
hash_table(struct weir_kstate *pub, int64_t ns, bool make)
{
	struct kstate *st = (struct kstate *)(void *)pub;
	struct table *t = st->last_used;

	if (t == NULL || t->ns != ns) {
		t = st->root;
		while (t != NULL && t->ns != ns)
			t = ns < t->ns ? t->left : t->right;
	}
	if (t == NULL && make) {
		t = table_make(st, ns, false);
		WEIR_ASSERT(t != NULL); /* weir_kstate_reserve() */
	}
	if (t == NULL)
		return NULL;
	st->last_used = t;
	return &t->pub;
}

struct weir_table *
hash_table_from(struct weir_kstate *pub, int64_t ns)
{
	struct kstate *st = (struct kstate *)(void *)pub;
	struct table *best = NULL, *t = st->root;

	while (t != NULL) {
		if (t->ns >= ns) {
			best = t;
			t = t->left;
		} else {
			t = t->right;
		}
	}
	return best != NULL ? &best->pub : NULL;
}

/* A table that a running snapshot has not written yet stays, in no tree, until a slice passed it.
 */
static void
drop_one(struct kstate *st, struct table *t)
{
	if (st->snap.active && t->done != st->snap.no)
		t->dropped = true;
	else
		table_destroy(t);
}

void
hash_table_drop(struct weir_table *pub)
{
	struct table *t = (struct table *)(void *)pub;
	struct kstate *st = (struct kstate *)(void *)pub->state;

	WEIR_ASSERT(!t->dropped);
	WEIR_ASSERT(!t->is_odd);
	tree_remove(st, t);
	st->table_cnt--;
	st->moves++;
	if (st->last_used == t)
		st->last_used = NULL;
	st->entry_cnt -= t->count;
	if (t->odd != NULL) {
		st->entry_cnt -= t->odd->count;
		drop_one(st, t->odd);
	}
	drop_one(st, t);
}

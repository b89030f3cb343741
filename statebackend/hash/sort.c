#include "statebackend/hash/sort.h"

#include <string.h>

#include "statebackend/snapshot/canonical.h"

#define RUN_ORDER 2u
#define RUN_BYTES (MEM_PAGE << RUN_ORDER)

struct sort_run {
	struct sort_run *next;
	uint32_t used; /* bytes from the start */
	uint32_t cnt;  /* references at the end */
	uint32_t at;   /* merge: the next one */
	uint32_t pad;
};

int
sort_item_compare(const struct sort_item *a, const struct sort_item *b)
{
	if (a->key_group != b->key_group)
		return a->key_group < b->key_group ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return weir_canonical_compare(sort_item_key(a), a->key_len, sort_item_key(b), b->key_len);
}

/* References from low to high addresses; they are the run's last cnt words. */
static uint32_t *
refs_of(struct sort_run *r)
{
	return (uint32_t *)(void *)((uint8_t *)r + RUN_BYTES) - r->cnt;
}

static const struct sort_item *
item_at(const struct sort_run *r, uint32_t ref)
{
	return (const struct sort_item *)(const void *)((const uint8_t *)r + ref);
}

void
sorter_init(struct sorter *s, struct mem *mem, uint32_t value_bytes)
{
	*s = (struct sorter){ .mem = mem, .value_bytes = value_bytes };
}

/* ---- one run: a heap sort, in place ---- */

static void
sink(const struct sort_run *r, uint32_t *ref, uint32_t at, uint32_t cnt)
{
	const uint32_t what = ref[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= cnt)
			break;
		if (child + 1 < cnt &&
		    sort_item_compare(item_at(r, ref[child]), item_at(r, ref[child + 1])) < 0)
			child++;
		if (sort_item_compare(item_at(r, what), item_at(r, ref[child])) >= 0)
			break;
		ref[at] = ref[child];
		at = child;
	}
	ref[at] = what;
}

static void
run_sort(struct sort_run *r)
{
	uint32_t *ref = refs_of(r);

	for (uint32_t i = r->cnt / 2; i > 0; i--)
		sink(r, ref, i - 1, r->cnt);
	for (uint32_t left = r->cnt; left > 1; left--) {
		const uint32_t highest = ref[0];

		ref[0] = ref[left - 1];
		ref[left - 1] = highest;
		sink(r, ref, 0, left - 1);
	}
}

static struct sort_run *
run_take(struct sorter *s)
{
	struct sort_run *r = mem_run_alloc(s->mem, RUN_ORDER);

	if (r == NULL)
		return NULL;
	*r = (struct sort_run){ .next = s->runs, .used = sizeof(*r) };
	s->runs = r;
	s->run_cnt++;
	return r;
}

bool
sorter_add(struct sorter *s, const struct sort_item *head, const void *key, const void *value)
{
	const uint32_t key_room = (uint32_t)weir_align_up(head->key_len, 8);
	const uint32_t bytes =
		(uint32_t)sizeof(*head) + key_room + (uint32_t)weir_align_up(s->value_bytes, 8);
	struct sort_run *r = s->runs;
	uint8_t *at;

	if (r == NULL || RUN_BYTES - r->used < bytes + (r->cnt + 1) * sizeof(uint32_t)) {
		struct sort_run *full = r;

		r = run_take(s);
		if (r == NULL)
			return false;
		if (full != NULL)
			run_sort(full);
	}
	at = (uint8_t *)r + r->used;
	r->cnt++;
	refs_of(r)[0] = r->used;
	r->used += bytes;
	memcpy(at, head, sizeof(*head));
	if (head->key_len > 0)
		memcpy(at + sizeof(*head), key, head->key_len);
	memcpy(at + sizeof(*head) + key_room, value, s->value_bytes);
	return true;
}

/* ---- all runs: a heap of them by their next item ---- */

static const struct sort_item *
run_top(struct sort_run *r)
{
	return item_at(r, refs_of(r)[r->at]);
}

static void
heap_sink(struct sorter *s, uint32_t at)
{
	struct sort_run *what = s->heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= s->heap_cnt)
			break;
		if (child + 1 < s->heap_cnt &&
		    sort_item_compare(run_top(s->heap[child + 1]), run_top(s->heap[child])) < 0)
			child++;
		if (sort_item_compare(run_top(what), run_top(s->heap[child])) <= 0)
			break;
		s->heap[at] = s->heap[child];
		at = child;
	}
	s->heap[at] = what;
}

bool
sorter_start(struct sorter *s)
{
	if (s->run_cnt == 0)
		return true;
	s->heap = mem_alloc(s->mem, s->run_cnt * sizeof(struct sort_run *));
	if (s->heap == NULL)
		return false;
	s->heap_cap = s->run_cnt;
	run_sort(s->runs);
	for (struct sort_run *r = s->runs; r != NULL; r = r->next)
		s->heap[s->heap_cnt++] = r;
	WEIR_ASSERT(s->heap_cnt == s->run_cnt);
	for (uint32_t i = s->heap_cnt / 2; i > 0; i--)
		heap_sink(s, i - 1);
	return true;
}

const struct sort_item *
sorter_top(const struct sorter *s)
{
	return s->heap_cnt > 0 ? run_top(s->heap[0]) : NULL;
}

void
sorter_pop(struct sorter *s)
{
	struct sort_run *r = s->heap[0];

	if (++r->at == r->cnt)
		s->heap[0] = s->heap[--s->heap_cnt];
	if (s->heap_cnt > 0)
		heap_sink(s, 0);
}

void
sorter_clear(struct sorter *s)
{
	while (s->runs != NULL) {
		struct sort_run *r = s->runs;

		s->runs = r->next;
		mem_run_free(s->mem, r);
	}
	if (s->heap != NULL)
		mem_free(s->mem, s->heap, s->heap_cap * sizeof(struct sort_run *));
	sorter_init(s, s->mem, s->value_bytes);
}

uint64_t
sorter_bytes(const struct sorter *s)
{
	return (uint64_t)s->run_cnt * RUN_BYTES;
}

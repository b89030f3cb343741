#include "engine/checkpoint/store.h"

#include "engine/base/plant.h"
#include "engine/checkpoint/grow.h"

#include <stdlib.h>
#include <string.h>

void
weir_store_init(struct weir_store *s, uint32_t retained)
{
	WEIR_ASSERT(retained >= 1);
	*s = (struct weir_store){ .retained = retained };
}

static void
list_fini(struct weir_snapshot_list *l)
{
	for (uint32_t i = 0; i < l->cnt; i++)
		weir_snapshot_free(l->list[i]);
	free(l->list);
}

void
weir_store_fini(struct weir_store *s)
{
	list_fini(&s->completed);
	list_fini(&s->savepoints);
	list_fini(&s->lingering);
	*s = (struct weir_store){ 0 };
}

void
weir_snapshot_list_add(struct weir_snapshot_list *l, struct weir_snapshot *snapshot)
{
	uint32_t at = l->cnt;

	l->list = weir_grow(l->list, &l->cap, l->cnt + 1, sizeof(*l->list));
	while (at > 0 && l->list[at - 1]->id > snapshot->id)
		at--;
	memmove(&l->list[at + 1], &l->list[at], (l->cnt - at) * sizeof(*l->list));
	l->list[at] = snapshot;
	l->cnt++;
}

struct weir_snapshot *
weir_snapshot_list_take(struct weir_snapshot_list *l, uint32_t i)
{
	struct weir_snapshot *snapshot = l->list[i];

	weir_grow_remove(l->list, &l->cnt, i, sizeof(*l->list));
	return snapshot;
}

struct weir_snapshot *
weir_snapshot_list_find(const struct weir_snapshot_list *l, uint64_t id)
{
	for (uint32_t i = l->cnt; i-- > 0;) {
		if (l->list[i]->id == id)
			return l->list[i];
	}
	return NULL;
}

struct weir_snapshot *
weir_store_latest(const struct weir_store *s)
{
	return s->completed.cnt > 0 ? s->completed.list[s->completed.cnt - 1] : NULL;
}

struct weir_snapshot *
weir_store_subsume(struct weir_store *s)
{
	if (s->completed.cnt + WEIR_PLANT(RETAIN) <= s->retained)
		return NULL;
	return weir_snapshot_list_take(&s->completed, 0);
}

uint64_t
weir_store_lowest_claimed(const struct weir_store *s)
{
	for (uint32_t i = 0; i < s->completed.cnt; i++) {
		if (s->completed.list[i]->claimed)
			return s->completed.list[i]->id;
	}
	return UINT64_MAX;
}

#include "engine/checkpoint/coordinator_priv.h"

#include "engine/checkpoint/grow.h"

#include <stdlib.h>

struct weir_arena_chunk {
	struct weir_arena_chunk *next;
	max_align_t data[];
};

struct weir_coord_update *
weir_coord_emit(struct weir_coordinator *c, enum weir_coord_update_kind kind, uint64_t id)
{
	struct weir_coord_out *out = &c->out;

	out->list = weir_grow(out->list, &out->cap, out->cnt + 1, sizeof(*out->list));
	out->list[out->cnt] = (struct weir_coord_update){ .kind = kind, .id = id };
	return &out->list[out->cnt++];
}

void *
weir_coord_alloc(struct weir_coordinator *c, uint32_t cnt, size_t size)
{
	struct weir_arena_chunk *chunk = calloc(1, sizeof(*chunk) + (size_t)cnt * size);

	WEIR_ASSERT(chunk != NULL);
	chunk->next = c->out.chunks;
	c->out.chunks = chunk;
	return chunk->data;
}

void
weir_coord_out_reset(struct weir_coordinator *c)
{
	struct weir_arena_chunk *chunk = c->out.chunks;

	while (chunk != NULL) {
		struct weir_arena_chunk *next = chunk->next;

		free(chunk);
		chunk = next;
	}
	c->out.chunks = NULL;
	c->out.cnt = 0;
}

void
weir_coord_out_fini(struct weir_coordinator *c)
{
	weir_coord_out_reset(c);
	free(c->out.list);
}

struct weir_coord_attempts
weir_coord_current(struct weir_coordinator *c, const uint32_t *tasks, uint32_t cnt)
{
	struct weir_attempt *list = weir_coord_alloc(c, cnt, sizeof(*list));

	for (uint32_t i = 0; i < cnt; i++)
		list[i] = (struct weir_attempt){ tasks[i], c->attempts[tasks[i]] };
	return (struct weir_coord_attempts){ .list = list, .cnt = cnt };
}

void
weir_coord_emit_discard(struct weir_coordinator *c, const uint64_t *files, uint32_t cnt)
{
	uint64_t *list;

	if (cnt == 0)
		return;
	list = weir_coord_alloc(c, cnt, sizeof(*list));
	for (uint32_t i = 0; i < cnt; i++)
		list[i] = files[i];
	struct weir_coord_update *u = weir_coord_emit(c, WEIR_COORD_DO_DISCARD, 0);
	u->files.list = list;
	u->files.cnt = cnt;
}

/* Files that go with the checkpoint: a shared one lives on in the registry. */
static bool
goes_along(const struct weir_snapshot *snap, const struct weir_part *part)
{
	if (part->kind == WEIR_PART_PRIVATE)
		return true;
	return part->kind == WEIR_PART_SHARED && !snap->external &&
	       weir_request_is_savepoint(snap->kind);
}

void
weir_coord_emit_delete(struct weir_coordinator *c, const struct weir_snapshot *snap)
{
	struct weir_part_walk walk = { .snapshot = snap };
	const struct weir_part *part;
	struct weir_coord_update *u;
	uint64_t *list;
	uint32_t cnt = 0;

	while (weir_part_next(&walk) != NULL)
		cnt++;
	list = weir_coord_alloc(c, cnt, sizeof(*list));
	cnt = 0;
	walk = (struct weir_part_walk){ .snapshot = snap };
	while ((part = weir_part_next(&walk)) != NULL) {
		if (goes_along(snap, part))
			list[cnt++] = part->file;
	}
	u = weir_coord_emit(c, WEIR_COORD_DO_DELETE, snap->id);
	u->files.list = list;
	u->files.cnt = cnt;
	u->files.location = snap->location;
	if (!weir_coord_asks(c, WEIR_COORD_STAGE_DELETE))
		return;
	/* K10: counted for C4 until DELETED. */
	c->deleting =
		weir_grow(c->deleting, &c->deleting_cap, c->deleting_cnt + 1, sizeof(*c->deleting));
	c->deleting[c->deleting_cnt++] = snap->id;
}

void
weir_coord_emit_promise(struct weir_coordinator *c, const struct weir_request *request,
			enum weir_reason reason, uint64_t id)
{
	struct weir_coord_update *u = weir_coord_emit(c, WEIR_COORD_DO_PROMISE, id);

	u->promise.number = request->number;
	u->promise.from_timer = request->from_timer;
	u->promise.reason = reason;
	/* S4: the job goes on, so do its periodic checkpoints. */
	if (reason != WEIR_REASON_NONE && request->stop)
		c->scheduler_again = true;
}

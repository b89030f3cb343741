#include "engine/checkpoint/remap.h"

#include "engine/checkpoint/grow.h"

#include <stdlib.h>

/* Old subtasks of new subtask i: *from, *from + step, ... below *to. */
struct row {
	uint32_t from;
	uint32_t to;
	uint32_t step;
};

static struct row
range_row(uint32_t old_cnt, uint32_t new_cnt, uint32_t i)
{
	uint64_t groups = WEIR_REMAP_KEY_GROUPS;
	uint64_t first = (i * groups + new_cnt - 1) / new_cnt;
	uint64_t last = ((i + 1) * groups - 1) / new_cnt;

	return (struct row){
		.from = (uint32_t)(first * old_cnt / groups),
		.to = (uint32_t)(last * old_cnt / groups) + 1,
		.step = 1,
	};
}

static struct row
row_of(enum weir_mapper mapper, uint32_t old_cnt, uint32_t new_cnt, uint32_t i)
{
	switch (mapper) {
	case WEIR_MAPPER_RANGE:
		return range_row(old_cnt, new_cnt, i);
	case WEIR_MAPPER_ROUND_ROBIN:
		return (struct row){ .from = i, .to = old_cnt, .step = new_cnt };
	case WEIR_MAPPER_FIRST:
		return (struct row){ .from = 0, .to = i == 0 ? old_cnt : 0, .step = 1 };
	case WEIR_MAPPER_FULL:
	case WEIR_MAPPER_UNSUPPORTED:
		break;
	}
	return (struct row){ .from = 0, .to = old_cnt, .step = 1 };
}

static void
make(struct weir_remap_table *table, enum weir_mapper mapper, uint32_t old_cnt, uint32_t new_cnt)
{
	uint32_t cap = 0;
	uint32_t cnt = 0;

	*table = (struct weir_remap_table){
		.new_cnt = new_cnt,
		.old_cnt = old_cnt,
		.first = weir_grow_alloc(new_cnt + 1, sizeof(uint32_t)),
		.filters = mapper == WEIR_MAPPER_RANGE || mapper == WEIR_MAPPER_FULL,
		.identity = old_cnt == new_cnt,
	};
	for (uint32_t i = 0; i < new_cnt; i++) {
		struct row row = row_of(mapper, old_cnt, new_cnt, i);

		for (uint32_t old = row.from; old < row.to; old += row.step) {
			table->olds = weir_grow(table->olds, &cap, cnt + 1, sizeof(uint32_t));
			table->olds[cnt++] = old;
		}
		table->first[i + 1] = cnt;
		table->identity &= cnt == i + 1 && table->olds[i] == i;
	}
}

bool
weir_remap_map(enum weir_mapper mapper, uint32_t old_cnt, uint32_t new_cnt,
	       struct weir_remap_table *table)
{
	WEIR_ASSERT(old_cnt > 0);
	WEIR_ASSERT(new_cnt > 0);
	if (mapper == WEIR_MAPPER_UNSUPPORTED)
		return false;
	make(table, mapper, old_cnt, new_cnt);
	return true;
}

static bool
is_changed(const struct weir_remap_side *side)
{
	return side->old_cnt != side->new_cnt;
}

bool
weir_remap_side(const struct weir_remap_exchange *x, bool down, struct weir_remap_table *table)
{
	const struct weir_remap_side *side = down ? &x->down : &x->up;
	bool other_changed = is_changed(down ? &x->up : &x->down);
	enum weir_mapper mapper = side->mapper;

	if (!is_changed(side) && (!other_changed || mapper != WEIR_MAPPER_FULL))
		mapper = WEIR_MAPPER_ROUND_ROBIN; /* at equal parallelism the identity */
	return weir_remap_map(mapper, side->old_cnt, side->new_cnt, table);
}

void
weir_remap_fini(struct weir_remap_table *table)
{
	free(table->first);
	free(table->olds);
	*table = (struct weir_remap_table){ 0 };
}

uint32_t
weir_remap_ambiguous(const struct weir_remap_table *table, uint32_t *list)
{
	uint32_t *uses = weir_grow_alloc(table->old_cnt, sizeof(*uses));
	uint32_t cnt = 0;

	for (uint32_t i = 0; table->filters && i < table->first[table->new_cnt]; i++)
		uses[table->olds[i]]++;
	for (uint32_t old = 0; old < table->old_cnt; old++) {
		if (uses[old] > 1)
			list[cnt++] = old;
	}
	free(uses);
	return cnt;
}

enum weir_remap_work
weir_remap_work(const struct weir_remap_exchange *x, bool down, uint32_t subtask)
{
	struct weir_remap_table own = { 0 };
	struct weir_remap_table other = { 0 };
	enum weir_remap_work work = WEIR_REMAP_UNSUPPORTED;

	if (!x->up.has_data && !x->down.has_data)
		return WEIR_REMAP_NO_STATE;
	if (weir_remap_side(x, down, &own) && weir_remap_side(x, !down, &other)) {
		bool nothing = own.first[subtask + 1] == own.first[subtask];

		work = nothing || (own.identity && other.identity) ? WEIR_REMAP_IDENTITY
								   : WEIR_REMAP_RESCALE;
	}
	weir_remap_fini(&own);
	weir_remap_fini(&other);
	return work;
}

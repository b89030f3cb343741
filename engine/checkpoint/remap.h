#ifndef WEIR_ENGINE_CHECKPOINT_REMAP_H
#define WEIR_ENGINE_CHECKPOINT_REMAP_H

/*
 * In-flight data at changed parallelism (R3): which old subtasks' in-flight data a new subtask
 * takes over, per exchange and side.
 *
 * Each side of an exchange has a mapper. It gives a table new <- old: new subtask i recovers the
 * data of the old subtasks in row i. An old subtask in several rows is *ambiguous*: each of its
 * records belongs to exactly one of them, so every one who recovers it has to filter.
 *
 * Threads:   any one. Ownership: a table owns its rows until fini.
 * Cost:      proportional to the rows' elements.
 */

#include "engine/base/base.h"

enum weir_mapper {
	WEIR_MAPPER_RANGE,	 /* by key groups: those whose range overlaps */
	WEIR_MAPPER_ROUND_ROBIN, /* any place will do: i, i + new, i + 2 new, ... */
	WEIR_MAPPER_FIRST,	 /* all to subtask 0 */
	WEIR_MAPPER_FULL,	 /* all to everyone */
	WEIR_MAPPER_UNSUPPORTED, /* cannot be taken apart: forward, pointwise */
};

/* Key groups of the range mapper: the finest that any job can have. */
#define WEIR_REMAP_KEY_GROUPS 32768

struct weir_remap_side {
	uint32_t old_cnt;
	uint32_t new_cnt;
	enum weir_mapper mapper;
	bool has_data; /* the checkpoint holds in-flight data of this side */
};

struct weir_remap_exchange {
	struct weir_remap_side up;   /* captured by the producers */
	struct weir_remap_side down; /* captured by the consumers */
};

struct weir_remap_table {
	uint32_t new_cnt;
	uint32_t old_cnt;
	uint32_t *first; /* row i is olds[first[i]] .. olds[first[i + 1] - 1] */
	uint32_t *olds;
	bool identity;
	bool filters; /* rows may overlap: RANGE and FULL */
};

/* What recovering its side of one exchange means for a subtask. */
enum weir_remap_work {
	WEIR_REMAP_NO_STATE,	/* no in-flight data on either side */
	WEIR_REMAP_IDENTITY,	/* nothing to recover, or nothing of the exchange has moved */
	WEIR_REMAP_RESCALE,	/* by the tables */
	WEIR_REMAP_UNSUPPORTED, /* must be refused before the start, by name */
};

/* Table of a mapper alone. False: UNSUPPORTED; *table is left alone. */
bool weir_remap_map(enum weir_mapper mapper, uint32_t old_cnt, uint32_t new_cnt,
		    struct weir_remap_table *table) WEIR_MUST_USE;

/*
 * Table of one side within its exchange. With both sides unchanged, or this one and its mapper not
 * FULL, it is the identity whatever the mapper. (FULL: what the other side sends anew may go
 * elsewhere than before.)
 */
bool weir_remap_side(const struct weir_remap_exchange *x, bool down,
		     struct weir_remap_table *table) WEIR_MUST_USE;

void weir_remap_fini(struct weir_remap_table *table);

/*
 * Old subtasks that occur in several rows, ascending, into list (room for old_cnt). Returns how
 * many; 0 if rows cannot overlap.
 */
uint32_t weir_remap_ambiguous(const struct weir_remap_table *table, uint32_t *list);

/* What there is to do for a new subtask on one side of x. */
enum weir_remap_work weir_remap_work(const struct weir_remap_exchange *x, bool down,
				     uint32_t subtask);

#endif /* WEIR_ENGINE_CHECKPOINT_REMAP_H */

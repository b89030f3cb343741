#ifndef WEIR_OPERATOR_STATE_H
#define WEIR_OPERATOR_STATE_H

/*
 * State of a subtask that belongs to no key: part of every checkpoint, matched at restore by
 * operator id and name. What a restore at another parallelism makes of it is its kind:
 *
 *   SPLIT_LIST     a list per subtask; together they are one list, which is cut anew into even
 *                  ranges (unchanged parallelism: each has its own back). Offsets of partitions.
 *   UNION_LIST     a list per subtask; every subtask gets the items of all, those of subtask 0
 *                  first, picks what it needs, clears the list and adds what it answers for: what
 *                  it leaves there multiplies at every restore. While only some subtasks of the
 *                  operator have ended no checkpoint completes: the items of those would be missing
 *                  for the others.
 *   BROADCAST_MAP  keys and values that are the same in every subtask, because all of them have
 *                  seen the same rows (weir_broadcast). Every subtask has its own copy back, a new
 *                  one that of another.
 *
 * An operator reads what was restored in open, and may change it in every function from then on;
 * what is there when flush has returned is in the checkpoint; behind the end of its input there is
 * no flush, what end leaves is in the last checkpoint. An operator that is restored at that point
 * gets no rows: its union list too is then only carried on, each item by one subtask.
 *
 * Pointers: items lie at multiples of 8, valid until the state is changed.
 * Memory:   bytes_max per subtask, taken at set-up, and as much again for the copy that a
 *           checkpoint writes; an entry takes 8 bytes, and key and item rounded up to multiples
 *           of 8. A restore that brings more gives it the room for that.
 * Cost:     add, put, get: O(1); clear: O(1), of a map O(bytes_max / 16); remove: O(1), over many
 *           calls. Every snapshot copies all there is while rows wait: keep it small.
 * Failure:  an item that has no room, or not the declared length, is the error of the operator:
 *           the functions that return int return 0, or what the operator has to return at once;
 *           the state is then as it was.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_operator_ctx;

enum weir_operator_state_kind {
	WEIR_SPLIT_LIST = 1,
	WEIR_UNION_LIST = 2,
	WEIR_BROADCAST_MAP = 3,
};

#define WEIR_OPERATOR_STATES_MAX      8u
#define WEIR_OPERATOR_STATE_ITEM_MAX  32768u	 /* bytes of an item */
#define WEIR_OPERATOR_STATE_KEY_MAX   256u	 /* bytes of a key */
#define WEIR_OPERATOR_STATE_BYTES     65536u	 /* bytes_max where it is 0 */
#define WEIR_OPERATOR_STATE_BYTES_MAX (1u << 26) /* of bytes_max */

/* Declared in struct weir_operator, used by its place in that list. */
struct weir_operator_state_decl {
	const char *name; /* no other state of the operator has it */
	enum weir_operator_state_kind kind;
	uint32_t item_bytes; /* items, a map's values: all of this length; 0: byte strings */
	uint32_t key_bytes;  /* a map's keys: all of this length; 0: byte strings. Lists: 0 */
	uint32_t bytes_max;  /* 0: WEIR_OPERATOR_STATE_BYTES */
	const char *type; /* what an item is, in words of yours; a checkpoint keeps them, and items
			     under other words are not restored. NULL: any of this length */
};

#define WEIR_STATE_CHECKED __attribute__((warn_unused_result))

/* Items, or entries of a map. */
uint64_t weir_operator_state_count(struct weir_operator_ctx *ctx, uint32_t state);
/* Forget them all. */
void weir_operator_state_clear(struct weir_operator_ctx *ctx, uint32_t state);

/* ---- lists ---- */

/* One more item behind the others; copied. */
WEIR_STATE_CHECKED int weir_operator_list_add(struct weir_operator_ctx *ctx, uint32_t state,
					      const void *item, uint32_t len);
/* The items in order: *cursor = 0 first; false at the end. No change between two calls. */
bool weir_operator_list_next(struct weir_operator_ctx *ctx, uint32_t state, uint64_t *cursor,
			     const void **item, uint32_t *len);

/* ---- broadcast map ---- */

/* The value of a key, new or in the place of the old one; both copied. They may not lie in the map
 * itself (map_get, map_next), whose entries a put may move. */
WEIR_STATE_CHECKED int weir_operator_map_put(struct weir_operator_ctx *ctx, uint32_t state,
					     const void *key, uint32_t key_len, const void *value,
					     uint32_t len);
/* NULL: there is none. len: its length; may be NULL. */
const void *weir_operator_map_get(struct weir_operator_ctx *ctx, uint32_t state, const void *key,
				  uint32_t key_len, uint32_t *len);
/* Was it there? */
bool weir_operator_map_remove(struct weir_operator_ctx *ctx, uint32_t state, const void *key,
			      uint32_t key_len);
/* The entries in the order of their first put, as far as none was removed; as
 * weir_operator_list_next. */
bool weir_operator_map_next(struct weir_operator_ctx *ctx, uint32_t state, uint64_t *cursor,
			    const void **key, uint32_t *key_len, const void **value, uint32_t *len);

#ifdef __cplusplus
}
#endif
#endif /* WEIR_OPERATOR_STATE_H */

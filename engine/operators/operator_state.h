#ifndef WEIR_ENGINE_OPERATORS_OPERATOR_STATE_H
#define WEIR_ENGINE_OPERATORS_OPERATOR_STATE_H

/*
 * weir_opstate: a list or map of one subtask that belongs to no key (weir/operator_state.h, R5), in
 * memory and as the bytes that a checkpoint keeps of it.
 *
 * In memory: entries one behind the other, each struct weir_opstate_entry, key, item, both zero up
 * to a multiple of 8; a map has an index of their places besides. A removed entry stays until its
 * room is wanted. A snapshot copies all of it at once (T22, 5), then writes the copy piece by
 * piece: an older copy is of no use when the next freeze comes.
 *
 * A piece, the bytes of one BLOB segment, little-endian, at most WEIR_OPSTATE_PIECE_MAX:
 *    0  u32  "WOPS"
 *    4  u32  version (1)
 *    8  u32  kind
 *   12  u32  bytes of an item, 0: strings
 *   16  u32  bytes of a key, 0: strings
 *   20  u32  entries
 *   24  u64  bytes of the entries
 *   32       the entries, whole ones
 * The pieces of a state of a subtask, in order, are one list; an empty state is one piece.
 *
 * Threads:   its subtask's core; set-up and restore while no core runs.
 * Ownership: all memory comes from take, and is freed with the runtime.
 * Failure:   what has no room is not taken (false), and nothing is changed.
 */

#include "engine/base/error.h"
#include "weir/operator_state.h"

#define WEIR_OPSTATE_MAGIC     0x53504f57u /* "WOPS" */
#define WEIR_OPSTATE_VERSION   1u
#define WEIR_OPSTATE_PIECE_MAX 61440u /* with its header in the smallest chunk of a writer */

struct weir_opstate_entry {
	uint32_t key_len; /* lists: 0 */
	uint32_t len;
};

struct weir_opstate_piece {
	uint32_t magic;
	uint32_t version;
	uint32_t kind;
	uint32_t item_bytes;
	uint32_t key_bytes;
	uint32_t entry_cnt;
	uint64_t bytes;
};
_Static_assert(sizeof(struct weir_opstate_piece) == 32, "as on disk");

struct weir_opstate {
	struct weir_operator_state_decl decl;
	uint8_t *at;
	uint64_t cap, used;
	uint64_t gone; /* bytes of removed entries among those used */
	uint64_t cnt;  /* entries that count */
	/* Maps: where the entry of a key stands, in eights, + 1; open addressing. */
	uint32_t *slot;
	uint32_t slot_cnt;  /* a power of two; 0: a list */
	uint32_t slot_gone; /* slots whose entry was removed */

	uint8_t *frozen; /* pieces */
	uint64_t frozen_len;
	uint64_t frozen_at; /* the next to be written */
};

/* Bytes that an entry takes. */
uint64_t weir_opstate_entry_bytes(uint32_t key_len, uint32_t len);
/* Bytes that a state of this declaration has for entries. */
uint64_t weir_opstate_room(const struct weir_operator_state_decl *decl);

/* Empty, with room for that many bytes of entries; again: with more room. */
void weir_opstate_init(struct weir_opstate *s, const struct weir_operator_state_decl *decl,
		       uint64_t bytes, void *(*take)(void *arg, size_t bytes), void *arg);

void weir_opstate_clear(struct weir_opstate *s);
WEIR_MUST_USE bool weir_opstate_add(struct weir_opstate *s, const void *item, uint32_t len);
WEIR_MUST_USE bool weir_opstate_put(struct weir_opstate *s, const void *key, uint32_t key_len,
				    const void *item, uint32_t len);
/* NULL: no such key. */
const struct weir_opstate_entry *weir_opstate_get(const struct weir_opstate *s, const void *key,
						  uint32_t key_len);
bool weir_opstate_remove(struct weir_opstate *s, const void *key, uint32_t key_len);
/* The next entry that counts, from *cursor (a place in bytes) on; NULL: no more. */
const struct weir_opstate_entry *weir_opstate_next(const struct weir_opstate *s, uint64_t *cursor);

static inline const void *
weir_opstate_key(const struct weir_opstate_entry *e)
{
	return e + 1;
}

static inline const void *
weir_opstate_item(const struct weir_opstate_entry *e)
{
	return (const uint8_t *)(e + 1) + weir_align_up(e->key_len, 8);
}

/* Copy what there is now into pieces. */
void weir_opstate_freeze(struct weir_opstate *s);
/* The next piece to be written; NULL: that was all. */
const struct weir_opstate_piece *weir_opstate_piece(const struct weir_opstate *s, uint64_t *len);
/* It is handed over. */
void weir_opstate_piece_out(struct weir_opstate *s);

/*
 * Is this a piece of such a state, byte for byte? Then *entries is the first of piece->entry_cnt
 * that lie one behind the other. err says what is wrong.
 */
WEIR_MUST_USE int weir_opstate_piece_check(const void *bytes, uint64_t len,
					   const struct weir_operator_state_decl *decl,
					   const struct weir_opstate_entry **entries,
					   struct weir_error *err);
/* The entry behind e. */
static inline const struct weir_opstate_entry *
weir_opstate_behind(const struct weir_opstate_entry *e)
{
	return (const void *)((const uint8_t *)e + weir_opstate_entry_bytes(e->key_len, e->len));
}

#endif /* WEIR_ENGINE_OPERATORS_OPERATOR_STATE_H */

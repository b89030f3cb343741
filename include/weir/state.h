#ifndef WEIR_STATE_H
#define WEIR_STATE_H

/*
 * Keyed state of an operator: part of every checkpoint, matched at restore by operator id and name.
 *
 * Key:        the stream's key (weir_key_by): one column, or several fixed ones packed one behind
 *             the other.
 * Namespaces: a state has a table per namespace, made on first use and dropped as a whole;
 *             namespace 0 is plain keyed state, windows use the start of their pane.
 * Pointers:   into state are valid until the next state call of the same operator.
 * Failure:    before process is called the engine makes sure that the memory budget has room for a
 *             new entry per row in each state, so look-ups cannot fail.
 */

#include <weir/type.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_operator_ctx;
struct weir_batch;

#define WEIR_STATES_MAX 4u /* of an operator */

struct weir_state_decl {
	const char *name;
	uint32_t value_bytes; /* 1..1024; a new value is all zero */
	uint32_t key_bytes;   /* 0: the stream's key; else fixed keys of this length, made by the
				 operator */
	const char *type;     /* what a value is, in words of yours; a checkpoint keeps them, and
				 values under other words are not restored. NULL: any of this length */
};

/* Values of all rows that count, by the stream's key, in namespace ns; created zeroed where
 * missing. The array has in->selected pointers and is the engine's; valid until the next state
 * call. */
void **weir_state_batch(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns,
			const struct weir_batch *in);

/* Add values[row] to the u64 value of each row's key, in the order of the rows; sums[row] = the new
 * value. row: as weir_row gives it. The batch look-up with the addition fused in. */
void weir_state_add(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns,
		    const struct weir_batch *in, const uint64_t *values, uint64_t *sums);

/* One value by a key of the state's key length (byte strings: len bytes); created zeroed where
 * missing. The entry belongs to the key group of group_hash: weir_state_hash of the stream's key.
 */
void *weir_state_put(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns, const void *key,
		     uint32_t len, uint64_t group_hash);
/* The same, or NULL where there is none. */
void *weir_state_get(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns, const void *key,
		     uint32_t len, uint64_t group_hash);
uint64_t weir_state_hash(const void *key, uint32_t len);

/* Entries of one namespace, in no order the user may rely on: *cursor = 0 first; false at the end.
 * No entry may be made in this namespace between two calls. */
bool weir_state_next(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns, uint64_t *cursor,
		     const void **key, uint32_t *len, const void **value);

/* Forget a namespace with all its entries. */
void weir_state_drop(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns);

/* Lowest namespace >= from that exists; false if there is none. */
bool weir_state_namespace(struct weir_operator_ctx *ctx, uint32_t state, int64_t from, int64_t *ns);
/* Entries in a namespace. */
uint64_t weir_state_count(struct weir_operator_ctx *ctx, uint32_t state, int64_t ns);

#ifdef __cplusplus
}
#endif
#endif /* WEIR_STATE_H */

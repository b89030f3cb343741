#ifndef WEIR_ENGINE_CORE_SUBTASK_BLOB_H
#define WEIR_ENGINE_CORE_SUBTASK_BLOB_H

/*
 * What a manifest keeps of a subtask besides its fields: little-endian words
 *   0 u32 version (2)   4 u32 flags (1: all its rows were through)   8 u32 number of
 *   transactions   12 u32 number of ranges
 *   per transaction of a two-phase sink that is pre-committed: u64 checkpoint, 7 u64 words of the
 *   sink's (files of text: attempt, number, subtask)
 *   per range of keys that are ahead of the watermark: u64 first and last hash, i64 watermark
 */

#include "engine/operators/passed.h"
#include "engine/operators/two_phase.h"

#define WEIR_SUBTASK_BLOB_VERSION 2u
#define WEIR_SUBTASK_ENDED	  1u

struct weir_subtask_blob {
	uint32_t version;
	uint32_t flags;
	uint32_t pending_cnt;
	uint32_t passed_cnt;
	struct weir_transaction pending[]; /* pending_cnt, then passed_cnt of struct weir_passed */
};
_Static_assert(sizeof(struct weir_subtask_blob) == 16, "as on disk");
_Static_assert(sizeof(struct weir_transaction) == 64, "as on disk");

static inline size_t
weir_subtask_blob_bytes(uint32_t pending_cnt, uint32_t passed_cnt)
{
	return sizeof(struct weir_subtask_blob) + pending_cnt * sizeof(struct weir_transaction) +
	       passed_cnt * sizeof(struct weir_passed);
}

static inline const struct weir_passed *
weir_subtask_blob_passed(const struct weir_subtask_blob *b)
{
	return (const void *)(b->pending + b->pending_cnt);
}

#endif /* WEIR_ENGINE_CORE_SUBTASK_BLOB_H */

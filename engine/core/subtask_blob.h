#ifndef WEIR_ENGINE_CORE_SUBTASK_BLOB_H
#define WEIR_ENGINE_CORE_SUBTASK_BLOB_H

/*
 * What a manifest keeps of a subtask besides its fields: little-endian words
 *   0 u32 version (1)   4 u32 flags (1: all its rows were through)   8 u64 number of files
 *   then per file of a text sink that the checkpoint covers: u64 epoch, u64 attempt, u64 seq, u64
 * subtask
 */

#include "engine/operators/text_sink.h"

#define WEIR_SUBTASK_BLOB_VERSION 1u
#define WEIR_SUBTASK_ENDED	  1u

struct weir_subtask_blob {
	uint32_t version;
	uint32_t flags;
	uint64_t pending_cnt;
	struct weir_sink_pending pending[]; /* pending_cnt */
};
_Static_assert(sizeof(struct weir_subtask_blob) == 16, "as on disk");
_Static_assert(sizeof(struct weir_sink_pending) == 32, "as on disk");

#endif /* WEIR_ENGINE_CORE_SUBTASK_BLOB_H */

#ifndef WEIR_ENGINE_CHECKPOINT_MANIFEST_PRIV_H
#define WEIR_ENGINE_CHECKPOINT_MANIFEST_PRIV_H

/*
 * The inside of the manifest: memory that goes back in one piece, and the two translations between
 * plain structs and protobuf-c's.
 */

#include "engine/checkpoint/manifest.h"
#include "engine/checkpoint/manifest.pb-c.h"

/*
 * weir_manifest_pool: memory taken piece by piece, given back as a whole. One thread. Every piece
 * is 16-byte aligned and zeroed. When memory is out, `failed` stays true and NULL is returned.
 */
struct weir_manifest_block;

struct weir_manifest_pool {
	struct weir_manifest_block *blocks;
	size_t used; /* of the newest block */
	bool failed;
};

void *weir_manifest_pool_take(struct weir_manifest_pool *pool, size_t cnt, size_t size);
void weir_manifest_pool_fini(struct weir_manifest_pool *pool);

/* A decoded manifest: what the caller sees comes first. */
struct weir_manifest_owned {
	struct weir_manifest m;
	struct weir_manifest_pool pool; /* holds this struct too */
};

/*
 * The message that says *m, in the pool's memory; it borrows strings and blobs of *m. NULL: memory
 * is out.
 */
const Weir__Pb__Manifest *weir_manifest_pack(struct weir_manifest_pool *pool,
					     const struct weir_manifest *m);

/* Fill *m from a message whose memory is the pool's. What comes out is unchecked. */
void weir_manifest_unpack(struct weir_manifest_pool *pool, const Weir__Pb__Manifest *pb,
			  struct weir_manifest *m);

/* Parts of weir_manifest_check (err not NULL; indices of the parts are already checked). */
WEIR_MUST_USE int weir_manifest_check_overlap(const struct weir_manifest *m,
					      struct weir_manifest_pool *pool,
					      struct weir_error *err);
WEIR_MUST_USE int weir_manifest_check_channels(const struct weir_manifest *m,
					       struct weir_manifest_pool *pool,
					       struct weir_error *err);

/* The frames of one subtask: inside its CHANNEL segments, apart from each other. */
WEIR_MUST_USE int weir_manifest_check_frames(const struct weir_manifest *m,
					     struct weir_manifest_pool *pool, uint32_t operator_idx,
					     uint32_t subtask, struct weir_error *err);

/* The operator's states that belong to no key: declared well, and all there. */
WEIR_MUST_USE int weir_manifest_check_opstates(const struct weir_manifest_operator *op,
					       struct weir_error *err);

/* Are the numbers of cnt frames first, first + 1, ...? If not, *at is the place. */
bool weir_manifest_frames_follow(const struct weir_manifest_frame *frames, uint32_t cnt,
				 uint64_t first, uint32_t *at);

/* The payload alone, without the header that protects it: what a fuzzer wants. */
WEIR_MUST_USE int weir_manifest_decode_payload(const void *bytes, size_t len,
					       struct weir_manifest **out, struct weir_error *err);

#endif /* WEIR_ENGINE_CHECKPOINT_MANIFEST_PRIV_H */

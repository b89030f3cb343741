#ifndef WEIR_ENGINE_MEMORY_FRAME_SOURCE_H
#define WEIR_ENGINE_MEMORY_FRAME_SOURCE_H

/*
 * weir_frame_source: where the frame pools of the cores get their buffers from, and where they
 * give them back. A frame is known by its index, 0 .. frame_cnt - 1.
 *
 * Threads:   any thread may call, at the same time as others; the source is shared by all cores.
 * Ownership: a frame belongs to who got it until it is put back; it is put back once.
 * Cost:      warm; a core keeps a cache in front of it and moves bursts. No allocation, no system
 *            call, no waiting for another thread.
 * Failure:   get returns fewer than asked for when the source is empty, 0 included; put always
 *            succeeds, because the source has room for every frame there is.
 */

#include "engine/base/base.h"

struct weir_frame_source;

struct weir_frame_source_ops {
	/* Take up to cnt frames; return how many were written to idx, from the first on. */
	uint32_t (*get)(struct weir_frame_source *src, uint32_t *idx, uint32_t cnt);
	/* Give back cnt frames. */
	void (*put)(struct weir_frame_source *src, const uint32_t *idx, uint32_t cnt);
	/* Frames that lie in the source now; exact when no other thread is moving any. */
	uint32_t (*count)(const struct weir_frame_source *src);
	const char *name; /* "stack", "sim" */
};

/* First member of every driver's own source. */
struct weir_frame_source {
	const struct weir_frame_source_ops *ops;
	uint32_t frame_cnt; /* frames there are; set once */
};

static inline uint32_t
weir_frame_source_get(struct weir_frame_source *src, uint32_t *idx, uint32_t cnt)
{
	return src->ops->get(src, idx, cnt);
}

static inline void
weir_frame_source_put(struct weir_frame_source *src, const uint32_t *idx, uint32_t cnt)
{
	src->ops->put(src, idx, cnt);
}

static inline uint32_t
weir_frame_source_count(const struct weir_frame_source *src)
{
	return src->ops->count(src);
}

#endif /* WEIR_ENGINE_MEMORY_FRAME_SOURCE_H */

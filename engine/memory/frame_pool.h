#ifndef WEIR_ENGINE_MEMORY_FRAME_POOL_H
#define WEIR_ENGINE_MEMORY_FRAME_POOL_H

/*
 * weir_frame_pool: a core's front of the frames that all cores share.
 *
 * A frame buffer is buffer_bytes long and 4 KiB-aligned: 256 bytes reserved for network and link
 * headers, the frame's 64-byte header, then columns. Frames are known by number. The reference
 * count of a frame lives outside its memory; a frame with more than one holder never changes.
 *
 * Threads:   one pool per core; the source behind it is shared by all.
 * Ownership: acquire gives the caller one reference; retain adds some; release drops one, and the
 *            last one gives the frame back.
 * Cost:      hot: an array pop or push; every 32 frames one call into the source. No allocation.
 * Failure:   acquire returns WEIR_FRAME_NONE when all frames are out. The plan's memory sum is such
 *            that this cannot happen while every channel keeps to its depth and overdraft.
 */

#include "engine/base/base.h"
#include "engine/memory/frame_source.h"

#define WEIR_FRAME_NONE	    UINT32_MAX
#define WEIR_FRAME_HEADROOM 256u
#define WEIR_FRAME_CACHE    64u

struct weir_frame_pool {
	struct weir_frame_source *source; /* borrowed, shared */
	char *base;			  /* borrowed: frame i at base + i * buffer_bytes */
	_Atomic uint16_t *shared;	  /* borrowed: holders of a frame beside one; free: 0 */
	uint32_t buffer_bytes;
	uint32_t cached;
	uint32_t cache[WEIR_FRAME_CACHE];
};

WEIR_INLINE void *
weir_frame_buffer(const struct weir_frame_pool *pool, uint32_t frame)
{
	return pool->base + (size_t)frame * pool->buffer_bytes;
}

/* One frame with one reference, contents undefined; WEIR_FRAME_NONE if there is none. */
static inline uint32_t
weir_frame_acquire(struct weir_frame_pool *pool)
{
	if (WEIR_UNLIKELY(pool->cached == 0)) {
		pool->cached =
			pool->source->ops->get(pool->source, pool->cache, WEIR_FRAME_CACHE / 2);
		if (pool->cached == 0)
			return WEIR_FRAME_NONE;
	}
	return pool->cache[--pool->cached];
}

/* Add cnt references; the caller holds one. */
WEIR_INLINE void
weir_frame_retain(struct weir_frame_pool *pool, uint32_t frame, uint16_t cnt)
{
	atomic_fetch_add_explicit(&pool->shared[frame], cnt, memory_order_relaxed);
}

static inline void
weir_frame_put(struct weir_frame_pool *pool, uint32_t frame)
{
	if (WEIR_UNLIKELY(pool->cached == WEIR_FRAME_CACHE)) {
		pool->source->ops->put(pool->source, pool->cache, WEIR_FRAME_CACHE / 2);
		pool->cached -= WEIR_FRAME_CACHE / 2;
		for (uint32_t i = 0; i < pool->cached; i++)
			pool->cache[i] = pool->cache[i + WEIR_FRAME_CACHE / 2];
	}
	pool->cache[pool->cached++] = frame;
}

static inline void
weir_frame_release(struct weir_frame_pool *pool, uint32_t frame)
{
	/* R1: pairs with R2; a single holder writes nothing: the line with the counts of many
	 * frames stays in every core's cache. */
	if (WEIR_LIKELY(atomic_load_explicit(&pool->shared[frame], memory_order_acquire) == 0)) {
		weir_frame_put(pool, frame);
		return;
	}
	/* R2: pairs with R1 and itself; our reads of the frame end before another core reuses it.
	 */
	if (atomic_fetch_sub_explicit(&pool->shared[frame], 1, memory_order_acq_rel) != 0)
		return;
	/* All others left between R1 and R2. The frame travels on with this through the source or a
	 * lane, which order memory. */
	atomic_store_explicit(&pool->shared[frame], 0, memory_order_relaxed);
	weir_frame_put(pool, frame);
}

/* Give all cached frames back to the source. */
static inline void
weir_frame_pool_drain(struct weir_frame_pool *pool)
{
	if (pool->cached > 0)
		pool->source->ops->put(pool->source, pool->cache, pool->cached);
	pool->cached = 0;
}

#endif /* WEIR_ENGINE_MEMORY_FRAME_POOL_H */

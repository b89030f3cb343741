#include "drivers/dpdk/frame_mem.h"

#include <stdlib.h>
#include <string.h>

/* The head: index + 1 of the top frame, 0 if there is none; above it the number of the change. */
#define IDX_BITS      29
#define IDX_MASK      ((UINT64_C(1) << IDX_BITS) - 1)
#define NONE	      UINT32_MAX
#define FRAME_CNT_MAX (1u << 28)
#define FILL_CNT      256u

static struct weir_frame_mem *
mem_of(struct weir_frame_source *src)
{
	return WEIR_CONTAINER(src, struct weir_frame_mem, source);
}

static uint32_t
top_of(uint64_t head)
{
	return (uint32_t)(head & IDX_MASK) - 1; /* NONE if there is none */
}

/* 35 bits of changes: a thread would have to sleep through 2^35 of them to be deceived. */
static uint64_t
head_after(uint64_t head, uint32_t top)
{
	return ((head >> IDX_BITS) + 1) << IDX_BITS | (uint64_t)(top + 1);
}

/*
 * Walk down from the top and cut off below. Another thread may take what we walk over and put it
 * back elsewhere meanwhile: then `next` leads astray, but only to frames, and the head has changed.
 */
static uint32_t
frame_get(struct weir_frame_source *src, uint32_t *idx, uint32_t cnt)
{
	struct weir_frame_mem *mem = mem_of(src);
	/* G1: pairs with P1; shows `next` of all that was put, and the bytes of the frames. */
	uint64_t head = atomic_load_explicit(&mem->head, memory_order_acquire);
	uint32_t cur, got;

	do {
		cur = top_of(head);
		for (got = 0; got < cnt && cur != NONE; got++) {
			idx[got] = cur;
			cur = atomic_load_explicit(&mem->next[cur], memory_order_relaxed);
		}
		if (got == 0)
			return 0;
		/* G2: pairs with P1, as G1. */
	} while (!atomic_compare_exchange_weak_explicit(&mem->head, &head, head_after(head, cur),
							memory_order_acquire,
							memory_order_acquire));
	atomic_fetch_sub_explicit(&mem->free_cnt, got, memory_order_relaxed);
	return got;
}

static void
frame_put(struct weir_frame_source *src, const uint32_t *idx, uint32_t cnt)
{
	struct weir_frame_mem *mem = mem_of(src);
	uint64_t head = atomic_load_explicit(&mem->head, memory_order_relaxed);

	if (cnt == 0)
		return;
	for (uint32_t i = 0; i < cnt; i++) {
		WEIR_ASSERT(idx[i] < src->frame_cnt);
		if (i + 1 < cnt)
			atomic_store_explicit(&mem->next[idx[i]], idx[i + 1], memory_order_relaxed);
	}
	atomic_fetch_add_explicit(&mem->free_cnt, cnt, memory_order_relaxed);
	do {
		atomic_store_explicit(&mem->next[idx[cnt - 1]], top_of(head), memory_order_relaxed);
		/* P1: pairs with G1 and G2; publishes `next`, and that we are done with the bytes.
		 * Every change of the head is a read-modify-write, so it stays published. */
	} while (!atomic_compare_exchange_weak_explicit(&mem->head, &head, head_after(head, idx[0]),
							memory_order_release,
							memory_order_relaxed));
}

static uint32_t
frame_count(const struct weir_frame_source *src)
{
	const struct weir_frame_mem *mem = (const struct weir_frame_mem *)(const void *)src;

	return atomic_load_explicit(&mem->free_cnt, memory_order_relaxed);
}

static const struct weir_frame_source_ops frame_mem_ops = {
	.get = frame_get,
	.put = frame_put,
	.count = frame_count,
	.name = "stack",
};

/* The lowest index on top: a job that needs few frames touches few. */
static void
fill(struct weir_frame_mem *mem)
{
	uint32_t idx[FILL_CNT];
	uint32_t end = mem->source.frame_cnt;

	while (end > 0) {
		const uint32_t cnt = end < FILL_CNT ? end : FILL_CNT;

		end -= cnt;
		for (uint32_t i = 0; i < cnt; i++)
			idx[i] = end + i;
		weir_frame_source_put(&mem->source, idx, cnt);
	}
}

int
weir_frame_mem_create(const struct weir_frame_mem_options *opt, struct weir_frame_mem **out,
		      struct weir_error *err)
{
	struct weir_frame_mem *mem;
	int rc;

	WEIR_ASSERT(opt->frame_cnt >= 1);
	WEIR_ASSERT(opt->frame_cnt <= FRAME_CNT_MAX);
	WEIR_ASSERT(opt->frame_bytes >= WEIR_PAGE);
	WEIR_ASSERT(opt->frame_bytes % WEIR_PAGE == 0);
	mem = aligned_alloc(alignof(struct weir_frame_mem), sizeof(*mem));
	if (mem == NULL)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "no memory for the frame list");
	memset(mem, 0, sizeof(*mem));
	mem->source =
		(struct weir_frame_source){ .ops = &frame_mem_ops, .frame_cnt = opt->frame_cnt };
	mem->frame_bytes = opt->frame_bytes;
	mem->next = calloc(opt->frame_cnt, sizeof(*mem->next));
	if (mem->next == NULL) {
		rc = weir_fail(err, WEIR_ERR_UNAVAILABLE,
			       "no memory for the free list of %u frames", opt->frame_cnt);
		goto fail_mem;
	}
	rc = weir_region_map((uint64_t)opt->frame_cnt * opt->frame_bytes, opt->huge, opt->node,
			     &mem->frames, err);
	if (rc != 0) {
		rc = weir_error_prefix(err, "frame memory");
		goto fail_next;
	}
	fill(mem);
	*out = mem;
	return 0;
fail_next:
	free(mem->next);
fail_mem:
	free(mem);
	return rc;
}

void
weir_frame_mem_destroy(struct weir_frame_mem *mem)
{
	WEIR_ASSERT(frame_count(&mem->source) == mem->source.frame_cnt);
	weir_frame_mem_discard(mem);
}

void
weir_frame_mem_discard(struct weir_frame_mem *mem)
{
	weir_region_unmap(&mem->frames);
	free(mem->next);
	free(mem);
}

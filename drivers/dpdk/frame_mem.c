#include "drivers/dpdk/frame_mem.h"

#include <stdlib.h>

#include <rte_pause.h>
#include <rte_ring.h>

#define IDX_BYTES     ((unsigned int)sizeof(uint32_t))
#define FRAME_CNT_MAX (1u << 28)
#define FILL_CNT      256u

static struct rte_ring *
ring_of(const struct weir_frame_source *src)
{
	return ((const struct weir_frame_mem *)(const void *)src)->ring;
}

static uint32_t
frame_get(struct weir_frame_source *src, uint32_t *idx, uint32_t cnt)
{
	return rte_ring_mc_rts_dequeue_burst_elem(ring_of(src), idx, IDX_BYTES, cnt, NULL);
}

/*
 * The ring has twice as many slots as there are frames. A getter that lost its CPU half-way keeps
 * its slots and all that were taken after it occupied; only when the others have moved as many
 * frames as there are meanwhile does a putter have to wait for it.
 */
static void
frame_put(struct weir_frame_source *src, const uint32_t *idx, uint32_t cnt)
{
	uint32_t done = 0;

	WEIR_ASSERT(cnt <= src->frame_cnt);
	for (;;) {
		done += rte_ring_mp_rts_enqueue_burst_elem(ring_of(src), idx + done, IDX_BYTES,
							   cnt - done, NULL);
		if (WEIR_LIKELY(done == cnt))
			return;
		rte_pause();
	}
}

static uint32_t
frame_count(const struct weir_frame_source *src)
{
	const struct rte_ring *ring = ring_of(src);
	/* The tail of relaxed-tail mode is its position and a reference count, one word. */
	const uint64_t prod = __atomic_load_n(&ring->rts_prod.tail.raw, __ATOMIC_RELAXED);
	const uint64_t cons = __atomic_load_n(&ring->rts_cons.tail.raw, __ATOMIC_RELAXED);
	const union __rte_ring_rts_poscnt p = { .raw = prod };
	const union __rte_ring_rts_poscnt c = { .raw = cons };
	const uint32_t cnt = p.val.pos - c.val.pos;

	return cnt <= src->frame_cnt ? cnt : src->frame_cnt;
}

static const struct weir_frame_source_ops frame_mem_ops = {
	.get = frame_get,
	.put = frame_put,
	.count = frame_count,
	.name = "ring",
};

static struct rte_ring *
ring_create(uint32_t cnt)
{
	const unsigned int slots = 2u << (32 - __builtin_clz(cnt));
	const ssize_t bytes = rte_ring_get_memsize_elem(IDX_BYTES, slots);
	struct rte_ring *ring;

	if (bytes < 0)
		return NULL;
	ring = aligned_alloc(WEIR_LINE_PAIR, weir_align_up((uint64_t)bytes, WEIR_LINE_PAIR));
	if (ring == NULL)
		return NULL;
	/* Relaxed tails may run apart as far as the ring is long: nobody waits for a slow one. */
	if (rte_ring_init(ring, "weir-frames", slots, RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ) != 0 ||
	    rte_ring_set_prod_htd_max(ring, ring->capacity) != 0 ||
	    rte_ring_set_cons_htd_max(ring, ring->capacity) != 0) {
		free(ring);
		return NULL;
	}
	return ring;
}

static void
fill(struct weir_frame_mem *mem)
{
	uint32_t idx[FILL_CNT];
	uint32_t cnt;

	for (uint32_t first = 0; first < mem->source.frame_cnt; first += cnt) {
		cnt = mem->source.frame_cnt - first;
		cnt = cnt < FILL_CNT ? cnt : FILL_CNT;
		for (uint32_t i = 0; i < cnt; i++)
			idx[i] = first + i;
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
	mem = calloc(1, sizeof(*mem));
	if (mem == NULL)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "no memory for the frame list");
	mem->source = (struct weir_frame_source){ .ops = &frame_mem_ops,
						  .frame_cnt = opt->frame_cnt };
	mem->frame_bytes = opt->frame_bytes;
	mem->ring = ring_create(opt->frame_cnt);
	if (mem->ring == NULL) {
		rc = weir_fail(err, WEIR_ERR_UNAVAILABLE, "no memory for the free list of %u frames",
			       opt->frame_cnt);
		goto fail_mem;
	}
	rc = weir_region_map((uint64_t)opt->frame_cnt * opt->frame_bytes, opt->huge, opt->node,
			     &mem->frames, err);
	if (rc != 0) {
		rc = weir_error_prefix(err, "frame memory");
		goto fail_ring;
	}
	fill(mem);
	*out = mem;
	return 0;
fail_ring:
	free(mem->ring);
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
	free(mem->ring);
	free(mem);
}

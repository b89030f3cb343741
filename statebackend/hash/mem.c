#include "statebackend/hash/mem.h"

#include <string.h>

/* AddressSanitizer sees one region; it is told which of its bytes are handed out. */
#ifdef __has_feature
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes)   ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

static void *
page_addr(const struct mem *m, uint32_t idx)
{
	return m->pages + ((uint64_t)idx << MEM_PAGE_SHIFT);
}

static void
list_push(struct mem *m, uint32_t *head, uint32_t idx)
{
	struct page_info *p = &m->info[idx];

	p->prev = MEM_NONE;
	p->next = *head;
	if (*head != MEM_NONE)
		m->info[*head].prev = idx;
	*head = idx;
}

static void
list_remove(struct mem *m, uint32_t *head, uint32_t idx)
{
	struct page_info *p = &m->info[idx];

	if (p->prev != MEM_NONE)
		m->info[p->prev].next = p->next;
	else
		*head = p->next;
	if (p->next != MEM_NONE)
		m->info[p->next].prev = p->prev;
}

/* Put a run on its free list, merged with its free buddies. */
static void
run_put(struct mem *m, uint32_t idx, uint32_t order)
{
	m->free_cnt += 1u << order;
	while (order + 1 < MEM_ORDERS) {
		const uint32_t buddy = idx ^ (1u << order);

		if (buddy >= m->page_cnt || m->info[buddy].kind != PAGE_FREE ||
		    m->info[buddy].order != order)
			break;
		list_remove(m, &m->run_head[order], buddy);
		m->info[buddy].kind = PAGE_NONE;
		idx &= ~(1u << order);
		order++;
	}
	m->info[idx].kind = PAGE_FREE;
	m->info[idx].order = (uint8_t)order;
	list_push(m, &m->run_head[order], idx);
}

/* Take a free run of at least this order, give back what is too much. MEM_NONE: there is none. */
static uint32_t
run_split(struct mem *m, uint32_t order)
{
	uint32_t o = order, idx;

	while (o < MEM_ORDERS && m->run_head[o] == MEM_NONE)
		o++;
	if (o == MEM_ORDERS)
		return MEM_NONE;
	idx = m->run_head[o];
	list_remove(m, &m->run_head[o], idx);
	m->info[idx].kind = PAGE_NONE;
	m->free_cnt -= 1u << o;
	while (o > order) {
		o--;
		run_put(m, idx + (1u << o), o);
	}
	return idx;
}

/* Cut a run from the high end of what was never used; the odd pages above it become free. */
static uint32_t
run_from_top(struct mem *m, uint32_t order)
{
	const uint32_t len = 1u << order;
	uint32_t start, rest;

	if (m->hi < len)
		return MEM_NONE;
	start = (m->hi - len) & ~(len - 1);
	if (start < m->lo)
		return MEM_NONE;
	rest = m->hi;
	m->hi = start;
	m->free_cnt -= rest - start;
	for (uint32_t i = start + len; i < rest; i++)
		run_put(m, i, 0);
	return start;
}

static uint32_t
run_find(struct mem *m, uint32_t order)
{
	uint32_t idx;

	/* Pages that were in use before they merged, too: those are in the caches and page tables,
	 * what was never used has to be zeroed by the kernel first. */
	if (order == 0 || m->run_head[order] != MEM_NONE) {
		idx = run_split(m, order);
		if (idx != MEM_NONE)
			return idx;
	}
	if (order == 0 && m->lo < m->hi) {
		m->free_cnt--;
		return m->lo++;
	}
	idx = order > 0 ? run_from_top(m, order) : MEM_NONE;
	return idx != MEM_NONE ? idx : run_split(m, order);
}

bool
mem_init(struct mem *m, void *base, uint64_t bytes)
{
	const uint64_t start = weir_align_up((uint64_t)(uintptr_t)base, WEIR_LINE);
	const uint64_t end = (uint64_t)(uintptr_t)base + bytes;
	uint64_t cnt, pages;

	memset(m, 0, sizeof(*m));
	ASAN_UNPOISON_MEMORY_REGION(base, bytes); /* it may have been another's */
	if (end < start + 4 * MEM_PAGE)
		return false;
	cnt = (end - start) / (MEM_PAGE + sizeof(struct page_info));
	if (cnt > 1u << 30)
		cnt = 1u << 30;
	/* Runs of two pages are aligned to their size: the largest flat block is one. */
	pages = weir_align_up(start + cnt * sizeof(struct page_info), 2 * MEM_PAGE);
	while (cnt > 0 && pages + cnt * MEM_PAGE > end)
		cnt--;
	m->info = (struct page_info *)(uintptr_t)start;
	m->pages = (uint8_t *)(uintptr_t)pages;
	m->page_cnt = (uint32_t)cnt;
	m->free_cnt = m->page_cnt;
	m->hi = m->page_cnt;
	memset(m->info, 0, cnt * sizeof(*m->info));
	ASAN_POISON_MEMORY_REGION(m->pages, cnt << MEM_PAGE_SHIFT);
	for (uint32_t i = 0; i < MEM_ORDERS; i++)
		m->run_head[i] = MEM_NONE;
	for (uint32_t i = 0; i < MEM_CLASSES; i++)
		m->slab_head[i] = MEM_NONE;
	return cnt > 0;
}

void *
mem_run_alloc(struct mem *m, uint32_t order)
{
	uint32_t idx;

	WEIR_ASSERT(order < MEM_ORDERS);
	idx = run_find(m, order);
	if (idx == MEM_NONE)
		return NULL;
	m->info[idx].kind = PAGE_RUN;
	m->info[idx].order = (uint8_t)order;
	ASAN_UNPOISON_MEMORY_REGION(page_addr(m, idx), (uint64_t)MEM_PAGE << order);
	return page_addr(m, idx);
}

void
mem_run_free(struct mem *m, void *run)
{
	const uint32_t idx = mem_page_idx(m, run);

	WEIR_ASSERT(idx < m->page_cnt);
	WEIR_ASSERT(m->info[idx].kind == PAGE_RUN);
	ASAN_POISON_MEMORY_REGION(run, (uint64_t)MEM_PAGE << m->info[idx].order);
	run_put(m, idx, m->info[idx].order);
}

bool
mem_run_ready(const struct mem *m, uint32_t order)
{
	const uint32_t len = 1u << order;

	for (uint32_t o = order; o < MEM_ORDERS; o++)
		if (m->run_head[o] != MEM_NONE)
			return true;
	if (m->hi < len)
		return false;
	return ((m->hi - len) & ~(len - 1)) >= m->lo;
}

static uint32_t
class_of(uint64_t bytes)
{
	uint32_t c = 0;

	while ((1ull << (c + MEM_CLASS_SHIFT)) < bytes)
		c++;
	return c;
}

static uint32_t
order_of(uint64_t bytes)
{
	uint32_t o = 0;

	while (((uint64_t)MEM_PAGE << o) < bytes)
		o++;
	return o;
}

/* A fresh page of blocks of class c, all free. */
static uint32_t
slab_make(struct mem *m, uint32_t c)
{
	const uint32_t idx = run_find(m, 0), cnt = MEM_PAGE >> (c + MEM_CLASS_SHIFT);
	struct page_info *p;

	if (idx == MEM_NONE)
		return MEM_NONE;
	p = &m->info[idx];
	p->kind = PAGE_SLAB;
	p->class = (uint8_t)c;
	p->free_mask[0] = cnt >= 64 ? UINT64_MAX : (1ull << cnt) - 1;
	p->free_mask[1] = cnt == 128 ? UINT64_MAX : 0;
	list_push(m, &m->slab_head[c], idx);
	return idx;
}

static void *
slab_alloc(struct mem *m, uint32_t c)
{
	uint32_t idx = m->slab_head[c], word, bit;
	struct page_info *p;

	if (idx == MEM_NONE)
		idx = slab_make(m, c);
	if (idx == MEM_NONE)
		return NULL;
	p = &m->info[idx];
	word = p->free_mask[0] == 0;
	bit = (uint32_t)__builtin_ctzll(p->free_mask[word]);
	p->free_mask[word] &= p->free_mask[word] - 1;
	if ((p->free_mask[0] | p->free_mask[1]) == 0)
		list_remove(m, &m->slab_head[c], idx);
	return (uint8_t *)page_addr(m, idx) +
	       ((uint64_t)(word * 64 + bit) << (c + MEM_CLASS_SHIFT));
}

static void
slab_free(struct mem *m, void *ptr, uint32_t c)
{
	const uint32_t idx = mem_page_idx(m, ptr), cnt = MEM_PAGE >> (c + MEM_CLASS_SHIFT);
	const uint32_t nr =
		(uint32_t)((uint8_t *)ptr - (uint8_t *)page_addr(m, idx)) >> (c + MEM_CLASS_SHIFT);
	struct page_info *p = &m->info[idx];

	WEIR_ASSERT(p->kind == PAGE_SLAB);
	WEIR_ASSERT(p->class == c);
	WEIR_ASSERT((p->free_mask[nr / 64] >> (nr % 64) & 1) == 0);
	ASAN_POISON_MEMORY_REGION(ptr, (uint64_t)MEM_PAGE / cnt);
	if ((p->free_mask[0] | p->free_mask[1]) == 0)
		list_push(m, &m->slab_head[c], idx);
	p->free_mask[nr / 64] |= 1ull << (nr % 64);
	if ((uint32_t)__builtin_popcountll(p->free_mask[0]) +
		    (uint32_t)__builtin_popcountll(p->free_mask[1]) ==
	    cnt) {
		list_remove(m, &m->slab_head[c], idx);
		run_put(m, idx, 0);
	}
}

void *
mem_alloc(struct mem *m, uint64_t bytes)
{
	const uint32_t c = class_of(bytes);
	void *ptr;

	if (c >= MEM_CLASSES)
		return mem_run_alloc(m, order_of(bytes));
	ptr = slab_alloc(m, c);
	if (ptr != NULL)
		ASAN_UNPOISON_MEMORY_REGION(ptr, bytes);
	return ptr;
}

void
mem_free(struct mem *m, void *ptr, uint64_t bytes)
{
	const uint32_t c = class_of(bytes);

	if (c < MEM_CLASSES)
		slab_free(m, ptr, c);
	else
		mem_run_free(m, ptr);
}

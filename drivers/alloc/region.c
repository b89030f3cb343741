#include "drivers/alloc/region.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HUGE_BYTES (UINT64_C(2) << 20)
#define NODE_MAX   1024

#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#define POLICY_PREFERRED 1 /* MPOL_PREFERRED of the kernel's interface */

/* Ask for pages of node first. A host without NUMA refuses, and nothing is lost then. */
static void
prefer_node(void *base, uint64_t bytes, uint32_t node)
{
	unsigned long mask[NODE_MAX / (8 * sizeof(unsigned long))] = { 0 };
	const uint32_t bits = 8 * sizeof(unsigned long);

	if (node >= NODE_MAX)
		return;
	mask[node / bits] |= 1ul << (node % bits);
	(void)syscall(SYS_mbind, base, bytes, POLICY_PREFERRED, mask, (unsigned long)NODE_MAX, 0ul);
}

/* NULL if there are not enough hugepages. */
static void *
map_huge(uint64_t bytes, uint32_t node)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);

	if (base == MAP_FAILED)
		return NULL;
	prefer_node(base, bytes, node);
	/*
	 * The reservation does not promise that a cgroup or cpuset lets us have the pages. A kernel
	 * before 5.14 does not know the request and says EINVAL: it has to be trusted.
	 */
	if (madvise(base, bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
		munmap(base, bytes);
		return NULL;
	}
	return base;
}

static void *
map_plain(uint64_t bytes, uint32_t node)
{
	/* Room for moving the start to a boundary that transparent hugepages can use. */
	const uint64_t room = bytes >= HUGE_BYTES ? HUGE_BYTES : 0;
	char *all = mmap(NULL, bytes + room, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *base;

	if (all == MAP_FAILED)
		return NULL;
	base = all;
	if (room != 0) {
		base = all + (weir_align_up((uintptr_t)all, HUGE_BYTES) - (uintptr_t)all);
		if (base != all)
			munmap(all, (size_t)(base - all));
		if (base != all + room)
			munmap(base + bytes, (size_t)(all + room - base));
		(void)madvise(base, bytes, MADV_HUGEPAGE);
	}
	prefer_node(base, bytes, node);
	return base;
}

int
weir_region_map(uint64_t bytes, enum weir_huge huge, uint32_t node, struct weir_region *region,
		struct weir_error *err)
{
	const uint64_t huge_bytes = weir_align_up(bytes, HUGE_BYTES);
	const uint64_t plain_bytes = weir_align_up(bytes, WEIR_PAGE);
	void *base = NULL;

	WEIR_ASSERT(bytes > 0);
	if (huge != WEIR_HUGE_OFF)
		base = map_huge(huge_bytes, node);
	if (base != NULL) {
		*region = (struct weir_region){ .base = base, .bytes = huge_bytes, .huge = true };
		return 0;
	}
	if (huge == WEIR_HUGE_ON)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE,
				 "%" PRIu64 " hugepages of 2 MiB are not free: "
				 "sysctl -w vm.nr_hugepages=N (as root), or memory.hugepages: auto",
				 huge_bytes / HUGE_BYTES);
	base = map_plain(plain_bytes, node);
	if (base == NULL)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "cannot map %" PRIu64 " bytes: %s",
				 plain_bytes, strerror(errno));
	*region = (struct weir_region){ .base = base, .bytes = plain_bytes, .huge = false };
	return 0;
}

void
weir_region_unmap(struct weir_region *region)
{
	if (region->base != NULL)
		munmap(region->base, region->bytes);
	*region = (struct weir_region){ .base = NULL };
}

bool
weir_region_huge_possible(uint64_t bytes)
{
	const uint64_t huge_bytes = weir_align_up(bytes, HUGE_BYTES);
	void *base = map_huge(huge_bytes, WEIR_REGION_NODE_ANY);

	if (base == NULL)
		return false;
	munmap(base, huge_bytes);
	return true;
}

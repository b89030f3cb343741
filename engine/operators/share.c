#include "engine/operators/share.h"

#include "weir/operator_state.h"

static uint64_t
items_of(const struct weir_share_old *old, uint32_t i)
{
	return old->item_cnt[i] == WEIR_SHARE_NONE ? 0 : old->item_cnt[i];
}

/* Items begin .. end of the old lists, one behind the other. */
static void
share_range(const struct weir_share_old *old, uint64_t begin, uint64_t end,
	    struct weir_share *share)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < old->parallelism; i++) {
		const uint64_t cnt = items_of(old, i);
		const uint64_t lo = begin > at ? begin : at;
		const uint64_t hi = end < at + cnt ? end : at + cnt;

		if (lo < hi)
			share[i] = (struct weir_share){ .first = lo - at, .cnt = hi - lo };
		at += cnt;
	}
}

static void
share_even(const struct weir_share_old *old, uint32_t subtask, uint32_t parallelism,
	   struct weir_share *share)
{
	uint64_t all = 0, base, rest;

	for (uint32_t i = 0; i < old->parallelism; i++)
		all += items_of(old, i);
	/* The first subtasks get one more, where it does not come out even. */
	base = all / parallelism;
	rest = all % parallelism;
	share_range(old, subtask * base + (subtask < rest ? subtask : rest),
		    (subtask + 1) * base + (subtask + 1 < rest ? subtask + 1 : rest), share);
}

static void
share_copy(const struct weir_share_old *old, uint32_t subtask, struct weir_share *share)
{
	for (uint32_t k = 0; k < old->parallelism; k++) {
		const uint32_t i = (subtask + k) % old->parallelism;

		if (old->item_cnt[i] == WEIR_SHARE_NONE)
			continue;
		share[i].cnt = old->item_cnt[i];
		return;
	}
}

void
weir_share_of(uint32_t kind, const struct weir_share_old *old, uint32_t subtask,
	      uint32_t parallelism, struct weir_share *share)
{
	WEIR_ASSERT(subtask < parallelism);
	WEIR_ASSERT(old->parallelism > 0);
	for (uint32_t i = 0; i < old->parallelism; i++)
		share[i] = (struct weir_share){ 0 };
	switch ((enum weir_operator_state_kind)kind) {
	case WEIR_SPLIT_LIST:
		if (old->parallelism == parallelism)
			share[subtask].cnt = items_of(old, subtask);
		else
			share_even(old, subtask, parallelism, share);
		return;
	case WEIR_UNION_LIST:
		share_range(old, 0, UINT64_MAX, share);
		return;
	case WEIR_BROADCAST_MAP:
		share_copy(old, subtask, share);
		return;
	}
}

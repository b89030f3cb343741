#define WEIR_LANES 4
#include "jobs/nexmark/gen_lanes_inl.h"

void
weir_nexmark_kernel_v3(const struct weir_nexmark *gen, const struct weir_nexmark_epoch *epoch,
		       uint64_t first, uint32_t cnt, const struct weir_nexmark_bids *out)
{
	bids_in_lanes(gen, epoch, first, cnt, out);
}

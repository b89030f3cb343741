#include "statebackend/snapshot/ops.h"

#include "statebackend/snapshot/writer.h"

static void
begin(struct weir_snap_writer *w, const char *path, uint64_t job_hash, uint64_t attempt,
      uint64_t checkpoint, uint32_t core)
{
	const struct weir_snap_id id = { job_hash, attempt, checkpoint, core };

	weir_snap_writer_begin(w, path, &id);
}

static enum weir_snapshot_step
step(struct weir_snap_writer *w)
{
	switch (weir_snap_writer_step(w)) {
	case WEIR_SNAP_DONE:
		return WEIR_SNAPSHOT_DONE;
	case WEIR_SNAP_FAILED:
		return WEIR_SNAPSHOT_FAILED;
	default:
		return WEIR_SNAPSHOT_BUSY;
	}
}

const struct weir_snapshot_ops weir_snap_writer_ops = {
	.begin = begin,
	.scope = weir_snap_writer_scope,
	.canonical = weir_snap_writer_canonical,
	.append = weir_snap_writer_append,
	.pieces = weir_snap_writer_pieces,
	.seal = weir_snap_writer_seal,
	.abort = weir_snap_writer_abort,
	.done = weir_snap_writer_done,
	.step = step,
	.segments = weir_snap_writer_segments,
	.refs = weir_snap_writer_refs,
	.error = weir_snap_writer_error,
};

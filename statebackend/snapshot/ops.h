#ifndef WEIR_STATEBACKEND_SNAPSHOT_OPS_H
#define WEIR_STATEBACKEND_SNAPSHOT_OPS_H

/*
 * The snapshot writer as the engine sees it: what a driver table gives as its snap. The functions
 * are those of writer.h, which has their contracts.
 */

#include "engine/state/snapshot.h"

extern const struct weir_snapshot_ops weir_snap_writer_ops;

#endif /* WEIR_STATEBACKEND_SNAPSHOT_OPS_H */

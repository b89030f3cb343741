#ifndef WEIR_STATEBACKEND_SNAPSHOT_SEGMENT_H
#define WEIR_STATEBACKEND_SNAPSHOT_SEGMENT_H

/* What a manifest says about a segment is the engine's word too. */
#include "engine/state/segment.h"

#endif /* WEIR_STATEBACKEND_SNAPSHOT_SEGMENT_H */

#ifndef WEIR_TESTS_UNIT_ENGINE_CORE_WORLD_DISK_H
#define WEIR_TESTS_UNIT_ENGINE_CORE_WORLD_DISK_H

/* What world.c and its disk share. */

#include "tests/unit/engine/core/world.h"

/* Manifests on the disk, ascending, into w->own; all of them proven whole. */
void world_read_own(struct world *w);
void world_free_own(struct world *w);
/* Pages of a checkpoint into the runtime. */
int world_load(struct world *w, const struct weir_manifest *m, struct weir_error *err);
/* Temporary output that nothing names. */
void world_sweep_output(struct world *w);

#endif /* WEIR_TESTS_UNIT_ENGINE_CORE_WORLD_DISK_H */

#ifndef WEIR_ENGINE_BASE_PLANT_H
#define WEIR_ENGINE_BASE_PLANT_H

/*
 * Planted faults: places where the simulator can make the engine wrong on purpose, to show that it
 * would be noticed. WEIR_PLANT(name) is the constant false in the product, where the compiler takes
 * the fault away; in the simulator's own compile (-DWEIR_PLANTS=1) it is true while that fault is
 * chosen.
 *
 * Threads: weir_plant_chosen is set before the engine runs. Cost: none in the product.
 * Use:     if (WEIR_PLANT(LANE_DROP)) return;   the names are those of engine/base/plants.def.
 */

#include "engine/base/base.h"

enum weir_plant {
	WEIR_PLANT_NONE,
#define X(id, name, text) WEIR_PLANT_##id,
#include "engine/base/plants.def"
#undef X
	WEIR_PLANT_CNT
};

#ifndef WEIR_PLANTS
#define WEIR_PLANTS 0
#endif

#if WEIR_PLANTS
extern enum weir_plant weir_plant_chosen;
#define WEIR_PLANT(id) WEIR_UNLIKELY(weir_plant_chosen == WEIR_PLANT_##id)
#else
#define WEIR_PLANT(id) false
#endif

#endif /* WEIR_ENGINE_BASE_PLANT_H */

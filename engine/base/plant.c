#include "engine/base/plant.h"

#if WEIR_PLANTS
enum weir_plant weir_plant_chosen = WEIR_PLANT_NONE;
#endif

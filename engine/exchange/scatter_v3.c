#define WEIR_LANES 4
#include "engine/exchange/scatter_inl.h"

const struct weir_scatter weir_scatter_v3 = { scatter_two, scatter_gather, scatter_marks,
					      scatter_split };

#define WEIR_LANES 8
#include "engine/exchange/scatter_inl.h"

const struct weir_scatter weir_scatter_v4 = { scatter_two, scatter_gather, scatter_marks,
					      scatter_split };

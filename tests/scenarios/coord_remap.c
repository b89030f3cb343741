/* Kind `remap`. */

#include "tests/scenarios/coord.h"

void
coord_run_remap(struct coord_scenario *s)
{
	coord_nonsense(s, &s->file->lines[s->first]);
}

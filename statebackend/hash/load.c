#include "statebackend/hash/hash_priv.h"

int
hash_load(struct weir_kstate *st, const struct weir_segment *seg, const void *bytes,
	  struct weir_error *err)
{
	(void)st;
	(void)seg;
	(void)bytes;
	return weir_fail(err, WEIR_ERR_DATA, "not there yet");
}

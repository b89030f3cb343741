#ifndef WEIR_STATEBACKEND_HASH_HASH_H
#define WEIR_STATEBACKEND_HASH_HASH_H

/*
 * The in-memory backend: hash-ordered pages of 16 KiB that are at once the unit of look-up,
 * copy-on-write and I/O. Contract: engine/state/backend.h. Layout: statebackend/hash/layout.h.
 */

#include "statebackend/backend.h"

struct weir_backend_hash_config {
	void *base;		/* lent for the backend's life; any alignment, zeroed or not */
	uint64_t bytes;		/* at least 1 MiB; the budget */
	const char *budget_key; /* configuration key named in messages; borrowed for ever */
};

/* The backend lives at the start of the region. NULL and *err when the region is too small. */
struct weir_backend *weir_backend_hash_open(const struct weir_backend_hash_config *cfg,
					    struct weir_error *err);

#endif /* WEIR_STATEBACKEND_HASH_HASH_H */

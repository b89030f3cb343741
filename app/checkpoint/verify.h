#ifndef WEIR_APP_CHECKPOINT_VERIFY_H
#define WEIR_APP_CHECKPOINT_VERIFY_H

/*
 * Reads every byte of data files that a checkpoint uses, and has statebackend/verify judge it.
 *
 * Cost:    reads all of it once, one segment in memory at a time; takes seconds per GiB.
 * Failure: WEIR_ERR_DATA with file, part and reason; WEIR_ERR_IO when a file could not be read.
 */

#include "engine/checkpoint/layout.h"
#include "engine/checkpoint/manifest.h"

/* m has been checked (weir_stored_read); data_dir is where its files lie. */
WEIR_MUST_USE int weir_checkpoint_verify(const struct weir_manifest *m, const char *data_dir,
					 struct weir_error *err);

#endif /* WEIR_APP_CHECKPOINT_VERIFY_H */

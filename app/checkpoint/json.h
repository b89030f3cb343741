#ifndef WEIR_APP_CHECKPOINT_JSON_H
#define WEIR_APP_CHECKPOINT_JSON_H

/*
 * A manifest as JSON, and the byte ranges that it uses. Numbers of the hash order are text
 * ("0x..."), because JSON's integers end at 2^63.
 *
 * Ownership: the json_t returned is the caller's. NULL: memory is out.
 */

#include <jansson.h>

#include "engine/checkpoint/layout.h"
#include "engine/checkpoint/manifest.h"

json_t *weir_checkpoint_json(const struct weir_manifest *m);

/* [ { path, offset, bytes } ]: data_dir is absolute. Touching ranges are one. */
json_t *weir_checkpoint_ranges(const struct weir_manifest *m, const char *data_dir);

/* Bytes of all ranges together. */
uint64_t weir_checkpoint_bytes(const struct weir_manifest *m);

/* "periodic", "manual", "final" */
const char *weir_checkpoint_kind(uint32_t kind);

#endif /* WEIR_APP_CHECKPOINT_JSON_H */

#ifndef WEIR_APP_CONFIG_JSON_H
#define WEIR_APP_CONFIG_JSON_H

/*
 * The effective configuration as JSON: { "job.seed": { value, origin }, … }: every key by its path,
 * operators' keys too. value: a number for counts and factors, true or false, else a text as the
 * user would write it, null for a key without value. origin: "default" or file:line:col.
 */

#include "engine/config/config.h"

#include <jansson.h>

json_t *weir_config_json(const struct weir_config *cfg);

#endif /* WEIR_APP_CONFIG_JSON_H */

#ifndef WEIR_ENGINE_CONFIG_PARAMS_H
#define WEIR_ENGINE_CONFIG_PARAMS_H

/*
 * What a job and its connectors see of the configuration: its job.* keys, through the functions of
 * include/weir/job.h. A key's value is the given one or the configuration's own default; the
 * caller's default counts only for keys that have neither (job.input, job.events).
 *
 * Threads:   read-only. Ownership: borrows a finished configuration; texts live as long as that.
 */

#include "engine/config/config.h"

struct weir_params {
	const struct weir_config *cfg;
};

/* The key "job." + name; false if there is none. */
bool weir_params_key(const char *name, enum weir_config_key *key);

#endif /* WEIR_ENGINE_CONFIG_PARAMS_H */

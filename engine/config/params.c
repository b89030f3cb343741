#include "engine/config/params.h"

#include "weir/job.h"

#include <string.h>

bool
weir_params_key(const char *name, enum weir_config_key *key)
{
	for (uint32_t i = 0; i < WEIR_KEY_CNT; i++) {
		const char *path = weir_config_keys[i].path;

		if (strncmp(path, "job.", 4) == 0 && strcmp(path + 4, name) == 0) {
			*key = i;
			return true;
		}
	}
	return false;
}

/* The field of a job.* key that has a value, or NULL. */
static const void *
field_of(const struct weir_params *params, const char *name, enum weir_config_kind *kind)
{
	enum weir_config_key key;

	if (!weir_params_key(name, &key) || params->cfg->text[key] == NULL)
		return NULL;
	*kind = weir_config_keys[key].kind;
	return (const char *)params->cfg + weir_config_keys[key].offset;
}

const char *
weir_param_text(const struct weir_params *params, const char *name, const char *def)
{
	enum weir_config_key key;

	if (!weir_params_key(name, &key) || params->cfg->text[key] == NULL)
		return def;
	return params->cfg->text[key];
}

uint64_t
weir_param_u64(const struct weir_params *params, const char *name, uint64_t def)
{
	enum weir_config_kind kind;
	const void *field = field_of(params, name, &kind);

	if (field == NULL)
		return def;
	WEIR_ASSERT(kind == WEIR_CONFIG_KIND_COUNT || kind == WEIR_CONFIG_KIND_SIZE);
	return *(const uint64_t *)field;
}

int64_t
weir_param_time_ns(const struct weir_params *params, const char *name, int64_t def)
{
	enum weir_config_kind kind;
	const void *field = field_of(params, name, &kind);

	if (field == NULL)
		return def;
	WEIR_ASSERT(kind == WEIR_CONFIG_KIND_TIME || kind == WEIR_CONFIG_KIND_BOUND);
	return *(const int64_t *)field;
}

bool
weir_param_bool(const struct weir_params *params, const char *name, bool def)
{
	enum weir_config_kind kind;
	const void *field = field_of(params, name, &kind);

	if (field == NULL)
		return def;
	WEIR_ASSERT(kind == WEIR_CONFIG_KIND_BOOL);
	return *(const bool *)field;
}

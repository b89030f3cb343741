#include "app/config_json.h"

#include <stdio.h>
#include <string.h>

static json_t *
number(uint64_t v)
{
	char text[32];

	/* JSON integers of the library are signed; a seed above that goes as text. */
	if (v <= INT64_MAX)
		return json_integer((json_int_t)v);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	return json_string(text);
}

static json_t *
value_of(const struct weir_config *cfg, enum weir_config_key key)
{
	const struct weir_config_key_info *info = &weir_config_keys[key];
	const void *field = (const char *)cfg + info->offset;
	char text[8192];

	if (!weir_config_value_text(cfg, key, text, sizeof(text)))
		return json_null();
	switch (info->kind) {
	case WEIR_CONFIG_KIND_BOOL:
		return json_boolean(*(const bool *)field);
	case WEIR_CONFIG_KIND_COUNT:
		return number(*(const uint64_t *)field);
	case WEIR_CONFIG_KIND_FACTOR:
		return json_real((double)*(const uint32_t *)field / 1000.0);
	default:
		return json_string(text);
	}
}

static void
add(const struct weir_config *cfg, json_t *out, const char *path, json_t *value,
    struct weir_origin at)
{
	char where[4200];

	weir_config_where(cfg, at, where, sizeof(where));
	json_object_set_new(out, path, json_pack("{s:o, s:s}", "value", value, "origin", where));
}

json_t *
weir_config_json(const struct weir_config *cfg)
{
	json_t *out = json_object();
	char path[256];

	for (uint32_t key = 0; key < WEIR_KEY_CNT; key++)
		add(cfg, out, weir_config_keys[key].path, value_of(cfg, key), cfg->origin[key]);
	for (const struct weir_operator_config *op = cfg->operators; op != NULL; op = op->next) {
		snprintf(path, sizeof(path), "operators.%s.parallelism", op->id);
		if (op->parallelism_at.source != 0)
			add(cfg, out, path, json_integer(op->parallelism), op->parallelism_at);
		snprintf(path, sizeof(path), "operators.%s.cores", op->id);
		if (op->cores_at.source != 0)
			add(cfg, out, path, json_string(op->cores.text), op->cores_at);
	}
	return out;
}

#include "engine/config/config_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"

/* One piece of memory that lives as long as the configuration. */
struct weir_config_block {
	struct weir_config_block *next;
	alignas(max_align_t) unsigned char bytes[];
};

#define W(constant, word)      word,
#define WEIR_ENUM(name, words) static const char *const name##_words[] = { words };
#include "engine/config/keys.def"
#undef W

const struct weir_config_key_info weir_config_keys[WEIR_KEY_CNT] = {
#define WEIR_KEY(field_, path_, kind_, deflt_, min_, max_, step_, flink_, help_)                   \
	{ .path = (path_),                                                                         \
	  .kind = WEIR_CONFIG_KIND_##kind_,                                                        \
	  .offset = offsetof(struct weir_config, field_),                                          \
	  .deflt = (deflt_),                                                                       \
	  .min = (min_),                                                                           \
	  .max = (max_),                                                                           \
	  .step = (step_),                                                                         \
	  .flink = (flink_),                                                                       \
	  .help = (help_) },
#define WEIR_KEY_ENUM(field_, path_, name_, deflt_, flink_, help_)                                 \
	{ .path = (path_),                                                                         \
	  .kind = WEIR_CONFIG_KIND_ENUM,                                                           \
	  .offset = offsetof(struct weir_config, field_),                                          \
	  .deflt = (deflt_),                                                                       \
	  .words = name_##_words,                                                                  \
	  .word_cnt = (uint32_t)WEIR_ARRAY_CNT(name_##_words),                                     \
	  .flink = (flink_),                                                                       \
	  .help = (help_) },
#include "engine/config/keys.def"
};

const struct weir_config_key_info weir_config_operator_parallelism = {
	.path = "operators.ID.parallelism",
	.kind = WEIR_CONFIG_KIND_COUNT,
	.deflt = "",
	.min = 1,
	.max = 256,
	.step = 1,
	.flink = "-",
	.help = "subtasks of the operator ID; unset: parallelism",
};

const struct weir_config_key_info weir_config_operator_cores = {
	.path = "operators.ID.cores",
	.kind = WEIR_CONFIG_KIND_CPUS,
	.deflt = "",
	.flink = "-",
	.help = "CPUs of the operator's subtasks, in order; unset: by placement.policy",
};

void *
weir_config_alloc(struct weir_config *cfg, size_t len)
{
	struct weir_config_block *block = calloc(1, sizeof(*block) + len);

	WEIR_ASSERT(block != NULL);
	block->next = cfg->blocks;
	cfg->blocks = block;
	return block->bytes;
}

char *
weir_config_copy(struct weir_config *cfg, const char *text, size_t len)
{
	char *copy = weir_config_alloc(cfg, len + 1);

	memcpy(copy, text, len);
	return copy;
}

uint32_t
weir_config_add_source(struct weir_config *cfg, enum weir_source_kind kind, const char *name,
		       const char *text, size_t len)
{
	struct weir_config_source *src;

	cfg->sources = realloc(cfg->sources, (cfg->source_cnt + 1) * sizeof(*cfg->sources));
	WEIR_ASSERT(cfg->sources != NULL);
	src = &cfg->sources[cfg->source_cnt];
	*src = (struct weir_config_source){ .kind = kind, .len = (uint32_t)len };
	src->name = weir_config_copy(cfg, name, strlen(name));
	if (text != NULL)
		src->text = weir_config_copy(cfg, text, len);
	return cfg->source_cnt++;
}

/* Put a parsed value into the field of key. */
static void
store(struct weir_config *cfg, enum weir_config_key key, const char *text,
      const struct weir_value *value)
{
	const struct weir_config_key_info *info = &weir_config_keys[key];
	void *field = (char *)cfg + info->offset;

	cfg->text[key] = weir_config_copy(cfg, text, strlen(text));
	switch (info->kind) {
	case WEIR_CONFIG_KIND_STRING:
		*(const char **)field = cfg->text[key];
		return;
	case WEIR_CONFIG_KIND_BOOL:
		*(bool *)field = value->number != 0;
		return;
	case WEIR_CONFIG_KIND_CPUS: {
		struct weir_cpu_list *list = field;
		uint16_t *cpu = weir_config_alloc(cfg, value->cpus.cnt * sizeof(*cpu));

		memcpy(cpu, value->cpu, value->cpus.cnt * sizeof(*cpu));
		list->text = cfg->text[key];
		list->cpu = cpu;
		list->cnt = value->cpus.cnt;
		return;
	}
	case WEIR_CONFIG_KIND_ENUM:
	case WEIR_CONFIG_KIND_FACTOR:
		*(uint32_t *)field = (uint32_t)value->number;
		return;
	default:
		*(uint64_t *)field = value->number;
		return;
	}
}

static void
set_default(struct weir_config *cfg, enum weir_config_key key)
{
	const struct weir_config_key_info *info = &weir_config_keys[key];
	struct weir_value_error e;
	struct weir_value value;

	if (info->deflt[0] == '\0') {
		if (info->kind == WEIR_CONFIG_KIND_COUNT)
			*(uint64_t *)(void *)((char *)cfg + info->offset) = WEIR_CONFIG_UNSET;
		return;
	}
	/* A default passes the checks of a given value, so the list cannot contradict itself. */
	WEIR_ASSERT(weir_value_parse(info, info->deflt, &value, &e));
	store(cfg, key, info->deflt, &value);
}

void
weir_config_init(struct weir_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	weir_config_add_source(cfg, WEIR_SOURCE_DEFAULT, "default", NULL, 0);
	for (uint32_t key = 0; key < WEIR_KEY_CNT; key++)
		set_default(cfg, key);
}

void
weir_config_fini(struct weir_config *cfg)
{
	while (cfg->blocks != NULL) {
		struct weir_config_block *next = cfg->blocks->next;

		free(cfg->blocks);
		cfg->blocks = next;
	}
	free(cfg->sources);
	memset(cfg, 0, sizeof(*cfg));
}

bool
weir_config_is_set(const struct weir_config *cfg, enum weir_config_key key)
{
	return cfg->origin[key].source != 0;
}

bool
weir_config_is_bad(const struct weir_config *cfg, enum weir_config_key key)
{
	const struct weir_origin *at = cfg->key_at[key];

	return !weir_config_is_set(cfg, key) && (at[false].source != 0 || at[true].source != 0);
}

static bool
valid_operator_id(const char *id, size_t len)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	return len > 0 && strspn(id, ok) >= len;
}

/* operators, operators.ID, operators.ID.parallelism, operators.ID.cores. */
static enum weir_path_kind
resolve_operator(const char *path)
{
	const char *id = path + strlen("operators.");
	const char *dot;

	if (strcmp(path, "operators") == 0)
		return WEIR_PATH_SECTION;
	if (strncmp(path, "operators.", strlen("operators.")) != 0)
		return WEIR_PATH_UNKNOWN;
	dot = strchr(id, '.');
	if (!valid_operator_id(id, dot != NULL ? (size_t)(dot - id) : strlen(id)))
		return WEIR_PATH_UNKNOWN;
	if (dot == NULL)
		return WEIR_PATH_SECTION;
	if (strcmp(dot, ".parallelism") == 0)
		return WEIR_PATH_OPERATOR_PARALLELISM;
	return strcmp(dot, ".cores") == 0 ? WEIR_PATH_OPERATOR_CORES : WEIR_PATH_UNKNOWN;
}

enum weir_path_kind
weir_config_resolve(const char *path, enum weir_config_key *key)
{
	const size_t len = strlen(path);
	bool section = false;

	for (uint32_t i = 0; i < WEIR_KEY_CNT; i++) {
		const char *known = weir_config_keys[i].path;

		if (strcmp(known, path) == 0) {
			*key = i;
			return WEIR_PATH_KEY;
		}
		section |= strncmp(known, path, len) == 0 && known[len] == '.';
	}
	return section ? WEIR_PATH_SECTION : resolve_operator(path);
}

void
weir_config_error_unknown(struct weir_config *cfg, struct weir_origin at, const char *path,
			  bool sections)
{
	char near[PATH_MAX_LEN], hint[PATH_MAX_LEN + 32];
	const char *suggestion = weir_config_suggest_path(path, sections, near);

	snprintf(hint, sizeof(hint), suggestion != NULL ? "did you mean %s?" : "%s lists all keys",
		 suggestion != NULL ? suggestion : "weir help keys");
	weir_config_error(cfg, at, hint, "unknown %s %s", sections ? "section" : "key", path);
}

/* The entry of operator id (from path "operators.ID.…"), made at its first mention. */
static struct weir_operator_config *
operator_entry(struct weir_config *cfg, const char *path, struct weir_origin at)
{
	const char *id = path + strlen("operators.");
	const size_t len = strcspn(id, ".");
	struct weir_operator_config **link = &cfg->operators;

	for (; *link != NULL; link = &(*link)->next) {
		if (strlen((*link)->id) == len && memcmp((*link)->id, id, len) == 0)
			return *link;
	}
	*link = weir_config_alloc(cfg, sizeof(**link));
	(*link)->id = weir_config_copy(cfg, id, len);
	(*link)->id_at = at;
	return *link;
}

/* Where first holds a place of the same level (file, --set), path was given twice. */
static bool
duplicate(struct weir_config *cfg, const char *path, const struct weir_origin *first,
	  struct weir_origin again)
{
	char where[512], hint[600];

	if (first->source == 0)
		return false;
	snprintf(hint, sizeof(hint), "first given at %s",
		 weir_config_where(cfg, *first, where, sizeof(where)));
	weir_config_error(cfg, again, hint, "%s is given twice", path);
	return true;
}

/* Place of the error e within a value's text. */
static struct weir_origin
value_error_at(struct weir_origin value_at, const char *text, const struct weir_value_error *e)
{
	struct weir_origin at = value_at;

	at.col += weir_utf8_columns(text, e->at);
	at.len = e->len;
	return at;
}

static void
assign_operator(struct weir_config *cfg, const char *path, enum weir_path_kind kind,
		struct weir_origin key_at, const char *text, const struct weir_value *value,
		struct weir_origin value_at)
{
	struct weir_operator_config *op = operator_entry(cfg, path, key_at);
	const bool cores = kind == WEIR_PATH_OPERATOR_CORES;
	struct weir_origin *at = cores ? &op->cores_at : &op->parallelism_at;
	const bool same_level = at->source != 0 &&
				cfg->sources[at->source].kind == cfg->sources[key_at.source].kind;

	if (same_level && duplicate(cfg, path, at, key_at))
		return;
	*at = value_at;
	if (!cores) {
		op->parallelism = (uint32_t)value->number;
	} else {
		uint16_t *cpu = weir_config_alloc(cfg, value->cpus.cnt * sizeof(*cpu));

		memcpy(cpu, value->cpu, value->cpus.cnt * sizeof(*cpu));
		op->cores.text = weir_config_copy(cfg, text, strlen(text));
		op->cores.cpu = cpu;
		op->cores.cnt = value->cpus.cnt;
	}
}

void
weir_config_assign(struct weir_config *cfg, const char *path, enum weir_path_kind kind,
		   enum weir_config_key key, struct weir_origin key_at, const char *text,
		   struct weir_origin value_at, bool check_only)
{
	const struct weir_config_key_info *info = &weir_config_operator_cores;
	const bool from_set = cfg->sources[key_at.source].kind == WEIR_SOURCE_SET;
	struct weir_value_error e;
	struct weir_value value;
	bool repeated = false;

	if (kind == WEIR_PATH_KEY)
		info = &weir_config_keys[key];
	else if (kind == WEIR_PATH_OPERATOR_PARALLELISM)
		info = &weir_config_operator_parallelism;
	if (kind == WEIR_PATH_KEY && !check_only) {
		repeated = duplicate(cfg, path, &cfg->key_at[key][from_set], key_at);
		if (!repeated)
			cfg->key_at[key][from_set] = key_at;
	}
	e.hint[0] = '\0';
	if (!weir_value_parse(info, text, &value, &e)) {
		weir_config_error(cfg, value_error_at(value_at, text, &e), e.hint, "%s: %s", path,
				  e.text);
		return;
	}
	if (check_only || repeated)
		return;
	if (kind != WEIR_PATH_KEY) {
		assign_operator(cfg, path, kind, key_at, text, &value, value_at);
		return;
	}
	store(cfg, key, text, &value);
	cfg->origin[key] = value_at;
}

int
weir_config_set(struct weir_config *cfg, const char *assignment)
{
	const uint32_t before = cfg->error_cnt;
	const char *eq = strchr(assignment, '=');
	const size_t path_len = eq != NULL ? (size_t)(eq - assignment) : strlen(assignment);
	struct weir_origin key_at = { .line = 1, .col = 1 }, value_at;
	enum weir_config_key key = 0;
	enum weir_path_kind kind;
	char name[512], path[PATH_MAX_LEN];

	snprintf(name, sizeof(name), "--set %.400s", assignment);
	key_at.source =
		weir_config_add_source(cfg, WEIR_SOURCE_SET, name, assignment, strlen(assignment));
	key_at.len = path_len > 0 ? weir_utf8_columns(assignment, path_len) : 1;
	value_at = key_at;
	value_at.col = weir_utf8_columns(assignment, path_len) + 2;
	value_at.len = eq != NULL && eq[1] != '\0' ? weir_utf8_columns(eq + 1, strlen(eq + 1)) : 1;
	snprintf(path, sizeof(path), "%.*s", (int)(path_len < 4096 ? path_len : 4096), assignment);
	kind = path_len < sizeof(path) ? weir_config_resolve(path, &key) : WEIR_PATH_UNKNOWN;
	if (kind == WEIR_PATH_UNKNOWN)
		weir_config_error_unknown(cfg, key_at, path, false);
	else if (kind == WEIR_PATH_SECTION)
		weir_config_error(cfg, key_at, NULL, "%s is a section, not a key", path);
	else if (eq == NULL)
		weir_config_error(cfg, value_at, "write --set key=value", "%s has no value", path);
	else
		weir_config_assign(cfg, path, kind, key, key_at, eq + 1, value_at, false);
	return cfg->error_cnt == before ? 0 : WEIR_ERR_CONFIG;
}

void
weir_config_force(struct weir_config *cfg, enum weir_config_key key, const char *value)
{
	const struct weir_config_key_info *info = &weir_config_keys[key];
	struct weir_value_error e;
	struct weir_value parsed;

	WEIR_ASSERT(weir_value_parse(info, value, &parsed, &e));
	store(cfg, key, value, &parsed);
	cfg->origin[key] = (struct weir_origin){
		.source = weir_config_add_source(cfg, WEIR_SOURCE_FORCED, "set by weir", NULL, 0),
		.line = 1,
		.col = 1,
		.len = 1,
	};
}

bool
weir_config_value_text(const struct weir_config *cfg, enum weir_config_key key, char *buf,
		       size_t cap)
{
	const struct weir_config_key_info *info = &weir_config_keys[key];
	const void *field = (const char *)cfg + info->offset;
	const char *text = NULL;

	switch (info->kind) {
	case WEIR_CONFIG_KIND_STRING:
		text = *(const char *const *)field;
		break;
	case WEIR_CONFIG_KIND_CPUS:
		text = ((const struct weir_cpu_list *)field)->text;
		break;
	case WEIR_CONFIG_KIND_BOOL:
		text = *(const bool *)field ? "true" : "false";
		break;
	case WEIR_CONFIG_KIND_ENUM:
		text = info->words[*(const uint32_t *)field];
		break;
	case WEIR_CONFIG_KIND_FACTOR:
		weir_value_format(info->kind, *(const uint32_t *)field, buf, cap);
		return true;
	default:
		if (info->kind == WEIR_CONFIG_KIND_COUNT && info->deflt[0] == '\0' &&
		    *(const uint64_t *)field == WEIR_CONFIG_UNSET)
			break;
		weir_value_format(info->kind, *(const uint64_t *)field, buf, cap);
		return true;
	}
	snprintf(buf, cap, "%s", text != NULL ? text : "");
	return text != NULL;
}

const char *
weir_config_takes(enum weir_config_key key, char *buf, size_t cap)
{
	weir_value_takes(&weir_config_keys[key], buf, cap);
	return buf;
}

#ifndef WEIR_ENGINE_CONFIG_CONFIG_PRIV_H
#define WEIR_ENGINE_CONFIG_CONFIG_PRIV_H

/* What the files of engine/config share; nobody else includes it but its tests. */

#include "engine/config/config.h"

#define PATH_MAX_LEN 256u /* longest path of a key, operator ids included */

/* A mapping seen in the file: a second one of the same path is a duplicate. */
struct weir_config_section {
	const char *path;
	struct weir_origin at;
	struct weir_config_section *next;
};

struct weir_config_issue {
	struct weir_origin at;
	const char *text;
	const char *hint; /* or NULL */
	struct weir_config_issue *next;
};

/* What is wrong with a value's text: at and len in bytes of the text. */
struct weir_value_error {
	uint32_t at;
	uint32_t len;
	char text[320];
	char hint[192];
	bool too_large; /* a number that does not fit: the key's range is not said yet */
};

/* A parsed value; which member by the key's kind. */
struct weir_value {
	uint64_t number;	   /* COUNT SIZE FACTOR ENUM BOOL, and TIME BOUND as their bits */
	struct weir_cpu_list cpus; /* CPUS; cpu points into the cpu array below */
	uint16_t cpu[WEIR_CONFIG_CPU_MAX];
};

enum weir_path_kind {
	WEIR_PATH_UNKNOWN,
	WEIR_PATH_KEY,
	WEIR_PATH_SECTION,
	WEIR_PATH_OPERATOR_PARALLELISM,
	WEIR_PATH_OPERATOR_CORES,
};

/* Allocate zeroed memory that lives as long as cfg; aborts when there is none (set-up only). */
void *weir_config_alloc(struct weir_config *cfg, size_t len);
char *weir_config_copy(struct weir_config *cfg, const char *text, size_t len);
uint32_t weir_config_add_source(struct weir_config *cfg, enum weir_source_kind kind,
				const char *name, const char *text, size_t len);

/* What path names; *key is set for WEIR_PATH_KEY. */
enum weir_path_kind weir_config_resolve(const char *path, enum weir_config_key *key);

/* Nearest known path (keys, and sections too if sections), or NULL; in buf of PATH_MAX_LEN. */
const char *weir_config_suggest_path(const char *path, bool sections, char *buf);

/* Store text as the value of path (resolved: kind, key); check_only: errors, but store nothing. */
void weir_config_assign(struct weir_config *cfg, const char *path, enum weir_path_kind kind,
			enum weir_config_key key, struct weir_origin key_at, const char *text,
			struct weir_origin value_at, bool check_only);

/* Report an unknown key or section. */
void weir_config_error_unknown(struct weir_config *cfg, struct weir_origin at, const char *path,
			       bool sections);

/* Parse text as a value of key's kind; false and *e when it is none. */
bool weir_value_parse(const struct weir_config_key_info *info, const char *text,
		      struct weir_value *out, struct weir_value_error *e);
bool weir_value_parse_cpus(const char *text, struct weir_value *out, struct weir_value_error *e);

/* Number as a user would write it, in the largest unit that is exact. */
void weir_value_format(enum weir_config_kind kind, uint64_t number, char *buf, size_t cap);
void weir_value_takes(const struct weir_config_key_info *info, char *buf, size_t cap);

/* Position of the CPU list item that names entry idx, in bytes of text. */
void weir_value_cpu_item(const char *text, uint32_t cpu, uint32_t *at, uint32_t *len);

bool weir_utf8_valid(const char *text, size_t len);
uint32_t weir_utf8_columns(const char *text, size_t len); /* characters in len bytes */

extern const struct weir_config_key_info weir_config_operator_parallelism;
extern const struct weir_config_key_info weir_config_operator_cores;

#endif /* WEIR_ENGINE_CONFIG_CONFIG_PRIV_H */

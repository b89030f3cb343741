#ifndef WEIR_ENGINE_CONFIG_CONFIG_H
#define WEIR_ENGINE_CONFIG_CONFIG_H

/*
 * weir_config: the configuration of one run, with the place each value came from.
 *
 * Use:       weir_config_init, then weir_config_read for the file if there is one, then
 *            weir_config_set for every --set, then weir_config_finish. Each of them goes on after
 *            an error, so that one pass finds them all; later checks (the machine's, the plan's)
 *            add theirs with weir_config_error and whoever may print calls
 *            weir_config_errors_write.
 * Threads:   one owner until finished, then read by anybody.
 * Ownership: everything a weir_config points to belongs to it and lives until weir_config_fini;
 *            texts that are passed in are copied.
 * Cost:      control code; allocates, does no I/O: the program reads the file and hands its text
 *            over.
 * Units:     times in ns, sizes in bytes, rates per second, factors in thousandths.
 */

#include "engine/base/base.h"

#define WEIR_CONFIG_UNSET     UINT64_MAX /* a COUNT without value: endless, number of cores, … */
#define WEIR_CONFIG_UNBOUNDED INT64_MAX	 /* job.out-of-order */
#define WEIR_CONFIG_TEXT_MAX  (1u << 20) /* longest configuration file */
#define WEIR_CONFIG_CPU_MAX   4096u	 /* CPU numbers lie below; also the longest list */

/* The enumerations: enum weir_cfg_emit { WEIR_CFG_EMIT_END, … } and so on. */
#define W(constant, word)      WEIR_CFG_##constant,
#define WEIR_ENUM(name, words) enum weir_cfg_##name{ words };
#include "engine/config/keys.def"
#undef W

enum weir_config_key {
#define WEIR_KEY(field, path, kind, deflt, min, max, step, flink, help) WEIR_KEY_##field,
#define WEIR_KEY_ENUM(field, path, name, deflt, flink, help)		WEIR_KEY_##field,
#include "engine/config/keys.def"
	WEIR_KEY_CNT
};

enum weir_config_kind {
	WEIR_CONFIG_KIND_STRING,
	WEIR_CONFIG_KIND_BOOL,
	WEIR_CONFIG_KIND_COUNT,
	WEIR_CONFIG_KIND_TIME,
	WEIR_CONFIG_KIND_BOUND,
	WEIR_CONFIG_KIND_SIZE,
	WEIR_CONFIG_KIND_FACTOR,
	WEIR_CONFIG_KIND_CPUS,
	WEIR_CONFIG_KIND_ENUM,
};

/* Place of a value (or key) in a source. line and col count from 1, col in characters. */
struct weir_origin {
	uint32_t source; /* index of weir_config.sources; 0: the default */
	uint32_t line;
	uint32_t col;
	uint32_t len; /* characters to underline, at least 1 */
};

/* CPU numbers as written: order and repeats (a CPU with several core threads) are kept. */
struct weir_cpu_list {
	const char *text; /* "2-5,8"; NULL when unset */
	const uint16_t *cpu;
	uint32_t cnt;
};

/* operators.ID.…: in order of first mention. Whether there is such an operator the plan knows. */
struct weir_operator_config {
	const char *id;
	struct weir_origin id_at;
	uint32_t parallelism; /* 0: unset */
	struct weir_origin parallelism_at;
	struct weir_cpu_list cores;
	struct weir_origin cores_at;
	struct weir_operator_config *next;
};

enum weir_source_kind {
	WEIR_SOURCE_DEFAULT,
	WEIR_SOURCE_FILE,
	WEIR_SOURCE_SET,
	WEIR_SOURCE_FORCED
};

struct weir_config_source {
	enum weir_source_kind kind;
	const char *name; /* "weir.yaml", "--set job.seed=1", "default" */
	const char *text;
	uint32_t len;
};

struct weir_config_issue; /* one error */

struct weir_config {
	/* One field per key: const char *job_name, uint64_t job_events, int64_t checkpoint_interval
	 * … */
#define WEIR_CTYPE_STRING						const char *
#define WEIR_CTYPE_BOOL							bool
#define WEIR_CTYPE_COUNT						uint64_t
#define WEIR_CTYPE_TIME							int64_t
#define WEIR_CTYPE_BOUND						int64_t
#define WEIR_CTYPE_SIZE							uint64_t
#define WEIR_CTYPE_FACTOR						uint32_t
#define WEIR_CTYPE_CPUS							struct weir_cpu_list
#define WEIR_KEY(field, path, kind, deflt, min, max, step, flink, help) WEIR_CTYPE_##kind field;
#define WEIR_KEY_ENUM(field, path, name, deflt, flink, help)		enum weir_cfg_##name field;
#include "engine/config/keys.def"

	struct weir_operator_config *operators; /* list, NULL when none */

	struct weir_origin origin[WEIR_KEY_CNT]; /* place of each value; source 0: default */
	const char *text[WEIR_KEY_CNT];		 /* each value as written; NULL: has none */

	struct weir_config_source *sources;
	uint32_t source_cnt;

	uint32_t error_cnt; /* errors so far; their texts are kept for the first 200 */
	struct weir_config_issue *issues; /* sorted by place */

	/* Private to engine/config. */
	struct weir_origin key_at[WEIR_KEY_CNT][2]; /* first mention of the key: file, --set */
	struct weir_config_section *sections;
	struct weir_config_block *blocks;
	bool finished;
};

/* What is known about a key; the program makes help, JSON and documents from it. */
struct weir_config_key_info {
	const char *path;
	enum weir_config_kind kind;
	uint32_t offset; /* of the field in struct weir_config */
	const char *deflt;
	uint64_t min, max, step;
	const char *const *words; /* of an ENUM, in order of its constants */
	uint32_t word_cnt;
	const char *flink;
	const char *help;
};

extern const struct weir_config_key_info weir_config_keys[WEIR_KEY_CNT];

/* All defaults. */
void weir_config_init(struct weir_config *cfg);
void weir_config_fini(struct weir_config *cfg);

/*
 * Read a YAML text (at most one, before any weir_config_set). name is for messages. Returns 0 or
 * WEIR_ERR_CONFIG when it added errors; keys without error are set all the same.
 */
int weir_config_read(struct weir_config *cfg, const char *name, const char *text, size_t len);

/* One --set: "job.seed=7". Wins over the file; a repeat of a key is an error. */
int weir_config_set(struct weir_config *cfg, const char *assignment);

/* Set key from the program itself (a restart's restore.from); value must be valid. */
void weir_config_force(struct weir_config *cfg, enum weir_config_key key, const char *value);

/*
 * Fill in the defaults that depend on other keys and check keys against each other. Returns 0, or
 * WEIR_ERR_CONFIG if there is any error since weir_config_init.
 */
int weir_config_finish(struct weir_config *cfg);

/* Was it given (file, --set, program), or is it the default? */
bool weir_config_is_set(const struct weir_config *cfg, enum weir_config_key key);

/* Was it given, but with no value that could be taken? Its default stands. */
bool weir_config_is_bad(const struct weir_config *cfg, enum weir_config_key key);

/* Add an error at a place (cfg->origin[key], an operator's *_at). hint may be NULL. */
void weir_config_error(struct weir_config *cfg, struct weir_origin at, const char *hint,
		       const char *fmt, ...) WEIR_PRINTF(4, 5);

/* The same for a key: the text begins with its path. */
void weir_config_error_key(struct weir_config *cfg, enum weir_config_key key, const char *hint,
			   const char *fmt, ...) WEIR_PRINTF(4, 5);

/*
 * Check every CPU list (keys and operators) against the machine: there(arg, cpu) says NULL for a
 * CPU that can be used, else why not ("is not there", "is not allowed here"). Errors name the CPU's
 * place.
 */
void weir_config_check_cpus(struct weir_config *cfg, const char *(*there)(void *arg, uint32_t cpu),
			    void *arg);

/* Receives text in pieces, not terminated. */
typedef void (*weir_config_write_fn)(void *arg, const char *text, size_t len);

/* All errors in order of place: "file:line:col: error: …", the line, a caret, a help line. */
void weir_config_errors_write(const struct weir_config *cfg, weir_config_write_fn write, void *arg);

/*
 * The configuration as YAML that weir_config_read takes back. WEIR_PRINT_ALL: every key that has a
 * value, with the origin of each as comment, unset ones as comments. WEIR_PRINT_GIVEN: only what
 * was given, without comments: what a worker is handed.
 */
enum weir_config_print { WEIR_PRINT_ALL, WEIR_PRINT_GIVEN };
void weir_config_write(const struct weir_config *cfg, enum weir_config_print what,
		       weir_config_write_fn write, void *arg);

/* "weir.yaml:3:13", "--set job.seed=1:1:10" or "default" into buf; returns buf. */
const char *weir_config_where(const struct weir_config *cfg, struct weir_origin at, char *buf,
			      size_t cap);

/*
 * Value of a key as a user would write it ("10s", "8KiB"; texts unquoted) into buf; false if it has
 * none. cap of 8192 holds every value but a longer path, which is cut.
 */
bool weir_config_value_text(const struct weir_config *cfg, enum weir_config_key key, char *buf,
			    size_t cap);

/* What a key takes, in words: "a time (us, ms, s, min, h)", "one of: auto, on, off". */
const char *weir_config_takes(enum weir_config_key key, char *buf, size_t cap);

/* The word of candidates nearest to word, or NULL if none is near: for "did you mean". */
const char *weir_suggest(const char *word, const char *const *candidates, uint32_t cnt);

#endif /* WEIR_ENGINE_CONFIG_CONFIG_H */

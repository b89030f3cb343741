#include "engine/base/error.h"
#include "engine/config/config_priv.h"

/*
 * YAML to keys, event by event. Reading events, not a document, keeps every position, sees
 * duplicates as we want to report them, and has handled all keys in front of a syntax error.
 */

#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_MAX 4u /* root, operators, ID: deeper sections do not exist */

/* A mapping that is being read. */
struct frame {
	char path[PATH_MAX_LEN];
	bool check_only; /* below a misspelled section: check, store nothing */
};

struct reader {
	struct weir_config *cfg;
	uint32_t source;
	struct frame frame[FRAME_MAX];
	uint32_t depth; /* mappings open, the root among them */
	uint32_t skip;	/* > 0: inside so many collections that are passed over */
	uint32_t documents;
	bool in_root; /* the document's value has begun */
	bool have_key;
	bool skip_value; /* the key was no key: pass its value over */
	char key_path[PATH_MAX_LEN];
	struct weir_origin key_at;
};

static struct weir_origin
place(const struct reader *r, const struct fy_mark *mark, uint32_t len)
{
	return (struct weir_origin){
		.source = r->source,
		.line = mark != NULL ? (uint32_t)mark->line + 1 : 1,
		.col = mark != NULL ? (uint32_t)mark->column + 1 : 1,
		.len = len > 0 ? len : 1,
	};
}

static struct weir_origin
event_place(const struct reader *r, struct fy_event *ev, uint32_t len)
{
	return place(r, fy_event_start_mark(ev), len);
}

/* Place of a scalar's text: libfyaml's mark stands behind the quote if there is one. */
static struct weir_origin
scalar_place(const struct reader *r, struct fy_event *ev, const char *text, size_t len)
{
	return event_place(r, ev, weir_utf8_columns(text, len));
}

static const char *
scalar_text(struct fy_event *ev, size_t *len)
{
	const char *text = fy_token_get_text(ev->scalar.value, len);

	if (text == NULL)
		*len = 0;
	return text != NULL ? text : "";
}

/* A key begins: its path, and whether there can be such a thing. */
static void
on_key(struct reader *r, struct fy_event *ev)
{
	const struct frame *f = &r->frame[r->depth - 1];
	size_t len;
	const char *text = scalar_text(ev, &len);
	int n;

	r->have_key = true;
	r->skip_value = false;
	r->key_at = scalar_place(r, ev, text, len);
	n = snprintf(r->key_path, sizeof(r->key_path), "%s%s%.*s", f->path,
		     f->path[0] != '\0' ? "." : "", (int)(len < 4096 ? len : 4096), text);
	if (memchr(text, '\0', len) != NULL || n < 0 || (size_t)n >= sizeof(r->key_path)) {
		weir_config_error(r->cfg, r->key_at, NULL, "a key longer than any there is");
		r->skip_value = true;
	}
}

static bool
is_null(const char *text)
{
	return text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0;
}

/* A section of the same path before: YAML would keep only one of them. */
static void
check_section_once(struct reader *r)
{
	struct weir_config_section *s;
	char where[512], hint[600];

	for (s = r->cfg->sections; s != NULL; s = s->next) {
		if (strcmp(s->path, r->key_path) != 0)
			continue;
		snprintf(hint, sizeof(hint), "first given at %s",
			 weir_config_where(r->cfg, s->at, where, sizeof(where)));
		weir_config_error(r->cfg, r->key_at, hint, "section %s is given twice",
				  r->key_path);
		return;
	}
	s = weir_config_alloc(r->cfg, sizeof(*s));
	s->path = weir_config_copy(r->cfg, r->key_path, strlen(r->key_path));
	s->at = r->key_at;
	s->next = r->cfg->sections;
	r->cfg->sections = s;
}

/* A scalar stands where a section is meant. */
static void
on_section_scalar(struct reader *r, const char *text, struct weir_origin at)
{
	char hint[PATH_MAX_LEN + 64];

	if (is_null(text)) { /* "checkpoint:" with every key below it commented out */
		check_section_once(r);
		return;
	}
	snprintf(hint, sizeof(hint), "write %s: and its keys on the lines below", r->key_path);
	weir_config_error(r->cfg, at, hint, "%s is a section, not a key", r->key_path);
}

static void
on_value(struct reader *r, struct fy_event *ev)
{
	const struct frame *f = &r->frame[r->depth - 1];
	enum weir_config_key key = 0;
	struct weir_origin at;
	enum weir_path_kind kind;
	size_t len;
	const char *text = scalar_text(ev, &len);
	char *copy;

	r->have_key = false;
	if (r->skip_value)
		return;
	at = len > 0 ? scalar_place(r, ev, text, len) : r->key_at;
	kind = weir_config_resolve(r->key_path, &key);
	copy = weir_config_copy(r->cfg, text, len);
	if (kind == WEIR_PATH_UNKNOWN)
		weir_config_error_unknown(r->cfg, r->key_at, r->key_path, false);
	else if (kind == WEIR_PATH_SECTION)
		on_section_scalar(r, copy, at);
	else if (memchr(text, '\0', len) != NULL)
		weir_config_error(r->cfg, at, NULL, "%s: a zero byte in the text", r->key_path);
	else
		weir_config_assign(r->cfg, r->key_path, kind, key, r->key_at, copy, at,
				   f->check_only);
}

static void
push(struct reader *r, const char *path, bool check_only)
{
	struct frame *f = &r->frame[r->depth++];

	WEIR_ASSERT(r->depth <= FRAME_MAX);
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->check_only = check_only;
}

/* The value of a key is a mapping: a section, or one with its name misspelled. */
static void
on_section(struct reader *r)
{
	const bool check_only = r->frame[r->depth - 1].check_only;
	char near[PATH_MAX_LEN], takes[256];
	enum weir_config_key key = 0;
	const char *meant;

	r->have_key = false;
	switch (weir_config_resolve(r->key_path, &key)) {
	case WEIR_PATH_SECTION:
		if (!check_only)
			check_section_once(r);
		push(r, r->key_path, check_only);
		return;
	case WEIR_PATH_UNKNOWN:
		weir_config_error_unknown(r->cfg, r->key_at, r->key_path, true);
		meant = weir_config_suggest_path(r->key_path, true, near);
		if (meant == NULL || r->depth == FRAME_MAX)
			break;
		push(r, meant, true);
		return;
	case WEIR_PATH_KEY:
		weir_config_error(r->cfg, r->key_at, NULL, "%s is not a section: takes %s",
				  r->key_path, weir_config_takes(key, takes, sizeof(takes)));
		break;
	default:
		weir_config_error(r->cfg, r->key_at, NULL, "%s is not a section", r->key_path);
		break;
	}
	r->skip = 1;
}

static void
on_list(struct reader *r, struct fy_event *ev)
{
	enum weir_config_key key = 0;
	enum weir_path_kind kind = weir_config_resolve(r->key_path, &key);
	const bool cpus =
		kind == WEIR_PATH_OPERATOR_CORES ||
		(kind == WEIR_PATH_KEY && weir_config_keys[key].kind == WEIR_CONFIG_KIND_CPUS);

	r->have_key = false;
	r->skip = 1;
	if (r->skip_value)
		return;
	if (kind == WEIR_PATH_UNKNOWN)
		weir_config_error_unknown(r->cfg, r->key_at, r->key_path, false);
	else
		weir_config_error(r->cfg, event_place(r, ev, 1),
				  cpus ? "write CPUs as a text: 2-5,8" : NULL,
				  "%s takes no YAML list", r->key_path);
}

static void
on_alias(struct reader *r, struct fy_event *ev)
{
	struct weir_origin at = event_place(r, ev, 1);

	at.col -= at.col > 1; /* libfyaml's mark stands behind the star */
	weir_config_error(r->cfg, at, "write the value itself", "%s: no YAML aliases", r->key_path);
}

/* An event in the place of a value (of a key, or of the whole document). */
static void
on_value_event(struct reader *r, struct fy_event *ev)
{
	switch (ev->type) {
	case FYET_SCALAR:
		on_value(r, ev);
		break;
	case FYET_MAPPING_START:
		if (r->skip_value) {
			r->have_key = false;
			r->skip = 1;
		} else {
			on_section(r);
		}
		break;
	case FYET_SEQUENCE_START:
		on_list(r, ev);
		break;
	default:
		r->have_key = false;
		if (!r->skip_value)
			on_alias(r, ev);
		break;
	}
}

static void
on_key_event(struct reader *r, struct fy_event *ev)
{
	switch (ev->type) {
	case FYET_SCALAR:
		on_key(r, ev);
		return;
	case FYET_MAPPING_END:
		r->depth--;
		return;
	case FYET_MAPPING_START:
	case FYET_SEQUENCE_START:
		r->skip = 1;
		break;
	default:
		break;
	}
	weir_config_error(r->cfg, event_place(r, ev, 1), NULL, "a key must be a plain word");
	r->have_key = true;
	r->skip_value = true;
}

static void
on_root_event(struct reader *r, struct fy_event *ev)
{
	const char *text;
	size_t len;

	r->in_root = true;
	if (ev->type == FYET_MAPPING_START) {
		push(r, "", false);
		return;
	}
	if (ev->type == FYET_SCALAR) {
		text = scalar_text(ev, &len);
		if (len == 0 || (len == 1 && text[0] == '~'))
			return; /* an empty file is a configuration without keys */
	}
	if (ev->type == FYET_SEQUENCE_START)
		r->skip = 1;
	weir_config_error(r->cfg, event_place(r, ev, 1), "write key: value",
			  "a configuration is a mapping of keys to values");
}

/* Pass over what stands inside a skipped collection. */
static void
on_skipped(struct reader *r, const struct fy_event *ev)
{
	if (ev->type == FYET_MAPPING_START || ev->type == FYET_SEQUENCE_START)
		r->skip++;
	else if (ev->type == FYET_MAPPING_END || ev->type == FYET_SEQUENCE_END)
		r->skip--;
}

static void
on_event(struct reader *r, struct fy_event *ev)
{
	switch (ev->type) {
	case FYET_NONE:
	case FYET_STREAM_START:
	case FYET_STREAM_END:
	case FYET_DOCUMENT_END:
		return;
	case FYET_DOCUMENT_START:
		if (++r->documents == 2)
			weir_config_error(r->cfg, event_place(r, ev, 1), NULL,
					  "a second YAML document: there may be one only");
		return;
	default:
		break;
	}
	if (r->documents > 1)
		return;
	if (r->skip > 0)
		on_skipped(r, ev);
	else if (r->depth == 0)
		on_root_event(r, ev);
	else if (r->have_key)
		on_value_event(r, ev);
	else
		on_key_event(r, ev);
}

static void
add_syntax_errors(struct reader *r, struct fy_diag *diag)
{
	struct fy_diag_error *err;
	void *iter = NULL;
	uint32_t cnt = 0;

	while ((err = fy_diag_errors_iterate(diag, &iter)) != NULL) {
		struct weir_origin at = { .source = r->source, .line = 1, .col = 1, .len = 1 };

		if (err->type != FYET_ERROR)
			continue;
		if (err->line > 0)
			at.line = (uint32_t)err->line;
		if (err->column > 0)
			at.col = (uint32_t)err->column;
		weir_config_error(r->cfg, at, NULL, "YAML syntax: %s", err->msg);
		cnt++;
	}
	if (cnt == 0)
		weir_config_error(r->cfg, place(r, NULL, 1), NULL, "YAML syntax: cannot be read");
}

static void
run_parser(struct reader *r, struct fy_parser *parser, struct fy_diag *diag)
{
	const struct weir_config_source *src = &r->cfg->sources[r->source];
	struct fy_event *ev;

	if (fy_parser_set_string(parser, src->text, src->len) != 0) {
		add_syntax_errors(r, diag);
		return;
	}
	while ((ev = fy_parser_parse(parser)) != NULL) {
		on_event(r, ev);
		fy_parser_event_free(parser, ev);
	}
	if (fy_parser_get_stream_error(parser) || fy_diag_got_error(diag))
		add_syntax_errors(r, diag);
}

/* Texts that libfyaml should not see: said here, with the place. */
static bool
check_text(struct reader *r, const char *text, size_t len)
{
	struct weir_origin at = { .source = r->source, .line = 1, .col = 1, .len = 1 };
	size_t line = 0;

	for (size_t i = 0; i < len; i++) {
		const size_t stop = text[i] == '\n' || i + 1 == len ? i + 1 : 0;

		if (stop == 0)
			continue;
		if (!weir_utf8_valid(text + line, stop - line) ||
		    memchr(text + line, '\0', stop - line) != NULL) {
			weir_config_error(r->cfg, at, NULL, "this line is not UTF-8 text");
			return false;
		}
		line = stop;
		at.line++;
	}
	return true;
}

int
weir_config_read(struct weir_config *cfg, const char *name, const char *text, size_t len)
{
	const uint32_t before = cfg->error_cnt;
	struct fy_diag_cfg diag_cfg;
	struct fy_parse_cfg parse_cfg = { .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG |
						   FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE };
	struct reader *r = weir_config_alloc(cfg, sizeof(*r));
	struct fy_parser *parser;

	WEIR_ASSERT(cfg->source_cnt == 1);
	r->cfg = cfg;
	if (len > WEIR_CONFIG_TEXT_MAX) {
		r->source = weir_config_add_source(cfg, WEIR_SOURCE_FILE, name, "", 0);
		weir_config_error(cfg, place(r, NULL, 1), NULL, "longer than 1 MiB");
		return WEIR_ERR_CONFIG;
	}
	r->source = weir_config_add_source(cfg, WEIR_SOURCE_FILE, name, text, len);
	if (!check_text(r, text, len))
		return WEIR_ERR_CONFIG;
	fy_diag_cfg_default(&diag_cfg);
	diag_cfg.fp = NULL;
	parse_cfg.diag = fy_diag_create(&diag_cfg);
	WEIR_ASSERT(parse_cfg.diag != NULL);
	fy_diag_set_collect_errors(parse_cfg.diag, true);
	parser = fy_parser_create(&parse_cfg);
	WEIR_ASSERT(parser != NULL);
	run_parser(r, parser, parse_cfg.diag);
	fy_parser_destroy(parser);
	fy_diag_destroy(parse_cfg.diag);
	return cfg->error_cnt == before ? 0 : WEIR_ERR_CONFIG;
}

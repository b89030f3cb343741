#include "engine/config/config_priv.h"

/* The configuration as YAML that the reader takes back. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct printer {
	const struct weir_config *cfg;
	enum weir_config_print what;
	weir_config_write_fn write;
	void *arg;
	char section[64]; /* that is open */
};

static void put(struct printer *p, const char *fmt, ...) WEIR_PRINTF(2, 3);

static void
put(struct printer *p, const char *fmt, ...)
{
	char out[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out, sizeof(out), fmt, ap);
	va_end(ap);
	p->write(p->arg, out, (size_t)n < sizeof(out) ? (size_t)n : sizeof(out) - 1);
}

/* May stand in YAML as it is: no character or first character that YAML gives a meaning to. */
static bool
plain(const char *text)
{
	static const char ok[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,+-";

	return strspn(text, ok) == strlen(text) && text[0] != '-' && text[0] != ',' &&
	       text[0] != '\0';
}

static void
put_text(struct printer *p, const char *text)
{
	const char *from = text;

	if (plain(text)) {
		p->write(p->arg, text, strlen(text));
		return;
	}
	put(p, "\"");
	for (; *text != '\0'; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
			continue;
		p->write(p->arg, from, (size_t)(text - from));
		put(p, "\\x%02x", c);
		from = text + 1;
	}
	p->write(p->arg, from, (size_t)(text - from));
	put(p, "\"");
}

static void
put_origin(struct printer *p, struct weir_origin at)
{
	char where[4200];

	weir_config_where(p->cfg, at, where, sizeof(where));
	for (char *c = where; *c != '\0'; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	}
	put(p, "  # %s\n", where);
}

/* Open the section of path if another one is open; returns its last part. */
static const char *
enter(struct printer *p, const char *path)
{
	const char *dot = strchr(path, '.');
	const size_t len = dot != NULL ? (size_t)(dot - path) : 0;

	if (strlen(p->section) != len || memcmp(p->section, path, len) != 0) {
		WEIR_ASSERT(len < sizeof(p->section));
		memcpy(p->section, path, len);
		p->section[len] = '\0';
		if (len > 0)
			put(p, "%s:\n", p->section);
	}
	return dot != NULL ? dot + 1 : path;
}

static void
put_key(struct printer *p, enum weir_config_key key)
{
	const struct weir_config_key_info *info = &weir_config_keys[key];
	char buf[64];
	const char *indent = strchr(info->path, '.') != NULL ? "  " : "";
	const char *text = buf, *leaf;
	bool has;

	if (p->what == WEIR_PRINT_GIVEN && !weir_config_is_set(p->cfg, key))
		return;
	leaf = enter(p, info->path);
	has = weir_config_value_text(p->cfg, key, buf, sizeof(buf));
	if (!has) {
		put(p, "%s# %s:  (%s)\n", indent, leaf, info->help);
		return;
	}
	if (info->kind == WEIR_CONFIG_KIND_STRING)
		text = *(const char *const *)(const void *)((const char *)p->cfg + info->offset);
	else if (info->kind == WEIR_CONFIG_KIND_CPUS)
		text = ((const struct weir_cpu_list *)(const void *)((const char *)p->cfg +
								     info->offset))
			       ->text;
	put(p, "%s%s: ", indent, leaf);
	put_text(p, text);
	if (p->what == WEIR_PRINT_ALL)
		put_origin(p, p->cfg->origin[key]);
	else
		put(p, "\n");
}

static void
put_operator(struct printer *p, const struct weir_operator_config *op)
{
	const bool all = p->what == WEIR_PRINT_ALL;

	put(p, "  %s:\n", op->id);
	if (op->parallelism_at.source != 0) {
		put(p, "    parallelism: %u", op->parallelism);
		if (all)
			put_origin(p, op->parallelism_at);
		else
			put(p, "\n");
	}
	if (op->cores_at.source != 0) {
		put(p, "    cores: ");
		put_text(p, op->cores.text);
		if (all)
			put_origin(p, op->cores_at);
		else
			put(p, "\n");
	}
}

void
weir_config_write(const struct weir_config *cfg, enum weir_config_print what,
		  weir_config_write_fn write, void *arg)
{
	struct printer p = { .cfg = cfg, .what = what, .write = write, .arg = arg };

	for (uint32_t key = 0; key < WEIR_KEY_CNT; key++) {
		if (strchr(weir_config_keys[key].path, '.') == NULL)
			put_key(&p, key);
	}
	for (uint32_t key = 0; key < WEIR_KEY_CNT; key++) {
		if (strchr(weir_config_keys[key].path, '.') != NULL)
			put_key(&p, key);
	}
	if (cfg->operators != NULL)
		put(&p, "operators:\n");
	for (const struct weir_operator_config *op = cfg->operators; op != NULL; op = op->next)
		put_operator(&p, op);
}

#include "engine/config/config_priv.h"

/* The list of errors and how they are shown: place, line, caret, help. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ISSUE_MAX     200u /* texts kept */
#define LINE_MAX_COLS 100u

static bool
before(const struct weir_origin *a, const struct weir_origin *b)
{
	if (a->source != b->source)
		return a->source < b->source;
	if (a->line != b->line)
		return a->line < b->line;
	return a->col < b->col;
}

static void
add_issue(struct weir_config *cfg, struct weir_origin at, const char *hint, const char *text)
{
	struct weir_config_issue **link = &cfg->issues;
	struct weir_config_issue *issue;

	WEIR_ASSERT(at.source < cfg->source_cnt);
	if (++cfg->error_cnt > ISSUE_MAX)
		return;
	issue = weir_config_alloc(cfg, sizeof(*issue));
	issue->at = at;
	issue->text = weir_config_copy(cfg, text, strlen(text));
	if (hint != NULL && hint[0] != '\0')
		issue->hint = weir_config_copy(cfg, hint, strlen(hint));
	while (*link != NULL && !before(&at, &(*link)->at))
		link = &(*link)->next;
	issue->next = *link;
	*link = issue;
}

void
weir_config_error(struct weir_config *cfg, struct weir_origin at, const char *hint, const char *fmt,
		  ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add_issue(cfg, at, hint, text);
}

void
weir_config_error_key(struct weir_config *cfg, enum weir_config_key key, const char *hint,
		      const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int len = snprintf(text, sizeof(text), "%s: ", weir_config_keys[key].path);

	va_start(ap, fmt);
	vsnprintf(text + len, sizeof(text) - (size_t)len, fmt, ap);
	va_end(ap);
	add_issue(cfg, cfg->origin[key], hint, text);
}

const char *
weir_config_where(const struct weir_config *cfg, struct weir_origin at, char *buf, size_t cap)
{
	const struct weir_config_source *src = &cfg->sources[at.source];

	if (src->kind == WEIR_SOURCE_FILE || src->kind == WEIR_SOURCE_SET)
		snprintf(buf, cap, "%s:%u:%u", src->name, at.line, at.col);
	else
		snprintf(buf, cap, "%s", src->name);
	return buf;
}

/* Line number line of text: start and length without its end. */
static const char *
find_line(const struct weir_config_source *src, uint32_t line, size_t *len)
{
	const char *p = src->text, *end = src->text + src->len, *stop;

	for (uint32_t i = 1; i < line; i++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		if (nl == NULL)
			break;
		p = nl + 1;
	}
	stop = memchr(p, '\n', (size_t)(end - p));
	*len = (size_t)((stop != NULL ? stop : end) - p);
	if (*len > 0 && p[*len - 1] == '\r')
		(*len)--;
	return p;
}

/* Bytes from p (len of them) that hold cols characters. */
static size_t
skip_columns(const char *p, size_t len, uint32_t cols)
{
	size_t i = 0;

	while (i < len && cols > 0) {
		i++;
		while (i < len && ((unsigned char)p[i] & 0xc0) == 0x80)
			i++;
		cols--;
	}
	return i;
}

/* The line with the caret below; of a long line, the part around the caret. */
static void
write_excerpt(const struct weir_config_source *src, struct weir_origin at,
	      weir_config_write_fn write, void *arg)
{
	const uint32_t skip = at.col > LINE_MAX_COLS - 20 ? at.col - 40 : 0;
	char out[3 * 4 * LINE_MAX_COLS + 64];
	const char *line;
	size_t len, from, to, n;

	line = find_line(src, at.line, &len);
	from = skip_columns(line, len, skip);
	to = from + skip_columns(line + from, len - from, LINE_MAX_COLS);
	n = (size_t)snprintf(out, sizeof(out), "%5u | %s", at.line, skip > 0 ? "..." : "");
	for (size_t i = from; i < to && n < sizeof(out) - 8; i++) {
		const unsigned char c = (unsigned char)line[i];

		out[n++] = c == '\t' || (c >= 0x20 && c != 0x7f) ? (char)c : '?';
	}
	n += (size_t)snprintf(out + n, sizeof(out) - n, "%s\n", to < len ? "..." : "");
	write(arg, out, n);

	n = (size_t)snprintf(out, sizeof(out), "      | %s", skip > 0 ? "   " : "");
	to = from + skip_columns(line + from, len - from, at.col - 1 - skip);
	for (size_t i = from; i < to && n < sizeof(out) - LINE_MAX_COLS - 8; i++) {
		/* A tab stays one, so that the caret stands below its place at any tab width. */
		if (line[i] == '\t')
			out[n++] = '\t';
		else if (((unsigned char)line[i] & 0xc0) != 0x80)
			out[n++] = ' ';
	}
	out[n++] = '^';
	for (uint32_t i = 1; i < at.len && i < LINE_MAX_COLS - 40; i++)
		out[n++] = '~';
	out[n++] = '\n';
	write(arg, out, n);
}

static void
write_issue(const struct weir_config *cfg, const struct weir_config_issue *issue,
	    weir_config_write_fn write, void *arg)
{
	const struct weir_config_source *src = &cfg->sources[issue->at.source];
	char where[4200], out[6000];
	int n;

	if (src->text != NULL)
		n = snprintf(out, sizeof(out), "%s: error: %s\n",
			     weir_config_where(cfg, issue->at, where, sizeof(where)), issue->text);
	else
		n = snprintf(out, sizeof(out), "configuration: error: %s\n", issue->text);
	write(arg, out, (size_t)n < sizeof(out) ? (size_t)n : sizeof(out) - 1);
	if (src->text != NULL)
		write_excerpt(src, issue->at, write, arg);
	if (issue->hint != NULL) {
		n = snprintf(out, sizeof(out), "      = help: %s\n", issue->hint);
		write(arg, out, (size_t)n < sizeof(out) ? (size_t)n : sizeof(out) - 1);
	}
}

void
weir_config_errors_write(const struct weir_config *cfg, weir_config_write_fn write, void *arg)
{
	char out[64];

	for (const struct weir_config_issue *i = cfg->issues; i != NULL; i = i->next)
		write_issue(cfg, i, write, arg);
	if (cfg->error_cnt > ISSUE_MAX) {
		int n = snprintf(out, sizeof(out), "%u more errors\n", cfg->error_cnt - ISSUE_MAX);

		write(arg, out, (size_t)n);
	}
}

/* Values: what a key's kind takes, and what is said of a text that is none. */

#include "engine/config/value_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool
weir_value_fail(struct weir_value_error *e, size_t at, size_t len, const char *fmt, ...)
{
	va_list ap;

	e->at = (uint32_t)at;
	e->len = len > 0 ? (uint32_t)len : 1;
	e->hint[0] = '\0';
	e->too_large = false;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return false;
}

void
weir_value_hint(struct weir_value_error *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
}

static bool
parse_word(const struct weir_config_key_info *info, const char *text, uint64_t *out,
	   struct weir_value_error *e)
{
	const char *near;
	char takes[256];

	for (uint32_t i = 0; i < info->word_cnt; i++) {
		if (strcmp(info->words[i], text) == 0) {
			*out = i;
			return true;
		}
	}
	weir_value_takes(info, takes, sizeof(takes));
	weir_value_fail(e, 0, strlen(text), "\"%s\" is not %s", text, takes);
	near = weir_suggest(text, info->words, info->word_cnt);
	if (near != NULL)
		weir_value_hint(e, "did you mean %s?", near);
	return false;
}

static bool
fail_range(const struct weir_config_key_info *info, const char *text, struct weir_value_error *e)
{
	char min[32], max[32];

	weir_value_format(info->kind, info->min, min, sizeof(min));
	weir_value_format(info->kind, info->max, max, sizeof(max));
	return weir_value_fail(e, 0, strlen(text), "%s is out of range: %s to %s", text, min, max);
}

static bool
check_range(const struct weir_config_key_info *info, const char *text, uint64_t v,
	    struct weir_value_error *e)
{
	char step[32];

	if (v < info->min || v > info->max)
		return fail_range(info, text, e);
	if (v % info->step == 0)
		return true;
	weir_value_format(info->kind, info->step, step, sizeof(step));
	return weir_value_fail(e, 0, strlen(text), "%s is not a multiple of %s", text, step);
}

static bool
parse_number(const struct weir_config_key_info *info, const char *text, uint64_t *out,
	     struct weir_value_error *e)
{
	const bool is_number = info->kind == WEIR_CONFIG_KIND_FACTOR
				       ? weir_value_parse_factor(text, out, e)
				       : weir_value_parse_number(info->kind, text, out, e);

	if (!is_number)
		return e->too_large && fail_range(info, text, e);
	return check_range(info, text, *out, e);
}

static bool
parse_bool(const char *text, uint64_t *out, struct weir_value_error *e)
{
	static const char *const yes[] = { "yes", "on", "True", "TRUE", "1", "y" };

	*out = strcmp(text, "true") == 0;
	if (*out != 0 || strcmp(text, "false") == 0)
		return true;
	weir_value_fail(e, 0, strlen(text), "\"%s\" is neither true nor false", text);
	for (size_t i = 0; i < WEIR_ARRAY_CNT(yes); i++) {
		if (strcmp(text, yes[i]) == 0)
			weir_value_hint(e, "write true");
	}
	return false;
}

static bool
parse_string(const char *text, struct weir_value_error *e)
{
	if (!weir_utf8_valid(text, strlen(text)))
		return weir_value_fail(e, 0, strlen(text), "the text is not UTF-8");
	return true;
}

bool
weir_value_parse(const struct weir_config_key_info *info, const char *text, struct weir_value *out,
		 struct weir_value_error *e)
{
	if (text[0] == '\0' || strcmp(text, "~") == 0)
		return weir_value_fail(e, 0, 1, "has no value");
	switch (info->kind) {
	case WEIR_CONFIG_KIND_STRING:
		return parse_string(text, e);
	case WEIR_CONFIG_KIND_BOOL:
		return parse_bool(text, &out->number, e);
	case WEIR_CONFIG_KIND_ENUM:
		return parse_word(info, text, &out->number, e);
	case WEIR_CONFIG_KIND_CPUS:
		return weir_value_parse_cpus(text, out, e);
	case WEIR_CONFIG_KIND_BOUND:
		out->number = (uint64_t)WEIR_CONFIG_UNBOUNDED;
		if (strcmp(text, "unbounded") == 0)
			return true;
		break;
	default:
		break;
	}
	return parse_number(info, text, &out->number, e);
}

void
weir_value_takes(const struct weir_config_key_info *info, char *buf, size_t cap)
{
	size_t at;

	switch (info->kind) {
	case WEIR_CONFIG_KIND_STRING:
		snprintf(buf, cap, "a text");
		return;
	case WEIR_CONFIG_KIND_BOOL:
		snprintf(buf, cap, "true or false");
		return;
	case WEIR_CONFIG_KIND_CPUS:
		snprintf(buf, cap, "a list of CPUs such as 2-5,8");
		return;
	case WEIR_CONFIG_KIND_FACTOR:
		snprintf(buf, cap, "a factor such as 1.5");
		return;
	case WEIR_CONFIG_KIND_ENUM:
		break;
	default:
		snprintf(buf, cap, "%s", weir_value_noun(info->kind));
		return;
	}
	at = (size_t)snprintf(buf, cap, info->word_cnt > 1 ? "one of: " : "");
	for (uint32_t i = 0; i < info->word_cnt && at < cap; i++)
		at += (size_t)snprintf(buf + at, cap - at, "%s%s", i > 0 ? ", " : "",
				       info->words[i]);
}

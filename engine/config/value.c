#include "engine/config/config_priv.h"

/*
 * Values: numbers with units, CPU lists, words. Numbers are plain decimals, so that what a reader
 * sees is what is meant: no octal look-alike (010), exponent, hex, sign, fraction or underscore.
 */

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit count_units[] = {
	{ "k", 1000 }, { "M", 1000000 }, { "G", 1000000000 }, { NULL, 0 }
};
static const struct unit size_units[] = {
	{ "KiB", 1024 }, { "MiB", 1024 * 1024 }, { "GiB", 1024 * 1024 * 1024 }, { NULL, 0 }
};
static const struct unit time_units[] = { { "us", 1000 },
					  { "ms", 1000000 },
					  { "s", 1000000000 },
					  { "min", UINT64_C(60000000000) },
					  { "h", UINT64_C(3600000000000) },
					  { NULL, 0 } };

/* What people write elsewhere, and what it is here. */
static const struct {
	const char *theirs;
	const char *ours;
} habits[] = {
	{ "kb", "KiB" },
	{ "mb", "MiB" },
	{ "gb", "GiB" },
	{ "sec", "s" },
	{ "secs", "s" },
	{ "second", "s" },
	{ "seconds", "s" },
	{ "m", "min" },
	{ "mins", "min" },
	{ "minute", "min" },
	{ "minutes", "min" },
	{ "hour", "h" },
	{ "hours", "h" },
	{ "hr", "h" },
	{ "msec", "ms" },
	{ "millis", "ms" },
	{ "milliseconds", "ms" },
	{ "usec", "us" },
	{ "micros", "us" },
	{ "k", "KiB" },
	{ "g", "GiB" },
	{ "mib", "MiB" },
	{ "kib", "KiB" },
	{ "gib", "GiB" },
	{ "b", "" },
};

static bool fail(struct weir_value_error *e, size_t at, size_t len, const char *fmt, ...)
	WEIR_PRINTF(4, 5);

static bool
fail(struct weir_value_error *e, size_t at, size_t len, const char *fmt, ...)
{
	va_list ap;

	e->at = (uint32_t)at;
	e->len = len > 0 ? (uint32_t)len : 1;
	e->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return false;
}

static void hint(struct weir_value_error *e, const char *fmt, ...) WEIR_PRINTF(2, 3);

static void
hint(struct weir_value_error *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
}

static const struct unit *
units_of(enum weir_config_kind kind)
{
	switch (kind) {
	case WEIR_CONFIG_KIND_TIME:
	case WEIR_CONFIG_KIND_BOUND:
		return time_units;
	case WEIR_CONFIG_KIND_SIZE:
		return size_units;
	default:
		return count_units;
	}
}

static const char *
noun_of(enum weir_config_kind kind)
{
	switch (kind) {
	case WEIR_CONFIG_KIND_TIME:
		return "a time (us, ms, s, min, h)";
	case WEIR_CONFIG_KIND_BOUND:
		return "a time (us, ms, s, min, h) or unbounded";
	case WEIR_CONFIG_KIND_SIZE:
		return "a size (KiB, MiB, GiB)";
	default:
		return "a number (k, M, G)";
	}
}

static size_t
digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* The leading digits of text into *out; they may not begin with 0 unless that is all. */
static bool
parse_digits(const char *text, uint64_t *out, size_t *used, struct weir_value_error *e)
{
	const size_t len = digits(text);
	uint64_t v = 0;

	*used = len;
	if (len > 1 && text[0] == '0') {
		const size_t zeros = strspn(text, "0");

		fail(e, 0, len, "%.*s: a number has no leading zero", (int)len, text);
		hint(e, "write %s", zeros == len ? "0" : text + zeros);
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(text[i] - '0'), &v))
			return fail(e, 0, len, "%.*s is out of range", (int)len, text);
	}
	*out = v;
	return true;
}

/* Text that begins like no plain decimal: say what it looks like. */
static bool
fail_not_a_number(const char *text, const char *noun, struct weir_value_error *e)
{
	if (text[0] == '-' && digits(text + 1) > 0)
		return fail(e, 0, strlen(text), "%s is out of range: no negative numbers", text);
	if (text[0] == '+' && digits(text + 1) > 0) {
		fail(e, 0, strlen(text), "%s: a number has no sign", text);
		hint(e, "write %s", text + 1);
		return false;
	}
	return fail(e, 0, strlen(text), "\"%s\" is not %s", text, noun);
}

static bool
is_any_unit(const char *text)
{
	const struct unit *const all[] = { count_units, size_units, time_units };

	for (size_t i = 0; i < WEIR_ARRAY_CNT(all); i++) {
		for (const struct unit *u = all[i]; u->name != NULL; u++) {
			if (strcmp(u->name, text) == 0)
				return true;
		}
	}
	return false;
}

/* The unit of kind that the writer of text meant, or NULL. */
static const char *
meant_unit(enum weir_config_kind kind, const char *text)
{
	const struct unit *units = units_of(kind);
	const char *ours = NULL;

	while (*text == ' ')
		text++;
	for (const struct unit *u = units; u->name != NULL; u++) {
		if (strcasecmp(u->name, text) == 0)
			return u->name;
	}
	for (size_t i = 0; i < WEIR_ARRAY_CNT(habits); i++) {
		ours = habits[i].ours;
		if (strcasecmp(habits[i].theirs, text) != 0)
			continue;
		for (const struct unit *u = units; u->name != NULL; u++) {
			if (strcmp(u->name, ours) == 0)
				return ours;
		}
	}
	return NULL;
}

/* Behind n digits stands text that is no unit of kind: say why. */
static bool
fail_unit(enum weir_config_kind kind, const char *text, size_t n, struct weir_value_error *e)
{
	const char *rest = text + n;
	const size_t len = strlen(rest);
	const char *meant = meant_unit(kind, rest);

	if (rest[0] == '.')
		return fail(e, n, len, "%s: whole numbers only, in a smaller unit if need be",
			    text);
	if (rest[0] == '_') {
		fail(e, n, len, "%s: no underscore in a number", text);
	} else if ((rest[0] == 'x' || rest[0] == 'X') && n == 1 && text[0] == '0') {
		fail(e, 0, n + len, "%s: plain decimals only, no hex", text);
	} else if ((rest[0] == 'e' || rest[0] == 'E') && len > 1) {
		fail(e, n, len, "%s: plain decimals only, no exponent", text);
	} else if (is_any_unit(rest)) {
		fail(e, n, len, "wrong unit %s: takes %s", rest, noun_of(kind));
	} else {
		fail(e, n, len, "unknown unit \"%s\": takes %s", rest, noun_of(kind));
	}
	if (meant != NULL)
		hint(e, "did you mean %.*s%s?", (int)n, text, meant);
	return false;
}

static bool
fail_no_unit(enum weir_config_kind kind, const char *text, struct weir_value_error *e)
{
	fail(e, 0, strlen(text), "%s has no unit: takes %s", text, noun_of(kind));
	if (kind == WEIR_CONFIG_KIND_SIZE)
		hint(e, "write %sKiB or %sMiB", text, text);
	else
		hint(e, "write %sms or %ss", text, text);
	return false;
}

static bool
parse_number(enum weir_config_kind kind, const char *text, uint64_t *out,
	     struct weir_value_error *e)
{
	const struct unit *u = units_of(kind);
	size_t n;

	if (digits(text) == 0)
		return fail_not_a_number(text, noun_of(kind), e);
	if (!parse_digits(text, out, &n, e))
		return false;
	if (text[n] == '\0') {
		if (kind == WEIR_CONFIG_KIND_COUNT || *out == 0)
			return true;
		return fail_no_unit(kind, text, e);
	}
	while (u->name != NULL && strcmp(u->name, text + n) != 0)
		u++;
	if (u->name == NULL)
		return fail_unit(kind, text, n, e);
	if (__builtin_mul_overflow(*out, u->factor, out))
		return fail(e, 0, strlen(text), "%s is out of range", text);
	return true;
}

/* 1.5 → 1500: a factor, up to three digits behind the point. */
static bool
parse_factor(const char *text, uint64_t *out, struct weir_value_error *e)
{
	static const uint64_t scale[] = { 1000, 100, 10, 1 };
	uint64_t whole, part = 0;
	size_t n, m = 0;

	if (digits(text) == 0)
		return fail_not_a_number(text, "a factor such as 1.5", e);
	if (!parse_digits(text, &whole, &n, e))
		return false;
	if (text[n] == '.') {
		m = digits(text + n + 1);
		if (m == 0 || m > 3)
			return fail(e, n, strlen(text + n),
				    "%s: one to three digits behind the point", text);
		for (size_t i = 0; i < m; i++)
			part = part * 10 + (uint64_t)(text[n + 1 + i] - '0');
		n += m + 1;
	}
	if (text[n] != '\0')
		return fail(e, n, strlen(text + n), "%s: takes a factor such as 1.5, without unit",
			    text);
	if (whole > UINT32_MAX / 2000)
		return fail(e, 0, strlen(text), "%s is out of range", text);
	*out = whole * 1000 + part * scale[m];
	return true;
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
	fail(e, 0, strlen(text), "\"%s\" is not %s", text, takes);
	near = weir_suggest(text, info->words, info->word_cnt);
	if (near != NULL)
		hint(e, "did you mean %s?", near);
	return false;
}

/* One CPU number of a list at text + at. */
static bool
parse_cpu(const char *text, size_t at, size_t *used, uint64_t *cpu, struct weir_value_error *e)
{
	const char *p = text + at;

	*used = digits(p);
	if (*used == 0)
		return fail(e, at, 1,
			    "takes a list of CPUs such as 2-5,8: a CPU number is missing");
	if (!parse_digits(p, cpu, used, e)) {
		e->at += (uint32_t)at;
		return false;
	}
	if (*cpu >= WEIR_CONFIG_CPU_MAX)
		return fail(e, at, *used, "CPU %.*s is out of range: 0 to %u", (int)*used, p,
			    WEIR_CONFIG_CPU_MAX - 1);
	return true;
}

/* One item, "5" or "2-5". */
static bool
parse_cpu_item(const char *text, size_t at, size_t *used, struct weir_value *out,
	       struct weir_value_error *e)
{
	uint64_t first, last;
	size_t n, m;

	if (!parse_cpu(text, at, &n, &first, e))
		return false;
	last = first;
	if (text[at + n] == '-') {
		if (!parse_cpu(text, at + n + 1, &m, &last, e))
			return false;
		n += m + 1;
	}
	*used = n;
	if (last < first) {
		fail(e, at, n, "%.*s: the range runs backwards", (int)n, text + at);
		hint(e, "write %u-%u", (unsigned int)last, (unsigned int)first);
		return false;
	}
	if (out->cpus.cnt + (last - first) >= WEIR_CONFIG_CPU_MAX)
		return fail(e, at, n, "more than %u CPUs", WEIR_CONFIG_CPU_MAX);
	for (uint64_t cpu = first; cpu <= last; cpu++)
		out->cpu[out->cpus.cnt++] = (uint16_t)cpu;
	return true;
}

bool
weir_value_parse_cpus(const char *text, struct weir_value *out, struct weir_value_error *e)
{
	size_t at = 0, n;

	out->cpus.cnt = 0;
	out->cpus.cpu = out->cpu;
	out->cpus.text = text;
	for (;;) {
		if (!parse_cpu_item(text, at, &n, out, e))
			return false;
		at += n;
		if (text[at] == '\0')
			return true;
		if (text[at] != ',') {
			fail(e, at, strlen(text + at),
			     "takes a list of CPUs such as 2-5,8, not \"%s\"", text);
			return false;
		}
		at++;
	}
}

void
weir_value_cpu_item(const char *text, uint32_t cpu, uint32_t *at, uint32_t *len)
{
	struct weir_value_error e;
	uint64_t first, last;
	size_t pos = 0, n, m;

	*at = 0;
	*len = (uint32_t)strlen(text);
	while (parse_cpu(text, pos, &n, &first, &e)) {
		last = first;
		if (text[pos + n] == '-' && parse_cpu(text, pos + n + 1, &m, &last, &e))
			n += m + 1;
		if (cpu >= first && cpu <= last) {
			*at = (uint32_t)pos;
			*len = (uint32_t)n;
			return;
		}
		pos += n;
		if (text[pos] != ',')
			return;
		pos++;
	}
}

static bool
check_range(const struct weir_config_key_info *info, const char *text, uint64_t v,
	    struct weir_value_error *e)
{
	char min[32], max[32];

	weir_value_format(info->kind, info->min, min, sizeof(min));
	weir_value_format(info->kind, info->max, max, sizeof(max));
	if (v < info->min || v > info->max)
		return fail(e, 0, strlen(text), "%s is out of range: %s to %s", text, min, max);
	if (v % info->step == 0)
		return true;
	weir_value_format(info->kind, info->step, min, sizeof(min));
	return fail(e, 0, strlen(text), "%s is not a multiple of %s", text, min);
}

static bool
parse_bool(const char *text, uint64_t *out, struct weir_value_error *e)
{
	static const char *const yes[] = { "yes", "on", "True", "TRUE", "1", "y" };

	*out = strcmp(text, "true") == 0;
	if (*out != 0 || strcmp(text, "false") == 0)
		return true;
	fail(e, 0, strlen(text), "\"%s\" is neither true nor false", text);
	for (size_t i = 0; i < WEIR_ARRAY_CNT(yes); i++) {
		if (strcmp(text, yes[i]) == 0)
			hint(e, "write true");
	}
	return false;
}

static bool
parse_string(const char *text, struct weir_value_error *e)
{
	if (!weir_utf8_valid(text, strlen(text)))
		return fail(e, 0, strlen(text), "the text is not UTF-8");
	return true;
}

bool
weir_value_parse(const struct weir_config_key_info *info, const char *text, struct weir_value *out,
		 struct weir_value_error *e)
{
	if (text[0] == '\0' || strcmp(text, "~") == 0)
		return fail(e, 0, 1, "has no value");
	switch (info->kind) {
	case WEIR_CONFIG_KIND_STRING:
		return parse_string(text, e);
	case WEIR_CONFIG_KIND_BOOL:
		return parse_bool(text, &out->number, e);
	case WEIR_CONFIG_KIND_ENUM:
		return parse_word(info, text, &out->number, e);
	case WEIR_CONFIG_KIND_CPUS:
		return weir_value_parse_cpus(text, out, e);
	case WEIR_CONFIG_KIND_FACTOR:
		return parse_factor(text, &out->number, e) &&
		       check_range(info, text, out->number, e);
	case WEIR_CONFIG_KIND_BOUND:
		out->number = (uint64_t)WEIR_CONFIG_UNBOUNDED;
		if (strcmp(text, "unbounded") == 0)
			return true;
		break;
	default:
		break;
	}
	return parse_number(info->kind, text, &out->number, e) &&
	       check_range(info, text, out->number, e);
}

static void
format_factor(uint64_t number, char *buf, size_t cap)
{
	const unsigned int part = (unsigned int)(number % 1000);

	if (part == 0)
		snprintf(buf, cap, "%llu", (unsigned long long)(number / 1000));
	else if (part % 100 == 0)
		snprintf(buf, cap, "%llu.%u", (unsigned long long)(number / 1000), part / 100);
	else
		snprintf(buf, cap, "%llu.%03u", (unsigned long long)(number / 1000), part);
}

void
weir_value_format(enum weir_config_kind kind, uint64_t number, char *buf, size_t cap)
{
	const char *name = "";

	if (kind == WEIR_CONFIG_KIND_FACTOR) {
		format_factor(number, buf, cap);
		return;
	}
	if (kind == WEIR_CONFIG_KIND_BOUND && number == (uint64_t)WEIR_CONFIG_UNBOUNDED) {
		snprintf(buf, cap, "unbounded");
		return;
	}
	if (number != 0) {
		uint64_t best = 1;

		for (const struct unit *u = units_of(kind); u->name != NULL; u++) {
			if (number % u->factor == 0 && u->factor > best) {
				best = u->factor;
				name = u->name;
			}
		}
		number /= best;
	}
	snprintf(buf, cap, "%llu%s", (unsigned long long)number, name);
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
		snprintf(buf, cap, "%s", noun_of(info->kind));
		return;
	}
	at = (size_t)snprintf(buf, cap, info->word_cnt > 1 ? "one of: " : "");
	for (uint32_t i = 0; i < info->word_cnt && at < cap; i++)
		at += (size_t)snprintf(buf + at, cap - at, "%s%s", i > 0 ? ", " : "",
				       info->words[i]);
}

/* Bytes of the character at text, or 0 if there is none of UTF-8 within len bytes. */
static size_t
utf8_len(const unsigned char *p, size_t len)
{
	const size_t n = p[0] < 0x80   ? 1
			 : p[0] < 0xc2 ? 0
			 : p[0] < 0xe0 ? 2
			 : p[0] < 0xf0 ? 3
			 : p[0] < 0xf5 ? 4
				       : 0;

	if (n == 0 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong forms, surrogates and what lies past U+10FFFF. */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

bool
weir_utf8_valid(const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		const size_t n = utf8_len((const unsigned char *)text + at, len - at);

		if (n == 0)
			return false;
		at += n;
	}
	return true;
}

uint32_t
weir_utf8_columns(const char *text, size_t len)
{
	uint32_t cnt = 0;

	for (size_t i = 0; i < len; i++)
		cnt += ((unsigned char)text[i] & 0xc0) != 0x80;
	return cnt;
}

/*
 * Numbers, with or without a unit. They are plain decimals, so that what a reader sees is what is
 * meant: no octal look-alike (010), exponent, hex, sign, fraction or underscore.
 */

#include "engine/config/value_priv.h"

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

const char *
weir_value_noun(enum weir_config_kind kind)
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

size_t
weir_value_digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* The leading digits of text into *out; they may not begin with 0 unless that is all. */
static bool
fail_too_large(struct weir_value_error *e, const char *text, size_t len)
{
	weir_value_fail(e, 0, len, "%.*s is out of range", (int)len, text);
	e->too_large = true;
	return false;
}

bool
weir_value_parse_digits(const char *text, uint64_t *out, size_t *used, struct weir_value_error *e)
{
	const size_t len = weir_value_digits(text);
	uint64_t v = 0;

	*used = len;
	if (len > 1 && text[0] == '0') {
		const size_t zeros = strspn(text, "0");

		weir_value_fail(e, 0, len, "%.*s: a number has no leading zero", (int)len, text);
		weir_value_hint(e, "write %s", zeros == len ? "0" : text + zeros);
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(text[i] - '0'), &v))
			return fail_too_large(e, text, len);
	}
	*out = v;
	return true;
}

/* Text that begins like no plain decimal: say what it looks like. */
static bool
fail_not_a_number(const char *text, const char *noun, struct weir_value_error *e)
{
	if (text[0] == '-' && weir_value_digits(text + 1) > 0)
		return weir_value_fail(e, 0, strlen(text),
				       "%s is out of range: no negative numbers", text);
	if (text[0] == '+' && weir_value_digits(text + 1) > 0) {
		weir_value_fail(e, 0, strlen(text), "%s: a number has no sign", text);
		weir_value_hint(e, "write %s", text + 1);
		return false;
	}
	return weir_value_fail(e, 0, strlen(text), "\"%s\" is not %s", text, noun);
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
		return weir_value_fail(
			e, n, len, "%s: whole numbers only, in a smaller unit if need be", text);
	if (rest[0] == '_') {
		weir_value_fail(e, n, len, "%s: no underscore in a number", text);
	} else if ((rest[0] == 'x' || rest[0] == 'X') && n == 1 && text[0] == '0') {
		weir_value_fail(e, 0, n + len, "%s: plain decimals only, no hex", text);
	} else if ((rest[0] == 'e' || rest[0] == 'E') && len > 1) {
		weir_value_fail(e, n, len, "%s: plain decimals only, no exponent", text);
	} else if (is_any_unit(rest)) {
		weir_value_fail(e, n, len, "wrong unit %s: takes %s", rest, weir_value_noun(kind));
	} else {
		weir_value_fail(e, n, len, "unknown unit \"%s\": takes %s", rest,
				weir_value_noun(kind));
	}
	if (meant != NULL)
		weir_value_hint(e, "did you mean %.*s%s?", (int)n, text, meant);
	return false;
}

static bool
fail_no_unit(enum weir_config_kind kind, const char *text, struct weir_value_error *e)
{
	weir_value_fail(e, 0, strlen(text), "%s has no unit: takes %s", text,
			weir_value_noun(kind));
	if (kind == WEIR_CONFIG_KIND_SIZE)
		weir_value_hint(e, "write %sKiB or %sMiB", text, text);
	else
		weir_value_hint(e, "write %sms or %ss", text, text);
	return false;
}

bool
weir_value_parse_number(enum weir_config_kind kind, const char *text, uint64_t *out,
			struct weir_value_error *e)
{
	const struct unit *u = units_of(kind);
	size_t n;

	if (weir_value_digits(text) == 0)
		return fail_not_a_number(text, weir_value_noun(kind), e);
	if (!weir_value_parse_digits(text, out, &n, e))
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
		return fail_too_large(e, text, strlen(text));
	return true;
}

/* 1.5 → 1500: a factor, up to three digits behind the point. */
bool
weir_value_parse_factor(const char *text, uint64_t *out, struct weir_value_error *e)
{
	static const uint64_t scale[] = { 1000, 100, 10, 1 };
	uint64_t whole, part = 0;
	size_t n, m = 0;

	if (weir_value_digits(text) == 0)
		return fail_not_a_number(text, "a factor such as 1.5", e);
	if (!weir_value_parse_digits(text, &whole, &n, e))
		return false;
	if (text[n] == '.') {
		m = weir_value_digits(text + n + 1);
		if (m == 0 || m > 3)
			return weir_value_fail(e, n, strlen(text + n),
					       "%s: one to three digits behind the point", text);
		for (size_t i = 0; i < m; i++)
			part = part * 10 + (uint64_t)(text[n + 1 + i] - '0');
		n += m + 1;
	}
	if (text[n] != '\0')
		return weir_value_fail(e, n, strlen(text + n),
				       "%s: takes a factor such as 1.5, without unit", text);
	if (whole > UINT32_MAX / 2000)
		return fail_too_large(e, text, strlen(text));
	*out = whole * 1000 + part * scale[m];
	return true;
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

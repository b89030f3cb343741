#include "bench/bench_priv.h"

#include <stdlib.h>
#include <string.h>

void
bench_setup_init(struct bench_setup *setup, const struct bench_def *def)
{
	memset(setup, 0, sizeof(*setup));
	setup->def = def;
	for (uint32_t k = 0; def->keys[k].name != NULL; k++) {
		WEIR_ASSERT(k < BENCH_KEYS_MAX);
		snprintf(setup->value[k], sizeof(setup->value[k]), "%s", def->keys[k].def);
	}
}

static uint64_t
unit_of(const char *end)
{
	if (strcmp(end, "") == 0)
		return 1;
	if (strcmp(end, "k") == 0)
		return 1000;
	if (strcmp(end, "M") == 0)
		return 1000000;
	if (strcmp(end, "G") == 0)
		return 1000000000;
	return 0;
}

/* A plain decimal without leading zero, with k, M or G behind it; 0 if it is not one. */
static uint64_t
count_of(const char *text)
{
	char *end;
	unsigned long long n;

	if (text[0] < '1' || text[0] > '9' || strlen(text) > 12)
		return 0;
	n = strtoull(text, &end, 10);
	return n * unit_of(end);
}

static bool
is_choice(const char *choices, const char *text)
{
	const size_t len = strlen(text);

	while (len > 0) {
		const char *bar = strchr(choices, '|');
		const size_t one = bar != NULL ? (size_t)(bar - choices) : strlen(choices);

		if (one == len && memcmp(choices, text, len) == 0)
			return true;
		if (bar == NULL)
			break;
		choices = bar + 1;
	}
	return false;
}

static int
set_value(struct bench_setup *setup, uint32_t k, const char *value, struct weir_error *err)
{
	const struct bench_key *key = &setup->def->keys[k];

	if (key->choices != NULL) {
		if (!is_choice(key->choices, value))
			return weir_fail(err, WEIR_ERR_CONFIG, "--set %s=%s: expects %s", key->name,
					 value, key->choices);
		snprintf(setup->value[k], sizeof(setup->value[k]), "%s", value);
		return 0;
	}
	if (count_of(value) == 0)
		return weir_fail(err, WEIR_ERR_CONFIG,
				 "--set %s=%s: expects a count of at least 1, like 1000 or 1M",
				 key->name, value);
	snprintf(setup->value[k], sizeof(setup->value[k]), "%llu",
		 (unsigned long long)count_of(value));
	return 0;
}

int
bench_setup_set(struct bench_setup *setup, const char *text, struct weir_error *err)
{
	const char *eq = strchr(text, '=');
	const size_t len = eq != NULL ? (size_t)(eq - text) : 0;

	if (eq == NULL)
		return weir_fail(err, WEIR_ERR_CONFIG, "--set %s: expects key=value", text);
	for (uint32_t k = 0; setup->def->keys[k].name != NULL; k++) {
		const char *name = setup->def->keys[k].name;

		if (strlen(name) == len && memcmp(name, text, len) == 0)
			return set_value(setup, k, eq + 1, err);
	}
	return weir_fail(err, WEIR_ERR_CONFIG, "--set %s: bench %s has no such key", text,
			 setup->def->name);
}

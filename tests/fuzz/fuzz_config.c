/*
 * Any bytes as configuration file and --set: no crash, and what is accepted is printed and read
 * back as the same. The first line of the input is the assignment, the rest the file.
 */

#include "engine/base/error.h"
#include "engine/config/config.h"

#include <stdlib.h>
#include <string.h>

struct text {
	char *bytes;
	size_t len;
};

static void
collect(void *arg, const char *text, size_t len)
{
	struct text *t = arg;

	t->bytes = realloc(t->bytes, t->len + len + 1);
	WEIR_ASSERT(t->bytes != NULL);
	memcpy(t->bytes + t->len, text, len);
	t->len += len;
	t->bytes[t->len] = '\0';
}

static void
check_round_trip(const struct weir_config *cfg)
{
	struct weir_config again;
	struct text first = { 0 }, second = { 0 };

	weir_config_write(cfg, WEIR_PRINT_GIVEN, collect, &first);
	weir_config_init(&again);
	if (first.len > 0)
		WEIR_ASSERT(weir_config_read(&again, "again", first.bytes, first.len) == 0);
	WEIR_ASSERT(weir_config_finish(&again) == 0);
	weir_config_write(&again, WEIR_PRINT_GIVEN, collect, &second);
	WEIR_ASSERT(first.len == second.len);
	WEIR_ASSERT(first.len == 0 || memcmp(first.bytes, second.bytes, first.len) == 0);
	weir_config_fini(&again);
	free(first.bytes);
	free(second.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nl = memchr(data, '\n', size);
	const size_t set_len = nl != NULL ? (size_t)(nl - data) : 0;
	const size_t file = nl != NULL ? set_len + 1 : 0;
	struct weir_config cfg;
	struct text errors = { 0 };
	char *set = calloc(1, set_len + 1);

	WEIR_ASSERT(set != NULL);
	memcpy(set, data, set_len);
	weir_config_init(&cfg);
	(void)weir_config_read(&cfg, "fuzz.yaml", (const char *)data + file, size - file);
	if (set_len > 0)
		(void)weir_config_set(&cfg, set);
	if (weir_config_finish(&cfg) == 0)
		check_round_trip(&cfg);
	weir_config_errors_write(&cfg, collect, &errors);
	WEIR_ASSERT((cfg.error_cnt == 0) == (errors.len == 0));
	free(errors.bytes);
	free(set);
	weir_config_fini(&cfg);
	return 0;
}

#include "bench/bench_priv.h"

#include <stdlib.h>
#include <string.h>

uint64_t
bench_arg_u64(const struct bench_args *args, const char *key)
{
	return strtoull(bench_arg_text(args, key), NULL, 10);
}

const char *
bench_arg_text(const struct bench_args *args, const char *key)
{
	const struct bench_key *keys = args->setup.def->keys;

	uint32_t k = 0;

	while (keys[k].name != NULL && strcmp(keys[k].name, key) != 0)
		k++;
	WEIR_ASSERT(keys[k].name != NULL);
	return args->setup.value[k];
}

int
bench_side_wait(struct weir_error *err)
{
	char line[16];

	fputs("ready\n", stdout);
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin) == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "standard input closed before the start");
	return 0;
}

void
bench_side_print(uint64_t rows, uint64_t sum, double seconds)
{
	printf("{\"rate\": %.1f, \"rows\": %llu, \"sum\": %llu, \"seconds\": %.9f}\n",
	       (double)rows / seconds, (unsigned long long)rows, (unsigned long long)sum, seconds);
	fflush(stdout);
}

static int
parse(struct bench_args *args, const char *text, struct weir_error *err)
{
	if (sscanf(text, "cpus=%u,%u", &args->cpus[0], &args->cpus[1]) == 2)
		return 0;
	if (strncmp(text, "rows=", 5) == 0) {
		args->rows = strtoull(text + 5, NULL, 10);
		return 0;
	}
	if (strncmp(text, "warm=", 5) == 0) {
		args->warm = strtoull(text + 5, NULL, 10);
		return 0;
	}
	return bench_setup_set(&args->setup, text, err);
}

int
bench_side_main(int argc, char **argv)
{
	const struct bench_def *def = argc > 0 ? bench_find(argv[0]) : NULL;
	struct weir_error err = { 0 };
	struct bench_args args = { 0 };
	int rc = 0;

	if (def == NULL) {
		fprintf(stderr, "weir bench --side: no such bench\n");
		return WEIR_ERR_USAGE;
	}
	bench_setup_init(&args.setup, def);
	for (int i = 1; rc == 0 && i < argc; i++)
		rc = parse(&args, argv[i], &err);
	if (rc == 0 && (args.rows == 0 || args.rows % def->multiple != 0))
		rc = weir_fail(&err, WEIR_ERR_CONFIG, "rows: expects a multiple of %u",
			       def->multiple);
	if (rc == 0)
		rc = def->side(&args, &err);
	if (rc != 0)
		fprintf(stderr, "weir bench --side %s: %s\n", def->name, err.text);
	return rc;
}

#include "bench/bench.h"
#include "bench/bench_priv.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct request {
	const struct bench_def *def;
	struct bench_options opts;
	const char *json;
	const char *sweep; /* "key=a,b,c" */
	const char *set[BENCH_KEYS_MAX];
	uint32_t set_cnt;
	bool cpus_given;
};

static void
help(FILE *out)
{
	fputs("usage: weir bench NAME [--set key=value]... [--sweep key=a,b,c] [--pairs N]\n"
	      "                  [--seconds S] [--cpus A,B] [--json FILE]\n\n"
	      "weir and a hand-written program do the same work in turns; the ratio counts.\n"
	      "checkpoint has no such program: it compares the modes.\n\n",
	      out);
	for (uint32_t i = 0; bench_defs[i] != NULL; i++) {
		const struct bench_def *def = bench_defs[i];

		fprintf(out, "  %-10s %s\n", def->name, def->about);
		for (uint32_t k = 0; def->keys[k].name != NULL; k++)
			fprintf(out, "             --set %s=%s  default %s\n", def->keys[k].name,
				def->keys[k].choices != NULL ? def->keys[k].choices : "N",
				def->keys[k].def);
	}
	fputs("\n  --pairs N     pairs of runs, 5 or more for a result worth quoting (default 5)\n"
	      "  --seconds S   of work per side and pair (default 1)\n"
	      "  --cpus A,B    CPUs that work (default: the first two this process may use)\n"
	      "  --json FILE   write the result there, - for standard output\n",
	      out);
}

static int
usage(struct weir_error *err, const char *what, const char *value)
{
	return weir_fail(err, WEIR_ERR_USAGE, "%s %s: not understood; see weir bench --help", what,
			 value);
}

/* The first two CPUs that this process may run on; the same twice if there is but one. */
static void
default_cpus(uint32_t cpus[2])
{
	uint32_t found = 0;
	cpu_set_t set;

	cpus[0] = cpus[1] = 0;
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return;
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[found++] = cpu;
	if (found == 1)
		cpus[1] = cpus[0];
}

static int
parse_option(struct request *r, int option, const char *value, struct weir_error *err)
{
	char *end = "";

	switch (option) {
	case 's':
		if (r->set_cnt == BENCH_KEYS_MAX)
			return usage(err, "--set", value);
		r->set[r->set_cnt++] = value;
		return 0;
	case 'w':
		r->sweep = value;
		return 0;
	case 'j':
		r->json = value;
		return 0;
	case 'p':
		r->opts.pairs = (uint32_t)strtoul(value, &end, 10);
		if (*end != '\0' || r->opts.pairs == 0 || r->opts.pairs > BENCH_PAIRS_MAX)
			return usage(err, "--pairs", value);
		return 0;
	case 't':
		r->opts.seconds = strtod(value, &end);
		if (*end != '\0' || !(r->opts.seconds >= 0.01 && r->opts.seconds <= 3600))
			return usage(err, "--seconds", value);
		return 0;
	case 'c':
		if (sscanf(value, "%u,%u", &r->opts.cpus[0], &r->opts.cpus[1]) != 2)
			return usage(err, "--cpus", value);
		return 0;
	default:
		return usage(err, "option", value);
	}
}

static int
parse(struct request *r, int argc, char **argv, struct weir_error *err)
{
	static const struct option options[] = {
		{ "set", required_argument, NULL, 's' },
		{ "sweep", required_argument, NULL, 'w' },
		{ "pairs", required_argument, NULL, 'p' },
		{ "seconds", required_argument, NULL, 't' },
		{ "cpus", required_argument, NULL, 'c' },
		{ "json", required_argument, NULL, 'j' },
		{ 0 },
	};
	int option;
	int rc;

	*r = (struct request){ .opts = { .pairs = 5, .seconds = 1.0 } };
	default_cpus(r->opts.cpus);
	optind = 0;
	opterr = 0; /* we say it ourselves */
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		rc = parse_option(r, option, option == '?' ? argv[optind - 1] : optarg, err);
		if (rc != 0)
			return rc;
	}
	if (optind + 1 != argc)
		return weir_fail(err, WEIR_ERR_USAGE, "expects one bench; see weir bench --help");
	r->def = bench_find(argv[optind]);
	if (r->def == NULL)
		return weir_fail(err, WEIR_ERR_USAGE, "%s: no such bench; see weir bench --help",
				 argv[optind]);
	if (r->def->cpus > 1 && r->opts.cpus[0] == r->opts.cpus[1])
		return weir_fail(err, WEIR_ERR_CONFIG, "bench %s needs two CPUs", r->def->name);
	r->opts.terminal = isatty(STDERR_FILENO);
	return 0;
}

/* One value of the sweep: "key=" and the text up to the next comma. Returns what is left. */
static const char *
next_of_sweep(const char *key, int key_len, const char *values, char *text, size_t cap)
{
	const size_t len = strcspn(values, ",");

	snprintf(text, cap, "%.*s=%.*s", key_len, key, (int)len, values);
	return values[len] == ',' ? values + len + 1 : NULL;
}

/* All setups that were asked for; how many in *cnt. */
static int
plan(const struct request *r, struct bench_setup *setups, uint32_t *cnt, struct weir_error *err)
{
	const char *eq = r->sweep != NULL ? strchr(r->sweep, '=') : NULL;
	const char *values = eq != NULL ? eq + 1 : NULL;
	struct bench_setup base;
	char text[128];
	int rc = 0;

	bench_setup_init(&base, r->def);
	for (uint32_t i = 0; rc == 0 && i < r->set_cnt; i++)
		rc = bench_setup_set(&base, r->set[i], err);
	if (rc == 0 && r->sweep != NULL && eq == NULL)
		rc = usage(err, "--sweep", r->sweep);
	setups[0] = base;
	*cnt = r->sweep == NULL;
	while (rc == 0 && values != NULL) {
		if (*cnt == BENCH_SWEEP_MAX)
			return usage(err, "--sweep", r->sweep);
		values = next_of_sweep(r->sweep, (int)(eq - r->sweep), values, text, sizeof(text));
		setups[*cnt] = base;
		rc = bench_setup_set(&setups[(*cnt)++], text, err);
	}
	return rc;
}

static int
run_pairs(const struct bench_setup *setup, const struct bench_options *opts, FILE *json,
	  struct weir_error *err)
{
	struct bench_series *series = calloc(1, sizeof(*series));
	int rc;

	if (series == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "no memory");
	series->setup = *setup;
	rc = bench_measure(series, opts, err);
	if (rc == 0) {
		bench_print_table(stderr, series);
		if (json != NULL)
			bench_print_json(json, series);
	}
	free(series);
	return rc;
}

static int
run_all(const struct request *r, const struct bench_setup *setups, uint32_t cnt, FILE *json,
	struct weir_error *err)
{
	const bool list = json != NULL && (r->sweep != NULL || r->def->run != NULL);
	int rc = 0;

	if (list)
		fputs("[\n", json);
	for (uint32_t i = 0; rc == 0 && i < cnt; i++) {
		if (json != NULL && i > 0)
			fputs(",\n", json);
		rc = r->def->run != NULL ? r->def->run(&setups[i], &r->opts, json, err)
					 : run_pairs(&setups[i], &r->opts, json, err);
	}
	if (json != NULL)
		fputs(list ? "\n]\n" : "\n", json);
	return rc;
}

static FILE *
open_json(const char *path, struct weir_error *err)
{
	FILE *json = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");

	if (json == NULL)
		weir_fail(err, WEIR_ERR_IO, "%s: %s", path, strerror(errno));
	return json;
}

static int
run(const struct request *r, struct weir_error *err)
{
	struct bench_setup setups[BENCH_SWEEP_MAX];
	FILE *json = NULL;
	uint32_t cnt;
	int rc = plan(r, setups, &cnt, err);

	if (rc != 0)
		return rc;
	if (r->json != NULL) {
		json = open_json(r->json, err);
		if (json == NULL)
			return err->code;
	}
	rc = run_all(r, setups, cnt, json, err);
	if (json != NULL && json != stdout && fclose(json) != 0 && rc == 0)
		rc = weir_fail(err, WEIR_ERR_IO, "%s: %s", r->json, strerror(errno));
	return rc;
}

int
weir_bench_main(int argc, char **argv)
{
	struct weir_error err = { 0 };
	struct request request;
	int rc;

	if (argc > 1 && strcmp(argv[1], "--side") == 0)
		return bench_side_main(argc - 2, argv + 2);
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0) {
			help(stdout);
			return 0;
		}
	signal(SIGPIPE, SIG_IGN); /* a side that dies is seen by its exit code */
	rc = parse(&request, argc, argv, &err);
	if (rc == 0)
		rc = run(&request, &err);
	if (rc != 0)
		fprintf(stderr, "weir bench: %s\n", err.text);
	return rc;
}

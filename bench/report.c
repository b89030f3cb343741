#include "bench/bench_priv.h"

#include <string.h>
#include <sys/utsname.h>

#include <rte_version.h>

#ifndef WEIR_GIT
#define WEIR_GIT ""
#endif

static const char *
is_count(const struct bench_key *key)
{
	return key->choices == NULL ? "" : "\"";
}

static void
json_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		if ((unsigned char)*text >= ' ')
			fputc(*text, out);
	}
	fputc('"', out);
}

static void
json_spread(FILE *out, const char *name, const struct bench_spread *s)
{
	fprintf(out, "  \"%s\": {\"median\": %.6g, \"min\": %.6g, \"max\": %.6g},\n", name,
		s->median, s->min, s->max);
}

static void
json_setup(FILE *out, const struct bench_series *s)
{
	const struct bench_key *keys = s->setup.def->keys;

	fprintf(out, "  \"setup\": {\"rows\": %llu", (unsigned long long)s->rows);
	for (uint32_t k = 0; keys[k].name != NULL; k++)
		fprintf(out, ", \"%s\": %s%s%s", keys[k].name, is_count(&keys[k]),
			s->setup.value[k], is_count(&keys[k]));
	fprintf(out, "},\n");
}

static void
json_pair(FILE *out, const struct bench_pair *p, bool last)
{
	fprintf(out,
		"    {\"weir\": %.6g, \"reference\": %.6g, \"ratio\": %.4f, "
		"\"rtt_ns_before\": %.1f, \"rtt_ns_after\": %.1f, \"valid\": %s, \"why\": \"%s\"}"
		"%s\n",
		p->weir, p->reference, p->ratio, p->rtt_before, p->rtt_after,
		p->valid ? "true" : "false", p->why, last ? "" : ",");
}

/* First line of a file, or the text behind the colon of the line that begins with prefix. */
static bool
read_line(const char *path, const char *prefix, char *text, size_t cap)
{
	FILE *file = fopen(path, "r");
	bool found = false;
	char line[256];

	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL) {
		const char *at = line;

		if (strncmp(line, prefix, strlen(prefix)) != 0)
			continue;
		if (prefix[0] != '\0' && strchr(line, ':') != NULL)
			at = strchr(line, ':') + 1;
		at += strspn(at, " \t");
		snprintf(text, cap, "%.*s", (int)strcspn(at, "\n"), at);
		found = true;
	}
	fclose(file);
	return found;
}

void
bench_print_environment(FILE *out)
{
	struct utsname host = { .release = "" };
	char cpu[128] = "";
	char governor[64] = "";
	char huge[64] = "0";

	uname(&host);
	read_line("/proc/cpuinfo", "model name", cpu, sizeof(cpu));
	read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", governor,
		  sizeof(governor));
	read_line("/proc/meminfo", "HugePages_Total", huge, sizeof(huge));
	fprintf(out, "  \"environment\": {\"kernel\": ");
	json_text(out, host.release);
	fprintf(out, ", \"cpu\": ");
	json_text(out, cpu);
	fprintf(out, ", \"governor\": ");
	json_text(out, governor);
	fprintf(out, ", \"hugepages\": %s, \"dpdk\": ", huge);
	json_text(out, rte_version());
	fprintf(out, ", \"weir\": \"%s\", \"git\": \"%s\"}\n", WEIR_VERSION, WEIR_GIT);
}

void
bench_print_json(FILE *out, const struct bench_series *s)
{
	const struct bench_def *def = s->setup.def;

	fprintf(out, "{\n  \"bench\": \"%s\",\n", def->name);
	json_setup(out, s);
	fprintf(out, "  \"references\": [{\"name\": \"%s\", \"what\": \"%s\"}],\n", def->reference,
		def->what);
	fprintf(out, "  \"pairs\": [\n");
	for (uint32_t i = 0; i < s->pair_cnt; i++)
		json_pair(out, &s->pairs[i], i + 1 == s->pair_cnt);
	fprintf(out, "  ],\n");
	json_spread(out, "ratio", &s->ratio);
	json_spread(out, "weir", &s->weir);
	json_spread(out, "reference", &s->reference);
	fprintf(out, "  \"unit\": \"%s\",\n", def->unit);
	bench_print_environment(out);
	fprintf(out, "}");
}

static void
table_row(FILE *out, const char *name, const struct bench_spread *s, double by)
{
	fprintf(out, "  %-10s %10.3f %10.3f %10.3f\n", name, s->median / by, s->min / by,
		s->max / by);
}

void
bench_print_table(FILE *out, const struct bench_series *s)
{
	const struct bench_def *def = s->setup.def;
	double rtt[2 * BENCH_PAIRS_MAX];
	struct bench_spread way;
	uint32_t valid = 0;

	fprintf(out, "%s", def->name);
	for (uint32_t k = 0; def->keys[k].name != NULL; k++)
		fprintf(out, " %s=%s", def->keys[k].name, s->setup.value[k]);
	for (uint32_t i = 0; i < s->pair_cnt; i++) {
		valid += s->pairs[i].valid;
		rtt[i] = s->pairs[i].rtt_after;
	}
	way = bench_spread_of(rtt, s->pair_cnt);
	fprintf(out,
		": %u of %u pairs valid, %.1f M rows each, round trip %.0f ns (%.0f to %.0f)\n",
		valid, s->pair_cnt, (double)s->rows / 1e6, way.median, way.min, way.max);
	fprintf(out, "  %-10s %10s %10s %10s\n", "", "median", "min", "max");
	table_row(out, "weir M/s", &s->weir, 1e6);
	table_row(out, "limit M/s", &s->reference, 1e6);
	table_row(out, "ratio", &s->ratio, 1);
}

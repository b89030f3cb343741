#include "bench/bench_priv.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <rte_version.h>

#include "drivers/alloc/guard.h"
#include "drivers/io_open.h"

/* Counts and booleans stand for themselves. */
static const char *
quote(const struct bench_key *key)
{
	const bool bare = key->choices == NULL || strcmp(key->choices, "true|false") == 0;

	return bare ? "" : "\"";
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

	fprintf(out, "  \"setup\": {\"rows\": %llu, \"warm_up_rows\": %llu",
		(unsigned long long)s->rows, (unsigned long long)s->warm_up_rows);
	for (uint32_t k = 0; keys[k].name != NULL; k++)
		fprintf(out, ", \"%s\": %s%s%s", keys[k].name, quote(&keys[k]), s->setup.value[k],
			quote(&keys[k]));
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

/* What a core of this host would write files with, found out by trial. */
static void
io_backend(char *name, size_t cap)
{
	const struct iovec frames = { .iov_base = aligned_alloc(WEIR_PAGE, 2u << 20),
				      .iov_len = 2u << 20 };
	const struct weir_io_options opt = { .backend = WEIR_IO_AUTO,
					     .depth = 32,
					     .regions = &frames,
					     .region_cnt = frames.iov_base != NULL };
	struct weir_error err;
	struct weir_io *io;

	snprintf(name, cap, "none");
	if (weir_io_open(&opt, &io, NULL, &err) == 0) {
		snprintf(name, cap, "%s", io->ops->name);
		weir_io_close(io);
	}
	free(frames.iov_base);
}

/* In the working directory, below which checkpoints lie by default. */
static bool
o_direct(void)
{
	const int fd = open(".", O_TMPFILE | O_RDWR | O_DIRECT, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void
bench_print_environment(FILE *out)
{
	char backend[64];
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
	io_backend(backend, sizeof(backend));
	fprintf(out,
		", \"hugepages\": %s, \"io_backend\": \"%s\", \"o_direct\": %s, \"dpdk\": ", huge,
		backend, o_direct() ? "true" : "false");
	json_text(out, rte_version());
	fprintf(out, ", \"allocator\": \"%s\", \"weir\": \"%s\", \"git\": \"%s\"}\n",
		weir_alloc_name(), WEIR_VERSION, WEIR_GIT);
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

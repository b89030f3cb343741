/*
 * sim --seed N [-v] | --seeds A..B [-v] [-j N] [--first]  [--plant NAME]
 * sim --plants
 *
 * One seed prints its events, the same lines every time. A range prints the seeds that are not
 * clean and a closing line; --first: up to the first that is not. Exit 0 only if every seed is
 * clean. Each seed of a range runs in a process of its own, so that an assertion or an endless loop
 * costs one seed.
 */

#include "tests/simulator/sim.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/plant.h"
#include "tests/simulator/commit.h"

#define JOBS_MAX     16
#define SEED_SECONDS 240
#define LINE_MAX_    4096

static const char *const plant_names[WEIR_PLANT_CNT] = {
	[WEIR_PLANT_NONE] = "",
#define X(id, name, text) [WEIR_PLANT_##id] = (name),
#include "engine/base/plants.def"
#undef X
};

struct options {
	uint64_t first, last;
	bool one, verbose, first_only;
	int jobs;
};

static void
print_plants(void)
{
	for (int i = WEIR_PLANT_NONE + 1; i < WEIR_PLANT_CNT; i++)
		puts(plant_names[i]);
}

static bool
choose_plant(const char *name)
{
	for (int i = WEIR_PLANT_NONE + 1; i < WEIR_PLANT_CNT; i++)
		if (strcmp(plant_names[i], name) == 0) {
			weir_plant_chosen = (enum weir_plant)i;
			return true;
		}
	return false;
}

/* ---- a range ---- */

struct child {
	pid_t pid;
	uint64_t seed;
	FILE *out; /* what it prints */
};

static void
child_start(struct child *c, uint64_t seed, bool verbose)
{
	c->seed = seed;
	c->out = tmpfile();
	if (c->out == NULL)
		exit(71);
	fflush(stdout);
	c->pid = fork();
	if (c->pid < 0)
		exit(71);
	if (c->pid != 0)
		return;
	alarm(SEED_SECONDS);
	if (dup2(fileno(c->out), STDOUT_FILENO) < 0 || dup2(fileno(c->out), STDERR_FILENO) < 0)
		_exit(71);
	const bool clean = sim_run(seed, verbose);

	fflush(stdout);
	_exit(clean ? 0 : 1);
}

static bool
child_end(struct child *c, bool verbose)
{
	char line[LINE_MAX_];
	int status = 0;
	bool clean;

	waitpid(c->pid, &status, 0);
	clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	rewind(c->out);
	while ((!clean || verbose) && fgets(line, sizeof(line), c->out) != NULL)
		fputs(line, stdout);
	if (WIFSIGNALED(status))
		printf("seed %llu FAILED: %s\n", (unsigned long long)c->seed,
		       WTERMSIG(status) == SIGALRM ? "takes too long"
						   : strsignal(WTERMSIG(status)));
	fclose(c->out);
	c->pid = 0;
	return clean;
}

static int
run_range(const struct options *o)
{
	struct child children[JOBS_MAX] = { 0 };
	uint64_t failed = 0, ran = 0, first_failed = 0;
	const uint64_t cnt = o->last - o->first + 1;

	/* Results come in the order of the seeds. */
	for (uint64_t n = 0; n < cnt + (uint64_t)o->jobs; n++) {
		struct child *c = &children[n % (uint64_t)o->jobs];

		if (c->pid != 0) {
			const bool clean = child_end(c, o->verbose);

			ran++;
			if (!clean && failed++ == 0)
				first_failed = c->seed;
		}
		if (n < cnt && !(o->first_only && failed > 0))
			child_start(c, o->first + n, o->verbose);
	}
	printf("%llu seeds, %llu failed", (unsigned long long)ran, (unsigned long long)failed);
	if (failed > 0)
		printf(", the first is %llu", (unsigned long long)first_failed);
	putchar('\n');
	return failed == 0 ? 0 : 1;
}

/* ---- command line ---- */

static int
usage(void)
{
	fputs("usage: sim --seed N | --seeds A..B [--plant NAME] [-v] [-j N] [--first]\n"
	      "       sim --plants\n",
	      stderr);
	return 64;
}

static bool
parse_range(const char *text, struct options *o)
{
	char *end;

	o->first = strtoull(text, &end, 10);
	if (end == text || strncmp(end, "..", 2) != 0)
		return false;
	text = end + 2;
	o->last = strtoull(text, &end, 10);
	return end != text && *end == '\0' && o->last >= o->first;
}

static bool
parse(int argc, char **argv, struct options *o)
{
	bool given = false;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(argv[i], "-v") == 0) {
			o->verbose = true;
			continue;
		}
		if (strcmp(argv[i], "--first") == 0) {
			o->first_only = true;
			continue;
		}
		if (value == NULL)
			return false;
		i++;
		if (strcmp(argv[i - 1], "--seed") == 0) {
			char *end;

			o->first = o->last = strtoull(value, &end, 10);
			if (end == value || *end != '\0')
				return false;
			o->one = given = true;
		} else if (strcmp(argv[i - 1], "--seeds") == 0) {
			if (!parse_range(value, o))
				return false;
			given = true;
		} else if (strcmp(argv[i - 1], "-j") == 0) {
			o->jobs = atoi(value);
			if (o->jobs < 1 || o->jobs > JOBS_MAX)
				return false;
		} else if (strcmp(argv[i - 1], "--plant") != 0 || !choose_plant(value)) {
			return false;
		}
	}
	return given;
}

int
main(int argc, char **argv)
{
	struct options o = { .jobs = 2 };

	if (argc == 2 && strcmp(argv[1], "--plants") == 0) {
		print_plants();
		return 0;
	}
	if (!parse(argc, argv, &o))
		return usage();
	if (o.one)
		setvbuf(stdout, NULL, _IOLBF, 0); /* what an abort leaves */
	printf("weir sim %s %s", WEIR_VERSION, SIM_COMMIT);
	if (o.one)
		printf(", seed %llu", (unsigned long long)o.first);
	else
		printf(", seeds %llu..%llu", (unsigned long long)o.first,
		       (unsigned long long)o.last);
	printf("%s%s\n", weir_plant_chosen != WEIR_PLANT_NONE ? ", plant " : "",
	       plant_names[weir_plant_chosen]);
	if (!o.one)
		return run_range(&o);
	return sim_run(o.first, true) ? 0 : 1;
}

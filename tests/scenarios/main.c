/* scenario FILE...: run scenario files; exit 0 only if none fails. */

#include "tests/scenarios/scenario.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Absent until its runner is linked in. */
#pragma weak run_coordinator_file

/* A file of the coordinator kinds has a line `begin`. */
static int
has_begin(FILE *file)
{
	char line[65536];

	while (fgets(line, sizeof(line), file) != NULL) {
		const char *word = line + strspn(line, " \t");
		const size_t len = strcspn(word, " \t\r\n#");

		if (len == 5 && strncmp(word, "begin", 5) == 0)
			return 1;
	}
	return 0;
}

static int
run_file(const char *path, struct scenario_counts *counts)
{
	FILE *file = fopen(path, "r");
	int coordinator;

	if (file == NULL) {
		perror(path);
		return -1;
	}
	coordinator = has_begin(file);
	fclose(file);
	if (!coordinator)
		return run_barrier_file(path, counts);
	if (run_coordinator_file == NULL) {
		fprintf(stderr, "%s: this build has no runner for the coordinator kinds\n", path);
		return -1;
	}
	return run_coordinator_file(path, counts);
}

int
main(int argc, char **argv)
{
	struct scenario_counts counts = { 0 };
	bool broken = false;

	if (argc < 2) {
		fprintf(stderr, "usage: scenario FILE...\n");
		return 64;
	}
	for (int i = 1; i < argc; i++)
		broken |= run_file(argv[i], &counts) != 0;
	printf("%u passed, %u failed, %u skipped\n", counts.passed, counts.failed, counts.skipped);
	return counts.failed > 0 || broken;
}

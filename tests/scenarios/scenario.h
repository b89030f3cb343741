#ifndef WEIR_TESTS_SCENARIOS_SCENARIO_H
#define WEIR_TESTS_SCENARIOS_SCENARIO_H

/*
 * The scenario program: drives the product's own state machines through scenario files.
 *
 * Each runner reads one file, prints a line `FILE:LINE: [ID] expected ..., got ...` per deviation,
 * adds to the counters and returns 0, or -1 if the file cannot be read.
 */

struct scenario_counts {
	unsigned passed;
	unsigned failed;
	unsigned skipped;
};

/* Several scenarios of a task's barrier handling in one file. */
int run_barrier_file(const char *path, struct scenario_counts *counts);

/* One scenario of the coordinator kinds; a file with a line `begin`. */
int run_coordinator_file(const char *path, struct scenario_counts *counts);

#endif /* WEIR_TESTS_SCENARIOS_SCENARIO_H */

#ifndef WEIR_DRIVERS_PREFLIGHT_PREFLIGHT_H
#define WEIR_DRIVERS_PREFLIGHT_PREFLIGHT_H

/*
 * What this host has of the things that make a job fast, before anything is started: DPDK's and the
 * kernel's own words about them mislead. Nothing here is needed for running; each line says what
 * there is, what would be best, and the command that gets it.
 *
 * Threads:   control thread, set-up. Ownership: the caller's memory; need is borrowed.
 * Cost:      reads /sys and /proc, tries io_uring and one small file: some milliseconds.
 */

#include "engine/base/base.h"

struct weir_preflight_need {
	uint64_t huge_bytes;	 /* frames and state, to come from hugepages; 0: do not look */
	uint64_t register_bytes; /* to be registered with io_uring; 0: do not look */
	const char *direct_dir;	 /* an existing directory to be written with O_DIRECT, or NULL */
	bool uring;		 /* look at io_uring */
};

struct weir_preflight_line {
	bool ok;
	char what[32];	   /* "hugepages, node 0" */
	char need[64];	   /* "512 of 2 MiB" */
	char have[160];	   /* "0 free of 0" */
	char command[224]; /* what to do; empty if ok */
};

#define WEIR_PREFLIGHT_MAX 40u /* lines: 32 nodes and the rest */

/* Fills up to WEIR_PREFLIGHT_MAX lines, returns how many. */
uint32_t weir_preflight(const struct weir_preflight_need *need, struct weir_preflight_line *lines);

/* One line of text: "memlock: need 64 MiB, have 8 MiB: ulimit -l unlimited (…)". */
void weir_preflight_text(const struct weir_preflight_line *line, char *text, size_t bytes);

/*
 * All that is missing in one line of text, "; " between; false, and an empty text, if nothing is.
 * What does not fit is left out with "…" at the end.
 */
bool weir_preflight_summary(const struct weir_preflight_line *lines, uint32_t cnt, char *text,
			    size_t bytes);

#endif /* WEIR_DRIVERS_PREFLIGHT_PREFLIGHT_H */

#ifndef WEIR_DRIVERS_FILES_WALK_H
#define WEIR_DRIVERS_FILES_WALK_H

/*
 * The files of an input: a file, or every regular file below a directory, sorted by path.
 *
 * A link to a file is listed under its own name, so a file counts once per name; links to
 * directories are followed unless they lead to a directory that they are in. Links to nothing,
 * links in a circle and special files are warned about and left out.
 *
 * Threads:   the control thread, before the job starts: allocates and makes system calls.
 * Ownership: the list is the caller's from a successful call until weir_walk_free.
 * Failure:   the result is an exit code (66: not there, or may not be read) after
 *            weir_splits_fail, and the list is empty.
 */

#include <weir/connector.h>

struct weir_walk_file {
	char *path;
	uint64_t bytes;
};

struct weir_walk {
	struct weir_walk_file *files;
	size_t cnt;
	size_t cap;
};

/* input may be NULL: an error that says what to set. Warnings and errors go to splits. */
int weir_walk(const char *input, struct weir_splits *splits, struct weir_walk *walk);
void weir_walk_free(struct weir_walk *walk);

#endif /* WEIR_DRIVERS_FILES_WALK_H */

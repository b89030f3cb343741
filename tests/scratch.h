#ifndef WEIR_TESTS_SCRATCH_H
#define WEIR_TESTS_SCRATCH_H

/* Folders that a test makes for itself and takes away again. */

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

/* What mkdtemp() or mkstemp() makes a name of, in the temporary directory that tests/own_tmp.sh
 * looks through afterwards. */
static inline char *
scratch_template(char *path, size_t size, const char *what)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, size, "%s/weir-%s-XXXXXX", tmp != NULL ? tmp : "/tmp", what);
	return path;
}

static inline int
scratch_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* The folder and all that is in it. 0: it is gone. */
static inline int
scratch_remove(const char *folder)
{
	return nftw(folder, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif /* WEIR_TESTS_SCRATCH_H */

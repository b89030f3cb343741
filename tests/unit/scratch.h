#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

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

#endif

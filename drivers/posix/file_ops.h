#ifndef WEIR_DRIVERS_POSIX_FILE_OPS_H
#define WEIR_DRIVERS_POSIX_FILE_OPS_H

/*
 * The operations of engine/io.h as plain blocking calls, and the parts of them that the io_uring
 * back end does the same way.
 *
 * Threads: any; nothing is shared. Cost: blocks for the disk, unless said otherwise.
 */

#include "engine/io.h"

/* Do the request now; returns what belongs into req->result. */
int64_t weir_file_run(struct weir_io_req *req);

/*
 * Turn O_DIRECT on for a file that was just created, if its file system bears writes that are
 * aligned to 4096 (memory and offset). Never blocks; no answer, since buffered is as correct.
 * Why not as a flag of open: where O_DIRECT is impossible, open creates the file and then fails.
 */
void weir_file_direct_try(int fd);

/* A write failed with EINVAL: was O_DIRECT on? Then it is off now, and the write is worth a retry.
 */
bool weir_file_direct_drop(int fd);

/*
 * mkdir with parents as a walk: make the whole path; while a parent is missing, step up; then step
 * down again to the end.
 */
#define WEIR_PATH_BYTES 4096

struct weir_mkdir_walk {
	char path[WEIR_PATH_BYTES]; /* cut off at the part to make next */
	uint32_t len;		    /* of the whole path */
	uint32_t cut;		    /* of the part */
	char saved;		    /* what stood where the cut is */
	bool down;
};

enum weir_mkdir_do {
	WEIR_MKDIR_AGAIN, /* mkdir(walk->path), then call next with the outcome */
	WEIR_MKDIR_CHECK, /* the path exists: finished if it is a directory, else -EEXIST */
	WEIR_MKDIR_DONE,  /* *result is the answer */
};

/* False if the path is empty or too long. */
WEIR_MUST_USE bool weir_mkdir_walk_init(struct weir_mkdir_walk *walk, const char *path);
/* res: 0 or a negated errno of mkdir(walk->path). */
enum weir_mkdir_do weir_mkdir_walk_next(struct weir_mkdir_walk *walk, int res, int64_t *result);

#endif /* WEIR_DRIVERS_POSIX_FILE_OPS_H */

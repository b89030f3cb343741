#ifndef WEIR_DRIVERS_STORE_STORE_PRIV_H
#define WEIR_DRIVERS_STORE_STORE_PRIV_H

/* Names in a folder, and a file's bytes: what the parts of the store share. */

#include "drivers/store/store.h"

/* Called for every name except . and ..; a code other than 0 ends the walk and is returned. */
typedef int (*weir_stored_name_fn)(void *arg, const char *name, struct weir_error *err);

/* WEIR_ERR_NOINPUT when the folder is not there, WEIR_ERR_IO when it cannot be read. */
WEIR_MUST_USE int weir_stored_each(const char *dir, weir_stored_name_fn fn, void *arg,
				   struct weir_error *err);

/* The manifest alone; data files are not looked at. */
WEIR_MUST_USE int weir_stored_read_manifest(const char *chk_dir, struct weir_manifest **m,
					    struct weir_error *err);

/* Names in it are durable; a file system that is read-only needs nothing. */
WEIR_MUST_USE int weir_stored_sync_folder(const char *path, struct weir_error *err);

/* errno as a code with operation and path. */
int weir_stored_fail(struct weir_error *err, const char *what, const char *path);

/* The whole of a regular file of at most max bytes; *bytes is the caller's, free(). */
WEIR_MUST_USE int weir_stored_load(const char *path, size_t max, uint8_t **bytes, size_t *len,
				   struct weir_error *err);

#endif /* WEIR_DRIVERS_STORE_STORE_PRIV_H */

#ifndef WEIR_TESTS_IO_IO_FIXTURE_H
#define WEIR_TESTS_IO_IO_FIXTURE_H

/*
 * What the tests of file back ends share: a scratch directory on disk, an open back end whose owner
 * sleeps, and calls that do one request and wait for it.
 *
 * Each test is a process of its own (Criterion), so nothing here is shared between tests.
 */

#include "drivers/io_open.h"

#define FIXTURE_DEPTH 64u

/* A fresh directory below the working directory; removed by scratch_fini. */
void scratch_init(void);
void scratch_fini(void);
const char *scratch_dir(void);
/* dir/name; four results are kept at a time. */
const char *scratch_path(const char *name);

/*
 * The same, with a tmpfs of 1 MiB at scratch_path("small"), in a mount namespace of its own: before
 * the back end is opened, because threads that exist already stay outside. Skips if not permitted.
 */
void scratch_init_small(void);

/* Skips the test if the host has no io_uring and that is what was asked for. */
struct weir_io *fixture_open(enum weir_io_backend backend);

/* Do all of them, wait for all; results are in the requests. */
void fixture_run(struct weir_io *io, struct weir_io_req *reqs, uint32_t cnt);

/* One request; returns its result. */
int64_t do_open_new(struct weir_io *io, const char *path, bool direct);
int64_t do_open_read(struct weir_io *io, const char *path);
int64_t do_write(struct weir_io *io, int64_t handle, void *buf, uint64_t len, uint64_t off);
int64_t do_gather(struct weir_io *io, int64_t handle, const struct weir_io_piece *piece,
		  uint32_t cnt, uint64_t len, uint64_t off);
int64_t do_read(struct weir_io *io, int64_t handle, void *buf, uint64_t len, uint64_t off);
int64_t do_handle(struct weir_io *io, enum weir_io_kind kind, int64_t handle);
int64_t do_path(struct weir_io *io, enum weir_io_kind kind, const char *path);
int64_t do_rename(struct weir_io *io, const char *from, const char *to);

/* A new file with this text, written, closed. */
void put_text(struct weir_io *io, const char *path, const char *text);
/* Does the file hold exactly this text? Looks without the back end. */
bool has_text(const char *path, const char *text);

/* Entries of /proc/self/fd or /proc/self/task. */
uint32_t proc_entries(const char *dir);

#endif /* WEIR_TESTS_IO_IO_FIXTURE_H */

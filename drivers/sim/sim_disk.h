#ifndef WEIR_DRIVERS_SIM_SIM_DISK_H
#define WEIR_DRIVERS_SIM_SIM_DISK_H

/*
 * weir_sim_disk: a file system in memory that forgets what POSIX lets it forget.
 *
 *   page cache   what every process sees now: files' bytes, directories' names
 *   platter      what is there after a power loss: bytes since the last fsync of the file and names
 *                since the last fsync of the directory may each be lost, kept, or torn
 *
 * A killed process loses nothing but its handles. A power loss keeps, of each file, any subset of
 * the unsynced pieces (512 bytes each may tear) and any prefix or subset of the unsynced directory
 * operations. A rename is kept or lost as a whole. A failed fsync leaves the pieces it was about in
 * the page cache, but they will never be on the platter, whatever fsync says later.
 *
 * Threads: one. Ownership: create takes memory, destroy gives it back; bytes lent by
 * weir_sim_disk_bytes stand until the next request. Limits: paths begin with '/'.
 */

#include "engine/base/rng.h"
#include "engine/io.h"

#define WEIR_SIM_NAME_MAX 128u

struct weir_sim_disk;

/* What goes wrong on purpose. Counted over all requests of all users of the disk. */
struct weir_sim_fault {
	uint64_t at;  /* number of the first request that fails, from 1; 0: none */
	uint32_t cnt; /* so many requests fail, one after the other */
	uint32_t
		kinds; /* bits of enum weir_io_kind: the first cnt of these kinds; 0: of any kind */
	uint32_t skip; /* with kinds: so many of them are spared first */
	int error;     /* EIO, ENOSPC; ENOSPC only strikes what needs space */
};

struct weir_sim_disk *weir_sim_disk_create(uint64_t seed);
void weir_sim_disk_destroy(struct weir_sim_disk *d);

/* Carry out one request now; sets result. fail: a negated errno that it ends with, or 0. */
void weir_sim_disk_run(struct weir_sim_disk *d, struct weir_io_req *req, int fail);

/* The process is gone: all handles are closed. */
void weir_sim_disk_kill(struct weir_sim_disk *d);

struct weir_sim_loss {
	uint32_t names_lost, names_kept; /* directory operations */
	uint32_t files_torn;
};
void weir_sim_disk_power_loss(struct weir_sim_disk *d, struct weir_sim_loss *loss);

/* Straight from the page cache, for recovery and checkers. NULL: no such file. */
const uint8_t *weir_sim_disk_bytes(struct weir_sim_disk *d, const char *path, uint64_t *len);

/* The i-th name in a directory, in no particular but always the same order; NULL: no more. */
const char *weir_sim_disk_name(struct weir_sim_disk *d, const char *dir, uint32_t i);

/* Would a power loss now keep this name, whatever else it loses? */
bool weir_sim_disk_is_safe(struct weir_sim_disk *d, const char *path);

/* Directory with all parents, on the platter. */
void weir_sim_disk_mkdir(struct weir_sim_disk *d, const char *path);
void weir_sim_disk_unlink(struct weir_sim_disk *d, const char *path);
/* Everything is on the platter. */
void weir_sim_disk_sync(struct weir_sim_disk *d);

/*
 * weir_sim_io: one user of the disk. Requests wait a random time, then are carried out, then come
 * back, in any order.
 */
struct weir_sim_io_config {
	struct weir_sim_disk *disk;
	struct weir_rng *rng;	       /* borrowed */
	uint32_t depth;		       /* at most WEIR_SIM_IO_DEPTH */
	int64_t delay_ns;	       /* mean; 0: at once */
	uint32_t spike_pct;	       /* of requests that take a hundred times longer */
	struct weir_sim_fault *faults; /* shared by all users; borrowed */
	uint32_t fault_cnt;
	uint64_t *requests; /* shared count; borrowed */
	/* A request that failed on purpose. */
	void (*failed)(void *arg, const struct weir_io_req *req, int error);
	void *arg;
};

#define WEIR_SIM_IO_DEPTH 256u

/* Of a request, in words: "fsync-dir". */
const char *weir_sim_io_kind_name(enum weir_io_kind kind);

struct weir_io *weir_sim_io_create(const struct weir_sim_io_config *config);
void weir_sim_io_destroy(struct weir_io *io);

/* Carry out what is due. */
void weir_sim_io_progress(struct weir_io *io, int64_t now_ns);
/* When the next request is due; INT64_MAX: none waits. */
int64_t weir_sim_io_due(const struct weir_io *io);
/* The process is gone: of what waits, some is still carried out, the rest ends as ECANCELED.
 * Harvest gives all of it back. */
void weir_sim_io_kill(struct weir_io *io);
/* From the next request on nothing goes wrong, and little is slow. */
void weir_sim_io_calm(struct weir_io *io);

#endif /* WEIR_DRIVERS_SIM_SIM_DISK_H */

#ifndef WEIR_APP_SPAWN_H
#define WEIR_APP_SPAWN_H

/*
 * Start the worker: fork and exec of this very program, which dies with the supervisor.
 *
 * Threads:   called with one thread running. Ownership: the caller reaps the child and closes the
 * link.
 */

#include "app/session.h"
#include "app/worker.h"

#include <sys/types.h>

struct weir_spawn {
	const char *job;	 /* as given on the command line */
	const char *malloc_conf; /* for jemalloc */
	const struct weir_launch *launch;
	int config_fd; /* memfd with the configuration */
	int lock_fd;   /* inherited, so that the lock lives as long as the worker; or -1 */
};

/* A memfd that holds the given values of cfg; the caller's. */
WEIR_MUST_USE int weir_spawn_config(const struct weir_config *cfg, int *fd, struct weir_error *err);

/* MALLOC_CONF for a plan: its arenas and no transparent huge pages. */
void weir_spawn_malloc_conf(const struct weir_plan *plan, char *buf, size_t cap);

/* Fork and exec; *link_fd is the supervisor's end. */
WEIR_MUST_USE int weir_spawn_worker(const struct weir_spawn *spawn, pid_t *pid, int *link_fd,
				    struct weir_error *err);

/* The worker's side: `weir _worker …`, called by main. Returns the exit code. */
int weir_worker_start(int argc, char **argv);

#endif /* WEIR_APP_SPAWN_H */

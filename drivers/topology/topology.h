#ifndef WEIR_DRIVERS_TOPOLOGY_TOPOLOGY_H
#define WEIR_DRIVERS_TOPOLOGY_TOPOLOGY_H

/*
 * Fills engine/graph/topology.h through hwloc: from this host, or from a synthetic description for
 * tests ("node:2 l3:1 core:4 pu:2").
 *
 * Threads:   set-up, one thread at a time. Ownership: the caller's until weir_topology_fini.
 * Cost:      reads /sys, some milliseconds.
 */

#include "engine/base/error.h"
#include "engine/graph/topology.h"

/* This host. allowed is cpuset ∩ online ∩ the calling thread's CPU mask. */
WEIR_MUST_USE int weir_topology_read(struct weir_topology *topo, struct weir_error *err);

/* A machine in hwloc's synthetic notation; every CPU is allowed. WEIR_ERR_CONFIG if it is none. */
WEIR_MUST_USE int weir_topology_synthetic(const char *text, struct weir_topology *topo,
					  struct weir_error *err);

/* Give the memory back and clear; a cleared one is left alone. */
void weir_topology_fini(struct weir_topology *topo);

#endif /* WEIR_DRIVERS_TOPOLOGY_TOPOLOGY_H */

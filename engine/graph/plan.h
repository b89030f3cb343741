#ifndef WEIR_ENGINE_GRAPH_PLAN_H
#define WEIR_ENGINE_GRAPH_PLAN_H

/*
 * weir_plan: graph x topology x configuration -> what runs where, as data. A pure function; printed
 * by `weir plan`, carried out by engine/core/runtime.
 *
 *   task      a chain of operators run as one unit; one subtask per degree of parallelism, each
 *             on a core
 *   channel   one producer subtask to one consumer subtask of an edge that is not inside a chain
 *   core      a thread of its own on one CPU; several cores may share a CPU
 *
 * Threads:   set-up only; read-only afterwards. Ownership: create/destroy; borrows the job.
 * Failure:   what cannot be planned is an error (78) that names operator and key; what is only
 * unwise is a warning in the plan.
 */

#include "engine/exchange/alignment.h"
#include "engine/graph/graph.h"
#include "engine/graph/topology.h"

#define WEIR_PLAN_CORES_MAX    64u
#define WEIR_CORE_TASKS_MAX    256u /* subtasks on one core */
#define WEIR_PLAN_WARNINGS_MAX 16u
#define WEIR_CHAIN_MAX	       16u
#define WEIR_PARALLELISM_MAX   256u

/* What the configuration says about one operator. */
struct weir_plan_operator {
	const char *id;
	uint32_t parallelism; /* 0: not said */
	const uint32_t *cpus; /* NULL: not said */
	uint32_t cpu_cnt;
};

/* How subtasks are laid over the cores (placement.policy). */
enum weir_placement {
	WEIR_PLACE_COMPACT, /* subtask i of every operator on one core: frames stay in its caches */
	WEIR_PLACE_SPREAD,  /* one by one over all cores */
	/* Compact over cores that are taken cache by cache: as few last-level caches as it takes.
	 */
	WEIR_PLACE_SAME_CACHE,
};

struct weir_plan_options {
	const uint32_t *cpus; /* `cores`: a core each, repeats allowed; NULL: choose */
	uint32_t cpu_cnt;
	const uint32_t *exclude; /* CPUs never chosen */
	uint32_t exclude_cnt;
	uint32_t parallelism;	  /* 0: number of cores */
	uint32_t max_parallelism; /* R4: a power of two; 0: chosen by the parallelism */
	const struct weir_plan_operator *operators;
	uint32_t operator_cnt;
	uint32_t frame_bytes; /* a multiple of 4096 */
	uint32_t frames;      /* 0: the plan's own sum */
	uint64_t state_bytes; /* all cores together */
	uint32_t lane_depth;  /* data lane, items */
	bool combiner;
	enum weir_placement placement;
	bool checkpoints;
	/* Ids of operators that are the first of their task whatever else speaks for a chain, and
	 * whose inputs are never direct: a checkpoint holds frames in front of them (R3). */
	const char *const *heads;
	uint32_t head_cnt;
	bool unaligned; /* checkpoints may overtake data where an edge allows it (T25) */
};

struct weir_plan_operator_info {
	uint32_t vertex; /* index in the job; UINT32_MAX: made by the plan (combiner) */
	char id[WEIR_ID_MAX + 16];
	const char *type;
	struct weir_operator op;
	uint32_t demand;  /* bit c: somebody reads output column c */
	uint32_t reads;	  /* bit c: it needs input column c */
	uint32_t touches; /* bit c: it looks at input column c itself, not only hands it on */
	bool passes;
	uint32_t pass_shift;
	const struct weir_type *in_type;
	const struct weir_type *out_type;
	struct weir_key key;
	uint32_t task;
	uint32_t chain_idx; /* place in the task's chain */
	uint32_t parallelism;
	void *owned[4]; /* freed with the plan */
};

struct weir_plan_task {
	uint32_t op[WEIR_CHAIN_MAX]; /* operators, upstream first */
	uint32_t op_cnt;
	uint32_t parallelism;
	uint32_t core[WEIR_PARALLELISM_MAX]; /* of each subtask */
	uint32_t first;			     /* number of subtask 0 among all subtasks of the job */
};

struct weir_plan_edge {
	uint32_t from; /* operator of the plan */
	uint32_t to;
	enum weir_partitioner partitioner;
	enum weir_edge_alignment alignment; /* T25 */
	bool chained;
	bool combiner; /* a combiner stands in front of it */
	uint32_t demand;
	struct weir_key key;
	struct weir_layout layout;
	uint32_t first; /* number of its first channel; producer p, consumer c: first + p *
			   consumers + c, forward: first + p */
	uint32_t channel_cnt;
};

struct weir_plan_core {
	uint32_t cpu;
	uint32_t node;
	uint32_t shared; /* cores on this CPU */
	uint32_t nth;	 /* which of them */
};

struct weir_plan {
	const struct weir_job *job;
	struct weir_plan_options options;
	struct weir_plan_operator_info op[WEIR_OPERATORS_MAX * 2];
	uint32_t op_cnt;
	struct weir_plan_task task[WEIR_OPERATORS_MAX * 2];
	uint32_t task_cnt;
	struct weir_plan_edge edge[WEIR_OPERATORS_MAX * 4];
	uint32_t edge_cnt;
	struct weir_plan_core core[WEIR_PLAN_CORES_MAX];
	uint32_t core_cnt;
	uint32_t subtask_cnt; /* of all tasks */
	uint32_t channel_cnt;
	uint32_t max_parallelism; /* key groups */
	uint32_t max_parallelism_log2;
	uint32_t lane_depth;
	uint32_t frame_cnt;
	uint64_t frame_bytes_sum;
	uint64_t state_bytes_core;
	char warning[WEIR_PLAN_WARNINGS_MAX][256];
	uint32_t warning_cnt;
};

struct weir_plan *weir_plan_create(const struct weir_job *job, const struct weir_topology *topo,
				   const struct weir_plan_options *options, struct weir_error *err);
void weir_plan_destroy(struct weir_plan *plan);

/* The plan for people: text with newlines into buf, always terminated; returns the length it
 * needed. */
size_t weir_plan_print(const struct weir_plan *plan, char *buf, size_t bytes);

/* Frames of one channel that a capture at its consumer may hold at once. */
uint32_t weir_plan_capture_frames(const struct weir_plan *plan);

/* Hash range of a subtask's key groups, both ends included (R4). */
void weir_plan_hash_range(const struct weir_plan *plan, uint32_t subtask, uint32_t parallelism,
			  uint64_t *first, uint64_t *last);

/* A state that an operator declares, with the stream's key where it has none of its own. */
struct weir_plan_state {
	const char *name;
	bool own_keys;
	uint32_t key_bytes; /* 0: byte strings */
	uint32_t value_bytes;
	char key_type[96];	/* in words: the kinds of the key's columns */
	const char *value_type; /* in words of the operator's; "": none */
};
void weir_plan_state(const struct weir_plan_operator_info *op, uint32_t state,
		     struct weir_plan_state *out);

/* "split list", "union list", "broadcast map" (enum weir_operator_state_kind); "?": none of them.
 */
const char *weir_plan_state_kind(uint32_t kind);

/* T30: does an operator of the task's chain declare a union list? */
bool weir_plan_has_union(const struct weir_plan *plan, uint32_t task);

#endif /* WEIR_ENGINE_GRAPH_PLAN_H */

#ifndef WEIR_ENGINE_CORE_ENUMERATOR_H
#define WEIR_ENGINE_CORE_ENUMERATOR_H

/*
 * weir_enumerator: hands the splits of one source to its subtasks, in list order, as they ask. A
 * checkpoint holds its list and which splits were handed out. The subtasks' snapshots name the same
 * ones as finished or current: each split is on exactly one side of the cut (K14), which a restore
 * checks.
 *
 * Threads: control thread. Ownership: owns its list.
 */

#include "engine/operators/reader.h"

struct weir_enumerator {
	uint32_t op; /* of the plan */
	struct weir_split_list list;
	struct weir_split_given *given; /* one per split; what mail points to */
	bool *taken;			/* finished or current */
	bool *handed_out; /* as the checkpoint says that it comes from; NULL: none, or an older one
			     that does not */
	uint32_t next;	  /* first split that may not be taken */
	int64_t *hold_from; /* [i]: lowest hold of the untaken splits from i on */
};

/* Make the list. 0, or the connector's code and text. */
WEIR_MUST_USE int weir_enumerator_list(struct weir_enumerator *e,
				       const struct weir_connector *connector,
				       const struct weir_params *params, uint32_t parallelism,
				       struct weir_error *err);
void weir_enumerator_fini(struct weir_enumerator *e);

/* After a restore: split idx is finished or current. */
void weir_enumerator_take(struct weir_enumerator *e, uint32_t idx);
/* After a restore and all takes: is what was handed out exactly what the subtasks name? */
WEIR_MUST_USE int weir_enumerator_check(const struct weir_enumerator *e, struct weir_error *err);
/* The list is settled: before the first split is handed out. */
void weir_enumerator_ready(struct weir_enumerator *e);

/* The next split, or NULL: there is none any more. */
struct weir_split_given *weir_enumerator_next(struct weir_enumerator *e);
/* Is there one? */
bool weir_enumerator_left(const struct weir_enumerator *e);
/* Where splits not handed out hold the watermark; WEIR_TIME_END: there are none. */
int64_t weir_enumerator_hold(const struct weir_enumerator *e);

/* The list as bytes for a checkpoint; freed by free(). NULL: no memory. */
void *weir_enumerator_encode(const struct weir_enumerator *e, size_t *len);
/* The list of a checkpoint in place of one made anew. */
WEIR_MUST_USE int weir_enumerator_decode(struct weir_enumerator *e, const void *bytes, size_t len,
					 struct weir_error *err);

#endif /* WEIR_ENGINE_CORE_ENUMERATOR_H */

#ifndef WEIR_APP_ATTEMPT_H
#define WEIR_APP_ATTEMPT_H

/* What the files of the worker share: one attempt of a job in this process. Control thread only. */

#include "app/hook.h"
#include "app/host.h"
#include "app/worker.h"
#include "engine/core/master.h"
#include "engine/core/restore.h"

#include <pthread.h>

#define WEIR_ATTEMPT_WARNINGS_MAX 4096u /* every damaged file of a large input has its line */

struct weir_attempt_run {
	struct weir_session *session;
	const struct weir_launch *launch;
	struct weir_worker_link *link;
	const struct weir_plan *plan;
	struct weir_host host;
	struct weir_enumerator *enumerators;
	uint32_t enumerator_cnt;
	const struct weir_split_list **splits; /* by operator of the plan */
	struct weir_runtime *rt;
	struct weir_hook hook; /* checkpoint.hook, if it is set */
	struct weir_master_hook master_hook;
	struct weir_master *master;
	struct weir_manifest *restored; /* NULL: from the beginning */
	struct weir_recovery *recovery; /* its frames in flight; NULL: none */
	struct weir_manifest **own;	/* this run's checkpoints of earlier attempts */
	uint32_t own_cnt;
	struct weir_manifest
		*claimed; /* S6: launch->base, which is this run's now; NULL: it is not */
	struct weir_path claimed_data; /* where its data files lie */
	struct weir_manifest **beside; /* other checkpoints in the claimed one's folder */
	uint32_t beside_cnt;
	bool checkpoints;
	struct weir_path job_dir, data_dir;
	uint64_t next_id;
	pthread_mutex_t warning_lock; /* core threads warn too */
	char warnings[WEIR_ATTEMPT_WARNINGS_MAX][WEIR_WARNING_BYTES];
	uint32_t warning_cnt;
	uint64_t rows_last;
	int64_t progress_last_ns, statistics_last_ns;
	uint64_t regime_last[WEIR_PLAN_CORES_MAX][WEIR_REGIME_CNT];
};

/* attempt_restore.c: read what the launch says, and this run's earlier checkpoints. */
WEIR_MUST_USE int weir_attempt_find(struct weir_attempt_run *a, struct weir_error *err);
/* attempt_restore.c: the checkpoint into the runtime; segments are read and proven. */
WEIR_MUST_USE int weir_attempt_restore(struct weir_attempt_run *a, struct weir_error *err);
/* attempt_restore.c: strays of earlier attempts in the output directory. */
WEIR_MUST_USE int weir_attempt_sweep_output(struct weir_attempt_run *a, struct weir_error *err);

/* attempt_commands.c: hand commands from outside to the master. */
void weir_attempt_commands(struct weir_attempt_run *a);

/* attempt_stats.c: the parts of the report that this attempt knows. */
json_t *weir_attempt_statistics(struct weir_attempt_run *a);
json_t *weir_attempt_checkpoint(const struct weir_plan *plan,
				const struct weir_checkpoint_done *done);
void weir_attempt_progress(struct weir_attempt_run *a, int64_t now_ns);

#endif /* WEIR_APP_ATTEMPT_H */

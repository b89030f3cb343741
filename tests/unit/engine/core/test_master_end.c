/* T35: how a job without checkpoints ends when savepoints are about. */
#include "tests/unit/engine/core/world.h"

#include <criterion/criterion.h>
#include <string.h>

#define SAVE_DIR "/save"
#define HELD_MAX 16u

static void
without_checkpoints(struct weir_master_config *mc, void *timeout_ns)
{
	mc->job_dir = NULL;
	mc->timeout_ns = *(const int64_t *)timeout_ns;
}

static void
begin(struct world *w, const struct world_options *o)
{
	world_create(w, o);
	weir_sim_disk_mkdir(w->disk, SAVE_DIR);
	world_begin(w);
	for (uint32_t i = 0; i < 1000 && !weir_master_running(w->master); i++)
		world_step(w);
	cr_assert(weir_master_running(w->master));
}

struct answer {
	uint32_t cnt;
	enum weir_reason reason;
};

static void
answered(void *arg, const struct weir_master_outcome *o)
{
	struct answer *a = arg;

	a->cnt++;
	a->reason = o->reason;
}

static void
ask(struct world *w, enum weir_request_kind kind, struct answer *a)
{
	weir_master_request(w->master,
			    &(struct weir_master_request){
				    .kind = kind, .dir = SAVE_DIR, .done = answered, .arg = a });
}

/* The end is near when it is asked for, and its folder is not even made when all rows are through.
 */
Test(master_end, a_savepoint_that_was_asked_for_comes_before_the_commit)
{
	int64_t timeout_ns = 10000000000;
	struct answer a = { 0 };
	struct weir_error err;
	struct world w;

	begin(&w, &(struct world_options){ .interval_ns = -1,
					   .rows = 8,
					   .io_delay_ns = 30000000,
					   .tune = without_checkpoints,
					   .arg = &timeout_ns });
	ask(&w, WEIR_REQUEST_SAVEPOINT, &a);
	cr_assert_eq(world_run(&w, 400000, &err), WEIR_END_FINISHED, "%s", err.text);
	cr_assert_eq(a.cnt, 1);
	cr_assert_eq(a.reason, WEIR_REASON_NONE);
	world_check_output(&w);
	world_destroy(&w);
}

/* ---- messages that are lost ---- */

struct losses {
	struct weir_mail held[HELD_MAX]; /* TRIGGERs of source 1 */
	uint32_t held_cnt;
	bool committing;
};

/* Source 1 hears of the savepoint when all is over, and nobody that it was given up. */
static void
lose(struct world *w, struct losses *l)
{
	for (uint32_t c = 0; c < WORLD_CORES; c++) {
		struct weir_mail mail[WEIR_MAIL_DEPTH];
		uint32_t cnt = 0;

		while (weir_mailbox_take(&w->rt->to_core[c], &mail[cnt])) {
			l->committing |= mail[cnt].kind == WEIR_MAIL_COMMIT;
			if (mail[cnt].kind == WEIR_MAIL_TRIGGER && mail[cnt].task == 1)
				l->held[l->held_cnt++] = mail[cnt];
			else if (mail[cnt].kind != WEIR_MAIL_ABORT)
				cnt++;
		}
		for (uint32_t i = 0; i < cnt; i++)
			cr_assert(weir_mailbox_post(&w->rt->to_core[c], &mail[i]));
	}
}

static void
deliver_late(struct world *w, struct losses *l)
{
	for (uint32_t i = 0; i < l->held_cnt; i++)
		cr_assert(
			weir_mailbox_post(&w->rt->to_core[w->rt->tasks[1].core->idx], &l->held[i]));
	l->held_cnt = 0;
}

static void
end_in_spite_of_losses(enum weir_request_kind kind, uint64_t seed)
{
	int64_t timeout_ns = 5000000;
	struct losses l = { .held_cnt = 0 };
	struct answer a = { 0 };
	struct weir_error err;
	struct world w;

	begin(&w, &(struct world_options){ .seed = seed,
					   .interval_ns = -1,
					   .rows = 8,
					   .tune = without_checkpoints,
					   .arg = &timeout_ns });
	/* All rows of the sources are out, so that none stands behind a barrier. */
	while (w.rt->tasks[0].state < WEIR_TASK_FINAL || w.rt->tasks[1].state < WEIR_TASK_FINAL)
		world_step(&w);
	ask(&w, kind, &a);
	for (uint32_t i = 0; i < 400000 && weir_master_ended(w.master, &err) == WEIR_END_NOT_YET;
	     i++) {
		world_step(&w);
		lose(&w, &l);
		if (l.committing)
			deliver_late(&w, &l);
	}
	cr_assert_eq(weir_master_ended(w.master, &err), WEIR_END_FINISHED);
	cr_assert_eq(a.cnt, 1);
	cr_assert_neq(a.reason, WEIR_REASON_NONE);
	world_check_output(&w);
	world_destroy(&w);
}

/* K8: no later checkpoint opens what the barrier of source 0 closed. */
Test(master_end, channels_that_a_savepoint_left_closed_open)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		end_in_spite_of_losses(WEIR_REQUEST_SAVEPOINT, seed);
}

/* S4: the same of what holds. */
Test(master_end, a_source_that_holds_for_a_stop_is_released)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		end_in_spite_of_losses(WEIR_REQUEST_SUSPEND, seed);
}

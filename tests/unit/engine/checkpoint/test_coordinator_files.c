/*
 * Random events, and a ledger of files: whatever happens, no file is given up twice, none that a
 * retained checkpoint or savepoint names is given up, every request has one outcome, and when the
 * job has ended nothing is left but savepoints.
 *
 * The ledger knows nothing of the coordinator's rules: it sees updates and snapshots only.
 */

#include "engine/base/rng.h"
#include "engine/checkpoint/coordinator.h"

#include <criterion/criterion.h>

#include <string.h>

#define FILES_MAX    4096
#define REQUESTS_MAX 512
#define KEYS	     6
#define TASKS	     3

enum file_state {
	FILE_NONE,
	FILE_HELD, /* the coordinator was told of it */
	FILE_GONE, /* it gave it up */
};

static const struct weir_coord_vertex vertices[] = { { .parallelism = 1 }, { .parallelism = 2 } };
static const struct weir_coord_edge edges[] = { { .up = 0, .down = 1 } };

struct ledger {
	struct weir_rng rng;
	struct weir_coordinator *c;
	int64_t now;
	uint8_t files[FILES_MAX];
	uint64_t file_cnt;
	uint8_t outcomes[REQUESTS_MAX];
	uint64_t request_cnt;
	uint64_t newest; /* id asked for */
	uint64_t seed;
};

static uint64_t
below(struct ledger *l, uint64_t n)
{
	return weir_rng_below(&l->rng, n);
}

/* No retained checkpoint or savepoint may name a file that is gone. */
static void
check_retained(struct ledger *l)
{
	for (uint64_t id = 1; id <= l->newest; id++) {
		const struct weir_snapshot *s = weir_coordinator_snapshot(l->c, id);
		bool savepoint = s != NULL && weir_request_is_savepoint(s->kind);
		/* What is still pending resolves its keys when it is finalised. */
		bool settled = s != NULL && (savepoint || id <= weir_coordinator_latest(l->c));

		for (uint32_t t = 0; settled && t < s->task_cnt; t++) {
			for (uint32_t i = 0; i < s->tasks[t].part_cnt; i++) {
				const struct weir_part *part = &s->tasks[t].parts[i];

				if (savepoint && part->kind == WEIR_PART_REF)
					continue;
				cr_assert_neq(l->files[part->file], FILE_GONE,
					      "seed %lu: checkpoint %lu lost file %lu", l->seed, id,
					      part->file);
			}
		}
	}
}

static void
give_up(struct ledger *l, const struct weir_coord_update *u)
{
	for (uint32_t i = 0; i < u->files.cnt; i++) {
		uint64_t file = u->files.list[i];

		cr_assert_eq(l->files[file], FILE_HELD, "seed %lu: file %lu given up twice",
			     l->seed, file);
		l->files[file] = FILE_GONE;
	}
}

static void
resolve(struct ledger *l, const struct weir_coord_update *u)
{
	if (u->promise.from_timer)
		return;
	cr_assert_eq(l->outcomes[u->promise.number], 0, "seed %lu: two outcomes", l->seed);
	l->outcomes[u->promise.number] = 1;
}

/* True if the coordinator took note of the files of an acknowledgement. */
static bool
send(struct ledger *l, const struct weir_coord_event *e)
{
	struct weir_coord_updates u = weir_coordinator_step(l->c, e, l->now);
	bool noted = false;

	for (uint32_t i = 0; i < u.cnt; i++) {
		if (u.list[i].kind == WEIR_COORD_DO_ACK)
			noted = u.list[i].ack_outcome > WEIR_ACK_DUPLICATE;
	}
	/* Held before given up: the same step may do both. */
	for (uint32_t i = 0; noted && i < e->ack.part_cnt; i++) {
		if (e->ack.parts[i].kind != WEIR_PART_REF)
			l->files[e->ack.parts[i].file] = FILE_HELD;
	}
	for (uint32_t i = 0; i < u.cnt; i++) {
		if (u.list[i].id > l->newest)
			l->newest = u.list[i].id;
		if (u.list[i].kind == WEIR_COORD_DO_DELETE ||
		    u.list[i].kind == WEIR_COORD_DO_DISCARD)
			give_up(l, &u.list[i]);
		if (u.list[i].kind == WEIR_COORD_DO_PROMISE)
			resolve(l, &u.list[i]);
	}
	check_retained(l);
	return noted;
}

static void
send_ack(struct ledger *l, uint64_t id)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_ACK };
	struct weir_part parts[3];
	uint32_t cnt = (uint32_t)below(l, 4);

	for (uint32_t i = 0; i < cnt; i++) {
		parts[i].kind =
			(enum weir_part_kind)(below(l, 8) == 0 ? WEIR_PART_REF : below(l, 2));
		parts[i].key = 1 + (below(l, KEYS) + i * KEYS / 3) % KEYS;
		parts[i].file = parts[i].kind == WEIR_PART_REF ? 0 : ++l->file_cnt;
	}
	e.ack.job = 0;
	e.ack.id = id;
	e.ack.from.task = (uint32_t)below(l, TASKS);
	e.ack.from.attempt = below(l, 20) == 0;
	e.ack.parts = parts;
	e.ack.part_cnt = cnt;
	send(l, &e);
}

static void
send_request(struct ledger *l)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_REQUEST };

	e.request.number = l->request_cnt++;
	e.request.kind = (enum weir_request_kind)below(l, WEIR_REQUEST_DRAIN + 1);
	send(l, &e);
}

static void
send_answer(struct ledger *l, uint64_t id)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_STORAGE_ANSWER };
	uint64_t what = below(l, 3);

	if (what > 0)
		e.kind = what == 1 ? WEIR_COORD_FINALIZE_ANSWER : WEIR_COORD_DELETED;
	e.answer.id = id;
	e.answer.result = below(l, 8) == 0 ? WEIR_COORD_FAILED : WEIR_COORD_OK;
	send(l, &e);
}

static void
send_trouble(struct ledger *l, uint64_t id)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_DECLINE };

	e.message.id = id;
	e.reason = WEIR_REASON_CHECKPOINT_DECLINED;
	if (below(l, 3) == 0)
		e.kind = below(l, 2) == 0 ? WEIR_COORD_SCHEDULER_STOP : WEIR_COORD_ABORT;
	send(l, &e);
}

static void
pass_time(struct ledger *l)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_TICK };

	l->now += (int64_t)below(l, 200);
	send(l, &e);
}

static void
act(struct ledger *l)
{
	uint64_t back = below(l, 3);
	uint64_t id = l->newest > back ? l->newest - back : 1;
	uint64_t what = below(l, 100);

	if (what < 15)
		send_request(l);
	else if (what < 40)
		send_answer(l, id);
	else if (what < 90)
		send_ack(l, id);
	else if (what < 95)
		send_trouble(l, id);
	else
		pass_time(l);
}

static void
begin(struct ledger *l, uint64_t seed)
{
	struct weir_coordinator_config cfg = {
		.interval_ms = WEIR_COORD_NO_INTERVAL,
		.backlog_interval_ms = WEIR_COORD_NO_INTERVAL,
		.timeout_ms = 1000,
		.queue_limit = 3,
		.tolerable_failures = 1000,
		.finished_tasks = true,
		.retention = WEIR_RETENTION_NEVER,
		.asks = WEIR_COORD_STAGE_STORAGE | WEIR_COORD_STAGE_FINALIZE |
			WEIR_COORD_STAGE_DELETE,
		.graph = { vertices, 2, edges, 1 },
	};
	struct weir_attempt all[TASKS] = { { 0, 0 }, { 1, 0 }, { 2, 0 } };
	struct weir_coord_event e = { .kind = WEIR_COORD_TASK_STATE };

	memset(l, 0, sizeof(*l));
	l->seed = seed;
	l->rng.state = seed;
	cfg.max_concurrent = 1 + (uint32_t)below(l, 3);
	cfg.retained = 1 + (uint32_t)below(l, 3);
	l->c = weir_coordinator_create(&cfg);
	e.tasks.list = all;
	e.tasks.cnt = TASKS;
	e.tasks.state = WEIR_COORD_TASK_RUNNING;
	send(l, &e);
	e = (struct weir_coord_event){ .kind = WEIR_COORD_JOB_STATE,
				       .job_state = WEIR_COORD_JOB_RUNNING };
	send(l, &e);
}

static bool
in_savepoint(struct ledger *l, uint64_t file)
{
	for (uint64_t id = 1; id <= l->newest; id++) {
		const struct weir_snapshot *s = weir_coordinator_snapshot(l->c, id);

		for (uint32_t t = 0; s != NULL && t < s->task_cnt; t++) {
			for (uint32_t i = 0; i < s->tasks[t].part_cnt; i++) {
				if (s->tasks[t].parts[i].kind != WEIR_PART_REF &&
				    s->tasks[t].parts[i].file == file)
					return weir_request_is_savepoint(s->kind);
			}
		}
	}
	return false;
}

static void
end(struct ledger *l)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_JOB_STATE,
				      .job_state = WEIR_COORD_JOB_CANCELED };

	send(l, &e);
	e = (struct weir_coord_event){ .kind = WEIR_COORD_FINALIZE_ANSWER };
	for (uint64_t id = 1; id <= l->newest; id++) {
		e.answer.id = id; /* writes that outlive the job; most were ended long ago */
		send(l, &e);
	}
	for (uint64_t i = 0; i < l->request_cnt; i++)
		cr_assert_eq(l->outcomes[i], 1, "seed %lu: request %lu hangs", l->seed, i);
	for (uint64_t file = 1; file <= l->file_cnt; file++) {
		if (l->files[file] == FILE_HELD)
			cr_assert(in_savepoint(l, file), "seed %lu: file %lu leaks", l->seed, file);
	}
	weir_coordinator_destroy(l->c);
}

Test(coordinator_files, ledger_over_random_events) /* K2, K10, S9 */
{
	static struct ledger l;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		begin(&l, seed);
		for (int i = 0; i < 400; i++)
			act(&l);
		end(&l);
	}
}

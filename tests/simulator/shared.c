/*
 * The coordinator alone, with files that several checkpoints share: many more of them, and stranger
 * orders, than the state backend of the big simulation makes. Model tasks upload one file a
 * checkpoint and refer to what they have uploaded before, also in acknowledgements that come when
 * their checkpoint is over (K2). Watched: a reference is never unknown, and no file goes that a
 * checkpoint holds (K10).
 */

#include "tests/simulator/sim.h"

#include <stdlib.h>
#include <string.h>

#define TASKS	  3u
#define EVENTS	  400u
#define KEYS	  3u /* that a task refers to */
#define FILES_MAX 4096u
#define HELD_MAX  64u

struct held {
	uint64_t id;
	uint64_t file[TASKS * (KEYS + 1)];
	uint32_t cnt;
};

/* Acknowledgements that a task has still to send, in the order of their checkpoints. */
struct due {
	uint64_t id[HELD_MAX];
	uint32_t cnt;
};

struct model {
	struct sim_world *w;
	struct weir_coordinator *c;
	struct weir_rng rng;
	int64_t now_ms;
	uint32_t retained;
	struct due due[TASKS];
	uint64_t key[TASKS][KEYS]; /* 0: none yet */
	uint64_t keys;		   /* given; a file has the number of its key */
	bool gone[FILES_MAX];
	struct held held[HELD_MAX]; /* completed or being completed, ascending */
	uint32_t held_cnt;
	uint64_t finalizing[HELD_MAX];
	uint32_t finalizing_cnt;
};

static void step(struct model *m, const struct weir_coord_event *event);

static void
hold(struct model *m, uint64_t id)
{
	const struct weir_snapshot *snap = weir_coordinator_snapshot(m->c, id);
	struct held *h = &m->held[m->held_cnt++];

	WEIR_ASSERT(m->held_cnt <= HELD_MAX);
	*h = (struct held){ .id = id };
	for (uint32_t t = 0; t < snap->task_cnt; t++)
		for (uint32_t i = 0; i < snap->tasks[t].part_cnt; i++) {
			const uint64_t file = snap->tasks[t].parts[i].file;

			if (m->gone[file])
				sim_finding(m->w,
					    "checkpoint %llu holds shared file %llu: it is gone",
					    (unsigned long long)id, (unsigned long long)file);
			h->file[h->cnt++] = file;
		}
}

static void
release(struct model *m, uint32_t at)
{
	memmove(&m->held[at], &m->held[at + 1], (--m->held_cnt - at) * sizeof(m->held[0]));
}

static void
completed(struct model *m, uint64_t id)
{
	uint32_t older = 0;

	while (older < m->held_cnt && m->held[older].id <= id)
		older++;
	while (older-- > m->retained)
		release(m, 0);
}

static void
gone(struct model *m, const struct weir_coord_update *u)
{
	for (uint32_t i = 0; i < u->files.cnt; i++) {
		m->gone[u->files.list[i]] = true;
		for (uint32_t h = 0; h < m->held_cnt; h++)
			for (uint32_t k = 0; k < m->held[h].cnt; k++)
				if (m->held[h].file[k] == u->files.list[i])
					sim_finding(m->w,
						    "shared file %llu of checkpoint %llu is "
						    "deleted (K10)",
						    (unsigned long long)u->files.list[i],
						    (unsigned long long)m->held[h].id);
	}
}

static void
triggered(struct model *m, uint64_t id)
{
	for (uint32_t t = 0; t < TASKS; t++)
		if (m->due[t].cnt < HELD_MAX)
			m->due[t].id[m->due[t].cnt++] = id;
}

static void
update(struct model *m, const struct weir_coord_update *u)
{
	switch (u->kind) {
	case WEIR_COORD_DO_TRIGGER:
		triggered(m, u->id);
		break;
	case WEIR_COORD_DO_NEED_FINALIZE:
		m->finalizing[m->finalizing_cnt++] = u->id;
		hold(m, u->id);
		break;
	case WEIR_COORD_DO_ACK:
		if (u->ack_outcome == WEIR_ACK_BROKEN)
			sim_finding(m->w,
				    "checkpoint %llu refers to a shared file that was uploaded, "
				    "and nobody knows it (K2)",
				    (unsigned long long)u->id);
		break;
	case WEIR_COORD_DO_DELETE:
	case WEIR_COORD_DO_DISCARD:
		gone(m, u);
		break;
	default:
		break;
	}
}

static void
step(struct model *m, const struct weir_coord_event *event)
{
	const struct weir_coord_updates u = weir_coordinator_step(m->c, event, m->now_ms);

	/* First who is complete: with it older ones are let go. */
	for (uint32_t i = 0; i < u.cnt; i++)
		if (u.list[i].kind == WEIR_COORD_DO_COMPLETE)
			completed(m, u.list[i].id);
	for (uint32_t i = 0; i < u.cnt; i++)
		update(m, &u.list[i]);
}

/* ---- what happens ---- */

static void
acknowledge(struct model *m)
{
	const uint32_t t = (uint32_t)weir_rng_below(&m->rng, TASKS);
	struct weir_coord_event ev = { .kind = WEIR_COORD_ACK };
	struct weir_part parts[KEYS + 1];
	struct due *d = &m->due[t];
	uint32_t cnt = 0;

	if (d->cnt == 0 || m->keys + 1 >= FILES_MAX)
		return;
	ev.ack.id = d->id[0];
	memmove(&d->id[0], &d->id[1], --d->cnt * sizeof(d->id[0]));
	for (uint32_t k = 0; k < KEYS; k++)
		if (m->key[t][k] != 0)
			parts[cnt++] =
				(struct weir_part){ .kind = WEIR_PART_REF, .key = m->key[t][k] };
	m->keys++;
	parts[cnt++] =
		(struct weir_part){ .kind = WEIR_PART_SHARED, .key = m->keys, .file = m->keys };
	m->key[t][m->keys % KEYS] = m->keys;
	ev.ack.from.task = t;
	ev.ack.parts = parts;
	ev.ack.part_cnt = cnt;
	step(m, &ev);
}

static void
finalized(struct model *m)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_FINALIZE_ANSWER };
	const bool fails = weir_rng_below(&m->rng, 6) == 0;

	if (m->finalizing_cnt == 0)
		return;
	ev.answer.id = m->finalizing[0];
	ev.answer.result = fails ? WEIR_COORD_FAILED_IO : WEIR_COORD_OK;
	memmove(&m->finalizing[0], &m->finalizing[1],
		--m->finalizing_cnt * sizeof(m->finalizing[0]));
	for (uint32_t h = 0; fails && h < m->held_cnt; h++)
		if (m->held[h].id == ev.answer.id)
			release(m, h--);
	step(m, &ev);
}

static void
one_event(struct model *m)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_TICK };
	const uint64_t what = weir_rng_below(&m->rng, 10);

	if (what < 5) {
		acknowledge(m);
	} else if (what < 7) {
		finalized(m);
	} else if (what == 7) {
		m->now_ms += (int64_t)weir_rng_below(&m->rng, 20);
		step(m, &ev);
	} else {
		ev.kind = WEIR_COORD_REQUEST;
		ev.request.kind = WEIR_REQUEST_CHECKPOINT;
		ev.request.number = 1;
		step(m, &ev);
	}
}

static void
all_run(struct model *m)
{
	struct weir_attempt tasks[TASKS];
	struct weir_coord_event ev = { .kind = WEIR_COORD_JOB_STATE };

	ev.job_state = WEIR_COORD_JOB_RUNNING;
	step(m, &ev);
	for (uint32_t t = 0; t < TASKS; t++)
		tasks[t] = (struct weir_attempt){ .task = t };
	ev = (struct weir_coord_event){ .kind = WEIR_COORD_TASK_STATE };
	ev.tasks.list = tasks;
	ev.tasks.cnt = TASKS;
	ev.tasks.state = WEIR_COORD_TASK_RUNNING;
	step(m, &ev);
}

void
sim_shared(struct sim_world *w)
{
	static struct model m;
	const struct weir_coord_vertex vertex = { .parallelism = TASKS };
	struct weir_coordinator_config cc = {
		.interval_ms = WEIR_COORD_NO_INTERVAL,
		.backlog_interval_ms = WEIR_COORD_NO_INTERVAL,
		.timeout_ms = 30,
		.max_concurrent = 1,
		.queue_limit = 1000,
		.tolerable_failures = UINT32_MAX,
		.finished_tasks = true,
		.retention = WEIR_RETENTION_ALWAYS,
		.asks = WEIR_COORD_STAGE_FINALIZE,
		.graph = { .vertices = &vertex, .vertex_cnt = 1 },
	};

	memset(&m, 0, sizeof(m));
	m.w = w;
	m.rng.state = weir_mix(w->s.seed + 6);
	m.retained = cc.retained = 1 + (uint32_t)weir_rng_below(&m.rng, 3);
	m.c = weir_coordinator_create(&cc);
	all_run(&m);
	for (uint32_t i = 0; i < EVENTS && w->findings == NULL; i++)
		one_event(&m);
	weir_coordinator_destroy(m.c);
}

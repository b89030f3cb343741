/*
 * A two-phase sink of the contract of weir/sink.h, as somebody else would write it, and strict: its
 * store is beside the job and survives it, every call that the contract does not allow is a
 * finding, precommit and commit take several turns, and now and then it fails.
 *
 *   <output>/.part-tx-<attempt>-<subtask>-<number>                pre-committed
 *   <output>/part-tx-<attempt>-<subtask>-<number>-<checkpoint>    committed
 */

#include "tests/simulator/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/operators/ctx.h"

#define STAGED	  WEIR_SINK_TEMP_PREFIX "tx-"
#define COMMITTED WEIR_SINK_FINAL_PREFIX "tx-"
#define FAILS	  400u /* one call in so many */
#define LINES_MAX (1u << 20)

enum { ATTEMPT, SUBTASK, NUMBER };

enum state { NEW, OPEN, PREPARING, READY, COMMITTING, OVER };

struct tx {
	enum state state;
	uint32_t turns; /* to wait still */
	bool given_up;	/* its checkpoint: told so */
	char *text;
	size_t len;
};

struct local {
	uint64_t number, committed; /* begun; the last one that was */
};

weir_format_fn sim_sink_format;
static struct sim_world *world;
static struct weir_rng rng;

/* Rows of transactions that are open; what a crash leaves is freed with the attempt. */
static char **text;
static uint32_t text_cnt;

void
sim_sink_begin(struct sim_world *w)
{
	world = w;
	rng.state = weir_mix(w->s.seed + 8);
}

void
sim_sink_attempt_end(void)
{
	for (uint32_t i = 0; i < text_cnt; i++)
		free(text[i]);
	free(text);
	text = NULL;
	text_cnt = 0;
}

static void
wrong(const struct weir_operator_ctx *ctx, const struct weir_transaction *t, const char *what)
{
	sim_finding(world, "sink subtask %u: transaction %" PRIu64 "-%" PRIu64 "-%" PRIu64 " %s",
		    ctx->subtask, t->word[ATTEMPT], t->word[SUBTASK], t->word[NUMBER], what);
}

/* Something outside of the job is not there for a moment. */
static bool
fails(void)
{
	if (world->calm || weir_rng_below(&rng, FAILS) != 0)
		return false;
	world->faults_struck++;
	sim_event(world, "sink fails");
	return true;
}

static int
fail(struct weir_operator_ctx *ctx)
{
	return weir_sink_fail(ctx, WEIR_ERR_IO, "the store does not answer");
}

/* ---- the store ---- */

static int64_t
run(struct weir_io_req req)
{
	weir_sim_disk_run(world->disk, &req, 0);
	return req.result;
}

static void
staged_path(const struct weir_transaction *t, char *path, size_t cap)
{
	snprintf(path, cap, SIM_OUT_DIR "/" STAGED "%" PRIu64 "-%" PRIu64 "-%" PRIu64,
		 t->word[ATTEMPT], t->word[SUBTASK], t->word[NUMBER]);
}

static void
committed_path(const struct weir_transaction *t, char *path, size_t cap)
{
	snprintf(path, cap,
		 SIM_OUT_DIR "/" COMMITTED "%" PRIu64 "-%" PRIu64 "-%" PRIu64 "-%" PRIu64,
		 t->word[ATTEMPT], t->word[SUBTASK], t->word[NUMBER], t->checkpoint);
}

static bool
is_there(const char *path)
{
	uint64_t len;

	return weir_sim_disk_bytes(world->disk, path, &len) != NULL;
}

static void
stage(const struct weir_transaction *t, const struct tx *x)
{
	char path[160];
	int handle;

	staged_path(t, path, sizeof(path));
	handle = (int)run((struct weir_io_req){ .kind = WEIR_IO_OPEN_NEW, .path = path });
	WEIR_ASSERT(handle >= 0);
	if (x->len > 0)
		run((struct weir_io_req){ .kind = WEIR_IO_WRITE,
					  .handle = handle,
					  .buf = x->text,
					  .len = (uint32_t)x->len });
	run((struct weir_io_req){ .kind = WEIR_IO_FSYNC, .handle = handle });
	run((struct weir_io_req){ .kind = WEIR_IO_CLOSE, .handle = handle });
	run((struct weir_io_req){ .kind = WEIR_IO_FSYNC_DIR, .path = SIM_OUT_DIR });
}

/* ---- calls ---- */

/* Whatever an earlier attempt has staged, and the checkpoint does not name, comes again. */
static int
open_sink(struct weir_operator_ctx *ctx, const struct weir_transaction *named, uint32_t cnt)
{
	const char *name;
	char path[200], committed[200];

	for (uint32_t i = 0; i < cnt; i++) {
		staged_path(&named[i], path, sizeof(path));
		committed_path(&named[i], committed, sizeof(committed));
		if (!is_there(path) && !is_there(committed))
			wrong(ctx, &named[i], "is named by the checkpoint and nowhere");
	}
	for (uint32_t i = 0; (name = weir_sim_disk_name(world->disk, SIM_OUT_DIR, i)) != NULL;) {
		struct weir_transaction t = { 0 };

		if (sscanf(name, STAGED "%" SCNu64 "-%" SCNu64 "-%" SCNu64, &t.word[ATTEMPT],
			   &t.word[SUBTASK], &t.word[NUMBER]) != 3 ||
		    weir_sink_is_named(ctx, &t)) {
			i++;
			continue;
		}
		snprintf(path, sizeof(path), SIM_OUT_DIR "/%s", name);
		weir_sim_disk_unlink(world->disk, path);
	}
	run((struct weir_io_req){ .kind = WEIR_IO_FSYNC_DIR, .path = SIM_OUT_DIR });
	return 0;
}

static int
begin(struct weir_operator_ctx *ctx, struct weir_transaction *t)
{
	struct local *l = weir_operator_local(ctx);
	struct tx *x = weir_sink_local(ctx, t);

	t->word[ATTEMPT] = weir_sink_attempt(ctx);
	t->word[SUBTASK] = ctx->subtask;
	t->word[NUMBER] = ++l->number;
	if (x->state != NEW)
		wrong(ctx, t, "begins twice");
	*x = (struct tx){ .state = OPEN, .text = malloc(LINES_MAX) };
	text = realloc(text, (text_cnt + 1) * sizeof(*text));
	WEIR_ASSERT(text != NULL);
	WEIR_ASSERT(x->text != NULL);
	text[text_cnt++] = x->text;
	return fails() ? fail(ctx) : 0;
}

static int
write_rows(struct weir_operator_ctx *ctx, struct weir_transaction *t, const struct weir_batch *in)
{
	struct tx *x = weir_sink_local(ctx, t);

	if (x->state != OPEN) {
		wrong(ctx, t, "is written to, and not open");
		return 0;
	}
	for (uint32_t done = 0; done < in->selected;) {
		size_t bytes = 0;
		const uint32_t n =
			sim_sink_format(in, done, x->text + x->len, LINES_MAX - x->len, &bytes);

		WEIR_ASSERT(n > 0);
		done += n;
		x->len += bytes;
	}
	return 0;
}

static int
precommit(struct weir_operator_ctx *ctx, struct weir_transaction *t)
{
	struct tx *x = weir_sink_local(ctx, t);

	if (x->state == OPEN) {
		x->state = PREPARING;
		x->turns = (uint32_t)weir_rng_below(&rng, 6);
	} else if (x->state != PREPARING) {
		wrong(ctx, t, "is pre-committed twice");
	}
	if (fails())
		return fail(ctx);
	if (x->turns-- > 0)
		return WEIR_MORE;
	stage(t, x);
	x->state = READY;
	return 0;
}

/* Those of this attempt, in the order of their begin. */
static void
check_order(struct weir_operator_ctx *ctx, const struct weir_transaction *t)
{
	struct local *l = weir_operator_local(ctx);

	if (weir_sink_origin(ctx, t) != WEIR_TRANSACTION_OWN)
		return;
	if (t->word[NUMBER] != l->committed + 1)
		wrong(ctx, t, "is committed out of order");
	l->committed = t->word[NUMBER];
}

static int
commit(struct weir_operator_ctx *ctx, struct weir_transaction *t)
{
	const bool own = weir_sink_origin(ctx, t) == WEIR_TRANSACTION_OWN;
	struct tx *x = weir_sink_local(ctx, t);
	char from[160], to[200];

	if (x->state != COMMITTING) {
		if (x->state != (own ? READY : NEW))
			wrong(ctx, t, "is committed, and was not ready");
		check_order(ctx, t);
		x->state = COMMITTING;
		x->turns = (uint32_t)weir_rng_below(&rng, 6);
	}
	if (fails())
		return fail(ctx);
	staged_path(t, from, sizeof(from));
	committed_path(t, to, sizeof(to));
	/* It may be done some time before it says so. */
	if (is_there(from) && (x->turns == 0 || weir_rng_below(&rng, 3) == 0)) {
		run((struct weir_io_req){ .kind = WEIR_IO_RENAME, .path = from, .path2 = to });
		run((struct weir_io_req){ .kind = WEIR_IO_FSYNC_DIR, .path = SIM_OUT_DIR });
	}
	if (x->turns-- > 0)
		return WEIR_MORE;
	if (!is_there(to))
		wrong(ctx, t, "is to be committed and nowhere");
	x->state = OVER;
	return 0;
}

/* Its checkpoint is over; the rows are not. */
static int
given_up(struct weir_operator_ctx *ctx, struct weir_transaction *t)
{
	struct tx *x = weir_sink_local(ctx, t);

	if (x->state != PREPARING && x->state != READY)
		wrong(ctx, t, "is given up, and was not pre-committed");
	else if (t->checkpoint == world->rules.completed)
		wrong(ctx, t, "is given up, and its checkpoint is complete");
	x->given_up = true;
	return 0;
}

static bool
ready(struct weir_operator_ctx *ctx)
{
	(void)ctx;
	return true;
}

const struct weir_sink_connector sim_sink = {
	.name = "strict",
	.reads = WEIR_ALL_COLUMNS,
	.local_bytes = sizeof(struct local),
	.transaction_bytes = sizeof(struct tx),
	.open = open_sink,
	.ready = ready,
	.begin = begin,
	.write = write_rows,
	.precommit = precommit,
	.commit = commit,
	.abort = given_up,
};

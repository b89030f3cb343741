/*
 * Savepoints: somebody asks for them at random moments, plain ones and stops (S3, S4, K5), and what
 * they say is compared with what is there. After a stop that was complete the job goes on from it,
 * whatever happened then, with an empty checkpoint folder: a savepoint is whole in itself. Now and
 * then a plain one is restored too, after the end, over the output that stood there when it was
 * complete.
 */

#include "tests/simulator/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool
sim_is_save(const char *kind)
{
	return strcmp(kind, "savepoint") == 0 || strcmp(kind, "suspend") == 0 ||
	       strcmp(kind, "drain") == 0;
}

/* ---- the output as it stood ---- */

static void
forget_output(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->kept_cnt; i++)
		free(w->kept[i].bytes);
	free(w->kept);
	w->kept = NULL;
	w->kept_cnt = 0;
	w->kept_save = NULL;
}

/* Rows of epochs after the savepoint are no part of it. */
static bool
is_later(const char *name, uint64_t id)
{
	return strncmp(name, WEIR_SINK_FINAL_PREFIX, strlen(WEIR_SINK_FINAL_PREFIX)) == 0 &&
	       sim_epoch(name) > id;
}

static void
keep_output(struct sim_world *w, const struct sim_save *save)
{
	const char *name;

	forget_output(w);
	w->kept_save = save;
	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, SIM_OUT_DIR, i)) != NULL; i++) {
		struct sim_kept *k;
		char path[160];
		uint64_t len = 0;
		const uint8_t *bytes;

		if (is_later(name, save->id))
			continue;
		snprintf(path, sizeof(path), SIM_OUT_DIR "/%s", name);
		bytes = weir_sim_disk_bytes(w->disk, path, &len);
		w->kept = realloc(w->kept, (w->kept_cnt + 1) * sizeof(*w->kept));
		WEIR_ASSERT(w->kept != NULL);
		k = &w->kept[w->kept_cnt++];
		snprintf(k->path, sizeof(k->path), "%s", path);
		k->len = len;
		k->bytes = malloc(len + 1);
		WEIR_ASSERT(k->bytes != NULL);
		memcpy(k->bytes, bytes, len);
	}
}

/* ---- one that is said to be complete ---- */

/* S3: no frames in flight. */
static void
check_aligned(struct sim_world *w, const struct weir_manifest *m)
{
	uint32_t frames = 0;

	for (uint32_t o = 0; o < m->operator_cnt; o++)
		for (uint32_t k = 0; k < m->operators[o].subtask_cnt; k++) {
			const struct weir_manifest_subtask *t = &m->operators[o].subtasks[k];

			for (uint32_t i = 0; i < t->input_cnt; i++)
				frames += t->inputs[i].frame_cnt;
			for (uint32_t i = 0; i < t->output_cnt; i++)
				frames += t->outputs[i].frame_cnt;
		}
	if (frames > 0)
		sim_finding(w, "savepoint %" PRIu64 " holds %u frames in flight (S3)",
			    m->checkpoint_id, frames);
}

static void
check_safe(struct sim_world *w, const struct sim_save *save)
{
	const char *name;

	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, save->path, i)) != NULL; i++) {
		char path[320];

		snprintf(path, sizeof(path), "%s/%s", save->path, name);
		if (name[0] != '.' && !weir_sim_disk_is_safe(w->disk, path))
			sim_finding(w, "savepoint %" PRIu64 " is complete, and %s is not durable",
				    save->id, path);
	}
}

/* It is there, whole (S1: with all its files beside it), and its cut fits. */
static void
check_save(struct sim_world *w, const struct sim_save *save)
{
	struct weir_manifest *m = sim_read_manifest(w, save->path, save->path);

	if (m == NULL) {
		if (w->findings == NULL)
			sim_finding(w, "savepoint %" PRIu64 " is complete, and %s has no manifest",
				    save->id, save->path);
		return;
	}
	check_aligned(w, m);
	if (m->checkpoint_id != save->id || m->kind != (uint32_t)save->manifest_kind)
		sim_finding(w, "savepoint %" PRIu64 " says that it is %" PRIu64 " of kind %u",
			    save->id, m->checkpoint_id, m->kind);
	weir_manifest_destroy(m);
}

/* Where every split was read to. */
static void
note_positions(struct sim_world *w, const struct weir_manifest *m, uint32_t op,
	       const struct weir_enumerator *e)
{
	const struct weir_manifest_operator *mo = NULL;

	for (uint32_t i = 0; i < m->operator_cnt; i++)
		if (strcmp(m->operators[i].id, w->plan->op[op].id) == 0)
			mo = &m->operators[i];
	for (uint32_t k = 0; mo != NULL && k < mo->subtask_cnt; k++) {
		const struct weir_manifest_subtask *t = &mo->subtasks[k];

		for (uint32_t i = 0; i < t->finished_split_cnt; i++) {
			const struct weir_split *s = &e->list.split[t->finished_splits[i]];

			w->drained_rows[s->word[0]][s->word[1]] =
				w->s.split[s->word[0]][s->word[1]].rows;
		}
		for (uint32_t i = 0; i < t->current_split_cnt; i++) {
			const struct weir_manifest_split *c = &t->current_splits[i];
			const struct weir_split *s = &e->list.split[c->split_idx];
			struct weir_position p;

			memcpy(&p, c->position.bytes, sizeof(p));
			w->drained_rows[s->word[0]][s->word[1]] = (uint32_t)p.word[0];
		}
	}
}

/* S4: the input has ended where the savepoint says. */
static void
note_drained(struct sim_world *w, const struct sim_save *save)
{
	struct weir_manifest *m = sim_read_manifest(w, save->path, save->path);

	if (m == NULL)
		return;
	w->drained = save->id;
	memset(w->drained_rows, 0, sizeof(w->drained_rows));
	for (uint32_t i = 0; i < w->enumerator_cnt; i++) {
		struct weir_enumerator e = { .op = w->enumerators[i].op };
		struct weir_error err = { 0 };

		if (weir_restore_splits(w->plan, m, &e, &err) != 0)
			sim_finding(w, "savepoint %" PRIu64 ": %s", save->id, err.text);
		else
			note_positions(w, m, e.op, &e);
		weir_enumerator_fini(&e);
	}
	weir_manifest_destroy(m);
}

static void
completed(struct sim_world *w, const struct sim_save_ask *ask,
	  const struct weir_master_outcome *outcome)
{
	struct sim_save *save = &w->save[w->save_cnt++];

	WEIR_ASSERT(w->save_cnt <= SIM_SAVES_MAX);
	*save = (struct sim_save){ .id = outcome->id, .kind = ask->kind };
	save->manifest_kind = ask->kind == WEIR_REQUEST_SAVEPOINT ? WEIR_MANIFEST_SAVEPOINT
			      : ask->kind == WEIR_REQUEST_SUSPEND ? WEIR_MANIFEST_SUSPEND
								  : WEIR_MANIFEST_DRAIN;
	snprintf(save->path, sizeof(save->path), "%s", outcome->path);
	sim_event(w, "saved %s", save->path);
	check_save(w, save);
	check_safe(w, save);
	if (ask->kind == WEIR_REQUEST_SAVEPOINT) {
		if (w->s.branch && weir_rng_below(&w->save_rng, 2) == 0)
			keep_output(w, save);
		return;
	}
	/* S4: output may be committed up to here, so the job goes on from it and nothing else. */
	w->stopped = save;
	if (ask->kind == WEIR_REQUEST_DRAIN)
		note_drained(w, save);
}

static void
answered(void *arg, const struct weir_master_outcome *outcome)
{
	struct sim_save_ask *ask = arg;
	struct sim_world *w = ask->w;

	if (ask->answers++ > 0) /* C1 */
		sim_finding(w, "a request for a savepoint has two answers");
	ask->refused = outcome->reason != WEIR_REASON_NONE;
	if (outcome->reason == WEIR_REASON_NONE)
		completed(w, ask, outcome);
	else
		sim_event(w, "savepoint %" PRIu64 " not taken: %s %s", outcome->id,
			  weir_reason_text(outcome->reason), outcome->why);
}

/* ---- asking ---- */

static bool
may_ask(const struct sim_world *w)
{
	uint32_t may_be = w->save_cnt;

	for (uint32_t i = 0; i < w->save_ask_cnt; i++)
		may_be += w->save_ask[i].answers == 0;
	return w->save_ask_cnt < SIM_ASKS_MAX && may_be < SIM_SAVES_MAX;
}

void
sim_save_ask(struct sim_world *w)
{
	struct sim_save_ask *ask = &w->save_ask[w->save_ask_cnt];
	struct weir_master_request request = { .native = weir_rng_below(&w->save_rng, 2) == 0,
					       .dir = SIM_SAVE_DIR,
					       .done = answered,
					       .arg = ask };

	if (!may_ask(w))
		return;
	w->save_ask_cnt++;
	request.kind = weir_rng_below(&w->save_rng, 100) >= w->s.stop_pct ? WEIR_REQUEST_SAVEPOINT
		       : weir_rng_below(&w->save_rng, 3) > 0		  ? WEIR_REQUEST_SUSPEND
									  : WEIR_REQUEST_DRAIN;
	*ask = (struct sim_save_ask){ .w = w, .kind = request.kind };
	sim_event(w, "asked for %s%s",
		  request.kind == WEIR_REQUEST_SAVEPOINT ? "a savepoint"
		  : request.kind == WEIR_REQUEST_SUSPEND ? "stop --suspend"
							 : "stop --drain",
		  request.native ? " (native)" : "");
	weir_master_request(w->master, &request);
}

/* The attempt is over, and its master gone. */
void
sim_save_attempt_end(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->save_ask_cnt; i++)
		if (w->save_ask[i].answers == 0) /* C1 */
			sim_finding(w, "a request for a savepoint has no answer");
}

bool
sim_save_is_plain(const struct sim_world *w, uint64_t id)
{
	for (uint32_t i = 0; i < w->save_cnt; i++)
		if (w->save[i].id == id && w->save[i].kind == WEIR_REQUEST_SAVEPOINT)
			return true;
	return false;
}

uint64_t
sim_save_newest_stop(const struct sim_world *w)
{
	return w->stopped != NULL && w->stopped->id > w->base_id ? w->stopped->id : w->base_id;
}

/* After a crash: what was complete is there. */
void
sim_save_check(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->save_cnt; i++)
		check_save(w, &w->save[i]);
}

/* ---- on from one ---- */

static void
wipe(struct sim_world *w, const char *dir)
{
	const char *name;
	char path[320];

	while ((name = weir_sim_disk_name(w->disk, dir, 0)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		weir_sim_disk_unlink(w->disk, path);
	}
}

static void
wipe_checkpoints(struct sim_world *w)
{
	const char *name;
	char path[320];
	uint64_t id;

	wipe(w, SIM_DATA_DIR);
	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, SIM_JOB_DIR, i)) != NULL;) {
		snprintf(path, sizeof(path), SIM_JOB_DIR "/%s", name);
		if (sscanf(name, "chk-%" SCNu64, &id) != 1) {
			i++;
			continue;
		}
		wipe(w, path);
		weir_sim_disk_unlink(w->disk, path);
	}
}

/* S1: it may be moved. */
static void
move(struct sim_world *w, struct sim_save *save)
{
	char to[sizeof(save->path)];
	struct weir_io_req req = { .kind = WEIR_IO_RENAME, .path = save->path, .path2 = to };

	snprintf(to, sizeof(to), SIM_SAVE_DIR "/moved-%" PRIu64, save->id);
	weir_sim_disk_run(w->disk, &req, 0);
	WEIR_ASSERT(req.result == 0);
	memcpy(save->path, to, sizeof(to));
}

/* A run of its own, as somebody would start it who has this savepoint and nothing else. */
static void
begin_run(struct sim_world *w, struct sim_save *save)
{
	wipe_checkpoints(w);
	if (weir_rng_below(&w->save_rng, 2) == 0)
		move(w, save);
	weir_sim_disk_sync(w->disk);
	snprintf(w->base, sizeof(w->base), "%s", save->path);
	w->base_id = save->id;
	w->newest_completed = 0;
	w->run_completed = 0;
	w->runs++;
	sim_event(w, "a run from %s", w->base);
}

void
sim_save_go_on(struct sim_world *w)
{
	struct sim_save *save = w->stopped;

	if (save == NULL)
		return;
	w->stopped = NULL;
	begin_run(w, save);
}

static void
put_file(struct sim_world *w, const struct sim_kept *k)
{
	struct weir_io_req open = { .kind = WEIR_IO_OPEN_NEW, .path = k->path };
	struct weir_io_req write = { .kind = WEIR_IO_WRITE, .buf = k->bytes };
	struct weir_io_req close = { .kind = WEIR_IO_CLOSE };

	weir_sim_disk_run(w->disk, &open, 0);
	WEIR_ASSERT(open.result >= 0);
	write.handle = close.handle = (int)open.result;
	for (uint64_t at = 0; at < k->len; at += write.len) {
		write.buf = k->bytes + at;
		write.off = at;
		write.len = (uint32_t)(k->len - at < 1u << 20 ? k->len - at : 1u << 20);
		weir_sim_disk_run(w->disk, &write, 0);
	}
	weir_sim_disk_run(w->disk, &close, 0);
}

bool
sim_save_branch(struct sim_world *w)
{
	struct sim_save *save = NULL;

	for (uint32_t i = 0; i < w->save_cnt; i++)
		if (&w->save[i] == w->kept_save)
			save = &w->save[i];
	if (save == NULL || w->branched)
		return false;
	w->branched = true;
	if (w->drained > save->id) /* one that came after a drain has no more input either */
		w->drained = 0;
	w->stopped = NULL;
	wipe(w, SIM_OUT_DIR);
	w->final_cnt = 0;
	for (uint32_t i = 0; i < w->kept_cnt; i++)
		put_file(w, &w->kept[i]);
	begin_run(w, save);
	return true;
}

void
sim_save_free(struct sim_world *w)
{
	forget_output(w);
}

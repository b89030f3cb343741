/* One seed, from the first attempt of the job to the check of its output. */

#include "tests/simulator/sim.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS_MAX  24u
#define STEPS_ATTEMPT 60000u  /* then the process is killed and nothing goes wrong any more */
#define STEPS_QUIET   400000u /* the job must be over by then */
#define IDLE_ROUNDS   25u
#define SINK_WAITS_NS 1000000

enum outcome { RUNNING, FINISHED, SUSPENDED, FAILED, KILLED, WEARY };

void
sim_event(struct sim_world *w, const char *fmt, ...)
{
	va_list ap;

	if (!w->verbose)
		return;
	printf("%10lld ", (long long)(w->now_ns / 1000));
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

void
sim_finding(struct sim_world *w, const char *fmt, ...)
{
	char text[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sim_event(w, "FINDING %s", text);
	if (w->findings == NULL)
		w->findings = strdup(text);
}

/* Where everybody stands, for who looks into a finding. */
static void
print_tasks(struct sim_world *w)
{
	for (uint32_t c = 0; c < w->s.core_cnt; c++) {
		const struct weir_core *core = &w->rt->cores[c];

		sim_event(w, "core %u snapshot %llu state %d file busy %d io %u", c,
			  (unsigned long long)core->snap_id, core->snap_state,
			  atomic_load(&core->file.busy), core->io->in_flight);
	}
	for (uint32_t i = 0; i < w->plan->subtask_cnt; i++) {
		const struct weir_task *t = &w->rt->tasks[i];
		uint32_t held = 0, queued = 0;

		for (uint32_t e = 0; e < t->emitter_cnt; e++)
			held += weir_emitter_held(&t->emitters[e]);
		for (uint32_t c = 0; c < t->channel_cnt; c++)
			queued += weir_gate_queued(weir_input_gate(t->input), c);
		sim_event(
			w,
			"task %u.%u %s core %u state %d work %d trigger %llu due %d "
			"asked %u snapshot %llu through %llu held %u queued %u ended %u of %u%s%s",
			t->task_idx, t->subtask, t->ctx[0]->id, t->core->idx, t->state, t->work,
			(unsigned long long)t->trigger.id, t->triggered, t->asked_cnt,
			(unsigned long long)t->snapshot, (unsigned long long)t->through, held,
			queued, t->ended_cnt, t->channel_cnt,
			t->capture_full ? " captures all it may" : "",
			t->sink != NULL && !weir_two_phase_ready(t->sink, w->now_ns) ? " sink waits"
										     : "");
		for (uint32_t c = 0; c < t->channel_cnt; c++)
			if (weir_gate_is_closed(weir_input_gate(t->input), c))
				sim_event(w, "  channel %u is closed", c);
	}
}

/* ---- steps ---- */

struct rounds {
	uint64_t steps;
	uint32_t idle;	/* steps in a row in which nothing happened */
	uint32_t still; /* rounds of such steps in a row */
	uint32_t frozen[SIM_CORES_MAX];
	uint64_t kill_step, kill_request; /* 0: not */
	uint64_t kill_completed; /* so many checkpoints of the world; then some steps more */
	uint32_t dead;		 /* number + 1 of a core, or of the control thread; 0: nobody */
};

static void
advance_clock(struct sim_world *w, int64_t to_ns)
{
	w->now_ns = to_ns;
	weir_sim_clock_set(to_ns);
	for (uint32_t c = 0; c <= w->s.core_cnt; c++)
		weir_sim_io_progress(w->io[c], to_ns);
}

static int64_t
next_due(const struct sim_world *w)
{
	int64_t due = weir_master_due_ns(w->master);

	if (sim_post_due(w) < due)
		due = sim_post_due(w);
	for (uint32_t c = 0; c <= w->s.core_cnt; c++)
		if (weir_sim_io_due(w->io[c]) < due)
			due = weir_sim_io_due(w->io[c]);
	for (uint32_t i = 0; i < w->plan->subtask_cnt; i++)
		if (weir_input_due(w->rt->tasks[i].input) < due)
			due = weir_input_due(w->rt->tasks[i].input);
	return due;
}

static bool
io_waits(const struct sim_world *w)
{
	for (uint32_t c = 0; c <= w->s.core_cnt; c++)
		if (weir_sim_io_due(w->io[c]) != INT64_MAX)
			return true;
	return false;
}

/* A sink takes nothing because of its rate: time goes on. */
static bool
sinks_wait(const struct sim_world *w)
{
	for (uint32_t i = 0; i < w->plan->subtask_cnt; i++) {
		struct weir_two_phase *sink = w->rt->tasks[i].sink;

		if (sink != NULL && !weir_two_phase_ready(sink, w->now_ns))
			return true;
	}
	return false;
}

/*
 * What a lost message leaves closed, the next checkpoint opens. There is one sooner or later, but
 * where only people ask for them it may take one.
 */
static bool
heals(struct sim_world *w)
{
	const struct weir_master_request request = { .kind = w->s.checkpoints
								     ? WEIR_REQUEST_CHECKPOINT
								     : WEIR_REQUEST_SAVEPOINT,
						     .dir = SIM_SAVE_DIR };

	if (w->lost == w->healed)
		return false;
	w->healed = w->lost;
	weir_master_request(w->master, &request);
	return true;
}

/* The periodic one that opens it has not begun yet: so many had when it was found closed. */
static bool
healing_comes(struct sim_world *w, uint64_t begun)
{
	if (!w->s.checkpoints || w->s.interval_ns == 0)
		return false;
	if (w->lost != w->healed) {
		w->healed = w->lost;
		w->heals_behind = begun;
	}
	return w->heals_behind == begun;
}

/* A channel with something in it that the task does not take; false: there is none. */
static bool
is_stuck(const struct weir_task *t, uint32_t *channel)
{
	for (uint32_t c = 0; c < t->channel_cnt && t->state < WEIR_TASK_FINISHED; c++)
		if (weir_gate_queued(weir_input_gate(t->input), c) > 0) {
			*channel = c;
			return true;
		}
	return false;
}

/* Nothing moves, no checkpoint runs, and yet something lies in a channel. True: one has been asked
 * for, and who makes its folder has his turn before time goes on. */
static bool
check_stuck(struct sim_world *w)
{
	struct weir_master_counts n;
	uint32_t i = 0, channel = 0;

	weir_master_counts(w->master, &n);
	if (n.triggered != n.completed + n.failed + n.aborted || io_waits(w) || sinks_wait(w) ||
	    sim_post_due(w) != INT64_MAX)
		return false;
	while (i < w->plan->subtask_cnt && !is_stuck(&w->rt->tasks[i], &channel))
		i++;
	if (i == w->plan->subtask_cnt || healing_comes(w, n.triggered))
		return false;
	if (heals(w))
		return true;
	print_tasks(w);
	sim_finding(w, "subtask %u of task %u takes nothing from channel %u and no checkpoint runs",
		    w->rt->tasks[i].subtask, w->rt->tasks[i].task_idx, channel);
	return false;
}

static void
when_idle(struct sim_world *w, struct rounds *r)
{
	int64_t to;

	if (r->idle < IDLE_ROUNDS * (w->s.core_cnt + 1))
		return;
	r->idle = 0;
	/* What has become ready just now has had no turn yet. */
	if (r->still++ > 0 && check_stuck(w))
		return;
	to = next_due(w);
	/* They say how long to nobody. */
	if (w->s.sink_rate > 0 && to > w->now_ns + SINK_WAITS_NS && sinks_wait(w))
		to = w->now_ns + SINK_WAITS_NS;
	if (to > w->now_ns && to != INT64_MAX)
		advance_clock(w, to);
}

static void
step_core(struct sim_world *w, struct rounds *r, uint32_t c)
{
	enum weir_regime regime;

	if (r->frozen[c] > 0) {
		r->frozen[c]--;
		r->idle = 0;
		return;
	}
	if (!w->calm && weir_rng_below(&w->rng, 1000) < w->s.freeze_pct)
		r->frozen[c] = (uint32_t)weir_rng_below(&w->rng, 300);
	sim_rules_before_turn(w, &w->rt->cores[c]);
	regime = weir_core_turn(&w->rt->cores[c], w->now_ns);
	sim_rules_turn(w, &w->rt->cores[c]);
	if (regime == WEIR_REGIME_IDLE || regime == WEIR_REGIME_BACK_PRESSURED)
		r->idle++;
	else
		r->idle = 0;
}

/* Somebody asks for a checkpoint (C1). */
static void
step_asks(struct sim_world *w)
{
	const struct weir_master_request request = {
		.kind = weir_rng_below(&w->rng, 3) == 0 ? WEIR_REQUEST_FULL
							: WEIR_REQUEST_CHECKPOINT,
	};

	weir_master_request(w->master, &request);
}

static void
step(struct sim_world *w, struct rounds *r)
{
	const uint32_t who = (uint32_t)weir_rng_below(&w->rng, w->s.core_cnt + 1);

	r->steps++;
	w->steps++;
	advance_clock(w, w->now_ns + 1 + (int64_t)weir_rng_below(&w->rng, (uint64_t)w->s.turn_ns));
	if (w->s.ask_steps > 0 && !w->quiet && weir_rng_below(&w->rng, w->s.ask_steps) == 0)
		step_asks(w);
	if (w->s.save_steps > 0 && !w->quiet && r->dead != w->s.core_cnt + 1 &&
	    weir_rng_below(&w->save_rng, w->s.save_steps) == 0)
		sim_save_ask(w);
	if (who + 1 == r->dead) {
		r->idle = 0; /* nobody says that the others wait in vain */
	} else if (who < w->s.core_cnt) {
		step_core(w, r, who);
	} else if (weir_master_step(w->master, w->now_ns, w->now_ns)) {
		r->idle = 0;
	} else {
		r->idle++;
	}
	if (sim_post_carry(w))
		r->idle = 0;
	/* A sink that waited at the last look has not had its turn since. */
	if (r->idle == 0 || (w->s.sink_rate > 0 && sinks_wait(w)))
		r->still = 0;
	when_idle(w, r);
}

/* ---- attempts ---- */

static void
plan_kill(struct sim_world *w, struct rounds *r)
{
	if (w->quiet || w->kills >= w->s.kills)
		return;
	if (weir_rng_below(&w->rng, 5) < 2 && w->s.checkpoints)
		r->kill_completed = w->completed + 1 + weir_rng_below(&w->rng, 4);
	else if (weir_rng_below(&w->rng, 2) == 0)
		r->kill_step = 1 + weir_rng_below(&w->rng, 1u << weir_rng_below(&w->rng, 14));
	else
		r->kill_request =
			w->requests + 1 + weir_rng_below(&w->rng, 1u << weir_rng_below(&w->rng, 9));
}

static void
explain_failure(struct sim_world *w, const struct weir_error *err)
{
	const bool excused =
		w->faults_struck > w->faults_before ||
		(w->expired > 0 && (w->s.timeout_ns < 100000000 || w->s.io_spike_pct > 0 ||
				    w->half_dead || w->post_faults > w->post_faults_before)) ||
		/* K13: a task that was about to finish. */
		(strstr(err->text, "CHECKPOINT_DECLINED_TASK_CLOSING") != NULL &&
		 w->s.stop_pct > 0);

	sim_event(w, "failed %d %s", err->code, err->text);
	if (excused && !w->quiet)
		return;
	print_tasks(w);
	sim_finding(w, "the job failed without a cause: %s", err->text);
}

static void
calm_down(struct sim_world *w, struct rounds *r)
{
	if (w->calm || r->dead != 0 || w->s.calm_step == 0 || r->steps < w->s.calm_step)
		return;
	w->calm = true;
	w->calm_ns = w->now_ns;
	memset(r->frozen, 0, sizeof(r->frozen));
	for (uint32_t c = 0; c <= w->s.core_cnt; c++)
		weir_sim_io_calm(w->io[c]);
	sim_event(w, "calm");
}

static bool
is_killed(struct sim_world *w, struct rounds *r)
{
	if (w->calm)
		return false;
	if (r->kill_completed != 0 && w->completed >= r->kill_completed) {
		r->kill_completed = 0;
		r->kill_step = r->steps + 1 + weir_rng_below(&w->rng, 400);
	}
	return r->steps == r->kill_step || (r->kill_request != 0 && w->requests >= r->kill_request);
}

/* A core or the control thread is gone, and the others go on until somebody notices. */
static bool
dies_alone(struct sim_world *w, struct rounds *r)
{
	if (r->dead != 0 || weir_rng_below(&w->rng, 100) >= w->s.half_pct)
		return false;
	r->dead = 1 + (uint32_t)weir_rng_below(&w->rng, w->s.core_cnt + 1);
	r->kill_request = 0;
	r->kill_step = r->steps + 1 + weir_rng_below(&w->rng, 3000);
	w->half_dead = true;
	if (r->dead <= w->s.core_cnt)
		sim_event(w, "core %u dies", r->dead - 1);
	else
		sim_event(w, "the control thread dies");
	return true;
}

static enum outcome
run_attempt(struct sim_world *w)
{
	struct rounds r = { 0 };
	struct weir_error err = { 0 };

	plan_kill(w, &r);
	while (w->findings == NULL) {
		enum weir_master_end end;

		calm_down(w, &r);
		step(w, &r);
		end = weir_master_ended(w->master, &err);
		sim_rules_step(w, end == WEIR_END_FAILED, err.text);
		switch (end) {
		case WEIR_END_NOT_YET:
			break;
		case WEIR_END_FINISHED:
			return FINISHED;
		case WEIR_END_SUSPENDED:
			return SUSPENDED;
		default:
			explain_failure(w, &err);
			return FAILED;
		}
		if (is_killed(w, &r) && !dies_alone(w, &r)) {
			w->kills++;
			return KILLED;
		}
		if (!w->quiet && r.steps == STEPS_ATTEMPT) {
			print_tasks(w);
			return WEARY;
		}
		if (w->quiet && r.steps == STEPS_QUIET) {
			print_tasks(w);
			sim_finding(w, "the job does not end");
			break;
		}
	}
	return RUNNING;
}

/* The process is gone, perhaps the machine. */
static void
crash(struct sim_world *w, bool power)
{
	struct weir_sim_loss loss = { 0 };

	sim_check_finals(w);
	sim_attempt_end(w);
	sim_check_finals(w);
	if (power) {
		w->power_losses++;
		weir_sim_disk_power_loss(w->disk, &loss);
		sim_event(w, "power-loss names lost %u kept %u, files with unsynced bytes %u",
			  loss.names_lost, loss.names_kept, loss.files_torn);
	}
	sim_check_crash(w, power);
}

static bool
draws_power(struct sim_world *w)
{
	return weir_rng_below(&w->rng, 100) < w->s.power_pct;
}

/* S4: the savepoint is complete, and all output up to it is committed. */
static void
check_suspended(struct sim_world *w)
{
	const char *name;

	sim_event(w, "suspended");
	if (w->stopped == NULL || w->stopped->kind != WEIR_REQUEST_SUSPEND)
		sim_finding(w, "the job is suspended without a savepoint");
	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, SIM_OUT_DIR, i)) != NULL; i++)
		if (strncmp(name, WEIR_SINK_FINAL_PREFIX, strlen(WEIR_SINK_FINAL_PREFIX)) != 0)
			sim_finding(w, "the job is suspended, and %s is not committed", name);
}

static bool
run_to_end(struct sim_world *w)
{
	bool again = w->s.again && w->s.checkpoints;

	while (w->findings == NULL) {
		enum outcome how;

		if (w->attempt >= ATTEMPTS_MAX)
			w->quiet = true;
		sim_source_calm = w->quiet;
		if (!sim_attempt_begin(w))
			break;
		how = run_attempt(w);
		if (how == FINISHED) {
			sim_event(w, "finished");
			if (w->stopped != NULL && w->stopped->kind == WEIR_REQUEST_SUSPEND)
				sim_finding(w, "the job was to be suspended, and has finished");
			sim_check_live_set(w);
			crash(w, true);
			if (!again)
				return true;
			again = false;
			continue;
		}
		if (how == SUSPENDED) {
			check_suspended(w);
			crash(w, true);
			continue;
		}
		if (how == WEARY)
			w->quiet = true;
		if (how != RUNNING) {
			sim_event(w, "%s",
				  how == KILLED	 ? "kill"
				  : how == WEARY ? "weary"
						 : "gone");
			crash(w, how == KILLED && draws_power(w));
			sim_note_again(w);
		}
	}
	return false;
}

/* ---- seed ---- */

static void
print_scenario(struct sim_world *w)
{
	const struct sim_scenario *s = &w->s;

	sim_event(w, "%s splits %u+%u keys %u batch %u pause %u%% cores %u parallelism %u %u%s",
		  sim_shape_names[s->shape], s->split_cnt[0], s->split_cnt[1], s->key_cnt,
		  s->batch_max, s->pause_pct, s->core_cnt, s->parallelism[0], s->parallelism[1],
		  s->rescale ? " rescaled" : "");
	sim_event(w, "depth %u stingy %u%% combiner %d linger %lld us turn %lld us freeze %u%%",
		  s->lane_depth, s->stingy_pct, s->combiner, (long long)s->linger_ns / 1000,
		  (long long)s->turn_ns / 1000, s->freeze_pct);
	sim_event(w,
		  "checkpoints %d every %lld ms timeout %lld ms pause %lld ms at once %u "
		  "tolerable %u retained %u chunks %u",
		  s->checkpoints, (long long)s->interval_ns / 1000000,
		  (long long)s->timeout_ns / 1000000, (long long)s->min_pause_ns / 1000000,
		  s->max_concurrent, s->tolerable, s->retained, s->chunk_cnt);
	sim_event(w, "asked every %u steps, post %lld us %u%%, %u%% die alone first, calm %u",
		  s->ask_steps, (long long)s->post_delay_ns / 1000, s->post_pct, s->half_pct,
		  s->calm_step);
	if (s->save_steps > 0)
		sim_event(w, "savepoints every %u steps, %u%% stop%s", s->save_steps, s->stop_pct,
			  s->branch ? ", one is restored after the end" : "");
	sim_event(w, "mode %s timeout %lld us sink%s %llu rows/s", sim_mode_names[s->mode],
		  (long long)s->aligned_timeout_ns / 1000, s->own_sink ? " of its own" : "",
		  (unsigned long long)s->sink_rate);
	sim_event(w, "disk %lld us spikes %u%% faults %u kills %u power %u%%",
		  (long long)s->io_delay_ns / 1000, s->io_spike_pct, s->fault_cnt, s->kills,
		  s->power_pct);
}

bool
sim_run(uint64_t seed, bool verbose)
{
	static struct sim_world w;
	bool clean;

	memset(&w, 0, sizeof(w));
	w.verbose = verbose;
	sim_scenario_draw(&w.s, seed);
	sim_scenario = &w.s;
	w.rng.state = weir_mix(seed + 1);
	w.lane_rng.state = weir_mix(seed + 2);
	w.post_rng.state = weir_mix(seed + 5);
	w.save_rng.state = weir_mix(seed + 7);
	sim_source_rng.state = weir_mix(seed + 3);
	w.disk = weir_sim_disk_create(weir_mix(seed + 4));
	w.next_id = 1;
	weir_sim_disk_mkdir(w.disk, SIM_DATA_DIR);
	weir_sim_disk_mkdir(w.disk, SIM_OUT_DIR);
	weir_sim_disk_mkdir(w.disk, SIM_SAVE_DIR);
	sim_sink_begin(&w);
	print_scenario(&w);
	while (run_to_end(&w)) {
		sim_check_end(&w);
		if (w.findings != NULL || !sim_save_branch(&w))
			break;
	}
	if (w.findings == NULL)
		sim_shared(&w);
	clean = w.findings == NULL;
	printf("seed %llu %s: %s, attempts %llu, kills %llu, power losses %llu, faults %llu, "
	       "restores %llu, checkpoints %llu completed %llu failed %llu aborted, "
	       "%llu with frames, %llu frames back, savepoints %u, runs %llu, steps %llu, lines "
	       "%llu%s%s\n",
	       (unsigned long long)seed, clean ? "clean" : "FAILED", sim_shape_names[w.s.shape],
	       (unsigned long long)w.attempt, (unsigned long long)w.kills,
	       (unsigned long long)w.power_losses, (unsigned long long)w.faults_struck,
	       (unsigned long long)w.restores, (unsigned long long)w.completed,
	       (unsigned long long)w.failed, (unsigned long long)w.aborted,
	       (unsigned long long)w.unaligned, (unsigned long long)w.in_flight, w.save_cnt,
	       (unsigned long long)w.runs + 1, (unsigned long long)w.steps,
	       (unsigned long long)w.rows, clean ? "" : ": ", clean ? "" : w.findings);
	sim_attempt_end(&w);
	weir_sim_disk_destroy(w.disk);
	sim_save_free(&w);
	free(w.final);
	free(w.again);
	free(w.findings);
	return clean;
}

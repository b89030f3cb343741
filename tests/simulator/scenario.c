#include "tests/simulator/sim.h"

#include <errno.h>

#define US 1000
#define MS 1000000

const char *const sim_shape_names[SIM_SHAPE_CNT] = {
	"pass",	       "rebalance",   "broadcast",	"flat-map",	"reduce-end",
	"reduce-word", "reduce-pair", "reduce-updates", "reduce-each",	"window",
	"window-top",  "top",	      "union",		"union-window", "two-stages",
	"two-sinks",   "order",	      "burst",		"mixed",
};

const char *const sim_mode_names[SIM_MODE_CNT] = { "aligned", "timeout", "unaligned",
						   "at-least-once" };

static struct weir_rng rng;

static uint32_t
upto(uint32_t lo, uint32_t hi)
{
	return lo + (uint32_t)weir_rng_below(&rng, hi - lo + 1);
}

static bool
pct(uint32_t percent)
{
	return weir_rng_below(&rng, 100) < percent;
}

/* Small numbers are as likely as large ones. */
static int64_t
spread(int64_t lo, int64_t hi)
{
	int64_t v = hi;

	while (v > lo && pct(60))
		v /= 2;
	return v < lo ? lo : lo + (int64_t)weir_rng_below(&rng, (uint64_t)(v - lo + 1));
}

static void
draw_input(struct sim_scenario *s)
{
	const bool two =
		s->shape == SIM_UNION || s->shape == SIM_UNION_WINDOW || s->shape == SIM_MIXED;
	const bool one_after_the_other = pct(50);
	const bool many = pct(35); /* splits: one is handed out at any time (K14) */
	uint32_t rows = (uint32_t)spread(20, 3000);

	s->source_cnt = two ? 2 : 1;
	s->key_cnt = (uint32_t)spread(1, 400);
	s->word_len_max = upto(1, 30);
	s->step_ns = upto(1, 5) * MS;
	s->jitter_ns = pct(30) ? 0 : upto(1, 40) * MS;
	s->batch_max = (uint32_t)spread(1, 60);
	s->pause_pct = upto(0, 95);
	s->slide_ns = upto(1, 20) * 5 * MS;
	s->size_ns = s->slide_ns * (pct(50) ? 1 : upto(2, 5));
	for (uint32_t i = 0; i < s->source_cnt; i++) {
		int64_t from = pct(30) ? -upto(0, 1000) * MS : upto(0, 1000) * MS;

		s->split_cnt[i] = many ? upto(12, SIM_SPLITS_MAX) : upto(1, 8);
		for (uint32_t k = 0; k < s->split_cnt[i]; k++) {
			struct sim_split *p = &s->split[i][k];

			p->rows = pct(10) ? 0
					  : upto(0,
						 many ? 40
						      : 2 * rows / s->split_cnt[i] / s->source_cnt);
			p->first_ns = from;
			if (one_after_the_other)
				from += p->rows * s->step_ns;
			else if (pct(50))
				from += upto(0, 200) * MS;
		}
	}
}

static void
draw_job(struct sim_scenario *s)
{
	s->core_cnt = upto(1, SIM_CORES_MAX);
	s->parallelism[0] = upto(1, 4);
	s->parallelism[1] = upto(1, 4);
	s->lane_depth = 1u << upto(1, 6);
	s->frame_bytes = WEIR_PAGE * upto(2, 3);
	s->combiner = pct(50);
	s->rescale = pct(20) && s->shape != SIM_BROADCAST;
	s->linger_ns = pct(50) ? 0 : upto(1, 1000) * US;
	s->state_bytes = s->shape == SIM_REDUCE_WORD ? 16u << 20 : 4u << 20;
}

static void
draw_checkpoints(struct sim_scenario *s)
{
	s->checkpoints = pct(95);
	s->interval_ns = spread(1, 40) * MS;
	s->timeout_ns = pct(70) ? SIM_TIMEOUT_LONG : upto(2, 60) * MS;
	if (pct(15)) { /* most expire, and there is time to see what that leaves behind */
		s->interval_ns = upto(20, 100) * MS;
		s->timeout_ns = upto(1, 5) * MS;
	}
	s->min_pause_ns = pct(70) ? 0 : upto(1, 10) * MS;
	s->max_concurrent = pct(50) ? 1 : upto(2, 4);
	s->tolerable = pct(50) ? 1000 : upto(0, 3);
	s->retained = pct(60) ? 1 : upto(2, 4);
	s->chunk_cnt = upto(4, 12);
}

static void
draw_trouble(struct sim_scenario *s)
{
	s->stingy_pct = pct(60) ? 0 : upto(1, 50);
	s->io_depth = upto(8, 64);
	s->io_delay_ns = spread(0, 2000) * US;
	s->io_spike_pct = pct(70) ? 0 : upto(1, 10);
	s->turn_ns = upto(5, 200) * US;
	s->freeze_pct = pct(60) ? 0 : upto(1, 20);
	s->kills = pct(20) ? 0 : upto(1, 6);
	s->power_pct = pct(40) ? 0 : upto(20, 100);
	s->fault_cnt = pct(60) ? 0 : upto(1, SIM_FAULTS_MAX);
	for (uint32_t i = 0; i < s->fault_cnt; i++)
		s->fault[i] = (struct weir_sim_fault){ .at = (uint64_t)spread(1, 600),
						       .cnt = pct(70) ? 1 : upto(2, 20),
						       .error = pct(50) ? EIO : ENOSPC };
	/* The end of a manifest is where it is not certain what there is (K7). */
	if (s->fault_cnt > 0 && pct(40))
		s->fault[0] = (struct weir_sim_fault){ .at = (uint64_t)spread(1, 300),
						       .cnt = upto(1, 3),
						       .kinds = 1u << WEIR_IO_RENAME |
								1u << WEIR_IO_FSYNC_DIR,
						       .error = EIO };
	s->again = pct(25);
	if (!s->checkpoints)
		s->kills = s->fault_cnt = 0; /* T35: then a crash leaves what it leaves */
}

/* Order per key can be computed when one reader reads all rows and they take one way each. */
static void
draw_order(struct sim_scenario *s)
{
	s->shape = SIM_ORDER;
	s->source_cnt = 1;
	s->split_cnt[0] = 1;
	s->jitter_ns = 0;
	s->split[0][0].rows = upto(50, 2500);
}

static void
draw_mode(struct sim_scenario *s)
{
	const uint32_t which = upto(0, 99);

	s->mode = which < 25   ? SIM_ALIGNED
		  : which < 55 ? SIM_UNALIGNED
		  : which < 84 ? SIM_TIMEOUT
			       : SIM_AT_LEAST_ONCE;
	if (s->mode == SIM_UNALIGNED || s->mode == SIM_TIMEOUT)
		s->max_concurrent = 1; /* C8 */
	s->aligned_timeout_ns = s->mode == SIM_TIMEOUT ? spread(50, 30000) * US : 0;
	s->sink_rate = pct(60) ? 0 : (uint64_t)spread(5, 500) * 1000;
}

/*
 * Checkpoints that people ask for. Now and then nothing else is there, and most of them expire
 * while sources sleep: what the end of one leaves closed, no later one opens.
 */
static void
draw_asks(struct sim_scenario *s)
{
	if (pct(25))
		s->ask_steps = upto(50, 2000);
	if (!pct(25))
		return;
	s->interval_ns = 0;
	s->ask_steps = upto(300, 1500);
	s->timeout_ns = upto(1, 8) * MS;
	s->tolerable = 1000;
	s->freeze_pct = upto(8, 25);
	s->core_cnt = upto(2, SIM_CORES_MAX);
	s->parallelism[0] = upto(2, 4);
}

/* T26: windows fire most of the time, and barriers that overtake come and are restored meanwhile.
 */
static void
draw_firing(struct sim_scenario *s)
{
	if (s->source_cnt == 1)
		s->shape = pct(70) ? SIM_WINDOW : SIM_WINDOW_TOP;
	else
		s->shape = SIM_UNION_WINDOW;
	s->mode = SIM_UNALIGNED;
	s->max_concurrent = 1;
	s->key_cnt = upto(50, 400);
	s->slice_rows = upto(1, 4);
	s->rescale = pct(40);
	s->sink_rate = 0;
	s->interval_ns = upto(1, 4) * MS;
	s->timeout_ns = SIM_TIMEOUT_LONG;
	s->min_pause_ns = 0;
	s->turn_ns = upto(20, 200) * US;
	s->io_delay_ns = upto(0, 200) * US;
	s->kills = upto(2, 6);
	s->post_pct = s->calm_step = 0;
}

/*
 * Consumers sleep through several checkpoints: when they wake up, barriers of ids that are over lie
 * in their channels before those that count (T14).
 */
static void
draw_sleepers(struct sim_scenario *s)
{
	s->mode = SIM_UNALIGNED;
	s->aligned_timeout_ns = 0;
	s->max_concurrent = 1;
	s->sink_rate = 0;
	s->min_pause_ns = 0;
	s->timeout_ns = upto(3, 8) * MS;
	s->interval_ns = upto(3, 8) * MS;
	s->tolerable = 1000;
	s->freeze_pct = upto(12, 30);
	s->calm_step = 0;
	s->post_pct = 0;
	s->kills = upto(0, 1);
	if (s->shape == SIM_PASS || s->shape == SIM_BROADCAST)
		s->shape = SIM_REBALANCE;
	s->turn_ns = upto(20, 60) * US;
	s->io_delay_ns = 20 * US;
	s->io_spike_pct = 0;
	s->pause_pct = upto(0, 40);
	s->lane_depth = 64;
	s->core_cnt = upto(2, SIM_CORES_MAX);
	s->parallelism[0] = upto(2, 4);
	s->parallelism[1] = upto(2, 4);
	s->batch_max = upto(1, 8);
	for (uint32_t k = 0; k < s->split_cnt[0]; k++)
		s->split[0][k].rows += upto(50, 2000 / s->split_cnt[0]);
}

/* Whole checkpoints are not given up where they should be; afterwards the job must get on (K8). */
static void
draw_deaf(struct sim_scenario *s)
{
	s->post_burst = true;
	s->post_pct = upto(15, 40);
	s->timeout_ns = upto(20, 40) * MS;
	s->interval_ns = upto(5, 40) * MS;
	s->calm_step = upto(1500, 8000);
	s->tolerable = 1000;
	s->kills = 0;
	s->pause_pct = upto(70, 95);
	s->parallelism[0] = upto(2, 4);
	s->parallelism[1] = upto(2, 4);
}

/* Messages that are late, lost or repeated; in half of these worlds checkpoints soon expire. */
static void
draw_post(struct sim_scenario *s)
{
	if (pct(45))
		s->post_delay_ns = spread(1, 5000) * US;
	if (pct(40)) {
		s->post_pct = pct(50) ? upto(1, 10) : upto(15, 50);
		s->post_burst = pct(50);
		if (pct(50))
			s->timeout_ns = upto(2, 40) * MS;
	}
	s->half_pct = pct(50) ? 0 : upto(20, 80);
	if (pct(60))
		s->calm_step = (uint32_t)spread(1000, 12000);
}

/* T27: rows are put off at any time, and after a restore there may come no other. */
static void
draw_burst(struct sim_scenario *s)
{
	s->shape = SIM_BURST;
	s->source_cnt = 1;
	s->key_cnt = upto(1, 60);
	if (pct(40)) /* in the middle of a chain */
		s->parallelism[0] = s->parallelism[1] = 1;
	s->rescale = pct(15);
	s->mode = SIM_UNALIGNED; /* an aligned barrier stands behind rows */
	s->max_concurrent = 1;
	s->sink_rate = 0;
	s->batch_max = 60;
	s->turn_ns = upto(20, 200) * US;
	s->interval_ns = upto(1, 3) * MS;
	s->timeout_ns = SIM_TIMEOUT_LONG;
	s->min_pause_ns = 0;
	s->io_delay_ns = upto(0, 100) * US;
	s->io_spike_pct = 0;
	s->kills = upto(3, 6);
	s->post_pct = s->calm_step = 0;
	for (uint32_t k = 0; k < s->split_cnt[0]; k++)
		s->split[0][k].rows = upto(0, 200 / s->split_cnt[0]);
}

/* K11: some checkpoints complete and some expire, and few failures in a row are too many. */
static void
draw_flaky(struct sim_scenario *s)
{
	s->tolerable = upto(1, 2);
	s->interval_ns = upto(1, 6) * MS;
	s->min_pause_ns = 0;
	s->max_concurrent = 1;
	s->timeout_ns = upto(4, 10) * MS;
	s->io_delay_ns = upto(50, 600) * US;
	s->io_spike_pct = upto(1, 4);
	s->post_pct = 0;
	s->post_delay_ns = 0;
	s->kills = upto(0, 1);
	s->freeze_pct = upto(0, 4);
	s->sink_rate = 0;
}

/* T33: frames of one input are captured, the other one's rows have to come first. */
static void
draw_mixed(struct sim_scenario *s)
{
	s->shape = SIM_MIXED;
	draw_input(s);
	s->parallelism[1] = 1 + s->parallelism[0] % 4;
	s->rescale = pct(15);
	s->mode = pct(60) ? SIM_UNALIGNED : SIM_TIMEOUT;
	s->aligned_timeout_ns = s->mode == SIM_TIMEOUT ? spread(50, 30000) * US : 0;
	s->max_concurrent = 1;
}

/* Stops that are given up, and not everybody hears of it. */
static void
draw_lost_stops(struct sim_scenario *s)
{
	s->stop_pct = 100;
	s->save_steps = upto(200, 1000);
	s->post_pct = upto(15, 45);
	s->post_burst = false;
	s->timeout_ns = upto(20, 40) * MS;
	s->interval_ns = upto(5, 40) * MS;
	s->calm_step = upto(1500, 6000);
	s->tolerable = 1000;
	s->kills = 0;
	s->pause_pct = upto(70, 95);
}

/* Some ask for them all the time, some now and then; of some all stop the job. */
static void
draw_saves(struct sim_scenario *s)
{
	if (!pct(50))
		return;
	s->save_steps = (uint32_t)spread(60, 6000);
	s->stop_pct = pct(35) ? 0 : pct(50) ? upto(5, 40) : 100;
	s->branch = pct(50);
	if (pct(20)) {
		draw_lost_stops(s);
	} else if (pct(80)) {
		s->timeout_ns = SIM_TIMEOUT_LONG;
		s->post_pct = 0;
		s->save_steps = (uint32_t)spread(200, 3000);
	}
}

void
sim_scenario_draw(struct sim_scenario *s, uint64_t seed)
{
	bool special = false;

	*s = (struct sim_scenario){ .seed = seed };
	rng.state = weir_mix(seed);
	s->shape = (enum sim_shape)weir_rng_below(&rng, SIM_ORDER);
	draw_input(s);
	draw_job(s);
	draw_checkpoints(s);
	draw_trouble(s);
	if (s->checkpoints)
		draw_mode(s);
	if (pct(8))
		draw_order(s);
	if (s->checkpoints)
		draw_asks(s);
	s->slice_rows = pct(50) ? 0 : (uint32_t)spread(1, 64);
	draw_post(s);
	if (s->checkpoints && pct(14)) {
		draw_sleepers(s);
		special = true;
	} else if (s->checkpoints && pct(18)) {
		draw_deaf(s);
		special = true;
	} else if (s->interval_ns == 0 && pct(80)) {
		s->post_pct = 0; /* where nothing is lost, nothing has to be asked for */
		special = true;
	}
	if (s->checkpoints && pct(8)) {
		draw_firing(s);
		special = true;
	}
	/* Others would take away what these are for. */
	if (s->checkpoints && !special && pct(14)) {
		draw_mixed(s);
	} else if (s->checkpoints && !special && pct(14)) {
		draw_flaky(s);
		special = true;
	} else if (s->checkpoints && !special && pct(30)) {
		draw_burst(s);
	}
	if (!special || pct(20))
		draw_saves(s);
	s->own_sink = pct(20);
}

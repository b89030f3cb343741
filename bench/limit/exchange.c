/*
 * limit_exchange: generate, hash exchange, keyed sum on two cores, by hand.
 *
 * Both cores generate a stream, keep the rows whose key hashes to themselves and send the others in
 * 8 KiB frames over a bare rte_ring; frames come back over a second ring. With shape=1-1 the first
 * core only generates and the second only sums. All four fields of every row travel. combiner=true
 * is for comparison with one that combines: nothing is combined here, but the checksum is over the
 * sums that stand at the end.
 *
 *      core 0  ---- full[1] ---->  core 1
 *              <--- empty[0] ----          and the same the other way round
 */

#include "bench/limit/exchange.h"

#include <stdio.h>

struct exchange {
	struct rte_ring *full[2];  /* to core i */
	struct rte_ring *empty[2]; /* frames of core i, coming back */
	const struct limit_opts *opts;
	const struct variant *variant;
	uint64_t rows; /* per generating core; 0: by time */
	uint64_t warm; /* per generating core, before them */
	double seconds;
	struct core *core[2];
};

static const struct variant {
	const char *name;
	core_fn fill[2]; /* near, far */
	frame_fn sum[2];
} variants[] = {
	{ "rows", { rows_fill_near, rows_fill_far }, { rows_sum_near, rows_sum_far } },
	{ "columns",
	  { columns_fill_near, columns_fill_far },
	  { columns_sum_near, columns_sum_far } },
};
#define VARIANT_CNT (sizeof(variants) / sizeof(variants[0]))

/* Shape 1-1: nothing to partition, so rows are generated where they travel. */
static const struct variant straight = { "straight",
					 { straight_fill, straight_fill },
					 { columns_sum_near, columns_sum_far } };

static void
send(struct exchange *exchange, struct core *core, bool end)
{
	struct frame *frame = core->out;

	frame->seq = core->sent++;
	frame->watermark = (int64_t)core->next;
	frame->end = end;
	rte_ring_sp_enqueue_elem(exchange->full[1 - core->me], &frame, sizeof(frame));
	core->out = NULL;
}

static bool
have_frame(struct exchange *exchange, struct core *core)
{
	if (core->out == NULL &&
	    rte_ring_sc_dequeue_elem(exchange->empty[core->me], &core->out, sizeof(core->out)) == 0)
		core->out->cnt = 0;
	return core->out != NULL;
}

/* Send one full frame, or the last. True: something was done. */
static bool
generate(struct exchange *exchange, struct core *core)
{
	if (core->ended || !have_frame(exchange, core))
		return false;
	if (exchange->rows == 0 && core->timed && core->sent % 16 == 0 &&
	    limit_now() - core->start >= exchange->seconds)
		core->end = core->next;
	if (!core->timed && core->next >= exchange->warm) {
		core->timed = true;
		core->start = limit_now();
	}
	core->ended = exchange->variant->fill[core->far](core);
	send(exchange, core, core->ended);
	return true;
}

static bool
receive(struct exchange *exchange, struct core *core)
{
	struct frame *in[4];
	const unsigned cnt = rte_ring_sc_dequeue_burst_elem(exchange->full[core->me], in,
							    sizeof(in[0]), 4, NULL);

	for (unsigned i = 0; i < cnt; i++) {
		if (in[i]->seq != core->received++)
			limit_die(70, "frame", "out of sequence");
		if (in[i]->watermark > core->watermark)
			core->watermark = in[i]->watermark;
		core->sum += exchange->variant->sum[core->far](&core->table, in[i]);
		core->peer_ended |= in[i]->end;
	}
	if (cnt > 0)
		rte_ring_sp_enqueue_bulk_elem(exchange->empty[1 - core->me], in, sizeof(in[0]), cnt,
					      NULL);
	return cnt > 0;
}

static void
prepare(struct exchange *exchange, struct core *core, unsigned me)
{
	struct frame *frames = limit_memory(FRAME_CNT * sizeof(*frames));

	core->frames = frames;
	core->me = me;
	core->keys = exchange->opts->keys;
	core->far = core->keys > LIMIT_KEYS_NEAR;
	core->end = exchange->rows != 0 ? exchange->warm + exchange->rows : UINT64_MAX;
	core->pos = CHUNK;
	if (!exchange->opts->one_to_one)
		table_init(&core->table, core->keys / 2, 2 * ROWS_GOLDEN);
	else if (me == 1)
		table_init(&core->table, core->keys, ROWS_GOLDEN);
	for (unsigned i = 0; i < FRAME_CNT; i++) {
		struct frame *frame = &frames[i];

		rte_ring_sp_enqueue_elem(exchange->empty[me], &frame, sizeof(frame));
	}
	exchange->core[me] = core;
}

/* The work of a core; shape 1-1 is the same with one half of it done from the start. */
static void
core_main(void *arg, unsigned me)
{
	struct exchange *exchange = arg;
	struct core *core = limit_memory(sizeof(*core));

	prepare(exchange, core, me);
	core->ended = exchange->opts->one_to_one && me == 1;
	core->peer_ended = exchange->opts->one_to_one && me == 0;
	core->began = pair_start();
	while (!core->ended || !core->peer_ended) {
		bool busy = generate(exchange, core);

		if (!core->peer_ended)
			busy |= receive(exchange, core);
		if (!busy)
			rte_pause();
	}
}

static uint64_t
sums_at_end(const struct table *table)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; table->slots != NULL && i <= table->mask + 1; i++)
		sum += (uint64_t)table->slots[i].sum;
	return sum;
}

static void
release(struct exchange *exchange, unsigned i)
{
	limit_free(exchange->core[i]->table.slots);
	limit_free(exchange->core[i]->frames);
	limit_free(exchange->core[i]);
	limit_free(exchange->full[i]);
	limit_free(exchange->empty[i]);
}

/* Until the first core had done its share of the warm-up. */
static double
warm_up_seconds(const struct exchange *exchange)
{
	const struct core *a = exchange->core[0], *b = exchange->core[1];

	return (b->timed && b->start < a->start ? b->start : a->start) - a->began;
}

static struct limit_result
run(const struct limit_opts *opts, const struct variant *variant, uint64_t rows, double seconds)
{
	static const pair_fn halves[2] = { core_main, core_main };
	struct exchange exchange = { .opts = opts, .variant = variant, .seconds = seconds };
	struct limit_result result = { .name = variant->name };

	exchange.rows = opts->one_to_one ? rows : rows / 2;
	exchange.warm = opts->one_to_one ? opts->warm : opts->warm / 2;
	for (unsigned i = 0; i < 2; i++) {
		exchange.full[i] = pair_ring(sizeof(void *), RING_CNT);
		exchange.empty[i] = pair_ring(sizeof(void *), RING_CNT);
	}
	result.seconds = pair_run(opts, halves, &exchange) - warm_up_seconds(&exchange);
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t next = exchange.core[i]->next;

		result.sum += opts->sums_at_end ? sums_at_end(&exchange.core[i]->table)
						: exchange.core[i]->sum;
		result.rows += next > exchange.warm ? next - exchange.warm : 0;
		release(&exchange, i);
	}
	return result;
}

static const struct variant *
calibrate(const struct limit_opts *opts)
{
	struct limit_opts at_once = *opts;
	const struct variant *best = &variants[0];
	double rate[VARIANT_CNT] = { 0 };

	at_once.wait = false;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned v = 0; v < VARIANT_CNT; v++) {
			const struct limit_result r = run(&at_once, &variants[v], 0, 0.05);

			if ((double)r.rows / r.seconds > rate[v])
				rate[v] = (double)r.rows / r.seconds;
		}
	}
	for (unsigned v = 1; v < VARIANT_CNT; v++)
		if (rate[v] > rate[best - variants])
			best = &variants[v];
	return best;
}

static const struct variant *
choose(const struct limit_opts *opts)
{
	if (opts->one_to_one)
		return &straight;
	if (opts->variant == NULL)
		return calibrate(opts);
	for (unsigned v = 0; v < VARIANT_CNT; v++)
		if (strcmp(variants[v].name, opts->variant) == 0)
			return &variants[v];
	limit_die(64, "variant", "expects rows or columns");
}

int
main(int argc, char **argv)
{
	struct limit_result result;
	struct limit_opts opts;

	limit_parse(&opts, argc, argv);
	if (opts.rows % (2 * CHUNK) != 0 || opts.warm % (2 * CHUNK) != 0)
		limit_die(64, "rows, warm", "expect multiples of 512");
	result = run(&opts, choose(&opts), opts.rows, opts.seconds);
	limit_print(&result);
	return 0;
}

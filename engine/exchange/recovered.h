#ifndef WEIR_ENGINE_EXCHANGE_RECOVERED_H
#define WEIR_ENGINE_EXCHANGE_RECOVERED_H

/*
 * weir_recovered: the data lane of a channel that was restored with frames in flight (R1, R3). It
 * stands in front of the channel's own lane, or alone: a *virtual channel* has no producer.
 *
 *   channel          | f1 f2 .. fr | END_STATE | what the producer sends: frame r+1, item r+1 |
 *   virtual channel  | f1 f2 .. fr | END_STATE | END |
 *                      seq 1..r      ord r
 *
 * The producer of a channel counts on from there: its last frame is r, its next item r + 1. So the
 * numbers of the two fit without a seam, and a checkpoint that finds recovered frames unconsumed
 * keeps them like any others (R2).
 *
 * The lanes of a task's recovered channels form a set, which decides what may be taken when:
 *
 *   stages   frames of a later stage wait until all of the earlier ones are through. A channel's
 *            frames that were sent after a rescale stand behind those that the rescale brought, of
 *            whatever channel, or two rows of one key could change places.
 *   the end  END_STATE is held back until the frames of all lanes are through, and not handed out
 *            lane by lane: it closes its channel, for the priority lane as well, and a barrier that
 *            waits there would wait for the slowest of the recovered frames.
 *
 * "Through" is a lane that was asked for more after its last frame: its gate asks only when nothing
 * of it is left in its hands. Looking (peek) shows everything, waiting or not: that is what a
 * capture keeps.
 *
 * Threads:   the consumer's core; the lane behind it has its own rules.
 * Ownership: borrows the frame numbers and the real lane. Frames belong to the lane until popped.
 * Cost:      while it recovers; afterwards pop is one call more, which weir_gate_replace saves.
 * Memory:    the caller's.
 */

#include "engine/exchange/lane.h"

#define WEIR_RECOVERED_STAGES 8u

struct weir_recovered_set {
	uint32_t stage;			      /* whose frames may be taken */
	uint32_t left[WEIR_RECOVERED_STAGES]; /* lanes of a stage that are not through */
};

struct weir_recovered {
	struct weir_lane lane; /* first */
	struct weir_lane *real;
	struct weir_recovered_set *set;
	uint32_t *frames; /* borrowed: the pool's numbers of f1..fr */
	uint32_t frame_cnt;
	uint32_t stage;
	uint32_t at; /* ord of the next item to hand out: r END_STATE, r + 1 END */
	bool is_through;
};

/*
 * A lane of cnt recovered frames of a stage (below WEIR_RECOVERED_STAGES). real NULL: a virtual
 * channel. All lanes of a set before the first pop; the frame numbers may be filled in until then.
 */
void weir_recovered_init(struct weir_recovered *r, struct weir_recovered_set *set, uint32_t *frames,
			 uint32_t cnt, uint32_t stage, struct weir_lane *real);

/* Set-up: the channel has a producer after all, whose lane is real. */
void weir_recovered_put_before(struct weir_recovered *r, struct weir_lane *real);

/* Has the lane nothing of its own left? Then the real one can take its place. */
bool weir_recovered_is_over(const struct weir_recovered *r);

/* After the job: take out the frames that nobody took; room for frame_cnt. Returns how many. */
uint32_t weir_recovered_drain(struct weir_recovered *r, uint32_t *frames);

#endif /* WEIR_ENGINE_EXCHANGE_RECOVERED_H */

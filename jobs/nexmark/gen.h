#ifndef WEIR_JOBS_NEXMARK_GEN_H
#define WEIR_JOBS_NEXMARK_GEN_H

/*
 * weir_nexmark: the events of the Nexmark benchmark, computed from (seed, number) alone, so that a
 * replay from any position gives the same rows and an independent program can check them.
 *
 * An event's number says when it happens and whether it is a person, an auction or a bid (1, 3 and
 * 46 of every 50). Positions are where events stand in the input: with a group of 1 position n is
 * event n; with a larger one the events of every group come in a scrambled order.
 *
 * Threads: read-only after init; any number of readers share one. Cost: hot, about 10 ns a bid and
 * less where the CPU has wide vectors; no allocation. Units: times in ns, ids as they are printed.
 */

#include "engine/base/error.h"
#include "engine/base/isa.h"

#define WEIR_NEXMARK_BASE_NS 1436918400000000000 /* time of event 0 */
#define WEIR_NEXMARK_PRICES  1024

struct weir_nexmark_params {
	uint64_t seed;
	uint64_t rate;	 /* events per second of event time, >= 1 */
	uint64_t group;	 /* out-of-order group, >= 1, no multiple of 953 */
	uint64_t events; /* numbers 0..events-1 exist; UINT64_MAX: endless */
};

/* Columns to fill; NULL: not wanted. Each has room for as many rows as positions are asked for. */
struct weir_nexmark_bids {
	uint64_t *auction;
	uint64_t *bidder;
	uint64_t *price;
	int64_t *time_ns;
};

/* What stood at the positions asked for. */
struct weir_nexmark_tally {
	uint64_t persons;
	uint64_t auctions;
	uint64_t bids;
	uint64_t absent; /* positions of the last group whose number is beyond the end */
};

/* What all bids of one epoch (50 events) draw from. */
struct weir_nexmark_epoch {
	uint64_t auction_hot, auction_min, auction_cnt;
	uint64_t bidder_hot, bidder_min, bidder_cnt;
};

struct weir_nexmark;

/* Bids first..first+cnt-1, all of one epoch, into the columns that are not NULL. */
typedef void (*weir_nexmark_kernel)(const struct weir_nexmark *gen,
				    const struct weir_nexmark_epoch *epoch, uint64_t first,
				    uint32_t cnt, const struct weir_nexmark_bids *out);

struct weir_nexmark {
	struct weir_nexmark_params params;
	weir_nexmark_kernel kernel;
	uint64_t rate_inverse;		     /* floor((2^64 - 1) / rate) */
	uint64_t price[WEIR_NEXMARK_PRICES]; /* T[j] below, T[j+1] - T[j] above 32 bits */
};

/* Prepare for params; isa as weir_isa() gives it, or lower. Fails with WEIR_ERR_CONFIG. */
WEIR_MUST_USE int weir_nexmark_init(struct weir_nexmark *gen,
				    const struct weir_nexmark_params *params, enum weir_isa isa,
				    struct weir_error *err);

/* Positions in all: the last group runs to its end. UINT64_MAX: endless. */
uint64_t weir_nexmark_positions(const struct weir_nexmark *gen);

/*
 * The bids among cnt positions from pos on, in order of position: returns how many, adds what stood
 * there to *tally. All positions are below weir_nexmark_positions.
 */
uint32_t weir_nexmark_bids(const struct weir_nexmark *gen, uint64_t pos, uint32_t cnt,
			   const struct weir_nexmark_bids *out, struct weir_nexmark_tally *tally);

/* After position pos nothing at or below this time comes any more. */
int64_t weir_nexmark_watermark(const struct weir_nexmark *gen, uint64_t pos);

/* Time of event number n. */
int64_t weir_nexmark_time(const struct weir_nexmark *gen, uint64_t n);

/* The scalar twin of the vector kernels; public for the test that compares them. */
void weir_nexmark_kernel_v2(const struct weir_nexmark *gen, const struct weir_nexmark_epoch *epoch,
			    uint64_t first, uint32_t cnt, const struct weir_nexmark_bids *out);
void weir_nexmark_kernel_v3(const struct weir_nexmark *gen, const struct weir_nexmark_epoch *epoch,
			    uint64_t first, uint32_t cnt, const struct weir_nexmark_bids *out);
void weir_nexmark_kernel_v4(const struct weir_nexmark *gen, const struct weir_nexmark_epoch *epoch,
			    uint64_t first, uint32_t cnt, const struct weir_nexmark_bids *out);

#endif /* WEIR_JOBS_NEXMARK_GEN_H */

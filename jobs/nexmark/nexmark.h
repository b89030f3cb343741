#ifndef WEIR_JOBS_NEXMARK_NEXMARK_H
#define WEIR_JOBS_NEXMARK_NEXMARK_H

/*
 * Queries of the Nexmark benchmark over generated bids. Settings: job.events (unset: endless),
 * job.seed, job.event-rate (events per second of event time), job.out-of-order-group (events come
 * out of order within groups of so many), job.rebalance (an exchange in front of the sink).
 */

#include <weir/job.h>

enum { WEIR_BID_AUCTION, WEIR_BID_BIDDER, WEIR_BID_PRICE, WEIR_BID_TIME };

/*
 * {U64 auction, U64 bidder, U64 price, TIME time}. Every split is a share of the event numbers:
 * blocks of them in turn. Persons and auctions are dropped as `kind`. Position: the next number's
 * place in the order in which events are emitted.
 */
extern const struct weir_connector weir_nexmark_source;

int weir_nexmark_q0(struct weir_job *job, const struct weir_params *params);
int weir_nexmark_q1(struct weir_job *job, const struct weir_params *params);
int weir_nexmark_q2(struct weir_job *job, const struct weir_params *params);
int weir_nexmark_q5(struct weir_job *job, const struct weir_params *params);
int weir_nexmark_q7(struct weir_job *job, const struct weir_params *params);

#endif /* WEIR_JOBS_NEXMARK_NEXMARK_H */

#include "app/restart.h"

#include "engine/base/error.h"

#include <stdlib.h>
#include <string.h>

void
weir_restart_init(struct weir_restart *r, const struct weir_config *cfg)
{
	memset(r, 0, sizeof(*r));
	r->cfg = cfg;
	r->backoff_ns = cfg->restart_initial_backoff;
	r->failed_at = calloc(cfg->restart_max_failures + 1, sizeof(*r->failed_at));
	WEIR_ASSERT(r->failed_at != NULL);
}

void
weir_restart_fini(struct weir_restart *r)
{
	free(r->failed_at);
	r->failed_at = NULL;
}

/* Another attempt would meet the same usage, data, input or configuration. */
static bool
is_final(int code)
{
	return code == WEIR_ERR_USAGE || code == WEIR_ERR_DATA || code == WEIR_ERR_NOINPUT ||
	       code == WEIR_ERR_CONFIG;
}

static bool
next_by_rate(struct weir_restart *r, int64_t now_ns)
{
	const uint64_t size = r->cfg->restart_max_failures + 1;
	const uint64_t slot = r->failure_cnt % size;

	r->failed_at[slot] = now_ns;
	r->failure_cnt++;
	if (r->failure_cnt < size)
		return true;
	/* The oldest of the last max-failures + 1 failures is in the slot to be overwritten next.
	 */
	return now_ns - r->failed_at[r->failure_cnt % size] > r->cfg->restart_failure_interval;
}

static int64_t
grow(const struct weir_config *cfg, int64_t backoff_ns)
{
	const weir_u128 next = (weir_u128)backoff_ns * cfg->restart_backoff_multiplier / 1000;

	return next > (weir_u128)cfg->restart_max_backoff ? cfg->restart_max_backoff
							  : (int64_t)next;
}

static bool
next_exponential(struct weir_restart *r, const struct weir_attempt_end *end, int64_t *delay_ns)
{
	if (end->progressed || end->ran_ns >= r->cfg->restart_reset_after) {
		r->in_a_row = 0;
		r->backoff_ns = r->cfg->restart_initial_backoff;
	}
	if (r->in_a_row == r->cfg->restart_attempts)
		return false;
	r->in_a_row++;
	*delay_ns = r->backoff_ns;
	r->backoff_ns = grow(r->cfg, r->backoff_ns);
	return true;
}

bool
weir_restart_next(struct weir_restart *r, const struct weir_attempt_end *end, int64_t *delay_ns,
		  const char **why)
{
	*why = "this kind of failure is not retried";
	if (is_final(end->code))
		return false;
	*delay_ns = r->cfg->restart_delay;
	switch (r->cfg->restart_strategy) {
	case WEIR_CFG_RESTART_NONE:
		*why = "restart.strategy is none";
		return false;
	case WEIR_CFG_RESTART_FIXED_DELAY:
		*why = "restart.attempts are used up";
		return r->in_a_row++ < r->cfg->restart_attempts;
	case WEIR_CFG_RESTART_FAILURE_RATE:
		*why = "more than restart.max-failures within restart.failure-interval";
		return next_by_rate(r, end->now_ns);
	case WEIR_CFG_RESTART_EXPONENTIAL_DELAY:
		*why = "restart.attempts in a row brought no checkpoint";
		return next_exponential(r, end, delay_ns);
	}
	return false;
}

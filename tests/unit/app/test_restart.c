/* Restart strategies over made-up ends and times (R6). */

#include "app/restart.h"
#include "engine/base/error.h"

#include <criterion/criterion.h>

#define MS INT64_C(1000000)

static void
configure(struct weir_config *cfg, const char *const *sets, uint32_t cnt)
{
	weir_config_init(cfg);
	for (uint32_t i = 0; i < cnt; i++)
		cr_assert_eq(weir_config_set(cfg, sets[i]), 0, "%s", sets[i]);
	cr_assert_eq(weir_config_finish(cfg), 0);
}

static int64_t
delay_after(struct weir_restart *r, int code, int64_t now_ns, int64_t ran_ns, bool progressed)
{
	const struct weir_attempt_end end = {
		.code = code, .now_ns = now_ns, .ran_ns = ran_ns, .progressed = progressed
	};
	int64_t delay_ns = -2;
	const char *why;

	if (!weir_restart_next(r, &end, &delay_ns, &why)) {
		cr_expect_not_null(why);
		return -1;
	}
	return delay_ns;
}

Test(restart, some_kinds_are_never_retried)
{
	static const char *const sets[] = { "checkpoint.interval=1s" };
	static const int final[] = { WEIR_ERR_USAGE, WEIR_ERR_DATA, WEIR_ERR_NOINPUT,
				     WEIR_ERR_CONFIG };
	static const int retried[] = { WEIR_ERR_UNAVAILABLE, WEIR_ERR_FAILED, WEIR_ERR_IO };
	struct weir_config cfg;
	struct weir_restart r;

	configure(&cfg, sets, 1);
	weir_restart_init(&r, &cfg);
	for (size_t i = 0; i < WEIR_ARRAY_CNT(final); i++)
		cr_expect_eq(delay_after(&r, final[i], 0, 0, true), -1, "%d", final[i]);
	for (size_t i = 0; i < WEIR_ARRAY_CNT(retried); i++)
		cr_expect_geq(delay_after(&r, retried[i], 0, 0, true), 0, "%d", retried[i]);
	weir_restart_fini(&r);
	weir_config_fini(&cfg);
}

Test(restart, without_checkpoints_there_is_none)
{
	struct weir_config cfg;
	struct weir_restart r;

	configure(&cfg, NULL, 0);
	weir_restart_init(&r, &cfg);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, true), -1);
	weir_restart_fini(&r);
	weir_config_fini(&cfg);
}

Test(restart, fixed_delay_counts_all_restarts)
{
	static const char *const sets[] = { "restart.strategy=fixed-delay", "restart.attempts=2",
					    "restart.delay=7ms" };
	struct weir_config cfg;
	struct weir_restart r;

	configure(&cfg, sets, 3);
	weir_restart_init(&r, &cfg);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, true), 7 * MS);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, true), 7 * MS);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, true), -1);
	weir_restart_fini(&r);
	weir_config_fini(&cfg);
}

Test(restart, failure_rate_looks_back_one_interval)
{
	static const char *const sets[] = { "restart.strategy=failure-rate",
					    "restart.max-failures=2",
					    "restart.failure-interval=100ms", "restart.delay=0" };
	struct weir_config cfg;
	struct weir_restart r;

	configure(&cfg, sets, 4);
	weir_restart_init(&r, &cfg);
	/* Two within an interval are borne, also when the interval slides. */
	for (int64_t t = 0; t < 1000; t += 60)
		cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, t * MS, 0, false), 0, "%lld",
			     (long long)t);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 990 * MS, 0, false), -1);
	weir_restart_fini(&r);
	weir_config_fini(&cfg);
}

Test(restart, exponential_delay_grows_to_its_bound)
{
	static const char *const sets[] = {
		"restart.strategy=exponential-delay", "restart.initial-backoff=10ms",
		"restart.max-backoff=25ms", "restart.backoff-multiplier=1.5", "restart.attempts=4"
	};
	struct weir_config cfg;
	struct weir_restart r;

	configure(&cfg, sets, 5);
	weir_restart_init(&r, &cfg);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, false), 10 * MS);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, false), 15 * MS);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, false), 22500 * MS / 1000);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, false), 25 * MS);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, false), -1);
	weir_restart_fini(&r);
	weir_config_fini(&cfg);
}

Test(restart, progress_starts_the_delays_afresh)
{
	static const char *const sets[] = { "restart.strategy=exponential-delay",
					    "restart.attempts=2", "restart.reset-after=1min" };
	struct weir_config cfg;
	struct weir_restart r;

	configure(&cfg, sets, 3);
	weir_restart_init(&r, &cfg);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, false), 10 * MS);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 59999 * MS, false), 20 * MS);
	for (int i = 0; i < 50; i++)
		cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, true), 10 * MS);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, false), 20 * MS);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 60000 * MS, false), 10 * MS);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, false), 20 * MS);
	cr_expect_eq(delay_after(&r, WEIR_ERR_FAILED, 0, 0, false), -1);
	weir_restart_fini(&r);
	weir_config_fini(&cfg);
}

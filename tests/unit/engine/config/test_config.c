/* Keys, values, duplicates, origins: what a configuration says and what it may not say. */

#include "engine/base/error.h"
#include "engine/config/config.h"
#include "engine/config/params.h"
#include "weir/job.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text collected from a writer. */
struct text {
	char bytes[65536];
	size_t len;
};

static void
collect(void *arg, const char *text, size_t len)
{
	struct text *t = arg;

	cr_assert(t->len + len < sizeof(t->bytes));
	memcpy(t->bytes + t->len, text, len);
	t->len += len;
	t->bytes[t->len] = '\0';
}

static const char *
errors_of(const struct weir_config *cfg)
{
	static struct text t;

	t.len = 0;
	t.bytes[0] = '\0';
	weir_config_errors_write(cfg, collect, &t);
	return t.bytes;
}

static void
read_text(struct weir_config *cfg, const char *text)
{
	weir_config_init(cfg);
	(void)weir_config_read(cfg, "weir.yaml", text, strlen(text));
	(void)weir_config_finish(cfg);
}

/* The text must give as many errors as want names, and show all of want in this order. */
static void
expect_errors(const char *yaml, const char *const *want, uint32_t cnt)
{
	struct weir_config cfg;
	uint32_t errors = 0;
	const char *got;

	read_text(&cfg, yaml);
	got = errors_of(&cfg);
	for (uint32_t i = 0; i < cnt; i++)
		errors += strstr(want[i], ": error: ") != NULL;
	cr_expect_eq(cfg.error_cnt, errors, "%u errors:\n%s", cfg.error_cnt, got);
	for (uint32_t i = 0; i < cnt; i++) {
		const char *at = strstr(got, want[i]);

		cr_assert_not_null(at, "no \"%s\" (or out of order) in\n%s", want[i], got);
		got = at;
	}
	weir_config_fini(&cfg);
}

#define EXPECT_ERRORS(yaml, ...)                                                                   \
	do {                                                                                       \
		static const char *const want_[] = { __VA_ARGS__ };                                \
		expect_errors(yaml, want_, (uint32_t)WEIR_ARRAY_CNT(want_));                       \
	} while (0)

Test(config, defaults_are_those_of_the_table)
{
	struct weir_config cfg;

	read_text(&cfg, "");
	cr_expect_eq(cfg.error_cnt, 0);
	cr_expect_null(cfg.job_name);
	cr_expect_str_eq(cfg.job_output, "-");
	cr_expect_eq(cfg.job_events, WEIR_CONFIG_UNSET);
	cr_expect_eq(cfg.job_seed, 1);
	cr_expect_eq(cfg.job_event_rate, 10000000);
	cr_expect_eq(cfg.job_out_of_order, 1000000000);
	cr_expect_eq(cfg.job_window, 10000000000);
	cr_expect_eq(cfg.checkpoint_interval, 0);
	cr_expect_null(cfg.checkpoint_dir);
	cr_expect_eq(cfg.checkpoint_timeout, INT64_C(600000000000));
	cr_expect_eq(cfg.checkpoint_retention, WEIR_CFG_RETAIN_ALWAYS);
	cr_expect_eq(cfg.parallelism, WEIR_CONFIG_UNSET);
	cr_expect_eq(cfg.memory_frame_size, 8192);
	cr_expect_eq(cfg.memory_state, UINT64_C(1) << 30);
	cr_expect_str_eq(cfg.restore_from, "none");
	cr_expect_eq(cfg.restart_strategy, WEIR_CFG_RESTART_NONE);
	cr_expect_eq(cfg.restart_backoff_multiplier, 2000);
	cr_expect_eq(cfg.exchange_linger, 1000000);
	weir_config_fini(&cfg);
}

Test(config, checkpoints_bring_a_directory_and_a_restart_strategy)
{
	struct weir_config cfg;

	read_text(&cfg, "checkpoint.interval: 100ms");
	cr_expect_str_eq(cfg.checkpoint_dir, "./weir-checkpoints");
	cr_expect_eq(cfg.restart_strategy, WEIR_CFG_RESTART_EXPONENTIAL_DELAY);
	cr_expect_not(weir_config_is_set(&cfg, WEIR_KEY_restart_strategy));
	weir_config_fini(&cfg);
	read_text(&cfg, "checkpoint.interval: 100ms\nrestart.strategy: none");
	cr_expect_eq(cfg.restart_strategy, WEIR_CFG_RESTART_NONE);
	weir_config_fini(&cfg);
}

Test(config, a_value_knows_its_place)
{
	struct weir_config cfg;
	char where[64];

	weir_config_init(&cfg);
	cr_assert_eq(weir_config_read(&cfg, "f.yaml", "job:\n  seed: \"7\"\n", 17), 0);
	cr_assert_eq(weir_config_set(&cfg, "job.events=100M"), 0);
	cr_assert_eq(weir_config_finish(&cfg), 0);
	cr_expect_eq(cfg.job_seed, 7);
	cr_expect_eq(cfg.job_events, 100000000);
	cr_expect_str_eq(weir_config_where(&cfg, cfg.origin[WEIR_KEY_job_seed], where, 64),
			 "f.yaml:2:10");
	cr_expect_str_eq(weir_config_where(&cfg, cfg.origin[WEIR_KEY_job_events], where, 64),
			 "--set job.events=100M:1:12");
	cr_expect_str_eq(weir_config_where(&cfg, cfg.origin[WEIR_KEY_job_rate], where, 64),
			 "default");
	weir_config_fini(&cfg);
}

Test(config, regress_a_quote_within_quotes_moves_nothing)
{
	EXPECT_ERRORS("job:\n  seed: \"'x'\"\n  rate: 'y'\n  events: z\n",
		      "weir.yaml:2:10: error: job.seed", "weir.yaml:3:10: error: job.rate",
		      "weir.yaml:4:11: error: job.events");
}

Test(config, set_wins_over_the_file)
{
	struct weir_config cfg;

	weir_config_init(&cfg);
	cr_assert_eq(weir_config_read(&cfg, "f", "job.seed: 7", 11), 0);
	cr_assert_eq(weir_config_set(&cfg, "job.seed=8"), 0);
	cr_assert_eq(weir_config_finish(&cfg), 0);
	cr_expect_eq(cfg.job_seed, 8);
	weir_config_fini(&cfg);
}

Test(config, operators_have_parallelism_and_cores)
{
	struct weir_config cfg;

	weir_config_init(&cfg);
	cr_assert_eq(weir_config_read(&cfg, "f", "operators: {count-1: {cores: \"0,1,1\"}}", 38),
		     0);
	cr_assert_eq(weir_config_set(&cfg, "operators.count-1.parallelism=3"), 0);
	cr_assert_eq(weir_config_set(&cfg, "operators.src.parallelism=2"), 0);
	cr_assert_eq(weir_config_finish(&cfg), 0);
	cr_assert_not_null(cfg.operators);
	cr_expect_str_eq(cfg.operators->id, "count-1");
	cr_expect_eq(cfg.operators->parallelism, 3);
	cr_expect_eq(cfg.operators->cores.cnt, 3);
	cr_expect_eq(cfg.operators->cores.cpu[2], 1);
	cr_expect_eq(cfg.operators->cores_at.col, 31);
	cr_expect_str_eq(cfg.operators->next->id, "src");
	cr_expect_null(cfg.operators->next->next);
	weir_config_fini(&cfg);
}

Test(config, all_errors_come_in_one_pass)
{
	EXPECT_ERRORS("job:\n  evnts: 5\n  events: 010\n  seed: 1e3\n  window: 10\ncheckpoint:\n"
		      "  interval: 10MS\n  timeout: \"5KiB\"\n  interval: 20ms\n"
		      "chekpoint:\n  dir: 1\n  min-pause: 3\nparallelism: 0\n",
		      "weir.yaml:2:3: error: unknown key job.evnts", "did you mean job.events?",
		      "weir.yaml:3:11: error: job.events: 010", "write 10",
		      "weir.yaml:4:10: error: job.seed: 1e3", "weir.yaml:5:11: error: job.window",
		      "weir.yaml:7:15: error: checkpoint.interval: unknown unit \"MS\"",
		      "did you mean 10ms?", "weir.yaml:8:14: error: checkpoint.timeout: wrong unit",
		      "weir.yaml:9:3: error: checkpoint.interval is given twice",
		      "weir.yaml:10:1: error: unknown section chekpoint",
		      "weir.yaml:12:14: error: checkpoint.min-pause: 3 has no unit",
		      "weir.yaml:13:14: error: parallelism: 0 is out of range: 1 to 256");
}

Test(config, syntax_error_comes_with_the_others)
{
	EXPECT_ERRORS("job: {seed: 0x10, events: 1_000}\nx: ]", "weir.yaml:1:13: error: job.seed",
		      "weir.yaml:1:28: error: job.events", "weir.yaml:2:4: error: YAML syntax");
}

Test(config, given_twice)
{
	EXPECT_ERRORS("job.seed: 1\njob:\n  seed: 2\n",
		      "weir.yaml:3:3: error: job.seed is given twice",
		      "first given at weir.yaml:1:1");
}

Test(config, section_given_twice)
{
	EXPECT_ERRORS("job: {seed: 2}\njob: {rate: 3}\n",
		      "weir.yaml:2:1: error: section job is given twice");
}

Test(config, kinds_that_do_not_fit)
{
	EXPECT_ERRORS("job: 5\ncores: [0]\nparallelism: {a: 1}\ncheckpoint:\n  dir: *x\n",
		      "weir.yaml:1:6: error: job is a section",
		      "weir.yaml:2:8: error: cores takes no YAML list",
		      "weir.yaml:3:1: error: parallelism is not a section",
		      "weir.yaml:5:8: error: checkpoint.dir: no YAML aliases");
}

Test(config, root_must_be_a_mapping)
{
	EXPECT_ERRORS("- a\n- b\n", "weir.yaml:1:1: error: a configuration is a mapping");
}

Test(config, unaligned_needs_exactly_once_and_one_at_a_time) /* C8 */
{
	EXPECT_ERRORS("checkpoint.unaligned: true\ncheckpoint.mode: at-least-once\n",
		      "weir.yaml:1:23: error: checkpoint.unaligned: needs checkpoint.mode");
	EXPECT_ERRORS(
		"checkpoint.max-concurrent: 2\ncheckpoint.unaligned: true\n",
		"weir.yaml:2:23: error: checkpoint.unaligned: needs checkpoint.max-concurrent");
	EXPECT_ERRORS("checkpoint.aligned-timeout: 50ms\n",
		      "weir.yaml:1:29: error: checkpoint.aligned-timeout: needs "
		      "checkpoint.unaligned");
}

Test(config, near_nic_says_what_it_lacks)
{
	EXPECT_ERRORS("placement.policy: near-nic",
		      "weir.yaml:1:19: error: placement.policy: near-nic needs a network card");
}

Test(config, max_parallelism_is_a_power_of_two) /* R4 */
{
	EXPECT_ERRORS("max-parallelism: 100\n",
		      "weir.yaml:1:18: error: max-parallelism: 100 is no power of two; the next "
		      "is 128");
	EXPECT_ERRORS("max-parallelism: 1\n", "weir.yaml:1:18: error: max-parallelism: ");
}

Test(config, keys_against_each_other)
{
	EXPECT_ERRORS("job.out-of-order-group: 1906\njob.name: ../x\nrestart.max-backoff: 1ms\n",
		      "weir.yaml:1:25: error: job.out-of-order-group: 1906 is a multiple of 953",
		      "weir.yaml:2:11: error: job.name",
		      "weir.yaml:3:22: error: restart.max-backoff");
}

/* A caret stands below the character it means, tabs and wide text in front notwithstanding. */
Test(config, caret_stands_below)
{
	struct weir_config cfg;

	read_text(&cfg, "job:\n  name: é\n  input: \"ä\", seed: 1\n");
	weir_config_fini(&cfg);
	read_text(&cfg, "{job.input: \"ä\", job.seed: x}\n");
	cr_expect_not_null(strstr(errors_of(&cfg),
				  "weir.yaml:1:28: error: job.seed: \"x\" is not a "
				  "number (k, M, G)\n"
				  "    1 | {job.input: \"ä\", job.seed: x}\n"
				  "      |                            ^\n"),
			   "%s", errors_of(&cfg));
	weir_config_fini(&cfg);
}

static uint32_t
errors_of_set(const char *assignment)
{
	struct weir_config cfg;
	uint32_t cnt;

	weir_config_init(&cfg);
	(void)weir_config_set(&cfg, assignment);
	(void)weir_config_finish(&cfg);
	cnt = cfg.error_cnt;
	weir_config_fini(&cfg);
	return cnt;
}

Test(config, good_values)
{
	static const char *const good[] = {
		"job.seed=0",
		"job.seed=18446744073709551615",
		"job.rate=10k",
		"job.rate=1G",
		"job.out-of-order=0",
		"job.out-of-order=unbounded",
		"job.out-of-order=5us",
		"job.window=1min",
		"checkpoint.interval=0ms",
		"checkpoint.interval=2h",
		"memory.frame-size=16KiB",
		"memory.state=1MiB",
		"memory.state=512GiB",
		"cores=0",
		"cores=2-5,8",
		"cores=0,1,1",
		"job.latency=true",
		"job.latency=false",
		"job.output=null",
		"restart.backoff-multiplier=1.5",
		"job.input=/a b=c",
		"checkpoint.retention=on-cancel",
		"operators.a_B-9.cores=1",
		"job.events=0",
	};

	for (size_t i = 0; i < WEIR_ARRAY_CNT(good); i++)
		cr_expect_eq(errors_of_set(good[i]), 0, "%s", good[i]);
}

static const char *const bad_sets[] = {
	"job.seed=18446744073709551616",
	"job.seed=18446744073709552k",
	"job.seed=010",
	"job.seed=00",
	"job.seed=-1",
	"job.seed=+1",
	"job.seed=1.5",
	"job.seed=1e3",
	"job.seed=0x10",
	"job.seed=1_000",
	"job.seed=1 000",
	"job.seed=",
	"job.seed= 1",
	"job.seed=1 ",
	"job.seed=10K",
	"job.seed=10ms",
	"job.seed=10KiB",
	"job.seed=~",
	"job.rate=1m",
	"job.window=0",
	"job.window=10",
	"job.window=1500ms",
	"job.window=10S",
	"job.window=10k",
	"job.window=unbounded",
	"job.out-of-order=Unbounded",
	"job.out-of-order=1",
	"checkpoint.interval=10",
	"checkpoint.interval=10m",
	"checkpoint.interval=10sec",
	"checkpoint.interval=10 ms",
	"checkpoint.interval=9000h",
	"checkpoint.interval=99999999999999h",
	"memory.frame-size=8192",
	"memory.frame-size=8KB",
	"memory.frame-size=8k",
	"memory.frame-size=6KiB",
	"memory.frame-size=1GiB",
	"memory.state=1",
	"memory.state=0",
	"parallelism=0",
	"parallelism=1025",
	"cores=",
	"cores=a",
	"cores=0,",
	"cores=,0",
	"cores=0-",
	"cores=3-2",
	"cores=01",
	"cores=0 1",
	"cores=0, 1",
	"cores=4096",
	"cores=0:1",
	"cores=0-4095,0",
	"job.latency=1",
	"job.latency=yes",
	"job.latency=True",
	"job.emit=END",
	"job.emit=0",
	"restart.backoff-multiplier=0.5",
	"restart.backoff-multiplier=1.",
	"restart.backoff-multiplier=1.0001",
	"restart.backoff-multiplier=2x",
	"operators.a.parallelism=0",
	"operators.a=1",
	"operators..cores=1",
	"operators.a b.cores=1",
	"operators.a.b.cores=1",
	"job=1",
	"=1",
	"",
	"job.seed",
	"job..seed=1",
	".job.seed=1",
	"job.seed.=1",
	"job.input=\xff",
};

Test(config, bad_values)
{
	for (size_t i = 0; i < WEIR_ARRAY_CNT(bad_sets); i++)
		cr_expect_eq(errors_of_set(bad_sets[i]), 1, "%s: %u errors", bad_sets[i],
			     errors_of_set(bad_sets[i]));
}

/* 1.0 and 2 are the same factor to a reader, and a number is printed in its largest exact unit. */
Test(config, value_text_uses_the_largest_unit)
{
	struct weir_config cfg;
	char buf[64];

	read_text(&cfg, "job: {rate: 1500k, event-rate: 1000}\ncheckpoint.interval: 90000ms\n"
			"memory.state: 2048MiB\nrestart.backoff-multiplier: 1.25");
	cr_assert(weir_config_value_text(&cfg, WEIR_KEY_job_rate, buf, sizeof(buf)));
	cr_expect_str_eq(buf, "1500k");
	cr_assert(weir_config_value_text(&cfg, WEIR_KEY_job_event_rate, buf, sizeof(buf)));
	cr_expect_str_eq(buf, "1k");
	cr_assert(weir_config_value_text(&cfg, WEIR_KEY_checkpoint_interval, buf, sizeof(buf)));
	cr_expect_str_eq(buf, "90s");
	cr_assert(weir_config_value_text(&cfg, WEIR_KEY_memory_state, buf, sizeof(buf)));
	cr_expect_str_eq(buf, "2GiB");
	cr_assert(weir_config_value_text(&cfg, WEIR_KEY_restart_backoff_multiplier, buf,
					 sizeof(buf)));
	cr_expect_str_eq(buf, "1.250");
	cr_expect_not(weir_config_value_text(&cfg, WEIR_KEY_job_events, buf, sizeof(buf)));
	weir_config_fini(&cfg);
}

/* Pitfall 27: whatever one letter of a key becomes, the result is no key. */
static void
expect_unknown(const char *path)
{
	char assignment[128];

	for (uint32_t i = 0; i < WEIR_KEY_CNT; i++) {
		if (strcmp(path, weir_config_keys[i].path) == 0)
			cr_assert_fail("two keys are one letter apart: %s", path);
	}
	snprintf(assignment, sizeof(assignment), "%s=1", path);
	cr_expect_eq(errors_of_set(assignment), 1, "%s is taken", path);
}

static void
mutate(const char *path)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz-._ A0";
	const size_t len = strlen(path);
	char out[96];

	for (size_t at = 0; at <= len; at++) {
		if (at < len) {
			snprintf(out, sizeof(out), "%.*s%s", (int)at, path, path + at + 1);
			expect_unknown(out);
		}
		for (const char *c = letters; *c != '\0'; c++) {
			snprintf(out, sizeof(out), "%.*s%c%s", (int)at, path, *c, path + at);
			expect_unknown(out);
			if (at == len || path[at] == *c)
				continue;
			snprintf(out, sizeof(out), "%.*s%c%s", (int)at, path, *c, path + at + 1);
			expect_unknown(out);
		}
	}
}

Test(config, one_letter_changed_in_any_key_is_an_error)
{
	for (uint32_t key = 0; key < WEIR_KEY_CNT; key++)
		mutate(weir_config_keys[key].path);
}

static bool
same_value(const struct weir_config *a, const struct weir_config *b, enum weir_config_key key)
{
	char x[8192], y[8192];
	const bool has = weir_config_value_text(a, key, x, sizeof(x));

	return has == weir_config_value_text(b, key, y, sizeof(y)) && strcmp(x, y) == 0;
}

static void
expect_round_trip(const struct weir_config *cfg, enum weir_config_print what)
{
	static struct text t;
	struct weir_config again;

	t.len = 0;
	weir_config_write(cfg, what, collect, &t);
	weir_config_init(&again);
	cr_expect_eq(weir_config_read(&again, "again", t.bytes, t.len), 0, "%s\n%s", t.bytes,
		     errors_of(&again));
	cr_expect_eq(weir_config_finish(&again), 0);
	for (uint32_t key = 0; key < WEIR_KEY_CNT; key++)
		cr_expect(same_value(cfg, &again, key), "%s", weir_config_keys[key].path);
	cr_assert_not_null(again.operators);
	cr_expect_eq(again.operators->parallelism, 2);
	cr_expect_str_eq(again.operators->cores.text, "0-1");
	weir_config_fini(&again);
}

Test(config, what_is_shown_parses_back_to_the_same)
{
	struct weir_config cfg;

	weir_config_init(&cfg);
	cr_assert_eq(weir_config_set(&cfg, "job.input=/a \"b\" # c: \t\\ é\x01\x7f 'x"), 0);
	cr_assert_eq(weir_config_set(&cfg, "job.output=- null"), 0);
	cr_assert_eq(weir_config_set(&cfg, "checkpoint.dir=null"), 0);
	cr_assert_eq(weir_config_set(&cfg, "checkpoint.interval=1500us"), 0);
	cr_assert_eq(weir_config_set(&cfg, "job.out-of-order=unbounded"), 0);
	cr_assert_eq(weir_config_set(&cfg, "job.seed=18446744073709551615"), 0);
	cr_assert_eq(weir_config_set(&cfg, "restart.backoff-multiplier=1.005"), 0);
	cr_assert_eq(weir_config_set(&cfg, "cores=0,1,1"), 0);
	cr_assert_eq(weir_config_set(&cfg, "exclude=5"), 0);
	cr_assert_eq(weir_config_set(&cfg, "operators.map.parallelism=2"), 0);
	cr_assert_eq(weir_config_set(&cfg, "operators.map.cores=0-1"), 0);
	cr_assert_eq(weir_config_finish(&cfg), 0);
	weir_config_force(&cfg, WEIR_KEY_restore_from, "/x/chk-7");
	expect_round_trip(&cfg, WEIR_PRINT_ALL);
	expect_round_trip(&cfg, WEIR_PRINT_GIVEN);
	weir_config_fini(&cfg);
}

static const char *
two_cpus(void *arg, uint32_t cpu)
{
	(void)arg;
	return cpu < 2 ? NULL : "is not there";
}

Test(config, cpus_that_are_not_there_are_named_with_their_place)
{
	struct weir_config cfg;
	const char *got;

	weir_config_init(&cfg);
	cr_assert_eq(weir_config_set(&cfg, "cores=0,99,3-5"), 0);
	cr_assert_eq(weir_config_set(&cfg, "operators.a.cores=1,2"), 0);
	cr_assert_eq(weir_config_finish(&cfg), 0);
	weir_config_check_cpus(&cfg, two_cpus, NULL);
	got = errors_of(&cfg);
	cr_expect_eq(cfg.error_cnt, 3, "%s", got);
	cr_expect_not_null(
		strstr(got, "--set cores=0,99,3-5:1:9: error: cores: CPU 99 is not there"));
	cr_expect_not_null(strstr(got, ":1:12: error: cores: CPU 3"));
	cr_expect_not_null(strstr(got, ":1:21: error: operators.a.cores: CPU 2 is not there"), "%s",
			   got);
	weir_config_fini(&cfg);
}

Test(config, more_errors_than_are_kept_are_counted)
{
	static char text[8192];
	struct weir_config cfg;
	size_t len = 0;

	for (int i = 0; i < 300; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "zz%d: 1\n", i);
	read_text(&cfg, text);
	cr_expect_eq(cfg.error_cnt, 300);
	cr_expect_not_null(strstr(errors_of(&cfg), "100 more errors"));
	weir_config_fini(&cfg);
}

Test(config, suggestions_are_near)
{
	static const char *const words[] = { "wordcount", "flowstats", "nexmark-q5" };

	cr_expect_str_eq(weir_suggest("wordcuont", words, 3), "wordcount");
	cr_expect_str_eq(weir_suggest("nexmark-q4", words, 3), "nexmark-q5");
	cr_expect_null(weir_suggest("banana", words, 3));
}

Test(params, given_then_the_configurations_default_then_the_callers)
{
	struct weir_config cfg;
	const struct weir_params params = { &cfg };

	read_text(&cfg, "job: {seed: 7, out-of-order: unbounded, strict: true}");
	cr_expect_eq(weir_param_u64(&params, "seed", 3), 7);
	cr_expect_eq(weir_param_u64(&params, "event-rate", 3), 10000000);
	cr_expect_eq(weir_param_u64(&params, "events", 3), 3);
	cr_expect_eq(weir_param_time_ns(&params, "out-of-order", 3), INT64_MAX);
	cr_expect_str_eq(weir_param_text(&params, "out-of-order", "x"), "unbounded");
	cr_expect_str_eq(weir_param_text(&params, "input", "x"), "x");
	cr_expect_str_eq(weir_param_text(&params, "no-such-key", "x"), "x");
	cr_expect(weir_param_bool(&params, "strict", false));
	cr_expect_not(weir_param_bool(&params, "filler", true));
	weir_config_fini(&cfg);
}

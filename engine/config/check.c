#include "engine/base/error.h"
#include "engine/config/config_priv.h"

/* Defaults that depend on other keys, checks of keys against each other, CPUs against the machine.
 */

#include <stdio.h>
#include <string.h>

#define OUT_OF_ORDER_STEP 953u /* the generator's positions of a group advance by it */

static void
derive_defaults(struct weir_config *cfg)
{
	const bool on = cfg->checkpoint_interval > 0;

	if (!weir_config_is_set(cfg, WEIR_KEY_restart_strategy))
		cfg->restart_strategy =
			on ? WEIR_CFG_RESTART_EXPONENTIAL_DELAY : WEIR_CFG_RESTART_NONE;
	if (cfg->checkpoint_dir == NULL && (on || strcmp(cfg->restore_from, "latest") == 0))
		cfg->checkpoint_dir = "./weir-checkpoints";
}

/* job.name is a folder below checkpoint.dir. */
static void
check_job_name(struct weir_config *cfg)
{
	static const char ok[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	const char *name = cfg->job_name;

	if (name == NULL)
		return;
	if (strspn(name, ok) != strlen(name) || name[0] == '.' || name[0] == '-' ||
	    strlen(name) > 100)
		weir_config_error_key(cfg, WEIR_KEY_job_name, NULL,
				      "\"%s\" must be up to 100 letters, digits, _, - or ., "
				      "beginning with a letter, a digit or _",
				      name);
}

/* What to do with the thing that is restored needs one: R9, S6, S7. */
static void
check_restore(struct weir_config *cfg)
{
	const bool none = strcmp(cfg->restore_from, "none") == 0;

	if (cfg->restore_ignore_in_flight && (none || strcmp(cfg->restore_from, "latest") == 0))
		weir_config_error_key(cfg, WEIR_KEY_restore_ignore_in_flight, NULL,
				      "it loses rows: restore.from must name the checkpoint by its "
				      "path");
	if (cfg->restore_claim && none)
		weir_config_error_key(cfg, WEIR_KEY_restore_claim, NULL,
				      "there is nothing to claim: restore.from is none");
	if (cfg->restore_claim && cfg->checkpoint_interval == 0)
		weir_config_error_key(cfg, WEIR_KEY_restore_claim, NULL,
				      "with checkpoint.interval 0 nothing would ever replace it");
}

/* C8: named where it was asked for. */
static void
check_unaligned(struct weir_config *cfg)
{
	if (!cfg->checkpoint_unaligned) {
		if (cfg->checkpoint_aligned_timeout > 0)
			weir_config_error_key(cfg, WEIR_KEY_checkpoint_aligned_timeout,
					      "add checkpoint.unaligned: true",
					      "needs checkpoint.unaligned");
		return;
	}
	if (cfg->checkpoint_mode != WEIR_CFG_MODE_EXACTLY_ONCE)
		weir_config_error_key(cfg, WEIR_KEY_checkpoint_unaligned, NULL,
				      "needs checkpoint.mode exactly-once");
	if (cfg->checkpoint_max_concurrent != 1)
		weir_config_error_key(cfg, WEIR_KEY_checkpoint_unaligned, NULL,
				      "needs checkpoint.max-concurrent 1");
}

/* K15: its state is stored under the name. */
static void
check_hook(struct weir_config *cfg)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	const char *spec = cfg->checkpoint_hook;
	const size_t len = spec != NULL ? strspn(spec, ok) : 0;

	if (spec == NULL)
		return;
	if (len == 0 || len > 60 || spec[len] != ':' || spec[len + 1] == '\0')
		weir_config_error_key(cfg, WEIR_KEY_checkpoint_hook, NULL,
				      "it is a name of up to 60 small letters, digits or -, a "
				      "colon and a command");
}

/* R4 */
static void
check_max_parallelism(struct weir_config *cfg)
{
	const uint64_t max = cfg->max_parallelism;
	uint64_t next = 2;

	if (max == WEIR_CONFIG_UNSET || (max & (max - 1)) == 0)
		return;
	while (next < max)
		next *= 2;
	weir_config_error_key(cfg, WEIR_KEY_max_parallelism, NULL,
			      "%llu is no power of two; the next is %llu", (unsigned long long)max,
			      (unsigned long long)next);
}

static void
check_placement(struct weir_config *cfg)
{
	if (cfg->placement_policy == WEIR_CFG_PLACE_NEAR_NIC)
		weir_config_error_key(cfg, WEIR_KEY_placement_policy, "same-cache needs none",
				      "near-nic needs a network card to be near to, and no source "
				      "or channel of this version uses one");
}

static void
check_keys(struct weir_config *cfg)
{
	check_max_parallelism(cfg);
	check_hook(cfg);
	check_placement(cfg);
	check_job_name(cfg);
	check_unaligned(cfg);
	if (cfg->job_out_of_order_group % OUT_OF_ORDER_STEP == 0)
		weir_config_error_key(cfg, WEIR_KEY_job_out_of_order_group, NULL,
				      "%llu is a multiple of %u, the step within a group",
				      (unsigned long long)cfg->job_out_of_order_group,
				      OUT_OF_ORDER_STEP);
	check_restore(cfg);
	if (cfg->restart_max_backoff < cfg->restart_initial_backoff) {
		const enum weir_config_key key =
			weir_config_is_set(cfg, WEIR_KEY_restart_max_backoff)
				? WEIR_KEY_restart_max_backoff
				: WEIR_KEY_restart_initial_backoff;

		weir_config_error_key(cfg, key, NULL,
				      "restart.max-backoff is below restart.initial-backoff");
	}
}

int
weir_config_finish(struct weir_config *cfg)
{
	WEIR_ASSERT(!cfg->finished);
	cfg->finished = true;
	derive_defaults(cfg);
	check_keys(cfg);
	return cfg->error_cnt == 0 ? 0 : WEIR_ERR_CONFIG;
}

static void
check_list(struct weir_config *cfg, const char *path, const struct weir_cpu_list *list,
	   struct weir_origin list_at, const char *(*there)(void *arg, uint32_t cpu), void *arg)
{
	for (uint32_t i = 0; i < list->cnt; i++) {
		const uint32_t cpu = list->cpu[i];
		const char *why = there(arg, cpu);
		struct weir_origin at = list_at;
		uint32_t pos, len;

		if (why == NULL)
			continue;
		weir_value_cpu_item(list->text, cpu, &pos, &len);
		at.col += pos;
		at.len = len;
		weir_config_error(cfg, at, NULL, "%s: CPU %u %s", path, cpu, why);
		/* One error for an item: the rest of a range such as 2-99 would say the same. */
		while (i + 1 < list->cnt && list->cpu[i + 1] == list->cpu[i] + 1)
			i++;
	}
}

void
weir_config_check_cpus(struct weir_config *cfg, const char *(*there)(void *arg, uint32_t cpu),
		       void *arg)
{
	static const enum weir_config_key keys[] = { WEIR_KEY_cores, WEIR_KEY_exclude,
						     WEIR_KEY_control_cores };

	for (size_t i = 0; i < WEIR_ARRAY_CNT(keys); i++) {
		const struct weir_config_key_info *info = &weir_config_keys[keys[i]];
		const void *field = (const char *)cfg + info->offset;

		check_list(cfg, info->path, field, cfg->origin[keys[i]], there, arg);
	}
	for (struct weir_operator_config *op = cfg->operators; op != NULL; op = op->next) {
		char path[PATH_MAX_LEN + 32];

		snprintf(path, sizeof(path), "operators.%s.cores", op->id);
		check_list(cfg, path, &op->cores, op->cores_at, there, arg);
	}
}

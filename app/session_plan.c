#include "app/session_plan.h"

#include "engine/base/error.h"
#include "engine/graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Frames in flight per channel: at least 16 per direction (a ring of 8 costs 22 %). All of them are
 * in an unaligned checkpoint under back pressure, and an aligned one waits for them: twice as many
 * made the exchange no faster and both slower.
 */
#define LANE_DEPTH 32u

/* An error of the job or the plan: at the key whose path its text begins with, if it does. */
static void
add_plan_error(struct weir_session *s, const struct weir_error *err, const char *param)
{
	for (uint32_t key = 0; key < WEIR_KEY_CNT; key++) {
		const char *path = weir_config_keys[key].path;
		const size_t len = strlen(path);
		const bool named = strncmp(err->text, path, len) == 0 && err->text[len] == ':';
		const bool meant = param != NULL && strcmp(path, param) == 0;

		if (!named && !meant)
			continue;
		weir_session_error(s, err->code, key, NULL, "%s",
				   named ? err->text + len + 1 + (err->text[len + 1] == ' ')
					 : err->text);
		return;
	}
	weir_session_fail(s, err->code, err->text);
}

static void
list_ids(const char *const *ids, uint32_t cnt, char *text, size_t cap)
{
	size_t at = (size_t)snprintf(text, cap, "it has: ");

	for (uint32_t i = 0; i < cnt && at < cap; i++)
		at += (size_t)snprintf(text + at, cap - at, "%s%s", i > 0 ? ", " : "", ids[i]);
}

static void
check_operator_ids(struct weir_session *s)
{
	const struct weir_job *job = s->job;
	const char *ids[WEIR_OPERATORS_MAX];
	char hint[320];

	for (uint32_t i = 0; i < job->vertex_cnt; i++)
		ids[i] = job->vertex[i].id;
	for (struct weir_operator_config *op = s->cfg.operators; op != NULL; op = op->next) {
		const char *near;

		if (weir_job_find(job, op->id) != UINT32_MAX)
			continue;
		near = weir_suggest(op->id, ids, job->vertex_cnt);
		if (near != NULL)
			snprintf(hint, sizeof(hint), "did you mean operators.%s?", near);
		else
			list_ids(ids, job->vertex_cnt, hint, sizeof(hint));
		weir_config_error(&s->cfg, op->id_at, hint,
				  "operators.%s: the job has no operator of this id", op->id);
	}
}

void
weir_session_make_job(struct weir_session *s)
{
	struct weir_error err = { 0 };
	int rc;

	s->job = weir_job_create();
	WEIR_ASSERT(s->job != NULL);
	rc = s->build(s->job, &s->params);
	if (rc != 0 && s->job->error.code == 0)
		weir_job_mistake(s->job, "weir_job returned %d", rc);
	if (weir_job_finish(s->job, &err) != 0) {
		add_plan_error(s, &err,
			       s->job->error_param[0] != '\0' ? s->job->error_param : NULL);
		return;
	}
	check_operator_ids(s);
}

/* The list as the planner takes it; a new array, or NULL when it is not set. */
static uint32_t *
cpus_of(const struct weir_cpu_list *list)
{
	uint32_t *cpus;

	if (list->text == NULL)
		return NULL;
	cpus = calloc(list->cnt, sizeof(*cpus));
	WEIR_ASSERT(cpus != NULL);
	for (uint32_t i = 0; i < list->cnt; i++)
		cpus[i] = list->cpu[i];
	return cpus;
}

static uint32_t
plan_operators(const struct weir_config *cfg, struct weir_plan_operator *out)
{
	uint32_t cnt = 0;

	for (const struct weir_operator_config *op = cfg->operators; op != NULL; op = op->next) {
		if (cnt == WEIR_OPERATORS_MAX)
			break;
		out[cnt++] = (struct weir_plan_operator){
			.id = op->id,
			.parallelism = op->parallelism,
			.cpus = cpus_of(&op->cores),
			.cpu_cnt = op->cores.cnt,
		};
	}
	return cnt;
}

static enum weir_placement
placement_of(enum weir_cfg_placement policy)
{
	switch (policy) {
	case WEIR_CFG_PLACE_SPREAD:
		return WEIR_PLACE_SPREAD;
	case WEIR_CFG_PLACE_SAME_CACHE:
		return WEIR_PLACE_SAME_CACHE;
	case WEIR_CFG_PLACE_COMPACT:
	case WEIR_CFG_PLACE_NEAR_NIC: /* refused before */
		break;
	}
	return WEIR_PLACE_COMPACT;
}

void
weir_session_make_plan(struct weir_session *s, const struct weir_replan *how)
{
	const struct weir_config *cfg = &s->cfg;
	struct weir_plan_operator operators[WEIR_OPERATORS_MAX];
	uint32_t *cpus = cpus_of(&cfg->cores), *exclude = cpus_of(&cfg->exclude);
	struct weir_plan_options options = {
		.cpus = cpus,
		.cpu_cnt = cfg->cores.cnt,
		.exclude = exclude,
		.exclude_cnt = cfg->exclude.cnt,
		.parallelism =
			cfg->parallelism == WEIR_CONFIG_UNSET ? 0 : (uint32_t)cfg->parallelism,
		.max_parallelism = how->max_parallelism,
		.operators = operators,
		.operator_cnt = plan_operators(cfg, operators),
		.frame_bytes = (uint32_t)cfg->memory_frame_size,
		.frames =
			cfg->memory_frames == WEIR_CONFIG_UNSET ? 0 : (uint32_t)cfg->memory_frames,
		.state_bytes = cfg->memory_state,
		.lane_depth = LANE_DEPTH,
		.combiner = cfg->exchange_combiner == WEIR_CFG_COMBINER_AUTO,
		.placement = placement_of(cfg->placement_policy),
		.checkpoints = cfg->checkpoint_interval > 0,
		.heads = how->heads,
		.head_cnt = how->head_cnt,
		.unaligned = cfg->checkpoint_interval > 0 && cfg->checkpoint_unaligned,
	};
	struct weir_error err = { 0 };

	if (options.max_parallelism == 0 && cfg->max_parallelism != WEIR_CONFIG_UNSET)
		options.max_parallelism = (uint32_t)cfg->max_parallelism;
	s->plan = weir_plan_create(s->job, &s->topo, &options, &err);
	if (s->plan == NULL)
		add_plan_error(s, &err, NULL);
	for (uint32_t i = 0; i < options.operator_cnt; i++)
		free((void *)(uintptr_t)operators[i].cpus);
	free(cpus);
	free(exclude);
}

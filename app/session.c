#include "app/session.h"

#include "drivers/topology/topology.h"
#include "engine/base/error.h"
#include "engine/graph/graph.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Frames in flight per channel: at least 16 per direction (a ring of 8 costs 22 %). All of them are
 * in an unaligned checkpoint under back pressure, and an aligned one waits for them: twice as many
 * made the exchange no faster and both slower.
 */
#define LANE_DEPTH 32u

static void
to_stderr(void *arg, const char *text, size_t len)
{
	(void)arg;
	fwrite(text, 1, len, stderr);
}

void
weir_session_error(struct weir_session *s, int code, enum weir_config_key key, const char *hint,
		   const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	weir_config_error_key(&s->cfg, key, hint, "%s", text);
	if (code == WEIR_ERR_CONFIG)
		return; /* counts as the others do */
	s->other_cnt++;
	if (s->code == 0)
		s->code = code;
}

/* An error without a key of its own. */
static void
fail_plain(struct weir_session *s, int code, const char *text)
{
	fprintf(stderr, "weir: error: %s\n", text);
	if (s->code == 0 || code == WEIR_ERR_USAGE)
		s->code = code;
}

static void
read_file(struct weir_session *s, const char *path)
{
	char *text = malloc(WEIR_CONFIG_TEXT_MAX + 1), why[4300];
	FILE *file = fopen(path, "re");
	size_t len = 0;

	WEIR_ASSERT(text != NULL);
	if (file != NULL)
		len = fread(text, 1, WEIR_CONFIG_TEXT_MAX + 1, file);
	if (file == NULL || ferror(file)) {
		snprintf(why, sizeof(why), "--config %s: %s", path, strerror(errno));
		fail_plain(s, WEIR_ERR_NOINPUT, why);
	} else {
		(void)weir_config_read(&s->cfg, path, text, len);
	}
	if (file != NULL)
		fclose(file);
	free(text);
}

/* The CPUs that may be named, as the kernel writes lists: 0-3,8. */
static void
list_cpus(const struct weir_topology *topo, char *buf, size_t cap)
{
	size_t len = 0;

	for (uint32_t i = 0, next; i < topo->cpu_cnt && len < cap; i = next) {
		const uint32_t first = topo->cpus[i].os_idx;
		uint32_t last = first;

		next = i + 1;
		if (!topo->cpus[i].allowed)
			continue;
		for (; next < topo->cpu_cnt && topo->cpus[next].allowed &&
		       topo->cpus[next].os_idx == last + 1;
		     next++)
			last++;
		len += (size_t)snprintf(buf + len, cap - len, last > first ? "%s%u-%u" : "%s%u",
					len > 0 ? "," : "", first, last);
	}
}

static const char *
cpu_there(void *arg, uint32_t os_idx)
{
	struct weir_session *s = arg;
	const struct weir_cpu *cpu = weir_topology_cpu(&s->topo, os_idx);
	const char *why = "is not allowed to this process (affinity mask or cpuset)";
	char list[200] = "";

	if (cpu != NULL && cpu->allowed)
		return NULL;
	if (cpu == NULL)
		why = "is not there";
	list_cpus(&s->topo, list, sizeof(list));
	snprintf(s->cpu_why, sizeof(s->cpu_why), "%s; these are: %s", why, list);
	return s->cpu_why;
}

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
	fail_plain(s, err->code, err->text);
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

static void
make_job(struct weir_session *s)
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

static void
make_plan(struct weir_session *s, const struct weir_replan *how)
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

static void
find_job(struct weir_session *s)
{
	char why[1200];

	if (s->job_arg == NULL)
		return;
	s->build = weir_job_lookup(s->job_arg, &s->plugin, s->job_name, why, sizeof(why));
	if (s->build == NULL)
		fail_plain(s, WEIR_ERR_USAGE, why);
	else if (s->cfg.job_name == NULL)
		weir_config_force(&s->cfg, WEIR_KEY_job_name, s->job_name);
}

/* Print what was found; the exit code. */
static int
conclude(struct weir_session *s)
{
	weir_config_errors_write(&s->cfg, to_stderr, NULL);
	/* Of several codes: usage, then configuration, then what came first. */
	if (s->code != WEIR_ERR_USAGE && s->cfg.error_cnt > s->other_cnt)
		s->code = WEIR_ERR_CONFIG;
	return s->code;
}

int
weir_session_open(struct weir_session *s, const struct weir_cli *cli, enum weir_session_depth depth)
{
	struct weir_error err = { 0 };

	memset(s, 0, sizeof(*s));
	weir_config_init(&s->cfg);
	s->params.cfg = &s->cfg;
	s->job_arg = cli->arg_cnt > 0 ? cli->arg[0] : NULL;
	if (cli->value[WEIR_OPT_CONFIG] != NULL)
		read_file(s, cli->value[WEIR_OPT_CONFIG]);
	for (uint32_t i = 0; i < cli->set_cnt; i++)
		(void)weir_config_set(&s->cfg, cli->set[i]);
	(void)weir_config_finish(&s->cfg);
	find_job(s);
	if (weir_topology_read(&s->topo, &err) != 0)
		fail_plain(s, err.code, err.text);
	else
		weir_config_check_cpus(&s->cfg, cpu_there, s);
	if (depth >= WEIR_SESSION_CHECK)
		weir_session_check_machine(s, depth == WEIR_SESSION_RUN);
	/* The job's own checks come in the same pass: where a value was bad its default stands. */
	if (depth >= WEIR_SESSION_PLAN && s->build != NULL)
		make_job(s);
	if (depth >= WEIR_SESSION_CHECK && s->job != NULL)
		weir_session_check_sources(s);
	if (s->job != NULL && s->cfg.error_cnt == 0 && s->code == 0)
		make_plan(s, &(struct weir_replan){ 0 });
	return conclude(s);
}

int
weir_session_open_text(struct weir_session *s, const char *job, const char *text, size_t len)
{
	struct weir_error err = { 0 };

	memset(s, 0, sizeof(*s));
	weir_config_init(&s->cfg);
	s->params.cfg = &s->cfg;
	s->job_arg = job;
	if (len > 0)
		(void)weir_config_read(&s->cfg, "configuration from the supervisor", text, len);
	(void)weir_config_finish(&s->cfg);
	find_job(s);
	if (weir_topology_read(&s->topo, &err) != 0)
		fail_plain(s, err.code, err.text);
	if (s->build != NULL && s->cfg.error_cnt == 0 && s->code == 0)
		make_job(s);
	if (s->job != NULL && s->cfg.error_cnt == 0 && s->code == 0)
		make_plan(s, &(struct weir_replan){ 0 });
	return conclude(s);
}

int
weir_session_replan(struct weir_session *s, const struct weir_replan *how)
{
	weir_plan_destroy(s->plan);
	make_plan(s, how);
	return conclude(s);
}

void
weir_session_close(struct weir_session *s)
{
	if (s->plan != NULL)
		weir_plan_destroy(s->plan);
	if (s->job != NULL)
		weir_job_destroy(s->job);
	weir_topology_fini(&s->topo);
	weir_config_fini(&s->cfg);
	/* The plug-in stays loaded: its code may be on a stack that has yet to unwind. */
	memset(s, 0, sizeof(*s));
}

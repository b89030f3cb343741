#include "app/session_open.h"

#include "app/job_table.h"
#include "app/machine.h"
#include "drivers/topology/topology.h"
#include "engine/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
		weir_session_fail(s, WEIR_ERR_NOINPUT, why);
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

static void
find_job(struct weir_session *s)
{
	char why[1200];

	if (s->job_arg == NULL)
		return;
	s->build = weir_job_lookup(s->job_arg, &s->plugin, s->job_name, why, sizeof(why));
	if (s->build == NULL)
		weir_session_fail(s, WEIR_ERR_USAGE, why);
	else if (s->cfg.job_name == NULL)
		weir_config_force(&s->cfg, WEIR_KEY_job_name, s->job_name);
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
		weir_session_fail(s, err.code, err.text);
	else
		weir_config_check_cpus(&s->cfg, cpu_there, s);
	if (depth >= WEIR_SESSION_CHECK)
		weir_session_check_machine(s, depth == WEIR_SESSION_RUN);
	/* The job's own checks come in the same pass: where a value was bad its default stands. */
	if (depth >= WEIR_SESSION_PLAN && s->build != NULL)
		weir_session_make_job(s);
	if (depth >= WEIR_SESSION_CHECK && s->job != NULL)
		weir_session_check_sources(s);
	if (s->job != NULL && s->cfg.error_cnt == 0 && s->code == 0)
		weir_session_make_plan(s, &(struct weir_replan){ 0 });
	return weir_session_conclude(s);
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
		weir_session_fail(s, err.code, err.text);
	if (s->build != NULL && s->cfg.error_cnt == 0 && s->code == 0)
		weir_session_make_job(s);
	if (s->job != NULL && s->cfg.error_cnt == 0 && s->code == 0)
		weir_session_make_plan(s, &(struct weir_replan){ 0 });
	return weir_session_conclude(s);
}

int
weir_session_replan(struct weir_session *s, const struct weir_replan *how)
{
	weir_plan_destroy(s->plan);
	weir_session_make_plan(s, how);
	return weir_session_conclude(s);
}

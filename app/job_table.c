#include "app/job_table.h"

#include "bench/jobs/jobs.h"
#include "engine/config/config.h"
#include "jobs/jobs.h"

/* Jobs by name: those that ship, and plug-ins by their path. */

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void
unknown(const char *name, char *why, size_t cap)
{
	const char *names[64] = { NULL };
	const uint32_t cnt = weir_builtin_job_cnt < 64 ? weir_builtin_job_cnt : 64;
	const char *near;
	size_t at;

	for (uint32_t i = 0; i < cnt; i++)
		names[i] = weir_builtin_jobs[i].name;
	near = weir_suggest(name, names, cnt);
	at = (size_t)snprintf(why, cap, "unknown job %.200s\n      = help: ", name);
	if (near != NULL) {
		snprintf(why + at, cap - at, "did you mean %s?", near);
		return;
	}
	for (uint32_t i = 0; i < cnt && at < cap; i++)
		at += (size_t)snprintf(why + at, cap - at, "%s%s", i > 0 ? ", " : "there are ",
				       names[i]);
	if (at < cap)
		snprintf(why + at, cap - at, ", or a plug-in by its path: ./job.so");
}

/* "dir/my.job.so" → "my.job", with what is no letter or digit replaced. */
static void
plugin_name(const char *path, char own_name[static 128])
{
	static const char ok[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	const char *base = strrchr(path, '/');
	size_t len;

	base = base != NULL ? base + 1 : path;
	len = strlen(base);
	if (len > 3 && strcmp(base + len - 3, ".so") == 0)
		len -= 3;
	snprintf(own_name, 101, "%.*s", (int)(len < 100 ? len : 100), base);
	for (char *c = own_name; *c != '\0'; c++) {
		if (strchr(ok, *c) == NULL || (c == own_name && (*c == '.' || *c == '-')))
			*c = '_';
	}
}

static weir_job_fn
load_plugin(const char *path, void **plugin, char own_name[static 128], char *why, size_t cap)
{
	weir_job_fn build;
	void *symbol;

	*plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (*plugin == NULL) {
		snprintf(why, cap, "cannot load the job: %s", dlerror());
		return NULL;
	}
	symbol = dlsym(*plugin, "weir_job");
	if (symbol == NULL) {
		snprintf(why, cap, "%s is no job: it has no function weir_job", path);
		return NULL;
	}
	memcpy(&build, &symbol, sizeof(build));
	plugin_name(path, own_name);
	return build;
}

weir_job_fn
weir_job_lookup(const char *name, void **plugin, char own_name[static 128], char *why,
		size_t why_cap)
{
	const struct weir_builtin_job *job;

	if (strchr(name, '/') != NULL)
		return load_plugin(name, plugin, own_name, why, why_cap);
	if (weir_bench_job(name) != NULL) {
		snprintf(own_name, 128, "%s", name);
		return weir_bench_job(name);
	}
	job = weir_builtin_job_find(name);
	if (job == NULL) {
		unknown(name, why, why_cap);
		return NULL;
	}
	snprintf(own_name, 128, "%s", name);
	return job->build;
}

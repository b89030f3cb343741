#include "app/checkpoint/cmd_checkpoint.h"

#include "app/checkpoint/history.h"
#include "drivers/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const phases[] = { "prepare_ms", "start_delay_ms", "alignment_ms",
				      "sync_ms",    "async_ms",	      "finalize_ms" };

static const char *
text_of(const json_t *entry, const char *field)
{
	const char *text = json_string_value(json_object_get(entry, field));

	return text != NULL ? text : "";
}

static void
print_entry(const char *job, const json_t *e)
{
	const double trigger_ms = json_number_value(json_object_get(e, "trigger_ms"));
	const time_t seconds = (time_t)(trigger_ms / 1000);
	struct tm parts;
	char when[32];

	gmtime_r(&seconds, &parts);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &parts);
	printf("%-16s %6lld %-9s %-9s %s %-9s %12lld %9.1f", job,
	       (long long)json_integer_value(json_object_get(e, "id")), text_of(e, "kind"),
	       text_of(e, "status"), when, text_of(e, "mode"),
	       (long long)json_integer_value(json_object_get(e, "bytes")),
	       json_number_value(json_object_get(e, "duration_ms")));
	for (uint32_t i = 0; i < WEIR_ARRAY_CNT(phases); i++)
		printf(" %8.1f", json_number_value(json_object_get(e, phases[i])));
	printf("%s%s\n", text_of(e, "reason")[0] != '\0' ? "  " : "", text_of(e, "reason"));
}

struct out {
	json_t *list; /* NULL: text */
	uint32_t cnt;
};

static int
add_job(struct out *out, const char *folder, struct weir_error *err)
{
	struct weir_path name;
	json_t *list, *entry;
	size_t i;
	int rc = weir_layout_base(&name, folder, err);

	if (rc == 0)
		rc = weir_history_read(folder, &list, err);
	if (rc != 0)
		return rc;
	json_array_foreach(list, i, entry)
	{
		if (out->list == NULL && out->cnt == 0)
			printf("%-16s %6s %-9s %-9s %-19s %-9s %12s %9s %8s %8s %8s %8s %8s %8s\n",
			       "job", "id", "kind", "status", "triggered (UTC)", "mode", "bytes",
			       "ms", "prepare", "start", "align", "sync", "async", "finalize");
		out->cnt++;
		json_object_set_new(entry, "job", json_string(name.text));
		if (out->list != NULL)
			json_array_append(out->list, entry);
		else
			print_entry(name.text, entry);
	}
	json_decref(list);
	return 0;
}

static int
add_all(struct out *out, const char *dir, struct weir_error *err)
{
	struct weir_stored_jobs jobs;
	struct weir_path folder;
	int rc;

	if (weir_stored_is_job(dir))
		return add_job(out, dir, err);
	rc = weir_stored_jobs(dir, &jobs, err);
	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < jobs.cnt && rc == 0; i++) {
		rc = weir_layout_job(&folder, dir, jobs.name[i], err);
		if (rc == 0)
			rc = add_job(out, folder.text, err);
	}
	weir_stored_jobs_free(&jobs);
	return rc;
}

int
weir_cmd_checkpoint_history(const char *dir, bool json)
{
	struct out out = { .list = json ? json_array() : NULL };
	char *real = realpath(dir, NULL);
	struct weir_error err;
	int rc = 0;

	if (real == NULL)
		rc = weir_fail(&err, WEIR_ERR_NOINPUT, "%s is not there", dir);
	else
		rc = add_all(&out, real, &err);
	free(real);
	if (rc != 0)
		fprintf(stderr, "weir: %s\n", err.text);
	else if (json && (json_dumpf(out.list, stdout, JSON_INDENT(2)) != 0 || putchar('\n') < 0))
		rc = WEIR_ERR_IO;
	else if (!json && out.cnt == 0)
		fprintf(stderr, "weir: no checkpoint has ended in %s\n", dir);
	json_decref(out.list);
	return rc == 0 && fflush(stdout) != 0 ? WEIR_ERR_IO : rc;
}

#include "app/checkpoint/cmd_checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/checkpoint/json.h"
#include "app/checkpoint/verify.h"
#include "drivers/store/store.h"

static int
report(const struct weir_error *err)
{
	fprintf(stderr, "weir: %s\n", err->text);
	return err->code;
}

static int
print_json(json_t *value)
{
	if (value == NULL || json_dumpf(value, stdout, JSON_INDENT(2)) != 0 ||
	    fputc('\n', stdout) == EOF || fflush(stdout) != 0) {
		json_decref(value);
		fprintf(stderr, "weir: cannot write to standard output\n");
		return WEIR_ERR_IO;
	}
	json_decref(value);
	return 0;
}

/* Where a listing goes: lines of text, or one list. */
struct listing {
	json_t *list; /* NULL: text */
	uint32_t cnt;
};

static void
print_line(const char *job, const struct weir_manifest *m, const char *path)
{
	const time_t seconds = (time_t)(m->trigger_ns / 1000000000);
	struct tm parts;
	char when[32];

	gmtime_r(&seconds, &parts);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &parts);
	printf("%-20s %6" PRIu64 "  %-8s  %s.%03d  %12" PRIu64 "  %s\n", job, m->checkpoint_id,
	       weir_checkpoint_kind(m->kind), when, (int)(m->trigger_ns / 1000000 % 1000),
	       weir_checkpoint_bytes(m), path);
}

static void
list_good(struct listing *out, const char *job, const struct weir_manifest *m, const char *path)
{
	if (out->list == NULL) {
		print_line(job, m, path);
		return;
	}
	json_array_append_new(
		out->list,
		json_pack("{s:s, s:I, s:s, s:s, s:n, s:s, s:I, s:I, s:s, s:I, s:I}", "job", job,
			  "id", (json_int_t)m->checkpoint_id, "path", path, "status", "ok",
			  "reason", "kind", weir_checkpoint_kind(m->kind), "trigger_ms",
			  (json_int_t)(m->trigger_ns / 1000000), "attempt", (json_int_t)m->attempt,
			  "run_id", m->run_id, "operators", (json_int_t)m->operator_cnt, "bytes",
			  (json_int_t)weir_checkpoint_bytes(m)));
}

static void
list_damaged(struct listing *out, const char *job, uint64_t id, const char *path,
	     const struct weir_error *err)
{
	if (out->list == NULL)
		printf("%-20s %6" PRIu64 "  damaged   %s\n", job, id, err->text);
	else
		json_array_append_new(out->list,
				      json_pack("{s:s, s:I, s:s, s:s, s:s}", "job", job, "id",
						(json_int_t)id, "path", path, "status", "damaged",
						"reason", err->text));
}

static int
list_job(struct listing *out, const char *job_dir, struct weir_error *err)
{
	struct weir_stored_ids ids;
	struct weir_path job, chk;
	uint32_t i;
	int rc = weir_layout_base(&job, job_dir, err);

	if (rc == 0)
		rc = weir_stored_ids(job_dir, &ids, err);
	if (rc != 0)
		return rc;
	for (i = 0; i < ids.cnt; i++) {
		struct weir_manifest *m;

		rc = weir_layout_checkpoint(&chk, job_dir, ids.id[i], err);
		if (rc != 0)
			break;
		rc = weir_stored_read(chk.text, &m, err);
		if (rc == 0) {
			list_good(out, job.text, m, chk.text);
			weir_manifest_destroy(m);
		} else if (rc == WEIR_ERR_DATA) {
			list_damaged(out, job.text, ids.id[i], chk.text, err);
			rc = 0;
		} else {
			break;
		}
		out->cnt++;
	}
	weir_stored_ids_free(&ids);
	return rc;
}

/* One savepoint; what is damaged is listed as that. */
static int
list_savepoint(struct listing *out, const char *path, struct weir_error *err)
{
	struct weir_manifest *m;
	int rc = weir_stored_read(path, &m, err);

	if (rc == 0) {
		list_good(out, m->job, m, path);
		weir_manifest_destroy(m);
	} else if (rc == WEIR_ERR_DATA) {
		list_damaged(out, "-", 0, path, err);
		rc = 0;
	}
	out->cnt++;
	return rc;
}

static int
list_savepoints(struct listing *out, const char *dir, struct weir_error *err)
{
	struct weir_stored_jobs names;
	int rc = weir_stored_savepoints(dir, &names, err);

	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < names.cnt && rc == 0; i++) {
		struct weir_path path;

		rc = weir_layout_in(&path, dir, names.name[i], err);
		if (rc == 0)
			rc = list_savepoint(out, path.text, err);
	}
	weir_stored_jobs_free(&names);
	return rc;
}

static int
list_all(struct listing *out, const char *dir, struct weir_error *err)
{
	struct weir_stored_jobs jobs;
	struct weir_path job_dir;
	uint32_t i;
	int rc = list_savepoints(out, dir, err);

	if (rc != 0 || weir_stored_is_job(dir))
		return rc != 0 ? rc : list_job(out, dir, err);
	rc = weir_stored_jobs(dir, &jobs, err);
	if (rc != 0)
		return rc;
	for (i = 0; i < jobs.cnt && rc == 0; i++) {
		rc = weir_layout_job(&job_dir, dir, jobs.name[i], err);
		if (rc == 0)
			rc = list_job(out, job_dir.text, err);
	}
	weir_stored_jobs_free(&jobs);
	return rc;
}

/* The path without links and dots; what is not there is refused. */
static int
resolve(const char *path, struct weir_path *abs, struct weir_error *err)
{
	char *real = realpath(path, NULL);

	if (real == NULL)
		return weir_fail(err, WEIR_ERR_NOINPUT, "there is no %s", path);
	if (strlen(real) >= sizeof(abs->text)) {
		free(real);
		return weir_fail(err, WEIR_ERR_CONFIG, "%s: path is too long", path);
	}
	snprintf(abs->text, sizeof(abs->text), "%s", real);
	free(real);
	return 0;
}

int
weir_cmd_checkpoint_list(const char *dir, bool json)
{
	struct listing out = { .list = json ? json_array() : NULL };
	struct weir_error err;
	struct weir_path abs;
	int rc = resolve(dir, &abs, &err);

	if (rc == 0)
		rc = list_all(&out, abs.text, &err);
	if (rc != 0) {
		json_decref(out.list);
		return report(&err);
	}
	if (json)
		return print_json(out.list);
	if (out.cnt == 0)
		fprintf(stderr, "weir: no checkpoints in %s\n", dir);
	return fflush(stdout) == 0 ? 0 : WEIR_ERR_IO;
}

/* The checkpoint at path and where its data files are. */
static int
load(const char *path, struct weir_path *chk, struct weir_path *data, struct weir_manifest **m,
     struct weir_error *err)
{
	int rc = resolve(path, chk, err);

	if (rc == 0)
		rc = weir_stored_read(chk->text, m, err);
	return rc == 0 ? weir_stored_data_dir(chk->text, *m, data, err) : rc;
}

int
weir_cmd_checkpoint_inspect(const char *path)
{
	struct weir_path chk, data;
	struct weir_manifest *m;
	struct weir_error err;
	json_t *value;

	if (load(path, &chk, &data, &m, &err) != 0)
		return report(&err);
	value = weir_checkpoint_json(m);
	json_object_set_new(value, "path", json_string(chk.text));
	json_object_set_new(value, "files", weir_checkpoint_ranges(m, data.text));
	weir_manifest_destroy(m);
	return print_json(value);
}

static int
print_verdict(const char *path, const struct weir_manifest *m, const struct weir_error *err,
	      bool json)
{
	const int rc = m != NULL ? 0 : err->code;

	if (json && m == NULL) {
		const int wrote = print_json(
			json_pack("{s:s, s:b, s:s}", "path", path, "ok", 0, "reason", err->text));

		return wrote != 0 ? wrote : rc;
	}
	if (m == NULL)
		return report(err);
	if (json)
		return print_json(json_pack("{s:s, s:b, s:n, s:I, s:I, s:I}", "path", path, "ok", 1,
					    "reason", "id", (json_int_t)m->checkpoint_id, "files",
					    (json_int_t)m->file_cnt, "bytes",
					    (json_int_t)weir_checkpoint_bytes(m)));
	printf("%s: checkpoint %" PRIu64 " is whole: %" PRIu32 " data files, %" PRIu64 " bytes\n",
	       path, m->checkpoint_id, m->file_cnt, weir_checkpoint_bytes(m));
	return fflush(stdout) == 0 ? 0 : WEIR_ERR_IO;
}

int
weir_cmd_checkpoint_verify(const char *path, bool json)
{
	struct weir_path chk, data;
	struct weir_manifest *m = NULL;
	struct weir_error err;
	int rc = load(path, &chk, &data, &m, &err);

	if (rc != 0)
		return print_verdict(path, NULL, &err, json);
	rc = weir_checkpoint_verify(m, data.text, &err);
	rc = print_verdict(chk.text, rc == 0 ? m : NULL, &err, json);
	weir_manifest_destroy(m);
	return rc;
}

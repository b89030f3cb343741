/* Deleting what a crash has left: by the live set, never by guessing (K10). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/store/store_priv.h"

/* Names of data files that some manifest of the folder uses, sorted. */
struct live {
	char **name;
	uint32_t cnt;
};

struct sweep {
	const char *job_dir;
	uint64_t first_attempt;
	struct live live;
	uint32_t deleted;
};

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
add_live(struct live *live, const struct weir_manifest *m, struct weir_error *err)
{
	char **more = realloc(live->name, (live->cnt + (size_t)m->file_cnt + 1) * sizeof(*more));
	uint32_t i;

	if (more == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "out of memory");
	live->name = more;
	for (i = 0; i < m->file_cnt; i++) {
		more[live->cnt] = strdup(m->files[i].name);
		if (more[live->cnt] == NULL)
			return weir_fail(err, WEIR_ERR_FAILED, "out of memory");
		live->cnt++;
	}
	return 0;
}

static void
free_live(struct live *live)
{
	uint32_t i;

	for (i = 0; i < live->cnt; i++)
		free(live->name[i]);
	free(live->name);
}

/* Of every run, also of checkpoints whose data files are damaged: they are somebody's. */
static int
collect_live(struct sweep *sweep, struct weir_error *err)
{
	struct weir_stored_ids ids;
	uint32_t i;
	int rc = weir_stored_ids(sweep->job_dir, &ids, err);

	if (rc != 0)
		return rc;
	for (i = 0; i < ids.cnt && rc == 0; i++) {
		struct weir_manifest *m;
		struct weir_path chk;

		rc = weir_layout_checkpoint(&chk, sweep->job_dir, ids.id[i], err);
		if (rc == 0)
			rc = weir_stored_read_manifest(chk.text, &m, err);
		if (rc == 0) {
			rc = add_live(&sweep->live, m, err);
			weir_manifest_destroy(m);
		}
	}
	weir_stored_ids_free(&ids);
	if (rc == 0 && sweep->live.cnt > 1)
		qsort(sweep->live.name, sweep->live.cnt, sizeof(char *), by_text);
	return rc;
}

static int
delete_data(void *arg, const char *name, struct weir_error *err)
{
	struct sweep *sweep = arg;
	struct weir_data_name parts;
	struct weir_path path;
	int rc;

	/* Older runs' files and strangers stay (S12). */
	if (!weir_layout_parse_data_name(name, &parts) || parts.attempt < sweep->first_attempt)
		return 0;
	if (sweep->live.cnt > 0 &&
	    bsearch(&name, sweep->live.name, sweep->live.cnt, sizeof(char *), by_text) != NULL)
		return 0;
	rc = weir_layout_data(&path, sweep->job_dir, name, err);
	if (rc != 0)
		return rc;
	if (unlink(path.text) != 0 && errno != ENOENT)
		return weir_stored_fail(err, "delete", path.text);
	sweep->deleted++;
	return 0;
}

/* A manifest under construction was never a checkpoint. What else is in the folder keeps it. */
static int
delete_unfinished(void *arg, const char *name, struct weir_error *err)
{
	struct sweep *sweep = arg;
	struct weir_path chk, path;
	uint64_t id;
	int rc;

	if (!weir_layout_parse_checkpoint(name, &id))
		return 0;
	rc = weir_layout_checkpoint(&chk, sweep->job_dir, id, err);
	if (rc == 0)
		rc = weir_layout_manifest(&path, chk.text, err);
	if (rc != 0 || access(path.text, F_OK) == 0)
		return rc;
	rc = weir_layout_manifest_tmp(&path, chk.text, err);
	if (rc != 0)
		return rc;
	if (unlink(path.text) == 0)
		sweep->deleted++;
	/* Not empty: it stays. The manifest's name may have been taken away just now. */
	if (rmdir(chk.text) == 0)
		return 0;
	return weir_stored_sync_folder(chk.text, err);
}

int
weir_stored_sweep(const char *job_dir, uint64_t first_attempt, uint32_t *deleted,
		  struct weir_error *err)
{
	struct sweep sweep = { .job_dir = job_dir, .first_attempt = first_attempt };
	struct weir_path data;
	int rc = collect_live(&sweep, err);

	if (rc == 0)
		rc = weir_layout_data_dir(&data, job_dir, err);
	/* Folders first, and durably: a power loss must not bring a manifest back whose deletion
	 * was under way, after its data files are gone. */
	if (rc == 0 && access(job_dir, F_OK) == 0)
		rc = weir_stored_each(job_dir, delete_unfinished, &sweep, err);
	if (rc == 0 && access(job_dir, F_OK) == 0)
		rc = weir_stored_sync_folder(job_dir, err);
	if (rc == 0 && access(data.text, F_OK) == 0)
		rc = weir_stored_each(data.text, delete_data, &sweep, err);
	free_live(&sweep.live);
	if (rc == 0)
		*deleted = sweep.deleted;
	return rc;
}

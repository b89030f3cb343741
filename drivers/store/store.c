/* Reading checkpoints, and which one is the latest. */
#include "drivers/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/store/store_priv.h"

static int
check_file(const char *data_dir, const struct weir_manifest_file *file, struct weir_error *err)
{
	struct weir_path path;
	struct stat st;
	int rc = weir_layout_in(&path, data_dir, file->name, err);

	if (rc != 0)
		return rc;
	if (stat(path.text, &st) != 0)
		return errno == ENOENT
			       ? weir_fail(err, WEIR_ERR_DATA,
					   "%s: file: missing, the manifest says %" PRIu64 " bytes",
					   path.text, file->length)
			       : weir_fail(err, WEIR_ERR_IO, "cannot look at %s: %s", path.text,
					   strerror(errno));
	if (!S_ISREG(st.st_mode))
		return weir_fail(err, WEIR_ERR_DATA, "%s: file: not a regular file", path.text);
	if ((uint64_t)st.st_size != file->length)
		return weir_fail(err, WEIR_ERR_DATA,
				 "%s: length: %s: %jd bytes, the manifest says %" PRIu64, path.text,
				 (uint64_t)st.st_size < file->length ? "cut short"
								     : "surplus bytes",
				 (intmax_t)st.st_size, file->length);
	return 0;
}

int
weir_stored_data_dir(const char *path, const struct weir_manifest *m, struct weir_path *data_dir,
		     struct weir_error *err)
{
	struct weir_path job_dir;
	int rc;

	if (weir_manifest_is_savepoint(m->kind)) {
		if (snprintf(data_dir->text, sizeof(data_dir->text), "%s", path) <
		    (int)sizeof(data_dir->text))
			return 0;
		return weir_fail(err, WEIR_ERR_CONFIG, "%s: the path is too long", path);
	}
	rc = weir_layout_parent(&job_dir, path, err);
	return rc == 0 ? weir_layout_data_dir(data_dir, job_dir.text, err) : rc;
}

static int
check_files(const char *chk_dir, const struct weir_manifest *m, struct weir_error *err)
{
	struct weir_path data_dir;
	uint32_t i;
	int rc = weir_stored_data_dir(chk_dir, m, &data_dir, err);

	for (i = 0; i < m->file_cnt && rc == 0; i++)
		rc = check_file(data_dir.text, &m->files[i], err);
	return rc;
}

static int
decode(const char *path, const uint64_t *id, const uint8_t *bytes, size_t len,
       struct weir_manifest **m, struct weir_error *err)
{
	struct weir_error own;
	struct weir_manifest *read;

	if (weir_manifest_decode(bytes, len, &read, &own) != 0)
		return weir_fail(err, own.code, "%s: %s", path, own.text);
	if (!weir_manifest_is_savepoint(read->kind) && id == NULL) {
		weir_manifest_destroy(read);
		return weir_fail(err, WEIR_ERR_NOINPUT,
				 "%s is no savepoint, and a checkpoint is named chk-<n>", path);
	}
	if (!weir_manifest_is_savepoint(read->kind) && read->checkpoint_id != *id) {
		weir_fail(err, WEIR_ERR_DATA,
			  "%s: head: checkpoint %" PRIu64 " stands under the number %" PRIu64, path,
			  read->checkpoint_id, *id);
		weir_manifest_destroy(read);
		return WEIR_ERR_DATA;
	}
	*m = read;
	return 0;
}

int
weir_stored_read_manifest(const char *chk_dir, struct weir_manifest **m, struct weir_error *err)
{
	struct weir_path path;
	uint8_t *bytes;
	uint64_t id;
	size_t len;
	bool numbered;
	int rc = weir_layout_base(&path, chk_dir, err);

	if (rc != 0)
		return rc;
	numbered = weir_layout_parse_checkpoint(path.text, &id);
	rc = weir_layout_manifest(&path, chk_dir, err);
	if (rc == 0)
		rc = weir_stored_load(path.text, WEIR_MANIFEST_HEADER + WEIR_MANIFEST_BYTES_MAX,
				      &bytes, &len, err);
	if (rc != 0)
		return rc;
	rc = decode(path.text, numbered ? &id : NULL, bytes, len, m, err);
	free(bytes);
	return rc;
}

int
weir_stored_read(const char *chk_dir, struct weir_manifest **m, struct weir_error *err)
{
	struct weir_manifest *read;
	int rc = weir_stored_read_manifest(chk_dir, &read, err);

	if (rc != 0)
		return rc;
	rc = check_files(chk_dir, read, err);
	if (rc != 0) {
		weir_manifest_destroy(read);
		return rc;
	}
	*m = read;
	return 0;
}

/* The highest id below that of chk_dir, in the same folder; 0: none, or not to be found out. */
static uint64_t
older_id(const char *job_dir, const char *chk_dir)
{
	struct weir_stored_ids ids;
	struct weir_path name;
	uint64_t older = 0;
	uint64_t id;
	uint32_t i;

	if (weir_layout_base(&name, chk_dir, NULL) != 0 ||
	    !weir_layout_parse_checkpoint(name.text, &id) ||
	    weir_stored_ids(job_dir, &ids, NULL) != 0)
		return 0;
	for (i = 0; i < ids.cnt; i++)
		if (ids.id[i] < id)
			older = ids.id[i];
	weir_stored_ids_free(&ids);
	return older;
}

int
weir_stored_name_older(const char *chk_dir, struct weir_error *err)
{
	const size_t len = strlen(err->text);
	char *end = err->text + len;
	struct weir_path job_dir, older;
	uint64_t id;

	if (weir_layout_parent(&job_dir, chk_dir, NULL) != 0 ||
	    weir_layout_base(&older, chk_dir, NULL) != 0 ||
	    !weir_layout_parse_checkpoint(older.text, &id))
		return err->code; /* a savepoint has no older one */
	id = older_id(job_dir.text, chk_dir);
	if (id == 0)
		snprintf(end, sizeof(err->text) - len, "; there is no older checkpoint");
	else if (weir_layout_checkpoint(&older, job_dir.text, id, NULL) == 0)
		snprintf(end, sizeof(err->text) - len, "; the next older one is %s", older.text);
	return err->code;
}

int
weir_stored_latest(const char *job_dir, struct weir_manifest **m, struct weir_path *chk_dir,
		   struct weir_error *err)
{
	struct weir_manifest *read = NULL;
	struct weir_path path = { 0 };
	struct weir_stored_ids ids;
	int rc = weir_stored_ids(job_dir, &ids, err);

	if (rc != 0)
		return rc;
	if (ids.cnt > 0) {
		rc = weir_layout_checkpoint(&path, job_dir, ids.id[ids.cnt - 1], err);
		if (rc == 0)
			rc = weir_stored_read(path.text, &read, err);
		if (rc == WEIR_ERR_DATA)
			rc = err != NULL ? weir_stored_name_older(path.text, err) : rc;
	}
	weir_stored_ids_free(&ids);
	if (rc == 0) {
		*m = read;
		*chk_dir = path;
	}
	return rc;
}

int
weir_stored_sync_folder(const char *path, struct weir_error *err)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return weir_stored_fail(err, "open", path);
	if (fsync(fd) != 0 && errno != EROFS && errno != EINVAL)
		rc = weir_stored_fail(err, "make durable", path);
	close(fd);
	return rc;
}

int
weir_stored_settle(const char *chk_dir, struct weir_error *err)
{
	struct weir_path job;
	int rc = weir_layout_parent(&job, chk_dir, err);

	if (rc == 0)
		rc = weir_stored_sync_folder(chk_dir, err);
	if (rc == 0)
		rc = weir_stored_sync_folder(job.text, err);
	return rc;
}

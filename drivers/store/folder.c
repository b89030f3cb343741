/* Looking into folders: names, ids, jobs. */
#include "drivers/store/store_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
weir_stored_fail(struct weir_error *err, const char *what, const char *path)
{
	const int code = errno == ENOENT || errno == ENOTDIR ? WEIR_ERR_NOINPUT : WEIR_ERR_IO;

	return weir_fail(err, code, "cannot %s %s: %s", what, path, strerror(errno));
}

int
weir_stored_each(const char *dir, weir_stored_name_fn fn, void *arg, struct weir_error *err)
{
	DIR *folder = opendir(dir);
	struct dirent *entry;
	int rc = 0;

	if (folder == NULL)
		return weir_stored_fail(err, "open", dir);
	for (;;) {
		errno = 0;
		entry = readdir(folder);
		if (entry == NULL && errno != 0) {
			rc = weir_fail(err, WEIR_ERR_IO, "cannot read %s: %s", dir,
				       strerror(errno));
			break;
		}
		if (entry == NULL)
			break;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		rc = fn(arg, entry->d_name, err);
		if (rc != 0)
			break;
	}
	closedir(folder);
	return rc;
}

static int
load_open(int fd, const char *path, size_t max, uint8_t **bytes, size_t *len,
	  struct weir_error *err)
{
	struct stat st;
	uint8_t *buf;
	size_t have = 0;
	ssize_t got;

	if (fstat(fd, &st) != 0)
		return weir_stored_fail(err, "look at", path);
	if (!S_ISREG(st.st_mode))
		return weir_fail(err, WEIR_ERR_DATA, "%s: not a regular file", path);
	if ((uint64_t)st.st_size > max)
		return weir_fail(err, WEIR_ERR_DATA, "%s: %jd bytes, at most %zu", path,
				 (intmax_t)st.st_size, max);
	buf = malloc((size_t)st.st_size + 1);
	if (buf == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "%s: out of memory", path);
	do {
		got = read(fd, buf + have, (size_t)st.st_size - have);
		if (got < 0 && errno != EINTR) {
			free(buf);
			return weir_stored_fail(err, "read", path);
		}
		have += got > 0 ? (size_t)got : 0;
	} while (got != 0 && have < (size_t)st.st_size);
	*bytes = buf;
	*len = have;
	return 0;
}

int
weir_stored_load(const char *path, size_t max, uint8_t **bytes, size_t *len, struct weir_error *err)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return weir_stored_fail(err, "open", path);
	rc = load_open(fd, path, max, bytes, len, err);
	close(fd);
	return rc;
}

/* Ids on their way from a walk. */
struct ids_walk {
	const char *job_dir;
	struct weir_stored_ids ids;
	uint32_t cap;
};

static int
add_id(void *arg, const char *name, struct weir_error *err)
{
	struct ids_walk *walk = arg;
	struct weir_path chk, manifest;
	uint64_t id, *more;
	int rc;

	if (!weir_layout_parse_checkpoint(name, &id))
		return 0;
	rc = weir_layout_checkpoint(&chk, walk->job_dir, id, err);
	if (rc == 0)
		rc = weir_layout_manifest(&manifest, chk.text, err);
	if (rc != 0)
		return rc;
	if (faccessat(AT_FDCWD, manifest.text, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : weir_stored_fail(err, "look at", manifest.text);
	if (walk->ids.cnt == walk->cap) {
		walk->cap = walk->cap == 0 ? 16 : walk->cap * 2;
		more = realloc(walk->ids.id, walk->cap * sizeof(*more));
		if (more == NULL)
			return weir_fail(err, WEIR_ERR_FAILED, "out of memory");
		walk->ids.id = more;
	}
	walk->ids.id[walk->ids.cnt++] = id;
	return 0;
}

static int
by_id(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a;
	const uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int
weir_stored_ids(const char *job_dir, struct weir_stored_ids *ids, struct weir_error *err)
{
	struct ids_walk walk = { .job_dir = job_dir };
	struct stat st;
	int rc;

	/* S8: only a folder that is not there may mean "none". */
	if (stat(job_dir, &st) != 0 && errno == ENOENT) {
		*ids = walk.ids;
		return 0;
	}
	rc = weir_stored_each(job_dir, add_id, &walk, err);
	if (rc != 0) {
		free(walk.ids.id);
		return rc;
	}
	if (walk.ids.cnt > 1)
		qsort(walk.ids.id, walk.ids.cnt, sizeof(*walk.ids.id), by_id);
	*ids = walk.ids;
	return 0;
}

void
weir_stored_ids_free(struct weir_stored_ids *ids)
{
	free(ids->id);
	*ids = (struct weir_stored_ids){ 0 };
}

static int
find_checkpoint(void *arg, const char *name, struct weir_error *err)
{
	uint64_t id;

	(void)err;
	if (strcmp(name, "data") == 0 || weir_layout_parse_checkpoint(name, &id))
		*(bool *)arg = true;
	return 0;
}

bool
weir_stored_is_job(const char *path)
{
	bool found = false;

	return weir_stored_each(path, find_checkpoint, &found, NULL) == 0 && found;
}

struct jobs_walk {
	const char *dir;
	struct weir_stored_jobs jobs;
};

static int
add_name(struct weir_stored_jobs *names, const char *name, struct weir_error *err)
{
	char **more = realloc(names->name, (names->cnt + 1) * sizeof(*more));

	if (more == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "out of memory");
	names->name = more;
	more[names->cnt] = strdup(name);
	if (more[names->cnt] == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "out of memory");
	names->cnt++;
	return 0;
}

static int
add_job(void *arg, const char *name, struct weir_error *err)
{
	struct jobs_walk *walk = arg;
	struct weir_path path;
	int rc;

	if (!weir_layout_job_ok(name))
		return 0;
	rc = weir_layout_job(&path, walk->dir, name, err);
	if (rc != 0)
		return rc;
	if (!weir_stored_is_job(path.text))
		return 0;
	return add_name(&walk->jobs, name, err);
}

static int
add_savepoint(void *arg, const char *name, struct weir_error *err)
{
	struct jobs_walk *walk = arg;
	struct weir_path path, manifest;
	int rc;

	if (strncmp(name, "savepoint-", 10) != 0)
		return 0;
	rc = weir_layout_in(&path, walk->dir, name, err);
	if (rc == 0)
		rc = weir_layout_manifest(&manifest, path.text, err);
	if (rc != 0 || access(manifest.text, F_OK) != 0)
		return rc; /* one that was given up */
	return add_name(&walk->jobs, name, err);
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What add takes of a folder's names, sorted. */
static int
sorted_names(const char *dir, int (*add)(void *arg, const char *name, struct weir_error *err),
	     struct weir_stored_jobs *names, struct weir_error *err)
{
	struct jobs_walk walk = { .dir = dir };
	const int rc = weir_stored_each(dir, add, &walk, err);

	if (rc != 0) {
		weir_stored_jobs_free(&walk.jobs);
		return rc;
	}
	if (walk.jobs.cnt > 1)
		qsort(walk.jobs.name, walk.jobs.cnt, sizeof(*walk.jobs.name), by_text);
	*names = walk.jobs;
	return 0;
}

int
weir_stored_jobs(const char *dir, struct weir_stored_jobs *jobs, struct weir_error *err)
{
	return sorted_names(dir, add_job, jobs, err);
}

int
weir_stored_savepoints(const char *dir, struct weir_stored_jobs *names, struct weir_error *err)
{
	return sorted_names(dir, add_savepoint, names, err);
}

void
weir_stored_jobs_free(struct weir_stored_jobs *jobs)
{
	uint32_t i;

	for (i = 0; i < jobs->cnt; i++)
		free(jobs->name[i]);
	free(jobs->name);
	*jobs = (struct weir_stored_jobs){ 0 };
}

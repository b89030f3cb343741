#include "app/job_dir.h"

#include "drivers/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 2000
#define LOCK_STEP_MS 10

static int
fail_io(struct weir_error *err, const char *what, const char *path)
{
	return weir_fail(err, WEIR_ERR_IO, "%s %s: %s", what, path, strerror(errno));
}

/* Make path and the folders above it. */
static int
make_folders(const char *path, struct weir_error *err)
{
	char dir[WEIR_PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *p = dir + 1;; p++) {
		const char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(dir, 0777) != 0 && errno != EEXIST)
			return fail_io(err, "cannot make", dir);
		*p = c;
		if (c == '\0')
			return 0;
	}
}

static long
lock_holder(int fd)
{
	char text[32] = { 0 };

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	return strtol(text, NULL, 10);
}

static int
take_lock(int fd, const char *path, struct weir_error *err)
{
	const struct timespec step = { .tv_nsec = LOCK_STEP_MS * 1000000L };

	for (int waited = 0;; waited += LOCK_STEP_MS) {
		char text[32];

		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			const int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

			if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)len, 0) != len)
				return fail_io(err, "cannot write", path);
			return 0;
		}
		if (errno != EWOULDBLOCK && errno != EINTR)
			return fail_io(err, "cannot lock", path);
		if (waited >= LOCK_WAIT_MS)
			return weir_fail(
				err, WEIR_ERR_UNAVAILABLE,
				"another run of this job is active (process %ld holds %s); "
				"choose another job.name or checkpoint.dir, or end that run",
				lock_holder(fd), path);
		nanosleep(&step, NULL);
	}
}

int
weir_job_dir_open(struct weir_job_dir *dir, const char *checkpoint_dir, const char *job,
		  struct weir_error *err)
{
	struct weir_path lock;
	int rc;

	dir->lock_fd = -1;
	rc = weir_layout_job(&dir->path, checkpoint_dir, job, err);
	if (rc == 0)
		rc = weir_layout_lock(&lock, dir->path.text, err);
	if (rc == 0)
		rc = make_folders(dir->path.text, err);
	if (rc != 0)
		return rc;
	dir->lock_fd = open(lock.text, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (dir->lock_fd < 0)
		return fail_io(err, "cannot open", lock.text);
	rc = take_lock(dir->lock_fd, lock.text, err);
	if (rc != 0)
		weir_job_dir_close(dir);
	return rc;
}

void
weir_job_dir_close(struct weir_job_dir *dir)
{
	if (dir->lock_fd >= 0)
		close(dir->lock_fd);
	dir->lock_fd = -1;
}

static int
read_counters(const char *path, struct weir_counters *counters, struct weir_error *err)
{
	char text[WEIR_COUNTERS_MAX + 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return fail_io(err, "cannot open", path);
	len = read(fd, text, sizeof(text));
	if (len < 0) {
		close(fd);
		return fail_io(err, "cannot read", path);
	}
	close(fd);
	if ((size_t)len > WEIR_COUNTERS_MAX || !weir_counters_parse(text, (size_t)len, counters))
		return weir_fail(err, WEIR_ERR_DATA,
				 "%s is damaged: it holds the ids that have been used", path);
	return 0;
}

/* Replace path by text so that either the old or the new is there after a crash. */
static int
write_durably(const char *folder, const char *path, const char *text, size_t len,
	      struct weir_error *err)
{
	char tmp[WEIR_PATH_MAX + 8];
	int fd, rc = 0;

	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return fail_io(err, "cannot write", tmp);
	if (write(fd, text, len) != (ssize_t)len || fsync(fd) != 0)
		rc = fail_io(err, "cannot write", tmp);
	close(fd);
	if (rc == 0 && rename(tmp, path) != 0)
		rc = fail_io(err, "cannot rename", tmp);
	if (rc != 0)
		return rc;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail_io(err, "cannot open", folder);
	if (fsync(fd) != 0)
		rc = fail_io(err, "cannot make durable", folder);
	close(fd);
	return rc;
}

int
weir_job_dir_reserve_ids(const char *folder, uint64_t next_id, uint64_t *reserved,
			 struct weir_error *err)
{
	struct weir_counters counters = { .next_id = 1 };
	char text[WEIR_COUNTERS_MAX];
	struct weir_path path;
	int rc = weir_layout_counters(&path, folder, err);

	if (rc == 0)
		rc = read_counters(path.text, &counters, err);
	if (rc != 0)
		return rc;
	if (next_id > counters.next_id) {
		counters.next_id = next_id;
		rc = write_durably(folder, path.text, text, weir_counters_print(text, &counters),
				   err);
	}
	if (rc == 0)
		*reserved = counters.next_id;
	return rc;
}

int
weir_job_dir_next_attempt(struct weir_job_dir *dir, uint64_t above, uint64_t *attempt,
			  struct weir_error *err)
{
	struct weir_counters counters = { .next_id = 1 };
	char text[WEIR_COUNTERS_MAX];
	struct weir_path path;
	int rc = weir_layout_counters(&path, dir->path.text, err);

	if (rc == 0)
		rc = read_counters(path.text, &counters, err);
	if (rc != 0)
		return rc;
	if (counters.last_attempt < above)
		counters.last_attempt = above;
	counters.last_attempt++;
	rc = write_durably(dir->path.text, path.text, text, weir_counters_print(text, &counters),
			   err);
	if (rc == 0)
		*attempt = counters.last_attempt;
	return rc;
}

int
weir_job_dir_newest(const char *path, uint64_t *id, struct weir_error *err)
{
	struct weir_stored_ids ids;
	const int rc = weir_stored_ids(path, &ids, err);

	if (rc != 0)
		return rc;
	*id = ids.cnt > 0 ? ids.id[ids.cnt - 1] : 0;
	weir_stored_ids_free(&ids);
	return 0;
}

int
weir_job_dir_sweep(const struct weir_job_dir *dir, uint64_t first_attempt, struct weir_error *err)
{
	uint32_t deleted;

	return weir_stored_sweep(dir->path.text, first_attempt, &deleted, err);
}

/* The manifest first: without it the checkpoint is nothing, whatever else stays. */
static int
discard_one(const char *job_dir, uint64_t id, struct weir_error *err)
{
	struct weir_path chk, manifest;
	int rc = weir_layout_checkpoint(&chk, job_dir, id, err);

	if (rc == 0)
		rc = weir_layout_manifest(&manifest, chk.text, err);
	if (rc == 0 && unlink(manifest.text) != 0 && errno != ENOENT)
		rc = fail_io(err, "cannot delete", manifest.text);
	return rc;
}

int
weir_job_dir_discard(const struct weir_job_dir *dir, uint64_t above_id, uint64_t first_attempt,
		     struct weir_error *err)
{
	struct weir_stored_ids ids;
	int rc = weir_stored_ids(dir->path.text, &ids, err);

	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < ids.cnt && rc == 0; i++) {
		if (ids.id[i] > above_id)
			rc = discard_one(dir->path.text, ids.id[i], err);
	}
	weir_stored_ids_free(&ids);
	return rc == 0 ? weir_job_dir_sweep(dir, first_attempt, err) : rc;
}

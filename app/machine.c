#include "app/machine.h"

/*
 * What only the machine can say about a configuration: do its directories take files, is its input
 * there, does its output belong to somebody else? Asked in the same pass as everything else.
 */

#include "app/host.h"
#include "drivers/preflight/preflight.h"
#include "engine/base/error.h"
#include "engine/checkpoint/layout.h"
#include "engine/graph/graph.h"
#include "weir/sources.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Can files be made in path? Tried, since permission bits say little (root, read-only mounts).
 * Folders that are missing are made for the trial and removed again. Returns 0 or errno.
 */
static int
try_directory(const char *path)
{
	char dir[4096], file[4200];
	size_t made = 0; /* length of the first folder that was made */
	int fd, rc = 0;

	if (snprintf(dir, sizeof(dir), "%s", path) >= (int)sizeof(dir))
		return ENAMETOOLONG;
	for (char *p = dir + 1; rc == 0; p++) {
		const char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(dir, 0777) == 0)
			made = made == 0 ? (size_t)(p - dir) : made;
		else if (errno != EEXIST)
			rc = errno;
		*p = c;
		if (c == '\0')
			break;
	}
	if (rc == 0) {
		snprintf(file, sizeof(file), "%s/.weir-trial-%ld", dir, (long)getpid());
		fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0) {
			rc = errno;
		} else {
			close(fd);
			unlink(file);
		}
	}
	while (made > 0 && strlen(dir) >= made && rmdir(dir) == 0) {
		char *slash = strrchr(dir, '/');

		if (slash == NULL || slash == dir)
			break;
		*slash = '\0';
	}
	return rc;
}

static void
check_directory(struct weir_session *s, enum weir_config_key key, const char *path)
{
	const int rc = try_directory(path);

	if (rc != 0)
		weir_session_error(s, WEIR_ERR_IO, key, NULL, "%s cannot be written: %s", path,
				   strerror(rc));
}

/* A name that a sink gave to a committed file. */
static bool
has_committed_files(const char *path, char *name, size_t cap)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool found = false;

	while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
		found = strncmp(entry->d_name, "part-", 5) == 0;
		if (found)
			snprintf(name, cap, "%s", entry->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

static void
check_output(struct weir_session *s, bool start)
{
	const char *path = s->cfg.job_output;
	char name[300];

	if (strcmp(path, "-") == 0 || strcmp(path, "null") == 0)
		return;
	check_directory(s, WEIR_KEY_job_output, path);
	if (start && strcmp(s->cfg.restore_from, "none") == 0 &&
	    has_committed_files(path, name, sizeof(name)))
		weir_session_error(s, WEIR_ERR_CONFIG, WEIR_KEY_job_output,
				   "choose another directory, or go on with restore.from",
				   "%s holds another run's output (%s)", path, name);
}

static void
check_input(struct weir_session *s)
{
	const char *path = s->cfg.job_input;

	if (path != NULL && access(path, R_OK) != 0)
		weir_session_error(s, WEIR_ERR_NOINPUT, WEIR_KEY_job_input, NULL, "%s: %s", path,
				   strerror(errno));
}

static void
check_restore(struct weir_session *s)
{
	static const char *const words[] = { "none", "latest" };
	const char *from = s->cfg.restore_from;
	char manifest[4200], hint[64];
	const char *near = weir_suggest(from, words, 2);

	if (strcmp(from, "none") == 0 || strcmp(from, "latest") == 0)
		return;
	snprintf(manifest, sizeof(manifest), "%.4096s/" WEIR_LAYOUT_MANIFEST, from);
	if (access(manifest, R_OK) == 0)
		return;
	snprintf(hint, sizeof(hint), "did you mean %s?", near != NULL ? near : "");
	weir_session_error(s, WEIR_ERR_NOINPUT, WEIR_KEY_restore_from, near != NULL ? hint : NULL,
			   "%s is no checkpoint: %s: %s", from, manifest, strerror(errno));
}

void
weir_session_check_sources(struct weir_session *s)
{
	if (s->cfg.job_input != NULL || weir_config_is_bad(&s->cfg, WEIR_KEY_job_input))
		return;
	for (uint32_t i = 0; i < s->job->vertex_cnt; i++) {
		const struct weir_vertex *vertex = &s->job->vertex[i];

		if (vertex->connector != &weir_files && vertex->connector != &weir_pcap)
			continue;
		weir_session_error(s, WEIR_ERR_CONFIG, WEIR_KEY_job_input,
				   "add --set job.input=PATH, a file or a directory",
				   "it is not set, and source '%s' reads it", vertex->id);
		return;
	}
}

void
weir_session_check_machine(struct weir_session *s, bool start)
{
	check_input(s);
	check_output(s, start);
	/* An interval that nobody understands means checkpoints all the same. */
	if (s->cfg.checkpoint_dir != NULL &&
	    (s->cfg.checkpoint_interval > 0 ||
	     weir_config_is_bad(&s->cfg, WEIR_KEY_checkpoint_interval)))
		check_directory(s, WEIR_KEY_checkpoint_dir, s->cfg.checkpoint_dir);
	check_restore(s);
}

bool
weir_session_preflight(const struct weir_session *s, char *text, size_t cap)
{
	const struct weir_config *cfg = &s->cfg;
	const bool files = cfg->checkpoint_interval > 0;
	const uint64_t state = s->plan->state_bytes_core * s->plan->core_cnt;
	const bool uring = files && cfg->io_backend != WEIR_CFG_IO_POSIX;
	const struct weir_preflight_need need = {
		.huge_bytes = cfg->memory_hugepages != WEIR_CFG_HUGEPAGES_OFF
				      ? s->plan->frame_bytes_sum + state
				      : 0,
		.register_bytes = uring ? (uint64_t)s->plan->core_cnt * WEIR_HOST_STAGING_BYTES : 0,
		.uring = uring,
	};
	struct weir_preflight_line lines[WEIR_PREFLIGHT_MAX];
	const uint32_t cnt = weir_preflight(&need, lines);
	char missing[900];

	if (!weir_preflight_summary(lines, cnt, missing, sizeof(missing)))
		return false;
	snprintf(text, cap, "not at full speed: %s", missing);
	return true;
}

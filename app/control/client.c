#include "app/control/client.h"

#include "app/control/place.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX 65536u

/* Connect to path: 0, ENOENT or ECONNREFUSED as nobody is there, or WEIR_ERR_ in *err. */
static bool
try_path(const char *path, int *fd, struct weir_error *err)
{
	struct sockaddr_un addr;
	int dir_fd, rc;

	if (weir_control_address(path, &addr, &dir_fd, err) != 0)
		return false;
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	rc = *fd < 0 ? errno : 0;
	if (rc == 0 && connect(*fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0) {
		rc = errno;
		close(*fd);
	}
	if (dir_fd >= 0)
		close(dir_fd);
	if (rc != 0)
		weir_fail(err, WEIR_ERR_UNAVAILABLE, "%s: %s", path, strerror(rc));
	return rc == 0;
}

/* Does the name "<job>@<process>" mean this job? */
static bool
is_of(const char *name, const char *job)
{
	const size_t len = strlen(job);

	return strcmp(name, job) == 0 ||
	       (strncmp(name, job, len) == 0 && name[len] == '@' &&
		strspn(name + len + 1, "0123456789") == strlen(name + len + 1));
}

/* Look for the job in one runtime folder: its runs, counted; the first one's connection. */
static uint32_t
try_runtime(const char *folder, const char *job, int *fd, char *names, size_t cap)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	uint32_t found = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		const size_t len = strlen(names);
		char path[2 * WEIR_PATH_MAX];
		struct weir_error ignored;
		int one;

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (!is_of(entry->d_name, job) || !try_path(path, &one, &ignored))
			continue;
		snprintf(names + len, cap - len, "%s%s", len > 0 ? ", " : "", entry->d_name);
		if (found++ == 0)
			*fd = one;
		else
			close(one);
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

int
weir_control_connect(const char *checkpoint_dir, const char *job, int *fd, struct weir_error *err)
{
	struct weir_path folder[2], job_dir, path;
	struct weir_error first = { 0 };
	char names[512] = "";
	uint32_t found = 0;

	if (!weir_layout_job_ok(job))
		return weir_fail(err, WEIR_ERR_USAGE, "%s is no name of a job", job);
	if (weir_layout_job(&job_dir, checkpoint_dir, job, &first) == 0 &&
	    weir_control_path_job(&path, job_dir.text, &first) == 0 &&
	    try_path(path.text, fd, &first))
		return 0;
	/* A job that has a folder there is not looked for among those without one: two runs of one
	 * name are not taken for each other. */
	if (first.code == WEIR_ERR_UNAVAILABLE && access(job_dir.text, F_OK) == 0)
		return weir_fail(err, WEIR_ERR_UNAVAILABLE, "the job %s is not running (%s)", job,
				 first.text);
	for (uint32_t i = weir_control_runtime(folder); i-- > 0;) {
		int one = -1;
		const uint32_t n = try_runtime(folder[i].text, job, &one, names, sizeof(names));

		if (n > 0 && found == 0)
			*fd = one;
		else if (n > 0)
			close(one);
		found += n;
	}
	if (found == 1)
		return 0;
	if (found > 1) {
		close(*fd);
		return weir_fail(err, WEIR_ERR_USAGE, "several runs have the name %s: %s", job,
				 names);
	}
	return weir_fail(
		err, WEIR_ERR_UNAVAILABLE,
		"no job %s is running with checkpoint.dir %s, nor without checkpoints (%s)", job,
		checkpoint_dir, first.text);
}

static bool
send_line(int fd, const struct weir_control_command *command)
{
	json_t *json = weir_command_json(command);
	char *text = json_dumps(json, JSON_COMPACT);
	size_t at = 0, len;
	bool sent = true;

	WEIR_ASSERT(text != NULL);
	json_decref(json);
	len = strlen(text);
	text[len] = '\n'; /* in the place of the end */
	while (at <= len && sent) {
		const ssize_t n = send(fd, text + at, len + 1 - at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		sent = n > 0;
		at += sent ? (size_t)n : 0;
	}
	free(text);
	return sent;
}

static json_t *
read_line(int fd)
{
	char *text = malloc(ANSWER_MAX);
	json_t *answer = NULL;
	size_t len = 0;

	WEIR_ASSERT(text != NULL);
	for (;;) {
		const ssize_t n = recv(fd, text + len, ANSWER_MAX - len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
		if (memchr(text, '\n', len) != NULL || len == ANSWER_MAX)
			break;
	}
	if (len > 0 && text[len - 1] == '\n')
		answer = json_loadb(text, len - 1, 0, NULL);
	free(text);
	return answer;
}

json_t *
weir_control_ask(int fd, const struct weir_control_command *command, struct weir_error *err)
{
	json_t *answer = send_line(fd, command) ? read_line(fd) : NULL;

	close(fd);
	if (!json_is_object(answer)) {
		json_decref(answer);
		weir_fail(err, WEIR_ERR_UNAVAILABLE,
			  "the run ended without an answer; what became of request %s is not known",
			  command->request_id);
		return NULL;
	}
	return answer;
}

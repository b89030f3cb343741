#include "app/control/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
weir_control_path_job(struct weir_path *path, const char *job_dir, struct weir_error *err)
{
	if (snprintf(path->text, sizeof(path->text), "%s/control", job_dir) >=
	    (int)sizeof(path->text))
		return weir_fail(err, WEIR_ERR_CONFIG, "%s: the path is too long", job_dir);
	return 0;
}

uint32_t
weir_control_runtime(struct weir_path folder[static 2])
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	struct stat st;
	uint32_t cnt = 0;

	if (dir != NULL && dir[0] == '/' && strlen(dir) < 512 && stat(dir, &st) == 0 &&
	    S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		snprintf(folder[cnt++].text, WEIR_PATH_MAX, "%s/weir", dir);
	snprintf(folder[cnt++].text, WEIR_PATH_MAX, "/tmp/weir-%lu", (unsigned long)geteuid());
	return cnt;
}

/* Make a folder that nobody else can put anything into. */
static int
make_private(const char *path, struct weir_error *err)
{
	struct stat st;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return weir_fail(err, WEIR_ERR_IO, "cannot make %s: %s", path, strerror(errno));
	if (lstat(path, &st) != 0)
		return weir_fail(err, WEIR_ERR_IO, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return weir_fail(err, WEIR_ERR_IO, "%s is not a folder of this user's alone", path);
	return 0;
}

int
weir_control_path_runtime(struct weir_path *path, const char *job, long pid, struct weir_error *err)
{
	struct weir_path folder[2];
	int rc;

	(void)weir_control_runtime(folder);
	rc = make_private(folder[0].text, err);
	if (rc == 0 && snprintf(path->text, sizeof(path->text), "%s/%.60s@%ld", folder[0].text, job,
				pid) >= (int)sizeof(path->text))
		rc = weir_fail(err, WEIR_ERR_CONFIG, "%s: the path is too long", folder[0].text);
	return rc;
}

int
weir_control_address(const char *path, struct sockaddr_un *addr, int *dir_fd,
		     struct weir_error *err)
{
	const char *name = strrchr(path, '/');
	char dir[WEIR_PATH_MAX];

	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	*dir_fd = -1;
	if (strlen(path) < sizeof(addr->sun_path)) {
		memcpy(addr->sun_path, path, strlen(path) + 1);
		return 0;
	}
	if (name == NULL || (size_t)(name - path) >= sizeof(dir) || strlen(name) > 80)
		return weir_fail(err, WEIR_ERR_CONFIG, "%s: the path is too long", path);
	snprintf(dir, sizeof(dir), "%.*s", (int)(name - path), path);
	*dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*dir_fd < 0)
		return weir_fail(err, WEIR_ERR_IO, "cannot open %s: %s", dir, strerror(errno));
	snprintf(addr->sun_path, sizeof(addr->sun_path), "/proc/self/fd/%d%s", *dir_fd, name);
	return 0;
}

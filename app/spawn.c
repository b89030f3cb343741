#include "app/spawn.h"

#include "app/session_open.h"
#include "app/worker_link.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	ARG_JOB = 2,
	ARG_CONFIG,
	ARG_LINK,
	ARG_ATTEMPT,
	ARG_RUN_ATTEMPT,
	ARG_RUN_ID,
	ARG_NEWEST,
	ARG_RESTORE, /* NONE: from the beginning */
	ARG_BASE,    /* NONE: the run began from the beginning */
	ARG_CNT
};

#define NONE "-" /* in the place of a path */

struct sink {
	int fd;
	bool failed;
};

static void
to_fd(void *arg, const char *text, size_t len)
{
	struct sink *s = arg;

	s->failed |= write(s->fd, text, len) != (ssize_t)len;
}

int
weir_spawn_config(const struct weir_config *cfg, int *fd, struct weir_error *err)
{
	struct sink s = { .fd = memfd_create("weir-config", MFD_CLOEXEC) };

	if (s.fd < 0)
		return weir_fail(err, WEIR_ERR_FAILED, "memfd_create: %s", strerror(errno));
	weir_config_write(cfg, WEIR_PRINT_GIVEN, to_fd, &s);
	if (s.failed) {
		close(s.fd);
		return weir_fail(err, WEIR_ERR_FAILED, "cannot hand over the configuration");
	}
	*fd = s.fd;
	return 0;
}

void
weir_spawn_malloc_conf(const struct weir_plan *plan, char *buf, size_t cap)
{
	/* One arena for each core thread, one for control, one for helper and library threads. */
	snprintf(buf, cap, "narenas:%u,thp:never,metadata_thp:disabled,dirty_decay_ms:10000",
		 plan->core_cnt + 2);
}

static void
keep_over_exec(int fd)
{
	if (fd >= 0)
		(void)fcntl(fd, F_SETFD, 0);
}

/* In the child: become the worker. Only returns by exiting. */
static _Noreturn void
become_worker(const struct weir_spawn *spawn, pid_t parent, int link_fd, char *const *args)
{
	sigset_t none;

	/*
	 * The kernel kills the worker when the supervisor's thread is gone. One that went before
	 * the call is found out by asking for the parent afterwards.
	 */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(WEIR_ERR_FAILED);
	/* Ctrl-C reaches the whole group: the supervisor decides, the worker is told over the link.
	 */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	keep_over_exec(spawn->config_fd);
	keep_over_exec(spawn->lock_fd);
	keep_over_exec(link_fd);
	setenv("MALLOC_CONF", spawn->malloc_conf, 1);
	execv("/proc/self/exe", args);
	_exit(WEIR_ERR_FAILED);
}

int
weir_spawn_worker(const struct weir_spawn *spawn, pid_t *pid, int *link_fd, struct weir_error *err)
{
	const struct weir_launch *launch = spawn->launch;
	char number[ARG_CNT][24], *args[ARG_CNT + 1] = { 0 }, none[] = NONE;
	const pid_t parent = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return weir_fail(err, WEIR_ERR_FAILED, "socketpair: %s", strerror(errno));
	for (uint32_t i = ARG_CONFIG; i < ARG_RESTORE; i++)
		args[i] = number[i];
	snprintf(number[ARG_CONFIG], 24, "%d", spawn->config_fd);
	snprintf(number[ARG_LINK], 24, "%d", pair[1]);
	snprintf(number[ARG_ATTEMPT], 24, "%" PRIu64, launch->attempt);
	snprintf(number[ARG_RUN_ATTEMPT], 24, "%u", launch->run_attempt);
	snprintf(number[ARG_NEWEST], 24, "%" PRIu64, launch->newest_id);
	args[0] = (char[]){ "weir" };
	args[1] = (char[]){ "_worker" };
	args[ARG_JOB] = (char *)(uintptr_t)spawn->job;
	args[ARG_RUN_ID] = (char *)(uintptr_t)launch->run_id;
	args[ARG_RESTORE] = launch->restore != NULL ? (char *)(uintptr_t)launch->restore : none;
	args[ARG_BASE] = launch->base != NULL ? (char *)(uintptr_t)launch->base : none;
	(void)lseek(spawn->config_fd, 0, SEEK_SET);
	*pid = fork();
	if (*pid == 0)
		become_worker(spawn, parent, pair[1], args);
	close(pair[1]);
	if (*pid < 0) {
		close(pair[0]);
		return weir_fail(err, WEIR_ERR_FAILED, "fork: %s", strerror(errno));
	}
	*link_fd = pair[0];
	return 0;
}

static char *
read_config(int fd, size_t *len)
{
	struct stat st;
	char *text;

	if (fstat(fd, &st) != 0 || st.st_size > (off_t)WEIR_CONFIG_TEXT_MAX * 2)
		return NULL;
	*len = (size_t)st.st_size;
	text = malloc(*len + 1);
	if (text != NULL && pread(fd, text, *len, 0) != (ssize_t)*len) {
		free(text);
		return NULL;
	}
	return text;
}

static const char *
path_of(const char *arg)
{
	return strcmp(arg, NONE) == 0 ? NULL : arg;
}

int
weir_worker_start(int argc, char **argv)
{
	struct weir_launch launch = { 0 };
	struct weir_worker_link link = { .cancelled = false };
	struct weir_session session;
	size_t len = 0;
	char *text;
	int rc;

	if (argc != ARG_CNT) {
		fprintf(stderr, "weir: _worker is started by weir run only\n");
		return WEIR_ERR_USAGE;
	}
	launch.attempt = strtoull(argv[ARG_ATTEMPT], NULL, 10);
	launch.run_attempt = (uint32_t)strtoul(argv[ARG_RUN_ATTEMPT], NULL, 10);
	launch.newest_id = strtoull(argv[ARG_NEWEST], NULL, 10);
	launch.restore = path_of(argv[ARG_RESTORE]);
	launch.base = path_of(argv[ARG_BASE]);
	snprintf(launch.run_id, sizeof(launch.run_id), "%s", argv[ARG_RUN_ID]);
	prctl(PR_SET_NAME, "weir-worker");
	weir_link_open(&link.link, (int)strtol(argv[ARG_LINK], NULL, 10));
	(void)fcntl(link.link.fd, F_SETFD, FD_CLOEXEC);
	text = read_config((int)strtol(argv[ARG_CONFIG], NULL, 10), &len);
	close((int)strtol(argv[ARG_CONFIG], NULL, 10));
	if (text == NULL)
		return WEIR_ERR_FAILED;
	rc = weir_session_open_text(&session, argv[ARG_JOB], text, len);
	free(text);
	if (rc == 0)
		rc = weir_worker_main(&session, &launch, &link);
	weir_session_close(&session);
	json_decref(link.commands);
	weir_link_close(&link.link);
	return rc;
}

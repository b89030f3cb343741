#include "app/hook.h"

#include "drivers/clock/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENV_MAX 512u
#define WAIT_US 1000

extern char **environ;

void
weir_hook_open(struct weir_hook *hook, const char *spec, const char *job)
{
	const char *colon = strchr(spec, ':');

	*hook = (struct weir_hook){ .command = colon + 1, .job = job, .out = -1 };
	snprintf(hook->name, sizeof(hook->name), "%.*s", (int)(colon - spec), spec);
	hook->state = malloc(WEIR_HOOK_STATE_MAX + 1);
	WEIR_ASSERT(hook->state != NULL);
}

/* The environment with what the command is told; own[] holds the texts. */
static char **
environment(const struct weir_hook *hook, const char *what, uint64_t id, char own[3][192])
{
	char **env = calloc(ENV_MAX, sizeof(*env));
	uint32_t n = 0;

	WEIR_ASSERT(env != NULL);
	snprintf(own[0], sizeof(own[0]), "WEIR_HOOK=%s", what);
	snprintf(own[1], sizeof(own[1]), "WEIR_JOB=%s", hook->job);
	snprintf(own[2], sizeof(own[2]), "WEIR_CHECKPOINT=%llu", (unsigned long long)id);
	while (n < 3) {
		env[n] = own[n];
		n++;
	}
	for (char **e = environ; *e != NULL && n + 1 < ENV_MAX; e++)
		if (strncmp(*e, "WEIR_", 5) != 0)
			env[n++] = *e;
	return env;
}

/*
 * In the child, which has borrowed this process until it execs: only system calls. It dies with
 * the control thread, so that a killed worker leaves no command behind that its successor would
 * meet.
 */
static _Noreturn void
become_command(char *const *argv, char *const *env, int in, int out)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	for (int s = 1; s < NSIG; s++)
		(void)sigaction(s, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
	    close_range(STDERR_FILENO + 1, ~0u, 0) == 0)
		execve("/bin/sh", argv, env);
	_exit(127);
}

/*
 * in, out: its standard input and output. 0 or an errno. No fork: that would make every page of
 * state a page to be copied at the next change.
 */
static int
spawn(struct weir_hook *hook, const char *what, uint64_t id, int in, int out)
{
	char *argv[] = { "sh", "-c", (char *)(uintptr_t)hook->command, NULL };
	char own[3][192];
	char **env = environment(hook, what, id, own);
	sigset_t all, before;
	pid_t pid;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = vfork();
	if (pid == 0)
		become_command(argv, env, in, out);
	rc = pid < 0 ? errno : 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	free(env);
	hook->pid = pid > 0 ? pid : 0;
	return rc;
}

static void
drop_out(struct weir_hook *hook)
{
	if (hook->out >= 0)
		close(hook->out);
	hook->out = -1;
}

static void
kill_it(struct weir_hook *hook)
{
	if (hook->pid != 0) {
		(void)kill(-hook->pid, SIGKILL);
		(void)waitpid(hook->pid, NULL, 0);
	}
	hook->pid = 0;
	drop_out(hook);
}

void
weir_hook_close(struct weir_hook *hook)
{
	kill_it(hook);
	free(hook->state);
	hook->state = NULL;
}

/* ---- snapshot ---- */

static void
begin(void *arg, uint64_t id)
{
	struct weir_hook *hook = arg;
	int pipes[2] = { -1, -1 };
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int rc = in < 0 || pipe2(pipes, O_CLOEXEC) != 0 ? errno : 0;

	hook->len = 0;
	hook->failed = (struct weir_error){ 0 };
	if (rc == 0)
		rc = spawn(hook, "snapshot", id, in, pipes[1]);
	if (in >= 0)
		close(in);
	if (pipes[1] >= 0)
		close(pipes[1]);
	hook->out = pipes[0];
	if (rc == 0 && fcntl(hook->out, F_SETFL, O_NONBLOCK) != 0)
		rc = errno;
	if (rc != 0) {
		kill_it(hook);
		weir_fail(&hook->failed, WEIR_ERR_IO, "cannot run it: %s", strerror(rc));
	}
}

/* Has all that it prints come? */
static enum weir_hook_step
read_some(struct weir_hook *hook, struct weir_error *err)
{
	ssize_t n = 1;

	while (n > 0 && hook->len <= WEIR_HOOK_STATE_MAX) {
		n = read(hook->out, hook->state + hook->len, WEIR_HOOK_STATE_MAX + 1 - hook->len);
		if (n > 0)
			hook->len += (size_t)n;
	}
	if (hook->len > WEIR_HOOK_STATE_MAX) {
		weir_fail(err, WEIR_ERR_FAILED, "it prints more than %u bytes",
			  WEIR_HOOK_STATE_MAX);
		return WEIR_HOOK_FAILED;
	}
	if (n == 0)
		return WEIR_HOOK_DONE;
	if (errno == EAGAIN || errno == EINTR)
		return WEIR_HOOK_BUSY;
	weir_fail(err, WEIR_ERR_IO, "cannot read what it prints: %s", strerror(errno));
	return WEIR_HOOK_FAILED;
}

static enum weir_hook_step
judge(int status, struct weir_error *err)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return WEIR_HOOK_DONE;
	if (WIFEXITED(status))
		weir_fail(err, WEIR_ERR_FAILED, "it ended with exit code %d", WEXITSTATUS(status));
	else
		weir_fail(err, WEIR_ERR_FAILED, "it was killed by signal %d", WTERMSIG(status));
	return WEIR_HOOK_FAILED;
}

static enum weir_hook_step
step(void *arg, struct weir_blob *state, struct weir_error *err)
{
	struct weir_hook *hook = arg;
	enum weir_hook_step s;
	int status;

	if (hook->failed.code != WEIR_OK) {
		*err = hook->failed;
		return WEIR_HOOK_FAILED;
	}
	s = hook->out < 0 ? WEIR_HOOK_DONE : read_some(hook, err);
	if (s == WEIR_HOOK_FAILED)
		kill_it(hook);
	if (s != WEIR_HOOK_DONE)
		return s;
	drop_out(hook);
	if (waitpid(hook->pid, &status, WNOHANG) != hook->pid)
		return WEIR_HOOK_BUSY;
	hook->pid = 0;
	*state = (struct weir_blob){ hook->state, hook->len };
	return judge(status, err);
}

static void
abandon(void *arg)
{
	kill_it(arg);
}

struct weir_master_hook
weir_hook_master(struct weir_hook *hook)
{
	return (struct weir_master_hook){
		.name = hook->name, .begin = begin, .step = step, .abandon = abandon, .arg = hook
	};
}

/* ---- restore ---- */

static const struct weir_manifest_hook *
find(const struct weir_hook *hook, const struct weir_manifest *m)
{
	for (uint32_t i = 0; m != NULL && i < m->hook_cnt; i++)
		if (strcmp(m->hooks[i].name, hook->name) == 0)
			return &m->hooks[i];
	return NULL;
}

/* A descriptor from which the state is read. */
static int
input_of(const struct weir_manifest_hook *mh)
{
	const size_t len = mh != NULL ? mh->state.len : 0;
	const int fd = memfd_create("weir-hook", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	if (len > 0 && pwrite(fd, mh->state.bytes, len, 0) != (ssize_t)len) {
		close(fd);
		return -1;
	}
	return fd;
}

/* It has ended, with what? */
static int
wait_for(struct weir_hook *hook, int64_t timeout_ns, struct weir_error *err)
{
	const int64_t end_ns = weir_clock_now_ns() + timeout_ns;
	int status;

	while (waitpid(hook->pid, &status, WNOHANG) != hook->pid) {
		if (weir_clock_now_ns() >= end_ns) {
			kill_it(hook);
			return weir_fail(err, WEIR_ERR_FAILED,
					 "it has not ended within checkpoint.timeout");
		}
		usleep(WAIT_US);
	}
	hook->pid = 0;
	return judge(status, err) == WEIR_HOOK_DONE ? 0 : err->code;
}

int
weir_hook_restore(struct weir_hook *hook, const struct weir_manifest *m, int64_t timeout_ns,
		  struct weir_error *err)
{
	const struct weir_manifest_hook *mh = find(hook, m);
	const int in = input_of(mh);
	int rc;

	rc = in < 0 ? errno
		    : spawn(hook, mh != NULL ? "restore" : "reset",
			    m != NULL ? m->checkpoint_id : 0, in, STDERR_FILENO);
	if (in >= 0)
		close(in);
	if (rc != 0)
		return weir_fail(err, WEIR_ERR_IO, "checkpoint.hook '%s': cannot run it: %s",
				 hook->name, strerror(rc));
	if (wait_for(hook, timeout_ns, err) != 0)
		return weir_error_prefix(err, "checkpoint.hook '%s', %s", hook->name,
					 mh != NULL ? "restore" : "reset");
	return 0;
}

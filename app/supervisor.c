#include "app/supervisor.h"

#include "app/machine.h"
#include "app/spawn.h"
#include "app/supervisor_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A worker that was asked to cancel has this long before it is killed. */
#define CANCEL_PATIENCE_NS INT64_C(10000000000)

static const char *
text_of(json_t *message, const char *name)
{
	const char *text = json_string_value(json_object_get(message, name));

	return text != NULL ? text : "";
}

static void
warn(struct weir_supervisor *s, const char *text)
{
	weir_display_line(&s->display, "warning: %s", text);
	weir_report_warning(&s->report, text);
}

static void
on_running(struct weir_supervisor *s, json_t *message)
{
	json_t *restored = json_object_get(message, "restored");

	s->attempt.running_ns = weir_supervisor_now_ns();
	weir_report_running(&s->report, restored, s->attempt.running_ns);
	if (json_is_object(restored))
		weir_display_line(&s->display, "running, restored from %s",
				  text_of(restored, "path"));
	weir_run_control_running(s);
}

static void
on_checkpoint(struct weir_supervisor *s, json_t *message)
{
	json_t *entry = json_object_get(message, "entry");

	if (!json_is_object(entry))
		return;
	weir_report_checkpoint(&s->report, entry);
	weir_display_checkpoint(&s->display, entry);
	s->attempt.progressed |= strcmp(text_of(entry, "status"), "completed") == 0;
}

static void
on_error(struct weir_supervisor *s, json_t *message)
{
	const int code = (int)json_integer_value(json_object_get(message, "code"));

	weir_fail(&s->attempt.err, code > 0 ? code : WEIR_ERR_FAILED, "%s",
		  text_of(message, "text"));
}

static void
on_message(struct weir_supervisor *s, json_t *message)
{
	const char *type = text_of(message, "type");

	if (strcmp(type, "progress") == 0)
		weir_display_progress(&s->display, message, weir_supervisor_now_ns());
	else if (strcmp(type, "checkpoint") == 0)
		on_checkpoint(s, message);
	else if (strcmp(type, "statistics") == 0)
		weir_report_statistics(&s->report, json_object_get(message, "parts"));
	else if (strcmp(type, "running") == 0)
		on_running(s, message);
	else if (strcmp(type, "warning") == 0)
		warn(s, text_of(message, "text"));
	else if (strcmp(type, "log") == 0)
		weir_display_line(&s->display, "%s", text_of(message, "text"));
	else if (strcmp(type, "outcome") == 0)
		weir_run_control_outcome(s, message);
	else if (strcmp(type, "error") == 0)
		on_error(s, message);
	else if (strcmp(type, "finished") == 0)
		snprintf(s->attempt.state, sizeof(s->attempt.state), "%s",
			 text_of(message, "state"));
}

static void
drain_link(struct weir_supervisor *s)
{
	json_t *message;

	while ((message = weir_link_receive(&s->attempt.link)) != NULL) {
		on_message(s, message);
		json_decref(message);
	}
}

void
weir_supervisor_cancel(struct weir_supervisor *s, int signal_number)
{
	const struct weir_watched *a = &s->attempt;
	json_t *message;

	if (s->cancel_signal != 0) {
		s->kill_at_ns = weir_supervisor_now_ns();
		return;
	}
	s->cancel_signal = signal_number;
	s->kill_at_ns = weir_supervisor_now_ns() + CANCEL_PATIENCE_NS;
	weir_display_line(&s->display, "cancelling");
	if (a->pid == 0 || a->reaped)
		return;
	message = json_pack("{s:s}", "type", "cancel");
	(void)weir_link_send(&s->attempt.link, message);
	json_decref(message);
}

static void
read_signals(struct weir_supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			weir_supervisor_cancel(s, (int)info.ssi_signo);
	}
}

static void
reap(struct weir_watched *a)
{
	pid_t pid;

	do {
		pid = waitpid(a->pid, &a->status, WNOHANG);
	} while (pid < 0 && errno == EINTR);
	a->reaped = pid == a->pid;
}

/* Sleep until something happens or until_ns (INT64_MAX: no limit); takes signals and commands. */
static void
wait_for(struct weir_supervisor *s, int link_fd, int64_t until_ns)
{
	struct weir_control_server *control = s->control.server;
	struct pollfd fds[3] = { { .fd = s->signal_fd, .events = POLLIN },
				 { .fd = link_fd, .events = POLLIN },
				 { .fd = control != NULL ? weir_control_fd(control) : -1,
				   .events = POLLIN } };
	const int64_t due = control != NULL ? weir_control_due_ns(control) : INT64_MAX;
	const int64_t history = weir_history_due_ns(&s->history);
	int64_t ns = due < until_ns ? due : until_ns;
	struct timespec left;

	ns = (history < ns ? history : ns) - weir_supervisor_now_ns();
	ns = ns < 0 ? 0 : ns;
	left.tv_sec = ns / 1000000000;
	left.tv_nsec = ns % 1000000000;
	(void)ppoll(fds, 3, &left, NULL);
	read_signals(s);
	if (control != NULL)
		weir_control_step(control, weir_supervisor_now_ns());
	weir_run_step_history(s);
}

/* Watch the worker until it is gone and all it said is read. */
static void
watch(struct weir_supervisor *s)
{
	struct weir_watched *a = &s->attempt;

	while (!a->reaped) {
		wait_for(s, a->link.ended ? -1 : a->link.fd,
			 s->cancel_signal != 0 ? s->kill_at_ns : INT64_MAX);
		drain_link(s);
		if (s->cancel_signal != 0 && weir_supervisor_now_ns() >= s->kill_at_ns) {
			kill(a->pid, SIGKILL);
			s->kill_at_ns = INT64_MAX;
		}
		reap(a);
	}
	drain_link(s);
	weir_link_close(&a->link);
	weir_run_control_lost(s);
}

/* How the attempt ended, as an exit code and a text; 0: well. */
static int
judge(struct weir_supervisor *s)
{
	struct weir_watched *a = &s->attempt;
	const int code = WIFEXITED(a->status) ? WEXITSTATUS(a->status) : WEIR_ERR_FAILED;

	if (WIFSIGNALED(a->status)) {
		const int sig = WTERMSIG(a->status);

		/* What it said before is part of the story; the code is that of a crash. */
		weir_fail(&a->err, WEIR_ERR_FAILED, "the worker was killed by signal %d (%s)", sig,
			  strsignal(sig));
		return WEIR_ERR_FAILED;
	}
	if (code == 0 && a->state[0] != '\0')
		return 0;
	if (code == 0)
		return weir_fail(&a->err, WEIR_ERR_FAILED, "the worker ended without a result");
	if (strcmp(weir_err_text(code), "unknown") == 0) {
		if (a->err.code == 0)
			weir_fail(&a->err, WEIR_ERR_FAILED, "the worker ended with code %d", code);
		return WEIR_ERR_FAILED;
	}
	if (a->err.code == 0)
		weir_fail(&a->err, code, "%s", weir_err_text(code));
	return code;
}

static int
start_attempt(struct weir_supervisor *s, struct weir_error *err)
{
	struct weir_spawn spawn = {
		.job = s->session->job_arg,
		.malloc_conf = s->malloc_conf,
		.launch = &s->launch,
		.config_fd = s->config_fd,
		.lock_fd = s->has_dir ? s->dir.lock_fd : -1,
	};
	int link_fd, rc;

	memset(&s->attempt, 0, sizeof(s->attempt));
	rc = weir_run_choose_restore(s, err);
	s->launch.run_attempt++;
	s->launch.attempt = s->base_attempt + s->launch.run_attempt;
	if (rc == 0 && s->has_dir)
		rc = weir_job_dir_next_attempt(&s->dir, s->base_attempt, &s->launch.attempt, err);
	s->launch.restore = s->attempt.restore[0] != '\0' ? s->attempt.restore : NULL;
	s->launch.base = s->base[0] != '\0' ? s->base : NULL;
	if (rc == 0 && s->launch.run_attempt == 1)
		s->first_attempt = s->launch.attempt;
	if (rc == 0)
		weir_run_clean_up(s);
	if (rc == 0)
		rc = weir_spawn_worker(&spawn, &s->attempt.pid, &link_fd, err);
	if (rc != 0)
		return rc;
	weir_link_open(&s->attempt.link, link_fd);
	weir_report_attempt(&s->report);
	return 0;
}

/* Wait out the delay before a restart; false: somebody cancelled. */
static bool
pause_before_restart(struct weir_supervisor *s, int64_t delay_ns)
{
	const int64_t until = weir_supervisor_now_ns() + delay_ns;

	while (s->cancel_signal == 0 && weir_supervisor_now_ns() < until)
		wait_for(s, -1, until);
	return s->cancel_signal == 0;
}

/* After a failed attempt: true if another one should follow. */
static bool
try_again(struct weir_supervisor *s, int code)
{
	const struct weir_watched *a = &s->attempt;
	const int64_t now = weir_supervisor_now_ns();
	const struct weir_attempt_end end = {
		.code = code,
		.now_ns = now,
		.ran_ns = a->running_ns != 0 ? now - a->running_ns : 0,
		.progressed = a->progressed,
	};
	int64_t delay_ns;
	const char *why;

	weir_display_line(&s->display, "attempt %u failed: %s", s->launch.run_attempt, a->err.text);
	if (s->control.saved != NULL) {
		/* S4: output may be committed up to the savepoint: no older checkpoint will do. */
		weir_display_line(&s->display,
				  "the savepoint is complete, but the job did not finish: restore "
				  "from %s",
				  s->control.saved_path);
		return false;
	}
	if (!weir_restart_next(&s->restart, &end, &delay_ns, &why)) {
		weir_display_line(&s->display, "no restart: %s", why);
		return false;
	}
	weir_display_line(&s->display, "restarting in %.3f s", (double)delay_ns / 1e9);
	return pause_before_restart(s, delay_ns);
}

/* Attempts until one ends well, is cancelled, or no other may follow. The exit code; *state. */
static int
run_attempts(struct weir_supervisor *s, const char **state)
{
	for (;;) {
		struct weir_error err = { 0 };
		int code = start_attempt(s, &err);

		*state = "FAILED";
		if (code != 0) {
			weir_display_line(&s->display, "error: %s", err.text);
			return code;
		}
		watch(s);
		weir_run_settle(s);
		code = judge(s);
		if (code == 0 && strcmp(s->attempt.state, "CANCELED") != 0) {
			*state = strcmp(s->attempt.state, "SUSPENDED") == 0 ? "SUSPENDED"
									    : "FINISHED";
			return 0;
		}
		if (s->cancel_signal == 0 && code != 0 && try_again(s, code))
			continue;
		if (s->cancel_signal == 0)
			return code != 0 ? code : WEIR_ERR_FAILED;
		*state = "CANCELED";
		return 128 + s->cancel_signal;
	}
}

static void
make_run_id(char run_id[static 33])
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
		/* Only this run's own files are told apart by it: time and process do. */
		const uint64_t seed[2] = { (uint64_t)weir_supervisor_now_ns(), (uint64_t)getpid() };

		memcpy(bytes, seed, sizeof(bytes));
	}
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(run_id + 2 * i, 3, "%02x", bytes[i]);
}

static int
open_signals(struct weir_supervisor *s, struct weir_error *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signal_fd < 0)
		return weir_fail(err, WEIR_ERR_FAILED, "signalfd: %s", strerror(errno));
	return 0;
}

static int
prepare(struct weir_supervisor *s, const char *report_path, struct weir_error *err)
{
	int rc = open_signals(s, err);

	if (rc == 0)
		rc = weir_run_open_folder(s, err);
	if (rc == 0)
		rc = weir_run_resolve_restore(s, err);
	if (rc == 0)
		rc = weir_spawn_config(&s->session->cfg, &s->config_fd, err);
	if (rc == 0)
		rc = weir_run_try_report(report_path, err);
	if (rc == 0)
		weir_run_open_control(s);
	return rc;
}

/* What a person should know before it starts. */
static void
warn_output(struct weir_supervisor *s)
{
	const struct weir_config *cfg = &s->session->cfg;
	char text[1024];

	if (strcmp(cfg->job_output, "-") == 0 && cfg->checkpoint_interval > 0 &&
	    cfg->checkpoint_mode == WEIR_CFG_MODE_EXACTLY_ONCE)
		warn(s, "job.output is standard output: after a restart rows may come twice; a "
			"directory gets each once");
	if (weir_session_preflight(s->session, text, sizeof(text)))
		warn(s, text);
}

int
weir_supervise(struct weir_session *session, const char *report_path)
{
	struct weir_supervisor s = { .session = session, .config_fd = -1, .signal_fd = -1 };
	const struct weir_plan *plan = session->plan;
	struct weir_error err = { 0 };
	const char *state = "FAILED";
	int rc;

	s.dir.lock_fd = -1;
	weir_display_init(&s.display);
	weir_report_init(&s.report);
	weir_restart_init(&s.restart, &session->cfg);
	make_run_id(s.launch.run_id);
	weir_spawn_malloc_conf(plan, s.malloc_conf, sizeof(s.malloc_conf));
	rc = prepare(&s, report_path, &err);
	if (rc != 0) {
		weir_display_line(&s.display, "error: %s", err.text);
	} else {
		for (uint32_t i = 0; i < plan->warning_cnt; i++)
			warn(&s, plan->warning[i]);
		warn_output(&s);
		rc = run_attempts(&s, &state);
		weir_run_apply_retention(&s, state);
		weir_run_clean_up(&s);
		weir_run_finish(&s, rc, state, report_path);
	}
	weir_run_close_control(&s, rc, state);
	weir_history_close(&s.history);
	weir_job_dir_close(&s.dir);
	if (s.config_fd >= 0)
		close(s.config_fd);
	if (s.signal_fd >= 0)
		close(s.signal_fd);
	weir_restart_fini(&s.restart);
	weir_report_fini(&s.report);
	return rc;
}

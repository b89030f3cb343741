#include "app/supervisor.h"

#include "app/job_dir.h"
#include "app/link.h"
#include "app/progress.h"
#include "app/report.h"
#include "app/restart.h"
#include "app/spawn.h"

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

/* What is known about the attempt that runs. */
struct attempt {
	pid_t pid;
	struct weir_link link;
	bool reaped;
	int status;	       /* of waitpid */
	int64_t running_ns;    /* 0: not RUNNING yet */
	bool progressed;       /* completed a checkpoint */
	char state[16];	       /* of the finished message; empty: none */
	struct weir_error err; /* of the error message; code 0: none */
	char restore[WEIR_PATH_MAX];
};

struct supervisor {
	struct weir_session *session;
	struct weir_report report;
	struct weir_restart restart;
	struct weir_display display;
	struct weir_job_dir dir;
	bool has_dir;		  /* checkpoints are on */
	uint64_t start_id;	  /* newest checkpoint in the folder at the start; of older runs */
	uint64_t newest_id;	  /* now */
	uint64_t first_attempt;	  /* this run's first, of the folder's count */
	char base[WEIR_PATH_MAX]; /* checkpoint the run was restored from; empty: none */
	struct weir_launch launch;
	char malloc_conf[160];
	int config_fd;
	int signal_fd;
	int cancel_signal; /* SIGINT, SIGTERM; 0: nobody asked */
	int64_t kill_at_ns;
	struct attempt attempt;
};

static int64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static const char *
text_of(json_t *message, const char *name)
{
	const char *text = json_string_value(json_object_get(message, name));

	return text != NULL ? text : "";
}

static void
warn(struct supervisor *s, const char *text)
{
	weir_display_line(&s->display, "warning: %s", text);
	weir_report_warning(&s->report, text);
}

static void
on_running(struct supervisor *s, json_t *message)
{
	json_t *restored = json_object_get(message, "restored");

	s->attempt.running_ns = now_ns();
	weir_report_running(&s->report, restored, s->attempt.running_ns);
	if (json_is_object(restored))
		weir_display_line(&s->display, "running, restored from %s",
				  text_of(restored, "path"));
}

static void
on_checkpoint(struct supervisor *s, json_t *message)
{
	json_t *entry = json_object_get(message, "entry");

	if (!json_is_object(entry))
		return;
	weir_report_checkpoint(&s->report, entry);
	weir_display_checkpoint(&s->display, entry);
	s->attempt.progressed |= strcmp(text_of(entry, "status"), "completed") == 0;
}

static void
on_error(struct supervisor *s, json_t *message)
{
	const int code = (int)json_integer_value(json_object_get(message, "code"));

	weir_fail(&s->attempt.err, code > 0 ? code : WEIR_ERR_FAILED, "%s",
		  text_of(message, "text"));
}

static void
on_message(struct supervisor *s, json_t *message)
{
	const char *type = text_of(message, "type");

	if (strcmp(type, "progress") == 0)
		weir_display_progress(&s->display, message, now_ns());
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
	else if (strcmp(type, "error") == 0)
		on_error(s, message);
	else if (strcmp(type, "finished") == 0)
		snprintf(s->attempt.state, sizeof(s->attempt.state), "%s",
			 text_of(message, "state"));
}

static void
drain_link(struct supervisor *s)
{
	json_t *message;

	while ((message = weir_link_receive(&s->attempt.link)) != NULL) {
		on_message(s, message);
		json_decref(message);
	}
}

/* Ctrl-C or a plea to end: the first cancels, a second does not wait. */
static void
on_cancel(struct supervisor *s, int signal_number, bool worker_runs)
{
	json_t *message;

	if (s->cancel_signal != 0) {
		s->kill_at_ns = now_ns();
		return;
	}
	s->cancel_signal = signal_number;
	s->kill_at_ns = now_ns() + CANCEL_PATIENCE_NS;
	weir_display_line(&s->display, "cancelling");
	if (!worker_runs)
		return;
	message = json_pack("{s:s}", "type", "cancel");
	(void)weir_link_send(&s->attempt.link, message);
	json_decref(message);
}

static void
read_signals(struct supervisor *s, bool worker_runs)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			on_cancel(s, (int)info.ssi_signo, worker_runs);
	}
}

static void
reap(struct attempt *a)
{
	pid_t pid;

	do {
		pid = waitpid(a->pid, &a->status, WNOHANG);
	} while (pid < 0 && errno == EINTR);
	a->reaped = pid == a->pid;
}

/* Sleep until something happens or until_ns; < 0: no limit. */
static void
wait_for(struct supervisor *s, int link_fd, int64_t until_ns)
{
	struct pollfd fds[2] = { { .fd = s->signal_fd, .events = POLLIN },
				 { .fd = link_fd, .events = POLLIN } };
	struct timespec left;
	int64_t ns = until_ns - now_ns();

	if (until_ns < 0) {
		(void)poll(fds, 2, -1);
		return;
	}
	ns = ns < 0 ? 0 : ns;
	left.tv_sec = ns / 1000000000;
	left.tv_nsec = ns % 1000000000;
	(void)ppoll(fds, 2, &left, NULL);
}

/* Watch the worker until it is gone and all it said is read. */
static void
watch(struct supervisor *s)
{
	struct attempt *a = &s->attempt;

	while (!a->reaped) {
		wait_for(s, a->link.ended ? -1 : a->link.fd, s->cancel_signal ? s->kill_at_ns : -1);
		read_signals(s, true);
		drain_link(s);
		if (s->cancel_signal != 0 && now_ns() >= s->kill_at_ns) {
			kill(a->pid, SIGKILL);
			s->kill_at_ns = INT64_MAX;
		}
		reap(a);
	}
	drain_link(s);
	weir_link_close(&a->link);
}

/* How the attempt ended, as an exit code and a text; 0: well. */
static int
judge(struct supervisor *s)
{
	struct attempt *a = &s->attempt;
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

/* Where the next attempt restores from: the run's own newest, else what the run began with. */
static int
choose_restore(struct supervisor *s, struct weir_error *err)
{
	struct attempt *a = &s->attempt;
	struct weir_path chk;

	snprintf(a->restore, sizeof(a->restore), "%s", s->base);
	if (!s->has_dir)
		return 0;
	if (weir_job_dir_newest(s->dir.path.text, &s->newest_id, err) != 0)
		return err->code;
	if (s->newest_id <= s->start_id)
		return 0;
	if (weir_layout_checkpoint(&chk, s->dir.path.text, s->newest_id, err) != 0)
		return err->code;
	snprintf(a->restore, sizeof(a->restore), "%s", chk.text);
	return 0;
}

/* Data files that a crashed attempt of this run left, and no manifest names. */
static void
clean_up(struct supervisor *s)
{
	struct weir_error err;

	if (s->has_dir && s->launch.run_attempt > 1 &&
	    weir_job_dir_sweep(&s->dir, s->first_attempt, &err) != 0)
		weir_display_line(&s->display, "could not clean up: %s", err.text);
}

static int
start_attempt(struct supervisor *s, struct weir_error *err)
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
	rc = choose_restore(s, err);
	s->launch.run_attempt++;
	s->launch.attempt = s->launch.run_attempt;
	if (rc == 0 && s->has_dir)
		rc = weir_job_dir_next_attempt(&s->dir, &s->launch.attempt, err);
	s->launch.restore = s->attempt.restore[0] != '\0' ? s->attempt.restore : NULL;
	if (rc == 0 && s->launch.run_attempt == 1)
		s->first_attempt = s->launch.attempt;
	if (rc == 0)
		clean_up(s);
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
pause_before_restart(struct supervisor *s, int64_t delay_ns)
{
	const int64_t until = now_ns() + delay_ns;

	while (s->cancel_signal == 0 && now_ns() < until) {
		wait_for(s, -1, until);
		read_signals(s, false);
	}
	return s->cancel_signal == 0;
}

/* After a failed attempt: true if another one should follow. */
static bool
try_again(struct supervisor *s, int code)
{
	const struct attempt *a = &s->attempt;
	const int64_t now = now_ns();
	const struct weir_attempt_end end = {
		.code = code,
		.now_ns = now,
		.ran_ns = a->running_ns != 0 ? now - a->running_ns : 0,
		.progressed = a->progressed,
	};
	int64_t delay_ns;
	const char *why;

	weir_display_line(&s->display, "attempt %u failed: %s", s->launch.run_attempt, a->err.text);
	if (!weir_restart_next(&s->restart, &end, &delay_ns, &why)) {
		weir_display_line(&s->display, "no restart: %s", why);
		return false;
	}
	weir_display_line(&s->display, "restarting in %.3f s", (double)delay_ns / 1e9);
	return pause_before_restart(s, delay_ns);
}

/* The attempt is over: what it left pending was completed if its manifest is there, else aborted.
 */
static void
settle(struct supervisor *s)
{
	const uint64_t before = s->newest_id;
	struct weir_error err;

	/* A folder that cannot be read now is found out, with its error, when the next attempt
	 * starts. */
	if (s->has_dir && weir_job_dir_newest(s->dir.path.text, &s->newest_id, &err) != 0)
		s->newest_id = before;
	s->attempt.progressed |= s->newest_id > before;
	weir_report_attempt_over(&s->report, s->newest_id, "TASK_FAILURE");
}

/* Attempts until one ends well, is cancelled, or no other may follow. The exit code; *state. */
static int
run_attempts(struct supervisor *s, const char **state)
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
		settle(s);
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
		const uint64_t seed[2] = { (uint64_t)now_ns(), (uint64_t)getpid() };

		memcpy(bytes, seed, sizeof(bytes));
	}
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(run_id + 2 * i, 3, "%02x", bytes[i]);
}

/* restore.from: the checkpoint that the first attempt restores, if any. */
static int
resolve_restore(struct supervisor *s, struct weir_error *err)
{
	const struct weir_config *cfg = &s->session->cfg;
	struct weir_path folder, chk;
	uint64_t newest = 0;
	int rc;

	if (strcmp(cfg->restore_from, "none") == 0)
		return 0;
	if (strcmp(cfg->restore_from, "latest") != 0) {
		if (strlen(cfg->restore_from) >= sizeof(s->base))
			return weir_fail(err, WEIR_ERR_CONFIG,
					 "restore.from: the path is too long");
		snprintf(s->base, sizeof(s->base), "%s", cfg->restore_from);
		return 0;
	}
	rc = weir_layout_job(&folder, cfg->checkpoint_dir, cfg->job_name, err);
	if (rc == 0)
		rc = weir_job_dir_newest(folder.text, &newest, err);
	if (rc == 0 && newest == 0)
		weir_display_line(&s->display, "no checkpoint in %s: starting from the beginning",
				  folder.text);
	if (rc == 0 && newest != 0)
		rc = weir_layout_checkpoint(&chk, folder.text, newest, err);
	if (rc == 0 && newest != 0)
		snprintf(s->base, sizeof(s->base), "%s", chk.text);
	return rc;
}

static int
open_folder(struct supervisor *s, struct weir_error *err)
{
	const struct weir_config *cfg = &s->session->cfg;
	int rc;

	if (cfg->checkpoint_interval == 0)
		return 0;
	rc = weir_job_dir_open(&s->dir, cfg->checkpoint_dir, cfg->job_name, err);
	if (rc != 0)
		return rc;
	s->has_dir = true;
	rc = weir_job_dir_newest(s->dir.path.text, &s->start_id, err);
	s->newest_id = s->start_id;
	s->launch.newest_id = s->start_id;
	return rc;
}

static int
open_signals(struct supervisor *s, struct weir_error *err)
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

/* Can the report be written? Found out before the run, not after hours of it. */
static int
try_report(const char *path, struct weir_error *err)
{
	int fd;

	if (path == NULL)
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return weir_fail(err, WEIR_ERR_IO, "--report %s: %s", path, strerror(errno));
	close(fd);
	return 0;
}

static void
write_report(struct supervisor *s, json_t *report, const char *path)
{
	FILE *file = fopen(path, "we");

	if (file == NULL || json_dumpf(report, file, JSON_INDENT(2)) != 0 ||
	    fputc('\n', file) == EOF)
		weir_display_line(&s->display, "the report could not be written to %s: %s", path,
				  strerror(errno));
	if (file != NULL && fclose(file) != 0)
		weir_display_line(&s->display, "the report could not be written to %s: %s", path,
				  strerror(errno));
}

/* checkpoint.retention (S5): do this run's checkpoints stay after this end? */
static bool
retained(enum weir_cfg_retention retention, const char *state)
{
	const bool failed = strcmp(state, "FAILED") == 0;
	const bool cancelled = strcmp(state, "CANCELED") == 0;

	switch (retention) {
	case WEIR_CFG_RETAIN_NEVER:
		return false;
	case WEIR_CFG_RETAIN_ON_FAILURE:
		return failed;
	case WEIR_CFG_RETAIN_ON_CANCEL:
		return failed || cancelled;
	case WEIR_CFG_RETAIN_ALWAYS:
		break;
	}
	return true;
}

static void
apply_retention(struct supervisor *s, const char *state)
{
	struct weir_error err;

	if (!s->has_dir || s->first_attempt == 0 ||
	    retained(s->session->cfg.checkpoint_retention, state))
		return;
	if (weir_job_dir_discard(&s->dir, s->start_id, s->first_attempt, &err) != 0)
		weir_display_line(&s->display, "checkpoints could not be deleted: %s", err.text);
}

static void
finish(struct supervisor *s, int code, const char *state, const char *report_path)
{
	const struct weir_config *cfg = &s->session->cfg;
	const struct weir_report_end end = {
		.job = s->session->job_arg,
		.name = cfg->job_name,
		.state = state,
		.exit_code = code,
		.now_ns = now_ns(),
		.cfg = cfg,
	};
	json_t *report = weir_report_json(&s->report, &end);

	weir_display_table(&s->display, report, s->has_dir ? s->dir.path.text : NULL);
	if (report_path != NULL)
		write_report(s, report, report_path);
	json_decref(report);
}

static int
prepare(struct supervisor *s, const char *report_path, struct weir_error *err)
{
	int rc = open_signals(s, err);

	if (rc == 0)
		rc = open_folder(s, err);
	if (rc == 0)
		rc = resolve_restore(s, err);
	if (rc == 0)
		rc = weir_spawn_config(&s->session->cfg, &s->config_fd, err);
	if (rc == 0)
		rc = try_report(report_path, err);
	return rc;
}

/* What a person should know before it starts. */
static void
warn_output(struct supervisor *s)
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
	struct supervisor s = { .session = session, .config_fd = -1, .signal_fd = -1 };
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
		apply_retention(&s, state);
		finish(&s, rc, state, report_path);
	}
	weir_job_dir_close(&s.dir);
	if (s.config_fd >= 0)
		close(s.config_fd);
	if (s.signal_fd >= 0)
		close(s.signal_fd);
	weir_restart_fini(&s.restart);
	weir_report_fini(&s.report);
	return rc;
}

#include "app/control/server.h"

#include "app/control/place.h"
#include "app/control/requests.h"
#include "app/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS 16

struct peer {
	int fd;		/* -1: free */
	uint64_t waits; /* number of its request; 0: its line is not there yet */
	int64_t until_ns;
	size_t in_len;
	char in[WEIR_CONTROL_LINE];
	char *out; /* what is still to be sent; owned */
	size_t out_len, out_at;
};

struct weir_control_server {
	int listen_fd, epoll_fd;
	char path[WEIR_PATH_MAX];
	weir_control_fn handler;
	void *arg;
	struct weir_requests requests;
	int64_t now_ns;
	struct peer peer[WEIR_CONTROL_PEERS];
};

/* ---- connections ---- */

static void
peer_close(struct peer *p)
{
	close(p->fd); /* takes it out of the epoll set */
	free(p->out);
	*p = (struct peer){ .fd = -1 };
}

static void
watch(struct weir_control_server *s, struct peer *p, int op, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = p };

	if (epoll_ctl(s->epoll_fd, op, p->fd, &ev) != 0)
		peer_close(p);
}

static void
peer_write(struct weir_control_server *s, struct peer *p)
{
	while (p->out_at < p->out_len) {
		const ssize_t n = send(p->fd, p->out + p->out_at, p->out_len - p->out_at,
				       MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			p->until_ns = s->now_ns + WEIR_CONTROL_PATIENCE_NS;
			watch(s, p, EPOLL_CTL_MOD, EPOLLOUT);
			return;
		}
		if (n < 0)
			break;
		p->out_at += (size_t)n;
	}
	peer_close(p);
}

/* One line out, then the connection is over. */
static void
peer_answer(struct weir_control_server *s, struct peer *p, const json_t *outcome)
{
	char *text = json_dumps(outcome, JSON_COMPACT);

	WEIR_ASSERT(text != NULL);
	p->out_len = strlen(text) + 1;
	p->out = malloc(p->out_len);
	WEIR_ASSERT(p->out != NULL);
	memcpy(p->out, text, p->out_len - 1);
	p->out[p->out_len - 1] = '\n';
	free(text);
	peer_write(s, p);
}

static void
peer_refuse(struct weir_control_server *s, struct peer *p, const struct weir_error *err)
{
	json_t *outcome = weir_control_outcome(err->code, 0, NULL, "", err->text);

	peer_answer(s, p, outcome);
	json_decref(outcome);
}

/* Its line is there. */
static void
peer_line(struct weir_control_server *s, struct peer *p, size_t len)
{
	struct weir_control_command command;
	struct weir_error err = { 0 };
	const struct weir_request_entry *e;
	uint64_t number;
	bool known;
	json_t *json = json_loadb(p->in, len, JSON_REJECT_DUPLICATES, NULL);
	const int rc = weir_command_parse(json, &command, &err);

	json_decref(json);
	if (rc != 0) {
		peer_refuse(s, p, &err);
		return;
	}
	e = weir_requests_add(&s->requests, &command, &known, &err);
	if (e == NULL) {
		peer_refuse(s, p, &err);
		return;
	}
	if (e->outcome != NULL) {
		peer_answer(s, p, e->outcome);
		return;
	}
	number = e->number;
	p->waits = number;
	p->until_ns = INT64_MAX;
	watch(s, p, EPOLL_CTL_MOD, 0); /* what else it says is not read; that it is gone is seen */
	if (!known)
		s->handler(s->arg, number, &command);
}

static void
peer_read(struct weir_control_server *s, struct peer *p)
{
	for (;;) {
		const ssize_t n =
			recv(p->fd, p->in + p->in_len, sizeof(p->in) - p->in_len, MSG_DONTWAIT);
		const char *end;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (n <= 0) {
			peer_close(p); /* half a line is none */
			return;
		}
		p->in_len += (size_t)n;
		end = memchr(p->in, '\n', p->in_len);
		if (end != NULL) {
			peer_line(s, p, (size_t)(end - p->in));
			return;
		}
		if (p->in_len == sizeof(p->in)) {
			struct weir_error err;

			weir_fail(&err, WEIR_ERR_USAGE, "a command has at most %u bytes",
				  WEIR_CONTROL_LINE - 1);
			peer_refuse(s, p, &err);
			return;
		}
	}
}

static void
accept_all(struct weir_control_server *s)
{
	for (;;) {
		const int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct peer *p = NULL;

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return;
		for (uint32_t i = 0; i < WEIR_CONTROL_PEERS && p == NULL; i++)
			if (s->peer[i].fd < 0)
				p = &s->peer[i];
		if (p == NULL) {
			close(fd); /* whoever is turned away tries again */
			continue;
		}
		*p = (struct peer){ .fd = fd, .until_ns = s->now_ns + WEIR_CONTROL_PATIENCE_NS };
		watch(s, p, EPOLL_CTL_ADD, EPOLLIN);
	}
}

static void
peer_event(struct weir_control_server *s, struct peer *p, uint32_t events)
{
	if (p->fd < 0)
		return; /* closed by an earlier event of this round */
	if (p->out != NULL && (events & EPOLLOUT) != 0)
		peer_write(s, p);
	else if (p->waits == 0 && p->out == NULL && (events & EPOLLIN) != 0)
		peer_read(s, p);
	else if ((events & (EPOLLHUP | EPOLLERR)) != 0)
		peer_close(p); /* nobody is there; what it asked for goes on */
}

/* ---- the server ---- */

static int
listen_at(struct weir_control_server *s, const char *path, struct weir_error *err)
{
	struct sockaddr_un addr;
	int dir_fd, rc = weir_control_address(path, &addr, &dir_fd, err);

	if (rc != 0)
		return rc;
	s->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)unlink(addr.sun_path);
	/* The mode of a socket's name is that of its descriptor. */
	if (s->listen_fd < 0 || fchmod(s->listen_fd, 0600) != 0 ||
	    bind(s->listen_fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0 ||
	    listen(s->listen_fd, WEIR_CONTROL_PEERS) != 0)
		rc = weir_fail(err, WEIR_ERR_IO, "%s: %s", path, strerror(errno));
	if (dir_fd >= 0)
		close(dir_fd);
	return rc;
}

struct weir_control_server *
weir_control_open(const char *path, weir_control_fn handler, void *arg, struct weir_error *err)
{
	struct weir_control_server *s = calloc(1, sizeof(*s));
	struct epoll_event ev = { .events = EPOLLIN };
	int rc;

	WEIR_ASSERT(s != NULL);
	s->listen_fd = -1;
	s->handler = handler;
	s->arg = arg;
	for (uint32_t i = 0; i < WEIR_CONTROL_PEERS; i++)
		s->peer[i].fd = -1;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	rc = s->epoll_fd < 0 ? weir_fail(err, WEIR_ERR_IO, "epoll: %s", strerror(errno)) : 0;
	if (rc == 0)
		rc = listen_at(s, path, err);
	if (rc == 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->listen_fd, &ev) != 0)
		rc = weir_fail(err, WEIR_ERR_IO, "epoll: %s", strerror(errno));
	if (rc == 0) {
		memcpy(s->path, path, strlen(path) + 1);
		return s;
	}
	weir_control_close(s);
	return NULL;
}

void
weir_control_close(struct weir_control_server *s)
{
	if (s == NULL)
		return;
	for (uint32_t i = 0; i < WEIR_CONTROL_PEERS; i++)
		if (s->peer[i].fd >= 0)
			peer_close(&s->peer[i]);
	if (s->path[0] != '\0')
		(void)unlink(s->path);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	weir_requests_fini(&s->requests);
	free(s);
}

int
weir_control_fd(const struct weir_control_server *s)
{
	return s->epoll_fd;
}

int64_t
weir_control_due_ns(const struct weir_control_server *s)
{
	int64_t due = INT64_MAX;

	for (uint32_t i = 0; i < WEIR_CONTROL_PEERS; i++)
		if (s->peer[i].fd >= 0 && s->peer[i].until_ns < due)
			due = s->peer[i].until_ns;
	return due;
}

void
weir_control_step(struct weir_control_server *s, int64_t now_ns)
{
	struct epoll_event events[EVENTS];
	const int cnt = epoll_wait(s->epoll_fd, events, EVENTS, 0);

	s->now_ns = now_ns;
	for (int i = 0; i < cnt; i++) {
		if (events[i].data.ptr == NULL)
			accept_all(s);
		else
			peer_event(s, events[i].data.ptr, events[i].events);
	}
	for (uint32_t i = 0; i < WEIR_CONTROL_PEERS; i++)
		if (s->peer[i].fd >= 0 && s->peer[i].until_ns <= now_ns)
			peer_close(&s->peer[i]);
}

void
weir_control_answer(struct weir_control_server *s, uint64_t number, json_t *outcome)
{
	weir_requests_settle(&s->requests, number, outcome);
	for (uint32_t i = 0; i < WEIR_CONTROL_PEERS; i++)
		if (s->peer[i].fd >= 0 && s->peer[i].waits == number && s->peer[i].out == NULL)
			peer_answer(s, &s->peer[i], outcome);
	json_decref(outcome);
}

json_t *
weir_control_outcome(int code, uint64_t checkpoint, const char *path, const char *reason,
		     const char *text)
{
	json_t *outcome = json_object();

	WEIR_ASSERT(outcome != NULL);
	json_object_set_new(outcome, "ok", json_boolean(code == 0));
	json_object_set_new(outcome, "code", json_integer(code));
	json_object_set_new(outcome, "checkpoint",
			    checkpoint != 0 ? json_integer((json_int_t)checkpoint) : json_null());
	json_object_set_new(outcome, "path", path != NULL ? weir_link_text(path) : json_null());
	json_object_set_new(outcome, "reason", json_string(reason));
	json_object_set_new(outcome, "text", weir_link_text(text));
	return outcome;
}

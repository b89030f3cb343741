#include "engine/operators/text_sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQS (WEIR_SINK_BUFFERS + 8u)

enum file_state {
	FILE_NONE,    /* nothing was written in this epoch */
	FILE_OPENING, /* buffers wait */
	FILE_NAMING,  /* open; its temporary name becomes durable, while buffers go out */
	FILE_OPEN,
	FILE_SYNC, /* cut: writes are out or on their way, then fsync */
	FILE_CLOSE,
	FILE_READY, /* durable under its temporary name */
	FILE_RENAME,
	FILE_CHECK,	  /* restored, and its temporary name is gone: is the final one there? */
	FILE_CHECK_CLOSE, /* it is */
};

/* A file of one epoch, from its first line to its commit. */
struct out_file {
	enum file_state state;
	bool cut;	/* its epoch is over */
	bool commit;	/* its checkpoint is complete */
	bool elsewhere; /* of a savepoint: it may lie in another output directory */
	bool restored;	/* named by the snapshot that the job was restored from */
	int handle;
	uint64_t bytes;
	uint32_t writes; /* in flight */
	struct weir_sink_pending name;
};

struct buffer {
	struct out_file *file; /* NULL: free */
	bool in_flight;
	uint64_t off;
	uint32_t len;
	char *text;
};

struct weir_text_sink {
	struct weir_text_sink_config cfg;
	struct weir_io *io;
	struct buffer buffer[WEIR_SINK_BUFFERS];
	struct buffer *filling; /* NULL: none */
	struct weir_io_req write[WEIR_SINK_BUFFERS];

	struct out_file file[WEIR_SINK_PENDING_MAX]; /* ring: head .. tail */
	uint32_t head, tail; /* free-running; tail - 1 is the current one if not cut */
	uint64_t seq;

	struct weir_io_req req; /* one name operation at a time */
	struct out_file *req_file;
	bool req_busy;
	bool dir_dirty; /* a rename is not durable yet */
	bool dir_sync;	/* the request is the directory's */
	char path[WEIR_SINK_PATH_MAX];
	char path2[WEIR_SINK_PATH_MAX];

	uint64_t paced;
	int64_t start_ns;
	struct weir_error error;
	uint64_t max_us;
	_Atomic uint64_t latency[WEIR_LATENCY_BUCKETS];
};

struct weir_text_sink *
weir_text_sink_create(const struct weir_text_sink_config *config, struct weir_io *io)
{
	struct weir_text_sink *s = calloc(1, sizeof(*s));

	WEIR_ASSERT(s != NULL);
	s->cfg = *config;
	s->io = io;
	for (uint32_t i = 0; config->mode != WEIR_SINK_NULL && i < WEIR_SINK_BUFFERS; i++) {
		s->buffer[i].text = aligned_alloc(WEIR_PAGE, WEIR_SINK_BUFFER_BYTES);
		WEIR_ASSERT(s->buffer[i].text != NULL);
	}
	return s;
}

void
weir_text_sink_destroy(struct weir_text_sink *s)
{
	if (s == NULL)
		return;
	for (uint32_t i = 0; i < WEIR_SINK_BUFFERS; i++)
		free(s->buffer[i].text);
	free(s);
}

static void
temp_path(const struct weir_text_sink *s, const struct weir_sink_pending *n, char *path)
{
	snprintf(path, WEIR_SINK_PATH_MAX, "%s/" WEIR_SINK_TEMP_PREFIX "%s-%llu-%s-%u-%llu",
		 s->cfg.dir, s->cfg.job, (unsigned long long)n->attempt, s->cfg.id,
		 (unsigned)n->subtask, (unsigned long long)n->seq);
}

static void
final_path(const struct weir_text_sink *s, const struct weir_sink_pending *n, char *path)
{
	snprintf(path, WEIR_SINK_PATH_MAX, "%s/" WEIR_SINK_FINAL_PREFIX "%s-%u-%llu", s->cfg.dir,
		 s->cfg.id, (unsigned)n->subtask, (unsigned long long)n->epoch);
}

static void
fail(struct weir_text_sink *s, int64_t result, const char *what, const char *path)
{
	if (s->error.code == WEIR_OK)
		weir_fail(&s->error, WEIR_ERR_IO, "sink '%s': %s %s: %s", s->cfg.id, what, path,
			  strerror((int)-result));
}

static struct out_file *
current(struct weir_text_sink *s)
{
	struct out_file *f = &s->file[(s->tail - 1) % WEIR_SINK_PENDING_MAX];

	return s->tail != s->head && !f->cut ? f : NULL;
}

static struct buffer *
free_buffer(struct weir_text_sink *s)
{
	for (uint32_t i = 0; i < WEIR_SINK_BUFFERS; i++)
		if (s->buffer[i].file == NULL)
			return &s->buffer[i];
	return NULL;
}

bool
weir_text_sink_ready(struct weir_text_sink *s, int64_t now_ns)
{
	if (s->cfg.rate > 0) {
		if (s->start_ns == 0)
			s->start_ns = now_ns;
		if (s->paced > (uint64_t)((weir_u128)(uint64_t)(now_ns - s->start_ns) *
					  s->cfg.rate / 1000000000u))
			return false;
	}
	return s->cfg.mode == WEIR_SINK_NULL ||
	       (free_buffer(s) != NULL && s->tail - s->head < WEIR_SINK_PENDING_MAX - 1);
}

static struct out_file *
new_file(struct weir_text_sink *s)
{
	struct out_file *f = &s->file[s->tail++ % WEIR_SINK_PENDING_MAX];

	WEIR_ASSERT(s->tail - s->head <= WEIR_SINK_PENDING_MAX);
	*f = (struct out_file){
		.state = s->cfg.mode == WEIR_SINK_STDOUT ? FILE_OPEN : FILE_OPENING,
		.handle = 1,
		.name = { .attempt = s->cfg.attempt, .seq = s->seq++, .subtask = s->cfg.subtask }
	};
	return f;
}

/* The buffer being filled, with room for one more row; NULL if every buffer is busy. */
static struct buffer *
room(struct weir_text_sink *s)
{
	struct out_file *f;

	if (s->filling != NULL && WEIR_SINK_BUFFER_BYTES - s->filling->len >= WEIR_TEXT_MAX)
		return s->filling;
	s->filling = free_buffer(s);
	if (s->filling == NULL)
		return NULL;
	f = current(s);
	s->filling->file = f != NULL ? f : new_file(s);
	s->filling->len = 0;
	return s->filling;
}

static void
note_latency(struct weir_text_sink *s, const struct weir_batch *in, int64_t now_ns)
{
	const uint64_t us = now_ns > in->stamp_ns ? (uint64_t)(now_ns - in->stamp_ns) / 1000 : 0;
	const uint32_t log = us == 0 ? 0 : 63u - (uint32_t)__builtin_clzll(us);
	const uint32_t sub =
		log >= 3 ? (uint32_t)(us >> (log - 3)) & 7 : (uint32_t)(us << (3 - log)) & 7;
	const uint32_t b = log * 8 + sub;

	weir_count_add(&s->latency[b < WEIR_LATENCY_BUCKETS ? b : WEIR_LATENCY_BUCKETS - 1],
		       in->selected);
	if (us > s->max_us)
		s->max_us = us;
}

int
weir_text_sink_write(struct weir_text_sink *s, const struct weir_batch *in, int64_t now_ns)
{
	s->paced += in->selected;
	if (s->cfg.latency && in->stamp_ns != 0)
		note_latency(s, in, now_ns);
	if (s->cfg.mode == WEIR_SINK_NULL)
		return 0;
	for (uint32_t done = 0; done < in->selected;) {
		struct buffer *b = room(s);
		size_t bytes = 0;
		uint32_t n;

		/* Readiness left one buffer free, and a batch fits one. */
		WEIR_ASSERT(b != NULL);
		n = s->cfg.format(in, done, b->text + b->len, WEIR_SINK_BUFFER_BYTES - b->len,
				  &bytes);
		WEIR_ASSERT(bytes <= WEIR_SINK_BUFFER_BYTES - b->len);
		WEIR_ASSERT(n > 0);
		b->len += (uint32_t)bytes;
		done += n;
		if (done < in->selected)
			s->filling = NULL;
	}
	return 0;
}

void
weir_text_sink_idle(struct weir_text_sink *s)
{
	if (s->cfg.mode == WEIR_SINK_STDOUT && s->filling != NULL && s->filling->len > 0)
		s->filling = NULL;
}

uint32_t
weir_text_sink_snapshot(struct weir_text_sink *s, uint64_t epoch,
			struct weir_sink_pending pending[WEIR_SINK_PENDING_MAX])
{
	struct out_file *f = current(s);
	uint32_t cnt = 0;

	s->filling = NULL;
	if (f != NULL) {
		f->cut = true;
		f->name.epoch = epoch;
	}
	if (s->cfg.mode != WEIR_SINK_FILES)
		return 0;
	for (uint32_t i = s->head; i != s->tail; i++)
		pending[cnt++] = s->file[i % WEIR_SINK_PENDING_MAX].name;
	return cnt;
}

bool
weir_text_sink_is_durable(const struct weir_text_sink *s)
{
	for (uint32_t i = s->head; i != s->tail; i++) {
		const struct out_file *f = &s->file[i % WEIR_SINK_PENDING_MAX];

		if (f->cut && f->state != FILE_NONE && f->state < FILE_READY)
			return false;
	}
	return true;
}

void
weir_text_sink_commit(struct weir_text_sink *s, uint64_t epoch)
{
	for (uint32_t i = s->head; i != s->tail; i++) {
		struct out_file *f = &s->file[i % WEIR_SINK_PENDING_MAX];

		if (f->cut && f->name.epoch <= epoch)
			f->commit = true;
	}
}

bool
weir_text_sink_is_committed(const struct weir_text_sink *s)
{
	return s->head == s->tail && !s->dir_dirty && !s->req_busy;
}

void
weir_text_sink_restore(struct weir_text_sink *s, const struct weir_sink_pending *pending,
		       uint32_t cnt, bool elsewhere)
{
	/* With fewer subtasks than before, one takes over the files of several. */
	WEIR_ASSERT(s->tail - s->head + cnt <= WEIR_SINK_PENDING_MAX);
	WEIR_ASSERT(s->seq == 0);
	for (uint32_t i = 0; i < cnt; i++)
		s->file[s->tail++ % WEIR_SINK_PENDING_MAX] =
			(struct out_file){ .state = FILE_READY,
					   .cut = true,
					   .commit = true,
					   .restored = true,
					   .elsewhere = elsewhere,
					   .name = pending[i] };
}

bool
weir_text_sink_names(const struct weir_text_sink *s, const char *name)
{
	char path[WEIR_SINK_PATH_MAX];

	for (uint32_t i = s->head; i != s->tail; i++) {
		temp_path(s, &s->file[i % WEIR_SINK_PENDING_MAX].name, path);
		if (strcmp(path + strlen(s->cfg.dir) + 1, name) == 0)
			return true;
	}
	return false;
}

/* ---- file work ---- */

static void
submit_writes(struct weir_text_sink *s)
{
	for (uint32_t i = 0; i < WEIR_SINK_BUFFERS; i++) {
		struct buffer *b = &s->buffer[i];
		struct weir_io_req *req = &s->write[i];

		if (b->file == NULL || b == s->filling || b->in_flight ||
		    b->file->state < FILE_NAMING || !weir_io_ready(s->io))
			continue;
		if (b->len == 0) {
			b->file = NULL;
			continue;
		}
		/* Standard output has no offsets: one write at a time keeps the order. */
		if (s->cfg.mode == WEIR_SINK_STDOUT && b->file->writes > 0)
			continue;
		*req = (struct weir_io_req){ .kind = WEIR_IO_WRITE,
					     .handle = b->file->handle,
					     .buf = b->text,
					     .len = b->len,
					     .off = s->cfg.mode == WEIR_SINK_STDOUT
							    ? WEIR_IO_STREAM
							    : b->file->bytes,
					     .user = s };
		b->file->bytes += b->len;
		b->file->writes++;
		b->in_flight = true;
		weir_io_submit(s->io, &req, 1);
	}
}

static bool
has_unwritten(const struct weir_text_sink *s, const struct out_file *f)
{
	for (uint32_t i = 0; i < WEIR_SINK_BUFFERS; i++)
		if (s->buffer[i].file == f)
			return true;
	return false;
}

static void
submit_name(struct weir_text_sink *s, struct out_file *f, struct weir_io_req req)
{
	struct weir_io_req *r = &s->req;

	s->req = req;
	s->req.user = s;
	s->req_file = f;
	s->req_busy = true;
	weir_io_submit(s->io, &r, 1);
}

/* The next thing to do for a file; true if a request went out. */
static bool
advance(struct weir_text_sink *s, struct out_file *f)
{
	if (f->state == FILE_OPEN && f->cut && f->writes == 0 && !has_unwritten(s, f))
		f->state = s->cfg.mode == WEIR_SINK_FILES ? FILE_SYNC : FILE_READY;
	switch (f->state) {
	case FILE_OPENING:
		temp_path(s, &f->name, s->path);
		submit_name(s, f,
			    (struct weir_io_req){ .kind = WEIR_IO_OPEN_NEW, .path = s->path });
		return true;
	case FILE_NAMING:
		/* Here and not at the checkpoint, which would have to wait for it. */
		submit_name(s, f,
			    (struct weir_io_req){ .kind = WEIR_IO_FSYNC_DIR, .path = s->cfg.dir });
		return true;
	case FILE_SYNC:
		submit_name(s, f,
			    (struct weir_io_req){ .kind = WEIR_IO_FSYNC, .handle = f->handle });
		return true;
	case FILE_CLOSE:
		submit_name(s, f,
			    (struct weir_io_req){ .kind = WEIR_IO_CLOSE, .handle = f->handle });
		return true;
	case FILE_READY:
		if (!f->commit || s->cfg.mode != WEIR_SINK_FILES)
			return false;
		temp_path(s, &f->name, s->path);
		final_path(s, &f->name, s->path2);
		f->state = FILE_RENAME;
		submit_name(s, f,
			    (struct weir_io_req){
				    .kind = WEIR_IO_RENAME, .path = s->path, .path2 = s->path2 });
		return true;
	case FILE_CHECK:
		final_path(s, &f->name, s->path2);
		submit_name(s, f,
			    (struct weir_io_req){ .kind = WEIR_IO_OPEN_READ, .path = s->path2 });
		return true;
	case FILE_CHECK_CLOSE:
		submit_name(s, f,
			    (struct weir_io_req){ .kind = WEIR_IO_CLOSE, .handle = f->handle });
		return true;
	case FILE_NONE:
	case FILE_OPEN:
	case FILE_RENAME:
		return false;
	}
	return false;
}

/* Committed files leave the ring; those of standard output as soon as they are written. */
static void
retire(struct weir_text_sink *s)
{
	while (s->head != s->tail) {
		const struct out_file *f = &s->file[s->head % WEIR_SINK_PENDING_MAX];

		if (f->state != FILE_NONE &&
		    !(s->cfg.mode != WEIR_SINK_FILES && f->state == FILE_READY))
			return;
		s->head++;
	}
}

void
weir_text_sink_step(struct weir_text_sink *s)
{
	if (s->cfg.mode == WEIR_SINK_NULL || s->error.code != WEIR_OK)
		return;
	submit_writes(s);
	retire(s);
	if (s->req_busy || !weir_io_ready(s->io))
		return;
	for (uint32_t i = s->head; i != s->tail; i++)
		if (advance(s, &s->file[i % WEIR_SINK_PENDING_MAX]))
			return;
	if (s->dir_dirty) {
		s->dir_dirty = false;
		s->dir_sync = true;
		submit_name(s, NULL,
			    (struct weir_io_req){ .kind = WEIR_IO_FSYNC_DIR, .path = s->cfg.dir });
	}
}

static void
write_done(struct weir_text_sink *s, uint32_t i)
{
	struct buffer *b = &s->buffer[i];

	if (s->write[i].result < 0) {
		char path[WEIR_SINK_PATH_MAX]; /* a request under way uses that of the sink */

		temp_path(s, &b->file->name, path);
		fail(s, s->write[i].result, "write",
		     s->cfg.mode == WEIR_SINK_STDOUT ? "standard output" : path);
	}
	b->in_flight = false;
	b->file->writes--;
	b->file = NULL;
}

static void
say_elsewhere(const struct weir_text_sink *s)
{
	char text[WEIR_SINK_PATH_MAX + 200];

	if (s->cfg.warn == NULL)
		return;
	snprintf(
		text, sizeof(text),
		"sink '%s': the savepoint names %s, which is not there: its rows are in the output "
		"of the run that took the savepoint",
		s->cfg.id, s->path2);
	s->cfg.warn(s->cfg.warn_arg, text);
}

static void
name_done(struct weir_text_sink *s)
{
	struct out_file *f = s->req_file;
	const int64_t result = s->req.result;

	s->req_busy = false;
	if (s->dir_sync) {
		s->dir_sync = false;
		if (result < 0)
			fail(s, result, "fsync of", s->cfg.dir);
		return;
	}
	if (f->state == FILE_RENAME && result == -ENOENT && f->restored) {
		f->state = FILE_CHECK;
		return;
	}
	if (f->state == FILE_RENAME) {
		if (result < 0)
			fail(s, result, "rename to", s->path2);
		f->state = FILE_NONE;
		s->dir_dirty = true;
		return;
	}
	if (f->state == FILE_CHECK && result == -ENOENT && f->elsewhere) {
		say_elsewhere(s);
		f->state = FILE_NONE;
		return;
	}
	if (f->state == FILE_CHECK && result < 0) {
		fail(s, result,
		     "the checkpoint names a file that is neither there nor committed:", s->path2);
		return;
	}
	if (result < 0) {
		temp_path(s, &f->name, s->path);
		fail(s, result,
		     f->state == FILE_OPENING  ? "create"
		     : f->state == FILE_NAMING ? "name"
		     : f->state == FILE_SYNC   ? "fsync of"
					       : "close",
		     s->path);
		return;
	}
	switch (f->state) {
	case FILE_OPENING:
		f->handle = (int)result;
		f->state = FILE_NAMING;
		break;
	case FILE_NAMING:
		f->state = FILE_OPEN;
		break;
	case FILE_SYNC:
		f->state = FILE_CLOSE;
		break;
	case FILE_CHECK:
		f->handle = (int)result;
		f->state = FILE_CHECK_CLOSE;
		break;
	case FILE_CHECK_CLOSE:
		/* Whoever renamed it may have been killed before the name was durable. */
		f->state = FILE_NONE;
		s->dir_dirty = true;
		break;
	default:
		f->state = FILE_READY;
		break;
	}
}

void
weir_text_sink_done(struct weir_text_sink *s, struct weir_io_req *req)
{
	if (req == &s->req)
		name_done(s);
	else
		write_done(s, (uint32_t)(req - s->write));
}

int
weir_text_sink_failed(const struct weir_text_sink *s, struct weir_error *err)
{
	if (s->error.code != WEIR_OK)
		*err = s->error;
	return s->error.code;
}

const _Atomic uint64_t *
weir_text_sink_latency(const struct weir_text_sink *s, uint64_t *max_us)
{
	*max_us = s->max_us;
	return s->latency;
}

#include "engine/operators/text_sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words of a transaction; they stand in checkpoints. MORE files follow that of SEQ. */
enum { ATTEMPT, SEQ, SUBTASK, MORE };

enum file_state {
	FILE_NAMED,   /* by the restored checkpoint; nothing is known of it yet */
	FILE_OPENING, /* buffers wait */
	FILE_NAMING,  /* open; its temporary name becomes durable, while buffers go out */
	FILE_OPEN,
	FILE_SYNC, /* cut: writes are out, then fsync */
	FILE_CLOSE,
	FILE_READY, /* durable under its temporary name */
	FILE_RENAME,
	FILE_DIR,	  /* its final name becomes durable */
	FILE_CHECK,	  /* restored, and its temporary name is gone: is the final one there? */
	FILE_CHECK_CLOSE, /* it is */
	FILE_DONE,
};

/* Of one transaction. */
struct out_file {
	enum file_state state;
	bool cut; /* nothing more is written to it */
	int handle;
	uint64_t bytes;
	uint32_t writes; /* in flight */
	uint64_t nth;	 /* of its files: which one is being committed */
	const struct weir_transaction *t;
};

struct buffer {
	struct out_file *file; /* NULL: free */
	bool in_flight;
	uint32_t len;
	char *text;
};

struct weir_text_sink {
	struct weir_text_sink_config cfg;
	struct weir_operator_ctx *ctx;
	struct weir_io *io;
	struct buffer buffer[WEIR_SINK_BUFFERS];
	struct buffer *filling; /* NULL: none */
	struct weir_io_req write[WEIR_SINK_BUFFERS];
	struct out_file *current; /* being written; NULL: none */
	uint64_t seq;

	struct weir_io_req req; /* one name operation at a time */
	struct out_file *req_file;
	bool req_busy;
	char path[WEIR_SINK_PATH_MAX];
	char path2[WEIR_SINK_PATH_MAX];
};

struct weir_text_sink *
weir_text_sink_create(const struct weir_text_sink_config *config, struct weir_operator_ctx *ctx,
		      struct weir_io *io)
{
	struct weir_text_sink *s = calloc(1, sizeof(*s));

	WEIR_ASSERT(s != NULL);
	s->cfg = *config;
	s->ctx = ctx;
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
temp_path(const struct weir_text_sink *s, const struct weir_transaction *t, uint64_t nth,
	  char *path)
{
	snprintf(path, WEIR_SINK_PATH_MAX, "%s/" WEIR_SINK_TEMP_PREFIX "%s-%llu-%s-%u-%llu",
		 s->cfg.dir, weir_sink_job(s->ctx), (unsigned long long)t->word[ATTEMPT],
		 weir_sink_id(s->ctx), (unsigned)t->word[SUBTASK],
		 (unsigned long long)(t->word[SEQ] + nth));
}

static void
final_path(const struct weir_text_sink *s, const struct weir_transaction *t, uint64_t nth,
	   char *path)
{
	const int len =
		snprintf(path, WEIR_SINK_PATH_MAX, "%s/" WEIR_SINK_FINAL_PREFIX "%s-%u-%llu",
			 s->cfg.dir, weir_sink_id(s->ctx), (unsigned)t->word[SUBTASK],
			 (unsigned long long)t->checkpoint);

	if (nth > 0 && len < (int)WEIR_SINK_PATH_MAX)
		snprintf(path + len, WEIR_SINK_PATH_MAX - (size_t)len, "-%llu",
			 (unsigned long long)nth);
}

static int
fail(struct weir_text_sink *s, int64_t result, const char *what, const char *path)
{
	if (s->ctx->error.code != WEIR_OK)
		return s->ctx->error.code;
	return weir_sink_fail(s->ctx, WEIR_ERR_IO, "%s %s: %s", what, path, strerror((int)-result));
}

/* ---- lines ---- */

static struct buffer *
free_buffer(struct weir_text_sink *s)
{
	for (uint32_t i = 0; i < WEIR_SINK_BUFFERS; i++)
		if (s->buffer[i].file == NULL)
			return &s->buffer[i];
	return NULL;
}

static bool
ready(struct weir_operator_ctx *ctx)
{
	return free_buffer(ctx->local) != NULL;
}

static int
begin(struct weir_operator_ctx *ctx, struct weir_transaction *t)
{
	struct weir_text_sink *s = ctx->local;
	struct out_file *f = weir_sink_local(ctx, t);

	*f = (struct out_file){
		.state = s->cfg.mode == WEIR_SINK_STDOUT ? FILE_OPEN : FILE_OPENING,
		.handle = 1,
		.t = t,
	};
	t->word[ATTEMPT] = weir_sink_attempt(ctx);
	t->word[SEQ] = s->seq++;
	t->word[SUBTASK] = ctx->subtask;
	s->current = f;
	return 0;
}

/* The buffer being filled, with room for one more row; NULL if every buffer is busy. */
static struct buffer *
room(struct weir_text_sink *s)
{
	if (s->filling != NULL && WEIR_SINK_BUFFER_BYTES - s->filling->len >= WEIR_TEXT_MAX)
		return s->filling;
	s->filling = free_buffer(s);
	if (s->filling == NULL)
		return NULL;
	s->filling->file = s->current;
	s->filling->len = 0;
	return s->filling;
}

static int
write_rows(struct weir_operator_ctx *ctx, struct weir_transaction *t, const struct weir_batch *in)
{
	struct weir_text_sink *s = ctx->local;

	(void)t;
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

/* Standard output: hand the lines on. */
static int
idle(struct weir_operator_ctx *ctx)
{
	struct weir_text_sink *s = ctx->local;

	if (s->filling != NULL && s->filling->len > 0)
		s->filling = NULL;
	return 0;
}

/* ---- file work ---- */

static void
submit_writes(struct weir_text_sink *s)
{
	const bool stream = s->cfg.mode == WEIR_SINK_STDOUT;

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
		if (stream && b->file->writes > 0)
			continue;
		*req = (struct weir_io_req){ .kind = WEIR_IO_WRITE,
					     .handle = b->file->handle,
					     .buf = b->text,
					     .len = b->len,
					     .off = stream ? WEIR_IO_STREAM : b->file->bytes,
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

/* The request that the file's state asks for; false: none. */
static bool
request_of(struct weir_text_sink *s, const struct out_file *f, struct weir_io_req *req)
{
	switch (f->state) {
	case FILE_OPENING:
		temp_path(s, f->t, f->nth, s->path);
		*req = (struct weir_io_req){ .kind = WEIR_IO_OPEN_NEW, .path = s->path };
		return true;
	case FILE_NAMING: /* here and not at the checkpoint, which would have to wait for it */
	case FILE_DIR:
		*req = (struct weir_io_req){ .kind = WEIR_IO_FSYNC_DIR, .path = s->cfg.dir };
		return true;
	case FILE_SYNC:
		*req = (struct weir_io_req){ .kind = WEIR_IO_FSYNC, .handle = f->handle };
		return true;
	case FILE_CLOSE:
	case FILE_CHECK_CLOSE:
		*req = (struct weir_io_req){ .kind = WEIR_IO_CLOSE, .handle = f->handle };
		return true;
	case FILE_RENAME:
		temp_path(s, f->t, f->nth, s->path);
		final_path(s, f->t, f->nth, s->path2);
		*req = (struct weir_io_req){ .kind = WEIR_IO_RENAME,
					     .path = s->path,
					     .path2 = s->path2 };
		return true;
	case FILE_CHECK:
		final_path(s, f->t, f->nth, s->path2);
		*req = (struct weir_io_req){ .kind = WEIR_IO_OPEN_READ, .path = s->path2 };
		return true;
	case FILE_NAMED:
	case FILE_OPEN:
	case FILE_READY:
	case FILE_DONE:
		return false;
	}
	return false;
}

/* The next thing to do for a file, if nothing else is under way. */
static void
advance(struct weir_text_sink *s, struct out_file *f)
{
	struct weir_io_req req;

	if (f->state == FILE_OPEN && f->cut && f->writes == 0 && !has_unwritten(s, f))
		f->state = s->cfg.mode == WEIR_SINK_FILES ? FILE_SYNC : FILE_READY;
	if (!s->req_busy && weir_io_ready(s->io) && request_of(s, f, &req))
		submit_name(s, f, req);
}

static int
step(struct weir_operator_ctx *ctx)
{
	struct weir_text_sink *s = ctx->local;

	if (ctx->error.code != WEIR_OK)
		return ctx->error.code;
	submit_writes(s);
	if (s->current != NULL)
		advance(s, s->current);
	return 0;
}

static int
precommit(struct weir_operator_ctx *ctx, struct weir_transaction *t)
{
	struct weir_text_sink *s = ctx->local;
	struct out_file *f = weir_sink_local(ctx, t);

	if (!f->cut) {
		f->cut = true;
		s->filling = NULL;
		s->current = NULL;
	}
	advance(s, f);
	return f->state == FILE_READY ? 0 : WEIR_MORE;
}

static int
commit(struct weir_operator_ctx *ctx, struct weir_transaction *t)
{
	struct out_file *f = weir_sink_local(ctx, t);

	f->t = t;
	if (f->state == FILE_READY || f->state == FILE_NAMED)
		f->state = FILE_RENAME;
	if (f->state == FILE_DONE)
		return 0;
	advance(ctx->local, f);
	return WEIR_MORE;
}

/* A file of each was closed; what is left is their names. */
static int
join(struct weir_operator_ctx *ctx, struct weir_transaction *t,
     const struct weir_transaction *before)
{
	(void)ctx;
	WEIR_ASSERT(before->word[SEQ] + before->word[MORE] + 1 == t->word[SEQ]);
	t->word[SEQ] = before->word[SEQ];
	t->word[MORE] += before->word[MORE] + 1;
	return 0;
}

static void
write_done(struct weir_text_sink *s, uint32_t i)
{
	struct buffer *b = &s->buffer[i];

	if (s->write[i].result < 0) {
		char path[WEIR_SINK_PATH_MAX]; /* a request under way uses that of the sink */

		temp_path(s, b->file->t, 0, path);
		(void)fail(s, s->write[i].result, "write",
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
		weir_sink_id(s->ctx), s->path2);
	s->cfg.warn(s->cfg.warn_arg, text);
}

/* A file has its final name, or there is nothing to rename: the next one, or all names durable. */
static enum file_state
named(struct out_file *f)
{
	if (f->nth == f->t->word[MORE])
		return FILE_DIR;
	f->nth++;
	return FILE_RENAME;
}

/* What has gone wrong, and what that means. */
static void
name_failed(struct weir_text_sink *s, struct out_file *f, int64_t result)
{
	const enum weir_transaction_origin origin = weir_sink_origin(s->ctx, f->t);

	switch (f->state) {
	case FILE_RENAME:
		if (result == -ENOENT && origin != WEIR_TRANSACTION_OWN)
			f->state = FILE_CHECK;
		else
			(void)fail(s, result, "rename to", s->path2);
		return;
	case FILE_CHECK:
		if (result == -ENOENT && origin == WEIR_TRANSACTION_SAVEPOINT) {
			say_elsewhere(s);
			f->state = named(f);
			return;
		}
		(void)fail(s, result,
			   "the checkpoint names a file that is neither there nor committed:",
			   s->path2);
		return;
	case FILE_DIR:
		(void)fail(s, result, "fsync of", s->cfg.dir);
		return;
	default:
		temp_path(s, f->t, f->nth, s->path);
		(void)fail(s, result,
			   f->state == FILE_OPENING  ? "create"
			   : f->state == FILE_NAMING ? "name"
			   : f->state == FILE_SYNC   ? "fsync of"
						     : "close",
			   s->path);
		return;
	}
}

static void
name_done(struct weir_text_sink *s)
{
	static const enum file_state next[] = {
		[FILE_OPENING] = FILE_NAMING, [FILE_NAMING] = FILE_OPEN,
		[FILE_SYNC] = FILE_CLOSE,     [FILE_CLOSE] = FILE_READY,
		[FILE_DIR] = FILE_DONE,	      [FILE_CHECK] = FILE_CHECK_CLOSE,
	};
	struct out_file *f = s->req_file;

	s->req_busy = false;
	if (s->req.result < 0) {
		name_failed(s, f, s->req.result);
		return;
	}
	if (f->state == FILE_OPENING || f->state == FILE_CHECK)
		f->handle = (int)s->req.result;
	/* Who renamed a file that is checked may have been killed before its name was durable. */
	if (f->state == FILE_RENAME || f->state == FILE_CHECK_CLOSE)
		f->state = named(f);
	else
		f->state = next[f->state];
}

void
weir_text_sink_done(struct weir_text_sink *s, struct weir_io_req *req)
{
	if (req == &s->req)
		name_done(s);
	else
		write_done(s, (uint32_t)(req - s->write));
}

/* ---- the three ---- */

/* What makes files of lines and standard output alike. */
#define OF_LINES                                                                                   \
	.reads = WEIR_ALL_COLUMNS, .transaction_bytes = sizeof(struct out_file), .ready = ready,   \
	.begin = begin, .write = write_rows, .precommit = precommit, .step = step

static const struct weir_sink_connector files_sink = {
	.name = "files", OF_LINES, .commit = commit, .join = join
};

static const struct weir_sink_connector stdout_sink = { .name = "stdout", OF_LINES, .idle = idle };

static int
null_transaction(struct weir_operator_ctx *ctx, struct weir_transaction *t)
{
	(void)ctx;
	(void)t;
	return 0;
}

static int
null_write(struct weir_operator_ctx *ctx, struct weir_transaction *t, const struct weir_batch *in)
{
	(void)ctx;
	(void)t;
	(void)in;
	return 0;
}

static const struct weir_sink_connector null_sink = {
	.name = "null",
	.reads = WEIR_ALL_COLUMNS,
	.begin = null_transaction,
	.write = null_write,
	.precommit = null_transaction,
};

const struct weir_sink_connector *
weir_text_sink_connector(enum weir_sink_mode mode)
{
	switch (mode) {
	case WEIR_SINK_FILES:
		return &files_sink;
	case WEIR_SINK_STDOUT:
		return &stdout_sink;
	case WEIR_SINK_NULL:
		break;
	}
	return &null_sink;
}

bool
weir_text_sink_names(const struct weir_two_phase *tp, const char *name)
{
	const struct weir_text_sink *s = weir_two_phase_local(tp);
	const struct weir_transaction *t;
	char path[WEIR_SINK_PATH_MAX];

	if (weir_two_phase_sink(tp) != &files_sink)
		return false;
	for (uint32_t i = 0; (t = weir_two_phase_at(tp, i)) != NULL; i++)
		for (uint64_t nth = 0; nth <= t->word[MORE]; nth++) {
			temp_path(s, t, nth, path);
			if (strcmp(path + strlen(s->cfg.dir) + 1, name) == 0)
				return true;
		}
	return false;
}

#include <weir/sources.h>

#include "drivers/files/walk.h"
#include "engine/base/base.h"

#include <weir/job.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define EXIT_NO_INPUT 66
#define EXIT_IO	      74

#define BUFFER_BYTES (256u * 1024)
/* Pieces stay well below the buffer, so that one read of it holds many. */
#define PIECE_MAX (64u * 1024)
/* Smaller ranges are not worth a split. */
#define RANGE_MIN (64u * 1024)
/* Bytes passed over in one call at most: a turn of the core stays short. */
#define PASS_OVER_MAX (1024u * 1024)

WEIR_TYPE(line, WEIR_BYTES("line"));

enum mode {
	MODE_LINE,    /* a line begins at offset, if offset is before end */
	MODE_MIDDLE,  /* offset is in a line of which something was handed on */
	MODE_WORD,    /* offset is in a word of which enough was handed on */
	MODE_SEEKING, /* offset is in a line of the range before; find its end */
};

struct reader {
	uint64_t end; /* lines that begin here or later are not this split's */
	uint64_t offset;
	enum mode mode;
	int fd;
	bool file_end; /* the buffer holds the file's last bytes */
	uint64_t buffer_offset;
	uint32_t buffer_len;
	char name[PATH_MAX];
	char buffer[BUFFER_BYTES];
};

/* Words of a position: the byte that comes next, and whether it is inside a line or inside a word
 * that is passed over. */
enum { P_OFFSET, P_MODE };

/* enumerate */

static int
add_ranges(const struct weir_walk_file *file, uint64_t share, struct weir_splits *splits)
{
	const uint64_t cnt = file->bytes == 0 ? 1 : (file->bytes + share - 1) / share;
	uint64_t i;
	int rc = 0;

	for (i = 0; i < cnt && rc == 0; i++) {
		const struct weir_split split = {
			.name = file->path,
			.begin = (uint64_t)((weir_u128)file->bytes * i / cnt),
			.end = (uint64_t)((weir_u128)file->bytes * (i + 1) / cnt),
			.hold_ns = WEIR_TIME_END,
		};

		rc = weir_splits_add(splits, &split);
	}
	return rc;
}

static int
files_enumerate(const struct weir_params *params, uint32_t parallelism, struct weir_splits *splits)
{
	uint64_t total = 0, share;
	struct weir_walk walk;
	size_t i;
	int rc;

	rc = weir_walk(weir_param_text(params, "input", NULL), splits, &walk);
	if (rc != 0)
		return rc;
	for (i = 0; i < walk.cnt; i++)
		total += walk.files[i].bytes;
	share = total / (parallelism == 0 ? 1 : parallelism) + 1;
	if (share < RANGE_MIN)
		share = RANGE_MIN;
	for (i = 0; i < walk.cnt && rc == 0; i++)
		rc = add_ranges(&walk.files[i], share, splits);
	weir_walk_free(&walk);
	return rc;
}

/* reader */

static bool
in_word(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c >= 0x80;
}

/* Point *p at the bytes from the reader's offset on; returns how many there are, at least want
 * unless the file ends before; -1 with errno. want <= BUFFER_BYTES. */
static int64_t
window(struct reader *r, size_t want, const char **p)
{
	uint64_t have = r->buffer_offset + r->buffer_len;
	uint32_t keep;

	WEIR_ASSERT(want <= BUFFER_BYTES);
	if (r->offset < r->buffer_offset || r->offset > have) {
		r->buffer_len = 0;
		r->buffer_offset = r->offset;
	} else if (r->offset + want > have && !r->file_end) {
		keep = (uint32_t)(have - r->offset);
		memmove(r->buffer, r->buffer + r->buffer_len - keep, keep);
		r->buffer_offset = r->offset;
		r->buffer_len = keep;
	}
	while (r->offset + want > r->buffer_offset + r->buffer_len && !r->file_end) {
		ssize_t got = pread(r->fd, r->buffer + r->buffer_len, BUFFER_BYTES - r->buffer_len,
				    (off_t)(r->buffer_offset + r->buffer_len));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		r->file_end = got == 0;
		r->buffer_len += (uint32_t)got;
	}
	*p = r->buffer + (r->offset - r->buffer_offset);
	return (int64_t)(r->buffer_offset + r->buffer_len - r->offset);
}

static int
files_open(struct weir_reader_ctx *ctx, void *reader, const struct weir_split *split,
	   const struct weir_position *position)
{
	struct reader *r = reader;

	r->end = split->end;
	strncpy(r->name, split->name, sizeof(r->name) - 1);
	if (position->word[P_OFFSET] != 0) {
		r->offset = position->word[P_OFFSET];
		r->mode = (enum mode)position->word[P_MODE];
	} else if (split->begin != 0) {
		/* If a line ends just before begin, one begins there. */
		r->offset = split->begin - 1;
		r->mode = MODE_SEEKING;
	}
	r->fd = open(split->name, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0)
		return weir_reader_fail(ctx, EXIT_NO_INPUT, "cannot read input %s: %s", split->name,
					strerror(errno));
	return 0;
}

/* Nothing more of this split: no line begins in what is left of it. */
static bool
at_end(const struct reader *r)
{
	return (r->mode == MODE_LINE && r->offset >= r->end) ||
	       (r->mode == MODE_SEEKING && r->offset + 1 >= r->end);
}

/*
 * Pass over bytes until the mode's end is found: the line's end or, in a word, its last byte.
 * Returns the bytes passed over, with *more if they were as many as a call may take; -1 with errno.
 */
static int64_t
pass_over(struct reader *r, bool *more)
{
	uint64_t done = 0;
	const char *p, *hit;
	int64_t got;

	*more = false;
	while ((r->mode == MODE_SEEKING || r->mode == MODE_WORD) && !at_end(r)) {
		if (done >= PASS_OVER_MAX) {
			*more = true;
			break;
		}
		got = window(r, 1, &p);
		if (got < 0)
			return -1;
		if (got == 0) {
			r->mode = MODE_LINE;
			r->end = r->offset;
			break;
		}
		if (r->mode == MODE_SEEKING) {
			hit = memchr(p, '\n', (size_t)got);
			got = hit != NULL ? hit - p + 1 : got;
			r->mode = hit != NULL ? MODE_LINE : MODE_SEEKING;
		} else {
			int64_t i = 0;

			while (i < got && in_word((unsigned char)p[i]))
				i++;
			r->mode = i < got ? MODE_MIDDLE : MODE_WORD;
			got = i;
		}
		r->offset += (uint64_t)got;
		done += (uint64_t)got;
	}
	return (int64_t)done;
}

struct piece {
	uint32_t len;	/* bytes handed on */
	uint32_t taken; /* bytes of the file it stands for */
	enum mode mode; /* after it */
};

/* The row at p, of which have bytes are there and limit fit a batch. */
static struct piece
cut(const char *p, size_t have, size_t limit)
{
	const char *newline = memchr(p, '\n', have < limit + 1 ? have : limit + 1);
	uint32_t len;

	if (newline != NULL) {
		len = (uint32_t)(newline - p);
		return (struct piece){ len, len + 1, MODE_LINE };
	}
	if (have <= limit)
		return (struct piece){ (uint32_t)have, (uint32_t)have, MODE_LINE };
	/* A word that ends with the piece ends there if no byte of a word follows. */
	len = (uint32_t)limit;
	while (len > 0 && in_word((unsigned char)p[len]) && in_word((unsigned char)p[len - 1]))
		len--;
	if (len > 0)
		return (struct piece){ len, len, MODE_MIDDLE };
	len = limit < WEIR_FILES_WORD_MAX ? (uint32_t)limit : WEIR_FILES_WORD_MAX;
	return (struct piece){ len, len, MODE_WORD };
}

static int
io_error(struct weir_reader_ctx *ctx, const struct reader *r)
{
	return weir_reader_fail(ctx, EXIT_IO, "cannot read %s: %s", r->name, strerror(errno));
}

static int
files_read(struct weir_reader_ctx *ctx, void *reader, struct weir_read *batch)
{
	struct reader *r = reader;
	struct weir_bytes *lines = batch->col[WEIR_FILES_LINE];
	const bool want = batch->demand >> WEIR_FILES_LINE & 1;
	const size_t limit = batch->heap_cap < PIECE_MAX ? batch->heap_cap : PIECE_MAX;
	const char *p;
	int64_t got;
	bool more;

	WEIR_ASSERT(limit > 0);
	got = pass_over(r, &more);
	if (got < 0)
		return io_error(ctx, r);
	batch->bytes += (uint64_t)got;
	while (!more && batch->rows < batch->cap && !at_end(r)) {
		got = window(r, limit + 1, &p);
		if (got < 0)
			return io_error(ctx, r);
		/* The file ends: behind a line's end, in the middle of a line that was all handed
		 * on, or before the end that it had when it was listed. */
		if (got == 0) {
			r->mode = MODE_LINE;
			r->end = r->offset;
			break;
		}
		const struct piece piece = cut(p, (size_t)got, limit);

		/* What is left of a cut line may be its end only: no row. */
		if (r->mode == MODE_LINE || piece.len > 0) {
			if (piece.len > batch->heap_cap - batch->heap_len)
				break;
			if (want) {
				lines[batch->rows] =
					(struct weir_bytes){ batch->heap_len, piece.len };
				memcpy(batch->heap + batch->heap_len, p, piece.len);
				batch->heap_len += piece.len;
			}
			batch->rows++;
		}
		r->offset += piece.taken;
		r->mode = piece.mode;
		batch->bytes += piece.taken;
		if (r->mode == MODE_WORD)
			break;
	}
	batch->end = !more && at_end(r);
	return 0;
}

static void
files_position(const void *reader, struct weir_position *position)
{
	const struct reader *r = reader;

	*position = (struct weir_position){ { 0 } };
	position->word[P_OFFSET] = r->offset;
	position->word[P_MODE] = (uint64_t)r->mode;
}

static void
files_close(void *reader)
{
	struct reader *r = reader;

	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

const struct weir_connector weir_files = {
	.name = "files",
	.type = &line,
	.reader_bytes = sizeof(struct reader),
	.enumerate = files_enumerate,
	.open = files_open,
	.read = files_read,
	.position = files_position,
	.close = files_close,
};

/* The reader: a ring of slots, filled in any order, handed on in the order of the list. */

#include "statebackend/snapshot/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/crc32c.h"
#include "statebackend/snapshot/format.h"
#include "statebackend/snapshot/records.h"

#define READER_MAGIC 0x52445257u
#define STEP_PARTS   2u

struct slot {
	struct weir_io_req req; /* first */
	uint8_t *bytes;
	bool back;
};

struct weir_snap_reader {
	uint32_t magic;
	enum weir_snap_read_state state;
	struct weir_snap_reader_config cfg;
	struct weir_error err;
	const struct weir_snap_file *files;
	uint32_t file_cnt, file;
	weir_snap_part_fn part;
	void *arg;
	struct slot *slots;
	uint32_t slot_cnt;
	uint32_t asked, handed; /* segments of the current file */
	struct slot head;	/* file header */
	struct weir_io_req ctl; /* open, close */
	uint32_t in_flight;
	int handle;
	bool head_sent, head_ok, close_sent, dead;
};

/* Which states may follow which. */
static const uint8_t moves[] = {
	[WEIR_SNAP_READ_IDLE] = 1 << WEIR_SNAP_READ_OPENING | 1 << WEIR_SNAP_READ_DONE,
	[WEIR_SNAP_READ_OPENING] = 1 << WEIR_SNAP_READ_PARTS | 1 << WEIR_SNAP_READ_FAILED,
	[WEIR_SNAP_READ_PARTS] = 1 << WEIR_SNAP_READ_CLOSING | 1 << WEIR_SNAP_READ_FAILED,
	[WEIR_SNAP_READ_CLOSING] =
		1 << WEIR_SNAP_READ_OPENING | 1 << WEIR_SNAP_READ_DONE | 1 << WEIR_SNAP_READ_FAILED,
	[WEIR_SNAP_READ_DONE] = 1 << WEIR_SNAP_READ_IDLE,
	[WEIR_SNAP_READ_FAILED] = 1 << WEIR_SNAP_READ_IDLE,
};

static void
move(struct weir_snap_reader *r, enum weir_snap_read_state to)
{
	WEIR_ASSERT(moves[r->state] >> to & 1);
	r->state = to;
}

struct weir_snap_reader *
weir_snap_reader_create(const struct weir_snap_reader_config *cfg, struct weir_error *err)
{
	struct weir_snap_reader *r;

	WEIR_ASSERT((uintptr_t)cfg->staging % WEIR_PAGE == 0);
	WEIR_ASSERT(cfg->chunk_bytes % WEIR_PAGE == 0);
	if (cfg->staging_bytes < WEIR_DATA_HEADER + (uint64_t)cfg->chunk_bytes) {
		(void)weir_fail(err, WEIR_ERR_CONFIG,
				"restore: %llu bytes are less than one chunk of %u",
				(unsigned long long)cfg->staging_bytes, cfg->chunk_bytes);
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	WEIR_ASSERT(r != NULL);
	r->magic = READER_MAGIC;
	r->cfg = *cfg;
	r->slot_cnt = (uint32_t)((cfg->staging_bytes - WEIR_DATA_HEADER) / cfg->chunk_bytes);
	r->slots = calloc(r->slot_cnt, sizeof(*r->slots));
	WEIR_ASSERT(r->slots != NULL);
	r->head.bytes = cfg->staging;
	for (uint32_t i = 0; i < r->slot_cnt; i++)
		r->slots[i].bytes =
			r->head.bytes + WEIR_DATA_HEADER + (uint64_t)i * cfg->chunk_bytes;
	return r;
}

void
weir_snap_reader_destroy(struct weir_snap_reader *r)
{
	if (r == NULL)
		return;
	WEIR_ASSERT(r->in_flight == 0);
	free(r->slots);
	free(r);
}

static void
submit(struct weir_snap_reader *r, struct weir_io_req *req)
{
	r->in_flight++;
	weir_io_submit(r->cfg.io, &req, 1);
}

static void
file_start(struct weir_snap_reader *r)
{
	move(r, WEIR_SNAP_READ_OPENING);
	r->asked = r->handed = 0;
	r->handle = -1;
	r->head_sent = r->head_ok = r->head.back = r->close_sent = false;
	r->ctl.user = NULL;
}

void
weir_snap_reader_begin(struct weir_snap_reader *r, const struct weir_snap_file *files,
		       uint32_t file_cnt, weir_snap_part_fn part, void *arg)
{
	WEIR_ASSERT(r->magic == READER_MAGIC);
	WEIR_ASSERT(r->in_flight == 0);
	if (r->state != WEIR_SNAP_READ_IDLE)
		move(r, WEIR_SNAP_READ_IDLE);
	r->files = files;
	r->file_cnt = file_cnt;
	r->file = 0;
	r->part = part;
	r->arg = arg;
	r->dead = false;
	r->err = (struct weir_error){ 0 };
	if (file_cnt == 0)
		move(r, WEIR_SNAP_READ_DONE);
	else
		file_start(r);
}

/* err has the reason: put the file's name in front. */
static void
dead(struct weir_snap_reader *r)
{
	(void)weir_error_prefix(&r->err, "%s", r->files[r->file].path);
	r->dead = true;
}

static void
fail_io(struct weir_snap_reader *r, const char *what, int64_t result)
{
	if (r->dead)
		return;
	(void)weir_fail(&r->err, result == -ENOENT ? WEIR_ERR_DATA : WEIR_ERR_IO, "%s: %s", what,
			strerrordesc_np((int)-result));
	dead(r);
}

static int
head_check(const struct weir_snap_file *f, uint8_t *bytes, struct weir_error *err)
{
	struct weir_data_header h;
	uint32_t crc;

	memcpy(&h, bytes, sizeof(h));
	crc = h.crc;
	h.crc = 0;
	memcpy(bytes, &h, sizeof(h));
	if (h.magic != WEIR_DATA_MAGIC || h.version != WEIR_DATA_VERSION ||
	    h.bytes != WEIR_DATA_HEADER)
		return weir_fail(err, WEIR_ERR_DATA, "file header: not a data file of version %u",
				 WEIR_DATA_VERSION);
	if (crc != weir_crc32c(0, bytes, WEIR_DATA_HEADER))
		return weir_fail(err, WEIR_ERR_DATA, "file header: checksum");
	if (h.job_hash != f->id.job_hash || h.attempt != f->id.attempt ||
	    h.checkpoint != f->id.checkpoint || h.core != f->id.core)
		return weir_fail(err, WEIR_ERR_DATA,
				 "file header: of attempt %llu, checkpoint %llu, core %u, not of "
				 "%llu, %llu, %u",
				 (unsigned long long)h.attempt, (unsigned long long)h.checkpoint,
				 h.core, (unsigned long long)f->id.attempt,
				 (unsigned long long)f->id.checkpoint, f->id.core);
	return 0;
}

void
weir_snap_reader_done(struct weir_snap_reader *r, struct weir_io_req *req)
{
	WEIR_ASSERT(req->user == r);
	WEIR_ASSERT(r->in_flight > 0);
	r->in_flight--;
	if (req == &r->ctl) {
		if (req->kind == WEIR_IO_CLOSE)
			r->handle = -1;
		else if (req->result >= 0)
			r->handle = (int)req->result;
		if (req->result < 0)
			fail_io(r, req->kind == WEIR_IO_CLOSE ? "close" : "open", req->result);
		return;
	}
	((struct slot *)(void *)req)->back = true;
	if (req->result < 0) {
		fail_io(r, "read", req->result);
	} else if ((uint64_t)req->result != req->len && !r->dead) {
		(void)weir_fail(&r->err, WEIR_ERR_DATA,
				"part at %llu: the file ends %llu bytes before the part does",
				(unsigned long long)req->off,
				(unsigned long long)(req->len - (uint64_t)req->result));
		dead(r);
	}
}

static void
ask(struct weir_snap_reader *r, struct slot *s, uint64_t off, uint64_t len)
{
	s->back = false;
	s->req = (struct weir_io_req){ .kind = WEIR_IO_READ,
				       .handle = r->handle,
				       .buf = s->bytes,
				       .len = len,
				       .off = off,
				       .user = r };
	submit(r, &s->req);
}

static void
step_ask(struct weir_snap_reader *r)
{
	const struct weir_snap_file *f = &r->files[r->file];

	if (!r->head_sent && weir_io_ready(r->cfg.io)) {
		r->head_sent = true;
		ask(r, &r->head, 0, WEIR_DATA_HEADER);
	}
	while (r->asked < f->seg_cnt && r->asked - r->handed < r->slot_cnt &&
	       weir_io_ready(r->cfg.io)) {
		const struct weir_segment *seg = &f->segs[r->asked];

		if (seg->length == 0 || seg->length > r->cfg.chunk_bytes) {
			(void)weir_fail(&r->err, WEIR_ERR_DATA, "part at %llu: length %llu",
					(unsigned long long)seg->offset,
					(unsigned long long)seg->length);
			dead(r);
			return;
		}
		ask(r, &r->slots[r->asked % r->slot_cnt], seg->offset, seg->length);
		r->asked++;
	}
}

static void
step_hand(struct weir_snap_reader *r)
{
	const struct weir_snap_file *f = &r->files[r->file];

	if (r->head.back && !r->head_ok) {
		r->head_ok = head_check(f, r->head.bytes, &r->err) == 0;
		if (!r->head_ok) {
			dead(r);
			return;
		}
	}
	for (uint32_t i = 0; i < STEP_PARTS && r->head_ok && r->handed < r->asked; i++) {
		const struct weir_segment *seg = &f->segs[r->handed];
		struct slot *s = &r->slots[r->handed % r->slot_cnt];

		if (!s->back)
			return;
		if (weir_segment_check(seg, s->bytes, &r->err) != 0 ||
		    r->part(r->arg, f, seg, s->bytes, &r->err) != 0) {
			dead(r);
			return;
		}
		r->handed++;
	}
}

static void
close_submit(struct weir_snap_reader *r)
{
	r->close_sent = true;
	r->ctl = (struct weir_io_req){ .kind = WEIR_IO_CLOSE, .handle = r->handle, .user = r };
	submit(r, &r->ctl);
}

static void
step_dead(struct weir_snap_reader *r)
{
	if (r->in_flight > 0)
		return;
	if (r->handle >= 0 && !r->close_sent) {
		if (weir_io_ready(r->cfg.io))
			close_submit(r);
		return;
	}
	move(r, WEIR_SNAP_READ_FAILED);
}

static void
step_parts(struct weir_snap_reader *r)
{
	step_ask(r);
	if (!r->dead)
		step_hand(r);
	if (r->dead || !r->head_ok || r->handed < r->files[r->file].seg_cnt ||
	    !weir_io_ready(r->cfg.io))
		return;
	move(r, WEIR_SNAP_READ_CLOSING);
	close_submit(r);
}

static void
step_open(struct weir_snap_reader *r)
{
	if (r->handle >= 0) {
		move(r, WEIR_SNAP_READ_PARTS);
		return;
	}
	if (r->ctl.user != NULL || !weir_io_ready(r->cfg.io))
		return;
	r->ctl = (struct weir_io_req){ .kind = WEIR_IO_OPEN_READ,
				       .path = r->files[r->file].path,
				       .user = r };
	submit(r, &r->ctl);
}

enum weir_snap_read_state
weir_snap_reader_step(struct weir_snap_reader *r)
{
	WEIR_ASSERT(r->magic == READER_MAGIC);
	if (r->state == WEIR_SNAP_READ_IDLE || r->state == WEIR_SNAP_READ_DONE ||
	    r->state == WEIR_SNAP_READ_FAILED)
		return r->state;
	if (r->dead) {
		step_dead(r);
		return r->state;
	}
	if (r->state == WEIR_SNAP_READ_OPENING)
		step_open(r);
	if (r->state == WEIR_SNAP_READ_PARTS)
		step_parts(r);
	if (r->state == WEIR_SNAP_READ_CLOSING && r->in_flight == 0) {
		if (++r->file == r->file_cnt)
			move(r, WEIR_SNAP_READ_DONE);
		else
			file_start(r);
	}
	return r->state;
}

const struct weir_error *
weir_snap_reader_error(const struct weir_snap_reader *r)
{
	WEIR_ASSERT(r->state == WEIR_SNAP_READ_FAILED);
	return &r->err;
}

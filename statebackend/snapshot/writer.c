/* The writer: chunks become segments, segments become a durable file. Bytes: format.h. */

#include "statebackend/snapshot/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/crc32c.h"
#include "engine/base/plant.h"
#include "statebackend/snapshot/chunk.h"
#include "statebackend/snapshot/outgoing.h"

#define WRITER_MAGIC 0x57525753u
#define LIVE_WORDS   8u

enum chunk_state { CHUNK_FREE, CHUNK_FILLING, CHUNK_LEAVING };

struct weir_snap_chunk {
	struct weir_outgoing_range range; /* first */
	struct weir_snap_chunk *next;	  /* free list */
	uint8_t *bytes;
	uint64_t used, cap;
	uint64_t entry_cnt;
	uint32_t record_cnt;
	enum chunk_state state;
};

struct weir_snap_writer {
	uint32_t magic;
	enum weir_snap_state state;
	struct weir_snap_config cfg;
	struct weir_snap_id id;
	struct weir_error err;
	struct weir_snap_chunk *chunks, *free;
	struct weir_outgoing outgoing;
	struct weir_outgoing_range head; /* the file's header */
	struct weir_io_req ctl, dir;	 /* open, fsync, close; fsync of directory */
	uint8_t *head_bytes;
	uint64_t file_bytes;
	uint32_t chunk_cnt, free_cnt, in_flight;
	uint32_t seg_cnt;
	uint32_t key_groups; /* canonical; 0: native */
	enum weir_snap_scope scope;
	struct weir_segment_ref *refs; /* cfg.seg_max of them */
	uint64_t *words;	       /* their bitmaps: LIVE_WORDS each on average */
	uint32_t ref_cnt, word_cnt;
	int handle;
	bool open_sent, close_sent, dead;
	char path[WEIR_SNAP_PATH_MAX];
	char dir_path[WEIR_SNAP_PATH_MAX];
};

/* Which states may follow which. */
static const uint8_t moves[] = {
	[WEIR_SNAP_IDLE] = 1 << WEIR_SNAP_OPEN,
	[WEIR_SNAP_OPEN] = 1 << WEIR_SNAP_SEALED | 1 << WEIR_SNAP_CLOSING | 1 << WEIR_SNAP_FAILED,
	[WEIR_SNAP_SEALED] = 1 << WEIR_SNAP_SYNC | 1 << WEIR_SNAP_CLOSING | 1 << WEIR_SNAP_FAILED,
	[WEIR_SNAP_SYNC] = 1 << WEIR_SNAP_CLOSING,
	[WEIR_SNAP_CLOSING] = 1 << WEIR_SNAP_DONE | 1 << WEIR_SNAP_FAILED,
	[WEIR_SNAP_DONE] = 1 << WEIR_SNAP_OPEN,
	[WEIR_SNAP_FAILED] = 1 << WEIR_SNAP_OPEN,
};

static void
move(struct weir_snap_writer *w, enum weir_snap_state to)
{
	WEIR_ASSERT(moves[w->state] >> to & 1);
	w->state = to;
}

struct weir_snap_writer *
weir_snap_writer_create(const struct weir_snap_config *cfg, struct weir_error *err)
{
	const uint64_t cnt = (cfg->staging_bytes - WEIR_DATA_HEADER) / cfg->chunk_bytes;
	struct weir_snap_writer *w;

	WEIR_ASSERT((uintptr_t)cfg->staging % WEIR_PAGE == 0);
	WEIR_ASSERT(cfg->chunk_bytes % WEIR_PAGE == 0);
	if (cfg->staging_bytes < WEIR_DATA_HEADER || cnt < 3) {
		(void)weir_fail(err, WEIR_ERR_CONFIG,
				"snapshot staging: %llu bytes are less than three chunks of %u",
				(unsigned long long)cfg->staging_bytes, cfg->chunk_bytes);
		return NULL;
	}
	w = calloc(1, sizeof(*w));
	WEIR_ASSERT(w != NULL);
	w->chunks = calloc(cnt, sizeof(*w->chunks));
	WEIR_ASSERT(w->chunks != NULL);
	w->refs = calloc(cfg->seg_max, sizeof(*w->refs));
	w->words = calloc(cfg->seg_max, LIVE_WORDS * sizeof(*w->words));
	WEIR_ASSERT(w->refs != NULL);
	WEIR_ASSERT(w->words != NULL);
	w->magic = WRITER_MAGIC;
	w->cfg = *cfg;
	w->head_bytes = cfg->staging;
	w->chunk_cnt = w->free_cnt = (uint32_t)cnt;
	for (uint32_t i = 0; i < w->chunk_cnt; i++) {
		w->chunks[i].bytes =
			w->head_bytes + WEIR_DATA_HEADER + (uint64_t)i * cfg->chunk_bytes;
		w->chunks[i].cap = cfg->chunk_bytes;
		w->chunks[i].next = w->free;
		w->free = &w->chunks[i];
	}
	return w;
}

void
weir_snap_writer_destroy(struct weir_snap_writer *w)
{
	if (w == NULL)
		return;
	free(w->refs);
	free(w->words);
	free(w->chunks);
	free(w);
}

static void
head_set(struct weir_snap_writer *w)
{
	struct weir_data_header *h = (struct weir_data_header *)(void *)w->head_bytes;

	memset(w->head_bytes, 0, WEIR_DATA_HEADER);
	h->magic = WEIR_DATA_MAGIC;
	h->version = WEIR_DATA_VERSION;
	h->bytes = WEIR_DATA_HEADER;
	h->job_hash = w->id.job_hash;
	h->attempt = w->id.attempt;
	h->checkpoint = w->id.checkpoint;
	h->core = w->id.core;
	h->crc = weir_crc32c(0, w->head_bytes, WEIR_DATA_HEADER);
}

void
weir_snap_writer_begin(struct weir_snap_writer *w, const char *path, const struct weir_snap_id *id)
{
	const size_t len = strlen(path);
	const char *slash = strrchr(path, '/');

	WEIR_ASSERT(w->magic == WRITER_MAGIC);
	WEIR_ASSERT(w->in_flight == 0);
	WEIR_ASSERT(weir_outgoing_is_empty(&w->outgoing));
	WEIR_ASSERT(len < sizeof(w->path));
	/* Who still holds a chunk has not thawed. */
	WEIR_ASSERT(w->free_cnt == w->chunk_cnt);
	move(w, WEIR_SNAP_OPEN);
	memcpy(w->path, path, len + 1);
	memset(w->dir_path, 0, sizeof(w->dir_path));
	if (slash == NULL)
		w->dir_path[0] = '.';
	else
		memcpy(w->dir_path, path, slash == path ? 1 : (size_t)(slash - path));
	w->id = *id;
	w->err = (struct weir_error){ 0 };
	w->handle = -1;
	w->open_sent = w->close_sent = w->dead = false;
	w->seg_cnt = 0;
	w->key_groups = 0;
	w->scope = WEIR_SNAP_CHANGES;
	w->ref_cnt = w->word_cnt = 0;
	w->file_bytes = WEIR_DATA_HEADER;
	head_set(w);
	w->head = (struct weir_outgoing_range){ .bytes = w->head_bytes, .len = WEIR_DATA_HEADER };
	weir_outgoing_add(&w->outgoing, &w->head);
}

void
weir_snap_writer_canonical(struct weir_snap_writer *w, uint32_t key_groups)
{
	WEIR_ASSERT(w->state == WEIR_SNAP_OPEN);
	WEIR_ASSERT(w->seg_cnt == 0);
	WEIR_ASSERT(__builtin_popcount(key_groups) == 1);
	w->key_groups = key_groups;
	w->scope = WEIR_SNAP_ALONE;
}

void
weir_snap_writer_scope(struct weir_snap_writer *w, enum weir_snap_scope scope)
{
	WEIR_ASSERT(w->state == WEIR_SNAP_OPEN);
	WEIR_ASSERT(w->seg_cnt == 0 && w->ref_cnt == 0);
	w->scope = scope;
}

enum weir_snap_scope
weir_snap_writer_scope_of(const struct weir_snap_writer *w)
{
	return w->scope;
}

uint64_t
weir_snap_writer_checkpoint(const struct weir_snap_writer *w)
{
	return w->id.checkpoint;
}

bool
weir_snap_writer_refer(struct weir_snap_writer *w, const struct weir_segment_ref *ref)
{
	const uint32_t words = weir_live_words(ref->record_cnt);
	uint64_t *to = w->words + w->word_cnt;

	WEIR_ASSERT(w->scope == WEIR_SNAP_CHANGES);
	if (w->ref_cnt == w->cfg.seg_max || words > w->cfg.seg_max * LIVE_WORDS - w->word_cnt)
		return false;
	memcpy(to, ref->live, words * sizeof(*to));
	w->refs[w->ref_cnt] = *ref;
	w->refs[w->ref_cnt++].live = to;
	w->word_cnt += words;
	return true;
}

uint32_t
weir_snap_writer_key_groups(const struct weir_snap_writer *w)
{
	return w->key_groups;
}

void
weir_snap_writer_refuse(struct weir_snap_writer *w, const struct weir_error *why)
{
	if (w->dead)
		return;
	w->dead = true;
	w->err = *why;
}

bool
weir_snap_writer_dead(const struct weir_snap_writer *w)
{
	return w->dead;
}

struct weir_snap_chunk *
weir_snap_chunk_take(struct weir_snap_writer *w, const struct weir_seg_header *head, bool spare)
{
	struct weir_snap_chunk *c = w->free;

	WEIR_ASSERT(w->state == WEIR_SNAP_OPEN || w->dead);
	if (c == NULL || (spare && w->free_cnt < 2))
		return NULL;
	w->free = c->next;
	w->free_cnt--;
	c->state = CHUNK_FILLING;
	c->used = sizeof(*head);
	c->entry_cnt = 0;
	c->record_cnt = 0;
	memcpy(c->bytes, head, sizeof(*head));
	return c;
}

void *
weir_snap_chunk_room(struct weir_snap_chunk *c, uint64_t bytes)
{
	uint8_t *at = c->bytes + c->used;

	WEIR_ASSERT(c->state == CHUNK_FILLING);
	if (c->cap - c->used < bytes)
		return NULL;
	c->used += bytes;
	return at;
}

uint64_t
weir_snap_chunk_left(const struct weir_snap_chunk *c)
{
	return c->cap - c->used;
}

void
weir_snap_chunk_count(struct weir_snap_chunk *c, uint32_t records, uint64_t entries)
{
	c->record_cnt += records;
	c->entry_cnt += entries;
}

void
weir_snap_chunk_drop(struct weir_snap_writer *w, struct weir_snap_chunk *c)
{
	WEIR_ASSERT(c->state != CHUNK_FREE);
	c->state = CHUNK_FREE;
	c->next = w->free;
	w->free = c;
	w->free_cnt++;
}

/* All that is known of the segment now goes into its header and into the manifest's list. */
static struct weir_segment
segment_of(const struct weir_snap_writer *w, const struct weir_snap_chunk *c,
	   struct weir_seg_header *h)
{
	const uint64_t length = weir_align_up(c->used, WEIR_DATA_ALIGN);

	h->magic = WEIR_SEG_MAGIC;
	h->version = WEIR_DATA_VERSION;
	h->checkpoint = w->id.checkpoint;
	h->length = length;
	h->used = c->used;
	h->entry_cnt = c->entry_cnt;
	h->record_cnt = c->record_cnt;
	memset(c->bytes + c->used, 0, length - c->used);
	return (struct weir_segment){
		.kind = h->kind,
		.operator_idx = h->operator_idx,
		.subtask = h->subtask,
		.state_idx = h->state_idx,
		.offset = w->file_bytes,
		.length = length,
		.used = c->used,
		.crc = weir_crc32c(0, c->bytes, length),
		.page_cnt = c->record_cnt,
		.entry_cnt = c->entry_cnt,
		.hash_first = h->hash_first,
		.hash_last = h->hash_last,
	};
}

static void
fail(struct weir_snap_writer *w, const char *what, int64_t result)
{
	if (w->dead)
		return;
	w->dead = true;
	(void)weir_fail(&w->err, WEIR_ERR_IO, "%s %s: %s", what, w->path,
			result < 0 ? strerrordesc_np((int)-result) : "short");
}

static void
range_gone(void *arg, struct weir_outgoing_range *range)
{
	struct weir_snap_writer *w = arg;

	if (range != &w->head)
		weir_snap_chunk_drop(w, (struct weir_snap_chunk *)(void *)range);
}

/* The segment is known and has its place: bytes of the chunk go out, then pieces if there are any.
 */
static void
chunk_leave(struct weir_snap_writer *w, struct weir_snap_chunk *c, const struct weir_segment *seg,
	    struct weir_snap_pieces *list)
{
	w->cfg.segs[w->seg_cnt++] = *seg;
	w->file_bytes += seg->length;
	c->range = (struct weir_outgoing_range){ .bytes = c->bytes,
						 .len = list != NULL ? c->used : seg->length,
						 .off = seg->offset,
						 .list = list };
	c->state = CHUNK_LEAVING;
	weir_outgoing_add(&w->outgoing, &c->range);
}

uint32_t
weir_snap_chunk_records(const struct weir_snap_chunk *c)
{
	return c->record_cnt;
}

uint32_t
weir_snap_chunk_close(struct weir_snap_writer *w, struct weir_snap_chunk *c)
{
	struct weir_seg_header *h = (struct weir_seg_header *)(void *)c->bytes;
	struct weir_segment seg;

	WEIR_ASSERT(c->state == CHUNK_FILLING);
	if (!w->dead && w->seg_cnt == w->cfg.seg_max)
		fail(w, "too many segments in", -E2BIG);
	if (w->dead) {
		weir_snap_chunk_drop(w, c);
		return WEIR_SNAP_NO_SEGMENT;
	}
	seg = segment_of(w, c, h);
	chunk_leave(w, c, &seg, NULL);
	return w->seg_cnt - 1;
}

static uint32_t
parts_so_far(const struct weir_snap_writer *w, const struct weir_snap_blob *b)
{
	uint32_t parts = 0;

	for (uint32_t i = w->seg_cnt; i > 0; i--) {
		const struct weir_segment *s = &w->cfg.segs[i - 1];

		parts += s->kind == b->kind && s->operator_idx == b->operator_idx &&
			 s->subtask == b->subtask && s->state_idx == b->state_idx;
	}
	return parts;
}

/* The pieces belong to the segment that the chunk begins: length and checksum. */
static void
pieces_count(struct weir_snap_chunk *c, const struct weir_snap_pieces *list,
	     struct weir_segment *seg)
{
	struct weir_seg_header *h = (struct weir_seg_header *)(void *)c->bytes;

	for (uint32_t i = 0; i < list->cnt; i++) {
		WEIR_ASSERT((uintptr_t)list->piece[i].bytes % WEIR_PAGE == 0);
		WEIR_ASSERT(list->piece[i].len % WEIR_DATA_ALIGN == 0);
		seg->length += list->piece[i].len;
	}
	seg->used = seg->length;
	h->length = seg->length;
	h->used = seg->used;
	seg->crc = weir_crc32c(0, c->bytes, c->used);
	for (uint32_t i = 0; i < list->cnt; i++)
		seg->crc = weir_crc32c(seg->crc, list->piece[i].bytes, list->piece[i].len);
}

bool
weir_snap_writer_append(struct weir_snap_writer *w, const struct weir_snap_blob *blob,
			uint64_t *taken)
{
	struct weir_seg_header head = {
		.kind = (uint16_t)blob->kind,
		.operator_idx = blob->operator_idx,
		.subtask = blob->subtask,
		.state_idx = blob->state_idx,
		.part = parts_so_far(w, blob),
	};

	WEIR_ASSERT(blob->kind != WEIR_SEGMENT_STATE && blob->kind != WEIR_SEGMENT_CANONICAL);
	WEIR_ASSERT(*taken <= blob->len);
	do {
		struct weir_snap_chunk *c = weir_snap_chunk_take(w, &head, false);
		uint64_t part = blob->len - *taken;

		if (c == NULL)
			return false;
		if (part > c->cap - c->used)
			part = c->cap - c->used;
		if (part > 0)
			memcpy(weir_snap_chunk_room(c, part), (const uint8_t *)blob->bytes + *taken,
			       part);
		weir_snap_chunk_count(c, 0, *taken == 0 ? blob->entry_cnt : 0);
		*taken += part;
		head.part++;
		(void)weir_snap_chunk_close(w, c);
	} while (*taken < blob->len);
	return true;
}

bool
weir_snap_writer_pieces(struct weir_snap_writer *w, struct weir_snap_pieces *list)
{
	const struct weir_snap_blob blob = { .kind = WEIR_SEGMENT_CHANNEL,
					     .operator_idx = list->operator_idx,
					     .subtask = list->subtask,
					     .state_idx = list->state_idx };
	const struct weir_seg_header head = { .kind = WEIR_SEGMENT_CHANNEL,
					      .operator_idx = list->operator_idx,
					      .subtask = list->subtask,
					      .state_idx = list->state_idx,
					      .part = parts_so_far(w, &blob) };
	struct weir_snap_chunk *c = weir_snap_chunk_take(w, &head, false);
	struct weir_segment seg;

	if (c == NULL)
		return false;
	WEIR_ASSERT(list->cnt > 0);
	if (!w->dead && w->seg_cnt == w->cfg.seg_max)
		fail(w, "too many segments in", -E2BIG);
	if (w->dead) {
		weir_snap_chunk_drop(w, c);
		list->sent = 0;
		weir_outgoing_release(list);
		return true;
	}
	memset(c->bytes + sizeof(head), 0, WEIR_SNAP_PIECES_AT - sizeof(head));
	c->used = WEIR_SNAP_PIECES_AT;
	seg = segment_of(w, c, (struct weir_seg_header *)(void *)c->bytes);
	pieces_count(c, list, &seg);
	chunk_leave(w, c, &seg, list);
	return true;
}

void
weir_snap_writer_seal(struct weir_snap_writer *w)
{
	if (!w->dead)
		move(w, WEIR_SNAP_SEALED);
}

void
weir_snap_writer_abort(struct weir_snap_writer *w)
{
	if (w->state == WEIR_SNAP_DONE || w->state == WEIR_SNAP_FAILED ||
	    w->state == WEIR_SNAP_IDLE || w->dead)
		return;
	w->dead = true;
	(void)weir_fail(&w->err, WEIR_ERR_IO, "%s: snapshot given up", w->path);
}

static void
submit(struct weir_snap_writer *w, struct weir_io_req *req)
{
	w->in_flight++;
	weir_io_submit(w->cfg.io, &req, 1);
}

static void
ctl_submit(struct weir_snap_writer *w, enum weir_io_kind kind)
{
	w->ctl = (struct weir_io_req){
		.kind = kind, .direct = true, .handle = w->handle, .path = w->path, .user = w
	};
	submit(w, &w->ctl);
}

static void
ctl_done(struct weir_snap_writer *w)
{
	const int64_t result = w->ctl.result;

	if (w->ctl.kind == WEIR_IO_OPEN_NEW) {
		if (result < 0)
			fail(w, "create", result);
		else
			w->handle = (int)result;
		return;
	}
	if (w->ctl.kind == WEIR_IO_CLOSE)
		w->handle = -1;
	if (result < 0)
		fail(w, w->ctl.kind == WEIR_IO_CLOSE ? "close" : "fsync", result);
}

void
weir_snap_writer_done(struct weir_snap_writer *w, struct weir_io_req *req)
{
	WEIR_ASSERT(req->user == w);
	WEIR_ASSERT(w->in_flight > 0);
	w->in_flight--;
	if (req == &w->ctl) {
		ctl_done(w);
	} else if (req == &w->dir) {
		if (req->result < 0)
			fail(w, "fsync of the directory of", req->result);
	} else {
		WEIR_ASSERT(req == &w->outgoing.req);
		if (req->result < 0 || (uint64_t)req->result != req->len)
			fail(w, "write", req->result);
		weir_outgoing_done(&w->outgoing, range_gone, w);
	}
}

/* Failed or given up: wait for what is in flight, close, report. */
static void
step_dead(struct weir_snap_writer *w)
{
	if (w->in_flight > 0)
		return;
	weir_outgoing_drop(&w->outgoing, range_gone, w);
	if (w->handle >= 0 && !w->close_sent) {
		if (!weir_io_ready(w->cfg.io))
			return;
		w->close_sent = true;
		if (w->state != WEIR_SNAP_CLOSING)
			move(w, WEIR_SNAP_CLOSING);
		ctl_submit(w, WEIR_IO_CLOSE);
		return;
	}
	if (w->state == WEIR_SNAP_SYNC)
		move(w, WEIR_SNAP_CLOSING);
	move(w, WEIR_SNAP_FAILED);
}

static void
step_writes(struct weir_snap_writer *w)
{
	struct weir_io_req *req;

	if (!weir_io_ready(w->cfg.io))
		return;
	req = weir_outgoing_next(&w->outgoing, w->handle, w);
	if (req != NULL)
		submit(w, req);
}

static void
step_sealed(struct weir_snap_writer *w)
{
	/* fsync only after every write is back: order between requests is never assumed. */
	if (!weir_outgoing_is_empty(&w->outgoing) || w->in_flight > 0)
		return;
	WEIR_ASSERT(w->free_cnt == w->chunk_cnt);
	if (w->cfg.io->in_flight + 2 > w->cfg.io->depth)
		return;
	move(w, WEIR_SNAP_SYNC);
	ctl_submit(w, WEIR_PLANT(SNAPSHOT_SYNC) ? WEIR_IO_READ : WEIR_IO_FSYNC);
	w->dir = (struct weir_io_req){ .kind = WEIR_IO_FSYNC_DIR, .path = w->dir_path, .user = w };
	submit(w, &w->dir);
}

enum weir_snap_state
weir_snap_writer_step(struct weir_snap_writer *w)
{
	WEIR_ASSERT(w->magic == WRITER_MAGIC);
	if (w->state == WEIR_SNAP_IDLE || w->state == WEIR_SNAP_DONE ||
	    w->state == WEIR_SNAP_FAILED)
		return w->state;
	if (w->dead) {
		step_dead(w);
		return w->state;
	}
	if (!w->open_sent && weir_io_ready(w->cfg.io)) {
		w->open_sent = true;
		ctl_submit(w, WEIR_IO_OPEN_NEW);
	}
	if (w->handle >= 0 && (w->state == WEIR_SNAP_OPEN || w->state == WEIR_SNAP_SEALED))
		step_writes(w);
	if (w->state == WEIR_SNAP_SEALED) {
		step_sealed(w);
	} else if (w->state == WEIR_SNAP_SYNC && w->in_flight == 0 && weir_io_ready(w->cfg.io)) {
		move(w, WEIR_SNAP_CLOSING);
		w->close_sent = true;
		ctl_submit(w, WEIR_IO_CLOSE);
	} else if (w->state == WEIR_SNAP_CLOSING && w->in_flight == 0) {
		move(w, WEIR_SNAP_DONE);
	}
	return w->state;
}

const struct weir_segment *
weir_snap_writer_segments(const struct weir_snap_writer *w, uint32_t *cnt, uint64_t *file_bytes)
{
	WEIR_ASSERT(w->state == WEIR_SNAP_DONE);
	*cnt = w->seg_cnt;
	*file_bytes = w->file_bytes;
	return w->cfg.segs;
}

const struct weir_segment_ref *
weir_snap_writer_refs(const struct weir_snap_writer *w, uint32_t *cnt)
{
	WEIR_ASSERT(w->state == WEIR_SNAP_DONE);
	*cnt = w->ref_cnt;
	return w->refs;
}

const struct weir_error *
weir_snap_writer_error(const struct weir_snap_writer *w)
{
	WEIR_ASSERT(w->state == WEIR_SNAP_FAILED);
	return &w->err;
}

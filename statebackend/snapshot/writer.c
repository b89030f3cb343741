/* The writer's file: opened, written in order, synced, closed, or given up. Bytes: format.h. */

#include "statebackend/snapshot/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/crc32c.h"
#include "engine/base/plant.h"
#include "statebackend/snapshot/writer_priv.h"

#define WRITER_MAGIC 0x57525753u
#define LIVE_WORDS   8u

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

void
weir_snap_writer_fail(struct weir_snap_writer *w, const char *what, int64_t result)
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
			weir_snap_writer_fail(w, "create", result);
		else
			w->handle = (int)result;
		return;
	}
	if (w->ctl.kind == WEIR_IO_CLOSE)
		w->handle = -1;
	if (result < 0)
		weir_snap_writer_fail(w, w->ctl.kind == WEIR_IO_CLOSE ? "close" : "fsync", result);
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
			weir_snap_writer_fail(w, "fsync of the directory of", req->result);
	} else {
		WEIR_ASSERT(req == &w->outgoing.req);
		if (req->result < 0 || (uint64_t)req->result != req->len)
			weir_snap_writer_fail(w, "write", req->result);
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

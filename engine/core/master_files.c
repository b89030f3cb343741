/*
 * File work of the master: a checkpoint's manifest becomes durable (K4, checkpointing.md §0), files
 * that no checkpoint names go. Each is a chain of requests, one after the other, never linked: the
 * next goes when the last has succeeded.
 */
#include "engine/base/plant.h"
#include "engine/core/master_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t
weir_master_add_file(struct weir_master *m, const char *name, uint64_t bytes)
{
	if (m->file_cnt == m->file_cap) {
		m->file_cap = m->file_cap == 0 ? 64 : m->file_cap * 2;
		m->file = realloc(m->file, m->file_cap * sizeof(*m->file));
		WEIR_ASSERT(m->file != NULL);
	}
	m->file[m->file_cnt] = (struct weir_master_file){ .name = strdup(name), .bytes = bytes };
	WEIR_ASSERT(m->file[m->file_cnt].name != NULL);
	return m->file_cnt++;
}

static struct weir_master_chain *
chain_new(struct weir_master *m, enum weir_chain_kind kind, uint64_t id)
{
	struct weir_master_chain *c = calloc(1, sizeof(*c));
	struct weir_master_chain **at = &m->chains;

	WEIR_ASSERT(c != NULL);
	c->kind = kind;
	c->id = id;
	while (*at != NULL)
		at = &(*at)->next;
	*at = c;
	return c;
}

static struct weir_chain_step *
chain_add(struct weir_master_chain *c, enum weir_io_kind kind)
{
	if (c->step_cnt == c->step_cap) {
		c->step_cap = c->step_cap == 0 ? 8 : c->step_cap * 2;
		c->step = realloc(c->step, c->step_cap * sizeof(*c->step));
		WEIR_ASSERT(c->step != NULL);
	}
	c->step[c->step_cnt] = (struct weir_chain_step){ .kind = kind };
	return &c->step[c->step_cnt++];
}

/* The folder of checkpoint or savepoint id. */
static void
place_of(const struct weir_master *m, uint64_t id, char place[static WEIR_MASTER_PATH])
{
	const char *dir = weir_master_savepoint_dir(m, id);

	if (m->cfg.claimed.manifest != NULL && m->claimed_id == id)
		dir = m->cfg.claimed.path;
	if (dir != NULL)
		snprintf(place, WEIR_MASTER_PATH, "%s", dir);
	else
		snprintf(place, WEIR_MASTER_PATH, "%s/chk-%llu", m->cfg.job_dir,
			 (unsigned long long)id);
}

static void
chain_path(const struct weir_master *m, struct weir_master_chain *c, enum weir_io_kind kind,
	   uint64_t id, const char *name)
{
	struct weir_chain_step *s = chain_add(c, kind);

	place_of(m, id, s->path);
	snprintf(s->path + strlen(s->path), sizeof(s->path) - strlen(s->path), "%s", name);
}

static void
answer_storage(struct weir_master *m, uint64_t id, bool made)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_STORAGE_ANSWER };

	ev.answer.id = id;
	ev.answer.location = id;
	ev.answer.result = made ? WEIR_COORD_OK : WEIR_COORD_FAILED_IO;
	weir_master_event(m, &ev);
}

void
weir_master_make_storage(struct weir_master *m, uint64_t id, const char *dir)
{
	struct weir_master_chain *chain = chain_new(m, WEIR_CHAIN_STORAGE, id);

	snprintf(chain_add(chain, WEIR_IO_MKDIR)->path, WEIR_MASTER_PATH, "%s", dir);
}

static void
answer_finalize(struct weir_master *m, uint64_t id, enum weir_coord_result result)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_FINALIZE_ANSWER };

	ev.answer.id = id;
	ev.answer.result = result;
	weir_master_event(m, &ev);
}

static void
remember_doubt(struct weir_master *m, const struct weir_master_checkpoint *c)
{
	const uint32_t cores = m->cfg.rt->cfg.plan->core_cnt;
	struct weir_master_doubt *d = calloc(1, sizeof(*d) + cores * sizeof(d->files[0]));

	WEIR_ASSERT(d != NULL);
	d->id = c->id;
	for (uint32_t k = 0; k < cores; k++)
		if (c->file[k] != 0)
			d->files[d->file_cnt++] = c->file[k] - 1;
	d->next = m->doubts;
	m->doubts = d;
}

void
weir_master_settle_doubts(struct weir_master *m, uint64_t id)
{
	for (struct weir_master_doubt **at = &m->doubts; *at != NULL;) {
		struct weir_master_doubt *d = *at;

		if (d->id > id) {
			at = &d->next;
			continue;
		}
		*at = d->next;
		weir_master_delete(m, d->id, d->files, d->file_cnt, false);
		free(d);
	}
}

static void
name_files(struct weir_master *m, const struct weir_master_checkpoint *c)
{
	for (uint32_t k = 0; k < m->cfg.rt->cfg.plan->core_cnt; k++)
		if (c->segments[k] != NULL)
			weir_master_names_add(m, c->id, c->segments[k]->file,
					      c->segments[k]->file_cnt);
}

void
weir_master_finalize(struct weir_master *m, struct weir_master_checkpoint *c)
{
	const struct weir_savepoint_order *order =
		weir_savepoint_orders_find(&m->cfg.rt->orders, c->id);
	struct weir_error err;
	struct weir_master_chain *chain;
	struct weir_chain_step *s;
	uint8_t *bytes;
	size_t len;

	if (weir_master_manifest(m, c, &bytes, &len, &err) != 0) {
		weir_error_prefix(&err, "manifest of checkpoint %llu", (unsigned long long)c->id);
		m->decline = err;
		answer_finalize(m, c->id, WEIR_COORD_FAILED);
		return;
	}
	if (weir_master_savepoint_dir(m, c->id) == NULL)
		name_files(m, c);
	chain = chain_new(m, WEIR_CHAIN_FINALIZE, c->id);
	chain->bytes = bytes;
	chain->len = len;
	/* The data files and their names are durable: a core acknowledges after both. */
	chain_path(m, chain, WEIR_IO_MKDIR, c->id, "");
	chain_path(m, chain, WEIR_IO_OPEN_NEW, c->id, "/.manifest");
	chain_add(chain, WEIR_IO_WRITE);
	if (!WEIR_PLANT(MANIFEST_SYNC))
		chain_add(chain, WEIR_IO_FSYNC);
	chain_add(chain, WEIR_IO_CLOSE);
	chain_path(m, chain, WEIR_IO_RENAME, c->id, "/.manifest");
	s = &chain->step[chain->step_cnt - 1];
	place_of(m, c->id, s->path2);
	snprintf(s->path2 + strlen(s->path2), sizeof(s->path2) - strlen(s->path2), "/manifest");
	chain_path(m, chain, WEIR_IO_FSYNC_DIR, c->id, "");
	if (WEIR_PLANT(FOLDER_SYNC))
		return;
	snprintf(chain->beside, sizeof(chain->beside), "%s",
		 order == NULL || order->kind == WEIR_REQUEST_FULL ? m->cfg.job_dir
								   : order->parent);
}

void
weir_master_delete(struct weir_master *m, uint64_t id, const uint64_t *files, uint32_t cnt,
		   bool answer)
{
	struct weir_master_chain *chain = chain_new(m, WEIR_CHAIN_DELETE, id);
	const char *dir = id != 0 ? weir_master_savepoint_dir(m, id) : NULL;

	if (m->claimed_id != 0 && m->claimed_id == id && m->claimed_whole)
		dir = m->cfg.claimed.path;

	chain->answer = answer;
	if (id != 0) {
		/* The manifest goes first: then it is no checkpoint any more, whatever happens to
		 * the rest. */
		chain_path(m, chain, WEIR_IO_UNLINK, id, "/manifest");
		chain_path(m, chain, WEIR_IO_UNLINK, id, "/.manifest");
		/* A power loss must not bring it back after its data files. */
		if (!WEIR_PLANT(DELETE_ORDER))
			chain_path(m, chain, WEIR_IO_FSYNC_DIR, id, "");
		if (dir == NULL)
			chain_path(m, chain, WEIR_IO_UNLINK, id, "");
		chain->proof = chain->step_cnt - 1;
	}
	for (uint32_t i = 0; i < cnt; i++) {
		struct weir_chain_step *s = chain_add(chain, WEIR_IO_UNLINK);

		WEIR_ASSERT(files[i] < m->file_cnt);
		weir_master_forget_file(m, files[i]);
		if (m->file[files[i]].dir != NULL)
			snprintf(s->path, sizeof(s->path), "%s/%s", m->file[files[i]].dir,
				 m->file[files[i]].name);
		else
			snprintf(s->path, sizeof(s->path), "%s/data/%s", m->cfg.job_dir,
				 m->file[files[i]].name);
	}
	if (dir == NULL && cnt > 0)
		dir = m->file[files[0]].dir;
	if (dir != NULL) /* it holds its files: the last of them takes it along */
		snprintf(chain_add(chain, WEIR_IO_UNLINK)->path, WEIR_MASTER_PATH, "%s", dir);
}

static void
submit(struct weir_master *m, struct weir_master_chain *c)
{
	const struct weir_chain_step *s = &c->step[c->at];
	struct weir_io_req *req = &c->req;

	c->req = (struct weir_io_req){ .kind = s->kind,
				       .handle = c->handle,
				       .buf = c->bytes,
				       .len = s->kind == WEIR_IO_WRITE ? c->len : 0,
				       .path = s->path,
				       .path2 = s->path2,
				       .user = c };
	c->busy = true;
	weir_io_submit(m->cfg.io, &req, 1);
}

static void
submit_beside(struct weir_master *m, struct weir_master_chain *c)
{
	struct weir_io_req *req = &c->beside_req;

	*req = (struct weir_io_req){ .kind = WEIR_IO_FSYNC_DIR, .path = c->beside, .user = c };
	c->beside_due = false;
	c->beside_busy = true;
	weir_io_submit(m->cfg.io, &req, 1);
}

static void
decline(struct weir_master *m, const struct weir_master_chain *c)
{
	weir_fail(&m->decline, WEIR_ERR_IO, "%s: %s", c->failed_path, strerror((int)-c->result));
}

static void
chain_end(struct weir_master *m, struct weir_master_chain *c)
{
	const int64_t result = c->result;
	struct weir_master_chain **at = &m->chains;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (c->kind == WEIR_CHAIN_STORAGE) {
		if (result < 0)
			decline(m, c);
		answer_storage(m, c->id, result >= 0);
	} else if (c->kind == WEIR_CHAIN_FINALIZE) {
		/* From the rename on nobody knows whether the manifest is there (K7). */
		if (result < 0 && !c->renamed)
			weir_master_names_remove(m, c->id);
		if (result < 0 && c->renamed && weir_master_find(m, c->id) != NULL)
			remember_doubt(m, weir_master_find(m, c->id));
		if (result < 0)
			decline(m, c);
		answer_finalize(m, c->id,
				result >= 0  ? WEIR_COORD_OK
				: c->renamed ? WEIR_COORD_UNKNOWN
					     : WEIR_COORD_FAILED_IO);
		weir_manifest_bytes_free(c->bytes);
	} else if (c->answer) {
		struct weir_coord_event ev = { .kind = WEIR_COORD_DELETED };

		ev.answer.id = c->id;
		weir_master_event(m, &ev);
	}
	free(c->step);
	free(c);
}

/* What was opened is closed before the end. The first failure counts. */
static void
give_up(struct weir_master_chain *c, const char *path, int64_t result)
{
	if (c->result < 0)
		return;
	c->result = result;
	c->failed_path = path;
}

static void
step_done(struct weir_master *m, struct weir_master_chain *c)
{
	const struct weir_chain_step *s = &c->step[c->at];
	const int64_t result = c->req.result;

	c->busy = false;
	if (s->kind == WEIR_IO_CLOSE)
		c->open = false;
	if (result < 0 && c->kind != WEIR_CHAIN_DELETE) {
		give_up(c, s->path, result);
		return;
	}
	/* K10: a deletion that fails is said and left to the next start. */
	if (result < 0 && result != -ENOENT && result != -ENOTEMPTY && m->cfg.warning != NULL) {
		char text[WEIR_MASTER_PATH + 64];

		snprintf(text, sizeof(text), "cannot delete %s: %s", s->path,
			 strerror((int)-result));
		m->cfg.warning(m->cfg.arg, text);
	}
	/* While the manifest may be there, what it names stays. */
	if (result < 0 && result != -ENOENT && c->at < c->proof) {
		give_up(c, s->path, result);
		return;
	}
	if (s->kind == WEIR_IO_OPEN_NEW) {
		c->handle = (int)result;
		c->open = true;
	}
	c->beside_due |= c->at == 0 && c->beside[0] != '\0';
	c->at++;
	if (c->kind == WEIR_CHAIN_DELETE && c->id != 0 && c->at == c->proof)
		weir_master_names_remove(m, c->id);
}

static void
chain_done(struct weir_master *m, struct weir_master_chain *c, const struct weir_io_req *req)
{
	if (req != &c->beside_req) {
		step_done(m, c);
		return;
	}
	c->beside_busy = false;
	if (req->result < 0)
		give_up(c, c->beside, req->result);
}

/* To the step that closes what a chain that is given up has open. */
static void
skip_to_close(struct weir_master_chain *c)
{
	while (c->step[c->at].kind != WEIR_IO_CLOSE)
		c->at++;
}

/* True: something was done; c may be gone. */
static bool
chain_go_on(struct weir_master *m, struct weir_master_chain *c)
{
	if (c->busy)
		return false;
	if ((c->result < 0 && !c->open) || c->at == c->step_cnt) {
		if (c->beside_busy)
			return false;
		chain_end(m, c);
		return true;
	}
	if (c->result < 0)
		skip_to_close(c);
	if (!weir_io_ready(m->cfg.io))
		return false;
	if (c->step[c->at].kind == WEIR_IO_RENAME) {
		if (c->beside_due || c->beside_busy)
			return false;
		c->renamed = true;
	}
	submit(m, c);
	return true;
}

bool
weir_master_step_chains(struct weir_master *m)
{
	struct weir_io_req *done[16];
	uint32_t cnt;
	bool any;

	if (m->cfg.io == NULL)
		return false;
	cnt = weir_io_harvest(m->cfg.io, done, 16);
	any = cnt > 0;
	for (uint32_t i = 0; i < cnt; i++)
		chain_done(m, done[i]->user, done[i]);
	for (struct weir_master_chain *c = m->chains, *next; c != NULL; c = next) {
		next = c->next;
		if (c->beside_due && weir_io_ready(m->cfg.io)) {
			submit_beside(m, c);
			any = true;
		}
		any |= chain_go_on(m, c);
	}
	return any;
}

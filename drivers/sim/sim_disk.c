#include "drivers/sim/sim_disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR	     512u
#define HANDLES	     1024u
#define NAME_NOWHERE UINT32_MAX

/* A piece of a file that no fsync has covered. */
struct piece {
	uint64_t off, len;
	bool doomed; /* its fsync failed */
};

struct bytes {
	uint8_t *at;
	uint64_t len, cap;
};

struct inode {
	bool is_dir;
	struct bytes cache, platter;
	struct piece *piece;
	uint32_t piece_cnt, piece_cap;
};

struct name {
	uint32_t dir, inode;
	char text[WEIR_SIM_NAME_MAX];
};

struct names {
	struct name *list;
	uint32_t cnt, cap;
};

enum change_kind { CHANGE_PUT, CHANGE_DEL, CHANGE_MOVE };

/* What happened to a directory since its last fsync. */
struct change {
	enum change_kind kind;
	struct name name;
	char to[WEIR_SIM_NAME_MAX]; /* MOVE, in the same directory */
};

struct handle {
	bool open;
	uint32_t inode;
};

struct weir_sim_disk {
	struct weir_rng rng;
	struct inode *inode; /* 0: the root */
	uint32_t inode_cnt, inode_cap;
	struct names cache, platter;
	struct change *change;
	uint32_t change_cnt, change_cap;
	struct handle handle[HANDLES];
};

static void *
grow(void *list, uint32_t cnt, uint32_t *cap, size_t item)
{
	void *grown;

	if (cnt < *cap)
		return list;
	*cap = *cap == 0 ? 16 : *cap * 2;
	grown = realloc(list, *cap * item);
	WEIR_ASSERT(grown != NULL);
	return grown;
}

/* ---- bytes ---- */

static void
bytes_put(struct bytes *b, uint64_t off, const void *from, uint64_t len)
{
	if (off + len > b->cap) {
		b->cap = weir_align_up((off + len) * 2, WEIR_PAGE);
		b->at = realloc(b->at, b->cap);
		WEIR_ASSERT(b->at != NULL);
	}
	if (off > b->len)
		memset(b->at + b->len, 0, off - b->len);
	if (len > 0)
		memcpy(b->at + off, from, len);
	if (off + len > b->len)
		b->len = off + len;
}

static void
bytes_copy(struct bytes *to, const struct bytes *from)
{
	to->len = 0;
	bytes_put(to, 0, from->at, from->len);
}

/* ---- names ---- */

static uint32_t
names_find(const struct names *n, uint32_t dir, const char *text, size_t len)
{
	for (uint32_t i = 0; i < n->cnt; i++)
		if (n->list[i].dir == dir && strlen(n->list[i].text) == len &&
		    memcmp(n->list[i].text, text, len) == 0)
			return i;
	return NAME_NOWHERE;
}

static void
names_del(struct names *n, uint32_t dir, const char *text)
{
	const uint32_t at = names_find(n, dir, text, strlen(text));

	if (at == NAME_NOWHERE)
		return;
	n->cnt--;
	memmove(&n->list[at], &n->list[at + 1], (n->cnt - at) * sizeof(n->list[0]));
}

static void
names_put(struct names *n, const struct name *name)
{
	names_del(n, name->dir, name->text);
	n->list = grow(n->list, n->cnt, &n->cap, sizeof(n->list[0]));
	n->list[n->cnt++] = *name;
}

static void
names_apply(struct names *n, const struct change *c)
{
	struct name moved = c->name;

	switch (c->kind) {
	case CHANGE_PUT:
		names_put(n, &c->name);
		break;
	case CHANGE_DEL:
		names_del(n, c->name.dir, c->name.text);
		break;
	case CHANGE_MOVE:
		memcpy(moved.text, c->to, sizeof(moved.text));
		names_del(n, c->name.dir, c->name.text);
		names_put(n, &moved);
		break;
	}
}

static void
change_add(struct weir_sim_disk *d, const struct change *c)
{
	names_apply(&d->cache, c);
	d->change = grow(d->change, d->change_cnt, &d->change_cap, sizeof(d->change[0]));
	d->change[d->change_cnt++] = *c;
}

/* ---- paths ---- */

struct place {
	uint32_t dir;	/* NAME_NOWHERE: the directory is not there */
	uint32_t inode; /* NAME_NOWHERE: the name is not there */
	char text[WEIR_SIM_NAME_MAX];
};

/* The last component of a path, seen through one table of names. */
static struct place
resolve(const struct names *n, const char *path)
{
	struct place p = { .dir = NAME_NOWHERE, .inode = 0 };

	WEIR_ASSERT(path[0] == '/');
	while (*path != '\0') {
		size_t len;
		uint32_t at;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len == 0)
			break;
		WEIR_ASSERT(len < sizeof(p.text));
		p.dir = p.inode;
		memcpy(p.text, path, len);
		p.text[len] = '\0';
		at = p.dir == NAME_NOWHERE ? NAME_NOWHERE : names_find(n, p.dir, path, len);
		p.inode = at == NAME_NOWHERE ? NAME_NOWHERE : n->list[at].inode;
		path += len;
	}
	return p;
}

static uint32_t
inode_new(struct weir_sim_disk *d, bool is_dir)
{
	d->inode = grow(d->inode, d->inode_cnt, &d->inode_cap, sizeof(d->inode[0]));
	d->inode[d->inode_cnt] = (struct inode){ .is_dir = is_dir };
	return d->inode_cnt++;
}

static struct name
name_of(const struct place *p, uint32_t inode)
{
	struct name n = { .dir = p->dir, .inode = inode };

	memcpy(n.text, p->text, sizeof(n.text));
	return n;
}

static void
create(struct weir_sim_disk *d, const struct place *p, bool is_dir)
{
	struct change c = { .kind = CHANGE_PUT };

	c.name = name_of(p, inode_new(d, is_dir));
	change_add(d, &c);
}

/* ---- requests ---- */

static int64_t
open_handle(struct weir_sim_disk *d, uint32_t inode)
{
	for (uint32_t h = 0; h < HANDLES; h++)
		if (!d->handle[h].open) {
			d->handle[h] = (struct handle){ .open = true, .inode = inode };
			return h;
		}
	return -EMFILE;
}

static struct inode *
handle_inode(struct weir_sim_disk *d, int handle)
{
	WEIR_ASSERT(handle >= 0 && (uint32_t)handle < HANDLES);
	WEIR_ASSERT(d->handle[handle].open);
	return &d->inode[d->handle[handle].inode];
}

static int64_t
do_open(struct weir_sim_disk *d, const struct weir_io_req *r, int fail)
{
	struct place p = resolve(&d->cache, r->path);

	if (r->kind == WEIR_IO_OPEN_READ) {
		if (fail != 0)
			return fail;
		return p.inode == NAME_NOWHERE ? -ENOENT : open_handle(d, p.inode);
	}
	if (p.dir == NAME_NOWHERE)
		return -ENOENT;
	if (p.inode != NAME_NOWHERE)
		return -EEXIST;
	/* One that failed may have left a name all the same. */
	if (fail != 0 && weir_rng_below(&d->rng, 4) != 0)
		return fail;
	create(d, &p, false);
	return fail != 0 ? fail : open_handle(d, d->inode_cnt - 1);
}

static int64_t
do_write(struct weir_sim_disk *d, const struct weir_io_req *r, int fail)
{
	struct inode *n = handle_inode(d, r->handle);
	const uint64_t len = fail == 0 ? r->len : weir_rng_below(&d->rng, r->len + 1);

	if (r->piece_cnt == 0)
		bytes_put(&n->cache, r->off, r->buf, len);
	for (uint32_t i = 0, at = 0; i < r->piece_cnt && at < len; i++) {
		const uint64_t left = len - at;

		bytes_put(&n->cache, r->off + at, r->piece[i].base,
			  r->piece[i].len < left ? r->piece[i].len : left);
		at += (uint32_t)r->piece[i].len;
	}
	n->piece = grow(n->piece, n->piece_cnt, &n->piece_cap, sizeof(n->piece[0]));
	n->piece[n->piece_cnt++] = (struct piece){ .off = r->off, .len = len };
	return fail != 0 ? fail : (int64_t)r->len;
}

static int64_t
do_read(struct weir_sim_disk *d, const struct weir_io_req *r)
{
	const struct bytes *b = &handle_inode(d, r->handle)->cache;
	uint64_t len = r->off < b->len ? b->len - r->off : 0;

	if (len > r->len)
		len = r->len;
	if (len > 0)
		memcpy(r->buf, b->at + r->off, len);
	return (int64_t)len;
}

static void
file_sync(struct inode *n)
{
	uint32_t doomed = 0;

	for (uint32_t i = 0; i < n->piece_cnt; i++) {
		const struct piece p = n->piece[i];

		if (p.doomed)
			n->piece[doomed++] = p;
		else
			bytes_put(&n->platter, p.off, n->cache.at + p.off, p.len);
	}
	n->piece_cnt = doomed;
}

static int64_t
do_fsync(struct weir_sim_disk *d, const struct weir_io_req *r, int fail)
{
	struct inode *n = handle_inode(d, r->handle);

	if (fail == 0)
		file_sync(n);
	for (uint32_t i = 0; fail != 0 && i < n->piece_cnt; i++)
		n->piece[i].doomed = true;
	return fail;
}

static int64_t
do_mkdir(struct weir_sim_disk *d, const char *path)
{
	char part[1024];

	for (size_t i = 1; i <= strlen(path); i++) {
		struct place p;

		if (path[i] != '/' && path[i] != '\0')
			continue;
		WEIR_ASSERT(i < sizeof(part));
		memcpy(part, path, i);
		part[i] = '\0';
		p = resolve(&d->cache, part);
		if (p.inode == NAME_NOWHERE)
			create(d, &p, true);
		else if (!d->inode[p.inode].is_dir)
			return -ENOTDIR;
	}
	return 0;
}

static int64_t
do_rename(struct weir_sim_disk *d, const struct weir_io_req *r, int fail)
{
	const struct place from = resolve(&d->cache, r->path);
	const struct place to = resolve(&d->cache, r->path2);
	struct change c = { .kind = CHANGE_MOVE };

	if (from.inode == NAME_NOWHERE || to.dir == NAME_NOWHERE)
		return -ENOENT;
	if (to.inode != NAME_NOWHERE)
		return -EEXIST;
	WEIR_ASSERT(from.dir == to.dir);
	/* One that failed may have happened all the same. */
	if (fail != 0 && weir_rng_below(&d->rng, 2) == 0)
		return fail;
	c.name = name_of(&from, from.inode);
	memcpy(c.to, to.text, sizeof(c.to));
	change_add(d, &c);
	return fail;
}

static int64_t
do_unlink(struct weir_sim_disk *d, const char *path)
{
	const struct place p = resolve(&d->cache, path);
	struct change c = { .kind = CHANGE_DEL };

	if (p.inode == NAME_NOWHERE)
		return 0;
	for (uint32_t i = 0; i < d->cache.cnt; i++)
		if (d->cache.list[i].dir == p.inode)
			return -ENOTEMPTY;
	c.name = name_of(&p, p.inode);
	change_add(d, &c);
	return 0;
}

static int64_t
do_fsync_dir(struct weir_sim_disk *d, const char *path)
{
	const struct place p = resolve(&d->cache, path);
	uint32_t left = 0;

	if (p.inode == NAME_NOWHERE)
		return -ENOENT;
	for (uint32_t i = 0; i < d->change_cnt; i++) {
		if (d->change[i].name.dir == p.inode)
			names_apply(&d->platter, &d->change[i]);
		else
			d->change[left++] = d->change[i];
	}
	d->change_cnt = left;
	return 0;
}

void
weir_sim_disk_run(struct weir_sim_disk *d, struct weir_io_req *r, int fail)
{
	switch (r->kind) {
	case WEIR_IO_OPEN_NEW:
	case WEIR_IO_OPEN_READ:
		r->result = do_open(d, r, fail);
		break;
	case WEIR_IO_WRITE:
		r->result = do_write(d, r, fail);
		break;
	case WEIR_IO_READ:
		r->result = fail != 0 ? fail : do_read(d, r);
		break;
	case WEIR_IO_FSYNC:
		r->result = do_fsync(d, r, fail);
		break;
	case WEIR_IO_CLOSE:
		(void)handle_inode(d, r->handle);
		d->handle[r->handle].open = false;
		r->result = fail;
		break;
	case WEIR_IO_MKDIR:
		r->result = fail != 0 ? fail : do_mkdir(d, r->path);
		break;
	case WEIR_IO_RENAME:
		r->result = do_rename(d, r, fail);
		break;
	case WEIR_IO_UNLINK:
		r->result = fail != 0 ? fail : do_unlink(d, r->path);
		break;
	case WEIR_IO_FSYNC_DIR:
		r->result = fail != 0 ? fail : do_fsync_dir(d, r->path);
		break;
	}
}

/* ---- power loss ---- */

static void
piece_survives(struct weir_sim_disk *d, struct inode *n, const struct piece *p)
{
	const uint64_t mode = weir_rng_below(&d->rng, 3);

	for (uint64_t off = p->off; off < p->off + p->len;) {
		const uint64_t end = weir_align_up(off + 1, SECTOR);
		const uint64_t len = (end < p->off + p->len ? end : p->off + p->len) - off;

		/* 0: nothing, 1: all, 2: sector by sector */
		if (mode == 1 || (mode == 2 && weir_rng_below(&d->rng, 2) == 0))
			bytes_put(&n->platter, off, n->cache.at + off, len);
		off += len;
	}
}

static void
file_power_loss(struct weir_sim_disk *d, struct inode *n, struct weir_sim_loss *loss)
{
	for (uint32_t i = 0; i < n->piece_cnt; i++)
		if (!n->piece[i].doomed)
			piece_survives(d, n, &n->piece[i]);
	loss->files_torn += n->piece_cnt > 0;
	n->piece_cnt = 0;
	bytes_copy(&n->cache, &n->platter);
}

static void
names_power_loss(struct weir_sim_disk *d, struct weir_sim_loss *loss)
{
	const bool prefix = weir_rng_below(&d->rng, 2) == 0;
	const uint64_t upto = weir_rng_below(&d->rng, d->change_cnt + 1);

	for (uint32_t i = 0; i < d->change_cnt; i++) {
		const bool kept = prefix ? i < upto : weir_rng_below(&d->rng, 2) == 0;

		if (kept)
			names_apply(&d->platter, &d->change[i]);
		loss->names_kept += kept;
		loss->names_lost += !kept;
	}
	d->change_cnt = 0;
	d->cache.cnt = 0;
	for (uint32_t i = 0; i < d->platter.cnt; i++)
		names_put(&d->cache, &d->platter.list[i]);
}

void
weir_sim_disk_kill(struct weir_sim_disk *d)
{
	memset(d->handle, 0, sizeof(d->handle));
}

void
weir_sim_disk_power_loss(struct weir_sim_disk *d, struct weir_sim_loss *loss)
{
	*loss = (struct weir_sim_loss){ 0 };
	weir_sim_disk_kill(d);
	names_power_loss(d, loss);
	for (uint32_t i = 0; i < d->inode_cnt; i++)
		file_power_loss(d, &d->inode[i], loss);
}

/* ---- for whoever looks ---- */

struct weir_sim_disk *
weir_sim_disk_create(uint64_t seed)
{
	struct weir_sim_disk *d = calloc(1, sizeof(*d));

	WEIR_ASSERT(d != NULL);
	d->rng.state = seed;
	(void)inode_new(d, true);
	return d;
}

void
weir_sim_disk_destroy(struct weir_sim_disk *d)
{
	for (uint32_t i = 0; i < d->inode_cnt; i++) {
		free(d->inode[i].cache.at);
		free(d->inode[i].platter.at);
		free(d->inode[i].piece);
	}
	free(d->inode);
	free(d->cache.list);
	free(d->platter.list);
	free(d->change);
	free(d);
}

const uint8_t *
weir_sim_disk_bytes(struct weir_sim_disk *d, const char *path, uint64_t *len)
{
	static const uint8_t empty[1];
	const struct place p = resolve(&d->cache, path);

	if (p.inode == NAME_NOWHERE || d->inode[p.inode].is_dir)
		return NULL;
	*len = d->inode[p.inode].cache.len;
	return *len > 0 ? d->inode[p.inode].cache.at : empty;
}

const char *
weir_sim_disk_name(struct weir_sim_disk *d, const char *dir, uint32_t i)
{
	const struct place p = resolve(&d->cache, dir);

	for (uint32_t n = 0; p.inode != NAME_NOWHERE && n < d->cache.cnt; n++)
		if (d->cache.list[n].dir == p.inode && i-- == 0)
			return d->cache.list[n].text;
	return NULL;
}

bool
weir_sim_disk_is_safe(struct weir_sim_disk *d, const char *path)
{
	const struct place p = resolve(&d->platter, path);

	if (p.inode == NAME_NOWHERE || d->inode[p.inode].piece_cnt > 0)
		return false;
	for (uint32_t i = 0; i < d->change_cnt; i++)
		if (d->change[i].kind != CHANGE_PUT && d->change[i].name.dir == p.dir &&
		    strcmp(d->change[i].name.text, p.text) == 0)
			return false;
	return true;
}

void
weir_sim_disk_sync(struct weir_sim_disk *d)
{
	for (uint32_t i = 0; i < d->change_cnt; i++)
		names_apply(&d->platter, &d->change[i]);
	d->change_cnt = 0;
	for (uint32_t i = 0; i < d->inode_cnt; i++)
		file_sync(&d->inode[i]);
}

void
weir_sim_disk_mkdir(struct weir_sim_disk *d, const char *path)
{
	WEIR_ASSERT(do_mkdir(d, path) == 0);
	weir_sim_disk_sync(d);
}

void
weir_sim_disk_unlink(struct weir_sim_disk *d, const char *path)
{
	WEIR_ASSERT(do_unlink(d, path) == 0);
}

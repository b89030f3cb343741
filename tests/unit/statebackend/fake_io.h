#ifndef TESTS_UNIT_STATEBACKEND_FAKE_IO_H
#define TESTS_UNIT_STATEBACKEND_FAKE_IO_H

/*
 * A weir_io in memory: requests complete in random order, some late, the k-th one fails. Bytes are
 * taken at completion, so a buffer that changes while it is out is noticed by its checksum.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/rng.h"
#include "engine/io.h"

#define FAKE_FILES 512

struct fake_file {
	char path[256];
	uint8_t *bytes;
	uint64_t len;
	bool open, synced;
};

struct fake_io {
	struct weir_io io; /* first */
	struct weir_rng rng;
	struct weir_io_req *held;
	struct fake_file files[FAKE_FILES];
	uint32_t file_cnt;
	uint64_t started; /* requests so far */
	uint64_t fail_at; /* number of the request that fails, from 1; 0: none */
	int fail_errno;
	uint32_t writes_open; /* not yet completed */
	bool sync_early;      /* an fsync was submitted while writes were out: a fault */
	uint32_t dir_syncs;
};

static inline struct fake_file *
fake_find(struct fake_io *f, const char *path)
{
	for (uint32_t i = 0; i < f->file_cnt; i++)
		if (strcmp(f->files[i].path, path) == 0)
			return &f->files[i];
	return NULL;
}

static inline int64_t
fake_open(struct fake_io *f, struct weir_io_req *r)
{
	struct fake_file *file = fake_find(f, r->path);

	if (r->kind == WEIR_IO_OPEN_READ)
		return file == NULL ? -ENOENT : (int64_t)(file - f->files);
	if (file != NULL)
		return -EEXIST;
	file = &f->files[f->file_cnt++];
	memset(file, 0, sizeof(*file));
	strncpy(file->path, r->path, sizeof(file->path) - 1);
	file->open = true;
	return (int64_t)(file - f->files);
}

static inline int64_t
fake_write(struct fake_io *f, struct weir_io_req *r)
{
	struct fake_file *file = &f->files[r->handle];

	if (r->len % 4096 != 0 || r->off % 4096 != 0 || (uintptr_t)r->buf % 4096 != 0)
		return -EINVAL;
	if (r->off + r->len > file->len) {
		file->bytes = realloc(file->bytes, r->off + r->len);
		memset(file->bytes + file->len, 0xee, r->off + r->len - file->len);
		file->len = r->off + r->len;
	}
	if (r->piece_cnt == 0)
		memcpy(file->bytes + r->off, r->buf, r->len);
	for (uint64_t i = 0, at = r->off; i < r->piece_cnt; at += r->piece[i++].len) {
		if (r->piece[i].len % 4096 != 0 || (uintptr_t)r->piece[i].base % 4096 != 0)
			return -EINVAL;
		memcpy(file->bytes + at, r->piece[i].base, r->piece[i].len);
	}
	file->synced = false;
	return (int64_t)r->len;
}

static inline int64_t
fake_read(struct fake_io *f, struct weir_io_req *r)
{
	struct fake_file *file = &f->files[r->handle];
	uint64_t len = r->len;

	if (r->off >= file->len)
		return 0;
	if (len > file->len - r->off)
		len = file->len - r->off;
	memcpy(r->buf, file->bytes + r->off, len);
	return (int64_t)len;
}

static inline int64_t
fake_run(struct fake_io *f, struct weir_io_req *r)
{
	switch (r->kind) {
	case WEIR_IO_OPEN_NEW:
	case WEIR_IO_OPEN_READ:
		return fake_open(f, r);
	case WEIR_IO_WRITE:
		return fake_write(f, r);
	case WEIR_IO_READ:
		return fake_read(f, r);
	case WEIR_IO_FSYNC:
		f->files[r->handle].synced = true;
		return 0;
	case WEIR_IO_CLOSE:
		f->files[r->handle].open = false;
		return 0;
	case WEIR_IO_FSYNC_DIR:
		f->dir_syncs++;
		return 0;
	default:
		return -ENOSYS;
	}
}

static inline void
fake_submit(struct weir_io *io, struct weir_io_req **reqs, uint32_t cnt)
{
	struct fake_io *f = (struct fake_io *)(void *)io;

	for (uint32_t i = 0; i < cnt; i++) {
		f->sync_early |= reqs[i]->kind == WEIR_IO_FSYNC && f->writes_open > 0;
		f->writes_open += reqs[i]->kind == WEIR_IO_WRITE;
		reqs[i]->result = ++f->started == f->fail_at ? -f->fail_errno : 0;
		reqs[i]->next = f->held;
		f->held = reqs[i];
	}
}

static inline uint32_t
fake_harvest(struct weir_io *io, struct weir_io_req **done, uint32_t max)
{
	struct fake_io *f = (struct fake_io *)(void *)io;
	struct weir_io_req **link = &f->held;
	uint32_t cnt = 0;

	while (*link != NULL && cnt < max) {
		struct weir_io_req *r = *link;

		if (weir_rng_below(&f->rng, 3) == 0) {
			*link = r->next;
			f->writes_open -= r->kind == WEIR_IO_WRITE;
			if (r->result == 0)
				r->result = fake_run(f, r);
			else if (r->kind == WEIR_IO_CLOSE) /* a failed close closes all the same */
				f->files[r->handle].open = false;
			done[cnt++] = r;
		} else {
			link = &r->next;
		}
	}
	return cnt;
}

static const struct weir_io_ops fake_ops = {
	.name = "fake",
	.submit = fake_submit,
	.harvest = fake_harvest,
};

static inline void
fake_init(struct fake_io *f, uint64_t seed)
{
	memset(f, 0, sizeof(*f));
	f->io.ops = &fake_ops;
	f->io.depth = 4;
	f->rng.state = seed;
	f->fail_errno = EIO;
}

static inline void
fake_fini(struct fake_io *f)
{
	for (uint32_t i = 0; i < f->file_cnt; i++)
		free(f->files[i].bytes);
}

#endif /* TESTS_UNIT_STATEBACKEND_FAKE_IO_H */

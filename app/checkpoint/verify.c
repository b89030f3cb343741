#include "app/checkpoint/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/checkpoint/verify_frames.h"
#include "app/checkpoint/verify_opstates.h"
#include "statebackend/verify/verify.h"

/* The segments of a manifest, sorted by file and offset. */
struct segments {
	struct weir_manifest_segment *at;
	uint32_t cnt;
	/* Canonical states so far, and where each of them has come. */
	struct weir_verify_last **last;
	uint32_t last_cnt;
	struct weir_verify_keys keys;
};

/* Where the state of this segment has come; NULL: out of memory. */
static struct weir_verify_last *
last_of(struct segments *all, const struct weir_segment *seg)
{
	struct weir_verify_last **list;

	for (uint32_t i = all->last_cnt; i > 0; i--)
		if (all->last[i - 1]->operator_idx == seg->operator_idx &&
		    all->last[i - 1]->subtask == seg->subtask &&
		    all->last[i - 1]->state_idx == seg->state_idx)
			return all->last[i - 1];
	list = realloc(all->last, (all->last_cnt + 1) * sizeof(struct weir_verify_last *));
	if (list == NULL)
		return NULL;
	all->last = list;
	list[all->last_cnt] = calloc(1, sizeof(struct weir_verify_last));
	if (list[all->last_cnt] == NULL)
		return NULL;
	list[all->last_cnt]->operator_idx = seg->operator_idx;
	list[all->last_cnt]->subtask = seg->subtask;
	list[all->last_cnt]->state_idx = seg->state_idx;
	return list[all->last_cnt++];
}

static int
by_place(const void *pa, const void *pb)
{
	const struct weir_manifest_segment *a = pa;
	const struct weir_manifest_segment *b = pb;

	if (a->file_idx != b->file_idx)
		return a->file_idx < b->file_idx ? -1 : 1;
	return (a->seg.offset > b->seg.offset) - (a->seg.offset < b->seg.offset);
}

static int
collect(const struct weir_manifest *m, struct segments *all, struct weir_error *err)
{
	uint32_t i, j;
	size_t cnt = 0;

	for (i = 0; i < m->operator_cnt; i++)
		for (j = 0; j < m->operators[i].subtask_cnt; j++)
			cnt += m->operators[i].subtasks[j].segment_cnt;
	all->at = calloc(cnt + 1, sizeof(*all->at));
	if (all->at == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "out of memory");
	for (i = 0; i < m->operator_cnt; i++)
		for (j = 0; j < m->operators[i].subtask_cnt; j++) {
			const struct weir_manifest_subtask *sub = &m->operators[i].subtasks[j];

			if (sub->segment_cnt == 0)
				continue;
			memcpy(all->at + all->cnt, sub->segments,
			       sub->segment_cnt * sizeof(*all->at));
			all->cnt += sub->segment_cnt;
		}
	qsort(all->at, all->cnt, sizeof(*all->at), by_place);
	return 0;
}

/* All len bytes at offset. */
static int
read_at(int fd, void *buf, uint64_t len, uint64_t offset, struct weir_error *err)
{
	char *to = buf;
	ssize_t got;

	while (len > 0) {
		got = pread(fd, to, len, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return weir_fail(err, WEIR_ERR_IO, "cannot read at %llu: %s",
					 (unsigned long long)offset, strerror(errno));
		if (got == 0)
			return weir_fail(err, WEIR_ERR_DATA, "length: ends at %llu",
					 (unsigned long long)offset);
		to += got;
		offset += (uint64_t)got;
		len -= (uint64_t)got;
	}
	return 0;
}

static int
verify_segment(int fd, const struct weir_manifest *m, struct segments *all,
	       const struct weir_manifest_segment *ms, struct weir_error *err)
{
	const struct weir_segment *seg = &ms->seg;
	struct weir_verify_last *last = NULL;
	struct weir_verify_sum sum = { 0 };
	void *bytes = malloc(seg->length);
	int rc;

	if (bytes != NULL && seg->kind == WEIR_SEGMENT_CANONICAL)
		last = last_of(all, seg);
	if (bytes == NULL || (last == NULL && seg->kind == WEIR_SEGMENT_CANONICAL)) {
		free(bytes);
		return weir_fail(err, WEIR_ERR_FAILED, "out of memory");
	}
	rc = read_at(fd, bytes, seg->length, seg->offset, err);
	if (rc == 0)
		rc = weir_verify_segment(seg, bytes, last, &sum, err);
	if (rc == 0)
		rc = weir_checkpoint_verify_frames(m, ms, bytes, err);
	if (rc == 0)
		rc = weir_checkpoint_verify_opstates(m, ms, bytes, &all->keys, err);
	free(bytes);
	return rc;
}

static int
verify_header(int fd, const struct weir_manifest *m, const struct weir_data_name *name,
	      struct weir_error *err)
{
	const struct weir_verify_id id = { .job_hash = weir_layout_job_hash(m->job),
					   .attempt = name->attempt,
					   .checkpoint = name->checkpoint_id,
					   .core = name->core };
	uint8_t header[WEIR_PAGE];
	int rc = read_at(fd, header, sizeof(header), 0, err);

	return rc != 0 ? rc : weir_verify_header(header, &id, err);
}

/* The manifest has all that is in the file: no gap, nothing behind. */
static int
verify_whole(const struct weir_manifest_segment *segs, uint32_t cnt, uint64_t file_bytes,
	     struct weir_error *err)
{
	struct weir_segment *plain = calloc((size_t)cnt + 1, sizeof(*plain));
	uint32_t i;
	int rc;

	if (plain == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "out of memory");
	for (i = 0; i < cnt; i++)
		plain[i] = segs[i].seg;
	rc = weir_verify_list(plain, cnt, file_bytes, err);
	free(plain);
	return rc;
}

static int
verify_open(int fd, const struct weir_manifest *m, struct segments *all,
	    const struct weir_manifest_file *file, const struct weir_manifest_segment *segs,
	    uint32_t cnt, struct weir_error *err)
{
	struct weir_data_name name;
	uint32_t i;
	int rc;

	if (!weir_layout_parse_data_name(file->name, &name))
		return weir_fail(err, WEIR_ERR_DATA, "name: not <attempt>-<checkpoint>-<core>.dat");
	rc = verify_header(fd, m, &name, err);
	if (rc == 0)
		rc = verify_whole(segs, cnt, file->length, err);
	for (i = 0; i < cnt && rc == 0; i++)
		rc = verify_segment(fd, m, all, &segs[i], err);
	return rc;
}

static int
verify_file(const struct weir_manifest *m, struct segments *all, const char *data_dir,
	    uint32_t file_idx, const struct weir_manifest_segment *segs, uint32_t cnt,
	    struct weir_error *err)
{
	const struct weir_manifest_file *file = &m->files[file_idx];
	char path[2 * WEIR_PATH_MAX];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s", data_dir, file->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return weir_fail(err, WEIR_ERR_IO, "cannot open %s: %s", path, strerror(errno));
	rc = verify_open(fd, m, all, file, segs, cnt, err);
	close(fd);
	return rc != 0 ? weir_error_prefix(err, "%s", path) : 0;
}

int
weir_checkpoint_verify(const struct weir_manifest *m, const char *data_dir, struct weir_error *err)
{
	struct segments all = { 0 };
	uint32_t i, next, at = 0, file_idx = 0;
	int rc = collect(m, &all, err);

	for (i = 0; i < m->file_cnt && rc == 0; i++, at = next) {
		for (next = at; next < all.cnt && all.at[next].file_idx == i; next++)
			;
		rc = verify_file(m, &all, data_dir, i, &all.at[at], next - at, err);
	}
	if (rc == 0) {
		rc = weir_checkpoint_verify_keys(m, &all.keys, &file_idx, err);
		if (rc == WEIR_ERR_DATA)
			rc = weir_error_prefix(err, "%s/%s", data_dir, m->files[file_idx].name);
	}
	for (i = 0; i < all.last_cnt; i++)
		free(all.last[i]);
	free(all.last);
	free(all.keys.bytes);
	free(all.at);
	return rc;
}

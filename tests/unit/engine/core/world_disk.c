/* What lies on the world's disk: checkpoints, strays, output. */
#include "tests/unit/engine/core/world_disk.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/checkpoint/layout.h"
#include "engine/core/restore.h"
#include "statebackend/verify/verify.h"

#define SEGMENTS_MAX 4096u

static int
by_offset(const void *a, const void *b)
{
	const struct weir_segment *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static uint32_t
segments_of(const struct weir_manifest *m, uint32_t file, struct weir_segment *list)
{
	uint32_t cnt = 0;

	for (uint32_t o = 0; o < m->operator_cnt; o++)
		for (uint32_t k = 0; k < m->operators[o].subtask_cnt; k++) {
			const struct weir_manifest_subtask *s = &m->operators[o].subtasks[k];

			for (uint32_t i = 0; i < s->segment_cnt; i++)
				if (s->segments[i].file_idx == file) {
					cr_assert_lt(cnt, SEGMENTS_MAX);
					list[cnt++] = s->segments[i].seg;
				}
		}
	qsort(list, cnt, sizeof(*list), by_offset);
	return cnt;
}

/* The file's bytes, proven by the offline verifier. */
static const uint8_t *
whole_file(struct world *w, const struct weir_manifest *m, uint32_t f,
	   const struct weir_segment *list, uint32_t cnt)
{
	struct weir_verify_id id = { .job_hash = weir_hash_bytes(WORLD_JOB, strlen(WORLD_JOB)) };
	struct weir_verify_sum sum = { 0 };
	struct weir_data_name name = { 0 };
	struct weir_error err = { 0 };
	const uint8_t *bytes;
	uint64_t len = 0;
	char path[256];

	snprintf(path, sizeof(path), WORLD_DATA_DIR "/%s", m->files[f].name);
	bytes = weir_sim_disk_bytes(w->disk, path, &len);
	cr_assert_not_null(bytes, "checkpoint %lu names %s", m->checkpoint_id, path);
	cr_assert(weir_layout_parse_data_name(m->files[f].name, &name));
	id.attempt = name.attempt;
	id.checkpoint = name.checkpoint_id;
	id.core = name.core;
	cr_assert_eq(weir_verify_file(bytes, len, &id, list, cnt, &sum, &err), 0, "%s: %s", path,
		     err.text);
	return bytes;
}

static struct weir_manifest *
read_manifest(struct world *w, const char *folder)
{
	struct weir_segment *list = calloc(SEGMENTS_MAX, sizeof(*list));
	struct weir_manifest *m = NULL;
	struct weir_error err = { 0 };
	const uint8_t *bytes;
	uint64_t len;
	char path[256];

	snprintf(path, sizeof(path), WORLD_JOB_DIR "/%s/manifest", folder);
	bytes = weir_sim_disk_bytes(w->disk, path, &len);
	if (bytes != NULL) {
		cr_assert_eq(weir_manifest_decode(bytes, len, &m, &err), 0, "%s: %s", path,
			     err.text);
		for (uint32_t f = 0; f < m->file_cnt; f++)
			(void)whole_file(w, m, f, list, segments_of(m, f, list));
	}
	free(list);
	return m;
}

static int
by_id(const void *a, const void *b)
{
	const struct weir_manifest *const *x = a, *const *y = b;

	return (*x)->checkpoint_id < (*y)->checkpoint_id ? -1 : 1;
}

void
world_read_own(struct world *w)
{
	const char *name;
	uint64_t id;

	world_free_own(w);
	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, WORLD_JOB_DIR, i)) != NULL; i++) {
		struct weir_manifest *m;

		if (!weir_layout_parse_checkpoint(name, &id))
			continue;
		m = read_manifest(w, name);
		if (m == NULL)
			continue;
		cr_assert_lt(w->own_cnt, 64);
		w->own[w->own_cnt++] = m;
	}
	if (w->own_cnt > 0)
		qsort(w->own, w->own_cnt, sizeof(*w->own), by_id);
}

void
world_free_own(struct world *w)
{
	for (uint32_t i = 0; i < w->own_cnt; i++)
		weir_manifest_destroy(w->own[i]);
	w->own_cnt = 0;
}

static int
load_segment(struct world *w, const struct weir_manifest *m, uint32_t file,
	     const struct weir_segment *seg, const uint8_t *bytes, struct weir_error *err)
{
	void *aligned = aligned_alloc(WEIR_PAGE, seg->length);
	int rc = 0;

	memcpy(aligned, bytes + seg->offset, seg->length);
	w->segment_cnt++;
	if (w->segment_cnt != w->left_out)
		rc = weir_restore_segment(w->rt, m, file, seg, aligned, err);
	if (rc == 0 && w->segment_cnt == w->twice)
		rc = weir_restore_segment(w->rt, m, file, seg, aligned, err);
	free(aligned);
	return rc;
}

int
world_load(struct world *w, const struct weir_manifest *m, struct weir_error *err)
{
	struct weir_segment *list = calloc(SEGMENTS_MAX, sizeof(*list));
	int rc = 0;

	w->segment_cnt = 0;
	for (uint32_t f = 0; f < m->file_cnt && rc == 0; f++) {
		const uint32_t cnt = segments_of(m, f, list);
		const uint8_t *bytes = whole_file(w, m, f, list, cnt);

		for (uint32_t i = 0; i < cnt && rc == 0; i++)
			rc = load_segment(w, m, f, &list[i], bytes, err);
	}
	free(list);
	if (rc == 0 && w->loaded != NULL)
		w->loaded(w);
	return rc != 0 ? rc : weir_restore_end(w->rt, err);
}

uint64_t
world_newest(struct world *w, uint32_t *cnt)
{
	/* The master borrows what it was given: look with a copy of the world's list. */
	struct world look = { .disk = w->disk };
	uint64_t newest;

	world_read_own(&look);
	newest = look.own_cnt > 0 ? look.own[look.own_cnt - 1]->checkpoint_id : 0;
	if (cnt != NULL)
		*cnt = look.own_cnt;
	world_free_own(&look);
	return newest;
}

void
world_check_splits(struct world *w)
{
	struct world look = { .disk = w->disk };
	struct weir_enumerator e = { .op = w->enumerator.op };
	struct weir_error err = { 0 };

	world_read_own(&look);
	if (look.own_cnt > 0) {
		cr_assert_eq(weir_restore_splits(w->plan, look.own[look.own_cnt - 1], &e, &err), 0,
			     "checkpoint %lu: %s", look.own[look.own_cnt - 1]->checkpoint_id,
			     err.text);
		cr_assert_not_null(e.handed_out);
		weir_enumerator_fini(&e);
	}
	world_free_own(&look);
}

uint32_t
world_run_checking_splits(struct world *w)
{
	struct weir_error err = { 0 };
	uint32_t seen = 0, completed = 0;

	while (world_run(w, 1, &err) == WEIR_END_NOT_YET) {
		if (w->done_cnt == seen)
			continue;
		seen = w->done_cnt;
		completed += strcmp(w->done[seen - 1].status, "completed") == 0;
		world_check_splits(w);
	}
	return completed;
}

static bool
is_named(const struct world *look, const char *data_name)
{
	for (uint32_t i = 0; i < look->own_cnt; i++)
		for (uint32_t f = 0; f < look->own[i]->file_cnt; f++)
			if (strcmp(look->own[i]->files[f].name, data_name) == 0)
				return true;
	return false;
}

/* Count what is no part of any checkpoint, or delete it. */
static uint32_t
strays(struct world *w, bool clean)
{
	struct world look = { .disk = w->disk };
	char path[256], manifest[300];
	const char *name;
	uint32_t cnt = 0;
	uint64_t id, len;

	world_read_own(&look);
	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, WORLD_DATA_DIR, i)) != NULL;) {
		if (is_named(&look, name)) {
			i++;
			continue;
		}
		cnt++;
		i += !clean;
		snprintf(path, sizeof(path), WORLD_DATA_DIR "/%s", name);
		if (clean)
			weir_sim_disk_unlink(w->disk, path);
	}
	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, WORLD_JOB_DIR, i)) != NULL;) {
		snprintf(path, sizeof(path), WORLD_JOB_DIR "/%s", name);
		snprintf(manifest, sizeof(manifest), "%s/manifest", path);
		if (!weir_layout_parse_checkpoint(name, &id) ||
		    weir_sim_disk_bytes(w->disk, manifest, &len) != NULL) {
			i++;
			continue;
		}
		cnt++;
		i += !clean;
		snprintf(manifest, sizeof(manifest), "%s/.manifest", path);
		if (clean) {
			weir_sim_disk_unlink(w->disk, manifest);
			weir_sim_disk_unlink(w->disk, path);
		}
	}
	world_free_own(&look);
	return cnt;
}

uint32_t
world_strays(struct world *w)
{
	return strays(w, false);
}

void
world_sweep(struct world *w)
{
	(void)strays(w, true);
}

void
world_sweep_output(struct world *w)
{
	const char *name;

	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, WORLD_OUT_DIR, i)) != NULL;) {
		bool pending = false;
		char path[256];

		for (uint32_t t = 0; t < w->plan->subtask_cnt; t++)
			pending |= w->rt->tasks[t].sink != NULL &&
				   weir_text_sink_names(w->rt->tasks[t].sink, name);
		if (pending ||
		    strncmp(name, WEIR_SINK_TEMP_PREFIX, strlen(WEIR_SINK_TEMP_PREFIX)) != 0) {
			i++;
			continue;
		}
		snprintf(path, sizeof(path), WORLD_OUT_DIR "/%s", name);
		weir_sim_disk_unlink(w->disk, path);
	}
}

void
world_check_output(struct world *w)
{
	uint64_t want[WORLD_KEYS] = { 0 }, got[WORLD_KEYS] = { 0 };
	const char *name;

	for (uint32_t k = 0; k < w->o.splits; k++)
		for (uint32_t r = 0; r < w->o.rows; r++)
			want[(k + r) % WORLD_KEYS]++;
	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, WORLD_OUT_DIR, i)) != NULL; i++) {
		char path[256];
		uint64_t len = 0;
		const char *at, *end;

		cr_assert_neq(name[0], '.', "%s is left over", name);
		snprintf(path, sizeof(path), WORLD_OUT_DIR "/%s", name);
		at = (const char *)weir_sim_disk_bytes(w->disk, path, &len);
		for (end = at + len; at < end;) {
			char *next;
			const uint64_t key = strtoull(at, &next, 10);

			cr_assert_lt(key, WORLD_KEYS);
			cr_assert_eq(got[key], 0, "key %lu twice", key);
			got[key] = strtoull(next, &next, 10);
			at = next + 1;
		}
	}
	for (uint32_t k = 0; k < WORLD_KEYS; k++)
		cr_assert_eq(got[k], want[k], "key %u: %lu, not %lu", k, got[k], want[k]);
}

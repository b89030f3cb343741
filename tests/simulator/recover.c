/* What a start finds on the disk, and what it deletes. */

#include "tests/simulator/sim.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/checkpoint/layout.h"
#include "statebackend/verify/verify.h"

struct segments {
	struct weir_segment *list;
	uint32_t cnt;
};

static int
by_offset(const void *a, const void *b)
{
	const struct weir_segment *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static struct segments
segments_of(const struct weir_manifest *m, uint32_t file)
{
	struct segments s = { 0 };

	for (uint32_t o = 0; o < m->operator_cnt; o++)
		for (uint32_t k = 0; k < m->operators[o].subtask_cnt; k++)
			for (uint32_t i = 0; i < m->operators[o].subtasks[k].segment_cnt; i++) {
				const struct weir_manifest_segment *g =
					&m->operators[o].subtasks[k].segments[i];

				if (g->file_idx != file)
					continue;
				s.list = realloc(s.list, (s.cnt + 1) * sizeof(*s.list));
				WEIR_ASSERT(s.list != NULL);
				s.list[s.cnt++] = g->seg;
			}
	if (s.cnt > 0)
		qsort(s.list, s.cnt, sizeof(*s.list), by_offset);
	return s;
}

/* The file's bytes, proven against the manifest by the offline verifier; NULL: a finding. */
static const uint8_t *
whole_file(struct sim_world *w, const struct weir_manifest *m, const char *data_dir, uint32_t file)
{
	const struct segments s = segments_of(m, file);
	struct weir_verify_id id = { .job_hash = weir_hash_bytes(SIM_JOB, strlen(SIM_JOB)) };
	struct weir_verify_sum sum = { 0 };
	struct weir_data_name name;
	struct weir_error err = { 0 };
	char path[320];
	uint64_t len = 0;
	const uint8_t *bytes;

	snprintf(path, sizeof(path), "%s/%s", data_dir, m->files[file].name);
	bytes = weir_sim_disk_bytes(w->disk, path, &len);
	if (bytes == NULL) {
		weir_fail(&err, WEIR_ERR_DATA, "is missing");
	} else if (!weir_layout_parse_data_name(m->files[file].name, &name)) {
		weir_fail(&err, WEIR_ERR_DATA, "has a strange name");
	} else {
		id.attempt = name.attempt;
		id.checkpoint = name.checkpoint_id;
		id.core = name.core;
		if (weir_verify_file(bytes, len, &id, s.list, s.cnt, &sum, &err) == 0)
			err.code = WEIR_OK;
	}
	free(s.list);
	if (err.code != WEIR_OK)
		sim_finding(w, "checkpoint %llu: data file %s: %s",
			    (unsigned long long)m->checkpoint_id, path, err.text);
	return err.code == WEIR_OK ? bytes : NULL;
}

struct weir_manifest *
sim_read_manifest(struct sim_world *w, const char *folder, const char *data_dir)
{
	struct weir_manifest *m = NULL;
	struct weir_error err = { 0 };
	char path[200];
	uint64_t len;
	const uint8_t *bytes;

	snprintf(path, sizeof(path), "%s/manifest", folder);
	bytes = weir_sim_disk_bytes(w->disk, path, &len);
	if (bytes == NULL)
		return NULL;
	if (weir_manifest_decode(bytes, len, &m, &err) != 0) {
		sim_finding(w, "%s: %s", path, err.text);
		return NULL;
	}
	for (uint32_t f = 0; f < m->file_cnt; f++)
		(void)whole_file(w, m, data_dir, f);
	sim_check_cut(w, m);
	return m;
}

static struct weir_manifest *
read_checkpoint(struct sim_world *w, uint64_t id)
{
	char folder[128];

	snprintf(folder, sizeof(folder), SIM_JOB_DIR "/chk-%llu", (unsigned long long)id);
	return sim_read_manifest(w, folder, SIM_DATA_DIR);
}

/* K14: what its subtasks know of splits is what its enumerators have handed out. */
static void
check_splits(struct sim_world *w, const struct weir_manifest *m)
{
	for (uint32_t i = 0; i < w->enumerator_cnt; i++) {
		struct weir_enumerator e = { .op = w->enumerators[i].op };
		struct weir_error err = { 0 };

		if (weir_restore_splits(w->plan, m, &e, &err) != 0)
			sim_finding(w, "checkpoint %llu: %s", (unsigned long long)m->checkpoint_id,
				    err.text);
		weir_enumerator_fini(&e);
	}
}

/* What was said to be complete is on the disk, whole, and its cut fits. */
void
sim_check_completed(struct sim_world *w, uint64_t id)
{
	struct weir_manifest *m = read_checkpoint(w, id);

	w->run_completed++;
	if (id > w->newest_completed)
		w->newest_completed = id;
	if (m != NULL) {
		check_splits(w, m);
		weir_manifest_destroy(m);
	} else if (w->findings == NULL) {
		sim_finding(w, "checkpoint %llu is complete and has no manifest",
			    (unsigned long long)id);
	}
}

static int
by_id(const void *a, const void *b)
{
	const struct weir_manifest *const *x = a, *const *y = b;

	return (*x)->checkpoint_id < (*y)->checkpoint_id ? -1 : 1;
}

static void
sync_names(struct sim_world *w, const char *dir)
{
	struct weir_io_req req = { .kind = WEIR_IO_FSYNC_DIR, .path = dir };

	weir_sim_disk_run(w->disk, &req, 0);
}

/* What is restored from commits output: a power loss must not take it back (weir_stored_settle). */
static void
settle(struct sim_world *w, uint64_t id)
{
	char path[128];

	snprintf(path, sizeof(path), SIM_JOB_DIR "/chk-%llu", (unsigned long long)id);
	sync_names(w, path);
	sync_names(w, SIM_JOB_DIR);
}

/* S5, K10: what was said to be complete can be restored, so far as it is retained. */
static void
check_retained(struct sim_world *w)
{
	const uint64_t want = w->run_completed < w->s.retained ? w->run_completed : w->s.retained;

	if (w->own_cnt < want)
		sim_finding(w, "%u checkpoints are there, %llu were completed and are retained",
			    w->own_cnt, (unsigned long long)want);
	else if (w->own_cnt > 0 && w->own[w->own_cnt - 1]->checkpoint_id < w->newest_completed)
		sim_finding(w, "the newest checkpoint is %llu, and %llu was completed",
			    (unsigned long long)w->own[w->own_cnt - 1]->checkpoint_id,
			    (unsigned long long)w->newest_completed);
}

/* The run has no checkpoint of its own yet: from the savepoint that it began with (R11). */
static void
recover_base(struct sim_world *w)
{
	w->base_read = w->restored = sim_read_manifest(w, w->base, w->base);
	if (w->base_read == NULL && w->findings == NULL)
		sim_finding(w, "%s has no manifest", w->base);
	sync_names(w, w->base);
}

bool
sim_recover(struct sim_world *w)
{
	const char *name;
	uint64_t id;

	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, SIM_JOB_DIR, i)) != NULL; i++) {
		struct weir_manifest *m;

		if (!weir_layout_parse_checkpoint(name, &id))
			continue;
		m = read_checkpoint(w, id);
		if (m == NULL)
			continue;
		w->own = realloc(w->own, (w->own_cnt + 1) * sizeof(*w->own));
		WEIR_ASSERT(w->own != NULL);
		w->own[w->own_cnt++] = m;
	}
	if (w->own_cnt > 0) {
		qsort(w->own, w->own_cnt, sizeof(*w->own), by_id);
		w->restored = w->own[w->own_cnt - 1];
		settle(w, w->restored->checkpoint_id);
	}
	check_retained(w);
	if (w->own_cnt == 0 && w->base[0] != '\0')
		recover_base(w);
	return w->findings == NULL;
}

void
sim_recover_free(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->own_cnt; i++)
		weir_manifest_destroy(w->own[i]);
	free(w->own);
	if (w->base_read != NULL)
		weir_manifest_destroy(w->base_read);
	w->base_read = NULL;
	w->own = NULL;
	w->own_cnt = 0;
	w->restored = NULL;
}

int
sim_load(struct sim_world *w, struct weir_error *err)
{
	const struct weir_manifest *m = w->restored;
	int rc = 0;

	for (uint32_t f = 0; f < m->file_cnt && rc == 0; f++) {
		const struct segments s = segments_of(m, f);
		const uint8_t *bytes =
			whole_file(w, m, m == w->base_read ? w->base : SIM_DATA_DIR, f);

		for (uint32_t i = 0; bytes != NULL && i < s.cnt && rc == 0; i++) {
			void *aligned = aligned_alloc(WEIR_PAGE, s.list[i].length);

			WEIR_ASSERT(aligned != NULL);
			memcpy(aligned, bytes + s.list[i].offset, s.list[i].length);
			rc = weir_restore_segment(w->rt, m, f, &s.list[i], aligned, err);
			free(aligned);
		}
		free(s.list);
	}
	return rc;
}

/* ---- sweep ---- */

static bool
is_named(const struct sim_world *w, const char *data_name)
{
	for (uint32_t i = 0; i < w->own_cnt; i++)
		for (uint32_t f = 0; f < w->own[i]->file_cnt; f++)
			if (strcmp(w->own[i]->files[f].name, data_name) == 0)
				return true;
	return false;
}

static void
unlink_in(struct sim_world *w, const char *dir, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	weir_sim_disk_unlink(w->disk, path);
}

static void
sweep_data(struct sim_world *w)
{
	const char *name;

	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, SIM_DATA_DIR, i)) != NULL;)
		if (is_named(w, name))
			i++;
		else
			unlink_in(w, SIM_DATA_DIR, name);
}

static void
sweep_folders(struct sim_world *w)
{
	const char *name;
	uint64_t id, len;

	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, SIM_JOB_DIR, i)) != NULL;) {
		char dir[128], manifest[160];

		snprintf(dir, sizeof(dir), SIM_JOB_DIR "/%s", name);
		snprintf(manifest, sizeof(manifest), "%s/manifest", dir);
		if (!weir_layout_parse_checkpoint(name, &id) ||
		    weir_sim_disk_bytes(w->disk, manifest, &len) != NULL) {
			i++;
			continue;
		}
		unlink_in(w, dir, ".manifest");
		sync_names(w, dir);
		weir_sim_disk_unlink(w->disk, dir);
	}
	sync_names(w, SIM_JOB_DIR);
}

static bool
is_pending(const struct sim_world *w, const char *name)
{
	for (uint32_t i = 0; i < w->plan->subtask_cnt; i++)
		if (w->rt->tasks[i].sink != NULL &&
		    weir_text_sink_names(w->rt->tasks[i].sink, name))
			return true;
	return false;
}

static void
sweep_output(struct sim_world *w)
{
	const char prefix[] = WEIR_SINK_TEMP_PREFIX SIM_JOB "-";
	const char *name;

	/* As weir_attempt_sweep_output. */
	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, SIM_OUT_DIR, i)) != NULL;)
		if (strncmp(name, prefix, strlen(prefix)) == 0 && !is_pending(w, name))
			unlink_in(w, SIM_OUT_DIR, name);
		else
			i++;
	sync_names(w, SIM_OUT_DIR);
}

void
sim_sweep(struct sim_world *w)
{
	/* As weir_stored_sweep: data files only when the manifests' removal is durable. */
	sweep_folders(w);
	sweep_data(w);
	sweep_output(w);
}

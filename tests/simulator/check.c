/* What must hold of the disk after every crash, and of the output at the end. */

#include "tests/simulator/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/crc32c.h"

/* ---- output files that are final ---- */

static struct sim_final *
final_find(struct sim_world *w, const char *path)
{
	for (uint32_t i = 0; i < w->final_cnt; i++)
		if (strcmp(w->final[i].path, path) == 0)
			return &w->final[i];
	return NULL;
}

uint64_t
sim_epoch(const char *name)
{
	uint64_t epoch = 0;

	/* part-tx-<attempt>-<subtask>-<number>-<checkpoint> (sink.c), or
	 * part-<sink>-<subtask>-<checkpoint>[-<nth>]; no sink has a dash in its name. */
	if (sscanf(name, WEIR_SINK_FINAL_PREFIX "tx-%*u-%*u-%*u-%" SCNu64, &epoch) != 1)
		(void)sscanf(name, WEIR_SINK_FINAL_PREFIX "%*[^-]-%*u-%" SCNu64, &epoch);
	return epoch;
}

/* Output is committed only for checkpoints that exist (R8): its epoch is the checkpoint's id. */
static void
check_epoch(struct sim_world *w, const char *name)
{
	const uint64_t epoch = sim_epoch(name);
	uint64_t newest = 0, len;
	const char *folder;

	for (uint32_t i = 0; (folder = weir_sim_disk_name(w->disk, SIM_JOB_DIR, i)) != NULL; i++) {
		char path[160];

		snprintf(path, sizeof(path), SIM_JOB_DIR "/%s/manifest", folder);
		if (strncmp(folder, "chk-", 4) == 0 &&
		    weir_sim_disk_bytes(w->disk, path, &len) != NULL &&
		    strtoull(folder + 4, NULL, 10) > newest)
			newest = strtoull(folder + 4, NULL, 10);
	}
	if (sim_save_newest_stop(w) > newest)
		newest = sim_save_newest_stop(w);
	if (w->s.checkpoints && epoch > newest)
		sim_finding(w, "%s is final, the newest checkpoint is %" PRIu64, name, newest);
}

/* T35: without checkpoints, what no savepoint covers that the job goes on from is committed when
 * all sinks have been told to, and not before. */
static void
check_end(struct sim_world *w, const char *name)
{
	const uint64_t covered = sim_save_newest_stop(w);

	if (!w->s.checkpoints && !w->committing && (covered == 0 || sim_epoch(name) > covered))
		sim_finding(w, "%s is final, and the job has not come to its end (T35)", name);
}

void
sim_check_finals(struct sim_world *w)
{
	const char *name;

	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, SIM_OUT_DIR, i)) != NULL; i++) {
		char path[160];
		uint64_t len = 0;
		const uint8_t *bytes;
		struct sim_final *f;

		if (strncmp(name, WEIR_SINK_FINAL_PREFIX, strlen(WEIR_SINK_FINAL_PREFIX)) != 0)
			continue;
		check_epoch(w, name);
		snprintf(path, sizeof(path), SIM_OUT_DIR "/%s", name);
		bytes = weir_sim_disk_bytes(w->disk, path, &len);
		f = final_find(w, path);
		if (f == NULL) {
			check_end(w, name);
			w->final = realloc(w->final, (w->final_cnt + 1) * sizeof(*w->final));
			WEIR_ASSERT(w->final != NULL);
			f = &w->final[w->final_cnt++];
			*f = (struct sim_final){ .len = len, .crc = weir_crc32c(0, bytes, len) };
			snprintf(f->path, sizeof(f->path), "%s", path);
		}
		f->safe |= weir_sim_disk_is_safe(w->disk, path);
	}
}

static void
check_kept(struct sim_world *w, const struct sim_final *f)
{
	uint64_t len = 0;
	const uint8_t *bytes = weir_sim_disk_bytes(w->disk, f->path, &len);

	if (bytes == NULL)
		sim_finding(w, "%s was final and is gone", f->path);
	else if (len != f->len || weir_crc32c(0, bytes, len) != f->crc)
		sim_finding(w, "%s was final and has changed: %" PRIu64 " bytes, now %" PRIu64,
			    f->path, f->len, len);
}

void
sim_check_crash(struct sim_world *w, bool power)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < w->final_cnt; i++) {
		struct sim_final *f = &w->final[i];
		uint64_t len;

		/* A rename that no fsync covered may be undone. */
		if (power && !f->safe && weir_sim_disk_bytes(w->disk, f->path, &len) == NULL)
			continue;
		check_kept(w, f);
		w->final[left++] = *f;
	}
	w->final_cnt = left;
	sim_check_finals(w);
	sim_save_check(w);
}

/* ---- the end without checkpoints ---- */

/*
 * T35: an attempt without checkpoints fails when some of its output is committed. No manifest names
 * that, so nobody can commit the rest, and whoever starts the job again has every row written
 * again. The promise here is at least once: these files stay, the next attempt owes everything.
 */
void
sim_note_again(struct sim_world *w)
{
	const char *name;

	if (w->s.checkpoints || !w->committing)
		return;
	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, SIM_OUT_DIR, i)) != NULL; i++) {
		const uint64_t epoch = sim_epoch(name);

		if (strncmp(name, WEIR_SINK_FINAL_PREFIX, strlen(WEIR_SINK_FINAL_PREFIX)) != 0 ||
		    (epoch > 0 && epoch <= w->base_id) || sim_is_again(w, name))
			continue;
		w->again = realloc(w->again, (w->again_cnt + 1) * sizeof(*w->again));
		WEIR_ASSERT(w->again != NULL);
		snprintf(w->again[w->again_cnt++], sizeof(*w->again), "%s", name);
		sim_event(w, "once more: %s", name);
	}
}

bool
sim_is_again(const struct sim_world *w, const char *name)
{
	for (uint32_t i = 0; i < w->again_cnt; i++)
		if (strcmp(w->again[i], name) == 0)
			return true;
	return false;
}

/* ---- restore ---- */

/* Watermarks are part of the cut (checkpointing.md, section 0). */
void
sim_check_restored(struct sim_world *w)
{
	for (uint32_t o = 0; o < w->plan->op_cnt; o++)
		for (uint32_t i = 0; i < w->restored->operator_cnt; i++) {
			const struct weir_manifest_operator *mo = &w->restored->operators[i];

			if (strcmp(mo->id, w->plan->op[o].id) != 0 ||
			    mo->subtask_cnt != w->plan->op[o].parallelism)
				continue;
			for (uint32_t k = 0; k < mo->subtask_cnt; k++) {
				const int64_t got = weir_runtime_ctx(w->rt, o, k)->watermark_ns;

				if (got != mo->subtasks[k].watermark_ns)
					sim_finding(w,
						    "%s subtask %u: watermark %" PRId64
						    " in the checkpoint, %" PRId64 " restored",
						    mo->id, k, mo->subtasks[k].watermark_ns, got);
			}
		}
}

/* ---- the output ---- */

/* again: what T35 has let twice, else all the rest. */
static void
read_output(struct sim_world *w, bool again, struct sim_lines *got)
{
	const char *name;

	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, SIM_OUT_DIR, i)) != NULL; i++) {
		char path[160];
		uint64_t len = 0;
		const char *text, *end;

		if (strncmp(name, WEIR_SINK_TEMP_PREFIX, strlen(WEIR_SINK_TEMP_PREFIX)) == 0) {
			if (!again)
				sim_finding(w, "%s is left over after the end", name);
			continue;
		}
		if (sim_is_again(w, name) != again)
			continue;
		snprintf(path, sizeof(path), SIM_OUT_DIR "/%s", name);
		text = (const char *)weir_sim_disk_bytes(w->disk, path, &len);
		end = text + len;
		while (text < end) {
			const char *nl = memchr(text, '\n', (size_t)(end - text));

			if (nl == NULL) {
				sim_finding(w, "%s ends within a line", name);
				break;
			}
			sim_lines_add(got, text, (size_t)(nl - text));
			text = nl + 1;
		}
	}
	sim_lines_sort(got);
}

static void
compare(struct sim_world *w, const struct sim_lines *want, const struct sim_lines *got, bool part)
{
	uint32_t a = 0, b = 0, missing = 0, surplus = 0;
	const char *first_missing = "", *first_surplus = "";

	while (a < want->cnt || b < got->cnt) {
		const int c = a == want->cnt  ? 1
			      : b == got->cnt ? -1
					      : strcmp(want->line[a], got->line[b]);

		if (c < 0) {
			if (missing++ == 0)
				first_missing = want->line[a];
			a++;
		} else if (c > 0) {
			if (surplus++ == 0)
				first_surplus = got->line[b];
			b++;
		} else {
			a++;
			b++;
		}
	}
	if (w->s.mode == SIM_AT_LEAST_ONCE && w->restores > 0)
		surplus = 0;
	if (part)
		missing = 0;
	if (missing > 0 || surplus > 0)
		sim_finding(w, "output: %u lines of %u missing (\"%s\"), %u too many (\"%s\")",
			    missing, want->cnt, first_missing, surplus, first_surplus);
}

/* What T35 has let twice are rows of the job all the same. */
static void
compare_again(struct sim_world *w, const struct sim_lines *want)
{
	struct sim_lines got = { 0 };

	read_output(w, true, &got);
	compare(w, want, &got, true);
	sim_lines_free(&got);
}

/* Changes: every count at most once, none above the last one. The last one of each key is written
 * at the end, and was perhaps a change before. */
static void
compare_updates(struct sim_world *w, const struct sim_scenario *read, const struct sim_lines *got)
{
	uint64_t *want = calloc(w->s.key_cnt, sizeof(*want));
	uint64_t *seen = calloc(w->s.key_cnt, sizeof(*seen));
	uint32_t times = 0;

	WEIR_ASSERT(want != NULL);
	WEIR_ASSERT(seen != NULL);
	sim_expect_counts(read, want);
	for (uint32_t i = 0; i < got->cnt; i++) {
		char *at;
		const uint64_t key = strtoull(got->line[i], &at, 10);
		const uint64_t count = strtoull(at, NULL, 10);

		times = i > 0 && strcmp(got->line[i], got->line[i - 1]) == 0 ? times + 1 : 1;
		if (key >= w->s.key_cnt || count > want[key]) {
			sim_finding(w, "output: \"%s\" cannot be", got->line[i]);
			continue;
		}
		if (times > 1u + (count == want[key]))
			sim_finding(w, "output: \"%s\" came %u times", got->line[i], times);
		if (count > seen[key])
			seen[key] = count;
	}
	for (uint32_t k = 0; k < w->s.key_cnt; k++)
		if (seen[k] != want[k])
			sim_finding(w, "output: key %u ends at %" PRIu64 ", not %" PRIu64, k,
				    seen[k], want[k]);
	free(want);
	free(seen);
}

/* At least once: what a restore counts twice shows in aggregates; rows are all there all the same.
 */
static bool
is_loose(const struct sim_world *w)
{
	return w->s.mode == SIM_AT_LEAST_ONCE && w->restores > 0 && w->s.shape != SIM_PASS &&
	       w->s.shape != SIM_REBALANCE && w->s.shape != SIM_BROADCAST &&
	       w->s.shape != SIM_MIXED;
}

/* The input that the job has read: all of it, or up to where it was drained (S4). */
static const struct sim_scenario *
input_read(const struct sim_world *w)
{
	static struct sim_scenario s;

	s = w->s;
	for (uint32_t i = 0; w->drained != 0 && i < s.source_cnt; i++)
		for (uint32_t k = 0; k < s.split_cnt[i]; k++)
			s.split[i][k].rows = w->drained_rows[i][k];
	return &s;
}

void
sim_check_end(struct sim_world *w)
{
	const struct sim_scenario *read = input_read(w);
	struct sim_lines want = { 0 }, got = { 0 };

	read_output(w, false, &got);
	w->rows = got.cnt;
	if (is_loose(w)) {
		sim_lines_free(&got);
		return;
	}
	if (w->s.shape == SIM_REDUCE_UPDATES) {
		compare_updates(w, read, &got);
	} else {
		sim_expect(read, w->parallelism[1], &want);
		compare(w, &want, &got, false);
		if (w->again_cnt > 0 && !w->s.rescale)
			compare_again(w, &want);
	}
	sim_lines_free(&want);
	sim_lines_free(&got);
}

/*
 * The cut of a checkpoint, and what is left on the disk: computed from decoded manifests and names
 * alone, with nothing of the engine's own checks.
 */

#include "tests/simulator/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- k + #in + #out = m ---- */

static const struct weir_manifest_subtask *
subtask(const struct weir_manifest *m, uint32_t op, uint32_t idx)
{
	const struct weir_manifest_operator *o = &m->operators[op];

	return idx < o->subtask_cnt ? &o->subtasks[idx] : NULL;
}

static const struct weir_manifest_output *
output_of(const struct weir_manifest_subtask *producer, uint32_t edge, uint32_t consumer)
{
	for (uint32_t i = 0; i < producer->output_cnt; i++)
		if (producer->outputs[i].edge_idx == edge &&
		    producer->outputs[i].consumer == consumer)
			return &producer->outputs[i];
	return NULL;
}

/* Each frame is the next one; returns the number behind the last, 0 if one is not. */
static uint64_t
walk(const struct weir_manifest_frame *frames, uint32_t cnt, uint64_t next)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (frames[i].seq != next++)
			return 0;
	return next;
}

static void
check_channel(struct sim_world *w, const struct weir_manifest *m, uint32_t op, uint32_t consumer,
	      const struct weir_manifest_input *in)
{
	const struct weir_manifest_edge *edge = &m->edges[in->edge_idx];
	const struct weir_manifest_subtask *from = subtask(m, edge->from_idx, in->producer);
	const struct weir_manifest_output *out = from != NULL && !in->virtual_channel
							 ? output_of(from, in->edge_idx, consumer)
							 : NULL;
	uint64_t next = walk(in->frames, in->frame_cnt, in->processed_seq + 1), end = in->last_seq;

	if (!in->virtual_channel) {
		if (from == NULL || from->finished)
			return;
		if (out == NULL) {
			sim_finding(w, "checkpoint %" PRIu64 ": %s %u has no channel to %s %u",
				    m->checkpoint_id, m->operators[edge->from_idx].id, in->producer,
				    m->operators[op].id, consumer);
			return;
		}
		end = out->produced_seq;
		next = next == 0 ? 0 : walk(out->frames, out->frame_cnt, next);
	}
	if (in->frame_cnt > 0 || (out != NULL && out->frame_cnt > 0))
		sim_event(w, "in flight %s %u to %s %u%s: k %" PRIu64 " in %u out %u m %" PRIu64,
			  m->operators[edge->from_idx].id, in->producer, m->operators[op].id,
			  consumer, in->virtual_channel ? " (virtual)" : "", in->processed_seq,
			  in->frame_cnt, out != NULL ? out->frame_cnt : 0, end);
	if (next != end + 1 && !(m->at_least_once && in->processed_seq >= end))
		sim_finding(w,
			    "checkpoint %" PRIu64 ": channel %s %u to %s %u%s: k %" PRIu64
			    " in %u out %u m %" PRIu64,
			    m->checkpoint_id, m->operators[edge->from_idx].id, in->producer,
			    m->operators[op].id, consumer, in->virtual_channel ? " (virtual)" : "",
			    in->processed_seq, in->frame_cnt, out != NULL ? out->frame_cnt : 0,
			    end);
}

void
sim_check_cut(struct sim_world *w, const struct weir_manifest *m)
{
	for (uint32_t o = 0; o < m->operator_cnt; o++)
		for (uint32_t k = 0; k < m->operators[o].subtask_cnt; k++) {
			const struct weir_manifest_subtask *t = &m->operators[o].subtasks[k];

			for (uint32_t i = 0; i < t->input_cnt && !t->finished; i++)
				check_channel(w, m, o, k, &t->inputs[i]);
		}
}

/* ---- live set ---- */

static bool
is_live(struct sim_world *w, const char *data_name)
{
	const char *folder;
	bool found = false;

	for (uint32_t i = 0;
	     !found && (folder = weir_sim_disk_name(w->disk, SIM_JOB_DIR, i)) != NULL; i++) {
		struct weir_manifest *m = NULL;
		struct weir_error err = { 0 };
		char path[160];
		uint64_t len;
		const uint8_t *bytes;

		snprintf(path, sizeof(path), SIM_JOB_DIR "/%s/manifest", folder);
		bytes = weir_sim_disk_bytes(w->disk, path, &len);
		if (bytes == NULL || weir_manifest_decode(bytes, len, &m, &err) != 0)
			continue;
		for (uint32_t f = 0; f < m->file_cnt; f++)
			found |= strcmp(m->files[f].name, data_name) == 0;
		weir_manifest_destroy(m);
	}
	return found;
}

void
sim_check_live_set(struct sim_world *w)
{
	const char *name;

	/* A deletion that failed is tried again at the next start. */
	if (w->faults_struck > w->faults_before)
		return;
	for (uint32_t i = 0; (name = weir_sim_disk_name(w->disk, SIM_DATA_DIR, i)) != NULL; i++)
		if (!is_live(w, name))
			sim_finding(w, "data file %s is left, no checkpoint names it", name);
}

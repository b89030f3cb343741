/*
 * Has a restore read what the manifest names? Every segment of every subtask once, and of a keyed
 * state, over all subtasks that it is shared out to, as many entries as its segments hold. So a
 * part that somebody leaves out on its way here, or entries that find no new home, are an error,
 * and never a state with less in it.
 */
#include "engine/core/restore_priv.h"

#include "engine/core/runtime_priv.h"

#include <inttypes.h>
#include <stdlib.h>

struct weir_restore_counts {
	const struct weir_manifest *m;
	uint32_t *of_operator; /* place of its first subtask in of_subtask */
	uint32_t *of_subtask;  /* place of its first segment in read */
	bool *read;
	uint32_t segment_cnt, read_cnt;
};

static void *
zeroed(size_t cnt, size_t bytes)
{
	void *p = calloc(cnt + 1, bytes);

	WEIR_ASSERT(p != NULL);
	return p;
}

void
weir_restore_counts_begin(struct weir_runtime *rt, const struct weir_manifest *m)
{
	struct weir_restore_counts *c = zeroed(0, sizeof(*c));
	uint32_t subtasks = 0;

	WEIR_ASSERT(rt->restore_counts == NULL);
	rt->restore_counts = c;
	c->m = m;
	c->of_operator = zeroed(m->operator_cnt, sizeof(*c->of_operator));
	for (uint32_t o = 0; o < m->operator_cnt; o++) {
		c->of_operator[o] = subtasks;
		subtasks += m->operators[o].subtask_cnt;
	}
	c->of_subtask = zeroed(subtasks, sizeof(*c->of_subtask));
	for (uint32_t o = 0; o < m->operator_cnt; o++)
		for (uint32_t s = 0; s < m->operators[o].subtask_cnt; s++) {
			c->of_subtask[c->of_operator[o] + s] = c->segment_cnt;
			c->segment_cnt += m->operators[o].subtasks[s].segment_cnt;
		}
	c->read = zeroed(c->segment_cnt, sizeof(*c->read));
}

/* Where it stands and whose it is: "1-4-0.dat at 4096, operator 'counts' subtask 1 segment 0". */
static int
bad(const struct weir_restore_counts *c, uint32_t op, uint32_t subtask, uint32_t number,
    struct weir_error *err, const char *why)
{
	const struct weir_manifest_operator *mo = &c->m->operators[op];
	const struct weir_manifest_segment *ms = &mo->subtasks[subtask].segments[number];

	return weir_fail(
		err, WEIR_ERR_DATA,
		"%s at %" PRIu64 ", operator '%s' subtask %" PRIu32 " segment %" PRIu32 ": %s",
		c->m->files[ms->file_idx].name, ms->seg.offset, mo->id, subtask, number, why);
}

int
weir_restore_counts_read(struct weir_runtime *rt, uint32_t op, uint32_t subtask, uint32_t number,
			 struct weir_error *err)
{
	struct weir_restore_counts *c = rt->restore_counts;
	bool *read;

	WEIR_ASSERT(c != NULL);
	read = &c->read[c->of_subtask[c->of_operator[op] + subtask] + number];
	if (*read)
		return bad(c, op, subtask, number, err, "came twice");
	*read = true;
	c->read_cnt++;
	return 0;
}

/* Segment at of all was not read: whose is it? */
static void
say_missing(const struct weir_restore_counts *c, uint32_t at, struct weir_error *err)
{
	for (uint32_t o = 0; o < c->m->operator_cnt; o++)
		for (uint32_t s = 0; s < c->m->operators[o].subtask_cnt; s++) {
			const uint32_t first = c->of_subtask[c->of_operator[o] + s];

			if (at >= first && at - first < c->m->operators[o].subtasks[s].segment_cnt)
				(void)bad(c, o, s, at - first, err, "was not read");
		}
}

static int
check_segments(const struct weir_restore_counts *c, struct weir_error *err)
{
	uint32_t at = 0;

	if (c->read_cnt == c->segment_cnt)
		return 0;
	while (c->read[at])
		at++;
	say_missing(c, at, err);
	weir_error_append(err, WEIR_ERR_DATA, "%" PRIu32 " of %" PRIu32 " segments were read",
			  c->read_cnt, c->segment_cnt);
	return err->code;
}

/* Entries of a state that its segments hold. False: some of them count in part, and nobody has
 * counted which; then there are at most so many. */
static bool
entries_named(const struct weir_manifest_operator *mo, uint32_t state, uint64_t *cnt)
{
	bool whole = true;

	*cnt = 0;
	for (uint32_t s = 0; s < mo->subtask_cnt; s++)
		for (uint32_t i = 0; i < mo->subtasks[s].segment_cnt; i++) {
			const struct weir_manifest_segment *ms = &mo->subtasks[s].segments[i];

			if (!weir_segment_is_state(&ms->seg) || ms->stale ||
			    ms->seg.state_idx != state)
				continue;
			*cnt += ms->seg.entry_cnt;
			whole &= ms->live.len == 0;
		}
	return whole;
}

static int
check_state(struct weir_runtime *rt, const struct weir_manifest_operator *mo, uint32_t op,
	    uint32_t named, uint32_t state, struct weir_error *err)
{
	uint64_t there = 0, cnt;
	const bool whole = entries_named(mo, named, &cnt);

	for (uint32_t i = 0; i < rt->cfg.plan->op[op].parallelism; i++)
		there += weir_kstate_entries(weir_runtime_ctx(rt, op, i)->state[state]);
	if (whole ? there == cnt : there <= cnt)
		return 0;
	return weir_fail(err, WEIR_ERR_DATA,
			 "operator '%s' state '%s': %" PRIu64 " entries are there, its segments "
			 "hold %s%" PRIu64,
			 mo->id, mo->states[named].name, there, whole ? "" : "at most ", cnt);
}

/* States that the job no longer has are left out (S7). */
static int
check_entries(struct weir_runtime *rt, const struct weir_manifest *m, struct weir_error *err)
{
	for (uint32_t o = 0; o < m->operator_cnt; o++) {
		const struct weir_manifest_operator *mo = &m->operators[o];
		const uint32_t op = weir_restore_planned(rt->cfg.plan, mo->id);

		for (uint32_t s = 0; op != UINT32_MAX && s < mo->state_cnt; s++) {
			const uint32_t state =
				weir_restore_state(&rt->cfg.plan->op[op], mo->states[s].name);
			int rc = 0;

			if (state != UINT32_MAX)
				rc = check_state(rt, mo, op, s, state, err);
			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

int
weir_restore_counts_end(struct weir_runtime *rt, struct weir_error *err)
{
	const struct weir_restore_counts *c = rt->restore_counts;
	int rc;

	WEIR_ASSERT(c != NULL);
	rc = check_segments(c, err);
	if (rc == 0)
		rc = check_entries(rt, c->m, err);
	weir_restore_counts_fini(rt);
	return rc;
}

void
weir_restore_counts_fini(struct weir_runtime *rt)
{
	struct weir_restore_counts *c = rt->restore_counts;

	if (c == NULL)
		return;
	free(c->of_operator);
	free(c->of_subtask);
	free(c->read);
	free(c);
	rt->restore_counts = NULL;
}

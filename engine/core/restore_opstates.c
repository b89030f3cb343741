/*
 * Operator state of a checkpoint into the runtime (R5): pieces are gathered as they come, in any
 * order; when all are there, every new subtask gets its share of the items
 * (engine/operators/share.h).
 */
#include "engine/core/restore_priv.h"

#include "engine/core/runtime_priv.h"
#include "engine/operators/share.h"

#include <stdlib.h>
#include <string.h>

/* One segment of the checkpoint, and its entries when it has come. */
struct piece {
	const struct weir_manifest_segment *from;
	uint32_t subtask;
	uint32_t entry_cnt;
	void *entries; /* NULL: not yet */
};

/* A state of the plan that the checkpoint knows. */
struct state {
	uint32_t op, idx;
	const struct weir_manifest_operator *mo;
	uint32_t first, cnt; /* pieces, by subtask, each subtask's in order */
};

struct weir_restore_opstates {
	struct state *state;
	uint32_t state_cnt;
	struct piece *piece;
	uint32_t piece_cnt;
};

static void *
zeroed(size_t cnt, size_t bytes)
{
	void *p = calloc(cnt + 1, bytes);

	WEIR_ASSERT(p != NULL);
	return p;
}

static bool
is_of(const struct weir_manifest_segment *ms, uint32_t state)
{
	return ms->seg.kind == WEIR_SEGMENT_BLOB && !ms->stale && ms->seg.state_idx == state;
}

/* The pieces of one state of the manifest. */
static void
expect(struct weir_restore_opstates *r, struct state *s, uint32_t state)
{
	s->first = r->piece_cnt;
	for (uint32_t i = 0; i < s->mo->subtask_cnt; i++) {
		const struct weir_manifest_subtask *sub = &s->mo->subtasks[i];

		for (uint32_t g = 0; g < sub->segment_cnt; g++)
			if (is_of(&sub->segments[g], state))
				r->piece[r->piece_cnt++] =
					(struct piece){ .from = &sub->segments[g], .subtask = i };
	}
	s->cnt = r->piece_cnt - s->first;
}

static uint32_t
count_pieces(const struct weir_manifest *m)
{
	uint32_t cnt = 0;

	for (uint32_t o = 0; o < m->operator_cnt; o++)
		for (uint32_t i = 0; i < m->operators[o].subtask_cnt; i++)
			for (uint32_t g = 0; g < m->operators[o].subtasks[i].segment_cnt; g++)
				cnt += m->operators[o].subtasks[i].segments[g].seg.kind ==
				       WEIR_SEGMENT_BLOB;
	return cnt;
}

void
weir_restore_opstates_begin(struct weir_runtime *rt, const struct weir_manifest *m)
{
	const struct weir_plan *plan = rt->cfg.plan;
	struct weir_restore_opstates *r = zeroed(0, sizeof(*r));

	WEIR_ASSERT(rt->opstates == NULL);
	rt->opstates = r;
	r->state = zeroed((size_t)plan->op_cnt * WEIR_OPERATOR_STATES_MAX, sizeof(*r->state));
	r->piece = zeroed(count_pieces(m), sizeof(*r->piece));
	for (uint32_t o = 0; o < plan->op_cnt; o++) {
		const struct weir_manifest_operator *mo = weir_restore_operator(m, plan->op[o].id);

		for (uint32_t s = 0; mo != NULL && s < mo->opstate_cnt; s++) {
			const uint32_t idx =
				weir_restore_opstate(&plan->op[o], mo->opstates[s].name);

			if (idx == UINT32_MAX)
				continue;
			r->state[r->state_cnt] = (struct state){ .op = o, .idx = idx, .mo = mo };
			expect(r, &r->state[r->state_cnt++], s);
		}
	}
}

static const struct state *
state_of(const struct weir_restore_opstates *r, const struct piece *p)
{
	const uint32_t at = (uint32_t)(p - r->piece);

	for (uint32_t s = 0; s < r->state_cnt; s++)
		if (at >= r->state[s].first && at < r->state[s].first + r->state[s].cnt)
			return &r->state[s];
	return NULL;
}

static const struct weir_operator_state_decl *
decl_of(const struct weir_runtime *rt, const struct state *s)
{
	return &rt->cfg.plan->op[s->op].op.operator_states[s->idx];
}

int
weir_restore_opstates_segment(struct weir_runtime *rt, uint32_t file_idx,
			      const struct weir_segment *seg, const void *bytes,
			      struct weir_error *err)
{
	struct weir_restore_opstates *r = rt->opstates;
	const struct weir_opstate_piece *head =
		(const void *)((const uint8_t *)bytes + WEIR_SEGMENT_HEADER);
	const struct weir_opstate_entry *entries;
	const struct state *s;
	struct piece *p = NULL;
	int rc;

	for (uint32_t i = 0; i < r->piece_cnt && p == NULL; i++)
		if (r->piece[i].from->file_idx == file_idx &&
		    r->piece[i].from->seg.offset == seg->offset)
			p = &r->piece[i];
	if (p == NULL) /* of a state that is left out (S7) */
		return 0;
	s = state_of(r, p);
	WEIR_ASSERT(s != NULL);
	WEIR_ASSERT(p->entries == NULL);
	rc = weir_opstate_piece_check(head, seg->used - WEIR_SEGMENT_HEADER, decl_of(rt, s),
				      &entries, err);
	if (rc == 0 && head->entry_cnt != seg->entry_cnt)
		rc = weir_fail(err, WEIR_ERR_DATA, "%u entries, its segment says %llu",
			       head->entry_cnt, (unsigned long long)seg->entry_cnt);
	if (rc != 0)
		return weir_error_prefix(err, "operator '%s' state '%s' subtask %u", s->mo->id,
					 decl_of(rt, s)->name, seg->subtask);
	p->entry_cnt = head->entry_cnt;
	p->entries = zeroed(head->bytes, 1);
	memcpy(p->entries, entries, head->bytes);
	return 0;
}

/* Hand the items of a share to take, one after the other; their bytes. */
static uint64_t
each(const struct weir_restore_opstates *r, const struct state *s, const struct weir_share *share,
     void (*take)(struct weir_opstate *to, const struct weir_opstate_entry *e),
     struct weir_opstate *to)
{
	uint64_t bytes = 0, at = 0;

	for (uint32_t i = s->first; i < s->first + s->cnt; i++) {
		const struct piece *p = &r->piece[i];
		const struct weir_share *of = &share[p->subtask];
		const struct weir_opstate_entry *e = p->entries;

		if (i == s->first || r->piece[i - 1].subtask != p->subtask)
			at = 0; /* number of the item in its subtask's list */
		for (uint32_t k = 0; k < p->entry_cnt; k++, at++, e = weir_opstate_behind(e)) {
			if (at < of->first || at - of->first >= of->cnt)
				continue;
			bytes += weir_opstate_entry_bytes(e->key_len, e->len);
			if (take != NULL)
				take(to, e);
		}
	}
	return bytes;
}

static void
take_entry(struct weir_opstate *to, const struct weir_opstate_entry *e)
{
	const bool done = to->decl.kind == WEIR_BROADCAST_MAP
				  ? weir_opstate_put(to, weir_opstate_key(e), e->key_len,
						     weir_opstate_item(e), e->len)
				  : weir_opstate_add(to, weir_opstate_item(e), e->len);

	WEIR_ASSERT(done);
}

static void *
take_for(void *rt, size_t bytes)
{
	return weir_runtime_take(rt, bytes);
}

/* T29: an operator that had ended is never asked to change its state again. What each of its
 * subtasks took of a union list would be as many copies at the next restore. */
static uint32_t
kind_of(const struct weir_operator_state_decl *decl, const struct weir_manifest_operator *mo)
{
	bool ended = true;

	for (uint32_t i = 0; i < mo->subtask_cnt; i++)
		ended &= weir_restore_ended(&mo->subtasks[i]);
	return ended && decl->kind == WEIR_UNION_LIST ? WEIR_SPLIT_LIST : decl->kind;
}

static int
put_state(struct weir_runtime *rt, const struct weir_restore_opstates *r, const struct state *s,
	  struct weir_error *err)
{
	const uint32_t was = s->mo->subtask_cnt, is = rt->cfg.plan->op[s->op].parallelism;
	const struct weir_operator_state_decl *decl = decl_of(rt, s);
	const uint32_t kind = kind_of(decl, s->mo);
	uint64_t *cnt = zeroed(was, sizeof(*cnt));
	struct weir_share *share = zeroed(was, sizeof(*share));
	const struct weir_share_old old = { .item_cnt = cnt, .parallelism = was };
	int rc = 0;

	for (uint32_t i = 0; i < was; i++)
		cnt[i] = s->mo->subtasks[i].finished ? WEIR_SHARE_NONE : 0;
	for (uint32_t i = s->first; i < s->first + s->cnt; i++)
		if (cnt[r->piece[i].subtask] != WEIR_SHARE_NONE)
			cnt[r->piece[i].subtask] += r->piece[i].entry_cnt;
	for (uint32_t i = 0; i < is && rc == 0; i++) {
		struct weir_opstate *to = &weir_runtime_ctx(rt, s->op, i)->opstate[s->idx];
		uint64_t bytes, items = 0;

		weir_share_of(kind, &old, i, is, share);
		for (uint32_t k = 0; k < was; k++)
			items += share[k].cnt;
		bytes = each(r, s, share, NULL, NULL);
		if (bytes > to->cap)
			weir_opstate_init(to, decl, bytes, take_for, rt);
		(void)each(r, s, share, take_entry, to);
		if (to->cnt != items)
			rc = weir_fail(err, WEIR_ERR_DATA,
				       "operator '%s' state '%s': a key is there twice", s->mo->id,
				       decl->name);
	}
	free(share);
	free(cnt);
	return rc;
}

int
weir_restore_opstates_end(struct weir_runtime *rt, struct weir_error *err)
{
	struct weir_restore_opstates *r = rt->opstates;
	int rc = 0;

	for (uint32_t s = 0; r != NULL && s < r->state_cnt && rc == 0; s++) {
		/* restore_counts.c has seen all segments. */
		for (uint32_t i = 0; i < r->state[s].cnt; i++)
			WEIR_ASSERT(r->piece[r->state[s].first + i].entries != NULL);
		rc = put_state(rt, r, &r->state[s], err);
	}
	weir_restore_opstates_fini(rt);
	return rc;
}

void
weir_restore_opstates_fini(struct weir_runtime *rt)
{
	struct weir_restore_opstates *r = rt->opstates;

	if (r == NULL)
		return;
	for (uint32_t i = 0; i < r->piece_cnt; i++)
		free(r->piece[i].entries);
	free(r->piece);
	free(r->state);
	free(r);
	rt->opstates = NULL;
}

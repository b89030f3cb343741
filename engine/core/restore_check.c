/*
 * May this checkpoint be restored into this plan (S2, S7)? Operators are matched by id, states by
 * id and name; every misfit is said, by name.
 */
#include "engine/core/restore_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PASSED_MAX 65536u /* ranges: far more than changes of parallelism can leave */

const struct weir_manifest_operator *
weir_restore_operator(const struct weir_manifest *m, const char *id)
{
	for (uint32_t o = 0; o < m->operator_cnt; o++)
		if (strcmp(m->operators[o].id, id) == 0)
			return &m->operators[o];
	return NULL;
}

uint32_t
weir_restore_planned(const struct weir_plan *plan, const char *id)
{
	for (uint32_t o = 0; o < plan->op_cnt; o++)
		if (strcmp(plan->op[o].id, id) == 0)
			return o;
	return UINT32_MAX;
}

uint32_t
weir_restore_state(const struct weir_plan_operator_info *o, const char *name)
{
	for (uint32_t s = 0; s < o->op.state_cnt; s++)
		if (strcmp(o->op.states[s].name, name) == 0)
			return s;
	return UINT32_MAX;
}

uint32_t
weir_restore_opstate(const struct weir_plan_operator_info *o, const char *name)
{
	for (uint32_t s = 0; s < o->op.operator_state_cnt; s++)
		if (strcmp(o->op.operator_states[s].name, name) == 0)
			return s;
	return UINT32_MAX;
}

const struct weir_subtask_blob *
weir_restore_blob(const struct weir_manifest_subtask *s)
{
	const struct weir_subtask_blob *b = s->blob.bytes;

	if (s->blob.len < sizeof(*b) || b->version != WEIR_SUBTASK_BLOB_VERSION ||
	    b->pending_cnt > WEIR_TRANSACTIONS_MAX || b->passed_cnt > PASSED_MAX ||
	    s->blob.len != weir_subtask_blob_bytes(b->pending_cnt, b->passed_cnt))
		return NULL;
	return b;
}

/* Transactions of a sink that wait for their commit. */
static uint32_t
pending_cnt(const struct weir_manifest_subtask *s)
{
	const struct weir_subtask_blob *b = weir_restore_blob(s);

	return b != NULL ? b->pending_cnt : 0;
}

/* Does the checkpoint hold anything of this operator that would be lost without it? */
static bool
holds_anything(const struct weir_manifest_operator *mo)
{
	for (uint32_t i = 0; i < mo->subtask_cnt; i++)
		if (mo->subtasks[i].segment_cnt > 0 || mo->coordinator.len > 0 ||
		    pending_cnt(&mo->subtasks[i]) > 0)
			return true;
	return mo->state_cnt > 0 || mo->opstate_cnt > 0;
}

/* S7: state without a home: an error, unless it may be left out. */
static void WEIR_PRINTF(3, 4) gone(const struct weir_restore_options *options,
				   struct weir_error *err, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (options == NULL || !options->allow_non_restored)
		weir_error_append(err, WEIR_ERR_DATA, "%s", text);
	else if (options->left_out != NULL)
		options->left_out(options->arg, text);
}

static void
print_keys(char *text, size_t room, uint32_t bytes, const char *type)
{
	if (bytes == 0)
		snprintf(text, room, "byte strings");
	else if (type == NULL || type[0] == '\0')
		snprintf(text, room, "%u bytes", bytes);
	else
		snprintf(text, room, "%u bytes (%s)", bytes, type);
}

/* Older checkpoints have no words. */
static bool
same_words(const char *was, const char *is)
{
	return was == NULL || was[0] == '\0' || is[0] == '\0' || strcmp(was, is) == 0;
}

static void
check_state(const char *id, const struct weir_manifest_state *was, const struct weir_plan_state *is,
	    struct weir_error *err)
{
	char before[160], now[160];

	if (was->key_bytes != is->key_bytes || !same_words(was->key_type, is->key_type)) {
		print_keys(before, sizeof(before), was->key_bytes, was->key_type);
		print_keys(now, sizeof(now), is->key_bytes, is->key_type);
		weir_error_append(
			err, WEIR_ERR_DATA,
			"operator '%s' state '%s': keys of %s in the checkpoint, of %s now", id,
			was->name, before, now);
	}
	if (was->value_bytes != is->value_bytes)
		weir_error_append(
			err, WEIR_ERR_DATA,
			"operator '%s' state '%s': values of %u bytes in the checkpoint, of %u "
			"bytes now",
			id, was->name, was->value_bytes, is->value_bytes);
	else if (!same_words(was->value_type, is->value_type))
		weir_error_append(err, WEIR_ERR_DATA,
				  "operator '%s' state '%s': %s in the checkpoint, %s now", id,
				  was->name, was->value_type, is->value_type);
}

static void
check_states(const struct weir_plan_operator_info *o, const struct weir_manifest_operator *mo,
	     const struct weir_restore_options *options, struct weir_error *err)
{
	for (uint32_t s = 0; s < mo->state_cnt; s++) {
		const struct weir_manifest_state *ms = &mo->states[s];
		const uint32_t p = weir_restore_state(o, ms->name);
		struct weir_plan_state now;

		if (p == UINT32_MAX) {
			gone(options, err, "operator '%s' has no state '%s' any more", o->id,
			     ms->name);
			continue;
		}
		weir_plan_state(o, p, &now);
		check_state(o->id, ms, &now, err);
	}
}

static void
print_lengths(char *text, size_t room, uint32_t kind, uint32_t key_bytes, uint32_t item_bytes)
{
	char item[32] = "byte strings", key[32] = "byte strings";

	if (item_bytes > 0)
		snprintf(item, sizeof(item), "%u bytes", item_bytes);
	if (key_bytes > 0)
		snprintf(key, sizeof(key), "%u bytes", key_bytes);
	if (kind == WEIR_BROADCAST_MAP)
		snprintf(text, room, "keys of %s and values of %s", key, item);
	else
		snprintf(text, room, "items of %s", item);
}

/* R5: what the items of a state are, and what becomes of them, stays. */
static void
check_opstate(const char *id, const struct weir_manifest_opstate *was,
	      const struct weir_operator_state_decl *is, struct weir_error *err)
{
	char before[96], now[96];

	print_lengths(before, sizeof(before), was->kind, was->key_bytes, was->item_bytes);
	print_lengths(now, sizeof(now), is->kind, is->key_bytes, is->item_bytes);
	if (was->kind != is->kind)
		weir_error_append(err, WEIR_ERR_DATA,
				  "operator '%s' state '%s': a %s in the checkpoint, a %s now", id,
				  was->name, weir_plan_state_kind(was->kind),
				  weir_plan_state_kind(is->kind));
	else if (strcmp(before, now) != 0)
		weir_error_append(err, WEIR_ERR_DATA,
				  "operator '%s' state '%s': %s in the checkpoint, %s now", id,
				  was->name, before, now);
	else if (!same_words(was->type, is->type != NULL ? is->type : ""))
		weir_error_append(err, WEIR_ERR_DATA,
				  "operator '%s' state '%s': %s in the checkpoint, %s now", id,
				  was->name, was->type, is->type);
}

static void
check_opstates(const struct weir_plan_operator_info *o, const struct weir_manifest_operator *mo,
	       const struct weir_restore_options *options, struct weir_error *err)
{
	for (uint32_t s = 0; s < mo->opstate_cnt; s++) {
		const struct weir_manifest_opstate *ms = &mo->opstates[s];
		const uint32_t p = weir_restore_opstate(o, ms->name);

		if (p == UINT32_MAX)
			gone(options, err, "operator '%s' has no operator state '%s' any more",
			     o->id, ms->name);
		else
			check_opstate(o->id, ms, &o->op.operator_states[p], err);
	}
}

bool
weir_restore_is_kind(const struct weir_plan *plan, uint32_t o, enum weir_vertex_kind kind)
{
	const uint32_t v = plan->op[o].vertex;

	return v != UINT32_MAX && plan->job->vertex[v].kind == kind;
}

/* Splits, and transactions to commit, are state too; only an operator of that kind takes them. */
static void
check_kind(const struct weir_plan *plan, uint32_t o, const struct weir_manifest_operator *mo,
	   const struct weir_restore_options *options, struct weir_error *err)
{
	uint32_t waiting = 0;

	for (uint32_t i = 0; i < mo->subtask_cnt; i++)
		waiting += pending_cnt(&mo->subtasks[i]);
	if (mo->coordinator.len > 0 && !weir_restore_is_kind(plan, o, WEIR_VERTEX_SOURCE))
		gone(options, err, "operator '%s' was a source and is none any more", mo->id);
	if (waiting > 0 && (!weir_restore_is_kind(plan, o, WEIR_VERTEX_SINK) ||
			    strcmp(plan->op[o].type, mo->type) != 0))
		gone(options, err,
		     "operator '%s' was a %s, of which %u transactions wait to be committed, and "
		     "is "
		     "a %s now",
		     mo->id, mo->type, waiting, plan->op[o].type);
}

/* What cannot be read is not "nothing": a pre-committed transaction may be in it. */
static void
check_blobs(const struct weir_manifest_operator *mo, struct weir_error *err)
{
	for (uint32_t i = 0; i < mo->subtask_cnt; i++)
		if (mo->subtasks[i].blob.len > 0 && weir_restore_blob(&mo->subtasks[i]) == NULL)
			weir_error_append(err, WEIR_ERR_DATA,
					  "operator '%s' subtask %u: its own bytes are not those "
					  "that this version of weir writes",
					  mo->id, i);
}

int
weir_restore_check(const struct weir_plan *plan, const struct weir_manifest *m,
		   const struct weir_restore_options *options, struct weir_error *err)
{
	*err = (struct weir_error){ 0 };
	if (plan->max_parallelism != m->max_parallelism)
		weir_error_append(
			err, WEIR_ERR_DATA,
			"max-parallelism is %u in the checkpoint and %u now: it is fixed for the "
			"life of the state; unset, the job takes the checkpoint's",
			m->max_parallelism, plan->max_parallelism);
	for (uint32_t i = 0; i < m->operator_cnt; i++) {
		const struct weir_manifest_operator *mo = &m->operators[i];
		const uint32_t o = weir_restore_planned(plan, mo->id);

		check_blobs(mo, err);
		if (o != UINT32_MAX) {
			check_states(&plan->op[o], mo, options, err);
			check_opstates(&plan->op[o], mo, options, err);
			check_kind(plan, o, mo, options, err);
		} else if (holds_anything(mo)) {
			gone(options, err,
			     "the job has no operator '%s', whose state is in the checkpoint",
			     mo->id);
		}
	}
	weir_restore_check_ends(plan, m, err);
	return err->code;
}

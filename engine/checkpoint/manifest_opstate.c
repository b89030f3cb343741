/* The checks of state that belongs to no key (R5): what it is declared as, and that it is all
 * there. */
#include <inttypes.h>
#include <string.h>

#include "engine/checkpoint/manifest_priv.h"
#include "weir/operator_state.h"

static const char *
misfit(const struct weir_manifest_opstate *st)
{
	const bool map = st->kind == WEIR_BROADCAST_MAP;

	if (st->name == NULL || st->name[0] == '\0' || strlen(st->name) > WEIR_MANIFEST_NAME_MAX)
		return "name is empty or too long";
	if (st->kind < WEIR_SPLIT_LIST || st->kind > WEIR_BROADCAST_MAP)
		return "unknown kind";
	if (st->key_bytes > (map ? WEIR_OPERATOR_STATE_KEY_MAX : 0))
		return "key length does not fit its kind";
	if (st->item_bytes > WEIR_OPERATOR_STATE_ITEM_MAX)
		return "items are too long";
	return NULL;
}

static bool
has_piece(const struct weir_manifest_subtask *sub, uint32_t state)
{
	for (uint32_t i = 0; i < sub->segment_cnt; i++)
		if (sub->segments[i].seg.kind == WEIR_SEGMENT_BLOB && !sub->segments[i].stale &&
		    sub->segments[i].seg.state_idx == state)
			return true;
	return false;
}

/* One that is not there would be restored as an empty one. */
static int
check_there(const struct weir_manifest_operator *op, uint32_t state, struct weir_error *err)
{
	for (uint32_t i = 0; i < op->subtask_cnt; i++)
		if (!op->subtasks[i].finished && !has_piece(&op->subtasks[i], state))
			return weir_fail(err, WEIR_ERR_DATA,
					 "operator \"%s\" subtask %" PRIu32
					 ": nothing of its state \"%s\"",
					 op->id, i, op->opstates[state].name);
	return 0;
}

static int
check_pieces(const struct weir_manifest_operator *op, uint32_t subtask, struct weir_error *err)
{
	const struct weir_manifest_subtask *sub = &op->subtasks[subtask];

	for (uint32_t i = 0; i < sub->segment_cnt; i++) {
		const struct weir_segment *seg = &sub->segments[i].seg;

		if (seg->kind != WEIR_SEGMENT_BLOB)
			continue;
		if (seg->state_idx >= op->opstate_cnt)
			return weir_fail(err, WEIR_ERR_DATA,
					 "operator \"%s\" subtask %" PRIu32 " segment %" PRIu32
					 ": names operator state %" PRIu32 " of %" PRIu32,
					 op->id, subtask, i, seg->state_idx, op->opstate_cnt);
		if (seg->used < WEIR_SEGMENT_HEADER)
			return weir_fail(err, WEIR_ERR_DATA,
					 "operator \"%s\" subtask %" PRIu32 " segment %" PRIu32
					 ": %" PRIu64 " bytes used",
					 op->id, subtask, i, seg->used);
	}
	return 0;
}

int
weir_manifest_check_opstates(const struct weir_manifest_operator *op, struct weir_error *err)
{
	int rc = 0;

	if (op->opstate_cnt > WEIR_OPERATOR_STATES_MAX)
		return weir_fail(err, WEIR_ERR_DATA,
				 "operator \"%s\": %" PRIu32 " operator states, at most %u", op->id,
				 op->opstate_cnt, WEIR_OPERATOR_STATES_MAX);
	for (uint32_t i = 0; i < op->opstate_cnt && rc == 0; i++) {
		const char *why = misfit(&op->opstates[i]);

		if (why != NULL)
			return weir_fail(err, WEIR_ERR_DATA,
					 "operator \"%s\" operator state %" PRIu32 ": %s", op->id,
					 i, why);
		rc = check_there(op, i, err);
	}
	for (uint32_t i = 0; i < op->subtask_cnt && rc == 0; i++)
		rc = check_pieces(op, i, err);
	return rc;
}

/* What a state of an operator is, in words that a checkpoint keeps and a restore compares (S7). */
#include "engine/graph/plan.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {
	[WEIR_KIND_U8] = "u8",	     [WEIR_KIND_U16] = "u16",	  [WEIR_KIND_U32] = "u32",
	[WEIR_KIND_U64] = "u64",     [WEIR_KIND_I8] = "i8",	  [WEIR_KIND_I16] = "i16",
	[WEIR_KIND_I32] = "i32",     [WEIR_KIND_I64] = "i64",	  [WEIR_KIND_F32] = "f32",
	[WEIR_KIND_F64] = "f64",     [WEIR_KIND_BOOL] = "bool",	  [WEIR_KIND_TIME] = "time",
	[WEIR_KIND_FIXED] = "fixed", [WEIR_KIND_BYTES] = "bytes",
};

/* The kinds of the key's columns, not their names: a renamed column is the same key. */
static void
print_key(const struct weir_plan_operator_info *o, char *text, size_t room)
{
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t k = 0; k < o->key.cnt && at < room; k++) {
		const uint16_t kind = o->in_type->columns[o->key.column[k]].kind;
		const char *name = kind < WEIR_ARRAY_CNT(kinds) ? kinds[kind] : "?";

		at += (size_t)snprintf(text + at, room - at, "%s%s", k > 0 ? ", " : "", name);
	}
}

void
weir_plan_state(const struct weir_plan_operator_info *op, uint32_t state,
		struct weir_plan_state *out)
{
	const struct weir_state_decl *d = &op->op.states[state];

	WEIR_ASSERT(state < op->op.state_cnt);
	*out = (struct weir_plan_state){ .name = d->name,
					 .own_keys = d->key_bytes > 0,
					 .key_bytes =
						 d->key_bytes > 0 ? d->key_bytes : op->key.bytes,
					 .value_bytes = d->value_bytes,
					 .value_type = d->type != NULL ? d->type : "" };
	if (out->own_keys)
		snprintf(out->key_type, sizeof(out->key_type), "the operator's own");
	else
		print_key(op, out->key_type, sizeof(out->key_type));
}

const char *
weir_plan_state_kind(uint32_t kind)
{
	switch ((enum weir_operator_state_kind)kind) {
	case WEIR_SPLIT_LIST:
		return "split list";
	case WEIR_UNION_LIST:
		return "union list";
	case WEIR_BROADCAST_MAP:
		return "broadcast map";
	}
	return "?";
}

bool
weir_plan_has_union(const struct weir_plan *plan, uint32_t task)
{
	const struct weir_plan_task *t = &plan->task[task];

	for (uint32_t k = 0; k < t->op_cnt; k++) {
		const struct weir_operator *op = &plan->op[t->op[k]].op;

		for (uint32_t i = 0; i < op->operator_state_cnt; i++)
			if (op->operator_states[i].kind == WEIR_UNION_LIST)
				return true;
	}
	return false;
}

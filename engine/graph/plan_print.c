#include "engine/graph/plan_priv.h"

#include <stdarg.h>
#include <stdio.h>

struct text {
	char *buf;
	size_t bytes;
	size_t len;
};

static void WEIR_PRINTF(2, 3) put(struct text *t, const char *fmt, ...)
{
	const size_t room = t->len < t->bytes ? t->bytes - t->len : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room > 0 ? t->buf + t->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n;
}

static void
put_cpus(struct text *t, const struct weir_plan *plan, const struct weir_plan_task *task)
{
	for (uint32_t s = 0; s < task->parallelism; s++)
		put(t, "%s%u", s > 0 ? "," : "", plan->core[task->core[s]].cpu);
}

static void
put_tasks(struct text *t, const struct weir_plan *plan)
{
	put(t, "tasks\n");
	for (uint32_t i = 0; i < plan->task_cnt; i++) {
		const struct weir_plan_task *task = &plan->task[i];

		put(t, "  %2u  ", i);
		for (uint32_t k = 0; k < task->op_cnt; k++)
			put(t, "%s%s [%s]", k > 0 ? " -> " : "", plan->op[task->op[k]].id,
			    plan->op[task->op[k]].type);
		put(t, "  x%u  cpus ", task->parallelism);
		put_cpus(t, plan, task);
		put(t, "\n");
	}
}

static void
put_edges(struct text *t, const struct weir_plan *plan)
{
	put(t, "edges\n");
	for (uint32_t i = 0; i < plan->edge_cnt; i++) {
		const struct weir_plan_edge *e = &plan->edge[i];

		put(t, "  %s -> %s  %s", plan->op[e->from].id, plan->op[e->to].id,
		    weir_partitioner_name(e->partitioner));
		if (e->chained) {
			put(t, ", chained\n");
			continue;
		}
		put(t, "%s, ring, %s, %u channels of %u frames, %u rows a frame, columns",
		    e->combiner ? " behind a combiner" : "", weir_edge_alignment_name(e->alignment),
		    e->channel_cnt, plan->lane_depth, e->layout.cap);
		for (uint32_t a = 0; a < e->layout.active_cnt; a++)
			put(t, "%s%s", a > 0 ? "," : " ",
			    plan->op[e->from].out_type->columns[e->layout.active[a]].name);
		if (e->layout.active_cnt < e->layout.column_cnt)
			put(t, " (%u of %u)", e->layout.active_cnt, e->layout.column_cnt);
		put(t, "\n");
	}
}

static void
put_length(struct text *t, const char *what, uint32_t bytes)
{
	if (bytes == 0)
		put(t, ", %s of any length", what);
	else
		put(t, ", %s of %u bytes", what, bytes);
}

static uint32_t
bytes_max_of(const struct weir_operator_state_decl *d)
{
	return d->bytes_max > 0 ? d->bytes_max : WEIR_OPERATOR_STATE_BYTES;
}

static void
put_operator_state(struct text *t, const struct weir_plan_operator_info *o,
		   const struct weir_operator_state_decl *d)
{
	const uint32_t most = bytes_max_of(d);

	put(t, "  %s '%s'  %s", o->id, d->name, weir_plan_state_kind(d->kind));
	if (d->kind == WEIR_BROADCAST_MAP)
		put_length(t, "keys", d->key_bytes);
	put_length(t, d->kind == WEIR_BROADCAST_MAP ? "values" : "items", d->item_bytes);
	put(t, ", at most %u KiB x%u\n", (most + 1023) / 1024, o->parallelism);
}

/* What belongs to no key (R5). */
static void
put_operator_states(struct text *t, const struct weir_plan *plan)
{
	bool any = false;

	for (uint32_t i = 0; i < plan->op_cnt; i++)
		for (uint32_t s = 0; s < plan->op[i].op.operator_state_cnt; s++) {
			if (!any)
				put(t, "operator state\n");
			any = true;
			put_operator_state(t, &plan->op[i], &plan->op[i].op.operator_states[s]);
		}
}

/* What they take at most: each is there twice, the second one for checkpoints, and the index of a
 * map is as large as its entries at most (engine/operators/operator_state.h). */
static uint64_t
operator_state_bytes(const struct weir_plan *plan)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < plan->op_cnt; i++)
		for (uint32_t s = 0; s < plan->op[i].op.operator_state_cnt; s++) {
			const struct weir_operator_state_decl *d =
				&plan->op[i].op.operator_states[s];
			const uint64_t copies = d->kind == WEIR_BROADCAST_MAP ? 3 : 2;

			sum += plan->op[i].parallelism * copies * bytes_max_of(d);
		}
	return sum;
}

static void
put_memory(struct text *t, const struct weir_plan *plan)
{
	const uint64_t operators = operator_state_bytes(plan);

	put(t, "memory\n  frames  %u x %u bytes = %.1f MiB\n", plan->frame_cnt,
	    plan->options.frame_bytes, (double)plan->frame_bytes_sum / 1048576.0);
	put(t, "  state   %u x %.1f MiB\n", plan->core_cnt,
	    (double)plan->state_bytes_core / 1048576.0);
	if (operators > 0)
		put(t, "  operator state, at most %.1f MiB\n", (double)operators / 1048576.0);
}

static void
put_placement(struct text *t, const struct weir_plan *plan)
{
	put(t, "placement, as configuration\n  cores: \"");
	for (uint32_t c = 0; c < plan->core_cnt; c++)
		put(t, "%s%u", c > 0 ? "," : "", plan->core[c].cpu);
	put(t, "\"\n  operators:\n");
	for (uint32_t i = 0; i < plan->task_cnt; i++)
		for (uint32_t k = 0; k < plan->task[i].op_cnt; k++) {
			const struct weir_plan_operator_info *o = &plan->op[plan->task[i].op[k]];

			if (o->vertex == UINT32_MAX)
				continue;
			put(t, "    %s: { parallelism: %u, cores: \"", o->id, o->parallelism);
			put_cpus(t, plan, &plan->task[i]);
			put(t, "\" }\n");
		}
}

size_t
weir_plan_print(const struct weir_plan *plan, char *buf, size_t bytes)
{
	struct text t = { buf, bytes, 0 };

	put(&t, "cores\n");
	for (uint32_t c = 0; c < plan->core_cnt; c++)
		put(&t, "  %2u  cpu %u, node %u%s\n", c, plan->core[c].cpu, plan->core[c].node,
		    plan->core[c].shared > 1 ? ", shared" : "");
	put_tasks(&t, plan);
	put_edges(&t, plan);
	put_operator_states(&t, plan);
	put(&t, "key groups %u\n", plan->max_parallelism);
	put_memory(&t, plan);
	put_placement(&t, plan);
	for (uint32_t w = 0; w < plan->warning_cnt; w++)
		put(&t, "warning: %s\n", plan->warning[w]);
	return t.len;
}

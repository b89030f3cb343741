/* The parts of the report that a worker knows (docs of the report: docs/troubleshooting.md). */
#include "app/attempt.h"
#include "app/link.h"

#include "drivers/alloc/guard.h"
#include "drivers/clock/clock.h"
#include "drivers/dpdk/eal.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define NS 1e9

static json_t *
number(uint64_t v)
{
	return json_integer((json_int_t)v);
}

/* ---- operators, tasks, edges ---- */

/* A source's are those that it has read, a sink's those that it has committed. */
static uint64_t
rows_in(const struct weir_task *t, const struct weir_operator_ctx *c)
{
	/* While the job runs this is off by what moves between the two looks. */
	const uint64_t waiting =
		c->two_phase != NULL ? weir_two_phase_waiting_rows(c->two_phase) : 0;
	const uint64_t rows = c->op == NULL && t->readers != NULL
				      ? weir_count_get(&t->readers->rows)
				      : weir_count_get(&c->rows_in);

	return rows > waiting ? rows - waiting : 0;
}

static json_t *
operator_entry(struct weir_attempt_run *a, uint32_t op)
{
	const struct weir_plan_operator_info *o = &a->plan->op[op];
	uint64_t in = 0, out = 0, truncated = 0, state = 0, dropped[WEIR_REASONS_MAX] = { 0 };
	json_t *drops = json_object();
	const struct weir_operator_ctx *first = weir_runtime_ctx(a->rt, op, 0);

	for (uint32_t s = 0; s < o->parallelism; s++) {
		const struct weir_operator_ctx *c = weir_runtime_ctx(a->rt, op, s);
		const struct weir_task *t = weir_runtime_task(a->rt, op, s);

		in += rows_in(t, c);
		out += weir_count_get(&c->rows_out);
		truncated += weir_count_get(&c->truncated);
		state += weir_count_get(&c->state_bytes);
		for (uint32_t r = 0; r < WEIR_REASONS_MAX; r++)
			dropped[r] += weir_count_get(&c->dropped[r]);
	}
	for (uint32_t r = 0; r < first->reason_cnt; r++)
		json_object_set_new(drops, first->reasons[r], number(dropped[r]));
	return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o}", "id", o->id, "type", o->type,
			 "parallelism", (int)o->parallelism, "rows_in", number(in), "rows_out",
			 number(out), "dropped", drops, "truncated", number(truncated),
			 "state_bytes", number(state));
}

static json_t *
operators(struct weir_attempt_run *a)
{
	json_t *list = json_array();

	for (uint32_t o = 0; o < a->plan->op_cnt; o++)
		json_array_append_new(list, operator_entry(a, o));
	return list;
}

static json_t *
tasks(struct weir_attempt_run *a)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < a->plan->task_cnt; i++) {
		const struct weir_plan_task *t = &a->plan->task[i];

		for (uint32_t s = 0; s < t->parallelism; s++) {
			json_t *ids = json_array();

			for (uint32_t k = 0; k < t->op_cnt; k++)
				json_array_append_new(ids, json_string(a->plan->op[t->op[k]].id));
			json_array_append_new(list,
					      json_pack("{s:s, s:o, s:i, s:i, s:i}", "id",
							a->plan->op[t->op[0]].id, "operators", ids,
							"subtask", (int)s, "cpu",
							(int)a->plan->core[t->core[s]].cpu, "node",
							(int)a->plan->core[t->core[s]].node));
		}
	}
	return list;
}

static json_t *
edges(struct weir_attempt_run *a)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < a->plan->edge_cnt; i++) {
		const struct weir_plan_edge *e = &a->plan->edge[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b, s:s, s:s}", "from",
						      a->plan->op[e->from].id, "to",
						      a->plan->op[e->to].id, "partitioner",
						      weir_partitioner_name(e->partitioner),
						      "combiner", (int)e->combiner, "transport",
						      e->chained ? "chain" : "ring", "alignment",
						      weir_edge_alignment_name(e->alignment)));
	}
	return list;
}

/* ---- cores, sources, latency ---- */

static double
seconds(const struct weir_core *core, enum weir_regime r)
{
	return (double)weir_count_get(&core->regime_ns[r]) / NS;
}

static json_t *
cores(struct weir_attempt_run *a)
{
	json_t *list = json_array();

	for (uint32_t c = 0; c < a->plan->core_cnt; c++) {
		const struct weir_core *core = &a->rt->cores[c];
		const struct weir_plan_core *p = &a->plan->core[c];
		char thread[16];

		if (p->shared > 1)
			snprintf(thread, sizeof(thread), "weir-c%u.%u", p->cpu, p->nth);
		else
			snprintf(thread, sizeof(thread), "weir-c%u", p->cpu);
		json_array_append_new(
			list, json_pack("{s:i, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "cpu",
					(int)p->cpu, "thread", thread, "busy_s",
					seconds(core, WEIR_REGIME_BUSY), "idle_s",
					seconds(core, WEIR_REGIME_IDLE), "back_pressured_s",
					seconds(core, WEIR_REGIME_BACK_PRESSURED), "snapshot_s",
					seconds(core, WEIR_REGIME_SNAPSHOT), "housekeeping_s",
					seconds(core, WEIR_REGIME_HOUSEKEEPING), "longest_turn_us",
					(double)weir_count_get(&core->longest_turn_ns) / 1e3,
					"rows", number(weir_count_get(&core->rows)), "allocations",
					number(weir_count_get(&a->host.core[c].allocations))));
	}
	return list;
}

static json_t *
sources(struct weir_attempt_run *a)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < a->enumerator_cnt; i++) {
		const struct weir_enumerator *e = &a->enumerators[i];
		const struct weir_plan_operator_info *o = &a->plan->op[e->op];
		json_t *warnings = json_array();
		uint64_t rows = 0, bytes = 0;

		for (uint32_t w = 0; w < e->list.warning_cnt; w++)
			json_array_append_new(warnings, weir_link_text(e->list.warning[w]));
		for (uint32_t s = 0; s < o->parallelism; s++) {
			const struct weir_readers *r = weir_runtime_task(a->rt, e->op, s)->readers;

			rows += weir_count_get(&r->rows);
			bytes += weir_count_get(&r->bytes);
		}
		for (uint32_t w = 0; w < a->warning_cnt; w++)
			json_array_append_new(warnings, weir_link_text(a->warnings[w]));
		json_array_append_new(list,
				      json_pack("{s:s, s:o, s:o, s:o, s:o}", "id", o->id, "splits",
						number(e->list.cnt), "rows", number(rows), "bytes",
						number(bytes), "warnings", warnings));
	}
	return list;
}

/* Upper end of a bucket, in microseconds. */
static double
bucket_us(uint32_t b)
{
	const uint32_t log = b / 8;

	return (double)(1ull << log) * (1.0 + (double)(b % 8 + 1) / 8.0);
}

static json_t *
latency_of(const uint64_t *bucket, uint64_t total, uint64_t max_us)
{
	static const double q[4] = { 0.5, 0.9, 0.99, 0.999 };
	double v[4] = { 0 };
	uint64_t sum = 0;
	uint32_t n = 0;

	for (uint32_t b = 0; b < WEIR_LATENCY_BUCKETS && n < 4; b++) {
		sum += bucket[b];
		/* The upper end of a bucket may lie above all that was seen. */
		while (n < 4 && total > 0 && (double)sum >= q[n] * (double)total)
			v[n++] = bucket_us(b) < (double)max_us ? bucket_us(b) : (double)max_us;
	}
	return json_pack("{s:f, s:f, s:f, s:f, s:o, s:o}", "p50", v[0], "p90", v[1], "p99", v[2],
			 "p999", v[3], "max", number(max_us), "count", number(total));
}

static json_t *
latency(struct weir_attempt_run *a)
{
	json_t *all = json_object();

	for (uint32_t o = 0; o < a->plan->op_cnt; o++) {
		uint64_t bucket[WEIR_LATENCY_BUCKETS] = { 0 };
		uint64_t total = 0, max_us = 0;

		if (weir_runtime_task(a->rt, o, 0)->sink == NULL ||
		    a->plan->op[o].chain_idx + 1 != weir_runtime_task(a->rt, o, 0)->ctx_cnt)
			continue;
		for (uint32_t s = 0; s < a->plan->op[o].parallelism; s++) {
			uint64_t max;
			const _Atomic uint64_t *b =
				weir_two_phase_latency(weir_runtime_task(a->rt, o, s)->sink, &max);

			for (uint32_t i = 0; i < WEIR_LATENCY_BUCKETS; i++) {
				bucket[i] += weir_count_get(&b[i]);
				total += weir_count_get(&b[i]);
			}
			max_us = max > max_us ? max : max_us;
		}
		json_object_set_new(all, a->plan->op[o].id, latency_of(bucket, total, max_us));
	}
	return all;
}

/* ---- environment ---- */

static void
read_line(const char *path, const char *key, char *buf, size_t cap)
{
	char line[512];
	FILE *f = fopen(path, "r");

	snprintf(buf, cap, "unknown");
	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		char *value = line;

		if (key != NULL && strncmp(line, key, strlen(key)) != 0)
			continue;
		if (key != NULL && strchr(line, ':') != NULL)
			value = strchr(line, ':') + 2;
		value[strcspn(value, "\n")] = '\0';
		snprintf(buf, cap, "%s", value);
		break;
	}
	fclose(f);
}

static json_t *
environment(struct weir_attempt_run *a)
{
	char cpu[256], governor[64], kernel[256];
	struct utsname u;

	uname(&u);
	snprintf(kernel, sizeof(kernel), "%s %s", u.sysname, u.release);
	read_line("/proc/cpuinfo", "model name", cpu, sizeof(cpu));
	read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", NULL, governor,
		  sizeof(governor));
	return json_pack("{s:s, s:s, s:s, s:b, s:s, s:s, s:s, s:s, s:s}", "kernel", kernel, "cpu",
			 cpu, "governor", governor, "hugepages", (int)a->host.frames->frames.huge,
			 "io_backend", a->host.control_io->ops->name, "o_direct",
			 a->checkpoints ? "by trial" : "not used", "dpdk", weir_eal_report(),
			 "allocator", weir_alloc_name(), "git", WEIR_GIT);
}

json_t *
weir_attempt_statistics(struct weir_attempt_run *a)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "operators", operators(a), "tasks",
			 tasks(a), "edges", edges(a), "cores", cores(a), "sources", sources(a),
			 "latency_us", latency(a), "environment", environment(a));
}

/* One subtask's part, or what all of a task's have together: times are the longest, bytes the sum.
 */
static json_t *
part_entry(const struct weir_subtask_done *d)
{
	return json_pack(
		"{s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:b}", "start_delay_ms",
		(double)d->start_delay_ns / 1e6, "alignment_ms", (double)d->alignment_ns / 1e6,
		"sync_ms", (double)d->sync_ns / 1e6, "async_ms", (double)d->async_ns / 1e6,
		"processed_bytes", (json_int_t)d->processed_bytes, "persisted_bytes",
		(json_int_t)d->persisted_bytes, "bytes", (json_int_t)d->bytes, "full_bytes",
		(json_int_t)d->full_bytes, "unaligned", d->persisted_bytes > 0);
}

static int64_t
longer(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void
add_part(struct weir_subtask_done *sum, const struct weir_subtask_done *d)
{
	sum->start_delay_ns = longer(sum->start_delay_ns, d->start_delay_ns);
	sum->alignment_ns = longer(sum->alignment_ns, d->alignment_ns);
	sum->sync_ns = longer(sum->sync_ns, d->sync_ns);
	sum->async_ns = longer(sum->async_ns, d->async_ns);
	sum->processed_bytes += d->processed_bytes;
	sum->persisted_bytes += d->persisted_bytes;
	sum->bytes += d->bytes;
	sum->full_bytes += d->full_bytes;
}

/* K16: per task and per subtask, for the history. */
static json_t *
task_entries(const struct weir_plan *plan, const struct weir_checkpoint_done *d)
{
	json_t *list = json_array();

	for (uint32_t i = 0, next; i < d->subtask_cnt; i = next) {
		const uint32_t task = d->subtasks[i].task;
		struct weir_subtask_done sum = { 0 };
		json_t *subtasks = json_array();
		json_t *entry;

		for (next = i; next < d->subtask_cnt && d->subtasks[next].task == task; next++) {
			json_t *one = part_entry(&d->subtasks[next]);

			json_object_set_new(one, "subtask",
					    json_integer(d->subtasks[next].subtask));
			json_array_append_new(subtasks, one);
			add_part(&sum, &d->subtasks[next]);
		}
		entry = part_entry(&sum);
		json_object_set_new(entry, "id", json_string(plan->op[plan->task[task].op[0]].id));
		json_object_set_new(entry, "parallelism",
				    json_integer(plan->task[task].parallelism));
		json_object_set_new(entry, "subtasks", subtasks);
		json_array_append_new(list, entry);
	}
	return list;
}

json_t *
weir_attempt_checkpoint(const struct weir_plan *plan, const struct weir_checkpoint_done *d)
{
	json_t *entry = json_pack(
		"{s:I, s:s, s:s, s:s, s:f, s:f, s:I, s:I, s:s, s:I, s:I, s:f, s:f, s:f, s:f, "
		"s:f, s:f}",
		"id", (json_int_t)d->id, "kind", d->kind, "status", d->status, "reason", d->reason,
		"trigger_ms", (double)d->trigger_wall_ns / 1e6, "duration_ms",
		(double)d->duration_ns / 1e6, "bytes", (json_int_t)d->bytes, "full_bytes",
		(json_int_t)d->full_bytes, "mode", d->persisted_bytes > 0 ? "unaligned" : "aligned",
		"frames_in_flight", (json_int_t)d->frames, "persisted_bytes",
		(json_int_t)d->persisted_bytes, "prepare_ms", (double)d->prepare_ns / 1e6,
		"start_delay_ms", (double)d->start_delay_ns / 1e6, "alignment_ms",
		(double)d->alignment_ns / 1e6, "sync_ms", (double)d->sync_ns / 1e6, "async_ms",
		(double)d->async_ns / 1e6, "finalize_ms", (double)d->finalize_ns / 1e6);

	if (d->subtask_cnt > 0)
		json_object_set_new(entry, "tasks", task_entries(plan, d));
	return entry;
}

/* ---- progress ---- */

/* Share of the time since the last call that core c was in regime r. */
static double
share(struct weir_attempt_run *a, uint32_t c, enum weir_regime r)
{
	uint64_t all = 0, mine = 0;

	for (uint32_t i = 0; i < WEIR_REGIME_CNT; i++) {
		const uint64_t d =
			weir_count_get(&a->rt->cores[c].regime_ns[i]) - a->regime_last[c][i];

		all += d;
		mine += i == r ? d : 0;
	}
	return all > 0 ? (double)mine / (double)all : 0.0;
}

void
weir_attempt_progress(struct weir_attempt_run *a, int64_t now_ns)
{
	struct weir_progress p = { 0 };
	const double dt = (double)(now_ns - a->progress_last_ns) / NS;

	for (uint32_t i = 0; i < a->enumerator_cnt; i++)
		for (uint32_t s = 0; s < a->plan->op[a->enumerators[i].op].parallelism; s++)
			p.rows += weir_count_get(
				&weir_runtime_task(a->rt, a->enumerators[i].op, s)->readers->rows);
	p.rows_per_s = dt > 0 ? (double)(p.rows - a->rows_last) / dt : 0;
	for (uint32_t c = 0; c < a->plan->core_cnt; c++) {
		const double busy = share(a, c, WEIR_REGIME_BUSY);
		const double back = share(a, c, WEIR_REGIME_BACK_PRESSURED);

		if (busy >= p.busiest) {
			p.busiest = busy;
			p.busiest_cpu = a->plan->core[c].cpu;
		}
		p.back_pressured = back > p.back_pressured ? back : p.back_pressured;
		for (uint32_t i = 0; i < WEIR_REGIME_CNT; i++)
			a->regime_last[c][i] = weir_count_get(&a->rt->cores[c].regime_ns[i]);
	}
	a->rows_last = p.rows;
	a->progress_last_ns = now_ns;
	weir_worker_progress(a->link, &p);
}

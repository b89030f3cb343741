/* What makes a manifest one: every promise that can be checked without the data files. */
#include "engine/checkpoint/manifest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/manifest_priv.h"

#define MAX_PARALLELISM_MAX 32768u
#define KEY_BYTES_MAX	    256u
#define VALUE_BYTES_MAX	    1024u

/* One run of weir_manifest_check. */
struct check {
	const struct weir_manifest *m;
	struct weir_error *err;
	struct weir_manifest_pool pool; /* arrays to sort */
	char where[512];		/* the part under examination, for messages */
};

static WEIR_PRINTF(2, 3) void at(struct check *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->where, sizeof(c->where), fmt, ap);
	va_end(ap);
}

static WEIR_PRINTF(2, 3) int bad(struct check *c, const char *fmt, ...)
{
	char why[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return weir_fail(c->err, WEIR_ERR_DATA, "%s: %s", c->where, why);
}

static int
memory_out(struct check *c)
{
	return weir_fail(c->err, WEIR_ERR_FAILED, "out of memory");
}

static int
check_name(struct check *c, const char *what, const char *name)
{
	if (name == NULL || name[0] == '\0')
		return bad(c, "%s is empty", what);
	if (strlen(name) > WEIR_MANIFEST_NAME_MAX)
		return bad(c, "%s is longer than %u bytes", what, WEIR_MANIFEST_NAME_MAX);
	return 0;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* names is sorted in place. */
static int
check_unique(struct check *c, const char *what, const char **names, uint32_t cnt)
{
	uint32_t i;

	if (cnt > 1)
		qsort(names, cnt, sizeof(*names), by_text);
	for (i = 1; i < cnt; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			return bad(c, "%s \"%s\" stands there twice", what, names[i]);
	return 0;
}

static bool
is_run_id(const char *text)
{
	return text != NULL && strlen(text) == WEIR_RUN_ID_LEN &&
	       strspn(text, "0123456789abcdef") == WEIR_RUN_ID_LEN;
}

static int
check_head(struct check *c)
{
	const struct weir_manifest *m = c->m;

	at(c, "head");
	if (check_name(c, "version", m->weir_version) != 0 || check_name(c, "job", m->job) != 0)
		return c->err->code;
	if (!is_run_id(m->run_id))
		return bad(c, "run id is not %u hex digits", WEIR_RUN_ID_LEN);
	if (m->attempt == 0)
		return bad(c, "attempt is 0");
	if (m->checkpoint_id == 0)
		return bad(c, "checkpoint id is 0");
	if (m->kind < WEIR_MANIFEST_PERIODIC || m->kind > WEIR_MANIFEST_DRAIN)
		return bad(c, "unknown kind %" PRIu32, m->kind);
	if (m->max_parallelism == 0 || m->max_parallelism > MAX_PARALLELISM_MAX ||
	    (m->max_parallelism & (m->max_parallelism - 1)) != 0)
		return bad(c, "max-parallelism %" PRIu32 " is no power of two within 1..%u",
			   m->max_parallelism, MAX_PARALLELISM_MAX);
	if (m->operator_cnt == 0)
		return bad(c, "no operators");
	return 0;
}

static int
check_files(struct check *c)
{
	const char **names = weir_manifest_pool_take(&c->pool, c->m->file_cnt, sizeof(*names));
	uint32_t i;

	if (names == NULL)
		return memory_out(c);
	for (i = 0; i < c->m->file_cnt; i++) {
		const struct weir_manifest_file *file = &c->m->files[i];

		at(c, "file %" PRIu32, i);
		if (check_name(c, "name", file->name) != 0)
			return c->err->code;
		if (file->name[0] == '.' || strchr(file->name, '/') != NULL)
			return bad(c, "name \"%s\" leaves the data directory", file->name);
		if (file->length < WEIR_PAGE)
			return bad(c, "length %" PRIu64 " has no room for a header", file->length);
		names[i] = file->name;
	}
	at(c, "files");
	return check_unique(c, "name", names, c->m->file_cnt);
}

static int
check_edges(struct check *c)
{
	uint32_t i;

	for (i = 0; i < c->m->edge_cnt; i++) {
		const struct weir_manifest_edge *edge = &c->m->edges[i];

		at(c, "edge %" PRIu32, i);
		if (edge->from_idx >= c->m->operator_cnt || edge->to_idx >= c->m->operator_cnt)
			return bad(c, "names operator %" PRIu32 " of %" PRIu32,
				   edge->from_idx >= c->m->operator_cnt ? edge->from_idx
									: edge->to_idx,
				   c->m->operator_cnt);
		if (check_name(c, "partitioner", edge->partitioner) != 0)
			return c->err->code;
		if (edge->alignment > WEIR_EDGE_UNALIGNED)
			return bad(c, "unknown alignment %" PRIu32, edge->alignment);
	}
	return 0;
}

static int
check_states(struct check *c, const struct weir_manifest_operator *op)
{
	const uint64_t cnt = (uint64_t)op->state_cnt + op->opstate_cnt;
	const char **names = weir_manifest_pool_take(&c->pool, cnt, sizeof(*names));
	uint32_t i;

	if (names == NULL)
		return memory_out(c);
	if (weir_manifest_check_opstates(op, c->err) != 0)
		return c->err->code;
	for (i = 0; i < op->opstate_cnt; i++)
		names[op->state_cnt + i] = op->opstates[i].name;
	for (i = 0; i < op->state_cnt; i++) {
		const struct weir_manifest_state *st = &op->states[i];

		at(c, "operator \"%s\" state %" PRIu32, op->id, i);
		if (check_name(c, "name", st->name) != 0)
			return c->err->code;
		if (st->key_kind > 1)
			return bad(c, "unknown key kind %" PRIu32, st->key_kind);
		if (st->key_kind == 0 ? st->key_bytes == 0 || st->key_bytes > KEY_BYTES_MAX
				      : st->key_bytes != 0)
			return bad(c, "key length %" PRIu32 " does not fit its kind",
				   st->key_bytes);
		if (st->value_bytes == 0 || st->value_bytes > VALUE_BYTES_MAX)
			return bad(c, "value length %" PRIu32 " is not within 1..%u",
				   st->value_bytes, VALUE_BYTES_MAX);
		names[i] = st->name;
	}
	at(c, "operator \"%s\"", op->id);
	return check_unique(c, "state", names, (uint32_t)cnt);
}

static int
check_segment_place(struct check *c, const struct weir_manifest_segment *ms)
{
	const struct weir_segment *seg = &ms->seg;
	uint64_t file_bytes;

	if (ms->file_idx >= c->m->file_cnt)
		return bad(c, "names file %" PRIu32 " of %" PRIu32, ms->file_idx, c->m->file_cnt);
	file_bytes = c->m->files[ms->file_idx].length;
	if (seg->offset == 0 || seg->offset % WEIR_PAGE != 0)
		return bad(c, "offset %" PRIu64 " is no multiple of %d behind the header",
			   seg->offset, WEIR_PAGE);
	if (seg->length == 0 || seg->length % WEIR_PAGE != 0)
		return bad(c, "length %" PRIu64 " is no multiple of %d", seg->length, WEIR_PAGE);
	if (seg->offset > file_bytes || seg->length > file_bytes - seg->offset)
		return bad(c, "%" PRIu64 " bytes at %" PRIu64 " leave the %" PRIu64 " of file %s",
			   seg->length, seg->offset, file_bytes, c->m->files[ms->file_idx].name);
	if (seg->used > seg->length)
		return bad(c, "%" PRIu64 " bytes used of %" PRIu64, seg->used, seg->length);
	return 0;
}

/* Which records of it count. */
static int
check_live(struct check *c, const struct weir_manifest_segment *ms)
{
	const uint32_t words = weir_live_words(ms->seg.page_cnt);

	if (ms->live.len == 0)
		return 0;
	if (ms->seg.kind != WEIR_SEGMENT_STATE || ms->stale)
		return bad(c, "tells records apart, but has none to choose from");
	if (ms->live.len != words * sizeof(uint64_t))
		return bad(c, "%zu bytes say which of %" PRIu32 " records stand", ms->live.len,
			   ms->seg.page_cnt);
	return 0;
}

static int
check_segments(struct check *c, uint32_t operator_idx, uint32_t subtask)
{
	const struct weir_manifest_operator *op = &c->m->operators[operator_idx];
	const struct weir_manifest_subtask *sub = &op->subtasks[subtask];
	uint32_t i;

	for (i = 0; i < sub->segment_cnt; i++) {
		const struct weir_segment *seg = &sub->segments[i].seg;

		at(c, "operator \"%s\" subtask %" PRIu32 " segment %" PRIu32, op->id, subtask, i);
		if (seg->operator_idx != operator_idx || seg->subtask != subtask)
			return bad(c, "belongs to operator %" PRIu32 " subtask %" PRIu32,
				   seg->operator_idx, seg->subtask);
		if (seg->kind < WEIR_SEGMENT_STATE || seg->kind > WEIR_SEGMENT_CANONICAL)
			return bad(c, "kind %" PRIu32 " cannot be here", seg->kind);
		if (weir_segment_is_state(seg) && seg->state_idx >= op->state_cnt)
			return bad(c, "names state %" PRIu32 " of %" PRIu32, seg->state_idx,
				   op->state_cnt);
		if (weir_segment_is_state(seg) && seg->hash_first > seg->hash_last)
			return bad(c, "range of hashes is upside down");
		if (check_segment_place(c, &sub->segments[i]) != 0 ||
		    check_live(c, &sub->segments[i]) != 0)
			return c->err->code;
	}
	return 0;
}

static int
check_subtask(struct check *c, uint32_t operator_idx, uint32_t subtask)
{
	const struct weir_manifest_operator *op = &c->m->operators[operator_idx];
	const struct weir_manifest_subtask *sub = &op->subtasks[subtask];

	at(c, "operator \"%s\" subtask %" PRIu32, op->id, subtask);
	if (sub->dropped_cnt != op->reason_cnt)
		return bad(c, "%" PRIu32 " drop counters for %" PRIu32 " reasons", sub->dropped_cnt,
			   op->reason_cnt);
	if (op->finished && !sub->finished)
		return bad(c, "runs, though its operator is finished");
	if (check_segments(c, operator_idx, subtask) != 0)
		return c->err->code;
	return weir_manifest_check_frames(c->m, &c->pool, operator_idx, subtask, c->err);
}

static int
by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a;
	const uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* A split that two readers have, or one reader twice, would be read twice. */
static int
check_splits(struct check *c, const struct weir_manifest_operator *op)
{
	uint64_t cnt = 0;
	uint32_t *all;
	uint32_t i, j;

	for (i = 0; i < op->subtask_cnt; i++)
		cnt += (uint64_t)op->subtasks[i].finished_split_cnt +
		       op->subtasks[i].current_split_cnt;
	all = weir_manifest_pool_take(&c->pool, cnt, sizeof(*all));
	if (all == NULL)
		return memory_out(c);
	cnt = 0;
	for (i = 0; i < op->subtask_cnt; i++) {
		const struct weir_manifest_subtask *sub = &op->subtasks[i];

		for (j = 0; j < sub->finished_split_cnt; j++)
			all[cnt++] = sub->finished_splits[j];
		for (j = 0; j < sub->current_split_cnt; j++)
			all[cnt++] = sub->current_splits[j].split_idx;
	}
	if (cnt > 1)
		qsort(all, cnt, sizeof(*all), by_number);
	at(c, "operator \"%s\"", op->id);
	for (i = 1; i < cnt; i++)
		if (all[i - 1] == all[i])
			return bad(c, "split %" PRIu32 " has two readers", all[i]);
	return 0;
}

static bool
all_finished(const struct weir_manifest_operator *op)
{
	uint32_t i;

	for (i = 0; i < op->subtask_cnt; i++)
		if (!op->subtasks[i].finished)
			return false;
	return true;
}

static int
check_operator(struct check *c, uint32_t operator_idx)
{
	const struct weir_manifest_operator *op = &c->m->operators[operator_idx];
	uint32_t i;

	at(c, "operator %" PRIu32, operator_idx);
	if (check_name(c, "id", op->id) != 0)
		return c->err->code;
	at(c, "operator \"%s\"", op->id);
	if (check_name(c, "type", op->type) != 0)
		return c->err->code;
	if (op->reason_cnt > WEIR_MANIFEST_REASONS_MAX)
		return bad(c, "%" PRIu32 " reasons, at most %u", op->reason_cnt,
			   WEIR_MANIFEST_REASONS_MAX);
	for (i = 0; i < op->reason_cnt; i++)
		if (check_name(c, "reason", op->reasons[i]) != 0)
			return c->err->code;
	if (op->subtask_cnt == 0 || op->subtask_cnt > c->m->max_parallelism)
		return bad(c, "parallelism %" PRIu32 " is not within 1..%" PRIu32, op->subtask_cnt,
			   c->m->max_parallelism);
	for (i = 0; i < op->subtask_cnt; i++)
		if (check_subtask(c, operator_idx, i) != 0)
			return c->err->code;
	at(c, "operator \"%s\"", op->id);
	if (!op->finished && all_finished(op))
		return bad(c, "runs, though all its subtasks are finished");
	if (check_states(c, op) != 0)
		return c->err->code;
	return check_splits(c, op);
}

static int
check_operators(struct check *c)
{
	const char **ids = weir_manifest_pool_take(&c->pool, c->m->operator_cnt, sizeof(*ids));
	uint32_t i;

	if (ids == NULL)
		return memory_out(c);
	for (i = 0; i < c->m->operator_cnt; i++) {
		if (check_operator(c, i) != 0)
			return c->err->code;
		ids[i] = c->m->operators[i].id;
	}
	at(c, "operators");
	return check_unique(c, "id", ids, c->m->operator_cnt);
}

static int
check_hooks(struct check *c)
{
	const char **names = weir_manifest_pool_take(&c->pool, c->m->hook_cnt, sizeof(*names));
	uint32_t i;

	if (names == NULL)
		return memory_out(c);
	at(c, "hooks");
	for (i = 0; i < c->m->hook_cnt; i++) {
		names[i] = c->m->hooks[i].name;
		if (check_name(c, "name", names[i]) != 0)
			return c->err->code;
	}
	return check_unique(c, "name", names, c->m->hook_cnt);
}

int
weir_manifest_check(const struct weir_manifest *m, struct weir_error *err)
{
	struct weir_error own;
	struct check c = { .m = m, .err = err != NULL ? err : &own };
	int rc;

	rc = check_head(&c);
	if (rc == 0)
		rc = check_files(&c);
	if (rc == 0)
		rc = check_edges(&c);
	if (rc == 0)
		rc = check_operators(&c);
	if (rc == 0)
		rc = check_hooks(&c);
	if (rc == 0)
		rc = weir_manifest_check_overlap(m, &c.pool, c.err);
	if (rc == 0)
		rc = weir_manifest_check_channels(m, &c.pool, c.err);
	weir_manifest_pool_fini(&c.pool);
	return rc;
}

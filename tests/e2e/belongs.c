/*
 * A job for tests of operator state, in versions (job.seed): an operator with a list of each kind
 * behind a rebalance, and one with a map behind a broadcast.
 *
 *   source => watch -> out        marks: a split list of every 64th row; rows: a union list of how
 *         \=> rules -> map        many rows each subtask has had, in text; last: a map of the last
 *                                 number of every key
 *
 * At the end of the input every subtask says what it has: each mark must come once, the counts must
 * sum up to all rows, and the maps must be alike.
 *
 *   BASE
 *   KIND, ITEM, WORDS   marks is a union list, of other items, of items under other words
 *   KEY                 the map's keys are of fixed length
 *   NAME                marks has another name
 *   AT_SOURCE           watch is chained to the source: its subtasks end one after the other (T30)
 *   SMALL               marks has room for a few
 */
#include "tests/e2e/numbered.h"

#include <stdlib.h>

enum version { BASE, KIND, ITEM, WORDS, KEY_LEN, NAME, AT_SOURCE, SMALL };
enum { MARKS, ROWS };
enum { EVERY = 64, LAST = 0 };

struct mark {
	uint64_t key, seq;
};

/* ---- what a subtask has to say ---- */

/* A batch of lines under way. */
struct saying {
	struct weir_out *out;
	uint64_t subtask;
	int rc;
};

static void
say_begin(struct saying *s, struct weir_operator_ctx *ctx, struct weir_out *out)
{
	s->out = out;
	s->subtask = weir_operator_subtask(ctx);
	s->rc = 0;
	(void)weir_out_rows(out);
}

static void
say_now(struct saying *s)
{
	s->out->batch.selected = s->out->batch.rows;
	if (s->rc == 0)
		s->rc = weir_out_emit(s->out);
	(void)weir_out_rows(s->out);
}

static void
say(struct saying *s, const char *text, uint64_t number)
{
	struct weir_batch *b = &s->out->batch;
	const uint32_t len = (uint32_t)strlen(text), i = b->rows;

	((struct weir_bytes *)b->col[TEXT])[i] =
		(struct weir_bytes){ .off = s->out->heap_len, .len = len };
	memcpy(b->heap[TEXT] + s->out->heap_len, text, len);
	s->out->heap_len += len;
	((uint64_t *)b->col[KEY])[i] = 0;
	((uint64_t *)b->col[SEQ])[i] = number;
	((int64_t *)b->col[TIME])[i] = 0;
	((uint64_t *)b->col[FLAG])[i] = s->subtask;
	b->rows++;
	if (b->rows == s->out->cap || s->out->heap_len + 64 > s->out->heap_cap)
		say_now(s);
}

/* ---- watch ---- */

struct watch {
	uint64_t rows;	 /* of this subtask, and of those it answers for */
	uint64_t opened; /* sum of all that were restored */
};

/* R5: everybody sees the counts of all, and goes on with every n-th of them. */
static int
watch_open(struct weir_operator_ctx *ctx)
{
	struct watch *w = weir_operator_local(ctx);
	uint64_t cursor = 0, n = 0;
	const void *item;
	uint32_t len;

	for (; weir_operator_list_next(ctx, ROWS, &cursor, &item, &len); n++) {
		char text[32] = "";
		uint64_t rows;

		if (len >= sizeof(text))
			return weir_operator_fail(ctx, "a count of %u bytes", len);
		memcpy(text, item, len);
		rows = strtoull(text, NULL, 10);
		w->opened += rows;
		if (n % weir_operator_parallelism(ctx) == weir_operator_subtask(ctx))
			w->rows += rows;
	}
	return 0;
}

static int
watch_process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	struct watch *w = weir_operator_local(ctx);
	int rc = 0;

	(void)out;
	for (uint32_t i = 0; i < in->selected && rc == 0; i++) {
		const uint32_t r = weir_row(in, i);
		const struct mark mark = { weir_u64(in, KEY)[r], weir_u64(in, SEQ)[r] };

		if ((mark.seq * KEYS_A_SPLIT + mark.key / SPLITS) % EVERY == 0)
			rc = weir_operator_list_add(ctx, MARKS, &mark, sizeof(mark));
	}
	w->rows += in->selected;
	return rc;
}

static int
watch_flush(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	const struct watch *w = weir_operator_local(ctx);
	char text[32];
	const int len = snprintf(text, sizeof(text), "%llu", (unsigned long long)w->rows);

	(void)out;
	weir_operator_state_clear(ctx, ROWS);
	return weir_operator_list_add(ctx, ROWS, text, (uint32_t)len);
}

static int
watch_end(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	const struct watch *w = weir_operator_local(ctx);
	uint64_t cursor = 0;
	struct saying s;
	const void *item;
	uint32_t len;
	const int rc = watch_flush(ctx, out); /* the last one has come */

	if (rc != 0)
		return rc;
	say_begin(&s, ctx, out);
	say(&s, "rows", w->rows);
	say(&s, "opened", w->opened);
	while (weir_operator_list_next(ctx, MARKS, &cursor, &item, &len)) {
		const struct mark *m = item;
		char text[32];

		snprintf(text, sizeof(text), "m%llu", (unsigned long long)m->key);
		say(&s, text, m->seq);
	}
	say_now(&s);
	return s.rc;
}

static const struct weir_operator_state_decl declared[] = {
	{ .name = "marks",
	  .kind = WEIR_SPLIT_LIST,
	  .item_bytes = sizeof(struct mark),
	  .bytes_max = 1u << 20,
	  .type = "key, number" },
	{ .name = "rows", .kind = WEIR_UNION_LIST },
};
/* As a version has it; the job borrows them. */
static struct weir_operator_state_decl watch_states[2];

static struct weir_operator watch_op = { .name = "watch",
					 .reads = ALL,
					 .out = &numbered,
					 .local_bytes = sizeof(struct watch),
					 .operator_states = watch_states,
					 .operator_state_cnt = 2,
					 .open = watch_open,
					 .process = watch_process,
					 .flush = watch_flush,
					 .end = watch_end };

/* ---- rules ---- */

static int
rules_process(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	int rc = 0;

	(void)out;
	for (uint32_t i = 0; i < in->selected && rc == 0; i++) {
		const uint32_t r = weir_row(in, i);
		const struct weir_bytes b = weir_bytes(in, TEXT)[r];
		const char *key = in->heap[TEXT] + b.off;
		const uint64_t *seq = &weir_u64(in, SEQ)[r];
		uint32_t len = 0;
		const uint64_t *was = weir_operator_map_get(ctx, LAST, key, b.len, &len);

		/* Rows of a key come in order; every tenth is forgotten for a while. */
		if (was != NULL && *was >= *seq)
			return weir_operator_fail(ctx, "%.*s: %llu after %llu", (int)b.len, key,
						  (unsigned long long)*seq,
						  (unsigned long long)*was);
		if (*seq % 10 == 3)
			(void)weir_operator_map_remove(ctx, LAST, key, b.len);
		else
			rc = weir_operator_map_put(ctx, LAST, key, b.len, seq, sizeof(*seq));
	}
	return rc;
}

static int
rules_end(struct weir_operator_ctx *ctx, struct weir_out *out)
{
	uint64_t cursor = 0;
	const void *key, *value;
	uint32_t key_len, len;
	struct saying s;

	say_begin(&s, ctx, out);
	while (weir_operator_map_next(ctx, LAST, &cursor, &key, &key_len, &value, &len)) {
		char text[32];

		snprintf(text, sizeof(text), "l%.*s", (int)key_len, (const char *)key);
		say(&s, text, *(const uint64_t *)value);
	}
	say_now(&s);
	return s.rc;
}

static struct weir_operator_state_decl rules_states[] = {
	{ .name = "last", .kind = WEIR_BROADCAST_MAP, .item_bytes = 8 },
};

static struct weir_operator rules_op = { .name = "rules",
					 .reads = ALL,
					 .out = &numbered,
					 .operator_states = rules_states,
					 .operator_state_cnt = 1,
					 .process = rules_process,
					 .end = rules_end };

/* ---- graph ---- */

static void
declare(enum version v)
{
	memcpy(watch_states, declared, sizeof(declared));
	switch (v) {
	case KIND:
		watch_states[MARKS].kind = WEIR_UNION_LIST;
		break;
	case ITEM:
		watch_states[MARKS].item_bytes = 8;
		break;
	case WORDS:
		watch_states[MARKS].type = "number, key";
		break;
	case KEY_LEN:
		rules_states[LAST].key_bytes = 4;
		break;
	case NAME:
		watch_states[MARKS].name = "notes";
		break;
	case SMALL:
		watch_states[MARKS].bytes_max = 4096;
		break;
	case BASE:
	case AT_SOURCE:
		return;
	}
	if (v != NAME && v != SMALL) {
		watch_op.process = rules_op.process = forget;
		watch_op.open = NULL;
		watch_op.flush = watch_op.end = rules_op.end = NULL;
	}
}

int
weir_job(struct weir_job *job, const struct weir_params *params)
{
	const enum version v = (enum version)weir_param_u64(params, "seed", BASE);
	struct weir_stream *source = weir_source(job, "source", &first);

	declare(v);
	weir_sink(
		weir_process(v == AT_SOURCE ? source : weir_rebalance(source), "watch", &watch_op),
		"out", format_row);
	if (v != AT_SOURCE)
		weir_sink(weir_process(weir_broadcast(source), "rules", &rules_op), "map",
			  format_row);
	return 0;
}

/*
 * What a job must write, from the input alone. Nothing here is shared with the engine: plain lists,
 * sorted and walked.
 */

#include "tests/simulator/sim.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

void
sim_lines_add(struct sim_lines *l, const char *text, size_t len)
{
	if (l->cnt == l->cap) {
		l->cap = l->cap == 0 ? 256 : l->cap * 2;
		l->line = realloc(l->line, l->cap * sizeof(*l->line));
		WEIR_ASSERT(l->line != NULL);
	}
	l->line[l->cnt] = strndup(text, len);
	WEIR_ASSERT(l->line[l->cnt] != NULL);
	l->cnt++;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
sim_lines_sort(struct sim_lines *l)
{
	if (l->cnt > 0)
		qsort(l->line, l->cnt, sizeof(*l->line), by_text);
}

void
sim_lines_free(struct sim_lines *l)
{
	for (uint32_t i = 0; i < l->cnt; i++)
		free(l->line[i]);
	free(l->line);
	*l = (struct sim_lines){ 0 };
}

static void WEIR_PRINTF(2, 3) line(struct sim_lines *l, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sim_lines_add(l, text, (size_t)len);
}

/* ---- items: a group (two numbers or a word), and the value in it ---- */

struct item {
	int64_t a, b;
	char word[32];
	uint64_t value;
	int64_t time_ns;
	uint64_t key;
};

struct items {
	struct item *list;
	uint32_t cnt, cap;
};

static void
add(struct items *l, const struct item *item)
{
	if (l->cnt == l->cap) {
		l->cap = l->cap == 0 ? 256 : l->cap * 2;
		l->list = realloc(l->list, l->cap * sizeof(*l->list));
		WEIR_ASSERT(l->list != NULL);
	}
	l->list[l->cnt++] = *item;
}

static int
by_group(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	if (a->b != b->b)
		return a->b < b->b ? -1 : 1;
	return strcmp(a->word, b->word);
}

static bool
group_next(const struct items *l, uint32_t *from, uint32_t *to)
{
	*from = *to;
	if (*from == l->cnt)
		return false;
	while (*to < l->cnt && by_group(&l->list[*from], &l->list[*to]) == 0)
		(*to)++;
	return true;
}

static void
sort(struct items *l)
{
	if (l->cnt > 0)
		qsort(l->list, l->cnt, sizeof(*l->list), by_group);
}

/* ---- rows ---- */

typedef void (*row_fn)(const struct sim_scenario *s, const struct sim_row *row, uint32_t source,
		       void *arg);

static void
each_row(const struct sim_scenario *s, row_fn fn, void *arg)
{
	for (uint32_t i = 0; i < s->source_cnt; i++)
		for (uint32_t k = 0; k < s->split_cnt[i]; k++)
			for (uint32_t r = 0; r < s->split[i][k].rows; r++) {
				struct sim_row row;

				sim_row_make(s, i, k, r, &row);
				fn(s, &row, i, arg);
			}
}

struct plain {
	struct sim_lines *want;
	uint32_t copies;
};

static void
plain_row(const struct sim_scenario *s, const struct sim_row *row, uint32_t source, void *arg)
{
	const struct plain *p = arg;
	const uint64_t value = s->shape == SIM_TWO_SINKS ? row->value : row->value * 7 + row->key;
	const bool filtered = s->shape == SIM_PASS || s->shape == SIM_REBALANCE;

	(void)source;
	if (filtered && value % 3 == 0)
		return;
	for (uint32_t i = 0; i < p->copies; i++)
		line(p->want, "%llu %llu %lld %s %u", (unsigned long long)row->key,
		     (unsigned long long)value, (long long)row->time_ns, row->word,
		     (uint8_t)(row->key + SIM_PAD - 1));
}

/* The n-th row of each key, with its time. */
struct ordered {
	struct sim_lines *want;
	uint32_t *cnt; /* by key */
};

static void
order_row(const struct sim_scenario *s, const struct sim_row *row, uint32_t source, void *arg)
{
	const struct ordered *o = arg;

	(void)s;
	(void)source;
	line(o->want, "%llu %u %lld", (unsigned long long)row->key, ++o->cnt[row->key],
	     (long long)row->time_ns);
}

static void
expect_order(const struct sim_scenario *s, struct sim_lines *want)
{
	struct ordered o = { want, calloc(s->key_cnt, sizeof(*o.cnt)) };

	WEIR_ASSERT(o.cnt != NULL);
	each_row(s, order_row, &o);
	free(o.cnt);
}

static void
burst_row(const struct sim_scenario *s, const struct sim_row *row, uint32_t source, void *arg)
{
	(void)s;
	(void)source;
	for (uint64_t n = 0; n < row->value % 16; n++)
		line(arg, "%llu 1", (unsigned long long)row->key);
}

static void
group_row(const struct sim_scenario *s, const struct sim_row *row, uint32_t source, void *arg)
{
	struct item item = { .a = (int64_t)row->key, .value = row->value, .key = row->key };

	switch (s->shape) {
	case SIM_FLAT_MAP:
		for (uint64_t n = 0; n < row->value % 4; n++) {
			item.a = (int64_t)(row->key + n);
			add(arg, &item);
		}
		return;
	case SIM_REDUCE_WORD:
		item.a = 0;
		memcpy(item.word, row->word, sizeof(item.word));
		break;
	case SIM_REDUCE_PAIR:
		item.b = (int64_t)row->value;
		break;
	case SIM_UNION:
		if (source == 0)
			item.value = row->value * 7 + row->key;
		break;
	default:
		break;
	}
	add(arg, &item);
}

static void
totals(const struct sim_scenario *s, const struct items *l, struct sim_lines *want)
{
	uint32_t from, to = 0;

	while (group_next(l, &from, &to)) {
		const struct item *g = &l->list[from];
		uint64_t sum = 0, min = UINT64_MAX, max = 0;

		for (uint32_t i = from; i < to; i++) {
			sum += l->list[i].value;
			min = l->list[i].value < min ? l->list[i].value : min;
			max = l->list[i].value > max ? l->list[i].value : max;
		}
		if (s->shape == SIM_REDUCE_WORD)
			line(want, "%s %u %llu", g->word, to - from, (unsigned long long)sum);
		else if (s->shape == SIM_REDUCE_PAIR)
			line(want, "%lld %lld %u", (long long)g->a, (long long)g->b, to - from);
		else if (s->shape == SIM_REDUCE_EACH)
			for (uint32_t n = 1; n <= to - from; n++)
				line(want, "%lld %u", (long long)g->a, n);
		else
			line(want, "%lld %u %llu %llu %llu", (long long)g->a, to - from,
			     (unsigned long long)sum, (unsigned long long)min,
			     (unsigned long long)max);
	}
}

/* For each even count, how many keys reach it. */
static void
levels(const struct items *l, struct sim_lines *want)
{
	uint32_t from, to = 0, highest = 0;

	while (group_next(l, &from, &to))
		highest = to - from > highest ? to - from : highest;
	for (uint32_t level = 2; level <= highest; level += 2) {
		uint32_t keys = 0;

		to = 0;
		while (group_next(l, &from, &to))
			keys += to - from >= level;
		line(want, "%u %u", level, keys);
	}
}

/* ---- time ---- */

static int64_t
floor_to(int64_t t, int64_t unit)
{
	const int64_t rest = ((t % unit) + unit) % unit;

	return t - rest;
}

/* The row in every window that it belongs to: a = window, b = key. */
static void
window_row(const struct sim_scenario *s, const struct sim_row *row, uint32_t source, void *arg)
{
	const int64_t last = floor_to(row->time_ns, s->slide_ns);

	(void)source;
	for (int64_t w = last; w > row->time_ns - s->size_ns; w -= s->slide_ns) {
		const struct item item = {
			.a = w, .b = (int64_t)row->key, .value = row->value, .key = row->key
		};

		add(arg, &item);
	}
}

static void
top_row(const struct sim_scenario *s, const struct sim_row *row, uint32_t source, void *arg)
{
	const struct item item = { .a = floor_to(row->time_ns, s->size_ns),
				   .value = row->value,
				   .time_ns = row->time_ns,
				   .key = row->key };

	(void)source;
	add(arg, &item);
}

static void
windows(const struct items *l, struct sim_lines *want)
{
	uint32_t from, to = 0;

	while (group_next(l, &from, &to)) {
		uint64_t sum = 0, max = 0;

		for (uint32_t i = from; i < to; i++) {
			sum += l->list[i].value;
			max = l->list[i].value > max ? l->list[i].value : max;
		}
		line(want, "%lld %lld %u %llu %llu", (long long)l->list[from].b,
		     (long long)l->list[from].a, to - from, (unsigned long long)sum,
		     (unsigned long long)max);
	}
}

/* Counts per window and key become the values of their window. */
static void
count_windows(struct items *l)
{
	struct items counted = { 0 };
	uint32_t from, to = 0;

	while (group_next(l, &from, &to)) {
		const struct item item = { .a = l->list[from].a,
					   .value = to - from,
					   .key = l->list[from].key,
					   .time_ns = l->list[from].a };

		add(&counted, &item);
	}
	free(l->list);
	*l = counted;
}

static void
best(const struct sim_scenario *s, const struct items *l, struct sim_lines *want)
{
	uint32_t from, to = 0;

	while (group_next(l, &from, &to)) {
		uint64_t max = 0;

		for (uint32_t i = from; i < to; i++)
			max = l->list[i].value > max ? l->list[i].value : max;
		for (uint32_t i = from; i < to; i++) {
			const struct item *r = &l->list[i];

			if (r->value != max)
				continue;
			if (s->shape == SIM_TOP)
				line(want, "%lld %llu %llu %lld", (long long)r->a,
				     (unsigned long long)r->key, (unsigned long long)r->value,
				     (long long)r->time_ns);
			else
				line(want, "%lld %llu %lld %llu", (long long)r->a,
				     (unsigned long long)r->key, (long long)r->a,
				     (unsigned long long)r->value);
		}
	}
}

/* ---- */

static void
expect_grouped(const struct sim_scenario *s, struct sim_lines *want)
{
	struct items l = { 0 };

	switch (s->shape) {
	case SIM_WINDOW:
	case SIM_WINDOW_TOP:
	case SIM_UNION_WINDOW:
		each_row(s, window_row, &l);
		break;
	case SIM_TOP:
		each_row(s, top_row, &l);
		break;
	default:
		each_row(s, group_row, &l);
	}
	sort(&l);
	switch (s->shape) {
	case SIM_WINDOW:
	case SIM_UNION_WINDOW:
		windows(&l, want);
		break;
	case SIM_WINDOW_TOP:
		count_windows(&l);
		best(s, &l, want);
		break;
	case SIM_TOP:
		best(s, &l, want);
		break;
	case SIM_TWO_STAGES:
		levels(&l, want);
		break;
	default:
		totals(s, &l, want);
	}
	free(l.list);
}

void
sim_expect(const struct sim_scenario *s, uint32_t last_parallelism, struct sim_lines *want)
{
	struct plain plain = { want, s->shape == SIM_BROADCAST ? last_parallelism : 1 };
	const bool rows = s->shape == SIM_PASS || s->shape == SIM_REBALANCE ||
			  s->shape == SIM_BROADCAST || s->shape == SIM_MIXED;

	if (s->shape == SIM_ORDER || s->shape == SIM_BURST) {
		if (s->shape == SIM_ORDER)
			expect_order(s, want);
		else
			each_row(s, burst_row, want);
		sim_lines_sort(want);
		return;
	}
	if (rows || s->shape == SIM_TWO_SINKS)
		each_row(s, plain_row, &plain);
	if (!rows)
		expect_grouped(s, want);
	sim_lines_sort(want);
}

static void
count_row(const struct sim_scenario *s, const struct sim_row *row, uint32_t source, void *arg)
{
	(void)s;
	(void)source;
	((uint64_t *)arg)[row->key]++;
}

void
sim_expect_counts(const struct sim_scenario *s, uint64_t *cnt)
{
	each_row(s, count_row, cnt);
}

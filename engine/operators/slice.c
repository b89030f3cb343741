#include "engine/operators/slice.h"

#include <string.h>

_Static_assert(WEIR_SLICE_ROWS < WEIR_SLICE_INDEX, "a probe meets a free place");
_Static_assert(WEIR_SLICE_INDEX <= UINT16_MAX, "numbers of rows fit");

/* The pane at or behind ns, if it is one of the window's. */
static struct weir_table *
pane_from(const struct weir_slice *s, int64_t ns)
{
	struct weir_table *t = weir_kstate_table_from(s->panes, ns);

	return t != NULL && weir_table_ns(t) < s->end_ns ? t : NULL;
}

static struct weir_table *
pane_after(const struct weir_slice *s, const struct weir_table *t)
{
	/* Below end_ns, so one more is no overflow. */
	return pane_from(s, weir_table_ns(t) + 1);
}

void
weir_slice_begin(struct weir_slice *s, struct weir_kstate *panes, const struct weir_aggs *aggs,
		 int64_t from_ns, int64_t end_ns, uint32_t want)
{
	const struct weir_kstate_spec *spec = &panes->spec;
	uint64_t entries = 0, parts;

	s->panes = panes;
	s->aggs = aggs;
	s->from_ns = from_ns;
	s->end_ns = end_ns;
	s->row_bytes = (uint32_t)sizeof(struct weir_slice_row) + weir_aggs_bytes(aggs);
	s->first = spec->hash_first;
	s->cnt = 0;
	for (struct weir_table *t = pane_from(s, from_ns); t != NULL; t = pane_after(s, t))
		entries += weir_table_count(t);
	parts = entries / want + 1;
	/* One slice of the whole range: its width may not fit in 64 bits. */
	s->width = parts == 1 ? UINT64_MAX : (spec->hash_last - spec->hash_first) / parts + 1;
}

static void
put_row(struct weir_slice *s, const struct weir_table_entry *e)
{
	struct weir_slice_row *row = weir_slice_row(s, s->cnt++);

	row->hash = e->hash;
	row->key_u64 = e->key_u64;
	row->key = e->key == &e->key_u64 ? NULL : e->key;
	row->key_len = e->key_len;
	memcpy(row->acc, e->value, weir_aggs_bytes(s->aggs));
}

static bool
same_key(const struct weir_slice_row *row, const struct weir_table_entry *e)
{
	if (row->hash != e->hash || row->key_len != e->key_len)
		return false;
	return row->key == NULL ? row->key_u64 == e->key_u64
				: memcmp(row->key, e->key, e->key_len) == 0;
}

/* Entries of a pane into their rows; false: too many. */
static bool
merge(struct weir_slice *s, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		const struct weir_table_entry *e = &s->entry[i];
		/* A slice's hashes have their upper bits in common. */
		uint32_t at = (uint32_t)(weir_mix(e->hash) % WEIR_SLICE_INDEX);
		struct weir_slice_row *row = NULL;

		while (s->index[at] != 0) {
			row = weir_slice_row(s, s->index[at] - 1u);
			if (same_key(row, e))
				break;
			at = (at + 1) % WEIR_SLICE_INDEX;
		}
		if (s->index[at] != 0) {
			weir_aggs_merge(s->aggs, row->acc, e->value);
			continue;
		}
		if (s->cnt == WEIR_SLICE_ROWS)
			return false;
		put_row(s, e);
		s->index[at] = (uint16_t)s->cnt;
	}
	return true;
}

/* The only pane: no key comes twice. */
static bool
append(struct weir_slice *s, uint32_t cnt)
{
	if (cnt > WEIR_SLICE_ROWS - s->cnt)
		return false;
	for (uint32_t i = 0; i < cnt; i++)
		put_row(s, &s->entry[i]);
	return true;
}

static bool
gather(struct weir_slice *s, uint32_t *met)
{
	const struct weir_table_scan scan = { .hash_first = s->first, .hash_last = s->last };
	struct weir_table *t = pane_from(s, s->from_ns);
	const bool one = t != NULL && pane_after(s, t) == NULL;

	s->cnt = 0;
	if (!one)
		memset(s->index, 0, sizeof(s->index));
	for (; t != NULL; t = pane_after(s, t)) {
		uint64_t cursor = 0;
		uint32_t cnt;

		while ((cnt = weir_table_next(t, &scan, &cursor, s->entry, WEIR_SLICE_CHUNK)) > 0) {
			*met += cnt;
			if (one ? !append(s, cnt) : !merge(s, cnt))
				return false;
		}
	}
	return true;
}

bool
weir_slice_gather(struct weir_slice *s, uint32_t *met)
{
	const uint64_t end = s->panes->spec.hash_last;

	*met = 0;
	for (;;) {
		s->last = s->width < end - s->first ? s->first + s->width - 1 : end;
		if (gather(s, met))
			return true;
		if (s->last == s->first)
			return false;
		s->width = (s->last - s->first) / 2 + 1;
	}
}

#include "engine/operators/agg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
weir_aggs_init(struct weir_aggs *aggs, const struct weir_type *in, const struct weir_agg *agg,
	       uint32_t cnt)
{
	*aggs = (struct weir_aggs){ .cnt = cnt };
	if (cnt == 0 || cnt > WEIR_AGGS_MAX)
		return false;
	for (uint32_t a = 0; a < cnt; a++) {
		aggs->agg[a] = agg[a];
		if (agg[a].fn == WEIR_COUNT)
			continue;
		if (agg[a].column >= in->column_cnt)
			return false;
		switch (in->columns[agg[a].column].kind) {
		case WEIR_KIND_U64:
			break;
		case WEIR_KIND_I64:
		case WEIR_KIND_TIME:
			aggs->as_signed[a] = true;
			break;
		default:
			return false;
		}
		aggs->seen |= agg[a].fn != WEIR_SUM;
	}
	return true;
}

WEIR_INLINE bool
takes_over(enum weir_agg_fn fn, bool as_signed, uint64_t now, uint64_t v)
{
	if (fn == WEIR_MIN)
		return as_signed ? (int64_t)v < (int64_t)now : v < now;
	return as_signed ? (int64_t)v > (int64_t)now : v > now;
}

static void
add_one(const struct weir_aggs *aggs, uint32_t a, const struct weir_batch *in, void *const *acc)
{
	const uint64_t *v;

	if (aggs->agg[a].fn == WEIR_COUNT) {
		for (uint32_t i = 0; i < in->selected; i++)
			((uint64_t *)acc[i])[a]++;
		return;
	}
	v = weir_u64(in, aggs->agg[a].column);
	for (uint32_t i = 0; i < in->selected; i++)
		((uint64_t *)acc[i])[a] += v[weir_row(in, i)];
}

void
weir_aggs_add(const struct weir_aggs *aggs, const struct weir_batch *in, void *const *acc)
{
	if (!aggs->seen) {
		for (uint32_t a = 0; a < aggs->cnt; a++)
			add_one(aggs, a, in, acc);
		return;
	}
	/* Row by row where zero means "none yet": all aggregates of a row see the same counter. */
	for (uint32_t i = 0; i < in->selected; i++) {
		uint64_t *to = acc[i];
		const uint32_t r = weir_row(in, i);

		for (uint32_t a = 0; a < aggs->cnt; a++) {
			const enum weir_agg_fn fn = aggs->agg[a].fn;
			const uint64_t x =
				fn == WEIR_COUNT ? 1 : weir_u64(in, aggs->agg[a].column)[r];

			if (fn == WEIR_COUNT || fn == WEIR_SUM)
				to[a] += x;
			else if (to[aggs->cnt] == 0 || takes_over(fn, aggs->as_signed[a], to[a], x))
				to[a] = x;
		}
		to[aggs->cnt]++;
	}
}

void
weir_aggs_merge(const struct weir_aggs *aggs, uint64_t *into, const uint64_t *from)
{
	for (uint32_t a = 0; a < aggs->cnt; a++) {
		const enum weir_agg_fn fn = aggs->agg[a].fn;

		if (fn == WEIR_COUNT || fn == WEIR_SUM)
			into[a] += from[a];
		else if (from[aggs->cnt] != 0 &&
			 (into[aggs->cnt] == 0 ||
			  takes_over(fn, aggs->as_signed[a], into[a], from[a])))
			into[a] = from[a];
	}
	if (aggs->seen)
		into[aggs->cnt] += from[aggs->cnt];
}

struct weir_aggs
weir_aggs_of_partials(const struct weir_aggs *aggs, uint32_t first)
{
	struct weir_aggs p = *aggs;

	for (uint32_t a = 0; a < p.cnt; a++) {
		p.agg[a].column = first + a;
		if (p.agg[a].fn == WEIR_COUNT)
			p.agg[a].fn = WEIR_SUM;
	}
	return p;
}

static const char *const agg_names[] = { "count", "sum", "min", "max" };

void
weir_aggs_print(const struct weir_aggs *aggs, const struct weir_type *in, char *text, size_t room)
{
	size_t at = 0;

	for (uint32_t a = 0; a < aggs->cnt && at < room; a++) {
		const struct weir_agg *g = &aggs->agg[a];

		at += (size_t)snprintf(text + at, room - at, "%s%s", a > 0 ? ", " : "",
				       agg_names[g->fn]);
		if (g->fn != WEIR_COUNT && at < room)
			at += (size_t)snprintf(text + at, room - at, "(%s)",
					       in->columns[g->column].name);
	}
}

struct weir_type *
weir_aggs_type(const struct weir_type *in, const struct weir_key *key, const char *time,
	       const struct weir_aggs *aggs, bool all_of_in)
{
	const uint32_t lead = all_of_in ? in->column_cnt : key->cnt;
	const uint32_t cnt = lead + (time != NULL) + aggs->cnt;
	struct weir_type *type;
	struct weir_column *col;
	uint32_t n = 0;

	if (cnt > WEIR_COLUMNS_MAX)
		return NULL;
	type = calloc(1, sizeof(*type) + cnt * sizeof(*col));
	if (type == NULL)
		return NULL;
	col = (struct weir_column *)(void *)(type + 1);
	for (uint32_t c = 0; c < lead; c++)
		col[n++] = in->columns[all_of_in ? c : key->column[c]];
	if (time != NULL)
		col[n++] = (struct weir_column)WEIR_TIME(time);
	for (uint32_t a = 0; a < aggs->cnt; a++)
		col[n++] = (struct weir_column)WEIR_U64(agg_names[aggs->agg[a].fn]);
	*type = (struct weir_type){ .name = in->name, .column_cnt = n, .columns = col };
	return type;
}

bool
weir_aggs_put_key(struct weir_out *out, const struct weir_key *key, uint32_t r, const void *bytes,
		  uint32_t len)
{
	const char *from = bytes;

	if (key->bytes == 0) {
		if (len > out->heap_cap - out->heap_len)
			return false;
		memcpy(out->heap + out->heap_len, bytes, len);
		((struct weir_bytes *)out->own[0])[r] =
			(struct weir_bytes){ .off = out->heap_len, .len = len };
		out->heap_len += len;
		return true;
	}
	for (uint32_t k = 0; k < key->cnt; k++) {
		memcpy((char *)out->own[k] + (size_t)r * key->width[k], from, key->width[k]);
		from += key->width[k];
	}
	return true;
}

#include "engine/core/enumerator.h"

#include <stdlib.h>
#include <string.h>

/* The bytes of a list: u64 number of splits; per split this, then the name; then per split one
 * byte, 1: it was handed out. */
struct record {
	uint32_t name_len;
	uint32_t reserved;
	uint64_t begin, end;
	int64_t hold_ns;
	uint64_t word[4];
};

static int
prepare(struct weir_enumerator *e, struct weir_error *err)
{
	const uint32_t cnt = e->list.cnt;

	e->given = calloc(cnt + 1, sizeof(*e->given));
	e->taken = calloc(cnt + 1, sizeof(*e->taken));
	e->hold_from = calloc(cnt + 1, sizeof(*e->hold_from));
	if (e->given == NULL || e->taken == NULL || e->hold_from == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "no memory for %u splits", cnt);
	for (uint32_t i = 0; i < cnt; i++)
		e->given[i] = (struct weir_split_given){ .idx = i, .split = e->list.split[i] };
	return 0;
}

int
weir_enumerator_list(struct weir_enumerator *e, const struct weir_connector *connector,
		     const struct weir_params *params, uint32_t parallelism, struct weir_error *err)
{
	int rc = connector->enumerate(params, parallelism, (struct weir_splits *)&e->list);

	if (rc != 0) {
		if (e->list.error.code == WEIR_OK)
			weir_fail(&e->list.error, rc, "the source '%s' failed to list its input",
				  connector->name);
		*err = e->list.error;
		return rc;
	}
	return prepare(e, err);
}

void
weir_enumerator_fini(struct weir_enumerator *e)
{
	weir_split_list_fini(&e->list);
	free(e->given);
	free(e->taken);
	free(e->hold_from);
	free(e->handed_out);
}

void
weir_enumerator_take(struct weir_enumerator *e, uint32_t idx)
{
	WEIR_ASSERT(idx < e->list.cnt);
	e->taken[idx] = true;
}

void
weir_enumerator_ready(struct weir_enumerator *e)
{
	int64_t hold = WEIR_TIME_END;

	e->hold_from[e->list.cnt] = hold;
	for (uint32_t i = e->list.cnt; i-- > 0;) {
		if (!e->taken[i] && e->list.split[i].hold_ns < hold)
			hold = e->list.split[i].hold_ns;
		e->hold_from[i] = hold;
	}
	e->next = 0;
}

struct weir_split_given *
weir_enumerator_next(struct weir_enumerator *e)
{
	while (e->next < e->list.cnt && e->taken[e->next])
		e->next++;
	return e->next < e->list.cnt ? &e->given[e->next++] : NULL;
}

bool
weir_enumerator_left(const struct weir_enumerator *e)
{
	for (uint32_t i = e->next; i < e->list.cnt; i++)
		if (!e->taken[i])
			return true;
	return false;
}

int
weir_enumerator_check(const struct weir_enumerator *e, struct weir_error *err)
{
	for (uint32_t i = 0; e->handed_out != NULL && i < e->list.cnt; i++)
		if (e->handed_out[i] != e->taken[i])
			return weir_fail(err, WEIR_ERR_DATA,
					 e->handed_out[i]
						 ? "split %u (%s) was handed out, and no subtask "
						   "knows it"
						 : "split %u (%s) was not handed out, and a "
						   "subtask knows it",
					 i, e->list.split[i].name);
	return 0;
}

int64_t
weir_enumerator_hold(const struct weir_enumerator *e)
{
	return e->hold_from[e->next];
}

void *
weir_enumerator_encode(const struct weir_enumerator *e, size_t *len)
{
	size_t bytes = sizeof(uint64_t);
	char *buf, *at;
	const uint64_t cnt = e->list.cnt;

	for (uint32_t i = 0; i < e->list.cnt; i++)
		bytes += sizeof(struct record) + strlen(e->list.split[i].name) + 1;
	buf = malloc(bytes);
	if (buf == NULL)
		return NULL;
	memcpy(buf, &cnt, sizeof(cnt));
	at = buf + sizeof(cnt);
	for (uint32_t i = 0; i < e->list.cnt; i++) {
		const struct weir_split *s = &e->list.split[i];
		struct record r = { .name_len = (uint32_t)strlen(s->name),
				    .begin = s->begin,
				    .end = s->end,
				    .hold_ns = s->hold_ns };

		memcpy(r.word, s->word, sizeof(r.word));
		memcpy(at, &r, sizeof(r));
		memcpy(at + sizeof(r), s->name, r.name_len);
		at += sizeof(r) + r.name_len;
	}
	for (uint32_t i = 0; i < e->list.cnt; i++)
		*at++ = i < e->next || e->taken[i];
	*len = bytes;
	return buf;
}

static int
decode_handed_out(struct weir_enumerator *e, const char *at, size_t len, struct weir_error *err)
{
	if (len == 0)
		return 0; /* of a version that did not say */
	if (len != e->list.cnt)
		return weir_fail(err, WEIR_ERR_DATA, "the list of splits has a strange length");
	e->handed_out = calloc(len, sizeof(*e->handed_out));
	if (e->handed_out == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "no memory for %u splits", e->list.cnt);
	for (size_t i = 0; i < len; i++)
		e->handed_out[i] = at[i] == 1;
	return 0;
}

int
weir_enumerator_decode(struct weir_enumerator *e, const void *bytes, size_t len,
		       struct weir_error *err)
{
	const char *at = bytes;
	const char *end = at + len;
	uint64_t cnt;

	if (len < sizeof(cnt))
		return weir_fail(err, WEIR_ERR_DATA, "the list of splits is cut short");
	memcpy(&cnt, at, sizeof(cnt));
	at += sizeof(cnt);
	for (uint64_t i = 0; i < cnt; i++) {
		struct record r;
		struct weir_split s = { 0 };
		char *name;
		int rc;

		if ((size_t)(end - at) < sizeof(r))
			return weir_fail(err, WEIR_ERR_DATA, "the list of splits is cut short");
		memcpy(&r, at, sizeof(r));
		at += sizeof(r);
		if ((size_t)(end - at) < r.name_len)
			return weir_fail(err, WEIR_ERR_DATA, "the list of splits is cut short");
		name = strndup(at, r.name_len);
		at += r.name_len;
		s = (struct weir_split){
			.name = name, .begin = r.begin, .end = r.end, .hold_ns = r.hold_ns
		};
		memcpy(s.word, r.word, sizeof(s.word));
		rc = name != NULL ? weir_splits_add((struct weir_splits *)&e->list, &s)
				  : WEIR_ERR_FAILED;
		free(name);
		if (rc != 0)
			return weir_fail(err, WEIR_ERR_FAILED, "no memory for the list of splits");
	}
	if (decode_handed_out(e, at, (size_t)(end - at), err) != 0)
		return err->code;
	return prepare(e, err);
}

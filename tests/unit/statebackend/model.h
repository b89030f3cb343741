#ifndef TESTS_UNIT_STATEBACKEND_MODEL_H
#define TESTS_UNIT_STATEBACKEND_MODEL_H

/*
 * The slow, obvious model of keyed state: one growing array of {namespace, key, value} with chains.
 * For tests only; uses the heap.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "statebackend/backend.h"

struct model_entry {
	int64_t ns;
	uint64_t hash;
	uint64_t value; /* first 8 bytes of the value, or as many as it has */
	uint32_t next;	/* chain, index + 1 */
	uint32_t len;
	bool alive;
	uint8_t *key;
};

struct model {
	struct model_entry *e;
	uint32_t cnt, cap;
	uint32_t *chains;
	uint32_t chain_cnt;
	uint64_t alive;
};

static inline void
model_init(struct model *m)
{
	memset(m, 0, sizeof(*m));
	m->chain_cnt = 1u << 16;
	m->chains = calloc(m->chain_cnt, sizeof(*m->chains));
}

static inline void
model_fini(struct model *m)
{
	for (uint32_t i = 0; i < m->cnt; i++)
		free(m->e[i].key);
	free(m->e);
	free(m->chains);
}

static inline uint32_t *
model_chain(struct model *m, int64_t ns, uint64_t hash)
{
	return &m->chains[weir_mix(hash ^ (uint64_t)ns * 31) % m->chain_cnt];
}

static inline struct model_entry *
model_find(struct model *m, int64_t ns, const void *key, uint32_t len, uint64_t hash)
{
	uint32_t at = *model_chain(m, ns, hash);

	while (at != 0) {
		struct model_entry *e = &m->e[at - 1];

		if (e->ns == ns && e->len == len && (len == 0 || memcmp(e->key, key, len) == 0))
			return e;
		at = e->next;
	}
	return NULL;
}

static inline struct model_entry *
model_put(struct model *m, int64_t ns, const void *key, uint32_t len, uint64_t hash)
{
	struct model_entry *e = model_find(m, ns, key, len, hash);

	if (e == NULL) {
		if (m->cnt == m->cap) {
			m->cap = m->cap ? m->cap * 2 : 1024;
			m->e = realloc(m->e, m->cap * sizeof(*m->e));
		}
		e = &m->e[m->cnt++];
		memset(e, 0, sizeof(*e));
		e->ns = ns;
		e->hash = hash;
		e->len = len;
		e->key = malloc(len + 1);
		if (len > 0)
			memcpy(e->key, key, len);
		e->next = *model_chain(m, ns, hash);
		*model_chain(m, ns, hash) = m->cnt;
	}
	if (!e->alive) {
		e->alive = true;
		e->value = 0;
		m->alive++;
	}
	return e;
}

static inline bool
model_remove(struct model *m, int64_t ns, const void *key, uint32_t len, uint64_t hash)
{
	struct model_entry *e = model_find(m, ns, key, len, hash);

	if (e == NULL || !e->alive)
		return false;
	e->alive = false;
	m->alive--;
	return true;
}

static inline void
model_drop(struct model *m, int64_t ns)
{
	for (uint32_t i = 0; i < m->cnt; i++) {
		if (m->e[i].ns == ns && m->e[i].alive) {
			m->e[i].alive = false;
			m->alive--;
		}
	}
}

/* All that is alive in one, into another. */
static inline void
model_add(struct model *to, const struct model *m)
{
	for (uint32_t i = 0; i < m->cnt; i++) {
		const struct model_entry *e = &m->e[i];

		if (e->alive)
			model_put(to, e->ns, e->key, e->len, e->hash)->value = e->value;
	}
}

static inline struct model
model_copy(const struct model *m)
{
	struct model c;

	model_init(&c);
	model_add(&c, m);
	return c;
}

/*
 * Is the kstate the model's alive entries with lo <= hash <= hi, and nothing else? 0, or which
 * check failed.
 */
static inline int
model_differs(struct model *m, struct weir_kstate *st, uint64_t lo, uint64_t hi)
{
	const uint32_t width = st->spec.value_bytes < 8 ? st->spec.value_bytes : 8;
	uint64_t want = 0, got = 0;

	for (uint32_t i = 0; i < m->cnt; i++)
		want += m->e[i].alive && m->e[i].hash >= lo && m->e[i].hash <= hi;
	for (struct weir_table *t = weir_kstate_table_from(st, INT64_MIN); t != NULL;
	     t = weir_table_ns(t) == INT64_MAX ? NULL
					       : weir_kstate_table_from(st, weir_table_ns(t) + 1)) {
		uint64_t cursor = 0, met = 0;
		struct weir_table_entry out[100];
		uint32_t n;

		while ((n = weir_table_next(t, &WEIR_TABLE_SCAN_READ, &cursor, out, 100)) > 0) {
			for (uint32_t i = 0; i < n; i++) {
				const struct model_entry *e =
					model_find(m, weir_table_ns(t), out[i].key, out[i].key_len,
						   out[i].hash);

				if (e == NULL || !e->alive || e->hash < lo || e->hash > hi)
					return 1;
				if (memcmp(&e->value, out[i].value, width) != 0)
					return 2;
				if (weir_table_get(t, e->key, e->len, e->hash) != out[i].value)
					return 3;
			}
			met += n;
		}
		if (met != weir_table_count(t))
			return 4;
		got += met;
	}
	return got == want ? 0 : 5;
}

#endif /* TESTS_UNIT_STATEBACKEND_MODEL_H */

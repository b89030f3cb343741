/*
 * Which manifests, as far as they may be on the disk, name which data files (K10): a file goes only
 * when none does any more. A manifest is taken to be there from the moment when its writing begins
 * until its removal is durable; one whose removal fails keeps its files until the next start.
 */
#include "engine/core/master_priv.h"

#include <stdlib.h>
#include <string.h>

void
weir_master_names_add(struct weir_master *m, uint64_t id, const uint64_t *files, uint32_t cnt)
{
	struct weir_master_names *n = malloc(sizeof(*n) + cnt * sizeof(n->files[0]));

	WEIR_ASSERT(n != NULL);
	n->id = id;
	n->file_cnt = cnt;
	if (cnt > 0)
		memcpy(n->files, files, cnt * sizeof(n->files[0]));
	n->next = m->names;
	m->names = n;
}

static bool
is_named(const struct weir_master *m, uint64_t file)
{
	for (const struct weir_master_names *n = m->names; n != NULL; n = n->next)
		for (uint32_t i = 0; i < n->file_cnt; i++)
			if (n->files[i] == file)
				return true;
	return false;
}

void
weir_master_discard(struct weir_master *m, const uint64_t *files, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		if (!is_named(m, files[i])) {
			weir_master_delete(m, 0, &files[i], 1, false);
			continue;
		}
		if (m->waiting_cnt == m->waiting_cap) {
			m->waiting_cap = m->waiting_cap == 0 ? 64 : m->waiting_cap * 2;
			m->waiting = realloc(m->waiting, m->waiting_cap * sizeof(*m->waiting));
			WEIR_ASSERT(m->waiting != NULL);
		}
		m->waiting[m->waiting_cnt++] = files[i];
	}
}

void
weir_master_names_remove(struct weir_master *m, uint64_t id)
{
	uint32_t kept = 0;

	for (struct weir_master_names **at = &m->names; *at != NULL;) {
		struct weir_master_names *n = *at;

		if (n->id != id) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		free(n);
	}
	for (uint32_t i = 0; i < m->waiting_cnt; i++) {
		if (is_named(m, m->waiting[i]))
			m->waiting[kept++] = m->waiting[i];
		else
			weir_master_delete(m, 0, &m->waiting[i], 1, false);
	}
	m->waiting_cnt = kept;
}

void
weir_master_names_free(struct weir_master *m)
{
	while (m->names != NULL) {
		struct weir_master_names *next = m->names->next;

		free(m->names);
		m->names = next;
	}
	free(m->waiting);
}

/*
 * Segments of data files: what each file holds, and what a checkpoint has in files of its own and
 * of earlier checkpoints (S9). A file that a manifest names is in it whole, also what is of no use
 * any more, so that whoever verifies it can prove every byte.
 */
#include "engine/core/master_priv.h"

#include <stdlib.h>
#include <string.h>

void
weir_master_hold_file(struct weir_master *m, uint64_t number, const struct weir_core_file *f)
{
	struct weir_master_file *file = &m->file[number];

	file->checkpoint = f->checkpoint;
	file->core = f->core;
	file->segments = calloc(f->segment_cnt + 1, sizeof(*file->segments));
	WEIR_ASSERT(file->segments != NULL);
	memcpy(file->segments, f->segments, f->segment_cnt * sizeof(*file->segments));
	file->segment_cnt = f->segment_cnt;
	if (m->held_cnt == m->held_cap) {
		m->held_cap = m->held_cap == 0 ? 64 : m->held_cap * 2;
		m->held = realloc(m->held, m->held_cap * sizeof(*m->held));
		WEIR_ASSERT(m->held != NULL);
	}
	m->held[m->held_cnt++] = number;
}

void
weir_master_forget_file(struct weir_master *m, uint64_t number)
{
	for (uint64_t i = 0; i < m->held_cnt; i++)
		if (m->held[i] == number) {
			m->held[i] = m->held[--m->held_cnt];
			free(m->file[number].segments);
			m->file[number].segments = NULL;
			m->file[number].segment_cnt = 0;
			return;
		}
}

/* Number of the core's file of a checkpoint; UINT64_MAX: there is none. */
static uint64_t
held(const struct weir_master *m, uint64_t checkpoint, uint32_t core)
{
	for (uint64_t i = 0; i < m->held_cnt; i++) {
		const struct weir_master_file *f = &m->file[m->held[i]];

		if (f->checkpoint == checkpoint && f->core == core && f->dir == NULL)
			return m->held[i];
	}
	return UINT64_MAX;
}

/* Earlier files that f names, each once. False: one is not known. */
static bool
find_files(const struct weir_master *m, const struct weir_core_file *f,
	   struct weir_master_segments *s)
{
	for (uint32_t i = 0; i < f->ref_cnt; i++) {
		const uint64_t number = held(m, f->refs[i].checkpoint, f->core);
		uint32_t k = 1;

		if (number == UINT64_MAX || f->refs[i].number >= m->file[number].segment_cnt)
			return false;
		while (k < s->file_cnt && s->file[k] != number)
			k++;
		if (k == s->file_cnt)
			s->file[s->file_cnt++] = number;
	}
	return true;
}

static struct weir_manifest_segment *
entry_of(const struct weir_master *m, const struct weir_master_segments *s,
	 const struct weir_segment_ref *ref)
{
	struct weir_manifest_segment *at = s->at + m->file[s->file[0]].segment_cnt;

	for (uint32_t k = 1; k < s->file_cnt; k++) {
		if (m->file[s->file[k]].checkpoint == ref->checkpoint)
			return at + ref->number;
		at += m->file[s->file[k]].segment_cnt;
	}
	return NULL;
}

static void
put_refs(const struct weir_master *m, const struct weir_core_file *f,
	 struct weir_master_segments *s, uint64_t *words)
{
	for (uint32_t i = 0; i < f->ref_cnt; i++) {
		const uint32_t cnt = weir_live_words(f->refs[i].record_cnt);
		struct weir_manifest_segment *e = entry_of(m, s, &f->refs[i]);

		memcpy(words, f->refs[i].live, cnt * sizeof(*words));
		e->stale = false;
		e->live = (struct weir_blob){ words, cnt * sizeof(*words) };
		s->live_bytes += f->refs[i].live_bytes;
		words += cnt;
	}
}

struct weir_master_segments *
weir_master_segments_new(const struct weir_master *m, const struct weir_core_file *f,
			 uint64_t number)
{
	struct weir_master_segments *s = calloc(1, sizeof(*s));
	uint64_t words = 0;

	WEIR_ASSERT(s != NULL);
	s->file = calloc(f->ref_cnt + 1u, sizeof(*s->file));
	WEIR_ASSERT(s->file != NULL);
	s->file[s->file_cnt++] = number;
	if (!find_files(m, f, s)) {
		weir_master_segments_free(s);
		return NULL;
	}
	for (uint32_t k = 0; k < s->file_cnt; k++)
		s->segment_cnt += m->file[s->file[k]].segment_cnt;
	for (uint32_t i = 0; i < f->ref_cnt; i++)
		words += weir_live_words(f->refs[i].record_cnt);
	s->at = calloc(s->segment_cnt + 1u, sizeof(*s->at));
	s->words = calloc(words + 1u, sizeof(*s->words));
	WEIR_ASSERT(s->at != NULL);
	WEIR_ASSERT(s->words != NULL);
	for (uint32_t k = 0, n = 0; k < s->file_cnt; k++)
		for (uint32_t i = 0; i < m->file[s->file[k]].segment_cnt; i++, n++)
			s->at[n] = (struct weir_manifest_segment){
				.seg = m->file[s->file[k]].segments[i],
				.file_idx = k,
				.stale = k > 0,
			};
	put_refs(m, f, s, s->words);
	return s;
}

void
weir_master_segments_free(struct weir_master_segments *s)
{
	if (s == NULL)
		return;
	free(s->file);
	free(s->at);
	free(s->words);
	free(s);
}

struct weir_part *
weir_master_parts(const struct weir_master *m, const struct weir_master_segments *s, uint32_t *cnt)
{
	struct weir_part *parts = calloc(s->file_cnt, sizeof(*parts));

	WEIR_ASSERT(parts != NULL);
	/* K2: what a savepoint has is its own. */
	parts[0].kind = m->file[s->file[0]].dir != NULL ? WEIR_PART_PRIVATE : WEIR_PART_SHARED;
	for (uint32_t k = 0; k < s->file_cnt; k++) {
		if (k > 0)
			parts[k].kind = WEIR_PART_REF;
		parts[k].file = s->file[k];
		parts[k].key = s->file[k] + 1;
	}
	*cnt = s->file_cnt;
	return parts;
}

#include "engine/checkpoint/registry.h"

#include "engine/base/plant.h"
#include "engine/checkpoint/grow.h"

#include <stdlib.h>
#include <string.h>

void
weir_registry_init(struct weir_registry *r)
{
	*r = (struct weir_registry){ 0 };
}

void
weir_registry_fini(struct weir_registry *r)
{
	for (uint32_t i = 0; i < r->doubt_cnt; i++)
		free(r->doubts[i].files);
	free(r->doubts);
	free(r->entries);
	*r = (struct weir_registry){ 0 };
}

/* Index of the first entry whose key is not below key. */
static uint32_t
lower_bound(const struct weir_registry *r, uint64_t key)
{
	uint32_t low = 0;
	uint32_t high = r->cnt;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (r->entries[mid].key < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct weir_registry_entry *
weir_registry_find(const struct weir_registry *r, uint64_t key)
{
	uint32_t at = lower_bound(r, key);

	return at < r->cnt && r->entries[at].key == key ? &r->entries[at] : NULL;
}

static void
insert(struct weir_registry *r, uint64_t key, uint64_t file, uint64_t id)
{
	uint32_t at = lower_bound(r, key);

	r->entries = weir_grow(r->entries, &r->cap, r->cnt + 1, sizeof(*r->entries));
	memmove(&r->entries[at + 1], &r->entries[at], (r->cnt - at) * sizeof(*r->entries));
	r->entries[at] = (struct weir_registry_entry){
		.key = key,
		.file = file,
		.created = id,
		.last = id,
	};
	r->cnt++;
}

static void
raise_last(struct weir_registry_entry *e, uint64_t id)
{
	if (e->last < id)
		e->last = id;
}

enum weir_registry_upload
weir_registry_upload(struct weir_registry *r, uint64_t key, uint64_t file, uint64_t id,
		     bool expected, uint64_t *old)
{
	struct weir_registry_entry *e = weir_registry_find(r, key);

	if (e == NULL) {
		insert(r, key, file, id);
		return WEIR_REGISTRY_KEPT;
	}
	if (e->file == file) {
		raise_last(e, id);
		return WEIR_REGISTRY_KEPT;
	}
	if (!expected)
		return WEIR_REGISTRY_REFUSED;
	if (e->pin_cnt > 0 || e->last > id) {
		raise_last(e, id);
		return WEIR_REGISTRY_REFUSED;
	}
	*old = e->file;
	e->file = file;
	e->origin = 0;
	e->last = id;
	return WEIR_REGISTRY_REPLACED;
}

bool
weir_registry_use(struct weir_registry *r, uint64_t key, uint64_t id)
{
	struct weir_registry_entry *e = weir_registry_find(r, key);

	if (e == NULL)
		return false;
	raise_last(e, id);
	return true;
}

/* Keep the entries for which !gone; collect the files of the others. */
static uint32_t
sweep(struct weir_registry *r, uint64_t id, bool unpinned, uint64_t *files)
{
	uint32_t file_cnt = 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < r->cnt; i++) {
		const struct weir_registry_entry *e = &r->entries[i];
		bool gone = unpinned ? e->pin_cnt == 0
				     : e->last < id + (WEIR_PLANT(SHARED_SWEEP) ? 1 : 0);

		if (!gone)
			r->entries[kept++] = *e;
		else if (!weir_registry_in_doubt(r, e->file))
			files[file_cnt++] = e->file;
	}
	r->cnt = kept;
	return file_cnt;
}

uint32_t
weir_registry_sweep_below(struct weir_registry *r, uint64_t id, uint64_t *files)
{
	return sweep(r, id, false, files);
}

uint32_t
weir_registry_sweep_unpinned(struct weir_registry *r, uint64_t *files)
{
	return sweep(r, 0, true, files);
}

bool
weir_registry_uses_origin(const struct weir_registry *r, uint64_t id)
{
	for (uint32_t i = 0; i < r->cnt; i++) {
		if (r->entries[i].origin == id)
			return true;
	}
	return false;
}

void
weir_registry_doubt(struct weir_registry *r, uint64_t id, const uint64_t *files, uint32_t file_cnt)
{
	r->doubts = weir_grow(r->doubts, &r->doubt_cap, r->doubt_cnt + 1, sizeof(*r->doubts));
	r->doubts[r->doubt_cnt++] = (struct weir_registry_doubt){
		.id = id,
		.files = weir_grow_copy(files, file_cnt, sizeof(*files)),
		.file_cnt = file_cnt,
	};
}

void
weir_registry_settle(struct weir_registry *r, uint64_t id)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < r->doubt_cnt; i++) {
		if (r->doubts[i].id < id)
			free(r->doubts[i].files);
		else
			r->doubts[kept++] = r->doubts[i];
	}
	r->doubt_cnt = kept;
}

bool
weir_registry_in_doubt(const struct weir_registry *r, uint64_t file)
{
	for (uint32_t i = 0; i < r->doubt_cnt; i++) {
		for (uint32_t k = 0; k < r->doubts[i].file_cnt; k++) {
			if (r->doubts[i].files[k] == file)
				return true;
		}
	}
	return false;
}

#ifndef WEIR_ENGINE_CHECKPOINT_REGISTRY_H
#define WEIR_ENGINE_CHECKPOINT_REGISTRY_H

/*
 * Shared registry (K2, S9): which file stands behind a key, and which checkpoints use it.
 *
 * An entry lives while a checkpoint not below the lowest retained one may refer to it. Pins say
 * that a retained checkpoint, or one whose manifest is being written, names the file: such a file
 * is never replaced. Pins are a cache of the live set and are made anew from the retained manifests
 * after a restart (K10); they are not what decides a deletion.
 *
 * Threads:   the coordinator's. Ownership: caller's memory, lists freed by fini.
 * Cost:      a binary search; a new key moves what stands behind it.
 */

#include "engine/base/base.h"

struct weir_registry_entry {
	uint64_t key;
	uint64_t file;
	uint64_t created; /* checkpoint that registered the key */
	uint64_t last;	  /* newest checkpoint that used it */
	uint64_t origin;  /* claimed start whose directory the file lies in, 0: our own */
	uint32_t pin_cnt;
};

/* Files of a checkpoint whose manifest may or may not exist: not deleted, even if replaced. */
struct weir_registry_doubt {
	uint64_t id;
	uint64_t *files;
	uint32_t file_cnt;
};

struct weir_registry {
	struct weir_registry_entry *entries; /* ascending keys */
	uint32_t cnt;
	uint32_t cap;
	struct weir_registry_doubt *doubts;
	uint32_t doubt_cnt;
	uint32_t doubt_cap;
};

enum weir_registry_upload {
	WEIR_REGISTRY_KEPT,	/* the file is the one registered */
	WEIR_REGISTRY_REPLACED, /* it is now; *old is used by nobody */
	WEIR_REGISTRY_REFUSED,	/* another file stays registered; the new one is used by nobody */
};

void weir_registry_init(struct weir_registry *r);
void weir_registry_fini(struct weir_registry *r);

/* NULL if the key is unknown. Valid until the next upload or sweep. */
struct weir_registry_entry *weir_registry_find(const struct weir_registry *r, uint64_t key);

/*
 * Checkpoint id uploaded file under key. Only an expected acknowledgement may replace a file, and
 * only one that is not pinned and was last used by no newer checkpoint.
 */
enum weir_registry_upload weir_registry_upload(struct weir_registry *r, uint64_t key, uint64_t file,
					       uint64_t id, bool expected, uint64_t *old);

/* Checkpoint id refers to key; false if it is unknown. */
bool weir_registry_use(struct weir_registry *r, uint64_t key, uint64_t id);

/*
 * Take out every entry last used below id (all: every entry nobody pins), and put its file into
 * files, which has room for weir_registry.cnt, unless it is in doubt. Returns how many.
 */
uint32_t weir_registry_sweep_below(struct weir_registry *r, uint64_t id, uint64_t *files);
uint32_t weir_registry_sweep_unpinned(struct weir_registry *r, uint64_t *files);

/* True if an entry's file lies in the directory of claimed start id. */
bool weir_registry_uses_origin(const struct weir_registry *r, uint64_t id);

/* Checkpoint id's manifest may exist: keep its files (copied) until weir_registry_settle(> id). */
void weir_registry_doubt(struct weir_registry *r, uint64_t id, const uint64_t *files,
			 uint32_t file_cnt);
void weir_registry_settle(struct weir_registry *r, uint64_t id);
bool weir_registry_in_doubt(const struct weir_registry *r, uint64_t file);

#endif /* WEIR_ENGINE_CHECKPOINT_REGISTRY_H */

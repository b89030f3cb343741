/*
 * Incremental checkpoints of the hash backend: what a checkpoint wrote together with what it names
 * of earlier files is the state at the freeze, whatever became of the checkpoints between.
 */

#include "tests/unit/statebackend/snap.h"
#include "tests/unit/statebackend/world.h"

#define KEPT 512

/* A data file, as the control thread knows it. */
struct kept {
	uint64_t checkpoint;
	char path[64];
	struct weir_segment *segs;
	uint32_t seg_cnt;
	bool complete;
};

struct job {
	struct snap_rig *r;
	struct world w;
	struct kept kept[KEPT];
	uint32_t kept_cnt;
	uint64_t written, named; /* bytes, of the last checkpoint */
	uint32_t files_named;
	uint32_t check_every; /* checkpoints: restoring takes long */
};

static struct job *
job_create(const struct weir_kstate_spec *spec, uint64_t key_cnt, int64_t ns_cnt, uint64_t seed)
{
	struct job *j = calloc(1, sizeof(*j));

	j->r = snap_rig_create(65536, 6, seed);
	world_init(&j->w, spec, 16u << 20, seed);
	j->w.key_cnt = key_cnt;
	j->w.ns_cnt = ns_cnt;
	j->w.scrambled = true;
	j->check_every = 1;
	world_steps(&j->w, 150);
	return j;
}

static void
job_destroy(struct job *j)
{
	for (uint32_t i = 0; i < j->kept_cnt; i++)
		free(j->kept[i].segs);
	world_fini(&j->w);
	snap_rig_destroy(j->r);
	free(j);
}

static struct kept *
kept_of(struct job *j, uint64_t checkpoint)
{
	for (uint32_t i = 0; i < j->kept_cnt; i++)
		if (j->kept[i].checkpoint == checkpoint)
			return &j->kept[i];
	return NULL;
}

static void
load_named(struct job *j, struct weir_kstate *st, const struct weir_segment_ref *ref)
{
	const struct kept *k = kept_of(j, ref->checkpoint);
	const struct fake_file *file;
	struct weir_error err;

	cr_assert_not_null(k, "a file that nobody kept is named");
	cr_assert(k->complete, "checkpoint %llu was never complete",
		  (unsigned long long)ref->checkpoint);
	cr_assert_lt(ref->number, k->seg_cnt);
	cr_assert_eq(ref->record_cnt, k->segs[ref->number].page_cnt);
	file = fake_find(&j->r->io, k->path);
	cr_assert_eq(weir_kstate_load(st, &k->segs[ref->number],
				      file->bytes + k->segs[ref->number].offset, ref->live, &err),
		     0, "%s", err.text);
}

/* The checkpoint just taken, with what it names, into a fresh state: is it the model? */
static void
restored_is(struct job *j, struct model *frozen)
{
	struct weir_error err;
	void *region;
	struct weir_backend *be = world_backend(&region, 16u << 20);
	struct weir_kstate *st = weir_kstate_open(be, &j->w.st->spec, &err);
	uint32_t cnt;
	const struct weir_segment_ref *refs = weir_snap_writer_refs(j->r->w, &cnt);
	int differs;

	snap_load(j->r, st);
	for (uint32_t i = 0; i < cnt; i++)
		load_named(j, st, &refs[i]);
	differs = model_differs(frozen, st, 0, UINT64_MAX);
	cr_assert_eq(differs, 0, "after restore of %llu: check %d failed",
		     (unsigned long long)j->r->checkpoint, differs);
	free(region);
}

static void
count_named(struct job *j)
{
	uint64_t last = 0;
	uint32_t cnt;
	const struct weir_segment_ref *refs = weir_snap_writer_refs(j->r->w, &cnt);

	j->named = 0;
	j->files_named = 0;
	for (uint32_t i = 0; i < cnt; i++) {
		j->named += refs[i].live_bytes;
		j->files_named += refs[i].checkpoint != last;
		last = refs[i].checkpoint;
	}
}

static void
keep(struct job *j)
{
	struct kept *k = &j->kept[j->kept_cnt++];
	const struct weir_segment *segs =
		weir_snap_writer_segments(j->r->w, &k->seg_cnt, &j->written);

	cr_assert_leq(j->kept_cnt, KEPT);
	k->checkpoint = j->r->checkpoint;
	memcpy(k->path, j->r->path, sizeof(k->path));
	k->segs = calloc(k->seg_cnt, sizeof(*segs));
	memcpy(k->segs, segs, k->seg_cnt * sizeof(*segs));
	weir_backend_stored(j->w.be, k->checkpoint, j->written);
}

/* Take a checkpoint while rows flow. give_up_at: after so many slices; UINT32_MAX: never. */
static bool
take(struct job *j, enum weir_snap_scope scope, uint32_t give_up_at, bool updates)
{
	struct model frozen = model_copy(&j->w.m);
	bool all = false;

	snap_begin(j->r);
	weir_snap_writer_scope(j->r->w, scope);
	weir_kstate_freeze(j->w.st, j->r->w);
	for (uint32_t i = 0; !all && i < give_up_at; i++) {
		cr_assert_lt(i, 100000);
		if (updates)
			world_step(&j->w);
		(void)snap_turn(j->r);
		all = weir_kstate_slice(j->w.st, 2);
	}
	if (all) {
		snap_seal(j->r);
		keep(j);
		count_named(j);
		if (j->r->checkpoint % j->check_every == 0)
			restored_is(j, &frozen);
	} else {
		snap_give_up(j->r, j->w.st);
	}
	model_fini(&frozen);
	return all;
}

static void
complete(struct job *j, uint64_t checkpoint)
{
	struct kept *k = kept_of(j, checkpoint);

	if (k == NULL)
		return;
	k->complete = true;
	weir_backend_completed(j->w.be, checkpoint);
}

/* Anything may become of a checkpoint: given up half-way, durable and never complete, complete
 * late, taken as a whole or as a savepoint. */
static void
whatever_happens(const struct weir_kstate_spec *spec, uint64_t key_cnt, int64_t ns_cnt,
		 uint64_t seed)
{
	struct job *j = job_create(spec, key_cnt, ns_cnt, seed);
	struct weir_rng rng = { seed };

	for (uint32_t round = 0; round < 40; round++) {
		const uint64_t r = weir_rng_next(&rng);
		const enum weir_snap_scope scope = r % 8 == 0	? WEIR_SNAP_WHOLE
						   : r % 8 == 1 ? WEIR_SNAP_ALONE
								: WEIR_SNAP_CHANGES;
		const uint32_t give_up_at =
			(r >> 8) % 6 == 0 ? (uint32_t)(r >> 16) % 20 : UINT32_MAX;

		for (uint64_t i = 0; i < (r >> 32) % 4; i++)
			world_step(&j->w);
		if (take(j, scope, give_up_at, (r >> 12) % 3 > 0) && scope != WEIR_SNAP_ALONE &&
		    (r >> 24) % 4 > 0)
			complete(j, j->r->checkpoint);
		if ((r >> 28) % 16 == 0 && j->r->checkpoint > 1)
			complete(j, j->r->checkpoint - 1);
	}
	world_check(&j->w);
	job_destroy(j);
}

Test(home, whatever_happens_to_checkpoints_of_pages, .timeout = 600)
{
	for (uint64_t seed = 1; seed <= 2; seed++)
		whatever_happens(&NUMBERS, 60000, 1, seed);
}

Test(home, whatever_happens_to_checkpoints_of_many_tables, .timeout = 600)
{
	for (uint64_t seed = 1; seed <= 2; seed++)
		whatever_happens(&NUMBERS, 2000, 60, seed);
}

Test(home, whatever_happens_to_checkpoints_of_long_keys, .timeout = 600)
{
	struct weir_kstate_spec spec = NUMBERS;

	spec.key_kind = WEIR_KEY_BYTES;
	spec.key_bytes = 0;
	whatever_happens(&spec, 4000, 3, 7);
}

Test(home, what_has_not_changed_is_not_written_again)
{
	struct job *j = job_create(&NUMBERS, 60000, 1, 5);
	uint64_t all;

	cr_assert(take(j, WEIR_SNAP_CHANGES, UINT32_MAX, false));
	all = j->written;
	complete(j, j->r->checkpoint);
	cr_assert(take(j, WEIR_SNAP_CHANGES, UINT32_MAX, false));
	cr_assert_leq(j->written, 3 * 4096);
	cr_assert_gt(j->named, all / 10 * 9);
	complete(j, j->r->checkpoint);
	/* A savepoint holds everything, and so does a checkpoint that is asked for as a whole. */
	cr_assert(take(j, WEIR_SNAP_ALONE, UINT32_MAX, false));
	cr_assert_eq(j->written, all);
	cr_assert_eq(j->named, 0);
	cr_assert(take(j, WEIR_SNAP_CHANGES, UINT32_MAX, false));
	cr_assert_leq(j->written, 3 * 4096);
	cr_assert(take(j, WEIR_SNAP_WHOLE, UINT32_MAX, false));
	cr_assert_eq(j->written, all);
	job_destroy(j);
}

Test(home, one_that_was_never_complete_is_not_named)
{
	struct job *j = job_create(&NUMBERS, 60000, 1, 5);
	uint64_t all;

	cr_assert(take(j, WEIR_SNAP_CHANGES, UINT32_MAX, false));
	all = j->written;
	cr_assert(take(j, WEIR_SNAP_CHANGES, UINT32_MAX, false));
	cr_assert_eq(j->written, all);
	job_destroy(j);
}

static void
put(struct job *j, uint64_t nr, uint64_t value)
{
	uint8_t key[WEIR_KEY_BYTES_MAX];
	const uint32_t len = world_key(&j->w, nr, key);
	const uint64_t hash = world_hash(&j->w, key, len);
	uint64_t *to;

	cr_assert_eq(weir_kstate_reserve(j->w.st, 2), WEIR_STATE_ROOM);
	to = weir_table_put(weir_kstate_table(j->w.st, 0, true), key, len, hash);
	*to = value;
	model_put(&j->w.m, 0, key, len, hash)->value = value;
}

/* S10: a file of which less than half is needed is given up, and there are never many files. */
Test(home, files_stay_few_and_of_use, .timeout = 600)
{
	struct job *j = job_create(&NUMBERS, 100000, 1, 9);
	uint32_t most = 0;

	j->check_every = 50;
	for (uint64_t i = 0; i < 90000; i++)
		put(j, i, i);
	for (uint32_t round = 0; round < 300; round++) {
		put(j, round, round);
		cr_assert(take(j, WEIR_SNAP_CHANGES, UINT32_MAX, false));
		complete(j, j->r->checkpoint);
		if (j->files_named > most)
			most = j->files_named;
	}
	cr_assert_leq(most, 65);
	cr_assert_gt(most, 50);
	job_destroy(j);
}

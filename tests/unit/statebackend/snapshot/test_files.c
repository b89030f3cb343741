/* Writer and reader over fake files: blobs in, blobs out; every flipped byte and truncation
 * refused. */

#include "statebackend/snapshot/reader.h"

#include "tests/unit/statebackend/snap.h"

/* What a restore collected: the bytes of all parts of one blob, joined. */
struct got {
	uint8_t bytes[300000];
	uint64_t len;
	uint32_t parts;
	uint32_t fail_part; /* 0: none */
};

static int
collect(void *arg, const struct weir_snap_file *file, const struct weir_segment *seg,
	const void *bytes, struct weir_error *err)
{
	struct got *got = arg;
	uint64_t len;
	const void *at = weir_segment_payload(bytes, &len);

	(void)file;
	if (++got->parts == got->fail_part)
		return weir_fail(err, WEIR_ERR_FAILED, "no room");
	if (seg->state_idx != 9)
		return 0;
	memcpy(got->bytes + got->len, at, len);
	got->len += len;
	return 0;
}

static void
append_all(struct snap_rig *r, uint32_t state_idx, const void *bytes, uint64_t len)
{
	const struct weir_snap_blob blob = { .kind = WEIR_SEGMENT_BLOB,
					     .operator_idx = 2,
					     .subtask = 1,
					     .state_idx = state_idx,
					     .bytes = bytes,
					     .len = len };
	uint64_t taken = 0;

	while (!weir_snap_writer_append(r->w, &blob, &taken))
		(void)snap_turn(r);
	cr_assert_eq(taken, len);
}

/* A file with a small, an empty and a large blob. */
static struct snap_rig *
written(const uint8_t *large, uint64_t large_len)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 21);

	snap_begin(r);
	append_all(r, 1, "offsets", 8);
	append_all(r, 2, NULL, 0);
	append_all(r, 9, large, large_len);
	snap_seal(r);
	return r;
}

static struct weir_snap_file
named(struct snap_rig *r)
{
	struct weir_snap_file f = { .path = r->path,
				    .id = { .job_hash = 77, .attempt = 1, .checkpoint = 1 } };
	uint64_t bytes;

	f.segs = weir_snap_writer_segments(r->w, &f.seg_cnt, &bytes);
	return f;
}

struct read_rig {
	struct weir_snap_reader *r;
	void *staging;
};

static struct read_rig
read_rig(struct snap_rig *w, uint32_t slots)
{
	const uint64_t bytes = 4096 + 65536ull * slots;
	struct read_rig rig = { .staging = aligned_alloc(4096, bytes) };
	struct weir_error err;

	rig.r = weir_snap_reader_create(&(struct weir_snap_reader_config){ .io = &w->io.io,
									   .staging = rig.staging,
									   .staging_bytes = bytes,
									   .chunk_bytes = 65536 },
					&err);
	cr_assert_not_null(rig.r);
	return rig;
}

static void
rigs_destroy(struct snap_rig *w, struct read_rig *r)
{
	weir_snap_reader_destroy(r->r);
	free(r->staging);
	snap_rig_destroy(w);
}

static enum weir_snap_read_state
read_all(struct snap_rig *w, struct weir_snap_reader *r, const struct weir_snap_file *files,
	 uint32_t cnt, struct got *got)
{
	enum weir_snap_read_state state;
	struct weir_io_req *done[8];

	weir_snap_reader_begin(r, files, cnt, collect, got);
	for (uint32_t turns = 0;; turns++) {
		cr_assert_lt(turns, 100000);
		state = weir_snap_reader_step(r);
		if (state == WEIR_SNAP_READ_DONE || state == WEIR_SNAP_READ_FAILED)
			break;
		for (uint32_t i = weir_io_harvest(&w->io.io, done, 8); i > 0; i--)
			weir_snap_reader_done(r, done[i - 1]);
	}
	cr_assert_eq(w->io.io.in_flight, 0);
	return state;
}

Test(files, blobs_come_back_in_order)
{
	static uint8_t large[200001];
	static struct got got;

	for (uint32_t i = 0; i < sizeof(large); i++)
		large[i] = (uint8_t)(i * 7 + i / 256);
	for (uint32_t slots = 1; slots < 6; slots++) {
		struct snap_rig *w = written(large, sizeof(large));
		const struct weir_snap_file f = named(w);
		struct read_rig r = read_rig(w, slots);

		memset(&got, 0, sizeof(got));
		cr_assert_eq(w->io.dir_syncs, 1);
		cr_assert_eq(f.seg_cnt, 6);
		cr_assert_eq(read_all(w, r.r, &f, 1, &got), WEIR_SNAP_READ_DONE);
		cr_assert_eq(got.parts, 6);
		cr_assert_eq(got.len, sizeof(large));
		cr_assert_eq(memcmp(got.bytes, large, sizeof(large)), 0);
		rigs_destroy(w, &r);
	}
}

/* Frames as the engine hands them over: each given back once. */
struct frames {
	struct weir_snap_pieces pieces; /* first */
	struct weir_snap_piece piece[700];
	uint32_t back[700];
	uint8_t *memory;
};

static void
frame_back(struct weir_snap_pieces *pieces, uint32_t piece)
{
	((struct frames *)(void *)pieces)->back[piece]++;
}

static void
frames_init(struct frames *f, uint32_t cnt)
{
	*f = (struct frames){ .pieces = { .piece = f->piece,
					  .cnt = cnt,
					  .operator_idx = 2,
					  .subtask = 1,
					  .state_idx = 9,
					  .release = frame_back },
			      .memory = aligned_alloc(4096, cnt * 8192ull) };
	for (uint32_t i = 0; i < cnt; i++) {
		f->piece[i] = (struct weir_snap_piece){ f->memory + i * 8192ull,
							i % 2 == 0 ? 4096 : 8192 };
		memset(f->piece[i].bytes, (int)i + 1, f->piece[i].len);
	}
}

static void
frames_are_back(const struct frames *f)
{
	for (uint32_t i = 0; i < f->pieces.cnt; i++)
		cr_assert_eq(f->back[i], 1, "piece %u came back %u times", i, f->back[i]);
}

/* More pieces than requests, between blobs; what comes back is what lay in memory. */
Test(files, pieces_are_written_from_where_they_lie)
{
	struct snap_rig *w = snap_rig_create(65536, 4, 21);
	struct got *got = calloc(1, sizeof(*got));
	struct weir_snap_file file;
	struct read_rig rr;
	struct frames f;
	uint64_t at = 4096 - 128;

	frames_init(&f, 9);
	snap_begin(w);
	append_all(w, 1, "offsets", 8);
	while (!weir_snap_writer_pieces(w->w, &f.pieces))
		(void)snap_turn(w);
	append_all(w, 2, "behind", 7);
	snap_seal(w);
	frames_are_back(&f);
	file = named(w);
	cr_assert_eq(file.segs[1].kind, WEIR_SEGMENT_CHANNEL);
	cr_assert_eq(file.segs[1].used, file.segs[1].length);
	rr = read_rig(w, 3);
	cr_assert_eq(read_all(w, rr.r, &file, 1, got), WEIR_SNAP_READ_DONE);
	cr_assert_eq(got->parts, 3);
	for (uint32_t i = 0; i < 9; i++) {
		cr_assert_arr_eq(got->bytes + at, f.piece[i].bytes, f.piece[i].len);
		at += f.piece[i].len;
	}
	cr_assert_eq(got->len, at);
	free(f.memory);
	free(got);
	rigs_destroy(w, &rr);
}

Test(files, pieces_of_a_file_given_up_come_back)
{
	struct snap_rig *w = snap_rig_create(65536, 4, 21);
	struct frames f, late;

	frames_init(&f, 700);
	frames_init(&late, 3);
	snap_begin(w);
	while (!weir_snap_writer_pieces(w->w, &f.pieces))
		(void)snap_turn(w);
	for (uint32_t i = 0; i < 6; i++)
		(void)snap_turn(w);
	weir_snap_writer_abort(w->w);
	cr_assert(weir_snap_writer_pieces(w->w, &late.pieces));
	frames_are_back(&late);
	cr_assert_eq(snap_finish(w), WEIR_SNAP_FAILED);
	frames_are_back(&f);
	free(f.memory);
	free(late.memory);
	snap_rig_destroy(w);
}

Test(files, several_files_and_none)
{
	static struct got got;
	struct snap_rig *w = written((const uint8_t *)"abc", 3);
	const struct weir_snap_file f = named(w);
	const struct weir_snap_file files[] = { f, f, f };
	struct read_rig r = read_rig(w, 2);

	cr_assert_eq(read_all(w, r.r, files, 3, &got), WEIR_SNAP_READ_DONE);
	cr_assert_eq(got.len, 9);
	cr_assert_eq(read_all(w, r.r, files, 0, &got), WEIR_SNAP_READ_DONE);
	rigs_destroy(w, &r);
}

Test(files, every_flipped_byte_is_refused_and_named)
{
	static struct got got;
	struct snap_rig *w = written((const uint8_t *)"abc", 3);
	const struct weir_snap_file f = named(w);
	struct read_rig r = read_rig(w, 2);
	struct fake_file *file = fake_find(&w->io, w->path);

	cr_assert_eq(file->len, 4 * 4096);
	for (uint64_t i = 0; i < file->len; i++) {
		file->bytes[i] ^= (uint8_t)(1u << i % 8);
		cr_assert_eq(read_all(w, r.r, &f, 1, &got), WEIR_SNAP_READ_FAILED, "byte %u",
			     (unsigned)i);
		cr_assert_eq(weir_snap_reader_error(r.r)->code, WEIR_ERR_DATA);
		cr_assert_not_null(strstr(weir_snap_reader_error(r.r)->text, w->path));
		file->bytes[i] ^= (uint8_t)(1u << i % 8);
	}
	got.len = 0;
	cr_assert_eq(read_all(w, r.r, &f, 1, &got), WEIR_SNAP_READ_DONE);
	rigs_destroy(w, &r);
}

Test(files, every_truncation_is_refused)
{
	static struct got got;
	struct snap_rig *w = written((const uint8_t *)"abc", 3);
	const struct weir_snap_file f = named(w);
	struct read_rig r = read_rig(w, 2);
	struct fake_file *file = fake_find(&w->io, w->path);
	const uint64_t len = file->len;

	for (uint64_t i = 0; i < len; i += i % 64 == 1 ? 62 : 1) {
		file->len = i;
		cr_assert_eq(read_all(w, r.r, &f, 1, &got), WEIR_SNAP_READ_FAILED);
		cr_assert_eq(weir_snap_reader_error(r.r)->code, WEIR_ERR_DATA);
	}
	file->len = len;
	rigs_destroy(w, &r);
}

Test(files, another_jobs_file_is_refused)
{
	static struct got got;
	struct snap_rig *w = written((const uint8_t *)"abc", 3);
	struct read_rig r = read_rig(w, 2);

	for (uint32_t i = 0; i < 5; i++) {
		struct weir_snap_file f = named(w);

		f.id.job_hash += i == 0;
		f.id.attempt += i == 1;
		f.id.checkpoint += i == 2;
		f.id.core += i == 3;
		if (i == 4)
			f.path = "data/not-there";
		cr_assert_eq(read_all(w, r.r, &f, 1, &got), WEIR_SNAP_READ_FAILED);
		cr_assert_eq(weir_snap_reader_error(r.r)->code, WEIR_ERR_DATA);
		cr_assert_not_null(strstr(weir_snap_reader_error(r.r)->text, f.path));
	}
	rigs_destroy(w, &r);
}

Test(files, reading_fails_at_every_request)
{
	static struct got got;
	static uint8_t large[200001];

	for (uint32_t k = 1;; k++) {
		struct snap_rig *w = written(large, sizeof(large));
		const struct weir_snap_file f = named(w);
		struct read_rig r = read_rig(w, 3);
		enum weir_snap_read_state state;

		w->io.fail_at = w->io.started + k;
		got.len = 0;
		state = read_all(w, r.r, &f, 1, &got);
		rigs_destroy(w, &r);
		if (state == WEIR_SNAP_READ_DONE) {
			cr_assert_eq(k, 1 + 1 + 6 + 1 + 1);
			return;
		}
	}
}

Test(files, the_callers_refusal_ends_it)
{
	static struct got got = { .fail_part = 2 };
	struct snap_rig *w = written((const uint8_t *)"abc", 3);
	const struct weir_snap_file f = named(w);
	struct read_rig r = read_rig(w, 2);

	cr_assert_eq(read_all(w, r.r, &f, 1, &got), WEIR_SNAP_READ_FAILED);
	cr_assert_eq(weir_snap_reader_error(r.r)->code, WEIR_ERR_FAILED);
	cr_assert_not_null(strstr(weir_snap_reader_error(r.r)->text, "no room"));
	rigs_destroy(w, &r);
}

Test(files, a_name_is_never_used_again)
{
	struct snap_rig *r = snap_rig_create(65536, 3, 21);

	snap_begin(r);
	snap_seal(r);
	weir_snap_writer_begin(r->w, r->path, &(struct weir_snap_id){ .checkpoint = 1 });
	weir_snap_writer_seal(r->w);
	cr_assert_eq(snap_finish(r), WEIR_SNAP_FAILED);
	snap_rig_destroy(r);
}

Test(files, too_little_staging)
{
	struct weir_error err;

	cr_assert_null(weir_snap_writer_create(
		&(struct weir_snap_config){ .staging_bytes = 4096 + 2 * 65536,
					    .chunk_bytes = 65536 },
		&err));
	cr_assert_null(weir_snap_reader_create(
		&(struct weir_snap_reader_config){ .staging_bytes = 65536, .chunk_bytes = 65536 },
		&err));
}

/* A checkpoint made by the real writer on a real disk; whatever is changed in it is found. */

#include "app/checkpoint/verify.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/io_open.h"
#include "statebackend/snapshot/writer.h"
#include "tests/scratch.h"
#include "tests/unit/engine/checkpoint/sample.h"

#define STAGING	 (1u << 20)
#define CHUNK	 (64u << 10)
#define SEGS_MAX 16
#define BLOB	 5000
#define MAP	 (32 + 2 * 32)

static char root[256];
static char path[300];
static struct sample s;
static struct weir_error err;
static struct weir_manifest_segment segs[2];

/* One entry that fills a piece of operator state: a string of sevens. */
static void
make_piece(uint8_t *piece, uint32_t bytes)
{
	const uint32_t word[10] = { 0x53504f57u, 1, 1, 0, 0, 1, bytes - 32, 0, 0, bytes - 40 };

	memset(piece, 7, bytes);
	memcpy(piece, word, sizeof(word));
}

/* A piece of a map of keys of 8 bytes to items of 16. */
static void
make_map(uint8_t *piece, const uint64_t keys[2])
{
	const uint32_t word[8] = { 0x53504f57u, 1, 3, 16, 8, 2, MAP - 32, 0 };
	const uint32_t lens[2] = { 8, 16 };

	memset(piece, 5, MAP);
	memcpy(piece, word, sizeof(word));
	for (uint32_t i = 0; i < 2; i++) {
		memcpy(piece + 32 + 32 * i, lens, sizeof(lens));
		memcpy(piece + 40 + 32 * i, &keys[i], sizeof(keys[i]));
	}
}

/* Write a file of two pieces of operator state, each of a subtask, as core 0 of attempt 3 and
 * checkpoint 17 of the sample. */
static void
write_data(const uint8_t *const piece[2], uint32_t len, uint32_t entry_cnt,
	   const uint32_t subtask[2])
{
	const struct weir_io_options opt = { .backend = WEIR_IO_POSIX, .depth = 8, .wakeup = true };
	const struct weir_snap_id id = { .job_hash = weir_layout_job_hash("wordcount"),
					 .attempt = 3,
					 .checkpoint = 17 };
	struct weir_segment list[SEGS_MAX];
	struct weir_snap_config cfg = { .staging = aligned_alloc(WEIR_PAGE, STAGING),
					.staging_bytes = STAGING,
					.chunk_bytes = CHUNK,
					.segs = list,
					.seg_max = SEGS_MAX };
	const struct weir_segment *written;
	struct weir_io_req *done[8];
	struct weir_snap_writer *w;
	uint64_t file_bytes;
	uint32_t i, cnt;

	cr_assert_eq(weir_io_open(&opt, &cfg.io, NULL, &err), 0, "%s", err.text);
	w = weir_snap_writer_create(&cfg, &err);
	cr_assert_not_null(w, "%s", err.text);
	weir_snap_writer_begin(w, path, &id);
	for (i = 0; i < 2; i++) {
		const struct weir_snap_blob part = { .kind = WEIR_SEGMENT_BLOB,
						     .operator_idx = 1,
						     .subtask = subtask[i],
						     .bytes = piece[i],
						     .len = len,
						     .entry_cnt = entry_cnt };
		uint64_t taken = 0;

		cr_assert(weir_snap_writer_append(w, &part, &taken));
	}
	weir_snap_writer_seal(w);
	while (weir_snap_writer_step(w) < WEIR_SNAP_DONE) {
		cnt = weir_io_harvest(cfg.io, done, 8);
		for (i = 0; i < cnt; i++)
			weir_snap_writer_done(w, done[i]);
		if (cnt == 0)
			weir_io_wait(cfg.io, 1000);
	}
	cr_assert_eq(weir_snap_writer_step(w), WEIR_SNAP_DONE);
	written = weir_snap_writer_segments(w, &cnt, &file_bytes);
	cr_assert_eq(cnt, 2);
	for (i = 0; i < 2; i++)
		segs[i].seg = written[i];
	s.file[0].length = file_bytes;
	weir_snap_writer_destroy(w);
	weir_io_close(cfg.io);
	free(cfg.staging);
}

static void
setup(void)
{
	uint8_t blob[BLOB];
	uint32_t i;

	cr_assert_not_null(mkdtemp(scratch_template(root, sizeof(root), "verify")));
	snprintf(path, sizeof(path), "%s/3-17-0.dat", root);
	sample_init(&s);
	make_piece(blob, BLOB);
	write_data((const uint8_t *const[]){ blob, blob }, BLOB, 1, (const uint32_t[]){ 0, 1 });
	s.m.file_cnt = 1;
	for (i = 0; i < 2; i++) {
		s.count[i].segments = &segs[i];
		s.count[i].segment_cnt = 1;
	}
	cr_assert_eq(weir_manifest_check(&s.m, &err), 0, "%s", err.text);
}

static void
teardown(void)
{
	unlink(path);
	rmdir(root);
}

TestSuite(checkpoint_verify, .init = setup, .fini = teardown);

static int
verify(void)
{
	return weir_checkpoint_verify(&s.m, root, &err);
}

Test(checkpoint_verify, what_the_writer_wrote_is_whole)
{
	cr_assert_eq(verify(), 0, "%s", err.text);
}

Test(checkpoint_verify, any_flipped_byte_is_found)
{
	const int fd = open(path, O_RDWR);
	const off_t len = lseek(fd, 0, SEEK_END);
	off_t at;

	cr_assert(len >= 5 * WEIR_PAGE);
	for (at = 0; at < len; at += at % 97 == 0 ? 1 : 13) {
		uint8_t byte;

		cr_assert_eq(pread(fd, &byte, 1, at), 1);
		byte ^= 0x10;
		cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
		cr_assert_eq(verify(), WEIR_ERR_DATA, "byte %jd", (intmax_t)at);
		cr_assert_eq(strncmp(err.text, path, strlen(path)), 0, "%s", err.text);
		byte ^= 0x10;
		cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
	}
	cr_assert_eq(verify(), 0, "%s", err.text);
	close(fd);
}

Test(checkpoint_verify, a_truncated_file_is_found)
{
	cr_assert_eq(truncate(path, (off_t)s.file[0].length - 1), 0);
	cr_assert_eq(verify(), WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, "length: ends at"), "%s", err.text);
}

Test(checkpoint_verify, a_segment_that_nobody_names_is_found)
{
	s.count[0].segment_cnt = 0;
	cr_assert_eq(verify(), WEIR_ERR_DATA, "a gap");
	s.count[0].segment_cnt = 1;
	s.count[1].segment_cnt = 0;
	cr_assert_eq(verify(), WEIR_ERR_DATA, "the end");
}

Test(checkpoint_verify, another_jobs_file_is_found)
{
	s.m.job = "other";
	cr_assert_eq(verify(), WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, "header"), "%s", err.text);
}

/* Two pieces of a map of one subtask, or of each of two, with these keys. */
static int
verify_map(const uint64_t keys[4], uint32_t second)
{
	uint8_t piece[2][MAP];

	cr_assert_eq(unlink(path), 0);
	make_map(piece[0], keys);
	make_map(piece[1], keys + 2);
	write_data((const uint8_t *const[]){ piece[0], piece[1] }, MAP, 2,
		   (const uint32_t[]){ 0, second });
	s.opstate[0] = s.opstate[1];
	s.count[0].segment_cnt = second == 0 ? 2 : 1;
	s.count[1].segment_cnt = second;
	return verify();
}

Test(checkpoint_verify, a_key_that_is_twice_in_a_map_is_found)
{
	const char *want =
		"operator 'count' state 'rules' subtask 0: a key of 8 bytes is there twice";

	cr_assert_eq(verify_map((const uint64_t[]){ 4, 1, 3, 2 }, 0), 0, "%s", err.text);
	cr_assert_eq(verify_map((const uint64_t[]){ 4, 1, 4, 1 }, 1), 0, "%s", err.text);
	cr_assert_eq(verify_map((const uint64_t[]){ 4, 1, 1, 2 }, 0), WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, want), "%s", err.text);
	cr_assert_eq(strncmp(err.text, path, strlen(path)), 0, "%s", err.text);
	cr_assert_eq(verify_map((const uint64_t[]){ 7, 7, 1, 2 }, 0), WEIR_ERR_DATA);
}

#include "drivers/store/store.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/scratch.h"
#include "tests/unit/engine/checkpoint/sample.h"

/* A job's folder of its own for each test, with checkpoints made from the sample. */
static char root[256];
static char job_dir[300];
static struct sample s;
static struct weir_error err;

static void
setup(void)
{
	char path[320];

	cr_assert_not_null(mkdtemp(scratch_template(root, sizeof(root), "store")));
	snprintf(job_dir, sizeof(job_dir), "%s/wordcount", root);
	mkdir(job_dir, 0700);
	snprintf(path, sizeof(path), "%s/data", job_dir);
	mkdir(path, 0700);
	sample_init(&s);
}

static void
teardown(void)
{
	cr_assert_eq(scratch_remove(root), 0);
}

TestSuite(store, .init = setup, .fini = teardown);

static const char *
in_job(const char *name)
{
	static char path[2][512];
	static int turn;

	turn ^= 1;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", job_dir, name);
	return path[turn];
}

static void
write_file(const char *path, const void *bytes, size_t len)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	cr_assert(fd >= 0, "%s", path);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static void
make_data(const char *name, off_t len)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/data/%s", job_dir, name);
	write_file(path, "", 0);
	cr_assert_eq(truncate(path, len), 0);
}

static bool
has_data(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/data/%s", job_dir, name);
	return access(path, F_OK) == 0;
}

/* chk-<folder> with the sample as checkpoint id, its two data files named by that id. */
static void
make_checkpoint(uint64_t folder, uint64_t id)
{
	char name[2][WEIR_DATA_NAME_MAX], path[512];
	uint8_t *bytes;
	uint32_t i;
	size_t len;

	for (i = 0; i < 2; i++) {
		weir_layout_data_name(name[i], &(struct weir_data_name){ 3, id, i });
		s.file[i].name = name[i];
		make_data(name[i], (off_t)s.file[i].length);
	}
	s.m.checkpoint_id = id;
	cr_assert_eq(weir_manifest_encode(&s.m, &bytes, &len, &err), 0, "%s", err.text);
	snprintf(path, sizeof(path), "chk-%lu", (unsigned long)folder);
	mkdir(in_job(path), 0700);
	snprintf(path, sizeof(path), "chk-%lu/manifest", (unsigned long)folder);
	write_file(in_job(path), bytes, len);
	weir_manifest_bytes_free(bytes);
}

Test(store, a_folder_that_is_not_there_holds_none)
{
	struct weir_stored_ids ids = { 0 };
	struct weir_manifest *m = &s.m;
	struct weir_path path;

	cr_assert_eq(weir_stored_ids("/nowhere/at/all", &ids, &err), 0);
	cr_assert_eq(ids.cnt, 0);
	cr_assert_eq(weir_stored_latest("/nowhere/at/all", &m, &path, &err), 0);
	cr_assert_null(m);
}

Test(store, what_cannot_be_read_is_not_taken_for_none)
{
	struct weir_stored_ids ids = { 0 };

	write_file(in_job("file"), "", 0);
	cr_assert_neq(weir_stored_ids(in_job("file"), &ids, &err), 0);
	if (geteuid() == 0)
		return; /* root reads everything */
	cr_assert_eq(chmod(job_dir, 0), 0);
	cr_assert_eq(weir_stored_ids(job_dir, &ids, &err), WEIR_ERR_IO);
	cr_assert_eq(chmod(job_dir, 0700), 0);
}

Test(store, ids_are_those_with_a_manifest_in_order)
{
	struct weir_stored_ids ids;

	make_checkpoint(10, 10);
	make_checkpoint(9, 9);
	make_checkpoint(100, 100);
	mkdir(in_job("chk-200"), 0700);
	write_file(in_job("chk-200/.manifest"), "x", 1);
	mkdir(in_job("chk-09"), 0700);
	write_file(in_job("chk-09/manifest"), "x", 1);
	cr_assert_eq(weir_stored_ids(job_dir, &ids, &err), 0);
	cr_assert_eq(ids.cnt, 3);
	cr_assert_eq(ids.id[0], 9);
	cr_assert_eq(ids.id[2], 100);
	weir_stored_ids_free(&ids);
}

Test(store, jobs_of_a_directory)
{
	struct weir_stored_jobs jobs;
	char path[320];

	snprintf(path, sizeof(path), "%s/a", root);
	mkdir(path, 0700);
	cr_assert_eq(weir_stored_jobs(root, &jobs, &err), 0);
	cr_assert_eq(jobs.cnt, 1);
	cr_assert_str_eq(jobs.name[0], "wordcount");
	weir_stored_jobs_free(&jobs);
	cr_assert(weir_stored_is_job(job_dir));
	cr_assert_not(weir_stored_is_job(root));
	cr_assert_eq(weir_stored_jobs("/nowhere", &jobs, &err), WEIR_ERR_NOINPUT);
}

Test(store, latest_is_the_newest)
{
	struct weir_manifest *m;
	struct weir_path path;

	make_checkpoint(9, 9);
	make_checkpoint(10, 10);
	cr_assert_eq(weir_stored_latest(job_dir, &m, &path, &err), 0, "%s", err.text);
	cr_assert_eq(m->checkpoint_id, 10);
	cr_assert_str_eq(path.text, in_job("chk-10"));
	weir_manifest_destroy(m);
}

/* The newest is refused with a text that holds what and the older one's path. */
static void
latest_refused(const char *what)
{
	struct weir_manifest *m = NULL;
	struct weir_path path = { "as it was" };

	cr_assert_eq(weir_stored_latest(job_dir, &m, &path, &err), WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, what), "\"%s\" is not in \"%s\"", what, err.text);
	cr_assert_not_null(strstr(err.text, in_job("chk-9")), "%s", err.text);
	cr_assert_null(m);
	cr_assert_str_eq(path.text, "as it was");
}

Test(store, a_damaged_newest_is_refused_and_the_older_named)
{
	make_checkpoint(9, 9);
	make_checkpoint(11, 10);
	latest_refused("chk-11/manifest: head: checkpoint 10 stands under the number 11");
	make_checkpoint(11, 11);
	make_data("3-11-1.dat", 20479);
	latest_refused("data/3-11-1.dat: length: cut short: 20479 bytes, the manifest says 20480");
	make_data("3-11-1.dat", 20481);
	latest_refused("data/3-11-1.dat: length: surplus bytes");
	unlink(in_job("data/3-11-1.dat"));
	latest_refused("data/3-11-1.dat: file: missing");
	make_data("3-11-1.dat", 20480);
	cr_assert_eq(truncate(in_job("chk-11/manifest"), 0), 0);
	latest_refused("chk-11/manifest: header: cut short: 0 bytes of 24");
}

Test(store, a_damaged_only_one_has_no_older)
{
	struct weir_manifest *m = NULL;
	struct weir_path path;

	make_checkpoint(9, 9);
	cr_assert_eq(truncate(in_job("chk-9/manifest"), 30), 0);
	cr_assert_eq(weir_stored_latest(job_dir, &m, &path, &err), WEIR_ERR_DATA);
	cr_assert_not_null(strstr(err.text, "there is no older"), "%s", err.text);
}

Test(store, sweep_deletes_what_no_manifest_names)
{
	uint32_t deleted = 0;

	make_checkpoint(9, 9);
	make_data("3-10-0.dat", 4096); /* this run's, unnamed */
	make_data("2-10-0.dat", 4096); /* an older run's */
	make_data("strange", 1);
	mkdir(in_job("chk-10"), 0700);
	write_file(in_job("chk-10/.manifest"), "x", 1);
	cr_assert_eq(weir_stored_sweep(job_dir, 3, &deleted, &err), 0, "%s", err.text);
	cr_assert_eq(deleted, 2);
	cr_assert_not(has_data("3-10-0.dat"));
	cr_assert(has_data("2-10-0.dat"));
	cr_assert(has_data("strange"));
	cr_assert(has_data("3-9-0.dat"));
	cr_assert(has_data("3-9-1.dat"));
	cr_assert_neq(access(in_job("chk-10"), F_OK), 0);
	cr_assert_eq(access(in_job("chk-9/manifest"), F_OK), 0);
}

Test(store, sweep_deletes_nothing_beside_a_manifest_it_cannot_read)
{
	uint32_t deleted = 77;

	make_checkpoint(9, 9);
	make_data("3-10-0.dat", 4096);
	cr_assert_eq(truncate(in_job("chk-9/manifest"), 30), 0);
	cr_assert_eq(weir_stored_sweep(job_dir, 3, &deleted, &err), WEIR_ERR_DATA);
	cr_assert_eq(deleted, 77);
	cr_assert(has_data("3-10-0.dat"));
	cr_assert(has_data("3-9-0.dat"));
}

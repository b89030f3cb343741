#include "drivers/files/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_NO_INPUT 66
#define EXIT_INTERNAL 70
#define EXIT_CONFIG   78

/* A directory on the way down, so that a link back to one of them is noticed. */
struct ancestor {
	const struct ancestor *up;
	dev_t dev;
	ino_t ino;
};

static int visit_entries(const char *path, const struct ancestor *up, struct weir_splits *splits,
			 struct weir_walk *walk);

static int
no_memory(struct weir_splits *splits)
{
	return weir_splits_fail(splits, EXIT_INTERNAL, "no memory for the list of input files");
}

static int
add_file(const char *path, uint64_t bytes, struct weir_splits *splits, struct weir_walk *walk)
{
	if (access(path, R_OK) != 0)
		return weir_splits_fail(splits, EXIT_NO_INPUT, "cannot read input %s: %s", path,
					strerror(errno));
	if (walk->cnt == walk->cap) {
		size_t cap = walk->cap == 0 ? 64 : walk->cap * 2;
		struct weir_walk_file *files = realloc(walk->files, cap * sizeof(*files));

		if (files == NULL)
			return no_memory(splits);
		walk->files = files;
		walk->cap = cap;
	}
	char *copy = strdup(path);
	if (copy == NULL)
		return no_memory(splits);
	walk->files[walk->cnt++] = (struct weir_walk_file){ copy, bytes };
	return 0;
}

static int
visit_directory(const char *path, const struct stat *st, const struct ancestor *up,
		struct weir_splits *splits, struct weir_walk *walk)
{
	const struct ancestor self = { up, st->st_dev, st->st_ino };
	const struct ancestor *a;

	for (a = up; a != NULL; a = a->up) {
		if (a->dev == self.dev && a->ino == self.ino) {
			weir_splits_warn(splits, "%s: a link to a directory it is in: not followed",
					 path);
			return 0;
		}
	}
	return visit_entries(path, &self, splits, walk);
}

/* What stands below a directory. */
static int
visit(const char *path, const struct ancestor *up, struct weir_splits *splits,
      struct weir_walk *walk)
{
	struct stat st;

	if (stat(path, &st) != 0) {
		if (errno == ENOENT || errno == ELOOP) {
			weir_splits_warn(splits, "%s: a link that leads nowhere: left out", path);
			return 0;
		}
		return weir_splits_fail(splits, EXIT_NO_INPUT, "cannot read input %s: %s", path,
					strerror(errno));
	}
	if (S_ISREG(st.st_mode))
		return add_file(path, (uint64_t)st.st_size, splits, walk);
	if (S_ISDIR(st.st_mode))
		return visit_directory(path, &st, up, splits, walk);
	weir_splits_warn(splits, "%s: neither a file nor a directory: left out", path);
	return 0;
}

/* The depth is bounded: no directory is on its own way down, and paths have a longest length. */
static int
visit_entries(const char *path, const struct ancestor *self, struct weir_splits *splits,
	      struct weir_walk *walk)
{
	const size_t len = strlen(path);
	const char *slash = len > 0 && path[len - 1] == '/' ? "" : "/";
	struct dirent *entry;
	int rc = 0;
	DIR *dir;

	dir = opendir(path);
	if (dir == NULL)
		return weir_splits_fail(splits, EXIT_NO_INPUT, "cannot read input %s: %s", path,
					strerror(errno));
	while (rc == 0) {
		char *below;

		errno = 0;
		entry = readdir(dir);
		if (entry == NULL) {
			if (errno != 0)
				rc = weir_splits_fail(splits, EXIT_NO_INPUT,
						      "cannot read input %s: %s", path,
						      strerror(errno));
			break;
		}
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (asprintf(&below, "%s%s%s", path, slash, entry->d_name) < 0) {
			rc = no_memory(splits);
			break;
		}
		rc = visit(below, self, splits, walk);
		free(below);
	}
	closedir(dir);
	return rc;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct weir_walk_file *)a)->path,
		      ((const struct weir_walk_file *)b)->path);
}

int
weir_walk(const char *input, struct weir_splits *splits, struct weir_walk *walk)
{
	struct stat st;
	int rc;

	*walk = (struct weir_walk){ 0 };
	if (input == NULL || input[0] == '\0')
		return weir_splits_fail(splits, EXIT_CONFIG,
					"job.input is not set: a file or a directory");
	if (stat(input, &st) != 0)
		return weir_splits_fail(splits, EXIT_NO_INPUT, "cannot read input %s: %s", input,
					strerror(errno));
	if (S_ISREG(st.st_mode))
		rc = add_file(input, (uint64_t)st.st_size, splits, walk);
	else if (S_ISDIR(st.st_mode))
		rc = visit_directory(input, &st, NULL, splits, walk);
	else
		rc = weir_splits_fail(splits, EXIT_NO_INPUT,
				      "cannot read input %s: neither a file nor a directory",
				      input);
	if (rc != 0) {
		weir_walk_free(walk);
		return rc;
	}
	if (walk->cnt > 1)
		qsort(walk->files, walk->cnt, sizeof(*walk->files), by_path);
	return 0;
}

void
weir_walk_free(struct weir_walk *walk)
{
	size_t i;

	for (i = 0; i < walk->cnt; i++)
		free(walk->files[i].path);
	free(walk->files);
	*walk = (struct weir_walk){ 0 };
}

#include "app/checkpoint/history.h"

#include "app/checkpoint/json.h"
#include "drivers/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_MAX (10u * WEIR_HISTORY_SHOWN)

static json_int_t
id_of(const json_t *entry)
{
	return json_integer_value(json_object_get(entry, "id"));
}

/* In the order of ids; one of an id. */
static void
put(json_t *list, json_t *entry)
{
	size_t at = json_array_size(list);

	while (at > 0 && id_of(json_array_get(list, at - 1)) > id_of(entry))
		at--;
	if (at > 0 && id_of(json_array_get(list, at - 1)) == id_of(entry))
		json_array_set(list, at - 1, entry);
	else
		json_array_insert(list, at, entry);
	if (json_array_size(list) > WEIR_HISTORY_SHOWN)
		json_array_remove(list, 0);
}

static int
read_lines(const char *path, json_t *list, uint32_t *cnt, struct weir_error *err)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;
	int rc = 0;

	if (file == NULL)
		return errno == ENOENT
			       ? 0
			       : weir_fail(err, WEIR_ERR_IO, "%s: %s", path, strerror(errno));
	while (getline(&line, &cap, file) > 0) {
		json_t *entry = json_loads(line, 0, NULL);

		(*cnt)++;
		if (json_is_object(entry) && id_of(entry) > 0)
			put(list, entry);
		json_decref(entry);
	}
	if (ferror(file))
		rc = weir_fail(err, WEIR_ERR_IO, "%s: cannot be read", path);
	free(line);
	fclose(file);
	return rc;
}

int
weir_history_read(const char *folder, json_t **list, struct weir_error *err)
{
	struct weir_path path;
	uint32_t cnt = 0;
	int rc = weir_layout_history(&path, folder, err);

	if (rc != 0)
		return rc;
	*list = json_array();
	rc = read_lines(path.text, *list, &cnt, err);
	if (rc != 0)
		json_decref(*list);
	return rc;
}

static int
failed(struct weir_history *h, const char *what, struct weir_error *err)
{
	const int code = errno;

	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
	h->due_ns = 0;
	return weir_fail(err, WEIR_ERR_IO, "%s %s: %s", what, h->path.text, strerror(code));
}

static bool
write_line(int fd, const json_t *entry)
{
	char *text = json_dumps(entry, JSON_COMPACT);
	const size_t len = text != NULL ? strlen(text) : 0;
	bool ok = false;

	if (text != NULL) {
		text[len] = '\n'; /* in the place of its end: one write, one line */
		ok = write(fd, text, len + 1) == (ssize_t)len + 1;
		free(text);
	}
	return ok;
}

static bool
sync_folder(const char *path)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	ok = fsync(fd) == 0;
	close(fd);
	return ok;
}

/* What is shown, and nothing else. After a crash either the old file is there or the new one. */
static int
write_anew(struct weir_history *h, struct weir_error *err)
{
	const int fd = open(h->tmp.text, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
	bool ok = fd >= 0;

	for (size_t i = 0; ok && i < json_array_size(h->list); i++)
		ok = write_line(fd, json_array_get(h->list, i));
	ok = ok && fsync(fd) == 0 && rename(h->tmp.text, h->path.text) == 0 &&
	     sync_folder(h->folder.text);
	if (!ok) {
		const int code = errno;

		if (fd >= 0)
			close(fd);
		(void)unlink(h->tmp.text);
		errno = code;
		return failed(h, "cannot write", err);
	}
	if (h->fd >= 0)
		close(h->fd);
	h->fd = fd;
	h->due_ns = 0;
	h->line_cnt = (uint32_t)json_array_size(h->list);
	return 0;
}

/* A supervisor that is killed does not see the end of what it had pending. */
static json_t *
from_manifest(const char *folder, uint64_t id)
{
	struct weir_path chk;
	struct weir_manifest *m;
	struct weir_error ignored;
	json_t *entry;

	if (weir_layout_checkpoint(&chk, folder, id, &ignored) != 0 ||
	    weir_stored_read(chk.text, &m, &ignored) != 0)
		return NULL;
	entry = json_pack("{s:I, s:s, s:s, s:s, s:f, s:I, s:s}", "id", (json_int_t)id, "kind",
			  weir_checkpoint_kind(m->kind), "status", "completed", "reason", "",
			  "trigger_ms", (double)m->trigger_ns / 1e6, "bytes",
			  (json_int_t)weir_checkpoint_bytes(m), "run_id", m->run_id);
	weir_manifest_destroy(m);
	return entry;
}

int
weir_history_open(struct weir_history *h, const char *folder, const char *run_id,
		  uint64_t newest_id, struct weir_error *err)
{
	const json_t *last;
	json_t *unseen = NULL;
	int rc;

	*h = (struct weir_history){ .fd = -1, .run_id = run_id, .list = json_array() };
	snprintf(h->folder.text, sizeof(h->folder.text), "%s", folder);
	rc = weir_layout_history(&h->path, folder, err);
	if (rc == 0)
		rc = weir_layout_history_tmp(&h->tmp, folder, err);
	if (rc == 0)
		rc = read_lines(h->path.text, h->list, &h->line_cnt, err);
	if (rc != 0)
		return rc;
	last = json_array_get(h->list, json_array_size(h->list) - 1);
	if (newest_id > (last != NULL ? (uint64_t)id_of(last) : 0))
		unseen = from_manifest(folder, newest_id);
	if (unseen != NULL)
		put(h->list, unseen);
	json_decref(unseen);
	return write_anew(h, err);
}

void
weir_history_close(struct weir_history *h)
{
	if (h->list == NULL)
		return;
	json_decref(h->list);
	h->list = NULL;
	if (h->fd < 0)
		return;
	if (h->due_ns != 0)
		(void)fdatasync(h->fd); /* nobody is left who could be told */
	close(h->fd);
}

int64_t
weir_history_due_ns(const struct weir_history *h)
{
	return h->due_ns != 0 ? h->due_ns : INT64_MAX;
}

int
weir_history_step(struct weir_history *h, int64_t now_ns, struct weir_error *err)
{
	if (now_ns < weir_history_due_ns(h))
		return 0;
	h->due_ns = 0;
	return fdatasync(h->fd) == 0 ? 0 : failed(h, "cannot make durable", err);
}

static int
append(struct weir_history *h, const json_t *entry, int64_t now_ns, struct weir_error *err)
{
	if (!write_line(h->fd, entry))
		return failed(h, "cannot write", err);
	h->line_cnt++;
	if (h->due_ns == 0)
		h->due_ns = now_ns + WEIR_HISTORY_LAG_NS;
	return 0;
}

int
weir_history_add(struct weir_history *h, const json_t *entry, int64_t now_ns,
		 struct weir_error *err)
{
	json_t *copy = json_copy((json_t *)(uintptr_t)entry);
	int rc = 0;

	json_object_set_new(copy, "run_id", json_string(h->run_id));
	put(h->list, copy);
	if (h->fd >= 0 && h->line_cnt >= LINES_MAX)
		rc = write_anew(h, err);
	else if (h->fd >= 0)
		rc = append(h, copy, now_ns, err);
	json_decref(copy);
	return rc;
}

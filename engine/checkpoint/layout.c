#include "engine/checkpoint/layout.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/hash.h"

#define NAME_MAX_BYTES 255u

static WEIR_PRINTF(3, 4) int format_path(struct weir_path *buf, struct weir_error *err,
					 const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(buf->text, sizeof(buf->text), fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= sizeof(buf->text)) {
		buf->text[0] = '\0';
		return weir_fail(err, WEIR_ERR_CONFIG, "checkpoint path is longer than %u bytes",
				 WEIR_PATH_MAX - 1);
	}
	return 0;
}

bool
weir_layout_job_ok(const char *job)
{
	return job[0] != '\0' && job[0] != '.' && strchr(job, '/') == NULL &&
	       strlen(job) <= NAME_MAX_BYTES;
}

uint64_t
weir_layout_job_hash(const char *job)
{
	return weir_hash_bytes(job, strlen(job));
}

int
weir_layout_job(struct weir_path *buf, const char *dir, const char *job, struct weir_error *err)
{
	WEIR_ASSERT(weir_layout_job_ok(job));
	return format_path(buf, err, "%s/%s", dir, job);
}

int
weir_layout_checkpoint(struct weir_path *buf, const char *job_dir, uint64_t id,
		       struct weir_error *err)
{
	return format_path(buf, err, "%s/chk-%" PRIu64, job_dir, id);
}

int
weir_layout_manifest(struct weir_path *buf, const char *chk_dir, struct weir_error *err)
{
	return format_path(buf, err, "%s/" WEIR_LAYOUT_MANIFEST, chk_dir);
}

int
weir_layout_manifest_tmp(struct weir_path *buf, const char *chk_dir, struct weir_error *err)
{
	return format_path(buf, err, "%s/" WEIR_LAYOUT_TEMPORARY, chk_dir);
}

int
weir_layout_data_dir(struct weir_path *buf, const char *job_dir, struct weir_error *err)
{
	return format_path(buf, err, "%s/data", job_dir);
}

int
weir_layout_data(struct weir_path *buf, const char *job_dir, const char *name,
		 struct weir_error *err)
{
	return format_path(buf, err, "%s/data/%s", job_dir, name);
}

int
weir_layout_savepoint(struct weir_path *buf, const char *dir, uint64_t id, uint64_t random,
		      struct weir_error *err)
{
	return format_path(buf, err, "%s/savepoint-%" PRIu64 "-%012" PRIx64, dir, id,
			   random & UINT64_C(0xffffffffffff));
}

int
weir_layout_in(struct weir_path *buf, const char *dir, const char *name, struct weir_error *err)
{
	return format_path(buf, err, "%s/%s", dir, name);
}

int
weir_layout_history(struct weir_path *buf, const char *job_dir, struct weir_error *err)
{
	return format_path(buf, err, "%s/history", job_dir);
}

int
weir_layout_history_tmp(struct weir_path *buf, const char *job_dir, struct weir_error *err)
{
	return format_path(buf, err, "%s/.history", job_dir);
}

int
weir_layout_counters(struct weir_path *buf, const char *job_dir, struct weir_error *err)
{
	return format_path(buf, err, "%s/counters", job_dir);
}

int
weir_layout_lock(struct weir_path *buf, const char *job_dir, struct weir_error *err)
{
	return format_path(buf, err, "%s/lock", job_dir);
}

/* Bytes of path without the slashes at its end; "/" keeps its one. */
static size_t
trimmed(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return len;
}

/* Where the last component of the first len bytes begins. */
static size_t
base_at(const char *path, size_t len)
{
	size_t at = len;

	while (at > 0 && path[at - 1] != '/')
		at--;
	return at;
}

int
weir_layout_parent(struct weir_path *buf, const char *path, struct weir_error *err)
{
	size_t len = base_at(path, trimmed(path));

	if (len == 0)
		return format_path(buf, err, ".");
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len >= WEIR_PATH_MAX)
		len = WEIR_PATH_MAX; /* refused by the next line */
	return format_path(buf, err, "%.*s", (int)len, path);
}

int
weir_layout_base(struct weir_path *buf, const char *path, struct weir_error *err)
{
	const size_t len = trimmed(path);
	const size_t at = base_at(path, len);
	const size_t cnt = len - at < WEIR_PATH_MAX ? len - at : WEIR_PATH_MAX;

	return format_path(buf, err, "%.*s", (int)cnt, path + at);
}

/* A decimal number without sign and leading zeros. Behind it, or NULL. */
static const char *
parse_number(const char *text, uint64_t *value)
{
	uint64_t v = 0;
	const char *p = text;

	if (*p == '0') {
		*value = 0;
		return p + 1;
	}
	for (; *p >= '0' && *p <= '9'; p++) {
		const uint64_t digit = (uint64_t)(*p - '0');

		if (v > (UINT64_MAX - digit) / 10)
			return NULL;
		v = v * 10 + digit;
	}
	if (p == text)
		return NULL;
	*value = v;
	return p;
}

/* The text skipped if it stands at p (p may be NULL). Behind it, or NULL. */
static const char *
skip(const char *p, const char *text)
{
	const size_t len = strlen(text);

	return p != NULL && strncmp(p, text, len) == 0 ? p + len : NULL;
}

static const char *
skip_number(const char *p, uint64_t *value)
{
	return p != NULL ? parse_number(p, value) : NULL;
}

void
weir_layout_data_name(char buf[static WEIR_DATA_NAME_MAX], const struct weir_data_name *name)
{
	snprintf(buf, WEIR_DATA_NAME_MAX, "%" PRIu64 "-%" PRIu64 "-%" PRIu32 ".dat", name->attempt,
		 name->checkpoint_id, name->core);
}

bool
weir_layout_parse_data_name(const char *text, struct weir_data_name *name)
{
	uint64_t attempt, id, core;
	const char *p = parse_number(text, &attempt);

	p = skip_number(skip(p, "-"), &id);
	p = skip_number(skip(p, "-"), &core);
	p = skip(p, ".dat");
	if (p == NULL || *p != '\0' || core > UINT32_MAX)
		return false;
	*name = (struct weir_data_name){ attempt, id, (uint32_t)core };
	return true;
}

bool
weir_layout_parse_checkpoint(const char *name, uint64_t *id)
{
	uint64_t value;
	const char *p = skip_number(skip(name, "chk-"), &value);

	if (p == NULL || *p != '\0' || value == 0)
		return false;
	*id = value;
	return true;
}

size_t
weir_counters_print(char buf[static WEIR_COUNTERS_MAX], const struct weir_counters *counters)
{
	return (size_t)snprintf(buf, WEIR_COUNTERS_MAX,
				"next-checkpoint %" PRIu64 "\nlast-attempt %" PRIu64 "\n",
				counters->next_id, counters->last_attempt);
}

bool
weir_counters_parse(const char *text, size_t len, struct weir_counters *counters)
{
	char copy[WEIR_COUNTERS_MAX];
	struct weir_counters c;
	const char *p;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	p = skip_number(skip(copy, "next-checkpoint "), &c.next_id);
	p = skip_number(skip(p, "\nlast-attempt "), &c.last_attempt);
	p = skip(p, "\n");
	if (p == NULL || p != copy + len || c.next_id == 0)
		return false;
	*counters = c;
	return true;
}

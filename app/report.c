#include "app/report.h"

#include "app/config_json.h"

#include <string.h>

void
weir_report_init(struct weir_report *r)
{
	memset(r, 0, sizeof(*r));
	r->restores = json_array();
	r->checkpoints = json_array();
	r->parts = json_object();
	r->warnings = json_array();
}

void
weir_report_fini(struct weir_report *r)
{
	json_decref(r->restored);
	json_decref(r->restores);
	json_decref(r->checkpoints);
	json_decref(r->parts);
	json_decref(r->warnings);
	memset(r, 0, sizeof(*r));
}

/* { checkpoint: null, … }: the attempt started from the beginning, or did not get to RUNNING. */
static json_t *
no_restore(void)
{
	return json_pack("{s:n, s:n, s:i, s:i}", "checkpoint", "path", "frames_in_flight", 0,
			 "bytes", 0);
}

void
weir_report_attempt(struct weir_report *r)
{
	r->attempts++;
	json_decref(r->restored);
	r->restored = NULL;
	if (r->attempts > 1)
		json_array_append_new(r->restores, no_restore());
}

void
weir_report_running(struct weir_report *r, json_t *restored, int64_t now_ns)
{
	json_decref(r->restored);
	r->restored = json_is_object(restored) ? json_incref(restored) : no_restore();
	if (r->running_ns == 0)
		r->running_ns = now_ns;
	if (r->attempts > 1)
		json_array_set(r->restores, json_array_size(r->restores) - 1, r->restored);
}

static uint64_t *
counter_of(struct weir_report *r, json_t *entry)
{
	const char *status = json_string_value(json_object_get(entry, "status"));

	if (status == NULL)
		return NULL;
	if (strcmp(status, "completed") == 0)
		return &r->completed;
	if (strcmp(status, "failed") == 0)
		return &r->failed;
	return strcmp(status, "aborted") == 0 ? &r->aborted : NULL;
}

/* Count entry, which takes the place of old (or NULL). */
static void
count(struct weir_report *r, json_t *old, json_t *entry)
{
	uint64_t *counter = old != NULL ? counter_of(r, old) : NULL;

	r->triggered += old == NULL;
	if (counter != NULL)
		(*counter)--;
	counter = counter_of(r, entry);
	if (counter != NULL)
		(*counter)++;
}

static bool
is_pending(json_t *entry)
{
	const char *status = json_string_value(json_object_get(entry, "status"));

	return status == NULL || strcmp(status, "pending") == 0;
}

static json_int_t
id_of(json_t *entry)
{
	return json_integer_value(json_object_get(entry, "id"));
}

/* Details are for the history alone: the list is long. */
static void
note_ended(struct weir_report *r, json_t *entry)
{
	if (is_pending(entry))
		return;
	if (r->ended != NULL)
		r->ended(r->ended_arg, entry);
	json_object_del(entry, "tasks");
}

void
weir_report_checkpoint(struct weir_report *r, json_t *entry)
{
	const json_int_t id = id_of(entry);
	size_t at;

	note_ended(r, entry);

	/* From the end: the newest are the ones that change. */
	for (size_t i = json_array_size(r->checkpoints); i > 0; i--) {
		json_t *old = json_array_get(r->checkpoints, i - 1);

		if (id_of(old) != id)
			continue;
		count(r, old, entry);
		json_array_set(r->checkpoints, i - 1, entry);
		return;
	}
	count(r, NULL, entry);
	at = json_array_size(r->checkpoints);
	while (at > 0 && id_of(json_array_get(r->checkpoints, at - 1)) > id)
		at--; /* a savepoint may overtake a checkpoint */
	json_array_insert(r->checkpoints, at, entry);
	if (json_array_size(r->checkpoints) > WEIR_REPORT_CHECKPOINTS_MAX)
		json_array_remove(r->checkpoints, 0);
}

/* Its end was not seen: it took at least as long as the phases that are known. */
static void
end_unseen(json_t *entry)
{
	static const char *const phases[] = { "prepare_ms", "start_delay_ms", "alignment_ms",
					      "sync_ms",    "async_ms",	      "finalize_ms" };
	double sum = 0;

	for (size_t i = 0; i < WEIR_ARRAY_CNT(phases); i++)
		sum += json_number_value(json_object_get(entry, phases[i]));
	json_object_set_new(entry, "duration_ms", json_real(sum));
}

void
weir_report_attempt_over(struct weir_report *r, uint64_t newest_id, const char *reason)
{
	for (size_t i = 0; i < json_array_size(r->checkpoints); i++) {
		json_t *entry = json_array_get(r->checkpoints, i);
		const uint64_t id = (uint64_t)json_integer_value(json_object_get(entry, "id"));
		const bool there = id <= newest_id;

		if (!is_pending(entry))
			continue;
		json_object_set_new(entry, "status", json_string(there ? "completed" : "aborted"));
		if (there)
			end_unseen(entry);
		else
			json_object_set_new(entry, "reason", json_string(reason));
		r->completed += there;
		r->aborted += !there;
		note_ended(r, entry);
	}
}

void
weir_report_statistics(struct weir_report *r, json_t *parts)
{
	json_object_update(r->parts, parts);
}

void
weir_report_warning(struct weir_report *r, const char *text)
{
	if (json_array_size(r->warnings) < WEIR_REPORT_WARNINGS_MAX)
		json_array_append_new(r->warnings, json_string(text));
}

/* Entries have all fields, null where the checkpoint did not get so far. */
static json_t *
checkpoint_list(const struct weir_report *r)
{
	static const char *const fields[] = {
		"id",
		"kind",
		"status",
		"reason",
		"trigger_ms",
		"duration_ms",
		"bytes",
		"full_bytes",
		"mode",
		"frames_in_flight",
		"persisted_bytes",
		"prepare_ms",
		"start_delay_ms",
		"alignment_ms",
		"sync_ms",
		"async_ms",
		"finalize_ms",
	};
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(r->checkpoints); i++) {
		json_t *from = json_array_get(r->checkpoints, i);
		json_t *entry = json_object();

		for (size_t f = 0; f < WEIR_ARRAY_CNT(fields); f++) {
			json_t *value = json_object_get(from, fields[f]);

			if (value != NULL)
				json_object_set(entry, fields[f], value);
			else
				json_object_set_new(entry, fields[f], json_null());
		}
		json_array_append_new(list, entry);
	}
	return list;
}

static void
add_parts(const struct weir_report *r, json_t *report)
{
	static const struct {
		const char *name;
		bool array;
	} parts[] = {
		{ "operators", true },	  { "tasks", true },   { "edges", true },
		{ "cores", true },	  { "sources", true }, { "latency_us", false },
		{ "environment", false },
	};

	for (size_t i = 0; i < WEIR_ARRAY_CNT(parts); i++) {
		json_t *value = json_object_get(r->parts, parts[i].name);

		if (value != NULL)
			json_object_set(report, parts[i].name, value);
		else
			json_object_set_new(report, parts[i].name,
					    parts[i].array ? json_array() : json_object());
	}
}

json_t *
weir_report_json(const struct weir_report *r, const struct weir_report_end *end)
{
	json_t *report = json_object();
	const double wall_s =
		r->running_ns != 0 ? (double)(end->now_ns - r->running_ns) / 1e9 : 0.0;

	json_object_set_new(report, "weir", json_string(WEIR_VERSION));
	json_object_set_new(report, "job", json_string(end->job));
	json_object_set_new(report, "name", json_string(end->name));
	json_object_set_new(report, "state", json_string(end->state));
	json_object_set_new(report, "exit_code", json_integer(end->exit_code));
	json_object_set_new(report, "wall_s", json_real(wall_s));
	json_object_set_new(report, "attempts", json_integer(r->attempts));
	if (r->restored != NULL)
		json_object_set(report, "restored", r->restored);
	else
		json_object_set_new(report, "restored", no_restore());
	json_object_set(report, "restores", r->restores);
	json_object_set_new(
		report, "checkpoints",
		json_pack("{s:I, s:I, s:I, s:I, s:o}", "triggered", (json_int_t)r->triggered,
			  "completed", (json_int_t)r->completed, "failed", (json_int_t)r->failed,
			  "aborted", (json_int_t)r->aborted, "list", checkpoint_list(r)));
	add_parts(r, report);
	json_object_set_new(report, "config", weir_config_json(end->cfg));
	json_object_set(report, "warnings", r->warnings);
	return report;
}

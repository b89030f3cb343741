#include "app/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLAIN_EVERY_NS INT64_C(1000000000)

void
weir_display_init(struct weir_display *d)
{
	memset(d, 0, sizeof(*d));
	d->terminal = isatty(STDERR_FILENO) == 1;
	d->last_ns = INT64_MIN / 2;
}

static void
clear(struct weir_display *d)
{
	if (d->drawn)
		fprintf(stderr, "\r\033[K");
	d->drawn = false;
}

void
weir_display_line(struct weir_display *d, const char *fmt, ...)
{
	va_list ap;

	clear(d);
	fprintf(stderr, "weir: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
}

/* 1234567 → "1.23 M". */
static const char *
short_number(double v, char buf[static 16])
{
	static const char units[] = { ' ', 'k', 'M', 'G', 'T' };
	size_t u = 0;

	while (v >= 1000.0 && u + 1 < sizeof(units)) {
		v /= 1000.0;
		u++;
	}
	if (u == 0)
		snprintf(buf, 16, "%.0f", v);
	else
		snprintf(buf, 16, "%.*f %c", v < 10.0 ? 2 : v < 100.0 ? 1 : 0, v, units[u]);
	return buf;
}

static double
number(json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

void
weir_display_progress(struct weir_display *d, json_t *message, int64_t now_ns)
{
	char rows[16], rate[16], line[256];

	if (!d->terminal && now_ns - d->last_ns < PLAIN_EVERY_NS)
		return;
	d->last_ns = now_ns;
	snprintf(line, sizeof(line), "%s rows, %s rows/s%s%s, busiest core: CPU %.0f %.0f %%",
		 short_number(number(message, "rows"), rows),
		 short_number(number(message, "rows_per_s"), rate),
		 d->checkpoint[0] != '\0' ? ", " : "", d->checkpoint,
		 number(message, "busiest_cpu"), number(message, "busiest") * 100.0);
	if (!d->terminal) {
		fprintf(stderr, "weir: %s\n", line);
		return;
	}
	clear(d);
	fprintf(stderr, "%.*s", 120, line);
	fflush(stderr);
	d->drawn = true;
}

void
weir_display_checkpoint(struct weir_display *d, json_t *entry)
{
	const char *status = json_string_value(json_object_get(entry, "status"));
	const char *reason = json_string_value(json_object_get(entry, "reason"));
	const double id = number(entry, "id");

	if (status == NULL || strcmp(status, "pending") == 0)
		return;
	if (strcmp(status, "completed") == 0)
		snprintf(d->checkpoint, sizeof(d->checkpoint), "checkpoint %.0f done in %.1f ms",
			 id, number(entry, "duration_ms"));
	else if (strcmp(status, "failed") == 0)
		weir_display_line(d, "checkpoint %.0f failed: %s", id,
				  reason != NULL ? reason : "no reason given");
}

static void
put_operator(json_t *op)
{
	json_t *dropped = json_object_get(op, "dropped"), *value;
	const char *reason, *id = json_string_value(json_object_get(op, "id"));
	const char *type = json_string_value(json_object_get(op, "type"));

	fprintf(stderr, "  %-24s %-12s %5.0f %16.0f %16.0f", id != NULL ? id : "",
		type != NULL ? type : "", number(op, "parallelism"), number(op, "rows_in"),
		number(op, "rows_out"));
	json_object_foreach(dropped, reason, value)
	{
		if (json_number_value(value) > 0)
			fprintf(stderr, "  %s %.0f", reason, json_number_value(value));
	}
	fprintf(stderr, "\n");
}

void
weir_display_table(struct weir_display *d, json_t *report, const char *checkpoint_dir)
{
	json_t *operators = json_object_get(report, "operators");
	json_t *checkpoints = json_object_get(report, "checkpoints");
	const char *state = json_string_value(json_object_get(report, "state"));
	size_t i;
	json_t *op;

	clear(d);
	if (json_array_size(operators) > 0)
		fprintf(stderr, "  %-24s %-12s %5s %16s %16s  %s\n", "operator", "type", "tasks",
			"rows in", "rows out", "dropped");
	json_array_foreach(operators, i, op) put_operator(op);
	fprintf(stderr, "weir: %s after %.2f s, attempts %.0f", state, number(report, "wall_s"),
		number(report, "attempts"));
	if (checkpoint_dir != NULL)
		fprintf(stderr, ", checkpoints %.0f completed, %.0f failed, %.0f aborted, in %s",
			number(checkpoints, "completed"), number(checkpoints, "failed"),
			number(checkpoints, "aborted"), checkpoint_dir);
	fprintf(stderr, "\n");
}

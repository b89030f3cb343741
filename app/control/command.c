#include "app/control/command.h"

#include <stdio.h>
#include <string.h>

/* Fields of the object, as bits of `known`. */
enum field {
	FIELD_COMMAND = 1,
	FIELD_REQUEST_ID = 2,
	FIELD_CHECKPOINT = 4,
	FIELD_FORMAT = 8,
	FIELD_END = 16,
	FIELD_DIRECTORY = 32,
};

static const struct {
	const char *name;
	uint32_t fields;
} kinds[] = {
	[WEIR_COMMAND_TRIGGER] = { "trigger", FIELD_CHECKPOINT },
	[WEIR_COMMAND_SAVEPOINT] = { "savepoint", FIELD_FORMAT | FIELD_DIRECTORY },
	[WEIR_COMMAND_STOP] = { "stop", FIELD_END | FIELD_FORMAT | FIELD_DIRECTORY },
	[WEIR_COMMAND_CANCEL] = { "cancel", 0 },
};

static const char *const checkpoints[] = { "configured", "full", "incremental" };
static const char *const formats[] = { "native", "canonical" };
static const char *const ends[] = { "suspend", "drain" };

const char *
weir_command_name(enum weir_command_kind kind)
{
	return kinds[kind].name;
}

bool
weir_request_id_ok(const char *text)
{
	const size_t len = strlen(text);

	return len > 0 && len <= WEIR_REQUEST_ID_MAX &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
		       len;
}

json_t *
weir_command_json(const struct weir_control_command *c)
{
	const uint32_t fields = kinds[c->kind].fields;
	json_t *json = json_pack("{s:s, s:s}", "command", kinds[c->kind].name, "request_id",
				 c->request_id);

	WEIR_ASSERT(json != NULL);
	if ((fields & FIELD_CHECKPOINT) != 0)
		json_object_set_new(json, "checkpoint", json_string(checkpoints[c->checkpoint]));
	if ((fields & FIELD_FORMAT) != 0)
		json_object_set_new(json, "format", json_string(formats[c->canonical]));
	if ((fields & FIELD_END) != 0)
		json_object_set_new(json, "end", json_string(ends[c->drain]));
	if ((fields & FIELD_DIRECTORY) != 0 && c->directory[0] != '\0')
		json_object_set_new(json, "directory", json_string(c->directory));
	return json;
}

/* Which of words the field holds; left out: the first. */
static int
one_of(const json_t *json, const char *field, const char *const *words, uint32_t cnt,
       uint32_t *which, struct weir_error *err)
{
	const json_t *value = json_object_get(json, field);
	const char *text = json_string_value(value);

	*which = 0;
	if (value == NULL)
		return 0;
	for (uint32_t i = 0; i < cnt; i++) {
		if (text == NULL || strcmp(text, words[i]) != 0)
			continue;
		*which = i;
		return 0;
	}
	return weir_fail(err, WEIR_ERR_USAGE, "%s is none of its words", field);
}

static uint32_t
field_of(const char *name)
{
	static const char *const names[] = { "command", "request_id", "checkpoint",
					     "format",	"end",	      "directory" };

	for (uint32_t i = 0; i < WEIR_ARRAY_CNT(names); i++)
		if (strcmp(names[i], name) == 0)
			return 1u << i;
	return 0;
}

static int
check_fields(const json_t *json, enum weir_command_kind kind, struct weir_error *err)
{
	const uint32_t fields = kinds[kind].fields | FIELD_COMMAND | FIELD_REQUEST_ID;
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)json, name, value)
	{
		(void)value;
		if ((field_of(name) & fields) == 0)
			return weir_fail(err, WEIR_ERR_USAGE, "%s takes no '%.60s'",
					 kinds[kind].name, name);
	}
	return 0;
}

static int
parse_kind(const json_t *json, enum weir_command_kind *kind, struct weir_error *err)
{
	const char *text = json_string_value(json_object_get(json, "command"));

	if (!json_is_object(json))
		return weir_fail(err, WEIR_ERR_USAGE, "a command is a JSON object in one line");
	for (uint32_t i = 0; text != NULL && i < WEIR_ARRAY_CNT(kinds); i++) {
		if (strcmp(text, kinds[i].name) != 0)
			continue;
		*kind = i;
		return 0;
	}
	return weir_fail(err, WEIR_ERR_USAGE, "there is no command '%.60s'",
			 text != NULL ? text : "");
}

static int
parse_texts(const json_t *json, struct weir_control_command *c, struct weir_error *err)
{
	const char *id = json_string_value(json_object_get(json, "request_id"));
	const json_t *value = json_object_get(json, "directory");
	const char *dir = json_string_value(value);

	if (id == NULL || !weir_request_id_ok(id))
		return weir_fail(err, WEIR_ERR_USAGE,
				 "request_id is 1 to %u letters, digits, '.', '_' or '-'",
				 WEIR_REQUEST_ID_MAX);
	snprintf(c->request_id, sizeof(c->request_id), "%s", id);
	if (value == NULL)
		return 0;
	if (dir == NULL || dir[0] != '/' || strlen(dir) >= sizeof(c->directory))
		return weir_fail(err, WEIR_ERR_USAGE,
				 "directory is an absolute path of at most %u bytes",
				 WEIR_PATH_MAX - 1);
	snprintf(c->directory, sizeof(c->directory), "%s", dir);
	return 0;
}

int
weir_command_parse(const json_t *json, struct weir_control_command *command, struct weir_error *err)
{
	struct weir_control_command c = { 0 };
	uint32_t checkpoint = 0, format = 0, end = 0;
	int rc = parse_kind(json, &c.kind, err);

	if (rc == 0)
		rc = check_fields(json, c.kind, err);
	if (rc == 0)
		rc = parse_texts(json, &c, err);
	if (rc == 0)
		rc = one_of(json, "checkpoint", checkpoints, 3, &checkpoint, err);
	if (rc == 0)
		rc = one_of(json, "format", formats, 2, &format, err);
	if (rc == 0)
		rc = one_of(json, "end", ends, 2, &end, err);
	if (rc != 0)
		return rc;
	c.checkpoint = checkpoint;
	c.canonical = format == 1;
	c.drain = end == 1;
	*command = c;
	return 0;
}

bool
weir_command_same(const struct weir_control_command *a, const struct weir_control_command *b)
{
	return a->kind == b->kind && a->checkpoint == b->checkpoint &&
	       a->canonical == b->canonical && a->drain == b->drain &&
	       strcmp(a->directory, b->directory) == 0;
}

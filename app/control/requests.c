#include "app/control/requests.h"

#include "app/control/server.h"

#include <stdlib.h>
#include <string.h>

static struct weir_request_entry *
find(struct weir_requests *r, const char *id)
{
	for (uint32_t i = 0; i < r->cnt; i++)
		if (strcmp(r->list[i].command.request_id, id) == 0)
			return &r->list[i];
	return NULL;
}

/* The oldest that is settled goes; false: none is. */
static bool
make_room(struct weir_requests *r)
{
	for (uint32_t i = 0; i < r->cnt; i++) {
		if (r->list[i].outcome == NULL)
			continue;
		json_decref(r->list[i].outcome);
		r->cnt--;
		memmove(&r->list[i], &r->list[i + 1], (r->cnt - i) * sizeof(r->list[0]));
		return true;
	}
	return false;
}

const struct weir_request_entry *
weir_requests_add(struct weir_requests *r, const struct weir_control_command *command, bool *known,
		  struct weir_error *err)
{
	struct weir_request_entry *e = find(r, command->request_id);

	*known = e != NULL;
	if (e != NULL && !weir_command_same(&e->command, command)) {
		weir_fail(err, WEIR_ERR_USAGE, "request id %s was used for another command",
			  command->request_id);
		return NULL;
	}
	if (e != NULL)
		return e;
	if (r->list == NULL)
		r->list = calloc(WEIR_CONTROL_REQUESTS, sizeof(*r->list));
	WEIR_ASSERT(r->list != NULL);
	if (r->cnt == WEIR_CONTROL_REQUESTS && !make_room(r)) {
		weir_fail(err, WEIR_ERR_UNAVAILABLE, "%u commands are waiting already",
			  WEIR_CONTROL_REQUESTS);
		return NULL;
	}
	e = &r->list[r->cnt++];
	*e = (struct weir_request_entry){ .number = ++r->last, .command = *command };
	return e;
}

void
weir_requests_settle(struct weir_requests *r, uint64_t number, json_t *outcome)
{
	for (uint32_t i = 0; i < r->cnt; i++)
		if (r->list[i].number == number && r->list[i].outcome == NULL)
			r->list[i].outcome = json_incref(outcome);
}

void
weir_requests_fini(struct weir_requests *r)
{
	for (uint32_t i = 0; i < r->cnt; i++)
		json_decref(r->list[i].outcome);
	free(r->list);
	*r = (struct weir_requests){ 0 };
}

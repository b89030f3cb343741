/* The steps start-from and crash. */

#include "tests/scenarios/coord.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct start {
	struct weir_coord_event e;
	struct weir_part *parts;
	struct weir_hook_snapshot hooks[COORD_NAMES_MAX];
	struct scn_text unknown; /* hooks that the job does not have */
};

static void
read_hook(struct coord_scenario *s, struct start *start, const char *word)
{
	const char *is = strchr(word, '=');
	char *name = strndup(word, is == NULL ? strlen(word) : (size_t)(is - word));
	int which;

	WEIR_ASSERT(name != NULL);
	which = coord_index(s->hook_names, s->cfg.hook_cnt, name);
	if (which < 0) {
		start->e.start.unknown_hook_cnt++;
		scn_text_add(&start->unknown, " hook:%s", name);
	}
	free(name);
	if (which < 0)
		return;
	start->hooks[which].has_state = is != NULL;
	if (is != NULL)
		start->hooks[which].state = scn_number(&s->names, is + 1);
}

static bool
read_start(struct coord_scenario *s, const struct scn_line *line, struct start *start)
{
	struct weir_snapshot *snap = &start->e.start.snapshot;

	snap->claimed = strcmp(line->words[2], "claim") == 0;
	if (!scn_u64(line->words[1], UINT64_MAX / 2, &snap->id) || snap->id == 0 ||
	    (!snap->claimed && strcmp(line->words[2], "no-claim") != 0) ||
	    !coord_kind_of(line->words[3], &snap->kind))
		return false;
	for (uint32_t i = 4; i < line->word_cnt; i++) {
		if (strcmp(line->words[i], "allow-non-restored") == 0)
			start->e.start.allow_non_restored = true;
		else if (strncmp(line->words[i], "hook:", 5) == 0)
			read_hook(s, start, line->words[i] + 5);
		else
			coord_read_part(s, line->words[i], &start->parts[snap->part_cnt++]);
	}
	snap->parts = start->parts;
	snap->hooks = start->hooks;
	snap->hook_cnt = s->cfg.hook_cnt;
	return true;
}

bool
coord_step_start_from(struct coord_scenario *s, const struct scn_line *line)
{
	struct start start = { .e.kind = WEIR_COORD_START_FROM };
	struct weir_coord_updates updates;
	bool ok;

	start.parts = coord_part_list(line);
	scn_text_reset(&start.unknown);
	ok = read_start(s, line, &start);
	if (ok) {
		updates = weir_coordinator_step(s->c, &start.e, s->now);
		if (updates.cnt == 1 && updates.list[0].kind == WEIR_COORD_DO_RESTORE_FAILED)
			scn_text_add(&s->out, "restore-failed%s\n", start.unknown.at);
		else
			coord_print(s, &updates);
	}
	free(start.unknown.at);
	free(start.parts);
	return ok;
}

static struct weir_snapshot *
flatten(const struct weir_snapshot_list *l)
{
	struct weir_snapshot *list = calloc(l->cnt + 1, sizeof(*list));

	WEIR_ASSERT(list != NULL);
	for (uint32_t i = 0; i < l->cnt; i++)
		list[i] = *l->list[i];
	return list;
}

/* What a new process finds: the store, the savepoints and the counter. */
static void
recover_from(struct coord_scenario *s, struct weir_coordinator *old)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_RECOVER };
	struct weir_snapshot *completed = flatten(&old->store.completed);
	struct weir_snapshot *savepoints = flatten(&old->store.savepoints);

	e.recover.next_id = old->next_id;
	e.recover.completed = completed;
	e.recover.completed_cnt = old->store.completed.cnt;
	e.recover.savepoints = savepoints;
	e.recover.savepoint_cnt = old->store.savepoints.cnt;
	coord_send(s, &e);
	free(completed);
	free(savepoints);
}

bool
coord_step_crash(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coordinator *old = s->c;
	struct weir_attempt *list = coord_task_list(s);
	uint32_t cnt = coord_tasks(s, "*", old->attempts, list);

	(void)line;
	s->c = weir_coordinator_create(&s->cfg);
	s->timer_base = s->timer_cnt;
	recover_from(s, old);
	weir_coordinator_destroy(old);
	for (uint32_t i = 0; i < cnt; i++)
		list[i].attempt++;
	coord_send_tasks(s, WEIR_COORD_RESTART, list, cnt, WEIR_COORD_TASK_CREATED);
	free(list);
	coord_send_job(s, WEIR_COORD_JOB_RESTARTING);
	for (uint32_t i = 0; i < s->promise_cnt; i++) {
		if (s->promises[i].open)
			snprintf(s->promises[i].answer, sizeof(s->promises[i].answer), "lost");
		s->promises[i].open = false;
	}
	return true;
}

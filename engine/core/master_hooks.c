/*
 * Master hooks (K15). Each one's state is asked for at the trigger and waited for in rounds; the
 * coordinator sends its triggers when all have answered. A hook that fails fails the checkpoint.
 */
#include "engine/core/master_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
answer(struct weir_master *m, uint32_t which, bool ok)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_HOOK_ANSWER };

	ev.answer.id = m->hook_busy[which];
	ev.answer.which = which;
	ev.answer.has_state = ok;
	ev.answer.result = ok ? WEIR_COORD_OK : WEIR_COORD_FAILED;
	m->hook_busy[which] = 0;
	weir_master_event(m, &ev);
}

void
weir_master_hook_begin(struct weir_master *m, uint64_t id, uint32_t which)
{
	const struct weir_master_hook *hook = &m->cfg.hooks[which];

	WEIR_ASSERT(m->hook_busy[which] == 0);
	m->hook_busy[which] = id;
	hook->begin(hook->arg, id);
}

static void
keep(struct weir_master *m, uint32_t which, const struct weir_blob *state)
{
	struct weir_master_checkpoint *c = weir_master_find(m, m->hook_busy[which]);
	void *copy = malloc(state->len + 1);

	WEIR_ASSERT(c != NULL);
	WEIR_ASSERT(copy != NULL);
	memcpy(copy, state->bytes, state->len);
	free((void *)(uintptr_t)c->hooks[which].bytes);
	c->hooks[which] = (struct weir_blob){ copy, state->len };
}

static void
say_failed(struct weir_master *m, uint32_t which, const struct weir_error *err)
{
	char text[sizeof(err->text) + 96];

	m->decline = *err;
	weir_error_prefix(&m->decline, "hook '%s'", m->cfg.hooks[which].name);
	m->hook_failed = m->hook_busy[which];
	snprintf(text, sizeof(text), "checkpoint %llu: hook '%s': %s",
		 (unsigned long long)m->hook_busy[which], m->cfg.hooks[which].name, err->text);
	if (m->cfg.warning != NULL)
		m->cfg.warning(m->cfg.arg, text);
}

bool
weir_master_step_hooks(struct weir_master *m)
{
	bool any = false;

	for (uint32_t i = 0; i < m->cfg.hook_cnt; i++) {
		const struct weir_master_hook *hook = &m->cfg.hooks[i];
		struct weir_blob state = { 0 };
		struct weir_error err = { 0 };
		enum weir_hook_step step;

		if (m->hook_busy[i] == 0)
			continue;
		step = hook->step(hook->arg, &state, &err);
		if (step == WEIR_HOOK_BUSY)
			continue;
		any = true;
		if (step == WEIR_HOOK_DONE)
			keep(m, i, &state);
		else
			say_failed(m, i, &err);
		answer(m, i, step == WEIR_HOOK_DONE);
	}
	return any;
}

void
weir_master_stop_hooks(struct weir_master *m)
{
	for (uint32_t i = 0; i < m->cfg.hook_cnt; i++) {
		if (m->hook_busy[i] != 0)
			m->cfg.hooks[i].abandon(m->cfg.hooks[i].arg);
		m->hook_busy[i] = 0;
	}
}

void
weir_master_abandon_hooks(struct weir_master *m, uint64_t id)
{
	for (uint32_t i = 0; i < m->cfg.hook_cnt; i++) {
		if (m->hook_busy[i] != id)
			continue;
		m->cfg.hooks[i].abandon(m->cfg.hooks[i].arg);
		answer(m, i, false); /* what was asked is answered, also if nobody waits */
	}
}

#include "engine/core/watchdog.h"

#include <stdio.h>

void
weir_watchdog_begin(struct weir_task *t)
{
	struct weir_core *c = t->core;

	if (c->sync_timeout_ns == 0)
		return;
	atomic_store_explicit(&c->sync_task, t->number, memory_order_relaxed);
	atomic_store_explicit(&c->sync_checkpoint, t->trigger.id, memory_order_relaxed);
	/* W1: pairs with W2; makes visible whose it is. */
	atomic_store_explicit(&c->sync_since_ns, c->clock(), memory_order_release);
}

/* All operators of the task: any of them may be the one. */
static void
say(const struct weir_core *c, const struct weir_task *t, uint64_t checkpoint, int64_t took_ns,
    const char *how, struct weir_error *err)
{
	char names[200] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < t->ctx_cnt && len < sizeof(names); i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
					i > 0 ? " -> " : "", t->ctx[i]->id);
	weir_fail(err, WEIR_ERR_FAILED,
		  "task '%s' subtask %u: the synchronous part of checkpoint %llu %s %.3f s, more "
		  "than checkpoint.sync-timeout (%.3f s)",
		  names, t->subtask, (unsigned long long)checkpoint, how, (double)took_ns / 1e9,
		  (double)c->sync_timeout_ns / 1e9);
}

void
weir_watchdog_end(struct weir_task *t, uint64_t checkpoint)
{
	struct weir_core *c = t->core;
	struct weir_error err;
	int64_t took_ns;

	if (c->sync_timeout_ns == 0)
		return;
	took_ns = c->clock() - atomic_load_explicit(&c->sync_since_ns, memory_order_relaxed);
	atomic_store_explicit(&c->sync_since_ns, 0, memory_order_relaxed);
	if (took_ns <= c->sync_timeout_ns)
		return;
	say(c, t, checkpoint, took_ns, "took", &err);
	weir_task_fail(t, &err);
}

static bool
is_stuck(const struct weir_core *c, int64_t now_ns, struct weir_error *err)
{
	/* W2: pairs with W1. It may be over by now, and another one have begun: then that one's
	 * name would be said of a time that was too long all the same. */
	const int64_t since_ns = atomic_load_explicit(&c->sync_since_ns, memory_order_acquire);
	const uint32_t number = atomic_load_explicit(&c->sync_task, memory_order_relaxed);
	const uint64_t id = atomic_load_explicit(&c->sync_checkpoint, memory_order_relaxed);

	if (since_ns == 0 || c->sync_timeout_ns == 0 || now_ns - since_ns <= c->sync_timeout_ns)
		return false;
	for (uint32_t i = 0; i < c->task_cnt; i++)
		if (c->tasks[i]->number == number)
			say(c, c->tasks[i], id, now_ns - since_ns, "goes on for", err);
	return true;
}

bool
weir_watchdog_check(const struct weir_runtime *rt, int64_t now_ns, struct weir_error *err)
{
	for (uint32_t c = 0; c < rt->cfg.plan->core_cnt; c++)
		if (is_stuck(&rt->cores[c], now_ns, err))
			return true;
	return false;
}

/* What can be asked of the world of a barrier scenario, as the notation writes it. */

#include "tests/scenarios/barrier_world_priv.h"

#include <inttypes.h>
#include <string.h>

void
world_blocked(const struct world *w, char *text, size_t size)
{
	const char *blank = "";

	snprintf(text, size, "{");
	for (uint32_t c = 0; c < w->header.channel_cnt; c++)
		if (weir_gate_is_closed(weir_input_gate(w->input), c)) {
			text_add(text, size, "%s%u", blank, c);
			blank = " ";
		}
	text_add(text, size, "}");
}

static struct weir_handler_view
view(const struct world *w)
{
	struct weir_handler_view v;

	weir_handler_look(weir_input_handler(w->input), &v);
	return v;
}

void
world_pending(const struct world *w, char *text, size_t size)
{
	const struct weir_handler_view v = view(w);

	snprintf(text, size, "%s", v.pending_cnt == 0 ? "none" : "");
	for (uint32_t i = 0; i < v.pending_cnt; i++)
		text_add(text, size, "%s%" PRIu64, i == 0 ? "" : " ", v.pending[i]);
}

static bool
keep_channel(const struct world *w, uint64_t id, uint32_t channel, char *text, size_t size)
{
	bool any = false;

	for (uint32_t i = 0; i < w->kept_cnt; i++) {
		const struct kept *k = &w->kept[i];

		if (k->id != id || k->channel != channel || k->gone)
			continue;
		if (!any)
			text_add(text, size, "%s%u:[", strcmp(text, "{") == 0 ? "" : " ", channel);
		text_add(text, size, "%s%s", any ? " " : "", w->frames[k->frame].label);
		any = true;
	}
	if (any)
		text_add(text, size, "]");
	return any;
}

void
world_keep(const struct world *w, uint64_t id, char *text, size_t size)
{
	snprintf(text, size, "{");
	for (uint32_t c = 0; c < w->header.channel_cnt; c++)
		keep_channel(w, id, c, text, size);
	text_add(text, size, "}");
}

void
world_latest(const struct world *w, char *text, size_t size)
{
	const struct weir_handler_view v = view(w);

	if (v.has_latest)
		snprintf(text, size, "%" PRIu64, v.latest);
	else
		snprintf(text, size, "none");
}

uint32_t
world_open(const struct world *w)
{
	return view(w).open_cnt;
}

uint32_t
world_remembered(const struct world *w)
{
	return view(w).remembered_cnt;
}

bool
world_aligning(const struct world *w)
{
	return view(w).aligning;
}

bool
world_metrics(const struct world *w, uint64_t id, struct weir_handler_metrics *metrics)
{
	for (uint32_t i = 0; i < w->measured_cnt; i++)
		if (w->measured[i].id == id) {
			*metrics = w->measured[i].metrics;
			return true;
		}
	return false;
}

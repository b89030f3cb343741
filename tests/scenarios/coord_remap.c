/* Kind `remap`: in-flight data at changed parallelism. */

#include "engine/checkpoint/remap.h"
#include "tests/scenarios/coord.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARALLELISM_MAX 32768 /* as many as there are key groups */

struct exchange {
	const char *up;
	const char *down;
	struct weir_remap_exchange x;
};

static struct exchange exchanges[COORD_EDGES_MAX];
static uint32_t exchange_cnt;
static uint32_t old_parallelism[COORD_VERTICES_MAX];

static bool
read_mapper(const char *word, enum weir_mapper *mapper)
{
	static const char *const names[] = { "range", "round-robin", "first", "full",
					     "unsupported" };
	int i = coord_index(names, WEIR_ARRAY_CNT(names),
			    strcmp(word, "arbitrary") == 0 ? "round-robin" : word);

	*mapper = (enum weir_mapper)i;
	return i >= 0;
}

/* ---- header ------------------------------------------------------------------------------------
 */

static bool
read_vertex(struct coord_scenario *s, const struct scn_line *line)
{
	uint32_t v = s->cfg.graph.vertex_cnt;

	if (line->word_cnt != 4 || strncmp(line->words[2], "old=", 4) != 0 ||
	    strncmp(line->words[3], "new=", 4) != 0 ||
	    coord_index(s->vertex_names, v, line->words[1]) >= 0 ||
	    !scn_u32(line->words[2] + 4, 1, PARALLELISM_MAX, &old_parallelism[v]) ||
	    !scn_u32(line->words[3] + 4, 1, PARALLELISM_MAX, &s->vertices[v].parallelism))
		return false;
	s->vertex_names[v] = line->words[1];
	s->cfg.graph.vertex_cnt++;
	return true;
}

static bool
read_side(const struct coord_scenario *s, const char *vertex, const char *mapper,
	  struct weir_remap_side *side)
{
	int v = coord_index(s->vertex_names, s->cfg.graph.vertex_cnt, vertex);

	if (v < 0 || !read_mapper(mapper, &side->mapper))
		return false;
	side->old_cnt = old_parallelism[v];
	side->new_cnt = s->vertices[v].parallelism;
	return true;
}

static bool
read_edge(const struct coord_scenario *s, const struct scn_line *line)
{
	struct exchange *e = &exchanges[exchange_cnt++];

	if (line->word_cnt != 5)
		return false;
	*e = (struct exchange){ .up = line->words[1], .down = line->words[2] };
	return strncmp(line->words[3], "up=", 3) == 0 && strncmp(line->words[4], "down=", 5) == 0 &&
	       read_side(s, e->up, line->words[3] + 3, &e->x.up) &&
	       read_side(s, e->down, line->words[4] + 5, &e->x.down);
}

static struct exchange *
find(const char *up, const char *down)
{
	for (uint32_t i = 0; i < exchange_cnt; i++) {
		if (strcmp(exchanges[i].up, up) == 0 && strcmp(exchanges[i].down, down) == 0)
			return &exchanges[i];
	}
	return NULL;
}

static bool
read_state(const struct scn_line *line)
{
	struct exchange *e = line->word_cnt == 4 ? find(line->words[2], line->words[3]) : NULL;
	bool in = strcmp(line->words[1], "in") == 0;

	if (e == NULL || (!in && strcmp(line->words[1], "out") != 0))
		return false;
	if (in)
		e->x.down.has_data = true;
	else
		e->x.up.has_data = true;
	return true;
}

static bool
read_line(struct coord_scenario *s, const struct scn_line *line)
{
	if (strcmp(line->words[0], "vertex") == 0)
		return s->cfg.graph.vertex_cnt < COORD_VERTICES_MAX && read_vertex(s, line);
	if (strcmp(line->words[0], "edge") == 0)
		return exchange_cnt < COORD_EDGES_MAX && read_edge(s, line);
	return strcmp(line->words[0], "state") == 0 && read_state(line);
}

/* ---- queries -----------------------------------------------------------------------------------
 */

static void
print_list(const uint32_t *list, uint32_t cnt, struct scn_text *t)
{
	if (cnt == 0)
		scn_text_add(t, "-");
	for (uint32_t i = 0; i < cnt; i++)
		scn_text_add(t, "%s%u", i > 0 ? "," : "", list[i]);
}

static void
print_row(const struct weir_remap_table *table, uint32_t i, struct scn_text *t)
{
	print_list(&table->olds[table->first[i]], table->first[i + 1] - table->first[i], t);
}

static void
print_table(const struct weir_remap_table *table, struct scn_text *t)
{
	for (uint32_t i = 0; i < table->new_cnt; i++) {
		scn_text_add(t, "%s%u<-", i > 0 ? " " : "", i);
		print_row(table, i, t);
	}
}

static bool
query_map(const char *query, struct scn_text *t)
{
	struct weir_remap_table table;
	uint32_t old_cnt, new_cnt;
	enum weir_mapper mapper;
	char name[32], old_word[32], new_word[32];

	if (sscanf(query, "map %31s %31s %31s", name, old_word, new_word) != 3 ||
	    !read_mapper(name, &mapper) || !scn_u32(old_word, 1, PARALLELISM_MAX, &old_cnt) ||
	    !scn_u32(new_word, 1, PARALLELISM_MAX, &new_cnt))
		return false;
	if (!weir_remap_map(mapper, old_cnt, new_cnt, &table)) {
		scn_text_add(t, "unsupported");
		return true;
	}
	print_table(&table, t);
	weir_remap_fini(&table);
	return true;
}

static bool
query_side(const char *query, struct scn_text *t)
{
	char word[16], up[256], down[256];
	struct weir_remap_table table;
	const struct exchange *e;
	bool input;

	if (sscanf(query, "%15s %255s %255s", word, up, down) != 3)
		return false;
	input = strcmp(word, "input") == 0;
	e = find(up, down);
	if (e == NULL || (!input && strcmp(word, "output") != 0))
		return false;
	if (!(input ? e->x.down.has_data : e->x.up.has_data)) {
		scn_text_add(t, "none");
	} else if (!weir_remap_side(&e->x, input, &table)) {
		scn_text_add(t, "unsupported");
	} else {
		print_table(&table, t);
		weir_remap_fini(&table);
	}
	return true;
}

static void
print_exchange(const struct exchange *e, bool down, uint32_t subtask, struct scn_text *t)
{
	struct weir_remap_table own, other;
	uint32_t *ambiguous;

	if (weir_remap_work(&e->x, down, subtask) == WEIR_REMAP_NO_STATE) {
		scn_text_add(t, "no-state");
		return;
	}
	if (!weir_remap_side(&e->x, down, &own) || !weir_remap_side(&e->x, !down, &other))
		WEIR_ASSERT(false);
	scn_text_add(t, "old=");
	print_row(&own, subtask, t);
	scn_text_add(t, " chan=[");
	print_table(&other, t);
	scn_text_add(t, "] ambiguous=");
	ambiguous = calloc(own.old_cnt, sizeof(*ambiguous));
	WEIR_ASSERT(ambiguous != NULL);
	print_list(ambiguous, weir_remap_ambiguous(&own, ambiguous), t);
	free(ambiguous);
	weir_remap_fini(&own);
	weir_remap_fini(&other);
}

static bool
query_task(struct coord_scenario *s, const char *query, struct scn_text *t)
{
	bool down = strncmp(query, "in-desc ", 8) == 0;
	const char *dot = strrchr(query, '.');
	bool unsupported = false;
	bool rescales = false;
	const char *bar = "";
	char vertex[256];
	uint32_t subtask;
	int v;

	if (dot == NULL || (!down && strncmp(query, "out-desc ", 9) != 0))
		return false;
	query = strchr(query, ' ') + 1;
	snprintf(vertex, sizeof(vertex), "%.*s", dot > query ? (int)(dot - query) : 0, query);
	v = coord_index(s->vertex_names, s->cfg.graph.vertex_cnt, vertex);
	if (v < 0 || !scn_u32(dot + 1, 0, s->vertices[v].parallelism - 1, &subtask))
		return false;
	for (uint32_t i = 0; i < exchange_cnt; i++) {
		enum weir_remap_work work;

		if (strcmp(down ? exchanges[i].down : exchanges[i].up, vertex) != 0)
			continue;
		work = weir_remap_work(&exchanges[i].x, down, subtask);
		unsupported |= work == WEIR_REMAP_UNSUPPORTED;
		rescales |= work == WEIR_REMAP_RESCALE;
	}
	if (unsupported || !rescales) {
		scn_text_add(t, "%s", unsupported ? "unsupported" : "no-rescale");
		return true;
	}
	for (uint32_t i = 0; i < exchange_cnt; i++) {
		if (strcmp(down ? exchanges[i].down : exchanges[i].up, vertex) != 0)
			continue;
		scn_text_add(t, "%s", bar);
		print_exchange(&exchanges[i], down, subtask, t);
		bar = " | ";
	}
	return true;
}

static bool
remap_query(struct coord_scenario *s, const char *query, struct scn_text *answer)
{
	if (strncmp(query, "map ", 4) == 0)
		return query_map(query, answer);
	if (strstr(query, "-desc ") != NULL)
		return query_task(s, query, answer);
	return query_side(query, answer);
}

static bool
remap_step(struct coord_scenario *s, const struct scn_line *line)
{
	(void)s;
	(void)line;
	return false; /* this kind has no steps */
}

void
coord_run_remap(struct coord_scenario *s)
{
	exchange_cnt = 0;
	for (uint32_t i = s->first + 1; i < s->begin; i++) {
		if (!read_line(s, &s->file->lines[i])) {
			coord_nonsense(s, &s->file->lines[i]);
			return;
		}
	}
	coord_play(s, remap_step, remap_query);
}

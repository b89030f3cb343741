#ifndef WEIR_TESTS_SCENARIOS_COORD_H
#define WEIR_TESTS_SCENARIOS_COORD_H

/* Kind `coordinator` and its relatives: the state of one scenario being played. */

#include "engine/checkpoint/coordinator_priv.h"
#include "tests/scenarios/scn.h"

#define COORD_VERTICES_MAX 256
#define COORD_EDGES_MAX	   2048
#define COORD_NAMES_MAX	   64
#define COORD_DRAWS_MAX	   4096
#define COORD_STATES_MAX   4096
#define COORD_TASKS_MAX	   65536u
#define COORD_FIRINGS_MAX  20000u /* in one step of the clock */

struct coord_promise {
	char *name;
	char answer[96];
	bool open;
};

struct coord_scenario {
	const struct scn_file *file;
	const char *id;
	uint32_t first; /* index of the line `scenario` */
	uint32_t begin; /* index of the line `begin` */
	uint32_t end;	/* index past the last line */
	uint32_t deviations;

	/* header */
	struct weir_coordinator_config cfg;
	struct weir_coord_vertex vertices[COORD_VERTICES_MAX];
	const char *vertex_names[COORD_VERTICES_MAX];
	uint32_t vertex_first[COORD_VERTICES_MAX];
	struct weir_coord_edge edges[COORD_EDGES_MAX];
	const char *opcoord_names[COORD_NAMES_MAX];
	uint32_t opcoord_vertices[COORD_NAMES_MAX];
	const char *hook_names[COORD_NAMES_MAX];
	uint64_t draws[COORD_DRAWS_MAX];
	uint32_t draw_cnt;
	uint32_t draw_next;
	const struct scn_line *states[COORD_STATES_MAX]; /* `state` lines, applied at the end */
	uint32_t state_cnt;
	enum weir_coord_job_state job_state;
	uint32_t task_cnt;

	/* play */
	struct weir_coordinator *c;
	int64_t now;
	struct scn_names names;
	uint64_t timer_base; /* periodic requests before the last crash */
	uint64_t timer_cnt;
	struct coord_promise *promises;
	uint32_t promise_cnt;
	uint32_t promise_cap;
	const struct scn_line *step; /* being done */
	struct scn_text out;	     /* its updates, a line each */
};

/* ---- coord_header.c ---- */

/* Read the lines before `begin`; false if one of them makes no sense (reported). */
bool coord_read_header(struct coord_scenario *s);
/* Report that this line makes no sense. */
void coord_nonsense(struct coord_scenario *s, const struct scn_line *line);
/*
 * Tasks that `word` names: *, V.*, v.i, v.i#n, v.i-j. Fills list (room for all tasks) with numbers
 * and, where #n is given, attempts, else those of `attempts` (0 if that is NULL). Returns how
 * many, 0 if there is no such task.
 */
uint32_t coord_tasks(const struct coord_scenario *s, const char *word, const uint32_t *attempts,
		     struct weir_attempt *list);
int coord_task_state(const char *word);
int coord_job_state(const char *word);
int coord_index(const char *const *names, uint32_t cnt, const char *word);

/* ---- coord_steps.c ---- */

/* Do the step of this line, filling s->out; false if it makes no sense. */
bool coord_step(struct coord_scenario *s, const struct scn_line *line);
void coord_create(struct coord_scenario *s);

/* For the other steps: events to the coordinator, whose updates are printed to s->out. */
void coord_send(struct coord_scenario *s, const struct weir_coord_event *e);
void coord_send_tasks(struct coord_scenario *s, enum weir_coord_event_kind kind,
		      struct weir_attempt *list, uint32_t cnt, enum weir_coord_task_state state);
void coord_send_job(struct coord_scenario *s, enum weir_coord_job_state state);
/* Room for all tasks; for what the words of a line say. The caller frees. */
struct weir_attempt *coord_task_list(const struct coord_scenario *s);
struct weir_part *coord_part_list(const struct scn_line *line);
/* h, k=h or k= */
void coord_read_part(struct coord_scenario *s, const char *word, struct weir_part *part);
bool coord_kind_of(const char *word, enum weir_request_kind *kind);

/* ---- coord_start.c ---- */

bool coord_step_start_from(struct coord_scenario *s, const struct scn_line *line);
bool coord_step_crash(struct coord_scenario *s, const struct scn_line *line);

/* ---- coord_print.c ---- */

void coord_print(struct coord_scenario *s, const struct weir_coord_updates *updates);
void coord_print_task(const struct coord_scenario *s, struct scn_text *t, struct weir_attempt a);
/* Name of a request. */
void coord_print_request(const struct coord_scenario *s, struct scn_text *t, uint64_t number,
			 bool from_timer);
struct coord_promise *coord_promise(struct coord_scenario *s, const char *name);
struct coord_promise *coord_promise_find(const struct coord_scenario *s, const char *name);

/* ---- coord_queries.c ---- */

/* The answer to a query; false if there is no such query. */
bool coord_query(struct coord_scenario *s, const char *query, struct scn_text *answer);

/* ---- coord_small.c, coord_remap.c: whole scenarios of the other kinds ---- */

void coord_run_decider(struct coord_scenario *s);
void coord_run_failures(struct coord_scenario *s);
void coord_run_plan(struct coord_scenario *s);
void coord_run_remap(struct coord_scenario *s);

/* ---- coord_file.c ---- */

/*
 * Play: each step line goes to `step`, its updates are compared with the `>` lines, and each query
 * goes to `query`.
 */
void coord_play(struct coord_scenario *s,
		bool (*step)(struct coord_scenario *s, const struct scn_line *line),
		bool (*query)(struct coord_scenario *s, const char *query,
			      struct scn_text *answer));

#endif /* WEIR_TESTS_SCENARIOS_COORD_H */

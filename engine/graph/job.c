#include "engine/graph/graph.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/state/backend.h"

struct weir_job *
weir_job_create(void)
{
	return calloc(1, sizeof(struct weir_job));
}

void
weir_job_destroy(struct weir_job *job)
{
	if (job == NULL)
		return;
	for (uint32_t v = 0; v < job->vertex_cnt; v++)
		for (uint32_t i = 0; i < WEIR_ARRAY_CNT(job->vertex[v].owned); i++)
			free(job->vertex[v].owned[i]);
	while (job->streams != NULL) {
		struct weir_stream *next = job->streams->next;

		free(job->streams);
		job->streams = next;
	}
	free(job);
}

static WEIR_PRINTF(2, 0) void vmistake(struct weir_job *job, const char *fmt, va_list ap)
{
	if (job->error.code != WEIR_OK)
		return;
	job->error.code = WEIR_ERR_CONFIG;
	vsnprintf(job->error.text, sizeof(job->error.text), fmt, ap);
}

void
weir_job_mistake(struct weir_job *job, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vmistake(job, fmt, ap);
	va_end(ap);
}

int
weir_param_fail(struct weir_job *job, const char *name, const char *fmt, ...)
{
	va_list ap;

	if (job->error.code == WEIR_OK)
		snprintf(job->error_param, sizeof(job->error_param), "job.%s", name);
	va_start(ap, fmt);
	vmistake(job, fmt, ap);
	va_end(ap);
	return WEIR_ERR_CONFIG;
}

static struct weir_stream *
stream_new(struct weir_job *job, uint32_t from)
{
	struct weir_stream *s = calloc(1, sizeof(*s));

	WEIR_ASSERT(s != NULL);
	s->job = job;
	s->partitioner = WEIR_FORWARD;
	s->automatic = true;
	if (from != UINT32_MAX) {
		s->from[0] = from;
		s->from_cnt = 1;
	}
	s->next = job->streams;
	job->streams = s;
	return s;
}

const struct weir_type *
weir_stream_type(const struct weir_stream *stream)
{
	return stream->from_cnt == 0 ? NULL : stream->job->vertex[stream->from[0]].out_type;
}

uint32_t
weir_job_find(const struct weir_job *job, const char *id)
{
	for (uint32_t v = 0; v < job->vertex_cnt; v++)
		if (strcmp(job->vertex[v].id, id) == 0)
			return v;
	return UINT32_MAX;
}

static bool
id_is_good(const char *id)
{
	const size_t len = strlen(id);

	if (len == 0 || len >= WEIR_ID_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)id[i]) && id[i] != '-' && id[i] != '_')
			return false;
	return true;
}

static struct weir_vertex *
vertex_new(struct weir_job *job, const char *id, enum weir_vertex_kind kind)
{
	struct weir_vertex *v;

	if (job->error.code != WEIR_OK)
		return NULL;
	if (!id_is_good(id)) {
		weir_job_mistake(job, "operator id '%s': use 1 to %u letters, digits, - or _", id,
				 WEIR_ID_MAX - 1);
		return NULL;
	}
	if (weir_job_find(job, id) != UINT32_MAX) {
		weir_job_mistake(job, "operator id '%s' is used twice", id);
		return NULL;
	}
	if (job->vertex_cnt == WEIR_OPERATORS_MAX) {
		weir_job_mistake(job, "operator '%s': a job has at most %u operators", id,
				 WEIR_OPERATORS_MAX);
		return NULL;
	}
	v = &job->vertex[job->vertex_cnt++];
	snprintf(v->id, sizeof(v->id), "%s", id);
	v->kind = kind;
	return v;
}

static void
connect(struct weir_job *job, const struct weir_stream *in, struct weir_vertex *v)
{
	const uint32_t to = (uint32_t)(v - job->vertex);

	v->in_type = weir_stream_type(in);
	v->key = in->key;
	if (in->from_cnt > WEIR_EDGES_MAX - job->edge_cnt) {
		weir_job_mistake(job, "operator '%s': a job has at most %u edges", v->id,
				 WEIR_EDGES_MAX);
		return;
	}
	for (uint32_t i = 0; i < in->from_cnt; i++) {
		job->edge[job->edge_cnt++] = (struct weir_edge){ .from = in->from[i],
								 .to = to,
								 .partitioner = in->partitioner,
								 .automatic = in->automatic,
								 .key = in->key };
	}
}

static void
check_type(struct weir_job *job, const char *id, const struct weir_type *type)
{
	if (type != NULL && (type->column_cnt == 0 || type->column_cnt > WEIR_COLUMNS_MAX))
		weir_job_mistake(job, "'%s': rows of %u columns, there may be 1 to %u", id,
				 type->column_cnt, WEIR_COLUMNS_MAX);
}

struct weir_stream *
weir_source(struct weir_job *job, const char *id, const struct weir_connector *connector)
{
	struct weir_vertex *v = vertex_new(job, id, WEIR_VERTEX_SOURCE);

	if (v == NULL)
		return stream_new(job, UINT32_MAX);
	v->connector = connector;
	v->out_type = connector->type;
	if (connector->type == NULL)
		weir_job_mistake(job, "source '%s': its connector has no type of rows", id);
	if (connector->reason_cnt > WEIR_REASONS_MAX)
		weir_job_mistake(job, "source '%s': more than %u reasons to drop rows", id,
				 WEIR_REASONS_MAX);
	check_type(job, id, connector->type);
	return stream_new(job, (uint32_t)(v - job->vertex));
}

/* A checkpoint knows them by name. */
static void
check_states(struct weir_job *job, const char *id, const struct weir_operator *op)
{
	if (op->state_cnt > WEIR_STATES_MAX)
		weir_job_mistake(job, "operator '%s': more than %u states", id, WEIR_STATES_MAX);
	for (uint32_t i = 0; job->error.code == WEIR_OK && i < op->state_cnt; i++) {
		const struct weir_state_decl *d = &op->states[i];
		const char *name = d->name;

		if (name == NULL || name[0] == '\0')
			weir_job_mistake(job, "operator '%s' state %u: it has no name", id, i);
		else if (d->value_bytes == 0 || d->value_bytes > WEIR_VALUE_MAX)
			weir_job_mistake(job,
					 "operator '%s' state '%s': values of %u bytes, there may "
					 "be 1 to %u",
					 id, name, d->value_bytes, WEIR_VALUE_MAX);
		else if (d->key_bytes > WEIR_KEY_FIXED_MAX)
			weir_job_mistake(job,
					 "operator '%s' state '%s': keys of %u bytes, at most %u",
					 id, name, d->key_bytes, WEIR_KEY_FIXED_MAX);
		for (uint32_t k = 0; job->error.code == WEIR_OK && k < i; k++)
			if (strcmp(op->states[k].name, name) == 0)
				weir_job_mistake(job,
						 "operator '%s' state '%s': its name is used twice",
						 id, name);
	}
}

static bool
name_is_taken(const struct weir_operator *op, uint32_t state)
{
	const char *name = op->operator_states[state].name;

	for (uint32_t i = 0; i < state; i++)
		if (strcmp(op->operator_states[i].name, name) == 0)
			return true;
	for (uint32_t i = 0; i < op->state_cnt; i++)
		if (strcmp(op->states[i].name, name) == 0)
			return true;
	return false;
}

/* What is wrong with the declaration; NULL: nothing. */
static const char *
misdeclared(const struct weir_operator_state_decl *d)
{
	const bool map = d->kind == WEIR_BROADCAST_MAP;

	if (d->kind < WEIR_SPLIT_LIST || d->kind > WEIR_BROADCAST_MAP)
		return "its kind is none";
	if (d->item_bytes > WEIR_OPERATOR_STATE_ITEM_MAX)
		return "its items are too long";
	if (d->key_bytes > (map ? WEIR_OPERATOR_STATE_KEY_MAX : 0))
		return map ? "its keys are too long" : "a list has no keys";
	if (d->bytes_max > WEIR_OPERATOR_STATE_BYTES_MAX)
		return "its bytes_max is too large";
	return NULL;
}

static void
check_operator_states(struct weir_job *job, const char *id, const struct weir_operator *op)
{
	if (op->operator_state_cnt > WEIR_OPERATOR_STATES_MAX)
		weir_job_mistake(job, "operator '%s': more than %u operator states", id,
				 WEIR_OPERATOR_STATES_MAX);
	for (uint32_t i = 0; job->error.code == WEIR_OK && i < op->operator_state_cnt; i++) {
		const struct weir_operator_state_decl *d = &op->operator_states[i];
		const char *why = "it has no name";

		if (d->name != NULL && d->name[0] != '\0')
			why = misdeclared(d);
		if (why == NULL && name_is_taken(op, i))
			why = "its name is used twice";
		if (why != NULL)
			weir_job_mistake(job, "operator '%s' state '%s': %s", id,
					 d->name != NULL ? d->name : "", why);
	}
}

struct weir_stream *
weir_job_add(struct weir_stream *in, const char *id, const struct weir_operator *op,
	     struct weir_vertex **vertex)
{
	struct weir_job *job = in->job;
	struct weir_vertex *v = in->from_cnt == 0 ? NULL : vertex_new(job, id, WEIR_VERTEX_PROCESS);

	*vertex = v;
	if (v == NULL)
		return stream_new(job, UINT32_MAX);
	if (op->process == NULL)
		weir_job_mistake(job, "operator '%s': it needs process", id);
	v->op = *op;
	check_type(job, id, op->out);
	check_states(job, id, op);
	check_operator_states(job, id, op);
	connect(job, in, v);
	v->out_type = op->out != NULL ? op->out : v->in_type;
	return stream_new(job, (uint32_t)(v - job->vertex));
}

struct weir_stream *
weir_process(struct weir_stream *in, const char *id, const struct weir_operator *op)
{
	struct weir_vertex *v;

	return weir_job_add(in, id, op, &v);
}

void
weir_sink_process(struct weir_stream *in, const char *id, const struct weir_operator *op)
{
	struct weir_vertex *v;

	(void)weir_job_add(in, id, op, &v);
	if (v != NULL)
		v->out_type = NULL;
}

void
weir_sink(struct weir_stream *in, const char *id, weir_format_fn format)
{
	struct weir_vertex *v =
		in->from_cnt == 0 ? NULL : vertex_new(in->job, id, WEIR_VERTEX_SINK);

	if (v == NULL)
		return;
	v->format = format;
	connect(in->job, in, v);
}

void
weir_sink_to(struct weir_stream *in, const char *id, const struct weir_sink_connector *sink)
{
	struct weir_vertex *v =
		in->from_cnt == 0 ? NULL : vertex_new(in->job, id, WEIR_VERTEX_SINK);

	if (v == NULL)
		return;
	if (sink->begin == NULL || sink->write == NULL || sink->precommit == NULL)
		weir_job_mistake(in->job, "sink '%s': it needs begin, write and precommit", id);
	v->sink = sink;
	connect(in->job, in, v);
}

static bool
same_type(const struct weir_type *a, const struct weir_type *b)
{
	if (a == NULL || b == NULL || a->column_cnt != b->column_cnt)
		return a == b;
	for (uint32_t c = 0; c < a->column_cnt; c++)
		if (a->columns[c].kind != b->columns[c].kind ||
		    a->columns[c].width != b->columns[c].width)
			return false;
	return true;
}

struct weir_stream *
weir_union(struct weir_stream *a, struct weir_stream *b)
{
	struct weir_stream *s = stream_new(a->job, UINT32_MAX);

	if (a->from_cnt == 0 || b->from_cnt == 0)
		return s;
	if (!same_type(weir_stream_type(a), weir_stream_type(b)))
		weir_job_mistake(a->job, "union of '%s' and '%s': their rows differ in type",
				 a->job->vertex[a->from[0]].id, a->job->vertex[b->from[0]].id);
	else if (a->from_cnt + b->from_cnt > WEIR_INPUTS_MAX)
		weir_job_mistake(a->job, "union: more than %u streams", WEIR_INPUTS_MAX);
	else if (!a->automatic || !b->automatic)
		weir_job_mistake(a->job, "union: say key_by, rebalance or broadcast behind it");
	else {
		for (uint32_t i = 0; i < a->from_cnt; i++)
			s->from[s->from_cnt++] = a->from[i];
		for (uint32_t i = 0; i < b->from_cnt; i++)
			s->from[s->from_cnt++] = b->from[i];
	}
	return s;
}

static struct weir_stream *
repartition(struct weir_stream *in, enum weir_partitioner partitioner)
{
	struct weir_stream *s = stream_new(in->job, UINT32_MAX);

	memcpy(s->from, in->from, sizeof(s->from));
	s->from_cnt = in->from_cnt;
	s->partitioner = partitioner;
	s->automatic = false;
	return s;
}

struct weir_stream *
weir_key_by_columns(struct weir_stream *in, const uint32_t *columns, uint32_t cnt)
{
	struct weir_stream *s = repartition(in, WEIR_HASH);
	const struct weir_type *type = weir_stream_type(in);

	if (type != NULL && !weir_key_init(&s->key, type, columns, cnt))
		weir_job_mistake(in->job,
				 "key_by behind '%s': 1 to %u columns of it, fixed ones if "
				 "several, 256 bytes together",
				 in->job->vertex[in->from[0]].id, WEIR_COLUMNS_MAX);
	return s;
}

struct weir_stream *
weir_key_by(struct weir_stream *in, uint32_t column)
{
	return weir_key_by_columns(in, &column, 1);
}

struct weir_stream *
weir_rebalance(struct weir_stream *in)
{
	return repartition(in, WEIR_REBALANCE);
}

struct weir_stream *
weir_broadcast(struct weir_stream *in)
{
	return repartition(in, WEIR_BROADCAST);
}

void
weir_parallelism(struct weir_stream *stream, uint32_t parallelism)
{
	for (uint32_t i = 0; i < stream->from_cnt; i++)
		stream->job->vertex[stream->from[i]].parallelism = parallelism;
}

static bool
has_output(const struct weir_job *job, uint32_t v)
{
	for (uint32_t e = 0; e < job->edge_cnt; e++)
		if (job->edge[e].from == v)
			return true;
	return false;
}

int
weir_job_finish(struct weir_job *job, struct weir_error *err)
{
	if (job->error.code == WEIR_OK && job->vertex_cnt == 0)
		weir_job_mistake(job, "the job has no operators");
	for (uint32_t v = 0; v < job->vertex_cnt; v++)
		if (job->vertex[v].out_type != NULL && !has_output(job, v))
			weir_job_mistake(job,
					 "the rows of '%s' go nowhere: end its stream in a sink",
					 job->vertex[v].id);
	if (job->error.code == WEIR_OK)
		return 0;
	*err = job->error;
	return err->code;
}

/*
 * The post between the control thread and the cores. The product's own loses nothing and keeps the
 * order; here it may be slow, and messages about checkpoints may come twice, late, or not at all,
 * as they would between hosts (K1, K8, R7, C19).
 *
 *     master -> rt->to_core[c]  -> [ letters ] -> in[c]            -> core c
 *     core c -> out[c]          -> [ letters ] -> rt->from_core[c] -> master
 *
 * What stays in order: everything but TRIGGER, ABORT and COMPLETE, which may fall behind what was
 * sent later, and never get in front of what was sent before. What must not be lost: what is sent
 * once only and by which the job lives: splits, ends, files, and the completion of the checkpoint
 * that ends the job.
 */

#include "tests/simulator/sim.h"

#include <stdlib.h>
#include <string.h>

struct letter {
	struct weir_mail mail;
	int64_t due_ns;
	uint64_t number; /* order among those that are due at once */
};

struct way {
	struct weir_mailbox *from, *to;
	struct letter *list;
	uint32_t cnt, cap;
	int64_t last_due_ns; /* of what stays in order */
	bool to_core;
};

struct sim_post {
	struct way down[SIM_CORES_MAX], up[SIM_CORES_MAX];
	struct weir_mailbox *in[SIM_CORES_MAX], *out[SIM_CORES_MAX];
	uint64_t numbers;
};

static struct weir_mailbox *
box(void)
{
	struct weir_mailbox *b = aligned_alloc(WEIR_LINE_PAIR, sizeof(*b));

	WEIR_ASSERT(b != NULL);
	memset(b, 0, sizeof(*b));
	return b;
}

void
sim_post_open(struct sim_world *w)
{
	struct sim_post *p = calloc(1, sizeof(*p));

	WEIR_ASSERT(p != NULL);
	for (uint32_t c = 0; c < w->s.core_cnt; c++) {
		p->in[c] = box();
		p->out[c] = box();
		p->down[c] =
			(struct way){ .from = &w->rt->to_core[c], .to = p->in[c], .to_core = true };
		p->up[c] = (struct way){ .from = p->out[c], .to = &w->rt->from_core[c] };
		w->rt->cores[c].in = p->in[c];
		w->rt->cores[c].out = p->out[c];
	}
	w->post = p;
}

void
sim_post_close(struct sim_world *w)
{
	struct sim_post *p = w->post;

	if (p == NULL)
		return;
	for (uint32_t c = 0; c < SIM_CORES_MAX; c++) {
		free(p->in[c]);
		free(p->out[c]);
		free(p->down[c].list);
		free(p->up[c].list);
	}
	free(p);
	w->post = NULL;
}

/* ---- fate ---- */

static void
add(struct sim_post *p, struct way *way, const struct weir_mail *mail, int64_t due_ns)
{
	if (way->cnt == way->cap) {
		way->cap = way->cap == 0 ? 64 : way->cap * 2;
		way->list = realloc(way->list, way->cap * sizeof(*way->list));
		WEIR_ASSERT(way->list != NULL);
	}
	way->list[way->cnt++] =
		(struct letter){ .mail = *mail, .due_ns = due_ns, .number = p->numbers++ };
}

static bool
is_loose(const struct weir_mail *mail)
{
	return mail->kind == WEIR_MAIL_TRIGGER || mail->kind == WEIR_MAIL_ABORT ||
	       mail->kind == WEIR_MAIL_COMPLETE;
}

/* Messages of which there may be two, or none. */
static bool
may_fail(const struct sim_world *w, const struct weir_mail *mail)
{
	switch ((enum weir_mail_kind)mail->kind) {
	case WEIR_MAIL_COMPLETE:
		return mail->id != w->last_id;
	case WEIR_MAIL_TRIGGER:
	case WEIR_MAIL_ABORT:
	case WEIR_MAIL_BARRIER:
	case WEIR_MAIL_ACK:
	case WEIR_MAIL_DECLINE:
	case WEIR_MAIL_SNAPSHOT_FAILED:
		return true;
	default:
		return false;
	}
}

/* The sender of an acknowledgement that is lost may use its memory again. */
static void
lose(struct sim_world *w, const struct weir_mail *mail)
{
	struct weir_task_ack *a = mail->ptr;

	sim_event(w, "post loses %u of %llu", mail->kind, (unsigned long long)mail->id);
	w->post_faults++;
	w->lost++;
	if (mail->kind == WEIR_MAIL_ACK)
		atomic_store(&a->busy, false);
}

static int64_t
draw_delay(struct sim_world *w)
{
	if (w->s.post_delay_ns == 0 || w->calm)
		return 0;
	return (int64_t)weir_rng_below(&w->post_rng, 2 * (uint64_t)w->s.post_delay_ns + 1);
}

/* Of hundred. */
static uint64_t
draw_fate(struct sim_world *w, const struct way *way, const struct weir_mail *mail)
{
	const uint64_t which = (uint64_t)(way - w->post->down) << 56 | (uint64_t)mail->kind << 48;

	if (w->s.post_burst && is_loose(mail))
		return weir_mix(w->s.seed ^ weir_mix(which ^ mail->id)) % 100;
	return weir_rng_below(&w->post_rng, 100);
}

static void
post_one(struct sim_world *w, struct way *way, const struct weir_mail *mail)
{
	struct sim_post *p = w->post;
	const bool strikes =
		!w->calm && may_fail(w, mail) && draw_fate(w, way, mail) < w->s.post_pct;
	int64_t due_ns = w->now_ns + draw_delay(w);

	if (due_ns < way->last_due_ns)
		due_ns = way->last_due_ns;
	if (strikes &&
	    ((w->s.post_burst && is_loose(mail)) || weir_rng_below(&w->post_rng, 2) == 0)) {
		lose(w, mail);
		return;
	}
	if (!is_loose(mail)) {
		way->last_due_ns = due_ns;
		add(p, way, mail, due_ns);
		if (strikes) { /* its memory is the sender's: at once */
			w->post_faults++;
			add(p, way, mail, due_ns);
		}
		return;
	}
	add(p, way, mail, due_ns + draw_delay(w));
	if (strikes) {
		sim_event(w, "post repeats %u of %llu", mail->kind, (unsigned long long)mail->id);
		w->post_faults++;
		add(p, way, mail, due_ns + 20 * draw_delay(w));
	}
}

/* ---- delivery ---- */

static const struct letter *
first_of(const struct way *way)
{
	const struct letter *first = NULL;

	for (uint32_t i = 0; i < way->cnt; i++) {
		const struct letter *l = &way->list[i];

		if (first == NULL || l->due_ns < first->due_ns ||
		    (l->due_ns == first->due_ns && l->number < first->number))
			first = l;
	}
	return first;
}

static bool
carry(struct sim_world *w, struct way *way)
{
	const struct letter *l;
	struct weir_mail mail;
	bool any = false;

	while (weir_mailbox_take(way->from, &mail)) {
		w->committing |= way->to_core && mail.kind == WEIR_MAIL_COMMIT;
		post_one(w, way, &mail);
	}
	while ((l = first_of(way)) != NULL && l->due_ns <= w->now_ns &&
	       weir_mailbox_post(way->to, &l->mail)) {
		const uint32_t at = (uint32_t)(l - way->list);

		if (way->to_core)
			sim_rules_told(w, &way->list[at].mail);
		way->list[at] = way->list[--way->cnt];
		any = true;
	}
	return any;
}

bool
sim_post_carry(struct sim_world *w)
{
	bool any = false;

	for (uint32_t c = 0; c < w->s.core_cnt; c++) {
		any |= carry(w, &w->post->down[c]);
		any |= carry(w, &w->post->up[c]);
	}
	return any;
}

bool
sim_post_is_empty(const struct sim_world *w)
{
	for (uint32_t c = 0; c < w->s.core_cnt; c++) {
		const struct weir_mailbox *in = w->post->in[c];

		if (w->post->down[c].cnt > 0 || atomic_load(&in->head) != atomic_load(&in->tail))
			return false;
	}
	return true;
}

int64_t
sim_post_due(const struct sim_world *w)
{
	int64_t due_ns = INT64_MAX;

	for (uint32_t c = 0; c < w->s.core_cnt; c++) {
		const struct letter *down = first_of(&w->post->down[c]);
		const struct letter *up = first_of(&w->post->up[c]);

		if (down != NULL && down->due_ns < due_ns)
			due_ns = down->due_ns;
		if (up != NULL && up->due_ns < due_ns)
			due_ns = up->due_ns;
	}
	return due_ns;
}

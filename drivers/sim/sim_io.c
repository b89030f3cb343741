#include "drivers/sim/sim_disk.h"

#include <errno.h>
#include <stdlib.h>

struct waiting {
	struct weir_io_req *req;
	int64_t due_ns;
	int fail;
};

struct sim_io {
	struct weir_io io; /* first */
	struct weir_sim_io_config cfg;
	int64_t now_ns;
	struct waiting waiting[WEIR_SIM_IO_DEPTH];
	uint32_t waiting_cnt;
	struct weir_io_req *done[WEIR_SIM_IO_DEPTH];
	uint32_t done_cnt;
};

static struct sim_io *
io_of(struct weir_io *io)
{
	return WEIR_CONTAINER(io, struct sim_io, io);
}

static bool
needs_space(enum weir_io_kind kind)
{
	return kind == WEIR_IO_OPEN_NEW || kind == WEIR_IO_WRITE || kind == WEIR_IO_MKDIR ||
	       kind == WEIR_IO_FSYNC;
}

static bool
strikes(struct weir_sim_fault *f, uint64_t number, enum weir_io_kind kind)
{
	if (f->at == 0 || number < f->at)
		return false;
	if (f->kinds == 0)
		return number - f->at < f->cnt;
	if ((f->kinds >> kind & 1u) == 0 || f->cnt == 0)
		return false;
	if (f->skip > 0) {
		f->skip--;
		return false;
	}
	f->cnt--;
	return true;
}

static int
fault_of(const struct sim_io *s, enum weir_io_kind kind)
{
	const uint64_t number = *s->cfg.requests;

	for (uint32_t i = 0; i < s->cfg.fault_cnt; i++) {
		struct weir_sim_fault *f = &s->cfg.faults[i];

		if (!strikes(f, number, kind))
			continue;
		if (f->error != ENOSPC || needs_space(kind))
			return -f->error;
	}
	return 0;
}

static int64_t
delay(struct sim_io *s)
{
	int64_t ns = s->cfg.delay_ns;

	if (ns == 0)
		return 0;
	if (weir_rng_below(s->cfg.rng, 100) < s->cfg.spike_pct)
		ns *= 100;
	return (int64_t)weir_rng_below(s->cfg.rng, 2 * (uint64_t)ns);
}

static void
submit(struct weir_io *io, struct weir_io_req **reqs, uint32_t cnt)
{
	struct sim_io *s = io_of(io);

	for (uint32_t i = 0; i < cnt; i++) {
		(*s->cfg.requests)++;
		WEIR_ASSERT(s->waiting_cnt < WEIR_SIM_IO_DEPTH);
		s->waiting[s->waiting_cnt++] =
			(struct waiting){ .req = reqs[i],
					  .due_ns = s->now_ns + delay(s),
					  .fail = fault_of(s, reqs[i]->kind) };
	}
}

static void
carry_out(struct sim_io *s, uint32_t at)
{
	const struct waiting w = s->waiting[at];

	s->waiting[at] = s->waiting[--s->waiting_cnt];
	weir_sim_disk_run(s->cfg.disk, w.req, w.fail);
	if (w.fail != 0 && s->cfg.failed != NULL)
		s->cfg.failed(s->cfg.arg, w.req, -w.fail);
	s->done[s->done_cnt++] = w.req;
}

static uint32_t
harvest(struct weir_io *io, struct weir_io_req **done, uint32_t max)
{
	struct sim_io *s = io_of(io);
	uint32_t cnt = 0;

	while (cnt < max && s->done_cnt > 0) {
		const uint32_t at = (uint32_t)weir_rng_below(s->cfg.rng, s->done_cnt);

		done[cnt++] = s->done[at];
		s->done[at] = s->done[--s->done_cnt];
	}
	return cnt;
}

const char *
weir_sim_io_kind_name(enum weir_io_kind kind)
{
	static const char *const names[] = { "open-new", "open-read", "write", "read",
					     "fsync",	 "close",     "mkdir", "rename",
					     "unlink",	 "fsync-dir" };

	WEIR_ASSERT(kind < WEIR_ARRAY_CNT(names));
	return names[kind];
}

static const struct weir_io_ops ops = { .name = "sim", .submit = submit, .harvest = harvest };

struct weir_io *
weir_sim_io_create(const struct weir_sim_io_config *config)
{
	struct sim_io *s = calloc(1, sizeof(*s));

	WEIR_ASSERT(s != NULL);
	WEIR_ASSERT(config->depth <= WEIR_SIM_IO_DEPTH);
	s->cfg = *config;
	s->io.ops = &ops;
	s->io.depth = config->depth;
	return &s->io;
}

void
weir_sim_io_destroy(struct weir_io *io)
{
	free(io_of(io));
}

void
weir_sim_io_progress(struct weir_io *io, int64_t now_ns)
{
	struct sim_io *s = io_of(io);

	s->now_ns = now_ns;
	while (s->waiting_cnt > 0) {
		uint32_t first = 0;

		for (uint32_t i = 1; i < s->waiting_cnt; i++)
			if (s->waiting[i].due_ns < s->waiting[first].due_ns)
				first = i;
		if (s->waiting[first].due_ns > now_ns)
			return;
		carry_out(s, first);
	}
}

int64_t
weir_sim_io_due(const struct weir_io *io)
{
	const struct sim_io *s = (const struct sim_io *)(const void *)io;
	int64_t due_ns = s->done_cnt > 0 ? s->now_ns : INT64_MAX;

	for (uint32_t i = 0; i < s->waiting_cnt; i++)
		if (s->waiting[i].due_ns < due_ns)
			due_ns = s->waiting[i].due_ns;
	return due_ns;
}

void
weir_sim_io_kill(struct weir_io *io)
{
	struct sim_io *s = io_of(io);

	while (s->waiting_cnt > 0) {
		const uint32_t at = (uint32_t)weir_rng_below(s->cfg.rng, s->waiting_cnt);

		if (weir_rng_below(s->cfg.rng, 2) == 0) {
			carry_out(s, at);
		} else {
			s->waiting[at].req->result = -ECANCELED;
			s->done[s->done_cnt++] = s->waiting[at].req;
			s->waiting[at] = s->waiting[--s->waiting_cnt];
		}
	}
}

void
weir_sim_io_calm(struct weir_io *io)
{
	struct sim_io *s = io_of(io);

	s->cfg.delay_ns /= 10;
	s->cfg.spike_pct = 0;
	s->cfg.fault_cnt = 0;
}

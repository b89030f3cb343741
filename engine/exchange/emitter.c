#include "engine/exchange/emitter.h"

#include <string.h>

#include "engine/base/hash.h"

const char *
weir_partitioner_name(enum weir_partitioner p)
{
	switch (p) {
	case WEIR_FORWARD:
		return "forward";
	case WEIR_REBALANCE:
		return "rebalance";
	case WEIR_HASH:
		return "hash";
	case WEIR_BROADCAST:
		return "broadcast";
	}
	return "?";
}

/* Gather cnt values of width bytes; rows NULL: they stand one behind the other from first on. */
#define GATHER(type)                                                                               \
	do {                                                                                       \
		type *restrict t = (type *)to;                                                     \
		const type *f = (const type *)from;                                                \
		for (uint32_t i = 0; i < cnt; i++)                                                 \
			t[i] = f[rows[i]];                                                         \
	} while (0)

static void
gather(const struct weir_scatter *scatter, void *to, const void *from, uint32_t width,
       const uint16_t *rows, uint32_t first, uint32_t cnt)
{
	if (rows == NULL) {
		memcpy(to, (const char *)from + (size_t)first * width, (size_t)cnt * width);
		return;
	}
	rows += first;
	switch (width) {
	case 8:
		scatter->gather(to, from, rows, cnt);
		break;
	case 4:
		GATHER(uint32_t);
		break;
	case 2:
		GATHER(uint16_t);
		break;
	case 1:
		GATHER(uint8_t);
		break;
	default:
		for (uint32_t i = 0; i < cnt; i++)
			memcpy((char *)to + (size_t)i * width,
			       (const char *)from + (size_t)rows[i] * width, width);
	}
}

/* Rows [first, first + cnt) of the list whose BYTES values all fit the heap of the port's frame. */
static uint32_t
rows_that_fit(const struct weir_port *port, const struct weir_batch *in, const uint16_t *rows,
	      uint32_t first, uint32_t cnt)
{
	const struct weir_layout *l = port->layout;
	uint32_t room = l->heap_bytes - port->heap_len;

	for (uint32_t i = 0; i < cnt; i++) {
		const uint32_t r = rows != NULL ? rows[first + i] : first + i;
		uint64_t need = 0;

		for (uint32_t a = 0; a < l->active_cnt; a++)
			if (l->kind[l->active[a]] == WEIR_KIND_BYTES)
				need += weir_bytes(in, l->active[a])[r].len;
		if (need > room)
			return i;
		room -= (uint32_t)need;
	}
	return cnt;
}

static void
copy_bytes(struct weir_port *port, uint32_t c, const struct weir_batch *in, const uint16_t *rows,
	   uint32_t first, uint32_t cnt)
{
	const struct weir_layout *l = port->layout;
	struct weir_bytes *to =
		(struct weir_bytes *)(void *)((char *)port->frame + l->off[c]) + port->rows;
	const struct weir_bytes *from = weir_bytes(in, c);
	char *heap = (char *)port->frame + l->heap_off;

	for (uint32_t i = 0; i < cnt; i++) {
		const struct weir_bytes v = from[rows != NULL ? rows[first + i] : first + i];

		memcpy(heap + port->heap_len, in->heap[c] + v.off, v.len);
		to[i] = (struct weir_bytes){ .off = port->heap_len, .len = v.len };
		port->heap_len += v.len;
	}
}

static void
copy_rows(const struct weir_scatter *scatter, struct weir_port *port, const struct weir_batch *in,
	  const uint16_t *rows, uint32_t first, uint32_t cnt)
{
	const struct weir_layout *l = port->layout;

	for (uint32_t a = 0; a < l->active_cnt; a++) {
		const uint32_t c = l->active[a];

		if (l->kind[c] == WEIR_KIND_BYTES)
			copy_bytes(port, c, in, rows, first, cnt);
		else
			gather(scatter,
			       (char *)port->frame + l->off[c] + (size_t)port->rows * l->width[c],
			       in->col[c], l->width[c], rows, first, cnt);
	}
	port->rows += cnt;
	if (port->stamp_ns == 0)
		port->stamp_ns = in->stamp_ns;
}

/* Append rows to the port's frames, sending each that is full. */
static void
append(struct weir_emitter *e, struct weir_port *port, const struct weir_batch *in,
       const uint16_t *rows, uint32_t cnt)
{
	const struct weir_layout *l = &e->layout;

	for (uint32_t done = 0; done < cnt;) {
		uint32_t n = cnt - done;

		(void)weir_port_frame(port);
		if (n > l->cap - port->rows)
			n = l->cap - port->rows;
		if (l->heap_bytes > 0)
			n = rows_that_fit(port, in, rows, done, n);
		copy_rows(e->scatter, port, in, rows, done, n);
		done += n;
		/* A value longer than an empty frame's heap cannot be sent: sources and operators
		 * cut. */
		WEIR_ASSERT(n > 0 || port->rows > 0);
		if (port->rows == l->cap || done < cnt)
			weir_port_send(port, e->watermark_ns, false);
	}
}

static void
emit_rebalance(struct weir_emitter *e, const struct weir_batch *in)
{
	const uint32_t cap = e->layout.cap;

	for (uint32_t done = 0; done < in->selected;) {
		struct weir_port *port = &e->ports[e->next];
		const uint64_t seq = port->seq;
		struct weir_batch part = *in;
		uint16_t *rows = e->rows;
		uint32_t n = in->selected - done;

		(void)weir_port_frame(port);
		if (n > cap - port->rows)
			n = cap - port->rows;
		for (uint32_t i = 0; i < n; i++)
			rows[i] = (uint16_t)weir_row(in, done + i);
		append(e, port, &part, rows, n);
		done += n;
		if (port->seq != seq) {
			/* A rest behind a frame sent early by its heap goes on to the same port. */
			e->next = e->next + 1 == e->port_cnt ? 0 : e->next + 1;
		}
	}
}

/* Two consumers: where the keys are one column of 8 bytes, one pass over them does. */
static void
split_two(struct weir_emitter *e, const struct weir_batch *in, uint32_t cnt[2])
{
	uint16_t *restrict a = e->rows;
	uint16_t *restrict b = e->rows + WEIR_BATCH_ROWS;
	const uint64_t *hash = e->hash;
	uint32_t na = 0, nb = 0;

	if (e->key.cnt == 1 && e->key.bytes == 8 && in->sel == NULL) {
		e->scatter->two(weir_u64(in, e->key.column[0]), in->rows, a, b, cnt);
		return;
	}
	weir_key_hashes(&e->key, in, e->pack, e->hash);
	/* Both lists are written for every row and one advances: no branch to miss. */
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint16_t r = (uint16_t)weir_row(in, i);
		const uint32_t d = (uint32_t)(hash[i] >> 63);

		a[na] = r;
		b[nb] = r;
		nb += d;
		na += 1 - d;
	}
	cnt[0] = na;
	cnt[1] = nb;
}

static void
split_many(const struct weir_emitter *e, const struct weir_batch *in, uint32_t *cnt)
{
	for (uint32_t i = 0; i < in->selected; i++) {
		const uint32_t d =
			weir_emitter_subtask(e->hash[i], e->max_parallelism_log2, e->port_cnt);

		e->rows[(size_t)d * WEIR_BATCH_ROWS + cnt[d]++] = (uint16_t)weir_row(in, i);
	}
}

/* Do all rows go to two consumers in one pass: dense, and every value 8 bytes wide? */
static bool
packs(const struct weir_emitter *e, const struct weir_batch *in)
{
	const struct weir_layout *l = &e->layout;

	if (e->port_cnt != 2 || e->key.cnt != 1 || e->key.bytes != 8 || in->sel != NULL ||
	    l->heap_bytes > 0)
		return false;
	for (uint32_t a = 0; a < l->active_cnt; a++)
		if (l->width[l->active[a]] != 8)
			return false;
	return true;
}

static uint64_t *
place(const struct weir_port *port, uint32_t c)
{
	return (uint64_t *)(void *)((char *)port->frame + port->layout->off[c]) + port->rows;
}

/* Groups for which there is room, and how many of their rows go to each side. Eight groups at once
 * as long as there is plenty. */
static uint32_t
groups_that_fit(const uint8_t *marks, uint32_t groups, const uint32_t room[2], uint32_t cnt[2])
{
	const uint32_t many = 8 * WEIR_SCATTER_GROUP;
	uint32_t upper = 0;
	uint32_t n = 0;

	for (; n + 8 <= groups && upper + many <= room[1] &&
	       n * WEIR_SCATTER_GROUP - upper + many <= room[0];
	     n += 8) {
		uint64_t eight;

		memcpy(&eight, marks + n, sizeof(eight));
		upper += (uint32_t)__builtin_popcountll(eight);
	}
	/* A group takes a whole one's room in both: what is not taken is written all the same. */
	for (; n < groups && upper + WEIR_SCATTER_GROUP <= room[1] &&
	       (n + 1) * WEIR_SCATTER_GROUP - upper <= room[0];
	     n++)
		upper += (uint32_t)__builtin_popcount(marks[n]);
	cnt[0] = n * WEIR_SCATTER_GROUP - upper;
	cnt[1] = upper;
	return n;
}

/* Groups of rows from first on, as many as both open frames have room for; returns how many. */
static uint32_t
pack_some(struct weir_emitter *e, const struct weir_batch *in, const uint8_t *marks, uint32_t first,
	  uint32_t groups)
{
	const struct weir_layout *l = &e->layout;
	struct weir_port *port[2] = { &e->ports[0], &e->ports[1] };
	struct weir_split_column columns[WEIR_COLUMNS_MAX];
	uint32_t cnt[2] = { 0, 0 };
	uint32_t room[2];
	uint32_t n;

	for (uint32_t p = 0; p < 2; p++) {
		(void)weir_port_frame(port[p]);
		room[p] = l->cap - port[p]->rows;
	}
	n = groups_that_fit(marks + first, groups, room, cnt);
	for (uint32_t a = 0; a < l->active_cnt; a++) {
		const uint32_t c = l->active[a];

		columns[a].from = (const uint64_t *)in->col[c] + first * WEIR_SCATTER_GROUP;
		columns[a].a = place(port[0], c);
		columns[a].b = place(port[1], c);
	}
	e->scatter->split(columns, l->active_cnt, marks + first, n);
	for (uint32_t p = 0; p < 2; p++) {
		port[p]->rows += cnt[p];
		if (port[p]->stamp_ns == 0 && cnt[p] > 0)
			port[p]->stamp_ns = in->stamp_ns;
		if (l->cap - port[p]->rows < WEIR_SCATTER_GROUP)
			weir_port_send(port[p], e->watermark_ns, false);
	}
	return n;
}

static void
emit_packed(struct weir_emitter *e, const struct weir_batch *in)
{
	const uint32_t groups = in->rows / WEIR_SCATTER_GROUP;
	const uint64_t *keys = weir_u64(in, e->key.column[0]);
	uint8_t marks[WEIR_BATCH_ROWS / WEIR_SCATTER_GROUP];

	WEIR_ASSERT(e->layout.cap >= WEIR_SCATTER_GROUP);
	e->scatter->marks(keys, groups, marks);
	for (uint32_t first = 0; first < groups;)
		first += pack_some(e, in, marks, first, groups - first);
	for (uint32_t i = groups * WEIR_SCATTER_GROUP; i < in->rows; i++) {
		const uint16_t row = (uint16_t)i;

		append(e, &e->ports[weir_hash_u64(keys[i]) >> 63], in, &row, 1);
	}
}

#define EMIT_PORTS_MAX 512u

static void
emit_hash(struct weir_emitter *e, const struct weir_batch *in)
{
	uint32_t cnt[EMIT_PORTS_MAX];

	WEIR_ASSERT(e->port_cnt <= EMIT_PORTS_MAX);
	WEIR_ASSERT(in->selected <= WEIR_BATCH_ROWS);
	if (e->port_cnt == 1) {
		append(e, &e->ports[0], in, in->sel, in->selected);
		return;
	}
	if (packs(e, in)) {
		emit_packed(e, in);
		return;
	}
	if (e->port_cnt == 2) {
		split_two(e, in, cnt);
	} else {
		weir_key_hashes(&e->key, in, e->pack, e->hash);
		memset(cnt, 0, e->port_cnt * sizeof(cnt[0]));
		split_many(e, in, cnt);
	}
	for (uint32_t p = 0; p < e->port_cnt; p++)
		append(e, &e->ports[p], in, e->rows + (size_t)p * WEIR_BATCH_ROWS, cnt[p]);
}

void
weir_emitter_emit(struct weir_emitter *e, const struct weir_batch *in, int64_t now_ns)
{
	if (in->selected == 0)
		return;
	if (WEIR_UNLIKELY(e->scatter == NULL))
		e->scatter = weir_scatter_for(weir_isa());
	if (now_ns < e->oldest_ns)
		e->oldest_ns = now_ns;
	e->idle = false;
	switch (e->partitioner) {
	case WEIR_FORWARD:
		append(e, &e->ports[0], in, in->sel, in->selected);
		break;
	case WEIR_REBALANCE:
		emit_rebalance(e, in);
		break;
	case WEIR_HASH:
		emit_hash(e, in);
		break;
	case WEIR_BROADCAST:
		for (uint32_t p = 0; p < e->port_cnt; p++)
			append(e, &e->ports[p], in, in->sel, in->selected);
		break;
	}
}

void
weir_emitter_flush(struct weir_emitter *e)
{
	/* A frame sent early is a turn too, or a slow stream would all go one way. */
	const bool turn =
		e->partitioner == WEIR_REBALANCE && e->ports[e->next].frame_idx != WEIR_FRAME_NONE;

	for (uint32_t p = 0; p < e->port_cnt; p++)
		weir_port_send(&e->ports[p], e->watermark_ns, e->idle);
	if (turn)
		e->next = e->next + 1 == e->port_cnt ? 0 : e->next + 1;
	e->oldest_ns = INT64_MAX;
}

bool
weir_emitter_push(struct weir_emitter *e)
{
	bool all = true;

	for (uint32_t p = 0; p < e->port_cnt; p++)
		if (weir_port_held(&e->ports[p]) > 0)
			all &= weir_port_flush(&e->ports[p]);
	return all;
}

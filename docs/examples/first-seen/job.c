/*
 * A job of one's own: the lines of text, each once, when it is seen for the first time.
 *
 *	cc -std=gnu17 -O2 -fPIC -shared -o job.so job.c
 *	weir run ./job.so --set job.input=/usr/share/common-licenses --set job.output=lines
 *
 * The operator keeps one byte per line that it has seen. It declares that byte as state, so it is
 * part of every checkpoint, and a line is never written twice, whatever happens to the machine.
 */

#include <weir/weir.h>

#include <string.h>

enum { SEEN };

static const struct weir_state_decl states[] = {
	[SEEN] = { .name = "seen", .value_bytes = 1 },
};

/* Rows stay where they are: the batch is handed on with the numbers of the rows that are new. */
static int
first_seen(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	uint8_t **seen = (uint8_t **)weir_state_batch(ctx, SEEN, 0, in);
	uint32_t fresh = 0;
	uint16_t *sel;

	weir_out_same(out, in);
	sel = weir_out_select(out);
	for (uint32_t i = 0; i < in->selected; i++) {
		sel[fresh] = (uint16_t)weir_row(in, i);
		fresh += *seen[i] == 0;
		*seen[i] = 1;
	}
	out->batch.selected = fresh;
	return weir_out_emit(out);
}

static const struct weir_operator first_seen_op = {
	.name = "first-seen",
	.reads = 1u << WEIR_FILES_LINE,
	.states = states,
	.state_cnt = 1,
	.process = first_seen,
};

static uint32_t
format(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	const struct weir_bytes *lines = weir_bytes(in, WEIR_FILES_LINE);
	size_t len = 0;
	uint32_t i;

	for (i = from; i < in->selected; i++) {
		struct weir_bytes line = lines[weir_row(in, i)];

		/* A row has room for WEIR_TEXT_MAX bytes; large frames hold longer lines. */
		if (line.len > WEIR_TEXT_MAX - 1)
			line.len = WEIR_TEXT_MAX - 1;
		if (line.len + 1 > cap - len)
			break;
		memcpy(text + len, in->heap[WEIR_FILES_LINE] + line.off, line.len);
		len += line.len;
		text[len++] = '\n';
	}
	*bytes = len;
	return i - from;
}

int
weir_job(struct weir_job *job, const struct weir_params *params)
{
	struct weir_stream *lines = weir_source(job, "lines", &weir_files);
	struct weir_stream *fresh =
		weir_process(weir_key_by(lines, WEIR_FILES_LINE), "fresh", &first_seen_op);

	(void)params;
	weir_sink(fresh, "result", format);
	return 0;
}

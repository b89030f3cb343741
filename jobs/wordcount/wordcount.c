#include "jobs/wordcount/wordcount.h"

#include "jobs/text.h"

#include <weir/sources.h>

WEIR_TYPE(word, WEIR_BYTES("word"));

enum { WORD, COUNT };

/* What becomes of a byte: 0 if it is no part of a word, else itself, letters lower-cased. Only 0
 * itself could be mistaken, and it is no part of a word. */
static const unsigned char lower[256] = {
	['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4', ['5'] = '5', ['6'] = '6',
	['7'] = '7', ['8'] = '8', ['9'] = '9', ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd',
	['E'] = 'e', ['F'] = 'f', ['G'] = 'g', ['H'] = 'h', ['I'] = 'i', ['J'] = 'j', ['K'] = 'k',
	['L'] = 'l', ['M'] = 'm', ['N'] = 'n', ['O'] = 'o', ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r',
	['S'] = 's', ['T'] = 't', ['U'] = 'u', ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y',
	['Z'] = 'z', ['a'] = 'a', ['b'] = 'b', ['c'] = 'c', ['d'] = 'd', ['e'] = 'e', ['f'] = 'f',
	['g'] = 'g', ['h'] = 'h', ['i'] = 'i', ['j'] = 'j', ['k'] = 'k', ['l'] = 'l', ['m'] = 'm',
	['n'] = 'n', ['o'] = 'o', ['p'] = 'p', ['q'] = 'q', ['r'] = 'r', ['s'] = 's', ['t'] = 't',
	['u'] = 'u', ['v'] = 'v', ['w'] = 'w', ['x'] = 'x', ['y'] = 'y', ['z'] = 'z',
#define EIGHT(b)                                                                                   \
	[b] = (b), [(b) + 1] = (b) + 1, [(b) + 2] = (b) + 2, [(b) + 3] = (b) + 3,                  \
	[(b) + 4] = (b) + 4, [(b) + 5] = (b) + 5, [(b) + 6] = (b) + 6, [(b) + 7] = (b) + 7
	EIGHT(0x80), EIGHT(0x88), EIGHT(0x90), EIGHT(0x98), EIGHT(0xa0), EIGHT(0xa8), EIGHT(0xb0),
	EIGHT(0xb8), EIGHT(0xc0), EIGHT(0xc8), EIGHT(0xd0), EIGHT(0xd8), EIGHT(0xe0), EIGHT(0xe8),
	EIGHT(0xf0), EIGHT(0xf8)
#undef EIGHT
};

/* The words of one line, behind those that the batch under way has. */
static int
split_line(struct weir_operator_ctx *ctx, const char *line, uint32_t len, struct weir_out *out)
{
	const uint32_t longest = out->heap_cap < WEIR_WORD_MAX ? out->heap_cap : WEIR_WORD_MAX;
	const unsigned char *p = (const unsigned char *)line, *const end = p + len;
	struct weir_bytes *words;

	for (;;) {
		while (p < end && lower[*p] == 0)
			p++;
		if (p == end)
			return 0;
		const unsigned char *const start = p;

		while (p < end && lower[*p] != 0)
			p++;
		uint32_t n = (uint32_t)(p - start);
		if (n > longest) {
			n = longest;
			weir_operator_truncated(ctx, 1);
		}
		if (out->batch.rows == out->cap || n > out->heap_cap - out->heap_len) {
			int rc = weir_out_emit(out);

			if (rc != 0)
				return rc;
			(void)weir_out_rows(out);
		}
		words = out->batch.col[WORD];
		words[out->batch.rows] = (struct weir_bytes){ out->heap_len, n };
		for (uint32_t i = 0; i < n; i++)
			out->heap[out->heap_len + i] = (char)lower[start[i]];
		out->heap_len += n;
		out->batch.selected = ++out->batch.rows;
	}
}

static int
split(struct weir_operator_ctx *ctx, const struct weir_batch *in, struct weir_out *out)
{
	const struct weir_bytes *lines = weir_bytes(in, WEIR_FILES_LINE);
	const char *heap = in->heap[WEIR_FILES_LINE];

	(void)weir_out_rows(out);
	out->batch.stamp_ns = in->stamp_ns;
	for (uint32_t i = 0; i < in->selected; i++) {
		const struct weir_bytes line = lines[weir_row(in, i)];
		int rc = split_line(ctx, heap + line.off, line.len, out);

		if (rc != 0)
			return rc;
	}
	return weir_out_emit(out);
}

const struct weir_operator weir_split_words = {
	.name = "split-words",
	.out = &word,
	.reads = 1u << WEIR_FILES_LINE,
	.process = split,
};

static uint32_t
format(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	const struct weir_bytes *words = weir_bytes(in, WORD);
	const uint64_t *counts = weir_u64(in, COUNT);
	char *p = text;
	uint32_t i;

	for (i = from; i < in->selected; i++) {
		const uint32_t row = weir_row(in, i);
		const struct weir_bytes w = words[row];

		if (cap - (size_t)(p - text) < w.len + 2 + WEIR_TEXT_U64)
			break;
		memcpy(p, in->heap[WORD] + w.off, w.len);
		p += w.len;
		*p++ = '\t';
		p = weir_text_u64(p, counts[row]);
		*p++ = '\n';
	}
	*bytes = (size_t)(p - text);
	return i - from;
}

int
weir_wordcount(struct weir_job *job, const struct weir_params *params)
{
	const char *emit = weir_param_text(params, "emit", "end");
	struct weir_stream *lines = weir_source(job, "lines", &weir_files);
	struct weir_stream *words = weir_process(lines, "words", &weir_split_words);
	struct weir_stream *counts = weir_reduce(
		weir_key_by(words, WORD), "counts",
		&(struct weir_reduce){
			.emit = strcmp(emit, "updates") == 0 ? WEIR_EMIT_UPDATES : WEIR_EMIT_END,
			.agg_cnt = 1,
			.agg = { { .fn = WEIR_COUNT } },
		});

	weir_sink(counts, "result", format);
	return 0;
}

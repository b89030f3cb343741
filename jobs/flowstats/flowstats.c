#include "jobs/flowstats/flowstats.h"

#include "jobs/text.h"

#include <weir/sources.h>

#include <arpa/inet.h>

#define SECOND_NS 1000000000
/* Two addresses, five numbers, a protocol, commas. */
#define LINE_MAX_BYTES (2 * INET6_ADDRSTRLEN + 6 * (WEIR_TEXT_U64 + 1) + 8)

/* Columns of the window's rows. */
enum { FLOW, WINDOW, PACKETS, BYTES };

static char *
put_address(char *p, uint8_t family, const uint8_t *address)
{
	if (family == 4) {
		for (uint32_t i = 0; i < 4; i++) {
			p = weir_text_u64(p, address[i]);
			*p++ = '.';
		}
		return p - 1;
	}
	/* Cannot fail: the family is known and there is room. */
	return inet_ntop(AF_INET6, address, p, INET6_ADDRSTRLEN) != NULL ? p + strlen(p) : p;
}

static char *
put_number(char *p, uint64_t v, char behind)
{
	p = weir_text_u64(p, v);
	*p++ = behind;
	return p;
}

static uint32_t
format(const struct weir_batch *in, uint32_t from, char *text, size_t cap, size_t *bytes)
{
	const struct weir_flow *flows = in->col[FLOW];
	const int64_t *windows = weir_time(in, WINDOW);
	const uint64_t *packets = weir_u64(in, PACKETS), *sums = weir_u64(in, BYTES);
	char *p = text;
	uint32_t i;

	for (i = from; i < in->selected && cap - (size_t)(p - text) >= LINE_MAX_BYTES; i++) {
		const uint32_t row = weir_row(in, i);
		const struct weir_flow *f = &flows[row];

		p = weir_text_time(p, windows[row], SECOND_NS);
		*p++ = ',';
		p = put_address(p, f->family, f->source);
		*p++ = ',';
		p = put_number(p, f->source_port, ',');
		p = put_address(p, f->family, f->destination);
		*p++ = ',';
		p = put_number(p, f->destination_port, ',');
		p = put_number(p, f->protocol, ',');
		p = put_number(p, packets[row], ',');
		p = put_number(p, sums[row], '\n');
	}
	*bytes = (size_t)(p - text);
	return i - from;
}

int
weir_flowstats(struct weir_job *job, const struct weir_params *params)
{
	const int64_t window_ns = weir_param_time_ns(params, "window", weir_seconds(10));
	struct weir_stream *packets, *windows;

	if (window_ns <= 0 || window_ns % SECOND_NS != 0)
		return weir_param_fail(job, "window", "must be a multiple of 1 s");
	packets = weir_source(job, "packets", &weir_pcap);
	windows = weir_window(weir_key_by(packets, WEIR_PACKET_FLOW), "conversations",
			      &(struct weir_window){
				      .size_ns = window_ns,
				      .time_column = WEIR_PACKET_TIME,
				      .agg_cnt = 2,
				      .agg = { { .fn = WEIR_COUNT },
					       { .fn = WEIR_SUM, .column = WEIR_PACKET_BYTES } },
			      });
	weir_sink(windows, "result", format);
	return 0;
}

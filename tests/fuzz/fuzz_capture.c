/* Any bytes are a capture file: read it to its end, judge every frame, and go on in the middle. The
 * second reading must give the frames that the first one gave. */

#include "drivers/pcap/capture.h"
#include "drivers/pcap/packet.h"

#include <string.h>

struct file {
	const uint8_t *bytes;
	size_t len;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t
read_bytes(void *ctx, void *buffer, size_t len, uint64_t offset)
{
	const struct file *f = ctx;
	const size_t left = offset < f->len ? f->len - (size_t)offset : 0;
	const size_t n = left < len ? left : len;

	if (n > 0)
		memcpy(buffer, f->bytes + offset, n);
	return (int64_t)n;
}

/* Frames from a position on; *middle is where frame number stop_at ended. */
static uint64_t
read_on(struct file *f, const struct weir_capture_position *from, uint32_t link_type,
	uint64_t stop_at, struct weir_capture_position *middle, uint32_t *middle_link)
{
	static struct weir_capture c;
	struct weir_capture_frame frame;
	struct weir_flow flow;
	uint64_t frames = 0;

	if (weir_capture_open(&c, read_bytes, f, from, link_type) != WEIR_CAPTURE_FRAME)
		return 0;
	while (weir_capture_next(&c, &frame) == WEIR_CAPTURE_FRAME) {
		(void)weir_packet_flow(weir_link_of(c.link_type), frame.bytes, frame.captured,
				       &flow);
		if (++frames == stop_at) {
			weir_capture_tell(&c, middle);
			*middle_link = c.link_type;
		}
	}
	return frames;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct weir_capture_position start = { 0 };
	struct weir_capture_position middle = { 0 };
	struct file f = { data, size };
	uint32_t link = WEIR_CAPTURE_NO_LINK;
	uint64_t frames, rest;

	frames = read_on(&f, &start, link, UINT64_MAX, &middle, &link);
	if (frames < 2)
		return 0;
	(void)read_on(&f, &start, WEIR_CAPTURE_NO_LINK, frames / 2, &middle, &link);
	rest = read_on(&f, &middle, link, UINT64_MAX, &middle, &link);
	WEIR_ASSERT(rest == frames - frames / 2);
	return 0;
}

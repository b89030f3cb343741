#include "drivers/pcap/capture.h"

#include <string.h>

#define SECTION_HEADER	   0x0a0d0d0au
#define INTERFACE_BLOCK	   1u
#define OLD_PACKET_BLOCK   2u
#define SIMPLE_BLOCK	   3u
#define ENHANCED_BLOCK	   6u
#define BYTE_ORDER_MAGIC   0x1a2b3c4du
#define OPTION_END	   0u
#define OPTION_RESOLUTION  9u
#define OPTION_TIME_OFFSET 14u
#define PCAP_HEADER	   24u
#define NS_PER_S	   1000000000

enum { LENGTHS_PLAIN, LENGTHS_MAYBE_SWAPPED, LENGTHS_SWAPPED };

static uint32_t
get32(const struct weir_capture *c, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return c->swapped ? __builtin_bswap32(v) : v;
}

static uint16_t
get16(const struct weir_capture *c, const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return c->swapped ? __builtin_bswap16(v) : v;
}

static uint64_t
get64(const struct weir_capture *c, const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return c->swapped ? __builtin_bswap64(v) : v;
}

static enum weir_capture_result
damaged(struct weir_capture *c, uint64_t offset, const char *why)
{
	c->fault_offset = offset;
	c->fault = why;
	return WEIR_CAPTURE_DAMAGED;
}

/* Point *p at the bytes from offset on; returns how many of len there are, or -1. The buffer is
 * one stretch of the file and moves when the bytes are not inside. */
static int64_t
fetch(struct weir_capture *c, uint64_t offset, size_t len, const uint8_t **p)
{
	WEIR_ASSERT(len <= sizeof(c->buffer));
	if (offset < c->buffer_offset || offset + len > c->buffer_offset + c->buffer_len) {
		int64_t got = c->read(c->read_ctx, c->buffer, sizeof(c->buffer), offset);

		if (got < 0) {
			c->buffer_len = 0;
			return -1;
		}
		WEIR_ASSERT((size_t)got <= sizeof(c->buffer));
		c->buffer_offset = offset;
		c->buffer_len = (size_t)got;
	}
	*p = c->buffer + (offset - c->buffer_offset);
	uint64_t left = c->buffer_offset + c->buffer_len - offset;
	return (int64_t)(left < len ? left : len);
}

/* All len bytes at offset, as part of what begins at start. */
static enum weir_capture_result
fetch_all(struct weir_capture *c, uint64_t start, uint64_t offset, size_t len, const uint8_t **p)
{
	int64_t got = fetch(c, offset, len, p);

	if (got < 0)
		return WEIR_CAPTURE_IO;
	if ((size_t)got < len)
		return damaged(c, start, "cut short");
	return WEIR_CAPTURE_FRAME;
}

/* pcap */

static enum weir_capture_result
read_pcap_header(struct weir_capture *c, uint32_t magic)
{
	enum weir_capture_result r;
	const uint8_t *p;
	uint16_t major, minor;

	c->nanoseconds = magic == 0xa1b23c4d;
	c->record_header = magic == 0xa1b2cd34 ? 24 : 16;
	r = fetch_all(c, 0, 0, PCAP_HEADER, &p);
	if (r != WEIR_CAPTURE_FRAME)
		return r;
	major = get16(c, p + 4);
	minor = get16(c, p + 6);
	/* Wireshark reads later versions as the last known one; so frames are counted alike. */
	if (major < 2)
		return damaged(c, 0, "unknown version of the format");
	if (major == 543 || (major == 2 && minor < 3))
		c->lengths = LENGTHS_SWAPPED;
	else
		c->lengths = major == 2 && minor == 3 ? LENGTHS_MAYBE_SWAPPED : LENGTHS_PLAIN;
	/* The upper bits are about check sequences behind the frames. */
	c->link_type = get32(c, p + 20) & 0x03ffffff;
	if (c->at.offset == 0)
		c->at.offset = PCAP_HEADER;
	return WEIR_CAPTURE_FRAME;
}

static enum weir_capture_result
next_pcap(struct weir_capture *c, struct weir_capture_frame *frame)
{
	enum weir_capture_result r;
	const uint64_t start = c->at.offset;
	const uint8_t *p;
	uint32_t captured, length;
	int64_t got;

	got = fetch(c, start, c->record_header, &p);
	if (got <= 0)
		return got < 0 ? WEIR_CAPTURE_IO : WEIR_CAPTURE_END;
	if (got < c->record_header)
		return damaged(c, start, "cut short");
	captured = get32(c, p + 8);
	length = get32(c, p + 12);
	if (c->lengths == LENGTHS_SWAPPED ||
	    (c->lengths == LENGTHS_MAYBE_SWAPPED && captured > length)) {
		uint32_t other = captured;

		captured = length;
		length = other;
	}
	if (captured > WEIR_CAPTURE_FRAME_MAX)
		return damaged(c, start, "a frame of more than 262144 captured bytes");
	r = fetch_all(c, start, start, c->record_header + captured, &p);
	if (r != WEIR_CAPTURE_FRAME)
		return r;
	/* Neither the seconds nor the carry of a fraction leave 64 bits. */
	frame->time_ns = (int64_t)get32(c, p) * NS_PER_S +
			 (int64_t)get32(c, p + 4) * (c->nanoseconds ? 1 : 1000);
	frame->captured = captured;
	frame->length = length;
	frame->bytes = captured > 0 ? p + c->record_header : NULL;
	c->at.offset = start + c->record_header + captured;
	return WEIR_CAPTURE_FRAME;
}

/* pcapng */

/* Units of an if_tsresol byte in a second, 0 if it does not fit 64 bits. */
static uint64_t
units_per_second(uint8_t resolution)
{
	uint64_t units = 1;
	uint32_t i;

	if (resolution & 0x80)
		return (resolution & 0x7f) < 64 ? 1ull << (resolution & 0x7f) : 0;
	if (resolution > 19)
		return 0;
	for (i = 0; i < resolution; i++)
		units *= 10;
	return units;
}

/* False if the time does not fit signed 64-bit nanoseconds. */
static bool
block_time(const struct weir_capture_interface *interface, uint64_t units, int64_t *ns)
{
	const uint64_t per_s = units_per_second(interface->resolution);
	__extension__ typedef __int128 wide;
	wide t;

	t = (wide)(units / per_s) * NS_PER_S;
	t += (wide)((weir_u128)(units % per_s) * NS_PER_S / per_s);
	t += (wide)interface->offset_s * NS_PER_S;
	if (t < INT64_MIN || t > INT64_MAX)
		return false;
	*ns = (int64_t)t;
	return true;
}

struct block {
	uint64_t start;
	uint32_t type;
	uint32_t total;
};

static enum weir_capture_result
read_section(struct weir_capture *c, uint64_t start)
{
	enum weir_capture_result r;
	const uint8_t *p;
	uint32_t magic;
	uint16_t major, minor;

	r = fetch_all(c, start, start, 16, &p);
	if (r != WEIR_CAPTURE_FRAME)
		return r;
	memcpy(&magic, p + 8, sizeof(magic));
	if (magic != BYTE_ORDER_MAGIC && magic != __builtin_bswap32(BYTE_ORDER_MAGIC))
		return damaged(c, start, "a section header without a byte order");
	c->swapped = magic != BYTE_ORDER_MAGIC;
	major = get16(c, p + 12);
	minor = get16(c, p + 14);
	/* 1.2 is 1.0 under the number that some programs wrote; Wireshark and libpcap read no
	 * other, and frames are counted alike. */
	if (major != 1 || (minor != 0 && minor != 2))
		return damaged(c, start, "unknown version of the format");
	if (get32(c, p + 4) < 28)
		return damaged(c, start, "a section header that is too short");
	c->interface_cnt = 0;
	c->at.section = start;
	c->at.interfaces_end = start;
	return WEIR_CAPTURE_FRAME;
}

/* The options of the block at start, from at to end. Only those of an interface say anything here;
 * of a packet (interface NULL) they are looked at because a block with broken ones is damaged. */
static enum weir_capture_result
read_options(struct weir_capture *c, uint64_t start, uint64_t at, uint64_t end,
	     struct weir_capture_interface *interface)
{
	enum weir_capture_result r;
	const uint8_t *p;

	/* Every round moves at on by at least 4 bytes. */
	while (end - at >= 4) {
		r = fetch_all(c, start, at, 4, &p);
		if (r != WEIR_CAPTURE_FRAME)
			return r;
		uint16_t code = get16(c, p), len = get16(c, p + 2);
		at += 4;
		if (code == OPTION_END)
			break;
		if (len > end - at)
			return damaged(c, start, "an option that is longer than its block");
		r = fetch_all(c, start, at, len < 8 ? len : 8, &p);
		if (r != WEIR_CAPTURE_FRAME)
			return r;
		if (interface != NULL && code == OPTION_RESOLUTION && len == 1)
			interface->resolution = p[0];
		else if (interface != NULL && code == OPTION_TIME_OFFSET && len == 8)
			interface->offset_s = (int64_t)get64(c, p);
		uint64_t padded = weir_align_up(len, 4);
		at += padded < end - at ? padded : end - at;
	}
	return WEIR_CAPTURE_FRAME;
}

static enum weir_capture_result
read_interface(struct weir_capture *c, const struct block *b)
{
	struct weir_capture_interface *interface = &c->interfaces[c->interface_cnt];
	enum weir_capture_result r;
	const uint8_t *p;
	uint32_t link_type;

	if (b->total < 20)
		return damaged(c, b->start, "an interface description that is too short");
	if (c->interface_cnt == WEIR_CAPTURE_INTERFACES)
		return damaged(c, b->start, "more than 4096 interfaces");
	r = fetch_all(c, b->start, b->start, 16, &p);
	if (r != WEIR_CAPTURE_FRAME)
		return r;
	link_type = get16(c, p + 8);
	interface->snapshot = get32(c, p + 12);
	interface->resolution = 6;
	interface->offset_s = 0;
	r = read_options(c, b->start, b->start + 16, b->start + b->total - 4, interface);
	if (r != WEIR_CAPTURE_FRAME)
		return r;
	if (units_per_second(interface->resolution) == 0)
		return damaged(c, b->start, "a time resolution beyond 64 bits");
	if (c->link_type != WEIR_CAPTURE_NO_LINK && link_type != c->link_type)
		return damaged(c, b->start, "an interface of another link type");
	c->link_type = link_type;
	c->interface_cnt++;
	c->at.interfaces_end = b->start + b->total;
	return WEIR_CAPTURE_FRAME;
}

/* The head of the block at the current place; END at the end of the file. */
static enum weir_capture_result
read_block(struct weir_capture *c, struct block *b)
{
	enum weir_capture_result r;
	const uint8_t *p;
	int64_t got;

	b->start = c->at.offset;
	got = fetch(c, b->start, 8, &p);
	if (got <= 0)
		return got < 0 ? WEIR_CAPTURE_IO : WEIR_CAPTURE_END;
	if (got < 8)
		return damaged(c, b->start, "cut short");
	b->type = get32(c, p);
	if (b->type == SECTION_HEADER) {
		r = read_section(c, b->start);
		if (r != WEIR_CAPTURE_FRAME)
			return r;
		r = fetch_all(c, b->start, b->start, 8, &p);
		if (r != WEIR_CAPTURE_FRAME)
			return r;
	}
	b->total = get32(c, p + 4);
	r = WEIR_CAPTURE_FRAME;
	if (b->total < 12)
		return damaged(c, b->start, "a block that is too short");
	if (b->total % 4 != 0)
		return damaged(c, b->start, "a block whose length is no multiple of 4");
	/* The whole block if it fits, so that the buffer moves once. */
	if (b->total <= sizeof(c->buffer))
		r = fetch_all(c, b->start, b->start, b->total, &p);
	if (r == WEIR_CAPTURE_FRAME)
		r = fetch_all(c, b->start, b->start + b->total - 4, 4, &p);
	if (r != WEIR_CAPTURE_FRAME)
		return r;
	if (get32(c, p) != b->total)
		return damaged(c, b->start, "a block whose two lengths differ");
	return WEIR_CAPTURE_FRAME;
}

/* A packet block, new or old: they differ in how they write the interface only. */
static enum weir_capture_result
read_packet(struct weir_capture *c, const struct block *b, struct weir_capture_frame *frame)
{
	enum weir_capture_result r;
	const uint8_t *p;
	uint32_t interface;
	uint64_t units;

	if (b->total < 32)
		return damaged(c, b->start, "a packet block that is too short");
	r = fetch_all(c, b->start, b->start, 28, &p);
	if (r != WEIR_CAPTURE_FRAME)
		return r;
	interface = b->type == ENHANCED_BLOCK ? get32(c, p + 8) : get16(c, p + 8);
	if (interface >= c->interface_cnt)
		return damaged(c, b->start, "a frame of an interface that is not described");
	frame->captured = get32(c, p + 20);
	frame->length = get32(c, p + 24);
	if (frame->captured > WEIR_CAPTURE_FRAME_MAX)
		return damaged(c, b->start, "a frame of more than 262144 captured bytes");
	if (frame->captured > b->total - 32)
		return damaged(c, b->start, "a frame that is longer than its block");
	units = (uint64_t)get32(c, p + 12) << 32 | get32(c, p + 16);
	if (!block_time(&c->interfaces[interface], units, &frame->time_ns))
		return damaged(c, b->start, "a time that does not fit 64 bits of nanoseconds");
	r = read_options(c, b->start, b->start + 28 + weir_align_up(frame->captured, 4),
			 b->start + b->total - 4, NULL);
	if (r != WEIR_CAPTURE_FRAME)
		return r;
	r = fetch_all(c, b->start, b->start, 28 + frame->captured, &p);
	frame->bytes = frame->captured > 0 ? p + 28 : NULL;
	return r;
}

static enum weir_capture_result
read_simple(struct weir_capture *c, const struct block *b, struct weir_capture_frame *frame)
{
	enum weir_capture_result r;
	const uint8_t *p;

	if (b->total < 16)
		return damaged(c, b->start, "a packet block that is too short");
	if (c->interface_cnt == 0)
		return damaged(c, b->start, "a frame of an interface that is not described");
	r = fetch_all(c, b->start, b->start, 12, &p);
	if (r != WEIR_CAPTURE_FRAME)
		return r;
	frame->time_ns = 0;
	frame->length = get32(c, p + 8);
	frame->captured = frame->length;
	if (c->interfaces[0].snapshot != 0 && frame->captured > c->interfaces[0].snapshot)
		frame->captured = c->interfaces[0].snapshot;
	if (frame->captured > WEIR_CAPTURE_FRAME_MAX)
		return damaged(c, b->start, "a frame of more than 262144 captured bytes");
	if (frame->captured > b->total - 16)
		return damaged(c, b->start, "a frame that is longer than its block");
	r = fetch_all(c, b->start, b->start, 12 + frame->captured, &p);
	frame->bytes = frame->captured > 0 ? p + 12 : NULL;
	return r;
}

static bool
is_frame(uint32_t type)
{
	return type == ENHANCED_BLOCK || type == SIMPLE_BLOCK || type == OLD_PACKET_BLOCK;
}

/* Blocks of other kinds are passed over: all that matters of them is their length. */
static enum weir_capture_result
next_ng(struct weir_capture *c, struct weir_capture_frame *frame)
{
	enum weir_capture_result r;
	struct block b;

	/* Every round moves on by a block. */
	for (;;) {
		r = read_block(c, &b);
		if (r == WEIR_CAPTURE_FRAME && b.type == INTERFACE_BLOCK)
			r = read_interface(c, &b);
		else if (r == WEIR_CAPTURE_FRAME && b.type == SIMPLE_BLOCK)
			r = read_simple(c, &b, frame);
		else if (r == WEIR_CAPTURE_FRAME && is_frame(b.type))
			r = read_packet(c, &b, frame);
		if (r != WEIR_CAPTURE_FRAME)
			return r;
		c->at.offset = b.start + b.total;
		if (is_frame(b.type))
			return WEIR_CAPTURE_FRAME;
	}
}

/* Read the blocks that are not frames from the current place up to limit, or, with find, up to
 * the first interface. */
static enum weir_capture_result
read_interfaces(struct weir_capture *c, uint64_t limit, bool find)
{
	enum weir_capture_result r;
	struct block b;

	while (c->at.offset < limit && !(find && c->link_type != WEIR_CAPTURE_NO_LINK)) {
		r = read_block(c, &b);
		if (r == WEIR_CAPTURE_FRAME && find && is_frame(b.type))
			return WEIR_CAPTURE_END;
		if (r == WEIR_CAPTURE_FRAME && b.type == INTERFACE_BLOCK)
			r = read_interface(c, &b);
		if (r != WEIR_CAPTURE_FRAME)
			return r;
		c->at.offset = b.start + b.total;
	}
	return WEIR_CAPTURE_FRAME;
}

/* What the reader knew at *from: the section's byte order and its interfaces. */
static enum weir_capture_result
resume_ng(struct weir_capture *c, const struct weir_capture_position *from)
{
	enum weir_capture_result r;

	/* Its byte order first: it may not have had an interface yet. */
	r = read_section(c, from->section);
	c->at.offset = from->section;
	if (r == WEIR_CAPTURE_FRAME)
		r = read_interfaces(c, from->interfaces_end, false);
	c->at = *from;
	return r;
}

/* public */

/* What the first four bytes say; in a pcapng file the sections say their byte order themselves. */
static bool
known_magic(struct weir_capture *c, uint32_t magic)
{
	const uint32_t other = __builtin_bswap32(magic);

	c->ng = magic == SECTION_HEADER;
	c->swapped = other == 0xa1b2c3d4 || other == 0xa1b23c4d || other == 0xa1b2cd34;
	return c->ng || c->swapped || magic == 0xa1b2c3d4 || magic == 0xa1b23c4d ||
	       magic == 0xa1b2cd34;
}

enum weir_capture_result
weir_capture_open(struct weir_capture *c, weir_capture_read_fn read, void *read_ctx,
		  const struct weir_capture_position *from, uint32_t link_type)
{
	const uint8_t *p;
	uint32_t magic;
	int64_t got;

	memset(c, 0, offsetof(struct weir_capture, buffer));
	c->read = read;
	c->read_ctx = read_ctx;
	c->link_type = link_type;
	c->at = *from;
	got = fetch(c, 0, sizeof(magic), &p);
	if (got < 0)
		return WEIR_CAPTURE_IO;
	if (got < (int64_t)sizeof(magic))
		return damaged(c, 0, "cut short");
	memcpy(&magic, p, sizeof(magic));
	if (!known_magic(c, magic))
		return WEIR_CAPTURE_FOREIGN;
	if (!c->ng)
		return read_pcap_header(c, c->swapped ? __builtin_bswap32(magic) : magic);
	if (from->offset == 0)
		return read_section(c, 0);
	return resume_ng(c, from);
}

enum weir_capture_result
weir_capture_next(struct weir_capture *c, struct weir_capture_frame *frame)
{
	return c->ng ? next_ng(c, frame) : next_pcap(c, frame);
}

enum weir_capture_result
weir_capture_find_link(struct weir_capture *c)
{
	return c->ng ? read_interfaces(c, UINT64_MAX, true) : WEIR_CAPTURE_FRAME;
}

void
weir_capture_tell(const struct weir_capture *c, struct weir_capture_position *position)
{
	*position = c->at;
}

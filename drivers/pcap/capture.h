#ifndef WEIR_DRIVERS_PCAP_CAPTURE_H
#define WEIR_DRIVERS_PCAP_CAPTURE_H

/*
 * Reads capture files, frame by frame: pcap in both byte orders, with micro- and nanoseconds (and
 * the modified header with 24-byte records), and pcapng with any number of sections and interfaces.
 * Written here and not left to libpcap for three reasons: it takes no memory (a reader is opened on
 * a core, where nothing may be allocated), it can go on at a byte offset in both formats, and it
 * reads interfaces that differ in snapshot length. Tests compare it with capinfos.
 *
 * A file is read through a function, so that a test or a fuzzer can give it bytes in memory.
 *
 * Threads:   one at a time.
 * Ownership: the caller's memory, about half a MiB, no other; a frame's bytes are borrowed until
 *            the next call.
 * Times:     signed 64-bit nanoseconds since 1970; seconds of pcap are unsigned 32-bit numbers;
 *            fractions are truncated to nanoseconds, a fraction of a second >= 1 is carried. A
 *            simple packet block has no time: 0.
 * Failure:   damaged and cut files end with WEIR_CAPTURE_DAMAGED after their last whole frame;
 *            fault_offset and fault then say where and why.
 */

#include "engine/base/base.h"

#define WEIR_CAPTURE_FRAME_MAX	262144u /* longest captured length; more is damage */
#define WEIR_CAPTURE_BUFFER	(2u * WEIR_CAPTURE_FRAME_MAX)
#define WEIR_CAPTURE_INTERFACES 4096u /* of one section */
#define WEIR_CAPTURE_NO_LINK	UINT32_MAX

enum weir_capture_result {
	WEIR_CAPTURE_FRAME,   /* opened, or: a frame was read */
	WEIR_CAPTURE_END,     /* the file ends behind its last whole frame */
	WEIR_CAPTURE_DAMAGED, /* cut short or damaged at fault_offset */
	WEIR_CAPTURE_FOREIGN, /* open: this is no capture file */
	WEIR_CAPTURE_IO,      /* the read function failed; errno is its */
};

struct weir_capture_frame {
	int64_t time_ns;
	const uint8_t *bytes; /* NULL if captured is 0 */
	uint32_t captured;
	uint32_t length; /* on the wire */
};

/* Where to go on; all zero: at the beginning. */
struct weir_capture_position {
	uint64_t offset;	 /* of the next record or block */
	uint64_t section;	 /* pcapng: of the section header that holds there */
	uint64_t interfaces_end; /* pcapng: behind the section's last interface so far */
};

/* Reads up to len bytes at offset; fewer only at the end of the file; -1 with errno. */
typedef int64_t (*weir_capture_read_fn)(void *ctx, void *buffer, size_t len, uint64_t offset);

struct weir_capture_interface {
	int64_t offset_s;
	uint32_t snapshot;
	uint8_t resolution; /* if_tsresol as it stands in the file */
};

struct weir_capture {
	weir_capture_read_fn read;
	void *read_ctx;
	uint64_t fault_offset;
	const char *fault;
	uint32_t link_type; /* of all frames; WEIR_CAPTURE_NO_LINK until an interface is known */

	/* The rest is the module's. */
	bool ng;
	bool swapped;
	bool nanoseconds;
	uint8_t lengths; /* older pcap writers had the two lengths of a record the other way round
			  */
	uint32_t record_header;
	uint32_t interface_cnt;
	struct weir_capture_position at;
	uint64_t buffer_offset;
	size_t buffer_len;
	uint8_t buffer[WEIR_CAPTURE_BUFFER];
	struct weir_capture_interface interfaces[WEIR_CAPTURE_INTERFACES];
};

/*
 * Begin to read. *from is a position that weir_capture_tell gave for the same file, or all zero;
 * the link type is remembered by the caller where it goes on in the middle (link_type then is what
 * the first interface said). Returns FRAME when frames can be read.
 */
enum weir_capture_result weir_capture_open(struct weir_capture *c, weir_capture_read_fn read,
					   void *read_ctx, const struct weir_capture_position *from,
					   uint32_t link_type) WEIR_MUST_USE;
/* The next frame; after any result but FRAME the file is done with. */
enum weir_capture_result weir_capture_next(struct weir_capture *c,
					   struct weir_capture_frame *frame) WEIR_MUST_USE;
/* pcapng: read on to the first interface, so that link_type is known, without taking a frame. */
enum weir_capture_result weir_capture_find_link(struct weir_capture *c) WEIR_MUST_USE;
void weir_capture_tell(const struct weir_capture *c, struct weir_capture_position *position);

#endif /* WEIR_DRIVERS_PCAP_CAPTURE_H */

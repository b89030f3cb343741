#ifndef WEIR_SOURCES_H
#define WEIR_SOURCES_H

/*
 * Sources that come with weir, for weir_source(). What they read is said by the job.* settings
 * named here; the objects live in the weir program.
 */

#include <weir/connector.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Lines of text: job.input is a file, or a directory with every regular file below it. A link to a
 * file is read under its own name; links to directories are followed unless they lead to a
 * directory that they are in; links to nothing and special files are left out with a warning. Files
 * are read in the order of their paths. A row is a line without its end; an empty line is a row,
 * and so is a last line without an end.
 *
 * Splits:     a file; or, where it is larger than a subtask's share, ranges of one: a line belongs
 *             to the range that holds its first byte.
 * Long lines: a line that does not fit an empty batch is handed on in pieces, each a row. It is cut
 *             at bytes that belong to no word (a word: ASCII letters, ASCII digits, bytes >= 0x80).
 *             Where a word fills a whole batch, its first WEIR_FILES_WORD_MAX bytes are handed on
 *             and the rest of that word is passed over: one byte more than 4 KiB, so that who
 *             counts 4 KiB of a word sees that it was longer.
 * Time:       rows have none.
 */
#define WEIR_FILES_WORD_MAX 4097u

/* {BYTES line} */
enum { WEIR_FILES_LINE };
extern const struct weir_connector weir_files;

/* One direction of a conversation. Ports are in host order; an IPv4 address takes the first four
 * bytes of its field, all that is not used is zero, so equal flows are equal bytes. */
struct weir_flow {
	uint8_t family; /* 4 or 6 */
	uint8_t protocol;
	uint16_t source_port;
	uint16_t destination_port;
	uint8_t source[16];
	uint8_t destination[16];
	uint8_t zero[2];
};
#define WEIR_FLOW_KEY_BYTES 40u

/*
 * Packets: job.input is a capture (pcap, pcapng) or a directory of captures; a row is a frame that
 * belongs to an IP flow, by its outermost IP header. Every file is a split with its own watermark;
 * files are read in the order of their first frames, and one that is not read yet holds the
 * watermark at its first frame.
 *
 * Settings: job.out-of-order (a time or `unbounded`) bounds the disorder within a file, rows
 * further behind are dropped; job.strict makes damage an error; job.skip-unsupported counts the
 *           frames of other link types instead of refusing the file.
 * Dropped:  late, link-truncated, not-ip, ip-truncated, ip-malformed, link-type. Rows and dropped
 *           together are the frames of the files.
 */

/* {FIXED flow: struct weir_flow, U64 bytes: on the wire, TIME time: of capture} */
enum { WEIR_PACKET_FLOW, WEIR_PACKET_BYTES, WEIR_PACKET_TIME };
extern const struct weir_connector weir_pcap;

#ifdef __cplusplus
}
#endif
#endif /* WEIR_SOURCES_H */

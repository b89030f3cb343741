#ifndef WEIR_DRIVERS_PCAP_PCAP_H
#define WEIR_DRIVERS_PCAP_PCAP_H

/*
 * Source of packets: a capture file or a directory of captures (pcap, pcapng), one row per frame
 * that belongs to an IP flow. Every file is a split with its own watermark; files are read in the
 * order of their first frames, and one that is not read yet holds the watermark at its first frame.
 *
 * Settings: job.input; job.out-of-order (a time or `unbounded`) bounds the disorder within a file;
 *           job.strict makes damage an error; job.skip-unsupported counts the frames of other link
 *           types instead of refusing the file.
 * Dropped:  late, link-truncated, not-ip, ip-truncated, ip-malformed, link-type. Rows and dropped
 *           together are the frames of the files.
 * Position: byte offset of the next record, what is needed to go on there, the largest time so far.
 */

#include <weir/connector.h>

enum { WEIR_PACKET_FLOW, WEIR_PACKET_BYTES, WEIR_PACKET_TIME };

/* {FIXED flow: struct weir_flow of packet.h, U64 bytes: on the wire, TIME time: of capture} */
extern const struct weir_connector weir_pcap;

#endif /* WEIR_DRIVERS_PCAP_PCAP_H */

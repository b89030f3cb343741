#ifndef WEIR_DRIVERS_PCAP_PACKET_H
#define WEIR_DRIVERS_PCAP_PACKET_H

/*
 * From the captured bytes of one frame to the flow it belongs to. The outermost IPv4 or IPv6 header
 * directly behind the link layer decides; nothing inside it is looked into.
 *
 * Threads:  pure functions.
 * Cost:     a few dozen instructions for a plain frame; linear in VLAN tags and IPv6 extension
 *           headers.
 * Limits:   any bytes of any length are fine; nothing beyond captured is read, and checksums and
 *           total lengths are not judged.
 */

#include "engine/base/base.h"

#include <weir/sources.h>

_Static_assert(sizeof(struct weir_flow) == WEIR_FLOW_KEY_BYTES, "a flow is a key column");

/* How a frame begins. */
enum weir_link {
	WEIR_LINK_ETHERNET,
	WEIR_LINK_RAW,	    /* an IP header at once; its version nibble decides */
	WEIR_LINK_COOKED,   /* Linux "any" device, first version */
	WEIR_LINK_COOKED2,  /* and second */
	WEIR_LINK_LOOPBACK, /* four bytes of address family, in either byte order */
	WEIR_LINK_UNSUPPORTED,
};

/* Why a frame belongs to no flow. The names are those of the report. */
enum weir_packet_fault {
	WEIR_PACKET_LINK_TRUNCATED,
	WEIR_PACKET_NOT_IP,
	WEIR_PACKET_IP_TRUNCATED,
	WEIR_PACKET_IP_MALFORMED,
	WEIR_PACKET_OK,
};

/* The number of a link type in a capture file (LINKTYPE_... and the DLT_RAW of several systems). */
enum weir_link weir_link_of(uint32_t link_type);

/* Sets *flow only when it returns WEIR_PACKET_OK. frame may be NULL if captured is 0. */
enum weir_packet_fault weir_packet_flow(enum weir_link link, const uint8_t *frame,
					uint32_t captured, struct weir_flow *flow);

#endif /* WEIR_DRIVERS_PCAP_PACKET_H */

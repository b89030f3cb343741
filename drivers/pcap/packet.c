#include "drivers/pcap/packet.h"

#include <string.h>

#define ETHERTYPE_IPV4 0x0800u
#define ETHERTYPE_IPV6 0x86ddu
#define FRAGMENT_MASK  0x1fffu

/* What is left of a frame. */
struct cursor {
	const uint8_t *at;
	uint32_t left;
};

static uint16_t
be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void
skip(struct cursor *c, uint32_t bytes)
{
	c->at += bytes;
	c->left -= bytes;
}

static bool
has_ports(uint8_t protocol)
{
	/* TCP, UDP, DCCP, SCTP, UDP-Lite */
	return protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 ||
	       protocol == 136;
}

static void
read_ports(const struct cursor *c, bool later_fragment, struct weir_flow *flow)
{
	if (later_fragment || c->left < 4 || !has_ports(flow->protocol))
		return;
	flow->source_port = be16(c->at);
	flow->destination_port = be16(c->at + 2);
}

static enum weir_packet_fault
read_ipv4(struct cursor c, struct weir_flow *flow)
{
	uint32_t header;

	if (c.left < 20)
		return WEIR_PACKET_IP_TRUNCATED;
	header = (uint32_t)(c.at[0] & 15) * 4;
	if (c.at[0] >> 4 != 4 || header < 20)
		return WEIR_PACKET_IP_MALFORMED;
	if (c.left < header)
		return WEIR_PACKET_IP_TRUNCATED;
	memset(flow, 0, sizeof(*flow));
	flow->family = 4;
	flow->protocol = c.at[9];
	memcpy(flow->source, c.at + 12, 4);
	memcpy(flow->destination, c.at + 16, 4);
	bool later = (be16(c.at + 6) & FRAGMENT_MASK) != 0;
	skip(&c, header);
	read_ports(&c, later, flow);
	return WEIR_PACKET_OK;
}

/* Bytes of the extension header of type next at c, 0 if it is none or not captured whole. */
static uint32_t
extension_bytes(const struct cursor *c, uint8_t next)
{
	uint32_t bytes;

	if (c->left < 8)
		return 0;
	switch (next) {
	case 0:	  /* hop-by-hop options */
	case 43:  /* routing */
	case 60:  /* destination options */
	case 135: /* mobility */
		bytes = ((uint32_t)c->at[1] + 1) * 8;
		break;
	case 44: /* fragment */
		bytes = 8;
		break;
	case 51: /* authentication */
		bytes = ((uint32_t)c->at[1] + 2) * 4;
		break;
	default:
		return 0;
	}
	return bytes <= c->left ? bytes : 0;
}

static enum weir_packet_fault
read_ipv6(struct cursor c, struct weir_flow *flow)
{
	bool later = false;
	uint32_t bytes;

	if (c.left < 40)
		return WEIR_PACKET_IP_TRUNCATED;
	if (c.at[0] >> 4 != 6)
		return WEIR_PACKET_IP_MALFORMED;
	memset(flow, 0, sizeof(*flow));
	flow->family = 6;
	flow->protocol = c.at[6];
	memcpy(flow->source, c.at + 8, 16);
	memcpy(flow->destination, c.at + 24, 16);
	skip(&c, 40);
	/* Every round consumes at least 8 bytes. */
	while (!later && (bytes = extension_bytes(&c, flow->protocol)) != 0) {
		later = flow->protocol == 44 && be16(c.at + 2) >> 3 != 0;
		flow->protocol = c.at[0];
		skip(&c, bytes);
	}
	read_ports(&c, later, flow);
	return WEIR_PACKET_OK;
}

/* Behind a link header whose type field was ethertype: VLAN tags, then IP. */
static enum weir_packet_fault
read_ethertype(struct cursor c, uint16_t ethertype, struct weir_flow *flow)
{
	while (ethertype == 0x8100 || ethertype == 0x88a8 || ethertype == 0x9100) {
		if (c.left < 4)
			return WEIR_PACKET_LINK_TRUNCATED;
		ethertype = be16(c.at + 2);
		skip(&c, 4);
	}
	if (ethertype == ETHERTYPE_IPV4)
		return read_ipv4(c, flow);
	if (ethertype == ETHERTYPE_IPV6)
		return read_ipv6(c, flow);
	return WEIR_PACKET_NOT_IP;
}

/* A link header of header bytes with an ethertype at type_offset. */
static enum weir_packet_fault
read_typed(struct cursor c, uint32_t header, uint32_t type_offset, struct weir_flow *flow)
{
	uint16_t ethertype;

	if (c.left < header)
		return WEIR_PACKET_LINK_TRUNCATED;
	ethertype = be16(c.at + type_offset);
	skip(&c, header);
	return read_ethertype(c, ethertype, flow);
}

static enum weir_packet_fault
read_raw(struct cursor c, struct weir_flow *flow)
{
	if (c.left == 0)
		return WEIR_PACKET_IP_TRUNCATED;
	if (c.at[0] >> 4 == 4)
		return read_ipv4(c, flow);
	if (c.at[0] >> 4 == 6)
		return read_ipv6(c, flow);
	return WEIR_PACKET_NOT_IP;
}

static enum weir_packet_fault
read_loopback(struct cursor c, struct weir_flow *flow)
{
	uint32_t family;

	if (c.left < 4)
		return WEIR_PACKET_LINK_TRUNCATED;
	/* The writer's byte order, which the file does not always share. */
	family = (uint32_t)be16(c.at) << 16 | be16(c.at + 2);
	if (family > 0xffff)
		family = __builtin_bswap32(family);
	skip(&c, 4);
	switch (family) {
	case 2:
		return read_ipv4(c, flow);
	case 10: /* Linux */
	case 23: /* Windows */
	case 24: /* NetBSD, OpenBSD */
	case 28: /* FreeBSD */
	case 30: /* Darwin */
		return read_ipv6(c, flow);
	default:
		return WEIR_PACKET_NOT_IP;
	}
}

enum weir_link
weir_link_of(uint32_t link_type)
{
	switch (link_type) {
	case 1:
		return WEIR_LINK_ETHERNET;
	case 12:  /* DLT_RAW of most systems, written by programs that know no LINKTYPE */
	case 14:  /* and of OpenBSD */
	case 101: /* LINKTYPE_RAW */
	case 228: /* IPv4 */
	case 229: /* IPv6 */
		return WEIR_LINK_RAW;
	case 113:
		return WEIR_LINK_COOKED;
	case 276:
		return WEIR_LINK_COOKED2;
	case 0:	  /* LINKTYPE_NULL */
	case 108: /* LINKTYPE_LOOP */
		return WEIR_LINK_LOOPBACK;
	default:
		return WEIR_LINK_UNSUPPORTED;
	}
}

enum weir_packet_fault
weir_packet_flow(enum weir_link link, const uint8_t *frame, uint32_t captured,
		 struct weir_flow *flow)
{
	struct cursor c = { frame, captured };

	switch (link) {
	case WEIR_LINK_ETHERNET:
		return read_typed(c, 14, 12, flow);
	case WEIR_LINK_COOKED:
		return read_typed(c, 16, 14, flow);
	case WEIR_LINK_COOKED2:
		return read_typed(c, 20, 0, flow);
	case WEIR_LINK_RAW:
		return read_raw(c, flow);
	case WEIR_LINK_LOOPBACK:
		return read_loopback(c, flow);
	case WEIR_LINK_UNSUPPORTED:
		break;
	}
	return WEIR_PACKET_NOT_IP;
}

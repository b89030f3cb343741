/* From bytes to flows, header by header. */

#include "drivers/pcap/packet.h"

#include <criterion/criterion.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/rng.h"

/* A frame under construction. */
struct frame {
	uint8_t bytes[4096];
	uint32_t len;
};

static void
put(struct frame *f, uint32_t cnt, ...)
{
	va_list ap;

	va_start(ap, cnt);
	for (uint32_t i = 0; i < cnt; i++)
		f->bytes[f->len++] = (uint8_t)va_arg(ap, int);
	va_end(ap);
}

static void
put_zero(struct frame *f, uint32_t cnt)
{
	memset(f->bytes + f->len, 0, cnt);
	f->len += cnt;
}

static void
put_ethernet(struct frame *f, uint32_t ethertype)
{
	f->len = 0;
	put_zero(f, 12);
	put(f, 2, ethertype >> 8, ethertype & 255);
}

/* Addresses 10.0.0.1 and 10.0.0.2. */
static void
put_ipv4(struct frame *f, uint32_t words, uint32_t protocol, uint32_t fragment)
{
	put(f, 10, 0x40 | words, 0, 0, 40, 0, 0, fragment >> 8, fragment & 255, 64, protocol);
	put(f, 10, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2);
	put_zero(f, words > 5 ? words * 4 - 20 : 0);
}

static void
put_ipv6(struct frame *f, uint32_t next)
{
	put(f, 8, 0x60, 0, 0, 0, 0, 0, next, 64);
	put_zero(f, 15);
	put(f, 1, 1);
	put_zero(f, 15);
	put(f, 1, 2);
}

static void
put_ports(struct frame *f)
{
	put(f, 4, 0x12, 0x34, 0, 80);
}

/* The result must not depend on what lies behind the captured bytes: the copy is exact, so that a
 * sanitizer sees a byte read too far. */
static enum weir_packet_fault
parse(enum weir_link link, const struct frame *f, uint32_t captured, struct weir_flow *flow)
{
	uint8_t *copy = captured > 0 ? malloc(captured) : NULL;
	enum weir_packet_fault fault;

	if (copy != NULL)
		memcpy(copy, f->bytes, captured);
	memset(flow, 0xee, sizeof(*flow));
	fault = weir_packet_flow(link, copy, captured, flow);
	free(copy);
	return fault;
}

static void
check_flow(const struct weir_flow *flow, uint8_t family, uint8_t protocol, uint16_t from,
	   uint16_t to)
{
	cr_assert_eq(flow->family, family);
	cr_assert_eq(flow->protocol, protocol);
	cr_assert_eq(flow->source_port, from);
	cr_assert_eq(flow->destination_port, to);
	cr_assert_eq(flow->zero[0] | flow->zero[1], 0);
	if (family == 4) {
		cr_assert_arr_eq(flow->source, ((uint8_t[16]){ 10, 0, 0, 1 }), 16);
		cr_assert_arr_eq(flow->destination, ((uint8_t[16]){ 10, 0, 0, 2 }), 16);
	} else {
		cr_assert_eq(flow->source[15], 1);
		cr_assert_eq(flow->destination[15], 2);
	}
}

Test(packet, every_length_of_a_plain_frame)
{
	struct weir_flow flow;
	struct frame f;

	put_ethernet(&f, 0x8100);
	put(&f, 4, 0, 1, 0x88, 0xa8);
	put(&f, 4, 0, 2, 8, 0);
	put_ipv4(&f, 6, 6, 0);
	put_ports(&f);
	for (uint32_t n = 0; n <= f.len; n++) {
		const enum weir_packet_fault fault = parse(WEIR_LINK_ETHERNET, &f, n, &flow);

		if (n < 22) {
			cr_assert_eq(fault, WEIR_PACKET_LINK_TRUNCATED, "%u bytes", n);
		} else if (n < 46) {
			cr_assert_eq(fault, WEIR_PACKET_IP_TRUNCATED, "%u bytes", n);
		} else {
			cr_assert_eq(fault, WEIR_PACKET_OK, "%u bytes", n);
			check_flow(&flow, 4, 6, n < 50 ? 0 : 0x1234, n < 50 ? 0 : 80);
		}
	}
}

Test(packet, first_fault_counts)
{
	struct weir_flow flow;
	struct frame f;

	put_ethernet(&f, 0x0806);
	cr_assert_eq(parse(WEIR_LINK_ETHERNET, &f, f.len, &flow), WEIR_PACKET_NOT_IP);
	cr_assert_eq(flow.family, 0xee, "a failed call leaves the flow alone");
	put_ethernet(&f, 1500);
	cr_assert_eq(parse(WEIR_LINK_ETHERNET, &f, f.len, &flow), WEIR_PACKET_NOT_IP);
	put_ethernet(&f, 0x0800);
	put_ipv4(&f, 4, 6, 0);
	cr_assert_eq(parse(WEIR_LINK_ETHERNET, &f, f.len, &flow), WEIR_PACKET_IP_MALFORMED);
	cr_assert_eq(parse(WEIR_LINK_ETHERNET, &f, f.len - 1, &flow), WEIR_PACKET_IP_TRUNCATED);
	put_ethernet(&f, 0x0800);
	put_ipv6(&f, 6);
	cr_assert_eq(parse(WEIR_LINK_ETHERNET, &f, f.len, &flow), WEIR_PACKET_IP_MALFORMED);
	put_ethernet(&f, 0x86dd);
	put_ipv4(&f, 10, 6, 0);
	cr_assert_eq(parse(WEIR_LINK_ETHERNET, &f, f.len, &flow), WEIR_PACKET_IP_MALFORMED);
	cr_assert_eq(parse(WEIR_LINK_ETHERNET, &f, f.len - 1, &flow), WEIR_PACKET_IP_TRUNCATED);
}

Test(packet, ports_of_protocols_that_have_them_and_no_later_fragment)
{
	struct weir_flow flow;
	struct frame f;

	for (uint32_t protocol = 0; protocol < 256; protocol++) {
		const bool ports = protocol == 6 || protocol == 17 || protocol == 33 ||
				   protocol == 132 || protocol == 136;

		f.len = 0;
		put_ipv4(&f, 5, protocol, 0x2000);
		put_ports(&f);
		cr_assert_eq(parse(WEIR_LINK_RAW, &f, f.len, &flow), WEIR_PACKET_OK);
		check_flow(&flow, 4, (uint8_t)protocol, ports ? 0x1234 : 0, ports ? 80 : 0);
	}
	f.len = 0;
	put_ipv4(&f, 5, 17, 0x2001);
	put_ports(&f);
	cr_assert_eq(parse(WEIR_LINK_RAW, &f, f.len, &flow), WEIR_PACKET_OK);
	check_flow(&flow, 4, 17, 0, 0);
}

Test(packet, extension_headers_are_skipped_as_far_as_captured)
{
	static const uint8_t protocol_at[] = { 0, 43, 60, 135, 51, 44, 17 };
	/* Bytes behind the IPv6 header at which each of them begins. */
	static const uint32_t begins[] = { 0, 8, 24, 32, 40, 52, 60 };
	struct weir_flow flow;
	struct frame f = { .len = 0 };

	put_ipv6(&f, 0);
	put(&f, 8, 43, 0, 0, 0, 0, 0, 0, 0);
	put(&f, 2, 60, 1);
	put_zero(&f, 14);
	put(&f, 8, 135, 0, 0, 0, 0, 0, 0, 0);
	put(&f, 8, 51, 0, 0, 0, 0, 0, 0, 0);
	put(&f, 2, 44, 1);
	put_zero(&f, 10);
	put(&f, 8, 17, 0, 0, 1, 0, 0, 0, 0);
	put_ports(&f);
	for (uint32_t n = 40; n <= f.len; n++) {
		uint32_t i = 6;

		while (n - 40 < begins[i])
			i--;
		cr_assert_eq(parse(WEIR_LINK_RAW, &f, n, &flow), WEIR_PACKET_OK);
		check_flow(&flow, 6, protocol_at[i], n == f.len ? 0x1234 : 0, n == f.len ? 80 : 0);
	}
}

Test(packet, nothing_is_read_behind_a_later_fragments_header)
{
	struct weir_flow flow;
	struct frame f = { .len = 0 };

	put_ipv6(&f, 44);
	put(&f, 8, 60, 0, 0, 8, 0, 0, 0, 0);
	put(&f, 8, 17, 0, 0, 0, 0, 0, 0, 0);
	put_ports(&f);
	cr_assert_eq(parse(WEIR_LINK_RAW, &f, f.len, &flow), WEIR_PACKET_OK);
	check_flow(&flow, 6, 60, 0, 0);
}

Test(packet, link_layers)
{
	static const uint32_t families6[] = { 10, 23, 24, 28, 30 };
	struct weir_flow flow;
	struct frame f;

	for (uint32_t big = 0; big < 2; big++) {
		for (uint32_t i = 0; i < 6; i++) {
			const uint32_t family = i < 5 ? families6[i] : 2;

			f.len = 0;
			put(&f, 4, big ? 0 : family, 0, 0, big ? family : 0);
			if (i < 5)
				put_ipv6(&f, 59);
			else
				put_ipv4(&f, 5, 1, 0);
			cr_assert_eq(parse(WEIR_LINK_LOOPBACK, &f, f.len, &flow), WEIR_PACKET_OK);
			check_flow(&flow, i < 5 ? 6 : 4, i < 5 ? 59 : 1, 0, 0);
			cr_assert_eq(parse(WEIR_LINK_LOOPBACK, &f, 3, &flow),
				     WEIR_PACKET_LINK_TRUNCATED);
		}
	}
	f.len = 0;
	put_zero(&f, 14);
	put(&f, 2, 0x81, 0);
	put(&f, 4, 0, 1, 8, 0);
	put_ipv4(&f, 5, 1, 0);
	cr_assert_eq(parse(WEIR_LINK_COOKED, &f, f.len, &flow), WEIR_PACKET_OK);
	cr_assert_eq(parse(WEIR_LINK_COOKED, &f, 15, &flow), WEIR_PACKET_LINK_TRUNCATED);
	cr_assert_eq(parse(WEIR_LINK_COOKED, &f, 19, &flow), WEIR_PACKET_LINK_TRUNCATED);
	f.len = 0;
	put(&f, 2, 0x86, 0xdd);
	put_zero(&f, 18);
	put_ipv6(&f, 58);
	cr_assert_eq(parse(WEIR_LINK_COOKED2, &f, f.len, &flow), WEIR_PACKET_OK);
	cr_assert_eq(parse(WEIR_LINK_COOKED2, &f, 19, &flow), WEIR_PACKET_LINK_TRUNCATED);
	f.len = 0;
	put(&f, 1, 0x50);
	cr_assert_eq(parse(WEIR_LINK_RAW, &f, 0, &flow), WEIR_PACKET_IP_TRUNCATED);
	cr_assert_eq(parse(WEIR_LINK_RAW, &f, 1, &flow), WEIR_PACKET_NOT_IP);
	cr_assert_eq(parse(WEIR_LINK_UNSUPPORTED, &f, 1, &flow), WEIR_PACKET_NOT_IP);
}

/* The word on a frame of any bytes is the same whatever lies behind it; a flow is whole or
 * untouched. */
static bool
is_a_flow(enum weir_link link, const struct frame *f)
{
	struct weir_flow flow, behind, untouched;
	const enum weir_packet_fault fault = parse(link, f, f->len, &flow);

	memset(&untouched, 0xee, sizeof(untouched));
	memset(&behind, 0xee, sizeof(behind));
	cr_assert_eq(weir_packet_flow(link, f->bytes, f->len, &behind), fault);
	cr_assert_eq(memcmp(&flow, &behind, sizeof(flow)), 0);
	if (fault != WEIR_PACKET_OK) {
		cr_assert_eq(memcmp(&flow, &untouched, sizeof(flow)), 0);
		return false;
	}
	cr_assert(flow.family == 4 || flow.family == 6);
	cr_assert_eq(flow.zero[0] | flow.zero[1], 0);
	return true;
}

Test(packet, random_bytes_are_judged_without_reading_too_far)
{
	struct weir_rng rng = { .state = 1 };
	uint32_t flows = 0;

	for (uint32_t i = 0; i < 20000; i++) {
		struct frame f;

		for (uint32_t j = 0; j < 120; j++)
			f.bytes[j] = (uint8_t)weir_rng_next(&rng);
		f.len = (uint32_t)weir_rng_below(&rng, 120);
		f.bytes[12] = i % 2 ? 8 : 0x86;
		f.bytes[13] = i % 2 ? 0 : 0xdd;
		f.bytes[14] = (uint8_t)(i % 2 ? 0x45 : 0x60);
		f.bytes[20] = (uint8_t)(i % 64);
		for (enum weir_link link = 0; link <= WEIR_LINK_UNSUPPORTED; link++)
			flows += is_a_flow(link, &f);
	}
	cr_assert_gt(flows, 1000);
	cr_assert_lt(flows, 6 * 20000 - 1000);
}

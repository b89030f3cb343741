/* Capture files as bytes in memory: byte orders, resolutions, sections, damage. */

#include "drivers/pcap/capture.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

struct file {
	uint8_t bytes[1 << 16];
	uint64_t len;
	bool big;
};

static struct file file;
static struct weir_capture capture;

static int64_t
read_bytes(void *ctx, void *buffer, size_t len, uint64_t offset)
{
	const struct file *f = ctx;
	const uint64_t left = offset < f->len ? f->len - offset : 0;
	const size_t n = left < len ? left : len;

	if (n > 0)
		memcpy(buffer, f->bytes + offset, n);
	return (int64_t)n;
}

static void
put(uint64_t v, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		file.bytes[file.len++] = (uint8_t)(v >> 8 * (file.big ? bytes - 1 - i : i));
}

static void
begin(bool big)
{
	file.len = 0;
	file.big = big;
}

static void
put_pcap_header(uint32_t magic, uint32_t link_type)
{
	put(magic, 4);
	put(2, 2);
	put(4, 2);
	put(0, 8);
	put(65535, 4);
	put(link_type, 4);
}

static void
put_record(uint32_t s, uint32_t fraction, uint32_t captured, uint32_t length)
{
	put(s, 4);
	put(fraction, 4);
	put(captured, 4);
	put(length, 4);
	for (uint32_t i = 0; i < captured; i++)
		put(i, 1);
}

static void
put_section(void)
{
	put(0x0a0d0d0a, 4);
	put(28, 4);
	put(0x1a2b3c4d, 4);
	put(1, 2);
	put(0, 2);
	put(UINT64_MAX, 8);
	put(28, 4);
}

/* resolution and offset_s are left out if they are 6 and 0. */
static void
put_interface(uint32_t link_type, uint32_t resolution, int64_t offset_s)
{
	const uint32_t total = 20u + (resolution != 6 ? 8u : 0u) + (offset_s != 0 ? 12u : 0u) + 4u;

	put(1, 4);
	put(total, 4);
	put(link_type, 2);
	put(0, 2);
	put(64, 4);
	if (resolution != 6) {
		put(9, 2);
		put(1, 2);
		put(resolution, 1);
		put(0, 3);
	}
	if (offset_s != 0) {
		put(14, 2);
		put(8, 2);
		put((uint64_t)offset_s, 8);
	}
	put(0, 4);
	put(total, 4);
}

static void
put_packet(uint32_t interface, uint64_t units, uint32_t captured)
{
	const uint32_t padded = (captured + 3) / 4 * 4;

	put(6, 4);
	put(32 + padded, 4);
	put(interface, 4);
	put(units >> 32, 4);
	put(units & UINT32_MAX, 4);
	put(captured, 4);
	put(captured + 1000, 4);
	for (uint32_t i = 0; i < padded; i++)
		put(i, 1);
	put(32 + padded, 4);
}

static enum weir_capture_result
open_file(void)
{
	const struct weir_capture_position start = { 0 };

	return weir_capture_open(&capture, read_bytes, &file, &start, WEIR_CAPTURE_NO_LINK);
}

static void
expect_frame(int64_t time_ns, uint32_t captured, uint32_t length)
{
	struct weir_capture_frame frame;

	cr_assert_eq(weir_capture_next(&capture, &frame), WEIR_CAPTURE_FRAME, "%s", capture.fault);
	cr_assert_eq(frame.time_ns, time_ns);
	cr_assert_eq(frame.captured, captured);
	cr_assert_eq(frame.length, length);
	for (uint32_t i = 0; i < captured; i++)
		cr_assert_eq(frame.bytes[i], (uint8_t)i);
}

static void
expect_damage(uint64_t offset)
{
	struct weir_capture_frame frame;

	cr_assert_eq(weir_capture_next(&capture, &frame), WEIR_CAPTURE_DAMAGED);
	cr_assert_eq(capture.fault_offset, offset);
	cr_assert(capture.fault != NULL);
}

static void
expect_end(void)
{
	struct weir_capture_frame frame;

	cr_assert_eq(weir_capture_next(&capture, &frame), WEIR_CAPTURE_END);
}

Test(capture, pcap_of_both_byte_orders_and_resolutions)
{
	for (uint32_t i = 0; i < 4; i++) {
		const bool ns = i >= 2;
		const int64_t unit = ns ? 1 : 1000;

		begin(i % 2);
		put_pcap_header(ns ? 0xa1b23c4d : 0xa1b2c3d4, 113);
		put_record(1, 2, 5, 60);
		put_record(4294967295u, 4294967295u, 0, 0);
		cr_assert_eq(open_file(), WEIR_CAPTURE_FRAME);
		cr_assert_eq(capture.link_type, 113u);
		expect_frame(1000000000 + 2 * unit, 5, 60);
		expect_frame(4294967295 * 1000000000 + 4294967295 * unit, 0, 0);
		expect_end();
	}
}

Test(capture, modified_pcap_has_longer_records)
{
	begin(false);
	put_pcap_header(0xa1b2cd34, 1);
	put(7, 4);
	put(0, 4);
	put(2, 4);
	put(64, 4);
	put(0, 8);
	put(0x0100, 2);
	cr_assert_eq(open_file(), WEIR_CAPTURE_FRAME);
	expect_frame(7000000000, 2, 64);
	expect_end();
}

Test(capture, cut_anywhere_the_frames_before_count)
{
	const uint64_t ends[] = { 24, 24 + 16 + 5, 24 + 16 + 5 + 16 + 9 };
	uint64_t whole;

	begin(false);
	put_pcap_header(0xa1b2c3d4, 1);
	put_record(1, 0, 5, 5);
	put_record(2, 0, 9, 9);
	whole = file.len;
	for (file.len = 0; file.len <= whole; file.len++) {
		struct weir_capture_frame frame;
		enum weir_capture_result r = open_file();
		uint32_t frames = 0;

		while (r == WEIR_CAPTURE_FRAME &&
		       (r = weir_capture_next(&capture, &frame)) == WEIR_CAPTURE_FRAME)
			frames++;
		cr_assert_eq(frames, file.len >= ends[2] ? 2 : file.len >= ends[1] ? 1 : 0);
		if (file.len == ends[0] || file.len == ends[1] || file.len == ends[2]) {
			cr_assert_eq(r, WEIR_CAPTURE_END);
		} else {
			cr_assert_eq(r, WEIR_CAPTURE_DAMAGED);
			cr_assert_eq(capture.fault_offset, file.len < 24 ? 0 : ends[frames]);
		}
	}
}

Test(capture, too_long_a_frame_is_damage)
{
	begin(false);
	put_pcap_header(0xa1b2c3d4, 1);
	put_record(1, 0, 1, 1);
	put(1, 4);
	put(1, 4);
	put(WEIR_CAPTURE_FRAME_MAX + 1, 4);
	put(WEIR_CAPTURE_FRAME_MAX + 1, 4);
	cr_assert_eq(open_file(), WEIR_CAPTURE_FRAME);
	expect_frame(1000000000, 1, 1);
	expect_damage(24 + 17);
}

Test(capture, foreign_files_are_told_from_damaged_ones)
{
	begin(false);
	put(0x12345678, 4);
	cr_assert_eq(open_file(), WEIR_CAPTURE_FOREIGN);
	file.len = 3;
	cr_assert_eq(open_file(), WEIR_CAPTURE_DAMAGED);
	file.len = 0;
	cr_assert_eq(open_file(), WEIR_CAPTURE_DAMAGED);
}

Test(capture, pcapng_times_of_every_resolution)
{
	for (uint32_t big = 0; big < 2; big++) {
		begin(big);
		put_section();
		put_interface(1, 6, 0);
		put_interface(1, 9, -5);
		put_interface(1, 0x80 | 10, 3);
		put_interface(1, 12, 0);
		put_interface(1, 0, 0);
		put_packet(0, 1000001, 3);
		put_packet(1, 7000000001, 4);
		put_packet(2, 1536, 1);
		put_packet(3, 1999999999999, 0);
		put_packet(4, 9223372036, 0);
		put_packet(4, 9223372037, 0);
		cr_assert_eq(open_file(), WEIR_CAPTURE_FRAME);
		cr_assert_eq(capture.link_type, WEIR_CAPTURE_NO_LINK);
		cr_assert_eq(weir_capture_find_link(&capture), WEIR_CAPTURE_FRAME);
		cr_assert_eq(capture.link_type, 1u);
		expect_frame(1000001000, 3, 1003);
		expect_frame(2000000001, 4, 1004);
		expect_frame(4500000000, 1, 1001);
		expect_frame(1999999999, 0, 1000);
		expect_frame(9223372036000000000, 0, 1000);
		expect_damage(file.len - 32);
	}
}

Test(capture, another_link_type_is_damage_from_there)
{
	begin(false);
	put_section();
	put_interface(1, 6, 0);
	put_packet(0, 1, 4);
	const uint64_t offset = file.len;
	put_interface(101, 6, 0);
	put_packet(0, 2, 4);
	cr_assert_eq(open_file(), WEIR_CAPTURE_FRAME);
	expect_frame(1000, 4, 1004);
	expect_damage(offset);
}

Test(capture, a_section_of_an_unknown_version_is_damage_from_there)
{
	static const uint16_t versions[][3] = { { 1, 0, 0 }, { 1, 2, 0 }, { 1, 1, 1 },
						{ 1, 3, 1 }, { 2, 0, 1 }, { 0, 2, 1 } };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		begin(false);
		put_section();
		put_interface(1, 6, 0);
		put_packet(0, 1, 4);
		const uint64_t offset = file.len;
		put_section();
		memcpy(file.bytes + offset + 12, versions[i], 4);
		put_interface(1, 6, 0);
		put_packet(0, 2, 4);
		cr_assert_eq(open_file(), WEIR_CAPTURE_FRAME);
		expect_frame(1000, 4, 1004);
		if (versions[i][2] != 0) {
			expect_damage(offset);
		} else {
			expect_frame(2000, 4, 1004);
			expect_end();
		}
	}
}

Test(capture, goes_on_at_every_frame_of_several_sections)
{
	struct weir_capture_position at[8] = { { 0 } };
	struct weir_capture_frame frame;
	int64_t times[8];
	uint32_t n = 0;

	begin(false);
	put_section();
	put_interface(1, 6, 0);
	put_packet(0, 11, 4);
	put_interface(1, 9, 0);
	put_packet(1, 12, 4);
	file.big = true;
	put_section();
	put_interface(1, 9, 1);
	put_packet(0, 13, 4);
	put_packet(0, 14, 4);
	cr_assert_eq(open_file(), WEIR_CAPTURE_FRAME);
	while (weir_capture_next(&capture, &frame) == WEIR_CAPTURE_FRAME) {
		times[n++] = frame.time_ns;
		weir_capture_tell(&capture, &at[n]);
	}
	cr_assert_eq(n, 4u);
	for (uint32_t i = 0; i < n; i++) {
		cr_assert_eq(weir_capture_open(&capture, read_bytes, &file, &at[i],
					       i == 0 ? WEIR_CAPTURE_NO_LINK : 1),
			     WEIR_CAPTURE_FRAME);
		for (uint32_t j = i; j < n; j++)
			expect_frame(times[j], 4, 1004);
		expect_end();
	}
}

Test(capture, flipped_bytes_never_read_too_far)
{
	struct weir_capture_frame frame;
	struct file good;

	begin(false);
	put_section();
	put_interface(1, 9, 5);
	for (uint32_t i = 0; i < 5; i++)
		put_packet(0, i, i * 7);
	memcpy(&good, &file, sizeof(good));
	for (uint32_t i = 0; i < good.len * 8; i++) {
		memcpy(&file, &good, sizeof(good));
		file.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		uint32_t frames = 0;
		if (open_file() == WEIR_CAPTURE_FRAME)
			while (weir_capture_next(&capture, &frame) == WEIR_CAPTURE_FRAME)
				frames++;
		cr_assert(frames <= 5);
	}
}

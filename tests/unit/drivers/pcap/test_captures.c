/* The source of packets over real captures, if they are beside the repository, and over files that
 * the tests write. */

#include "drivers/pcap/packet.h"
#include "tests/unit/drivers/fake_engine.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LATE, LINK_TRUNCATED, NOT_IP, IP_TRUNCATED, IP_MALFORMED, LINK_TYPE };

static uint64_t
frames_of(const struct fake_sums *sums)
{
	uint64_t all = sums->rows;

	for (uint32_t i = 0; i < 8; i++)
		all += sums->dropped[i];
	return all;
}

/* capinfos' count of packets, -1 if it is not installed. */
static long
capinfos(const char *path)
{
	char command[512], line[512];
	long n = -1;
	FILE *f;

	snprintf(command, sizeof(command), "capinfos -M -c '%s' 2>/dev/null", path);
	f = popen(command, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		(void)sscanf(line, "Number of packets: %ld", &n);
	if (f != NULL)
		pclose(f);
	return n;
}

struct digest {
	uint64_t sum;
	int64_t watermark_ns;
};

static void
digest_rows(void *arg, const struct weir_read *batch)
{
	const struct weir_flow *flows = batch->col[WEIR_PACKET_FLOW];
	const uint64_t *bytes = batch->col[WEIR_PACKET_BYTES];
	const int64_t *times = batch->col[WEIR_PACKET_TIME];
	struct digest *d = arg;

	for (uint32_t i = 0; i < batch->rows; i++) {
		const uint8_t *p = (const uint8_t *)&flows[i];

		for (uint32_t j = 0; j < sizeof(*flows); j++)
			d->sum = (d->sum ^ p[j]) * 0x100000001b3ull;
		d->sum = (d->sum ^ bytes[i]) * 0x100000001b3ull;
		d->sum = (d->sum ^ (uint64_t)times[i]) * 0x100000001b3ull;
	}
	if (batch->rows > 0) {
		cr_assert(batch->watermark_ns >= d->watermark_ns, "a watermark never falls");
		d->watermark_ns = batch->watermark_ns;
	}
}

static void
read_capture(const char *path, uint32_t cap, uint32_t reopen, struct fake_sums *sums,
	     struct digest *d)
{
	const struct weir_params params = { .input = path, .skip_unsupported = true };
	struct weir_reader_ctx ctx = { .params = &params };
	struct weir_splits splits = { 0 };

	*d = (struct digest){ 0, INT64_MIN };
	cr_assert_eq(weir_pcap.enumerate(&params, 2, &splits), 0, "%s", splits.error);
	cr_assert_eq(splits.cnt, 1u);
	cr_assert_eq(fake_read_split(&weir_pcap, &ctx, &splits.list[0], cap, 64, reopen, sums,
				     digest_rows, d),
		     0);
	fake_splits_free(&splits);
}

Test(captures, counts_every_frame_and_goes_on_anywhere)
{
	static const char folder[] = WEIR_SOURCE_ROOT "/../shared/data/captures";
	struct fake_sums whole, parts;
	struct digest a, b;
	struct dirent *entry;
	char path[512];
	DIR *dir = opendir(folder);

	if (dir == NULL)
		cr_skip_test("no captures in %s", folder);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		read_capture(path, 256, 0, &whole, &a);
		long expected = capinfos(path);
		if (expected >= 0)
			cr_assert_eq(frames_of(&whole), (uint64_t)expected, "%s: %lu, not %ld",
				     path, (unsigned long)frames_of(&whole), expected);
		read_capture(path, 7, 3, &parts, &b);
		cr_assert_eq(a.sum, b.sum, "%s: other rows when read in parts", path);
		cr_assert_eq(whole.bytes, parts.bytes);
		for (uint32_t i = 0; i < 8; i++)
			cr_assert_eq(whole.dropped[i], parts.dropped[i]);
	}
	closedir(dir);
}

#include "drivers/preflight/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "drivers/alloc/region.h"
#include "drivers/posix/file_ops.h"
#include "drivers/uring/uring_io.h"

#define NODE_MAX     32u
#define MIB	     (UINT64_C(1) << 20)
#define HUGE_BYTES   (2 * MIB)
#define CAP_LOCK_BIT 14u /* CAP_IPC_LOCK: memory locked for this process is not counted */
#define PATH_BYTES   256
#define EAL_HUGE_CNT 8u /* what EAL itself takes */
#define MEMLOCK_MENDS                                                                              \
	"ulimit -l unlimited, LimitMEMLOCK=infinity in a unit, or memlock in limits.conf"

struct report {
	struct weir_preflight_line *lines;
	uint32_t cnt;
};

static struct weir_preflight_line *
add(struct report *rep, const char *what)
{
	struct weir_preflight_line *line;

	WEIR_ASSERT(rep->cnt < WEIR_PREFLIGHT_MAX);
	line = &rep->lines[rep->cnt++];
	memset(line, 0, sizeof(*line));
	snprintf(line->what, sizeof(line->what), "%s", what);
	return line;
}

/* The first number in a file; false if there is none. */
static bool
read_number(const char *path, uint64_t *value)
{
	FILE *file = fopen(path, "re");
	bool ok;

	if (file == NULL)
		return false;
	ok = fscanf(file, "%" SCNu64, value) == 1;
	fclose(file);
	return ok;
}

static bool
node_number(uint32_t node, const char *name, uint64_t *value)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path),
		 "/sys/devices/system/node/node%u/hugepages/hugepages-2048kB/%s", node, name);
	return read_number(path, value);
}

static uint32_t
node_cnt(void)
{
	uint32_t cnt = 0;
	uint64_t value;

	for (uint32_t node = 0; node < NODE_MAX; node++)
		cnt += node_number(node, "nr_hugepages", &value);
	return cnt;
}

/* An even share on each node: where the cores are is the planner's business. */
static void
check_node(struct report *rep, uint32_t node, uint64_t share)
{
	struct weir_preflight_line *line;
	uint64_t all = 0, unused = 0;
	char what[32];

	if (!node_number(node, "nr_hugepages", &all) ||
	    !node_number(node, "free_hugepages", &unused))
		return;
	snprintf(what, sizeof(what), "hugepages, node %u", node);
	line = add(rep, what);
	line->ok = unused >= share;
	snprintf(line->need, sizeof(line->need), "%" PRIu64 " of 2 MiB", share);
	snprintf(line->have, sizeof(line->have), "%" PRIu64 " free of %" PRIu64, unused, all);
	if (!line->ok)
		snprintf(line->command, sizeof(line->command),
			 "echo %" PRIu64 " > /sys/devices/system/node/node%u/hugepages/"
			 "hugepages-2048kB/nr_hugepages (as root)",
			 all + share - unused, node);
}

/* A kernel without NUMA, or a container that hides it: only the sum is known, by trial. */
static void
check_whole(struct report *rep, uint64_t pages)
{
	struct weir_preflight_line *line = add(rep, "hugepages");

	line->ok = weir_region_huge_possible(pages * HUGE_BYTES);
	snprintf(line->need, sizeof(line->need), "%" PRIu64 " of 2 MiB", pages);
	snprintf(line->have, sizeof(line->have), line->ok ? "enough" : "fewer");
	if (!line->ok)
		snprintf(line->command, sizeof(line->command),
			 "sysctl -w vm.nr_hugepages=%" PRIu64 " (as root)", pages);
}

static void
check_huge(struct report *rep, uint64_t bytes)
{
	const uint64_t pages = (bytes + HUGE_BYTES - 1) / HUGE_BYTES + EAL_HUGE_CNT;
	const uint32_t nodes = node_cnt();

	if (nodes == 0)
		check_whole(rep, pages);
	for (uint32_t node = 0; node < NODE_MAX && nodes != 0; node++)
		check_node(rep, node, (pages + nodes - 1) / nodes);
}

/* Effective capabilities of this process, as bits. */
static uint64_t
capabilities(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	uint64_t caps = 0;

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "CapEff: %" SCNx64, &caps) == 1)
			break;
	fclose(file);
	return caps;
}

static void
check_memlock(struct report *rep, uint64_t bytes)
{
	struct weir_preflight_line *line = add(rep, "memlock");
	struct rlimit lim = { 0 };
	const bool exempt = (capabilities() >> CAP_LOCK_BIT & 1) != 0;

	(void)getrlimit(RLIMIT_MEMLOCK, &lim);
	line->ok = exempt || lim.rlim_cur == RLIM_INFINITY || lim.rlim_cur >= bytes;
	snprintf(line->need, sizeof(line->need), "%" PRIu64 " MiB", (bytes + MIB - 1) / MIB);
	if (exempt)
		snprintf(line->have, sizeof(line->have), "no limit (CAP_IPC_LOCK)");
	else if (lim.rlim_cur == RLIM_INFINITY)
		snprintf(line->have, sizeof(line->have), "no limit");
	else
		snprintf(line->have, sizeof(line->have), "%" PRIu64 " MiB",
			 (uint64_t)lim.rlim_cur / MIB);
	if (!line->ok)
		snprintf(line->command, sizeof(line->command), "%s", MEMLOCK_MENDS);
}

static void
check_uring(struct report *rep)
{
	struct weir_preflight_line *line = add(rep, "io_uring");
	struct weir_error err = { .text = "" };
	char *mend;

	line->ok = weir_uring_trial(&err) == 0;
	snprintf(line->need, sizeof(line->need), "allowed");
	if (line->ok) {
		snprintf(line->have, sizeof(line->have), "works");
		return;
	}
	/* "no io_uring (call: reason): what to do" */
	mend = strstr(err.text, "): ");
	if (mend != NULL) {
		mend[1] = '\0';
		snprintf(line->command, sizeof(line->command), "%s", mend + 3);
	}
	snprintf(line->have, sizeof(line->have), "%s", err.text);
}

/* Write a page to a nameless file. 0 with O_DIRECT, 1 without, or a negated errno. */
static int
try_direct(const char *dir)
{
	void *page = aligned_alloc(WEIR_PAGE, WEIR_PAGE);
	const int fd = open(dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	int rc = 0;

	if (page == NULL || fd < 0) {
		rc = page == NULL ? -ENOMEM : -errno;
	} else {
		memset(page, 0, WEIR_PAGE);
		weir_file_direct_try(fd);
		if (pwrite(fd, page, WEIR_PAGE, 0) != WEIR_PAGE)
			rc = errno == EINVAL ? 1 : -errno;
		else if ((fcntl(fd, F_GETFL) & O_DIRECT) == 0)
			rc = 1;
	}
	if (fd >= 0)
		close(fd);
	free(page);
	return rc;
}

static void
check_direct(struct report *rep, const char *dir)
{
	struct weir_preflight_line *line = add(rep, "O_DIRECT");
	const int rc = try_direct(dir);

	line->ok = rc == 0;
	snprintf(line->need, sizeof(line->need), "4096-byte writes");
	if (rc == 0)
		snprintf(line->have, sizeof(line->have), "works in %.100s", dir);
	else if (rc > 0)
		snprintf(line->have, sizeof(line->have), "%.100s cannot", dir);
	else
		snprintf(line->have, sizeof(line->have), "%.100s: %s", dir, strerror(-rc));
	if (!line->ok)
		snprintf(line->command, sizeof(line->command),
			 "put checkpoint.dir on a disk with ext4 or XFS");
}

uint32_t
weir_preflight(const struct weir_preflight_need *need, struct weir_preflight_line *lines)
{
	struct report rep = { .lines = lines };

	if (need->huge_bytes != 0)
		check_huge(&rep, need->huge_bytes);
	if (need->register_bytes != 0)
		check_memlock(&rep, need->register_bytes);
	if (need->uring)
		check_uring(&rep);
	if (need->direct_dir != NULL)
		check_direct(&rep, need->direct_dir);
	return rep.cnt;
}

void
weir_preflight_text(const struct weir_preflight_line *line, char *text, size_t bytes)
{
	snprintf(text, bytes, "%s: need %s, have %s%s%s", line->what, line->need, line->have,
		 line->command[0] != '\0' ? ": " : "", line->command);
}

bool
weir_preflight_summary(const struct weir_preflight_line *lines, uint32_t cnt, char *text,
		       size_t bytes)
{
	static const char more[] = "; …";
	char one[512];
	size_t len = 0;

	WEIR_ASSERT(bytes > sizeof(more));
	text[0] = '\0';
	for (uint32_t i = 0; i < cnt; i++) {
		if (lines[i].ok)
			continue;
		weir_preflight_text(&lines[i], one, sizeof(one));
		if (len + strlen(one) + 2 + sizeof(more) > bytes) {
			snprintf(text + len, bytes - len, "%s", len != 0 ? more : more + 2);
			return true;
		}
		len += (size_t)snprintf(text + len, bytes - len, "%s%s", len != 0 ? "; " : "", one);
	}
	return text[0] != '\0';
}

#include <weir/sources.h>

#include "drivers/files/walk.h"
#include "drivers/pcap/capture.h"
#include "drivers/pcap/packet.h"

#include <weir/job.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_DATA     65
#define EXIT_NO_INPUT 66
#define EXIT_INTERNAL 70
#define EXIT_IO	      74

#define DEFAULT_BOUND_NS 1000000000

/* The first of them that holds is the reason; the faults of a packet stand in their order. */
enum { LATE, PACKET_FAULTS, LINK_TYPE = PACKET_FAULTS + WEIR_PACKET_OK };
static const char *const reasons[] = { "late",	       "link-truncated", "not-ip",
				       "ip-truncated", "ip-malformed",	 "link-type" };
_Static_assert(LINK_TYPE + 1 == WEIR_ARRAY_CNT(reasons), "a name for every reason");

WEIR_TYPE(packet, WEIR_FIXED("flow", WEIR_FLOW_KEY_BYTES), WEIR_U64("bytes"), WEIR_TIME("time"));

/* What the job's settings say. */
struct options {
	int64_t bound_ns; /* INT64_MAX: unbounded */
	bool strict;
	bool skip_unsupported;
};

struct reader {
	struct options options;
	char name[PATH_MAX];
	int fd;
	bool ended;
	bool any; /* largest_ns is a frame's */
	enum weir_link link;
	int64_t largest_ns;
	uint64_t frames;
	uint64_t offset; /* up to where bytes were counted */
	struct weir_capture capture;
};

/* Words of a position: what the capture needs to go on, and what the late rule needs. */
enum { P_OFFSET, P_SECTION, P_INTERFACES_END, P_LINK_TYPE, P_LARGEST, P_FRAMES, P_ANY };

static void
read_options(const struct weir_params *params, struct options *options)
{
	const char *bound = weir_param_text(params, "out-of-order", "1s");

	if (strcmp(bound, "unbounded") == 0)
		options->bound_ns = INT64_MAX;
	else
		options->bound_ns = weir_param_time_ns(params, "out-of-order", DEFAULT_BOUND_NS);
	options->strict = weir_param_bool(params, "strict", false);
	options->skip_unsupported = weir_param_bool(params, "skip-unsupported", false);
}

static int64_t
saturating_sub(int64_t a, int64_t b)
{
	int64_t d;

	if (__builtin_sub_overflow(a, b, &d))
		return b > 0 ? INT64_MIN : INT64_MAX;
	return d;
}

/* Nothing at or below this comes when largest_ns has come: WEIR_TIME_NONE without a bound. */
static int64_t
watermark_below(int64_t largest_ns, int64_t bound_ns)
{
	if (bound_ns == INT64_MAX)
		return WEIR_TIME_NONE;
	return saturating_sub(saturating_sub(largest_ns, bound_ns), 1);
}

static int64_t
read_file(void *ctx, void *buffer, size_t len, uint64_t offset)
{
	const int fd = *(int *)ctx;
	size_t done = 0;
	ssize_t got;

	while (done < len) {
		got = pread(fd, (char *)buffer + done, len - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (int64_t)done;
}

/* enumerate */

struct listed {
	const char *path;
	uint64_t bytes;
	int64_t first_ns; /* WEIR_TIME_END: no frame */
	bool any;
};

static int
refuse(struct weir_splits *splits, const char *path, const struct weir_capture *c,
       enum weir_capture_result r, const struct options *options)
{
	if (r == WEIR_CAPTURE_IO)
		return weir_splits_fail(splits, EXIT_IO, "cannot read %s: %s", path,
					strerror(errno));
	if (r == WEIR_CAPTURE_FOREIGN) {
		/* It may be a capture whose first bytes are damaged: strict takes no chances. */
		if (!options->skip_unsupported || options->strict)
			return weir_splits_fail(splits, EXIT_DATA,
						"%s: neither a pcap nor a pcapng capture", path);
		weir_splits_warn(splits, "%s: neither a pcap nor a pcapng capture: left out", path);
		return 0;
	}
	if (c->link_type == WEIR_CAPTURE_NO_LINK ||
	    weir_link_of(c->link_type) != WEIR_LINK_UNSUPPORTED)
		return 0;
	if (!options->skip_unsupported)
		return weir_splits_fail(splits, EXIT_DATA,
					"%s: frames of link type %u, which is not supported "
					"(Ethernet, raw IP, Linux cooked and loopback are; "
					"job.skip-unsupported=true counts them only)",
					path, c->link_type);
	weir_splits_warn(splits, "%s: frames of link type %u, which is not supported: only counted",
			 path, c->link_type);
	return 0;
}

/* Refuse what cannot be read, and look at the time of the first frame. Damage is not judged here:
 * the reader meets it in its place. */
static int
peek(const char *path, const struct options *options, struct weir_splits *splits,
     struct weir_capture *c, struct listed *file, bool *take)
{
	const struct weir_capture_position start = { 0 };
	struct weir_capture_frame frame;
	enum weir_capture_result r;
	int fd, rc;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return weir_splits_fail(splits, EXIT_NO_INPUT, "cannot read input %s: %s", path,
					strerror(errno));
	r = weir_capture_open(c, read_file, &fd, &start, WEIR_CAPTURE_NO_LINK);
	*take = r != WEIR_CAPTURE_FOREIGN;
	if (r == WEIR_CAPTURE_FRAME)
		r = weir_capture_find_link(c);
	rc = refuse(splits, path, c, r, options);
	file->first_ns = WEIR_TIME_END;
	if (rc == 0 && r == WEIR_CAPTURE_FRAME) {
		r = weir_capture_next(c, &frame);
		file->any = r == WEIR_CAPTURE_FRAME;
		if (file->any)
			file->first_ns = frame.time_ns;
		else
			rc = refuse(splits, path, c, r, options);
	}
	close(fd);
	return rc;
}

static int
by_first_time(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int
list_files(const struct weir_walk *walk, const struct options *options, struct weir_splits *splits,
	   struct weir_capture *c, struct listed *files)
{
	size_t i, cnt = 0;
	bool take = false;
	int rc;

	for (i = 0; i < walk->cnt; i++) {
		files[cnt] = (struct listed){ walk->files[i].path, walk->files[i].bytes, 0, false };
		rc = peek(files[cnt].path, options, splits, c, &files[cnt], &take);
		if (rc != 0)
			return rc;
		cnt += take;
	}
	qsort(files, cnt, sizeof(*files), by_first_time);
	for (i = 0; i < cnt; i++) {
		struct weir_split split = { .name = files[i].path, .end = files[i].bytes };

		split.hold_ns = files[i].any ? watermark_below(files[i].first_ns, options->bound_ns)
					     : WEIR_TIME_END;
		rc = weir_splits_add(splits, &split);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
pcap_enumerate(const struct weir_params *params, uint32_t parallelism, struct weir_splits *splits)
{
	struct weir_capture *capture;
	struct options options;
	struct weir_walk walk;
	struct listed *files;
	int rc;

	(void)parallelism;
	read_options(params, &options);
	rc = weir_walk(weir_param_text(params, "input", NULL), splits, &walk);
	if (rc != 0)
		return rc;
	files = calloc(walk.cnt + 1, sizeof(*files));
	capture = malloc(sizeof(*capture));
	if (files == NULL || capture == NULL)
		rc = weir_splits_fail(splits, EXIT_INTERNAL, "no memory for the list of captures");
	else
		rc = list_files(&walk, &options, splits, capture, files);
	free(capture);
	free(files);
	weir_walk_free(&walk);
	return rc;
}

/* reader */

static int
stop_at_damage(struct weir_reader_ctx *ctx, struct reader *r)
{
	const struct weir_capture *c = &r->capture;
	const unsigned long long at = (unsigned long long)c->fault_offset;

	r->ended = true;
	if (r->options.strict)
		return weir_reader_fail(ctx, EXIT_DATA, "%s: damaged at byte %llu: %s", r->name, at,
					c->fault);
	weir_reader_warn(ctx, "%s: damaged at byte %llu: %s; the frames before it count", r->name,
			 at, c->fault);
	return 0;
}

static int
pcap_open(struct weir_reader_ctx *ctx, void *reader, const struct weir_split *split,
	  const struct weir_position *position)
{
	struct reader *r = reader;
	const uint64_t *word = position->word;
	const struct weir_capture_position at = { word[P_OFFSET], word[P_SECTION],
						  word[P_INTERFACES_END] };
	enum weir_capture_result result;
	uint32_t link_type = WEIR_CAPTURE_NO_LINK;

	read_options(weir_reader_params(ctx), &r->options);
	strncpy(r->name, split->name, sizeof(r->name) - 1);
	r->largest_ns = (int64_t)word[P_LARGEST];
	r->frames = word[P_FRAMES];
	r->any = word[P_ANY] != 0;
	if (word[P_OFFSET] != 0)
		link_type = (uint32_t)word[P_LINK_TYPE];
	r->fd = open(split->name, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0)
		return weir_reader_fail(ctx, EXIT_NO_INPUT, "cannot read input %s: %s", split->name,
					strerror(errno));
	result = weir_capture_open(&r->capture, read_file, &r->fd, &at, link_type);
	r->link = weir_link_of(r->capture.link_type);
	r->offset = word[P_OFFSET];
	if (result == WEIR_CAPTURE_FRAME)
		return 0;
	if (result == WEIR_CAPTURE_DAMAGED)
		return stop_at_damage(ctx, r);
	if (result == WEIR_CAPTURE_FOREIGN)
		return weir_reader_fail(ctx, EXIT_DATA, "%s: neither a pcap nor a pcapng capture",
					split->name);
	return weir_reader_fail(ctx, EXIT_IO, "cannot read %s: %s", split->name, strerror(errno));
}

/* False: the file ends here or is damaged; *rc says how to go on. */
static bool
next_frame(struct weir_reader_ctx *ctx, struct reader *r, struct weir_capture_frame *frame, int *rc)
{
	switch (weir_capture_next(&r->capture, frame)) {
	case WEIR_CAPTURE_FRAME:
		return true;
	case WEIR_CAPTURE_END:
		r->ended = true;
		return false;
	case WEIR_CAPTURE_DAMAGED:
		*rc = stop_at_damage(ctx, r);
		return false;
	case WEIR_CAPTURE_FOREIGN:
	case WEIR_CAPTURE_IO:
		break;
	}
	*rc = weir_reader_fail(ctx, EXIT_IO, "cannot read %s: %s", r->name, strerror(errno));
	return false;
}

/* Reason to drop the frame, or a negative number and its flow. */
static int
judge(struct reader *r, const struct weir_capture_frame *frame, struct weir_flow *flow)
{
	enum weir_packet_fault fault;
	bool late;

	/* Compared with earlier frames only, whatever became of them. */
	late = r->any && r->options.bound_ns != INT64_MAX &&
	       frame->time_ns < saturating_sub(r->largest_ns, r->options.bound_ns);
	if (!r->any || frame->time_ns > r->largest_ns)
		r->largest_ns = frame->time_ns;
	r->any = true;
	if (r->link == WEIR_LINK_UNSUPPORTED)
		return LINK_TYPE;
	if (late)
		return LATE;
	fault = weir_packet_flow(r->link, frame->bytes, frame->captured, flow);
	return fault == WEIR_PACKET_OK ? -1 : PACKET_FAULTS + (int)fault;
}

static int
pcap_read(struct weir_reader_ctx *ctx, void *reader, struct weir_read *batch)
{
	struct reader *r = reader;
	struct weir_flow *flows = batch->col[WEIR_PACKET_FLOW];
	uint64_t *bytes = batch->col[WEIR_PACKET_BYTES];
	int64_t *times = batch->col[WEIR_PACKET_TIME];
	const bool want_flow = batch->demand >> WEIR_PACKET_FLOW & 1;
	const bool want_bytes = batch->demand >> WEIR_PACKET_BYTES & 1;
	const bool want_time = batch->demand >> WEIR_PACKET_TIME & 1;
	struct weir_capture_frame frame;
	struct weir_flow flow;
	uint32_t rows = 0, i;
	int reason, rc = 0;

	for (i = 0; i < batch->cap && !r->ended && next_frame(ctx, r, &frame, &rc); i++) {
		/* A pcapng file tells with its first interface; all others are like it. */
		if (!r->any)
			r->link = weir_link_of(r->capture.link_type);
		r->frames++;
		reason = judge(r, &frame, &flow);
		if (reason >= 0) {
			batch->dropped[reason]++;
			continue;
		}
		if (want_flow)
			flows[rows] = flow;
		if (want_bytes)
			bytes[rows] = frame.length;
		if (want_time)
			times[rows] = frame.time_ns;
		rows++;
	}
	if (rc != 0)
		return rc;
	batch->rows = rows;
	batch->end = r->ended;
	batch->bytes = r->capture.at.offset - r->offset;
	r->offset = r->capture.at.offset;
	if (r->any)
		batch->watermark_ns = watermark_below(r->largest_ns, r->options.bound_ns);
	return 0;
}

static void
pcap_position(const void *reader, struct weir_position *position)
{
	const struct reader *r = reader;
	struct weir_capture_position at;

	weir_capture_tell(&r->capture, &at);
	*position = (struct weir_position){ { 0 } };
	position->word[P_OFFSET] = at.offset;
	position->word[P_SECTION] = at.section;
	position->word[P_INTERFACES_END] = at.interfaces_end;
	position->word[P_LINK_TYPE] = r->capture.link_type;
	position->word[P_LARGEST] = (uint64_t)r->largest_ns;
	position->word[P_FRAMES] = r->frames;
	position->word[P_ANY] = r->any;
}

static void
pcap_close(void *reader)
{
	struct reader *r = reader;

	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

const struct weir_connector weir_pcap = {
	.name = "pcap",
	.type = &packet,
	.reasons = reasons,
	.reason_cnt = WEIR_ARRAY_CNT(reasons),
	.reader_bytes = sizeof(struct reader),
	.enumerate = pcap_enumerate,
	.open = pcap_open,
	.read = pcap_read,
	.position = pcap_position,
	.close = pcap_close,
};

#ifndef WEIR_ENGINE_CHECKPOINT_HANDLER_PRIV_H
#define WEIR_ENGINE_CHECKPOINT_HANDLER_PRIV_H

/* State shared by handler.c, align.c (exactly-once) and tracker.c (at-least-once). */

#include "engine/checkpoint/handler.h"

/* How the barrier of the current id came on a channel. */
enum input_state {
	INPUT_MISSING,
	INPUT_BARRIER,	 /* handed out, behind frame seq */
	INPUT_SYNTHETIC, /* counted by the coordinator's trigger */
	INPUT_ENDED,	 /* counted by its end */
};

struct input {
	bool forced;
	bool virtual; /* nobody sends a barrier on it */
	bool ended;
	bool restored;	/* END_STATE was handed out */
	bool announced; /* of the current id, not out yet */
	enum input_state state;
	uint32_t seq;		/* INPUT_BARRIER: of the last frame before it */
	uint32_t announced_ord; /* announced: of the barrier */
	uint32_t announced_seq;
};

/* The exactly-once machine. IDLE: the current id is over. */
enum align_state {
	ALIGN_IDLE,
	ALIGN_COLLECTING, /* aligned so far */
	ALIGN_WAITING,	  /* switched; no barrier yet, or a forced channel is missing (T8, T33) */
	ALIGN_STARTING,	  /* START is out */
	ALIGN_CAPTURING,  /* the snapshot was taken or suppressed */
};

struct align {
	enum align_state state;
	uint32_t target_cnt;  /* inputs to be counted; fixed when the id opened */
	uint32_t counted_cnt; /* of them, barriers and ends */
	uint32_t barrier_cnt; /* of them, barriers */
	uint32_t forced_cnt;  /* forced channels missing */
	uint32_t barrier;     /* kind to forward */
	uint32_t flags;
	bool dropped; /* nothing is kept any more: suppressed or discarded */
	bool timeoutable;
	int64_t stamp_ns;
	int64_t timeout_ns;
	int64_t due_ns; /* timer of the switch */
};

struct tracked {
	uint64_t id;
	uint32_t target_cnt;
	uint32_t counted_cnt;
	bool aborted;
	int64_t stamp_ns;
	int64_t timeout_ns;
	uint32_t barrier;
	uint32_t flags;
	uint64_t *counted; /* one bit per channel */
};

struct tracker {
	uint32_t head; /* oldest */
	uint32_t cnt;
	uint32_t word_cnt;    /* of each bit set */
	struct tracked *ring; /* WEIR_HANDLER_TRACKED_MAX */
	uint64_t *words;
};

struct clock {
	bool running;
	int64_t start_ns;
	struct weir_handler_metrics metrics;
};

struct weir_handler {
	bool closed;
	bool has_latest;
	bool has_handled;
	bool has_notice;
	bool finished_tasks_off;
	bool output_timer;
	enum weir_handler_mode mode;
	uint32_t channel_cnt;
	uint32_t open_cnt;
	uint32_t restored_cnt;
	uint64_t latest;  /* highest id opened or cancelled */
	uint64_t handled; /* highest id triggered, suppressed or aborted */
	uint64_t notice_highest;
	uint64_t *notices; /* oldest first */
	uint32_t notice_cnt;
	uint32_t notice_max;
	int64_t output_due_ns;
	uint64_t output_id;
	int64_t now_ns; /* of the step that runs */
	struct clock clock;
	struct align align;
	struct tracker tracker;
	struct input *inputs;
	uint32_t update_cnt;
	struct weir_handler_update updates[WEIR_HANDLER_UPDATES_MAX];
};

/* handler.c */
struct weir_handler_update *weir_handler_emit(struct weir_handler *h,
					      enum weir_handler_update_kind kind, uint64_t id);
void weir_handler_abort(struct weir_handler *h, uint64_t id, enum weir_handler_reason reason);

/* Emit what as TRIGGER or, if its id was noticed as aborted, as SUPPRESS; true if triggered. */
bool weir_handler_trigger(struct weir_handler *h, const struct weir_handler_update *what);

void weir_align_clock_start(struct weir_handler *h, int64_t stamp_ns);
void weir_align_clock_stop(struct weir_handler *h);
void weir_align_clock_reset(struct weir_handler *h);

/* align.c */
void weir_align_step(struct weir_handler *h, const struct weir_handler_event *event);
void weir_align_end(struct weir_handler *h, uint32_t channel);
void weir_align_timer(struct weir_handler *h);
void weir_align_notice(struct weir_handler *h, uint64_t id);
void weir_align_close(struct weir_handler *h);

/* tracker.c */
void weir_tracker_step(struct weir_handler *h, const struct weir_handler_event *event);
void weir_tracker_end(struct weir_handler *h, uint32_t channel);

#endif /* WEIR_ENGINE_CHECKPOINT_HANDLER_PRIV_H */

#ifndef WEIR_ENGINE_CORE_TASK_PRIV_H
#define WEIR_ENGINE_CORE_TASK_PRIV_H

/* What the files of a task share: one noun each. All on the task's core. */

#include "engine/core/task.h"

/* task.c: an operator's or the sink's error, wherever in the chain it is. */
void weir_task_fail_chain(struct weir_task *task, int code);

/* task_output.c: offer held items to their lanes; true if none is left. */
bool weir_task_push_outputs(struct weir_task *task);
/* task_output.c: no room for rows now. */
bool weir_task_full(struct weir_operator_host *host);
/* task_output.c: weir_operator_host.full: that, or a watermark or an end has emitted enough for
 * this turn (T26); a flush is not cut, a barrier waits for it. */
bool weir_task_enough(struct weir_operator_host *host);

/* task_output.c: tell everybody downstream that a checkpoint is given up: now, or as soon as the
 * consumers have let go of older events; markers that wait become one, the newest. */
void weir_task_send_cancel(struct weir_task *task, uint64_t id);
/* task_output.c: send a marker that waits. False: a barrier has to wait, consumers hold all slots
 * but the last. */
bool weir_task_pay_cancel(struct weir_task *task);

/* task_work.c: go on with the work under way until it is done or an operator has more than fits. */
void weir_task_work(struct weir_task *task);
/* task_work.c: a snapshot is due: may it be taken before the work under way is done (T26)? Then put
 * that off, flush and take it; when it is taken, or given up, the work is what it was. */
bool weir_task_may_flush(const struct weir_task *task);
void weir_task_flush_start(struct weir_task *task);
void weir_task_flush_over(struct weir_task *task);
/* task_work.c: before the first turn, the operators' watermarks restored. */
void weir_task_watermark_resume(struct weir_task *task);
/* task_work.c: event time has passed watermark_ns. */
void weir_task_watermark(struct weir_task *task, int64_t watermark_ns);

/* task_barrier.c: do what the barrier handler said. */
void weir_task_act(struct weir_task *task);
/* task_barrier.c: the coordinator's trigger, for a source or a task whose upstream has finished
 * (T31); nothing is under way. */
void weir_task_trigger(struct weir_task *task, const struct weir_mail *mail, int64_t now_ns);

/* task_barrier.c: what the priority lanes and the timers bring; true if anything came. */
bool weir_task_poll_events(struct weir_task *task);

/* task_capture.c, all of the snapshot under way: did a frame find no room? */
bool weir_task_capture_is_lost(const struct weir_task *task);
bool weir_task_capture_is_empty(const struct weir_task *task);
/* Hand all that is kept to the core's file; false: not now, ask again. */
bool weir_task_capture_out(struct weir_task *task);
/* Say in the acknowledgement what is kept, behind its processed and produced. */
void weir_task_capture_note(struct weir_task *task, struct weir_task_ack *ack);
/* task_capture.c: nobody asks for what id kept any more. */
void weir_task_capture_end(struct weir_task *task, uint64_t id);
void weir_task_each_overdraft(struct weir_task *task, uint64_t id,
			      void (*what)(struct weir_overdraft *o, uint64_t checkpoint));

/* task_input.c: read some; what came of it. */
enum weir_regime weir_task_poll_channels(struct weir_task *task, uint64_t *rows);
enum weir_regime weir_task_poll_source(struct weir_task *task, uint64_t *rows);

/* task_stop.c: is this the trigger of a drain, and the data not yet at its end? Ends it (S4). */
bool weir_task_drains_first(struct weir_task *task, uint64_t id);
/* task_stop.c: the snapshot of id is taken: if the job is to be suspended with it, nothing is read
 * from now on; then id is complete: the task is over; or it has been given up: the task goes on. */
void weir_task_hold(struct weir_task *task, uint64_t id);
void weir_task_suspend(struct weir_task *task, uint64_t id);
void weir_task_release(struct weir_task *task, uint64_t id);

/* task_end.c: all input has come; then, turn by turn, what is left to do. */
void weir_task_end(struct weir_task *task);
void weir_task_step_end(struct weir_task *task);

#endif /* WEIR_ENGINE_CORE_TASK_PRIV_H */

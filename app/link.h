#ifndef WEIR_APP_LINK_H
#define WEIR_APP_LINK_H

/*
 * The line between the supervisor and its worker: a socket pair that carries messages, each a
 * length (32 bits, little-endian) and that many bytes of JSON, an object with a "type".
 *
 *   worker -> supervisor   running, progress, checkpoint, statistics, warning, log, error,
 *                          finished, outcome (of a request, by its number)
 *   supervisor -> worker   cancel, request (a command of app/control/command.h, a number)
 *
 * The end of the line says that the other side is gone. It is for control only: a message is some
 * hundred bytes, a few a second.
 *
 * Threads:   a link has one reader; weir_link_send may be called from any thread.
 * Ownership: open/close take a socket over; a JSON value given to weir_link_send stays the
 * caller's, one received belongs to the caller (json_decref).
 */

#include "engine/base/base.h"

#include <jansson.h>
#include <pthread.h>

#define WEIR_LINK_MESSAGE_MAX (64u << 20) /* a longer one is no message of ours */

struct weir_link {
	int fd;
	pthread_mutex_t lock; /* one message at a time on its way out */
	unsigned char *in;    /* received and not yet taken */
	size_t in_len, in_cap;
	bool ended;
};

void weir_link_open(struct weir_link *link, int fd);
void weir_link_close(struct weir_link *link);

/* Send one message; false when the other side is gone. May wait for room. */
bool weir_link_send(struct weir_link *link, const json_t *message);

/*
 * Take what has arrived, without waiting. The next message, or NULL when there is no whole one;
 * then link->ended says whether any more can come. A damaged message ends the link.
 */
json_t *weir_link_receive(struct weir_link *link);

/* A JSON string of text that may hold any bytes (file names do): what is not UTF-8 becomes '?'. */
json_t *weir_link_text(const char *text);

#endif /* WEIR_APP_LINK_H */

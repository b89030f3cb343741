#include "app/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD 4u

void
weir_link_open(struct weir_link *link, int fd)
{
	memset(link, 0, sizeof(*link));
	link->fd = fd;
	pthread_mutex_init(&link->lock, NULL);
}

void
weir_link_close(struct weir_link *link)
{
	close(link->fd);
	pthread_mutex_destroy(&link->lock);
	free(link->in);
	memset(link, 0, sizeof(*link));
	link->fd = -1;
}

static bool
send_all(int fd, const unsigned char *bytes, size_t len)
{
	while (len > 0) {
		const ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

bool
weir_link_send(struct weir_link *link, const json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);
	unsigned char *bytes;
	bool sent;
	size_t len;

	WEIR_ASSERT(text != NULL);
	len = strlen(text);
	WEIR_ASSERT(len <= WEIR_LINK_MESSAGE_MAX);
	bytes = malloc(HEAD + len);
	WEIR_ASSERT(bytes != NULL);
	for (uint32_t i = 0; i < HEAD; i++)
		bytes[i] = (unsigned char)(len >> (8 * i));
	memcpy(bytes + HEAD, text, len);
	pthread_mutex_lock(&link->lock);
	sent = send_all(link->fd, bytes, HEAD + len);
	pthread_mutex_unlock(&link->lock);
	free(bytes);
	free(text);
	return sent;
}

/* Read what the socket holds; sets ended at its end. */
static void
fill(struct weir_link *link)
{
	while (!link->ended) {
		ssize_t n;

		if (link->in_cap - link->in_len < 65536) {
			link->in_cap = link->in_len + 131072;
			link->in = realloc(link->in, link->in_cap);
			WEIR_ASSERT(link->in != NULL);
		}
		n = recv(link->fd, link->in + link->in_len, link->in_cap - link->in_len,
			 MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (n <= 0)
			link->ended = true;
		else
			link->in_len += (size_t)n;
	}
}

static json_t *
take(struct weir_link *link)
{
	json_t *message;
	size_t len = 0;

	if (link->in_len < HEAD)
		return NULL;
	for (uint32_t i = 0; i < HEAD; i++)
		len |= (size_t)link->in[i] << (8 * i);
	if (len > WEIR_LINK_MESSAGE_MAX) {
		link->ended = true;
		link->in_len = 0;
		return NULL;
	}
	if (link->in_len < HEAD + len)
		return NULL;
	message = json_loadb((const char *)link->in + HEAD, len, 0, NULL);
	link->in_len -= HEAD + len;
	memmove(link->in, link->in + HEAD + len, link->in_len);
	if (message == NULL) {
		link->ended = true;
		link->in_len = 0;
	}
	return message;
}

json_t *
weir_link_receive(struct weir_link *link)
{
	json_t *message = take(link);

	if (message != NULL)
		return message;
	fill(link);
	return take(link);
}

json_t *
weir_link_text(const char *text)
{
	json_t *value = json_string(text);
	char *copy;

	if (value != NULL)
		return value;
	copy = strdup(text);
	WEIR_ASSERT(copy != NULL);
	for (char *c = copy; *c != '\0'; c++) {
		if (((unsigned char)*c & 0x80) != 0)
			*c = '?';
	}
	value = json_string(copy);
	free(copy);
	return value;
}

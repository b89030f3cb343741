/*
 * Control mail: letters written with plain stores travel through a mailbox and come back through
 * another, full and empty by turns; the message itself is a copy.
 */

#include "engine/core/mailbox.h"
#include "tests/race/race.h"

#define LETTERS (WEIR_MAIL_DEPTH + 50) /* more than a mailbox holds */
#define MAILS	100000u

struct letter {
	uint64_t number;
};

static struct weir_mailbox there, back;
static struct letter letters[LETTERS];

static void
post(struct weir_mailbox *box, struct letter *letter, uint64_t number)
{
	const struct weir_mail mail = {
		.kind = WEIR_MAIL_ACK, .task = (uint32_t)number, .id = number, .ptr = letter
	};

	while (!weir_mailbox_post(box, &mail))
		race_wait();
}

static void *
write_letters(void *arg)
{
	struct weir_mail mail;
	uint64_t number = 0;

	(void)arg;
	for (uint32_t i = 0; i < LETTERS; i++) {
		letters[i].number = number;
		post(&there, &letters[i], number++);
	}
	while (number < MAILS) {
		struct letter *letter;

		if (!weir_mailbox_take(&back, &mail)) {
			race_wait();
			continue;
		}
		letter = mail.ptr;
		RACE_CHECK(letter->number == UINT64_MAX);
		letter->number = number;
		post(&there, letter, number++);
	}
	return NULL;
}

static void *
read_letters(void *arg)
{
	struct weir_mail mail;
	uint64_t number = 0;

	(void)arg;
	while (number < MAILS) {
		struct letter *letter;

		if (!weir_mailbox_take(&there, &mail)) {
			race_wait();
			continue;
		}
		letter = mail.ptr;
		RACE_CHECK(mail.kind == WEIR_MAIL_ACK);
		RACE_CHECK(mail.task == (uint32_t)number);
		RACE_CHECK(mail.id == number);
		RACE_CHECK(letter->number == number);
		letter->number = UINT64_MAX;
		number++;
		if (number + LETTERS <= MAILS)
			post(&back, letter, number);
	}
	return NULL;
}

int
main(void)
{
	race_pair(write_letters, read_letters, NULL);
	return 0;
}

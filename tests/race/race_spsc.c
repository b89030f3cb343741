/* Control mail: letters written with plain stores travel on a weir_spsc and come back on another.
 */

#include "engine/base/spsc.h"
#include "tests/race/race.h"

#define LETTERS 100u
#define MAILS	100000u

struct letter {
	uint64_t number;
};

static struct weir_spsc there, back;
static struct letter letters[LETTERS];

static void *
write_letters(void *arg)
{
	uint64_t number = 0;

	(void)arg;
	for (uint32_t i = 0; i < LETTERS; i++) {
		letters[i].number = number++;
		RACE_CHECK(weir_spsc_push(&there, &letters[i]));
	}
	while (number < MAILS) {
		struct letter *letter = weir_spsc_pop(&back);

		if (letter == NULL) {
			race_wait();
			continue;
		}
		RACE_CHECK(letter->number == UINT64_MAX);
		letter->number = number++;
		while (!weir_spsc_push(&there, letter))
			race_wait();
	}
	return NULL;
}

static void *
read_letters(void *arg)
{
	uint64_t number = 0;

	(void)arg;
	while (number < MAILS) {
		struct letter *letter = weir_spsc_pop(&there);

		if (letter == NULL) {
			race_wait();
			continue;
		}
		RACE_CHECK(letter->number == number);
		letter->number = UINT64_MAX;
		number++;
		while (!weir_spsc_push(&back, letter))
			race_wait();
	}
	return NULL;
}

int
main(void)
{
	race_pair(write_letters, read_letters, NULL);
	return 0;
}

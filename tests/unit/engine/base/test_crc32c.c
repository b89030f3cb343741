#include "engine/base/crc32c.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "engine/base/rng.h"

Test(crc32c, known_values)
{
	cr_assert_eq(weir_crc32c(0, "", 0), 0);
	cr_assert_eq(weir_crc32c(0, "123456789", 9), 0xe3069283u);
}

Test(crc32c, fast_equals_slow_at_every_length_and_alignment)
{
	enum { MAX = 40000 };
	uint8_t *bytes = malloc(MAX + 8);
	struct weir_rng rng = { 7 };
	size_t i;

	for (i = 0; i < MAX + 8; i++)
		bytes[i] = (uint8_t)weir_rng_next(&rng);
	for (i = 0; i < 300; i++) {
		const size_t len = i < 100 ? i : weir_rng_below(&rng, MAX);
		const uint8_t *at = bytes + weir_rng_below(&rng, 8);
		const uint32_t start = (uint32_t)weir_rng_next(&rng);

		cr_assert_eq(weir_crc32c(start, at, len), weir_crc32c_slow(start, at, len));
	}
	free(bytes);
}

Test(crc32c, parts_join)
{
	static const char text[] = "a low barrier across a river that lets the water over";
	const uint32_t whole = weir_crc32c(0, text, sizeof(text));
	size_t cut;

	for (cut = 0; cut <= sizeof(text); cut++)
		cr_assert_eq(weir_crc32c(weir_crc32c(0, text, cut), text + cut, sizeof(text) - cut),
			     whole);
}

#include <sched.h>
#include <string.h>

#include <criterion/criterion.h>

#include "drivers/clock/clock.h"

Test(clock, is_right_before_it_is_started)
{
	const int64_t before = weir_clock_system_ns();
	const int64_t now = weir_clock_now_ns();

	cr_assert(before <= now);
	cr_assert(now <= weir_clock_system_ns());
}

Test(clock, agrees_with_the_system_and_never_goes_back)
{
	int64_t last = 0;

	weir_clock_start();
	for (int i = 0; i < 100000; i++) {
		const int64_t now = weir_clock_now_ns();

		cr_assert(now >= last);
		last = now;
	}
	for (int i = 0; i < 100; i++) {
		const int64_t before = weir_clock_system_ns();
		const int64_t now = weir_clock_now_ns();
		const int64_t after = weir_clock_system_ns();

		/* 100 µs: far more than the error since start, far less than a wrong factor. */
		cr_assert(now >= before - 100000);
		cr_assert(now <= after + 100000);
	}
}

Test(clock, says_what_it_is_and_leaves_the_cpu_mask_alone)
{
	cpu_set_t before, after;

	cr_assert_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	weir_clock_start();
	cr_assert_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	cr_assert(CPU_EQUAL(&before, &after));
	cr_assert(strcmp(weir_clock_report(), "tsc") == 0 ||
		  strncmp(weir_clock_report(), "system (", 8) == 0);
	cr_assert_eq(weir_clock_state.tsc, strcmp(weir_clock_report(), "tsc") == 0);
}

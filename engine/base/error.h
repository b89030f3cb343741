#ifndef WEIR_ENGINE_BASE_ERROR_H
#define WEIR_ENGINE_BASE_ERROR_H

/*
 * weir_error: a code and the text that says what failed, where, and what mends it.
 *
 * Threads:   one owner at a time. Ownership: caller's memory, no pointers inside.
 * Cost:      control code only; formats text.
 * Use:       a function that can fail returns 0 or a WEIR_ERR_ code (positive) and fills *err once;
 *            callers add context in front on the way up with weir_error_prefix.
 */

#include "engine/base/base.h"

enum weir_err {
	WEIR_OK = 0,
#define X(name, exit_code, text) WEIR_ERR_##name = (exit_code),
#include "engine/base/err.def"
#undef X
};

struct weir_error {
	int code; /* enum weir_err, also the exit code of the process if nothing handles it */
	char text[1024];
};

/* Set *err to code and the formatted text, return code. err may be NULL. */
int weir_fail(struct weir_error *err, int code, const char *fmt, ...) WEIR_PRINTF(3, 4);

/* Put the formatted text and ": " in front of err's text, return err's code. */
int weir_error_prefix(struct weir_error *err, const char *fmt, ...) WEIR_PRINTF(2, 3);

/* One of several errors in one text: behind what err holds already, after "; ". */
void weir_error_append(struct weir_error *err, int code, const char *fmt, ...) WEIR_PRINTF(3, 4);

/* Text of a code; "unknown" for none of ours. */
const char *weir_err_text(int code);

#endif /* WEIR_ENGINE_BASE_ERROR_H */

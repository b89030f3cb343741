#include "engine/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
weir_fail(struct weir_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	WEIR_ASSERT(code != WEIR_OK);
	if (err == NULL)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

int
weir_error_prefix(struct weir_error *err, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	va_list ap;
	int len;

	WEIR_ASSERT(err->code != WEIR_OK);
	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len > 0 && (size_t)len < sizeof(text))
		snprintf(text + len, sizeof(text) - (size_t)len, ": %s", err->text);
	memcpy(err->text, text, sizeof(text));
	err->text[sizeof(err->text) - 1] = '\0';
	return err->code;
}

void
weir_error_append(struct weir_error *err, int code, const char *fmt, ...)
{
	size_t len = err->code == WEIR_OK ? 0 : strlen(err->text);
	va_list ap;

	err->code = code;
	if (len > 0 && len + 2 < sizeof(err->text)) {
		memcpy(err->text + len, "; ", 3);
		len += 2;
	}
	va_start(ap, fmt);
	vsnprintf(err->text + len, sizeof(err->text) - len, fmt, ap);
	va_end(ap);
}

const char *
weir_err_text(int code)
{
	switch (code) {
#define X(name, exit_code, text)                                                                   \
	case exit_code:                                                                            \
		return text;
#include "engine/base/err.def"
#undef X
	default:
		return "unknown";
	}
}

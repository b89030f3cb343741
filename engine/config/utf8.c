#include "engine/config/config_priv.h"

/* Bytes of the character at text, or 0 if there is none of UTF-8 within len bytes. */
static size_t
utf8_len(const unsigned char *p, size_t len)
{
	const size_t n = p[0] < 0x80   ? 1
			 : p[0] < 0xc2 ? 0
			 : p[0] < 0xe0 ? 2
			 : p[0] < 0xf0 ? 3
			 : p[0] < 0xf5 ? 4
				       : 0;

	if (n == 0 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong forms, surrogates and what lies past U+10FFFF. */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

bool
weir_utf8_valid(const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		const size_t n = utf8_len((const unsigned char *)text + at, len - at);

		if (n == 0)
			return false;
		at += n;
	}
	return true;
}

uint32_t
weir_utf8_columns(const char *text, size_t len)
{
	uint32_t cnt = 0;

	for (size_t i = 0; i < len; i++)
		cnt += ((unsigned char)text[i] & 0xc0) != 0x80;
	return cnt;
}

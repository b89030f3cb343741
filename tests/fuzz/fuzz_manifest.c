/*
 * Any bytes as a manifest: no crash, and what is accepted is written and read back as the same. The
 * first byte says whether the rest is a file, or a payload without the checksum that protects it.
 */

#include <string.h>

#include "engine/checkpoint/manifest_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct weir_manifest *m = NULL;
	struct weir_manifest *again = NULL;
	struct weir_error err = { 0 };
	uint8_t *first, *second;
	size_t first_len, second_len;
	int rc;

	if (len == 0)
		return 0;
	rc = (bytes[0] & 1) != 0 ? weir_manifest_decode(bytes + 1, len - 1, &m, &err)
				 : weir_manifest_decode_payload(bytes + 1, len - 1, &m, &err);
	if (rc != 0) {
		WEIR_ASSERT(m == NULL);
		WEIR_ASSERT(err.text[0] != '\0');
		return 0;
	}
	WEIR_ASSERT(weir_manifest_encode(m, &first, &first_len, &err) == 0);
	WEIR_ASSERT(weir_manifest_decode(first, first_len, &again, &err) == 0);
	WEIR_ASSERT(weir_manifest_encode(again, &second, &second_len, &err) == 0);
	WEIR_ASSERT(first_len == second_len);
	WEIR_ASSERT(memcmp(first, second, first_len) == 0);
	weir_manifest_bytes_free(first);
	weir_manifest_bytes_free(second);
	weir_manifest_destroy(m);
	weir_manifest_destroy(again);
	return 0;
}

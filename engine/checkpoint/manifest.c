/* The manifest's header, and the way in and out. Layout and validity: manifest.h. */
#include "engine/checkpoint/manifest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/crc32c.h"
#include "engine/checkpoint/manifest_priv.h"

#define POOL_BLOCK ((size_t)64 << 10)
#define POOL_ALIGN 16u

struct weir_manifest_block {
	struct weir_manifest_block *next;
	size_t cap;
	alignas(POOL_ALIGN) uint8_t bytes[];
};

struct header {
	uint64_t magic;
	uint32_t version;
	uint32_t crc;
	uint64_t length;
};
_Static_assert(sizeof(struct header) == WEIR_MANIFEST_HEADER, "the header has no holes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the formats are little-endian");

void *
weir_manifest_pool_take(struct weir_manifest_pool *pool, size_t cnt, size_t size)
{
	struct weir_manifest_block *block = pool->blocks;
	size_t need;
	void *at;

	if (pool->failed || (size > 0 && cnt > SIZE_MAX / 4 / size)) {
		pool->failed = true;
		return NULL;
	}
	need = weir_align_up(cnt * size, POOL_ALIGN);
	if (block == NULL || block->cap - pool->used < need) {
		const size_t cap = need > POOL_BLOCK ? need : POOL_BLOCK;

		block = calloc(1, sizeof(*block) + cap);
		if (block == NULL) {
			pool->failed = true;
			return NULL;
		}
		block->cap = cap;
		block->next = pool->blocks;
		pool->blocks = block;
		pool->used = 0;
	}
	at = block->bytes + pool->used;
	pool->used += need;
	return at;
}

void
weir_manifest_pool_fini(struct weir_manifest_pool *pool)
{
	struct weir_manifest_block *block = pool->blocks;

	while (block != NULL) {
		struct weir_manifest_block *next = block->next;

		free(block);
		block = next;
	}
}

static uint32_t
file_crc(const struct header *h, const void *payload)
{
	uint32_t crc = weir_crc32c(0, &h->version, sizeof(h->version));

	crc = weir_crc32c(crc, &h->length, sizeof(h->length));
	return weir_crc32c(crc, payload, h->length);
}

static int
memory_out(struct weir_error *err)
{
	return weir_fail(err, WEIR_ERR_FAILED, "out of memory");
}

int
weir_manifest_encode(const struct weir_manifest *m, uint8_t **bytes, size_t *len,
		     struct weir_error *err)
{
	struct weir_manifest_pool pool = { 0 };
	struct header h = { .magic = WEIR_MANIFEST_MAGIC, .version = WEIR_MANIFEST_VERSION };
	const Weir__Pb__Manifest *pb;
	uint8_t *file;
	int rc;

	rc = weir_manifest_check(m, err);
	if (rc != 0)
		return err != NULL ? weir_error_prefix(err, "manifest") : rc;
	pb = weir_manifest_pack(&pool, m);
	if (pb == NULL) {
		rc = memory_out(err);
		goto out;
	}
	h.length = weir__pb__manifest__get_packed_size(pb);
	if (h.length > WEIR_MANIFEST_BYTES_MAX) {
		rc = weir_fail(err, WEIR_ERR_DATA, "%" PRIu64 " bytes, at most %llu", h.length,
			       WEIR_MANIFEST_BYTES_MAX);
		goto out;
	}
	file = malloc(sizeof(h) + h.length);
	if (file == NULL) {
		rc = memory_out(err);
		goto out;
	}
	weir__pb__manifest__pack(pb, file + sizeof(h));
	h.crc = file_crc(&h, file + sizeof(h));
	memcpy(file, &h, sizeof(h));
	*bytes = file;
	*len = sizeof(h) + h.length;
out:
	weir_manifest_pool_fini(&pool);
	return rc;
}

void
weir_manifest_bytes_free(uint8_t *bytes)
{
	free(bytes);
}

static void *
pb_alloc(void *pool, size_t size)
{
	return weir_manifest_pool_take(pool, 1, size);
}

static void
pb_free(void *pool, void *at)
{
	/* The pool goes back as a whole. */
	(void)pool;
	(void)at;
}

int
weir_manifest_decode_payload(const void *bytes, size_t len, struct weir_manifest **out,
			     struct weir_error *err)
{
	struct weir_manifest_pool pool = { 0 };
	ProtobufCAllocator allocator = { pb_alloc, pb_free, &pool };
	struct weir_manifest_owned *owned;
	const Weir__Pb__Manifest *pb;
	int rc;

	pb = weir__pb__manifest__unpack(&allocator, len, bytes);
	if (pb == NULL) {
		rc = pool.failed ? memory_out(err)
				 : weir_fail(err, WEIR_ERR_DATA, "payload: not a Manifest message");
		goto fail;
	}
	owned = weir_manifest_pool_take(&pool, 1, sizeof(*owned));
	if (owned != NULL)
		weir_manifest_unpack(&pool, pb, &owned->m);
	if (pool.failed) {
		rc = memory_out(err);
		goto fail;
	}
	rc = weir_manifest_check(&owned->m, err);
	if (rc != 0)
		goto fail;
	owned->pool = pool;
	*out = &owned->m;
	return 0;
fail:
	weir_manifest_pool_fini(&pool);
	return rc;
}

int
weir_manifest_decode(const void *bytes, size_t len, struct weir_manifest **out,
		     struct weir_error *err)
{
	const uint8_t *payload = (const uint8_t *)bytes + sizeof(struct header);
	struct header h;

	if (len < sizeof(h))
		return weir_fail(err, WEIR_ERR_DATA, "header: cut short: %zu bytes of %zu", len,
				 sizeof(h));
	memcpy(&h, bytes, sizeof(h));
	if (h.magic != WEIR_MANIFEST_MAGIC)
		return weir_fail(err, WEIR_ERR_DATA, "header: magic is not WEIRCHKP");
	if (h.version != WEIR_MANIFEST_VERSION)
		return weir_fail(err, WEIR_ERR_DATA,
				 "header: format version %" PRIu32 ", this weir reads %u",
				 h.version, WEIR_MANIFEST_VERSION);
	if (h.length > WEIR_MANIFEST_BYTES_MAX || h.length != len - sizeof(h))
		return weir_fail(err, WEIR_ERR_DATA,
				 "payload: %s: header says %" PRIu64 " bytes, file has %zu",
				 h.length > len - sizeof(h) ? "cut short" : "surplus bytes",
				 h.length, len - sizeof(h));
	if (h.crc != file_crc(&h, payload))
		return weir_fail(err, WEIR_ERR_DATA, "payload: checksum does not match (CRC32C)");
	return weir_manifest_decode_payload(payload, h.length, out, err);
}

void
weir_manifest_destroy(struct weir_manifest *m)
{
	struct weir_manifest_pool pool;

	if (m == NULL)
		return;
	/* The pool's own memory holds the struct that holds the pool. */
	pool = WEIR_CONTAINER(m, struct weir_manifest_owned, m)->pool;
	weir_manifest_pool_fini(&pool);
}

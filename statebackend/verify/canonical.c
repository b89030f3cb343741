/* Canonical segments, entry by entry. Offsets: docs/formats.md. */

#include <string.h>

#include "engine/base/hash.h"
#include "statebackend/verify/verify_priv.h"

#define RUN_HEADER 32u
#define KEY_MAX	   4096u

/* What the header says of all entries. */
struct kind {
	uint32_t key_bytes, value_bytes, key_groups;
	bool grouped, strings;
	uint64_t first, last;
};

/* Where the reading stands. */
struct place {
	const uint8_t *at, *end;
	uint32_t group, key_len;
	int64_t ns;
	const uint8_t *key; /* of the entry before; NULL: none yet */
};

static int
kind_read(const uint8_t *b, struct kind *k, struct weir_error *err)
{
	const uint32_t mode = le32(b + 76);

	*k = (struct kind){ .key_bytes = le32(b + 80),
			    .value_bytes = le32(b + 84),
			    .key_groups = le32(b + 104),
			    .grouped = le32(b + 100) != 0,
			    .strings = mode == 2,
			    .first = le64(b + 56),
			    .last = le64(b + 64) };
	if ((mode != 1 && mode != 2) || k->value_bytes == 0 || k->value_bytes > 1024 ||
	    le32(b + 100) > 1 || k->first > k->last ||
	    (k->strings ? k->key_bytes != 0 : k->key_bytes == 0 || k->key_bytes > 256))
		return weir_fail(err, WEIR_ERR_DATA, "key mode %u, keys of %u, values of %u bytes",
				 mode, k->key_bytes, k->value_bytes);
	if (k->key_groups == 0 || k->key_groups > 32768 ||
	    (k->key_groups & (k->key_groups - 1)) != 0)
		return weir_fail(err, WEIR_ERR_DATA, "%u key groups", k->key_groups);
	for (uint32_t i = 88; i < 100; i++)
		if (b[i] != 0)
			return weir_fail(err, WEIR_ERR_DATA, "header byte %u is not zero", i);
	for (uint32_t i = 108; i < VERIFY_SEG_HEADER; i++)
		if (b[i] != 0)
			return weir_fail(err, WEIR_ERR_DATA, "header byte %u is not zero", i);
	return 0;
}

static int
compare(const uint8_t *a, uint32_t a_len, const uint8_t *b, uint32_t b_len)
{
	for (uint32_t i = 0; i < a_len && i < b_len; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return a_len < b_len ? -1 : a_len > b_len;
}

/* len bytes, and zeros up to a multiple of 8. */
static bool
padded(const uint8_t *at, uint32_t len)
{
	for (uint32_t i = len; i % 8 != 0; i++)
		if (at[i] != 0)
			return false;
	return true;
}

static bool
key_fits(const struct kind *k, const struct place *p, uint64_t given, const uint8_t *key,
	 uint32_t len)
{
	/* Group g has the places from g * 2^64 / groups on. */
	const weir_u128 width = ((weir_u128)1 << 64) / k->key_groups;
	uint64_t number = 0, own;

	if (!k->strings && len <= 8) {
		memcpy(&number, key, len);
		own = weir_hash_u64(number);
	} else {
		own = weir_hash_bytes(key, len);
	}
	if (k->grouped) {
		/* The group decides the top 16 bits, places 0 and 1 are stored as 2 and 3. */
		if (given << 16 != own << 16 && !(given >> 48 == 0 && given < 4))
			return false;
		own = given;
	}
	return own >= k->first && own <= k->last && (uint32_t)(own / width) == p->group;
}

static int
entry(const struct kind *k, struct place *p, uint64_t *left, struct weir_error *err)
{
	const uint8_t *at = p->at, *key;
	uint32_t len = k->key_bytes;
	uint64_t given = 0, bytes;

	if (*left < (k->grouped ? 8u : 0u) + (k->strings ? 8u : 0u))
		return weir_fail(err, WEIR_ERR_DATA, "beyond its run");
	if (k->grouped) {
		given = le64(at);
		at += 8;
	}
	if (k->strings) {
		len = le32(at);
		if (len > KEY_MAX || le32(at + 4) != 0)
			return weir_fail(err, WEIR_ERR_DATA, "key of %u bytes", len);
		at += 8;
	}
	key = at;
	bytes = (uint64_t)(at - p->at) + (len + 7) / 8 * 8 + (k->value_bytes + 7) / 8 * 8;
	if (bytes > *left)
		return weir_fail(err, WEIR_ERR_DATA, "beyond its run");
	at += (len + 7) / 8 * 8;
	if (!padded(key, len) || !padded(at, k->value_bytes))
		return weir_fail(err, WEIR_ERR_DATA, "padding is not zero");
	if (!key_fits(k, p, given, key, len))
		return weir_fail(err, WEIR_ERR_DATA,
				 "its key belongs to another key group, or its place is not its");
	if (p->key != NULL && compare(p->key, p->key_len, key, len) >= 0)
		return weir_fail(err, WEIR_ERR_DATA, "not above the one before");
	p->key = key;
	p->key_len = len;
	p->at += bytes;
	*left -= bytes;
	return 0;
}

static int
run(const struct kind *k, struct place *p, uint64_t *entries, struct weir_error *err)
{
	const uint8_t *b = p->at;
	const bool first = p->key == NULL;
	const uint32_t was = p->group;
	const int64_t was_ns = p->ns;
	uint64_t left;
	uint32_t cnt;

	if (p->end - b < RUN_HEADER || memcmp(b, "WRUN", 4) != 0 || le64(b + 24) != 0)
		return weir_fail(err, WEIR_ERR_DATA, "no run");
	p->group = le32(b + 4);
	p->ns = (int64_t)le64(b + 8);
	cnt = le32(b + 16);
	left = le32(b + 20);
	p->at += RUN_HEADER;
	if (cnt == 0 || left > (uint64_t)(p->end - p->at) || p->group >= k->key_groups)
		return weir_fail(err, WEIR_ERR_DATA, "%u entries in %llu bytes of key group %u",
				 cnt, (unsigned long long)left, p->group);
	if (!first && (p->group < was || (p->group == was && p->ns <= was_ns)))
		return weir_fail(err, WEIR_ERR_DATA, "not above the run before");
	p->key = NULL;
	for (uint32_t i = 0; i < cnt; i++)
		if (entry(k, p, &left, err) != 0)
			return weir_error_prefix(err, "entry %u", i);
	if (left != 0)
		return weir_fail(err, WEIR_ERR_DATA, "bytes after its %u entries", cnt);
	*entries += cnt;
	return 0;
}

/* The first entry of the segment, against the last of the one before. */
static int
follows(const struct kind *k, const uint8_t *b, const struct weir_verify_last *last,
	struct weir_error *err)
{
	const uint32_t group = le32(b + 4);
	const int64_t ns = (int64_t)le64(b + 8);
	const uint8_t *key = b + RUN_HEADER + (k->grouped ? 8 : 0);
	uint32_t len = k->key_bytes;

	if (k->strings) {
		len = le32(key);
		key += 8;
	}
	if (group > last->key_group || (group == last->key_group && ns > last->ns))
		return 0;
	if (group == last->key_group && ns == last->ns &&
	    compare(last->key, last->key_len, key, len) < 0)
		return 0;
	return weir_fail(err, WEIR_ERR_DATA, "not above the segment before");
}

static int
sequence(const struct kind *k, const uint8_t *b, uint32_t runs, const struct place *end,
	 struct weir_verify_last *last, struct weir_error *err)
{
	int rc = 0;

	if (le32(b + 20) != last->parts)
		return weir_fail(err, WEIR_ERR_DATA, "part %u, should be %u", le32(b + 20),
				 last->parts);
	last->parts++;
	if (runs == 0)
		return 0;
	if (last->any)
		rc = follows(k, b + VERIFY_SEG_HEADER, last, err);
	last->any = true;
	last->key_group = end->group;
	last->ns = end->ns;
	last->key_len = end->key_len;
	memcpy(last->key, end->key, end->key_len);
	return rc;
}

int
verify_canonical(const struct weir_segment *seg, const uint8_t *b, struct weir_verify_last *last,
		 struct weir_verify_sum *sum, struct weir_error *err)
{
	struct place p = { .at = b + VERIFY_SEG_HEADER, .end = b + seg->used };
	uint64_t entries = 0;
	struct kind k;
	int rc = kind_read(b, &k, err);

	for (uint32_t i = 0; rc == 0 && i < seg->page_cnt; i++) {
		rc = run(&k, &p, &entries, err);
		if (rc != 0)
			return weir_error_prefix(err, "run %u", i);
	}
	if (rc == 0 && p.at != p.end)
		return weir_fail(err, WEIR_ERR_DATA, "bytes after its %u runs", seg->page_cnt);
	if (rc == 0 && entries != seg->entry_cnt)
		return weir_fail(err, WEIR_ERR_DATA, "%llu entries, its header says %llu",
				 (unsigned long long)entries, (unsigned long long)seg->entry_cnt);
	if (rc == 0 && last != NULL)
		rc = sequence(&k, b, seg->page_cnt, &p, last, err);
	sum->records += seg->page_cnt;
	sum->entries += entries;
	return rc;
}

#ifndef WEIR_TYPE_H
#define WEIR_TYPE_H

/*
 * Types of rows: named columns. Numbers are little-endian in memory and on disk; times are signed
 * 64-bit nanoseconds of event time.
 *
 *	enum { BID_AUCTION, BID_PRICE, BID_TIME };
 *	WEIR_TYPE(bid, WEIR_U64("auction"), WEIR_U64("price"), WEIR_TIME("time"));
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_COLUMNS_MAX 16u
#define WEIR_TIME_NONE	 INT64_MIN /* before every time: no watermark yet */
#define WEIR_TIME_END	 INT64_MAX /* after every time: the input has ended */
/* Rows in one batch, at most. */
#define WEIR_BATCH_ROWS 256u

enum weir_kind {
	WEIR_KIND_U8,
	WEIR_KIND_U16,
	WEIR_KIND_U32,
	WEIR_KIND_U64,
	WEIR_KIND_I8,
	WEIR_KIND_I16,
	WEIR_KIND_I32,
	WEIR_KIND_I64,
	WEIR_KIND_F32,
	WEIR_KIND_F64,
	WEIR_KIND_BOOL,
	WEIR_KIND_TIME,
	WEIR_KIND_FIXED, /* bytes of fixed length */
	WEIR_KIND_BYTES, /* bytes of variable length: a column of struct weir_bytes and a heap */
};

struct weir_column {
	const char *name;
	uint16_t kind;	/* enum weir_kind */
	uint16_t width; /* bytes of one row in the column */
};

struct weir_type {
	const char *name;
	uint32_t column_cnt; /* 1..WEIR_COLUMNS_MAX */
	const struct weir_column *columns;
};

/* One value of a BYTES column: len bytes at heap + off of its column. */
struct weir_bytes {
	uint32_t off;
	uint32_t len;
};

/* clang-format off */
#define WEIR_U8(n)	 { (n), WEIR_KIND_U8, 1 }
#define WEIR_U16(n)	 { (n), WEIR_KIND_U16, 2 }
#define WEIR_U32(n)	 { (n), WEIR_KIND_U32, 4 }
#define WEIR_U64(n)	 { (n), WEIR_KIND_U64, 8 }
#define WEIR_I8(n)	 { (n), WEIR_KIND_I8, 1 }
#define WEIR_I16(n)	 { (n), WEIR_KIND_I16, 2 }
#define WEIR_I32(n)	 { (n), WEIR_KIND_I32, 4 }
#define WEIR_I64(n)	 { (n), WEIR_KIND_I64, 8 }
#define WEIR_F32(n)	 { (n), WEIR_KIND_F32, 4 }
#define WEIR_F64(n)	 { (n), WEIR_KIND_F64, 8 }
#define WEIR_BOOL(n)	 { (n), WEIR_KIND_BOOL, 1 }
#define WEIR_TIME(n)	 { (n), WEIR_KIND_TIME, 8 }
#define WEIR_FIXED(n, w) { (n), WEIR_KIND_FIXED, (w) }
#define WEIR_BYTES(n)	 { (n), WEIR_KIND_BYTES, 8 }
/* clang-format on */

#define WEIR_TYPE(type_name, ...)                                                                  \
	static const struct weir_column type_name##_columns[] = { __VA_ARGS__ };                   \
	static const struct weir_type type_name = { #type_name,                                    \
						    (uint32_t)(sizeof(type_name##_columns) /       \
							       sizeof(type_name##_columns[0])),    \
						    type_name##_columns }

#ifdef __cplusplus
}
#endif
#endif /* WEIR_TYPE_H */

#ifndef WEIR_ENGINE_EXCHANGE_LAYOUT_H
#define WEIR_ENGINE_EXCHANGE_LAYOUT_H

/*
 * weir_layout: where the columns of one row type stand in a frame.
 *
 *   buffer  0        256         320                                             buffer_bytes
 *           | reserved | header  | column | column | ... | heap of BYTES columns |
 *
 * Columns that nothing downstream reads are left out. Every column starts on a 64-byte line. With
 * BYTES columns at least half of the space is heap.
 *
 * Threads: read-only after init. Units: bytes from the frame's header.
 */

#include "engine/base/base.h"
#include "weir/type.h"

/* The longest BYTES value that a source or operator may emit. */
#define WEIR_LAYOUT_HEAP_MIN 4096u

struct weir_layout {
	uint32_t cap;	     /* rows, a multiple of 8, at most WEIR_BATCH_ROWS */
	uint32_t column_cnt; /* of the type */
	uint32_t carried;    /* bit c: column c is in the frame */
	uint32_t active_cnt; /* carried columns, in order: */
	uint8_t active[WEIR_COLUMNS_MAX];
	uint16_t kind[WEIR_COLUMNS_MAX];
	uint16_t width[WEIR_COLUMNS_MAX];
	uint32_t off[WEIR_COLUMNS_MAX];
	uint32_t heap_off;
	uint32_t heap_bytes; /* 0: no BYTES column is carried */
};

/* Lay out the columns of type in demand (bit mask) in frames of buffer_bytes. Returns false if not
 * even 8 rows fit. */
WEIR_MUST_USE bool weir_layout_init(struct weir_layout *layout, const struct weir_type *type,
				    uint32_t demand, uint32_t buffer_bytes);

/*
 * Frames of two layouts with one hash mean the same: columns, widths, places, heap. Stands in
 * manifests.
 */
uint64_t weir_layout_hash(const struct weir_layout *layout);

#endif /* WEIR_ENGINE_EXCHANGE_LAYOUT_H */

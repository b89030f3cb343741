#ifndef WEIR_DRIVERS_FILES_FILES_H
#define WEIR_DRIVERS_FILES_FILES_H

/*
 * Source of lines: a file, or every regular file below a directory (drivers/files/walk.h). A row is
 * a line without its end; an empty line is a row, and so is a last line without an end.
 *
 * Splits:   files, sorted by path. A file larger than a subtask's share is cut into byte ranges; a
 *           line belongs to the range that holds its first byte.
 * Long lines: a line that does not fit an empty batch is handed on in pieces, each a row. It is cut
 *           at bytes that belong to no word (a word: ASCII letters, ASCII digits, bytes >= 0x80).
 *           Where a word fills a whole batch, its first WEIR_FILES_WORD_MAX bytes are handed on and
 *           the rest of that word is passed over: one byte more than a word's longest prefix that
 *           counts, so that whoever looks at words sees that it was longer.
 * Position: byte offset of what comes next, and whether that is inside a line or inside a word that
 *           is passed over.
 */

#include <weir/connector.h>

#define WEIR_FILES_WORD_MAX 4097u

enum { WEIR_FILES_LINE };

/* {BYTES line} */
extern const struct weir_connector weir_files;

#endif /* WEIR_DRIVERS_FILES_FILES_H */

#!/usr/bin/env python3
"""Expected output of the wordcount job: wordcount.py FILE|DIRECTORY

A word is a maximal run of bytes that are ASCII letters, ASCII digits or above 0x7f; letters are
lower-cased; a word longer than 4 KiB counts under its first 4 KiB. Shares no code with weir.
"""

import os
import stat
import sys
from collections import Counter

WORD_MAX = 4096
OUTSIDE = bytes(
    b for b in range(128) if not (48 <= b <= 57 or 65 <= b <= 90 or 97 <= b <= 122)
)
TO_WORDS = bytes.maketrans(
    OUTSIDE + bytes(range(65, 91)), b" " * len(OUTSIDE) + bytes(range(97, 123))
)


def files(path, above=()):
    """Regular files at or below path; links are followed, except back to a directory above."""
    try:
        info = os.stat(path)
    except OSError:
        return
    if stat.S_ISREG(info.st_mode):
        yield path
    elif stat.S_ISDIR(info.st_mode):
        here = (info.st_dev, info.st_ino)
        if here in above:
            return
        for name in sorted(os.listdir(path)):
            yield from files(os.path.join(path, name), above + (here,))


def count(path):
    words = Counter()
    for name in files(os.fsencode(path)):
        with open(name, "rb") as file:
            text = file.read().translate(TO_WORDS)
        words.update(word[:WORD_MAX] for word in text.split(b" ") if word)
    return words


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: wordcount.py FILE|DIRECTORY")
    lines = sorted(b"%s\t%d\n" % item for item in count(sys.argv[1]).items())
    sys.stdout.buffer.write(b"".join(lines))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""wordcount against tr, sort and uniq, and against tests/reference: real text and nasty input.

test_wordcount.py WEIR
"""

import os
import random
import shutil
import subprocess

import e2e
from e2e import Run, check, finished, same_lines

LICENSES = "/usr/share/common-licenses"
words = e2e.reference("wordcount")


def with_tools(path):
    """What a pipeline of ordinary tools counts in all files below path."""
    script = (
        "export LC_ALL=C; find -L \"$1\" -type f -exec cat {} + -exec echo ';' |"
        "tr -cs 'A-Za-z0-9\\200-\\377' '\\n' | tr A-Z a-z | grep -a . | sort | uniq -c"
    )
    done = subprocess.run(["sh", "-c", script, "sh", path], capture_output=True, check=True)
    counted = (line.split(None, 1) for line in done.stdout.split(b"\n") if line)
    return sorted(b"%s\t%s\n" % (word, count) for count, word in counted)


def with_reference(path):
    return sorted(b"%s\t%d\n" % item for item in words.count(path).items())


def licenses():
    if not os.path.isdir(LICENSES):
        e2e.skip(f"{LICENSES} is not there: only made input is counted")
        return
    want = with_tools(LICENSES)
    same_lines("licenses: the reference agrees with tr, sort, uniq", with_reference(LICENSES), want)
    for parallelism in (1, 2, 4):
        for combiner in ("auto", "off"):
            run = Run("wordcount", job__input=LICENSES, parallelism=parallelism,
                      exchange__combiner=combiner)
            what = f"licenses, parallelism {parallelism}, combiner {combiner}"
            if finished(what, run):
                same_lines(what, run.lines(), want, run.story())


def nasty(folder):
    """Everything that is awkward in text."""
    rng = random.Random(3)
    put = lambda name, data: e2e.write(f"{folder}/{name}", data)
    put("empty", b"")
    put("newlines", b"\n" * 3000)
    put("one-word", b"word")
    put("no-end", b"first line\nlast line without end")
    put("crlf", b"Carriage return\r\nand line feed\r\n\r\nalone\rtoo\r\n" * 50)
    put("nul", b"nul\0nul\0\0bytes\n\0\0\n" * 40 + b"\0")
    put("high", bytes(range(256)) * 30 + "Ünïcödé ÄÖÜ ß naïve\n".encode() * 20)
    put("huge-line", b"many words in one line, " * 60000)
    put("huge-line-of-separators", b"a" + b"-" * 100000 + b"b\n" + b" " * 70000)
    put("long-word", b"x" * 4096 + b" " + b"y" * 4097 + b"\n" + b"Z" * 300000 + b" z\n")
    put("long-words", b"\n".join(b"%c" % (97 + i % 26) * n for i, n in enumerate(
        (255, 256, 4095, 4096, 4097, 8191, 8192, 8193, 16384, 65536, 65537))))
    put("words-at-frame-ends", b" ".join(b"w%d" % i * (i % 97 + 1) for i in range(4000)))
    put("single-bytes", b"\n".join(bytes([b]) for b in range(256)))
    put("binary", rng.randbytes(400000))
    put("unique", b"\n".join(b"key%07d" % rng.randrange(10**7) for _ in range(40000)) + b"\n")
    put("digits", b"".join(b"%d\t%d,%d\n" % (i, i * i, i % 7) for i in range(20000)))
    put("d/e/e/p/e/r/" * 12 + "file", b"deep down\n")
    put(os.fsdecode(b"name \xff\n'\"\\"), b"strange name\n")
    put(".hidden/.file", b"hidden counts too\n")
    links(folder)


def links(folder):
    os.makedirs(f"{folder}/links/inner")
    e2e.write(f"{folder}/links/inner/real", b"counted once per name\n")
    os.symlink("inner/real", f"{folder}/links/to-file")
    os.symlink("inner", f"{folder}/links/to-directory")
    os.symlink("..", f"{folder}/links/inner/cycle")
    os.symlink(folder, f"{folder}/links/inner/cycle-to-the-top")
    os.symlink("self", f"{folder}/links/self")
    os.symlink("nowhere", f"{folder}/links/broken")
    os.mkfifo(f"{folder}/links/pipe")


def made():
    folder = e2e.fresh("text")
    nasty(folder)
    want = with_reference(folder)
    truncated = 0
    for name in words.files(os.fsencode(folder)):
        with open(name, "rb") as file:
            text = file.read().translate(words.TO_WORDS)
        truncated += sum(len(word) > 4096 for word in text.split(b" "))
    for parallelism in (1, 2, 4):
        for sets in ({}, {"exchange__combiner": "off", "memory__frame_size": "16KiB"},
                     {"memory__frame_size": "64KiB"}):
            run = Run("wordcount", job__input=folder, parallelism=parallelism, **sets)
            what = f"made text, parallelism {parallelism}, {sets}"
            if not finished(what, run):
                continue
            same_lines(what, run.lines(), want, run.story())
            cut = sum(o["truncated"] for o in run.report["operators"])
            check(f"{what}: truncated", cut == truncated, f"{cut}, expected {truncated}")
            warnings = " ".join(run.report["sources"][0]["warnings"])
            for name in ("broken", "pipe"):
                check(f"{what}: a warning names {name}", f"links/{name}" in warnings, warnings)


def small_frames():
    """Frames smaller than the longest words: refused with words, or right."""
    folder = e2e.fresh("text")
    e2e.write(f"{folder}/a", b"short words only\n" * 5000 + b"l" * 3000 + b"\n")
    run = Run("wordcount", job__input=folder, parallelism=2, memory__frame_size="4KiB")
    if run.code == 78:
        check("4 KiB frames: refused with the reason", "frame" in run.err, run.story())
    elif finished("4 KiB frames", run):
        same_lines("4 KiB frames", run.lines(), with_reference(folder), run.story())


def one_file_in_ranges():
    """A file larger than a subtask's share is cut into ranges at line ends."""
    rng = random.Random(5)
    path = e2e.fresh("text") + "/big"
    some = [b"w%d" % i for i in range(3000)]
    e2e.write(path, b"\n".join(b" ".join(rng.choices(some, k=rng.randrange(0, 30)))
                               for _ in range(60000)))
    want = with_tools(path)
    for parallelism in (1, 2, 3, 4):
        run = Run("wordcount", job__input=path, parallelism=parallelism)
        if finished(f"one large file, parallelism {parallelism}", run):
            same_lines(f"one large file, parallelism {parallelism}", run.lines(), want, run.story())
            check("rows are lines", run.report["sources"][0]["rows"] == 60000,
                  run.report["sources"])


def updates():
    """emit=updates: for each word counts that only grow, the last one is the final count."""
    folder = e2e.fresh("text")
    e2e.write(f"{folder}/a", b"".join(b"again w%d\n" % (i % 50) for i in range(30000)))
    for sets in ({}, {"checkpoint__interval": "20ms", "checkpoint__dir": e2e.fresh("chk"),
                      "job__rate": "30k"}):
        run = Run("wordcount", job__input=folder, parallelism=2, job__emit="updates", **sets)
        what = f"emit=updates {sorted(sets)}"
        if not finished(what, run):
            continue
        final = {}
        for line in run.lines():
            word, count = line.rstrip(b"\n").split(b"\t")
            final[word] = max(final.get(word, 0), int(count))
        got = sorted(b"%s\t%d\n" % item for item in final.items())
        same_lines(what, got, with_reference(folder), run.story())
        if sets:
            check("updates are more lines than words", len(run.lines()) > len(final), run.story())


def nothing():
    folder = e2e.fresh("text")
    os.makedirs(folder)
    run = Run("wordcount", job__input=folder, parallelism=2)
    if finished("empty directory", run):
        same_lines("empty directory", run.lines(), [])
        check("the output directory is there", os.path.isdir(run.output))
    shutil.rmtree(folder)
    run = Run("wordcount", job__input=folder)
    check("input not there: 66", run.code == 66 and folder in run.err, run.story())


def main():
    licenses()
    made()
    small_frames()
    one_file_in_ranges()
    updates()
    nothing()
    e2e.conclude()


main()

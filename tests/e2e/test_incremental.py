#!/usr/bin/env python3
"""Checkpoints that name files of others (S9, K10): restored at any parallelism, claimed among such.

test_incremental.py WEIR
"""

import os
import signal

import e2e
from e2e import Run, check, finished, inspect, number_of, same_lines, whole
from live import Live, sources_sent

SMALL = {"memory__state": "64MiB", "memory__hugepages": "off"}
MANY, REPEATED, FILES = 30000, 400000, 2


def text(folder):
    """Words that come once, early; then a few again and again: most pages change no more."""
    for number in range(FILES):
        lines = [f"n{number}w{i} n{number}x{i}" for i in range(MANY // FILES)]
        lines += [f"again {i % 7}" for i in range(REPEATED // FILES)]
        e2e.write(f"{folder}/{number}.txt", ("\n".join(lines) + "\n").encode())


def expected():
    counts = {"again": REPEATED}
    for number in range(FILES):
        for i in range(MANY // FILES):
            counts[f"n{number}w{i}"] = counts[f"n{number}x{i}"] = 1
        for i in range(REPEATED // FILES):
            counts[str(i % 7)] = counts.get(str(i % 7), 0) + 1
    return sorted(f"{word}\t{count}\n".encode() for word, count in counts.items())


def stored(on):
    return e2e.checkpoints(on["checkpoint__dir"])


def files(path):
    return {os.path.basename(f["path"]) for f in inspect(path).get("files", [])}


def of_others(path):
    """Files that other checkpoints wrote: <attempt>-<checkpoint>-<core>.dat."""
    return {name for name in files(path) if int(name.split("-")[1]) != number_of(path)}


def died(source, parallelism):
    """What a run leaves that was killed when it changed only a few pages any more."""
    on = {"checkpoint__interval": "30ms", "checkpoint__dir": e2e.fresh("chk"),
          "checkpoint__retained": 4}
    run = Live("wordcount", parallelism=parallelism, job__input=source, job__rate=40000, **SMALL,
               **on)
    e2e.wait_until(lambda: run.over() or
                   (len(stored(on)) == 4 and of_others(stored(on)[-1]) and
                    sources_sent(stored(on)[-1]) > FILES * MANY), 60)
    worker = e2e.children(run.process.pid)
    check("it is still under way", not run.over())
    for pid in [run.process.pid, *worker]:
        e2e.kill(pid)
    run.process.communicate()
    for pid in worker:
        e2e.wait_until(lambda pid=pid: not e2e.alive(pid), 5)
    return on


def restored(source, path, parallelism, **more):
    return Run("wordcount", parallelism=parallelism, job__input=source, restore__from=path,
               **SMALL, **more)


def rescale(source, want):
    for before, after in ((2, (1, 2, 3, 5)), (3, (2,))):
        newest = stored(died(source, before))[-1]
        check(f"at {before}: the newest names files of others", of_others(newest), files(newest))
        whole(f"at {before}", newest)
        for parallelism in after:
            what = f"written at {before}, restored at {parallelism}"
            run = restored(source, newest, parallelism)
            finished(what, run)
            same_lines(what, run.lines(), want, run.story())
        whole(f"at {before}, restored", newest)


def claim(source, want):
    """S6: what is claimed goes when it is replaced; what others name of it stays."""
    for where in ("in its folder", "elsewhere"):
        on = died(source, 2)
        paths = stored(on)
        mine, others = paths[-2], [path for path in paths if path != paths[-2]]
        shared = files(mine) & set().union(*(files(path) for path in others))
        alone = files(mine) - shared
        data = os.path.dirname(inspect(mine)["files"][0]["path"])
        check(f"{where}: others name files of the claimed one", shared, files(mine))
        into = on["checkpoint__dir"] if where == "in its folder" else e2e.fresh("chk")
        run = restored(source, mine, 2, job__rate=150000, checkpoint__interval="30ms",
                       checkpoint__dir=into, restore__claim="true")
        finished(f"claimed, {where}", run)
        same_lines(f"claimed, {where}", run.lines(), want, run.story())
        check(f"{where}: the claimed one is gone", not os.path.exists(mine))
        left = {name for name in os.listdir(data) if name in alone}
        check(f"{where}: what only it named is gone", not left, left)
        for path in others:
            whole(f"{where}, not claimed", path)
        again = restored(source, others[-1], 3)
        finished(f"{where}: from one that was not claimed", again)
        same_lines(f"{where}: from one that was not claimed", again.lines(), want, again.story())


def not_claimed(source, want):
    """Beside one that cannot be read nothing is claimed, and the run says so."""
    on = died(source, 2)
    paths = stored(on)
    with open(f"{paths[0]}/manifest", "r+b") as file:
        file.truncate(20)
    run = restored(source, paths[-1], 2, job__rate=150000, checkpoint__interval="30ms",
                   checkpoint__dir=e2e.fresh("chk"), restore__claim="true")
    finished("beside a damaged one", run)
    same_lines("beside a damaged one", run.lines(), want, run.story())
    whole("beside a damaged one, not claimed", paths[-1])
    check("it says that it is not claimed", "restore.claim" in run.err and paths[0] in run.err,
          run.story())


def main():
    signal.alarm(int(540 * e2e.PATIENCE))
    source, want = e2e.fresh("text"), expected()
    text(source)
    rescale(source, want)
    claim(source, want)
    not_claimed(source, want)
    e2e.conclude()


main()

#!/usr/bin/env python3
"""Canonical savepoints (S1, S2, S3): sorted entries, moved, restored at other parallelisms.

test_canonical.py WEIR
"""

import glob
import os
import shutil
import signal

import e2e
from e2e import Run, check, finished, same_lines
from live import Live, chk, good, inspect, over, reference

SMALL = {"memory__state": "64MiB", "memory__hugepages": "off"}
# Seconds of work are left when a command comes: rates are kept up also over a time in which the
# machine stood still.
EVENTS = {"job__events": 400000, "job__event_rate": 4000, "job__rate": 50000, **SMALL}


def segments(path):
    return [segment for operator in inspect(path).get("operators", [])
            for subtask in operator["subtasks"] for segment in subtask["segments"]]


def is_canonical(what, path, kind):
    good(what, path, kind)
    found = segments(path)
    kinds = {segment["kind"] for segment in found}
    check(f"{what}: sorted entries, no pages", "canonical" in kinds and "state" not in kinds, kinds)
    entries = sum(segment.get("entries", 0) for segment in found)
    check(f"{what}: there is something in it", entries > 0, found[:3])
    return entries


def stopped(what, job, sets, want, parallelisms, rows=10000):
    """Suspended at 2 after so many rows, moved, restored: with each parallelism the output is that
    of one run."""
    where = e2e.fresh("sp")
    on = chk()
    run = Live(job, parallelism=2, **sets, **on)
    run.moving(rows)
    path = run.savepoint(what, "stop", "--canonical", "--savepoint", where)
    over(what, run, 0, "SUSPENDED")
    if path is None:
        return
    is_canonical(what, path, "suspend")
    moved = e2e.fresh("moved")
    shutil.move(path, moved)
    shutil.rmtree(where, ignore_errors=True)
    shutil.rmtree(on["checkpoint__dir"])
    for parallelism in parallelisms:
        output = e2e.fresh("out")
        shutil.copytree(run.output, output)
        # It goes on, and takes checkpoints of its own in the other format.
        again = Run(job, output=output, parallelism=parallelism, restore__from=moved,
                    **{**sets, "job__rate": 0}, **chk())
        finished(f"{what}, restored at {parallelism}", again)
        same_lines(f"{what}, restored at {parallelism}", again.lines(), want, again.story())


def running(want):
    """Savepoints in both formats of a job that goes on; they hold the same kind of state."""
    run = Live("nexmark-q5", parallelism=2, savepoint__dir=e2e.fresh("sp"), **EVENTS, **chk())
    run.moving()
    paths = [run.savepoint("running", "savepoint", *more)
             for more in (("--canonical",), ("--native",), ("--canonical",), ())]
    over("running", run, 0, "FINISHED")
    same_lines("running: the job goes on as if nothing had been", run.lines(), want)
    if None in paths:
        return
    for number in (0, 2):
        is_canonical(f"running {number}", paths[number], "savepoint")
    for number in (1, 3):
        kinds = {segment["kind"] for segment in segments(paths[number])}
        check(f"running {number}: pages", "state" in kinds and "canonical" not in kinds, kinds)
    again = Run("nexmark-q5", parallelism=3, restore__from=paths[0], **{**EVENTS, "job__rate": 0})
    finished("running: restored", again)
    check("running: restored, nothing that is not expected", set(again.lines()) <= set(want),
          again.story())


def words(folder):
    """Many different words, some longer than a page has room for."""
    for part in range(8):
        e2e.write(f"{folder}/{part}", b"".join(
            b"word%d a%s common\n" % (n * 8 + part, b"x" * (n % 700)) for n in range(6000)))
    return {"job__input": folder, "job__rate": 8000, **SMALL}


def damaged(path):
    """Any changed byte of the entries is found by both readers."""
    victim = max(glob.glob(f"{path}/*.dat"), key=os.path.getsize)
    for offset in (4096 + 200, os.path.getsize(victim) - 4096):
        e2e.flip(victim, offset)
        e2e.refused(f"byte {offset}", path, victim)
        again = Run("nexmark-q7", parallelism=3, restore__from=path, **EVENTS)
        check(f"byte {offset}: restore", again.code == 65 and
              os.path.basename(victim) in again.err, again.story())
        e2e.flip(victim, offset)


def drain_and_damage():
    run = Live("nexmark-q7", parallelism=2, savepoint__dir=e2e.fresh("sp"), **EVENTS)
    run.moving()
    path = run.savepoint("drain", "stop", "--drain", "--canonical")
    over("drain", run, 0, "FINISHED")
    good("drain", path, "drain")
    run = Live("nexmark-q7", parallelism=2, savepoint__dir=e2e.fresh("sp"), **EVENTS)
    run.moving()
    path = run.savepoint("damaged", "stop", "--canonical")
    over("damaged", run, 0, "SUSPENDED")
    if path is not None:
        damaged(path)


def main():
    signal.alarm(int(540 * e2e.PATIENCE))
    want = reference("nexmark-q5", EVENTS)
    stopped("q5", "nexmark-q5", EVENTS, want, (1, 2, 3))
    running(want)
    stopped("q7", "nexmark-q7", EVENTS, reference("nexmark-q7", EVENTS), (1, 3))
    text = words(e2e.fresh("text"))
    counts = reference("wordcount", text)
    stopped("wordcount", "wordcount", text, counts, (1, 2, 3), 4000)
    drain_and_damage()
    e2e.conclude()


main()

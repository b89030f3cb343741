#!/usr/bin/env python3
"""State that belongs to no key (R5, T30): lists and maps over kills and changes of parallelism.

test_belongs.py WEIR BELONGS
"""

import glob
import os
import shutil
import signal
import sys

import e2e
from e2e import Run, check, finished, inspect, wait_until
from live import Live, chk, good

PLUGIN = os.path.abspath(sys.argv[2])
BASE, KIND, ITEM, WORDS, KEY_LEN, NAME, AT_SOURCE, SMALL = range(8)
SPLITS, KEYS, EVERY, EVENTS = 12, 50, 64, 240000

SMALL_MEMORY = {"memory__state": "64MiB", "memory__hugepages": "off"}
ROWS = {"job__events": EVENTS, "job__name": "belongs", "job__seed": BASE, **SMALL_MEMORY}
# Seconds of work are left when a worker is killed or a command comes.
SLOW = {**ROWS, "job__rate": 30000}
ALLOW = {"restore__allow_non_restored_state": "true"}

# What is refused, and what the message must name.
REFUSED = {
    KIND: ["'watch'", "'marks'", "a split list in the checkpoint, a union list now"],
    ITEM: ["'watch'", "'marks'", "items of 16 bytes in the checkpoint, items of 8 bytes now"],
    WORDS: ["'watch'", "'marks'", "key, number in the checkpoint, number, key now"],
    KEY_LEN: ["'rules'", "'last'", "keys of byte strings and values of 8 bytes", "keys of 4 bytes"],
    NAME: ["'watch'", "no operator state 'marks' any more"],
}


def all_marks():
    return sorted((split + SPLITS * (at % KEYS), at // KEYS) for split in range(SPLITS)
                  for at in range(0, EVENTS // SPLITS, EVERY))


def holds(what, run, parallelism, rules=True):
    """What every subtask said at the end: nothing lost, nothing twice; the same map everywhere."""
    if not finished(what, run):
        return None
    rows = [(text, int(number), int(subtask)) for text, number, subtask in
            (line.decode().split() for line in run.lines())]
    marks = sorted((int(text[1:]), number) for text, number, _ in rows if text[0] == "m")
    check(f"{what}: every mark once", marks == all_marks(), (len(marks), len(all_marks())))
    counts = [number for text, number, _ in rows if text == "rows"]
    check(f"{what}: every row is in one count", len(counts) == parallelism and sum(counts) == EVENTS, counts)
    opened = [number for text, number, _ in rows if text == "opened"]
    check(f"{what}: all saw the counts of all", len(opened) == parallelism and len(set(opened)) == 1, opened)
    seqs = EVENTS // SPLITS // KEYS
    for subtask in range(parallelism if rules else 0):
        said = sorted((text, number) for text, number, by in rows if by == subtask and text[0] == "l")
        check(f"{what}: the map of subtask {subtask}",
              said == sorted((f"lk{key}", seqs - 1) for key in range(SPLITS * KEYS)), said[:3])
    return opened[0] if opened else None


def operator(path, name):
    return next(o for o in inspect(path).get("operators", []) if o["id"] == name)


def items(path, name, state):
    """Entries per subtask."""
    return [sum(s["entries"] for s in subtask["segments"] if s["kind"] == "blob" and s["state"] == state)
            for subtask in operator(path, name)["subtasks"]]


def newest(on):
    return e2e.checkpoints(on["checkpoint__dir"])[-1]


def kill_worker(what, run):
    """Wait until the next one has made a checkpoint, too."""
    before = e2e.newest(run.chk)
    worker = e2e.children(run.process.pid)
    killed = bool(worker) and not run.over() and e2e.kill(worker[0])
    check(f"{what}: the worker is killed", killed)
    wait_until(lambda: any(child not in worker for child in e2e.children(run.process.pid)), 20)
    wait_until(lambda: e2e.newest(run.chk) > before + 1 or run.over(), 20)


def suspended(what, how, parallelism, **more):
    """A run that loses its worker once and is stopped with a savepoint: its path."""
    run = Live(PLUGIN, parallelism=parallelism, **{**SLOW, **chk(), **more})
    run.moving()
    kill_worker(what, run)
    path = run.savepoint(what, "stop", "--savepoint", e2e.fresh("sp"), how)
    run.wait()
    check(f"{what}: suspended", run.code == 0 and run.report["state"] == "SUSPENDED", run.story())
    check(f"{what}: it was restarted", run.report and run.report["attempts"] == 2, run.report)
    if path is not None:
        good(what, path, "suspend")
        kinds = {s["name"]: s["kind"] for s in operator(path, "watch")["operator_states"]}
        check(f"{what}: inspect names the kinds", kinds == {"marks": "split list", "rows": "union list"}, kinds)
        check(f"{what}: a count for every subtask", items(path, "watch", "rows") == [1] * parallelism)
        check(f"{what}: a map for every subtask", len(set(items(path, "rules", "last"))) == 1 and
              len(items(path, "rules", "last")) == parallelism, items(path, "rules", "last"))
    return path


def restored(what, path, parallelism, version=BASE, **more):
    return Run(PLUGIN, parallelism=parallelism, restore__from=path, **{**ROWS, "job__seed": version, **more})


def goes_on(what, path, parallelisms):
    """At its end every number holds, and everybody was shown what the savepoint counts."""
    counted = sum(subtask["rows_in"] for subtask in operator(path, "watch")["subtasks"])
    for parallelism in parallelisms:
        name = f"{what}, restored at {parallelism}"
        opened = holds(name, restored(name, path, parallelism), parallelism)
        check(f"{name}: as many rows as the savepoint counts", opened == counted, (opened, counted))


def is_refused(path):
    for version, names in REFUSED.items():
        for allow in ({}, ALLOW) if version != NAME else ({},):
            run = restored("", path, 3, version, **allow)
            what = f"version {version} {allow}"
            check(f"{what}: refused, exit code 65", run.code == 65, run.story())
            for name in names:
                check(f"{what}: the message says {name}", name in run.err, run.err)
    run = restored("", path, 3, NAME, **ALLOW)
    finished("a state of another name begins empty", run)
    check("it says what it leaves out", "'marks'" in run.err, run.err)


def is_full():
    run = Run(PLUGIN, parallelism=2, restart__strategy="none", **{**ROWS, "job__seed": SMALL})
    check("a list that is full is an error with a name", run.code != 0 and
          "'watch'" in run.err and "state 'marks' is full" in run.err and "bytes_max" in run.err, run.story())


def is_damaged(path):
    """A byte of an item is changed."""
    moved = e2e.fresh("damaged")
    shutil.copytree(path, moved)
    segment = next(s for s in operator(moved, "watch")["subtasks"][0]["segments"] if s["kind"] == "blob")
    name = f"{moved}/{os.path.basename(segment['file'])}"
    e2e.flip(name, segment["offset"] + 128 + 32 + 8)
    e2e.refused("a changed item", moved, name)
    run = restored("damaged", moved, 3)
    check("restore refuses a changed item", run.code == 65, run.story())


def planned():
    done = e2e.weir("plan", PLUGIN, "--set", "parallelism=2", "--set", "job.seed=0")
    for line in ("watch 'marks'  split list, items of 16 bytes, at most 1024 KiB x2",
                 "watch 'rows'  union list, items of any length, at most 64 KiB x2",
                 "rules 'last'  broadcast map, keys of any length, values of 8 bytes, at most 64 KiB x2",
                 "operator state, at most 4.6 MiB"):
        check(f"the plan says {line}", line in done.stdout, done.stdout + done.stderr)


def overtaken():
    """Unaligned checkpoints while sinks are slow, two kills: rows in flight and operator state fit."""
    sets = {**chk(), "checkpoint__unaligned": "true", "checkpoint__interval": "10ms", "job__seed": BASE}
    run = Live(PLUGIN, parallelism=2, **{**SLOW, **sets})
    for _ in range(2):
        run.moving()
        kill_worker("unaligned", run)
    holds("unaligned, killed twice", run.wait(), 2)
    check("unaligned: it was restarted", run.report and run.report["attempts"] == 3, run.report)


def ended():
    """What had come to its end stays there (T28, T29), at any parallelism; so does what was drained (S4)."""
    on = chk()
    run = Run(PLUGIN, parallelism=2, **ROWS, **on)
    holds("to its end", run, 2)
    drained = Live(PLUGIN, parallelism=2, **SLOW, **chk())
    drained.moving()
    path = drained.savepoint("drained", "stop", "--drain", "--savepoint", e2e.fresh("sp"))
    drained.wait()
    finished("drained", drained)
    good("drained", path, "drain")
    for of, where in ((run, newest(on)), (drained, path)):
        check(f"{where}: a count for every subtask", items(where, "watch", "rows") == [1, 1])
        for parallelism in (1, 2, 3):
            output = e2e.fresh("out")
            shutil.copytree(of.output, output)
            more = chk()
            again = restored("again", where, parallelism, output=output, **more)
            finished(f"{where} restored at {parallelism}", again)
            check(f"{where} restored at {parallelism}: nothing is said again", again.lines() == of.lines())
            check(f"{where} restored at {parallelism}: no count is there twice", sum(
                items(newest(more), "watch", "rows")) == 2, items(newest(more), "watch", "rows"))


def ends_together():
    """T30: while some subtasks have ended, and others not, no checkpoint completes; the job ends well."""
    on = {**chk(), "checkpoint__interval": "20ms", "checkpoint__retained": 1000}
    run = Run(PLUGIN, parallelism=5, **{**SLOW, **on, "job__seed": AT_SOURCE})
    if holds("at the source", run, 5, rules=False) is None:
        return
    for path in glob.glob(f"{on['checkpoint__dir']}/*/chk-*"):
        there = [subtask["finished"] for subtask in operator(path, "watch")["subtasks"]]
        if not check(f"{path}: all subtasks or none are finished", len(set(there)) == 1, there):
            return
    given_up = {c["reason"] for c in run.report["checkpoints"]["list"] if c["status"] != "completed"}
    check("at the source: nothing else was given up", given_up <= {"CHECKPOINT_DECLINED_TASK_CLOSING"}, given_up)
    check("at the source: those before and the last completed", run.report["checkpoints"]["completed"] >= 2 and
          run.report["checkpoints"]["list"][-1]["status"] == "completed", run.report["checkpoints"]["list"][-1])
    if not given_up:
        e2e.skip("at the source: the machine took no checkpoint while only some subtasks had ended")


def main():
    signal.alarm(int(590 * e2e.PATIENCE))
    planned()
    holds("undisturbed", Run(PLUGIN, parallelism=2, **ROWS), 2)
    is_full()
    first = suspended("native at 2", "--native", 2)
    if first is not None:
        goes_on("native at 2", first, (1, 2, 3))
        is_refused(first)
        is_damaged(first)
        second = suspended("canonical at 3", "--canonical", 3, restore__from=first)
        if second is not None:
            goes_on("canonical at 3", second, (1, 3, 2))
    overtaken()
    ended()
    ends_together()
    e2e.conclude()


main()

#!/usr/bin/env python3
"""A changed job takes up the state of the old one by operator id, or is refused by name (B9, S2, S7).

test_evolve.py WEIR EVOLVE
"""

import os
import shutil
import signal
import sys

import e2e
from e2e import Run, check, finished, inspect, same_lines
from live import Live, chk

PLUGIN = os.path.abspath(sys.argv[2])
(BASE, ADDED, REMOVED, REORDERED, EVERYTHING, KEY_SIZE, KEY_BYTES, KEY_TYPE, KEY_OWN, VALUE_SIZE, STATE_NAME,
 SOURCE_ID, SOURCE_MORE, SINK_KIND, WINDOW_SIZE, BESIDE) = range(16)

SMALL = {"memory__state": "64MiB", "memory__hugepages": "off"}
ROWS = {"job__events": 240000, **SMALL}
# Seconds of work are left when it is stopped.
SLOW = {**ROWS, "job__rate": 30000}
ALLOW = {"restore__allow_non_restored_state": "true"}

# What is refused, and what the message must name.
REFUSED = {
    REMOVED: ["'sliding'"],
    EVERYTHING: ["'sliding'"],
    KEY_SIZE: ["'check'", "'next'", "8 bytes (u64)", "16 bytes (u64, u64)"],
    KEY_BYTES: ["'check'", "'next'", "byte strings"],
    KEY_TYPE: ["'check'", "'next'", "8 bytes (u64)", "8 bytes (time)"],
    KEY_OWN: ["'check'", "'next'", "the operator's own"],
    VALUE_SIZE: ["'check'", "'next'", "16 bytes", "8"],
    STATE_NAME: ["'check'", "'next'"],
    SOURCE_ID: ["'source'"],
    SINK_KIND: ["'out'"],
    WINDOW_SIZE: ["'sliding'", "'panes'", "every 200000000 ns"],
}


def rows_of(lines):
    return [line for line in lines if line.startswith(b"k")]


def windows_of(lines):
    return [line for line in lines if line[:1].isdigit()]


class State:
    """A state to restore from, made at parallelism 2, and the output that belongs to it."""

    def __init__(self, what, how, more=None):
        self.what = what
        on = {**chk(), **(more or {})}
        run = Live(PLUGIN, parallelism=2, job__seed=BASE, job__name="evolve", **{**SLOW, **on})
        run.moving()
        if how is None:
            run.command("cancel")
            run.wait()
            check(f"{what}: cancelled", run.code == 143, run.story())
            self.path = self.newest(on)
        else:
            self.path = run.savepoint(what, "stop", "--savepoint", e2e.fresh("sp"), how)
            run.wait()
            check(f"{what}: suspended", run.code == 0 and run.report["state"] == "SUSPENDED", run.story())
        self.output = run.output

    def newest(self, on):
        found = e2e.checkpoints(on["checkpoint__dir"])
        check(f"{self.what}: there is a checkpoint", len(found) > 0, on)
        return found[-1] if found else None

    def ended(self):
        """The same job, at its end: what to restore is its last checkpoint."""
        on = chk()
        run = self.restore(BASE, **on)
        finished(f"{self.what}: to its end", run)
        self.path, self.output = self.newest(on), run.output

    def restore(self, version, parallelism=3, **more):
        output = e2e.fresh("out")
        shutil.copytree(self.output, output)
        return Run(PLUGIN, output=output, parallelism=parallelism, job__seed=version, job__name="evolve",
                   restore__from=self.path, **{**ROWS, **more})


def goes_on(state, version, want, windows=True, **more):
    what = f"{state.what}, version {version}"
    run = state.restore(version, **more)
    if not finished(what, run):
        return run
    same_lines(f"{what}: rows", rows_of(run.lines()), rows_of(want), run.story())
    if windows:
        same_lines(f"{what}: windows", windows_of(run.lines()), windows_of(want), run.story())
    return run


def is_refused(state, version):
    run = state.restore(version)
    what = f"{state.what}, version {version}"
    check(f"{what}: refused, exit code 65", run.code == 65, run.story())
    for name in REFUSED[version]:
        check(f"{what}: the message says {name}", name in run.err, run.err)


def versions(state, want):
    if state.path is None:
        return
    goes_on(state, BASE, want)
    run = goes_on(state, ADDED, want)
    check(f"{state.what}: the added operator began empty",
          run.report and run.operator("fresh")["rows_in"] == run.operator("side")["rows_in"], run.story())
    goes_on(state, REORDERED, want)
    for version in REFUSED:
        is_refused(state, version)
    # What may be left out is left out, and said.
    run = goes_on(state, REMOVED, want, windows=False, **ALLOW)
    check(f"{state.what}: it says what it leaves out", "'sliding'" in run.err, run.err)
    goes_on(state, EVERYTHING, want, windows=False, **ALLOW)
    run = state.restore(STATE_NAME, **ALLOW)
    finished(f"{state.what}: a renamed state begins empty", run)
    check(f"{state.what}: it says so", "'next'" in run.err, run.err)
    # These would not be left out but misread.
    for version in (KEY_SIZE, KEY_BYTES, KEY_TYPE, KEY_OWN, VALUE_SIZE, WINDOW_SIZE):
        run = state.restore(version, **ALLOW)
        check(f"{state.what}, version {version}: refused all the same", run.code == 65, run.story())


def more_sources(state, want):
    """A source that the state does not know starts from its beginning."""
    run = state.restore(SOURCE_MORE)
    what = f"{state.what}: one more source"
    finished(what, run)
    got = rows_of(run.lines())
    old = [line for line in got if int(line[1:].split()[0]) < 10000]
    same_lines(f"{what}: the old one's rows", old, rows_of(want))
    check(f"{what}: all rows of the new one", len(got) == 2 * len(old) and
          all(line.endswith(b" 0\n") for line in got), len(got))


def at_the_end(state, want):
    """An ended operator may get more neighbours, but no more rows (T29)."""
    state.ended()
    goes_on(state, BASE, want)
    goes_on(state, ADDED, want)
    goes_on(state, REORDERED, want)
    for parallelism in (2, 3):
        run = state.restore(SOURCE_MORE, parallelism)
        check(f"{state.what}: a source in front of what had ended is refused", run.code == 65 and
              "'check'" in run.err and "'second'" in run.err, run.story())


def frames_in_flight(path):
    """m - k over all channels of a checkpoint, as inspect prints them."""
    produced, processed = 0, 0
    for operator in inspect(path)["operators"]:
        for subtask in operator["subtasks"]:
            produced += sum(output["produced"] for output in subtask["outputs"])
            processed += sum(channel["processed"] for channel in subtask["inputs"])
    return produced - processed


def in_flight(want):
    """Channels that hold data need the graph that they had; beside them it may change (S2)."""
    sets = {"checkpoint__unaligned": "true", "checkpoint__interval": "10ms", "job__rate": 0,
            "job__sink_rate": 60000}
    state = State("in flight", None, sets)
    if state.path is None or not check("in flight: there is some", frames_in_flight(state.path) > 0):
        return
    for parallelism in (2, 3):
        goes_on(state, BASE, want, parallelism=parallelism)
        goes_on(state, BESIDE, want, parallelism=parallelism)
    for version, edge in ((ADDED, "'source' -> 'check'"), (REORDERED, "'source' -> 'check'"),
                          (SOURCE_ID, "'source' -> 'check'")):
        for more in ({}, ALLOW):
            run = state.restore(version, **more)
            check(f"in flight, version {version} {more}: refused by its edge", run.code == 65 and
                  edge in run.err and "in flight" in run.err, run.story())
    # The edge to the operator that is gone may hold nothing just then.
    run = state.restore(REMOVED, **ALLOW)
    if run.code == 0:
        same_lines("in flight: left out", rows_of(run.lines()), rows_of(want), run.story())
    else:
        check("in flight: not left out", run.code == 65 and "'sliding'" in run.err and
              "in flight" in run.err, run.story())
    run = state.restore(REORDERED, restore__ignore_in_flight="true")
    finished("in flight: ignored", run)
    check("in flight: how much was dropped is said", "restore.ignore-in-flight" in run.err and
          "frames in flight" in run.err, run.err)


def key_groups(path):
    return inspect(path).get("max_parallelism")


def max_parallelism(state, want):
    """Key groups are fixed for the life of the state (R4); a job that says nothing takes the state's."""
    many = {"parallelism": 1, "operators__check__parallelism": 90}
    check(f"{state.what}: it has 128 key groups", key_groups(state.path) == 128)
    goes_on(state, BASE, want, **many, **chk())
    run = state.restore(BASE, **many, max_parallelism=256)
    check(f"{state.what}: another max-parallelism is refused", run.code == 65 and
          "max-parallelism" in run.err and "128" in run.err and "256" in run.err, run.story())
    run = state.restore(BASE, parallelism=1, operators__check__parallelism=130)
    check(f"{state.what}: a parallelism above it is refused", run.code == 65 and
          "max-parallelism" in run.err and "'check'" in run.err and "130" in run.err, run.story())


def few_key_groups(want):
    """What was set once holds for those that do not set it."""
    state = State("16 key groups", "--native", {"max_parallelism": 16})
    if state.path is None:
        return
    check("16 key groups: it has 16", key_groups(state.path) == 16)
    goes_on(state, BASE, want)
    goes_on(state, BASE, want, max_parallelism=16)
    on = chk()
    goes_on(state, BASE, want, parallelism=7, **on)
    check("16 key groups: its checkpoints too", key_groups(state.newest(on)) == 16)
    run = state.restore(BASE, max_parallelism=128)
    check("16 key groups: 128 are refused", run.code == 65 and "is 16 in the checkpoint and 128 now" in run.err,
          run.story())


def main():
    signal.alarm(int(590 * e2e.PATIENCE))
    run = Run(PLUGIN, parallelism=2, job__seed=BASE, **ROWS)
    finished("undisturbed", run)
    want = run.lines()
    check("undisturbed: no flag", all(line.endswith(b" 0\n") for line in rows_of(want)))
    check("undisturbed: windows", len(windows_of(want)) > 1000)
    for state in (State("canonical", "--canonical"), State("native", "--native"), State("checkpoint", None)):
        versions(state, want)
        more_sources(state, want)
        max_parallelism(state, want)
        at_the_end(state, want)
    in_flight(want)
    few_key_groups(want)
    e2e.conclude()


main()

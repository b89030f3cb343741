#!/usr/bin/env python3
"""Savepoints, stop, cancel and restore, from outside (B8; S1-S7, S12, K5, C7).

test_savepoint.py WEIR
"""

import glob
import json
import os
import shutil
import signal

import e2e
from e2e import Run, check, finished, same_lines
from live import Live, chk, good, inspect, over, reference

SMALL = {"memory__state": "64MiB", "memory__hugepages": "off"}
# Windows fire while it runs, the first after 8000 rows. When a command comes, there are seconds of
# work left: rates are kept up also over a time in which the machine stood still.
Q5 = {"job__events": 400000, "job__event_rate": 4000, "job__rate": 50000, **SMALL}
# The sink is slower than the source: rings are full.
SLOW = {"job__events": 400000, "job__rebalance": "true", "job__sink_rate": 50000, **SMALL}


# ---- stop ----

def suspend(want):
    for what, on, after in (("suspend", chk(), 3), ("suspend without checkpoints", {}, 1)):
        where = e2e.fresh("sp")
        run = Live("nexmark-q5", parallelism=2, **Q5, **on)
        run.moving()
        path = run.savepoint(what, "stop", "--savepoint", where)
        over(what, run, 0, "SUSPENDED")
        good(what, path, "suspend")
        if path is None:
            continue
        moved = e2e.fresh("moved")
        shutil.move(path, moved)
        for folder in [v for k, v in on.items() if k.endswith("dir")]:
            shutil.rmtree(folder)
        again = Run("nexmark-q5", output=run.output, parallelism=after, restore__from=moved,
                    **{**Q5, "job__rate": 0})
        finished(f"{what}, moved, restored at {after}", again)
        same_lines(f"{what}, restored", again.lines(), want, again.story())


def fewer(want):
    """R3: one subtask goes on with the splits of twelve, and hands them on again."""
    path, output = None, e2e.fresh("out")
    for parallelism in (12, 1, 3):
        what = f"twelve splits at parallelism {parallelism}"
        restore = {"restore__from": path} if path else {}
        run = Live("nexmark-q5", parallelism=parallelism, output=output, **Q5, **restore)
        run.moving()
        path = run.savepoint(what, "stop", "--savepoint", e2e.fresh("sp"))
        over(what, run, 0, "SUSPENDED")
        if path is None:
            return
        under_way = [len(s["current_splits"]) for o in inspect(path)["operators"]
                     for s in o["subtasks"]]
        check(f"{what}: all are under way", sum(under_way) == 12, under_way)
    again = Run("nexmark-q5", output=output, parallelism=2, restore__from=path,
                **{**Q5, "job__rate": 0})
    finished("twelve splits, restored", again)
    same_lines("twelve splits, restored", again.lines(), want, again.story())


def too_many():
    """R3: one subtask cannot take over what many have pre-committed; that is said."""
    sets = {"job__events": 1000000, "job__rate": 20000, **SMALL}
    run = Live("nexmark-q0", parallelism=16, savepoint__dir=e2e.fresh("sp"), **sets)
    run.moving()
    for _ in range(17):
        run.savepoint("many savepoints", "savepoint")
    path = run.savepoint("many savepoints", "stop")
    over("many savepoints", run, 0, "SUSPENDED")
    if path is None:
        return
    ends = {**sets, "job__rate": 0, "output": run.output, "restore__from": path}
    one = Run("nexmark-q0", parallelism=1, **ends)
    check("many savepoints: refused at parallelism 1",
          one.code == 65 and "more than 256 transactions" in one.err, one.story())
    finished("many savepoints, at parallelism 2", Run("nexmark-q0", parallelism=2, **ends))


def drain():
    on = chk()
    run = Live("nexmark-q5", parallelism=2, savepoint__dir=e2e.fresh("sp"), **Q5, **on)
    run.moving()
    path = run.savepoint("drain", "stop", "--drain")
    over("drain", run, 0, "FINISHED")
    good("drain", path, "drain")
    if path is None:
        return
    lines = run.lines()
    counted = sum(int(line.split(b",")[-1]) for line in lines) if lines else 0
    check("drain: windows that were open have fired", counted > 0, lines[:3])
    again = Run("nexmark-q5", output=run.output, parallelism=2, restore__from=path, **Q5)
    finished("a drained savepoint is the end", again)
    same_lines("a drained savepoint adds nothing", again.lines(), lines)


# ---- savepoints of a job that goes on ----

def back_pressure(want):
    on = chk()
    for what, more in (("back pressure", {}), ("unaligned", {"checkpoint__unaligned": "true",
                                                              "checkpoint__interval": "20ms"})):
        run = Live("nexmark-q0", parallelism=2, savepoint__dir=e2e.fresh("sp"),
                   **{**SLOW, **on, **more, "checkpoint__dir": e2e.fresh("chk")})
        run.moving()
        paths = [run.savepoint(what, "savepoint") for _ in range(2)]
        over(what, run, 0, "FINISHED")
        same_lines(f"{what}: the job goes on as if nothing had been", run.lines(), want)
        for path in paths:
            good(what, path, "savepoint")
        kinds = [c["kind"] for c in run.report["checkpoints"]["list"]
                 if c["status"] == "completed"] if run.report else []
        check(f"{what}: they are in the report", kinds.count("savepoint") == 2, kinds)
        modes = [c["mode"] for c in run.report["checkpoints"]["list"]
                 if c["kind"] == "savepoint"] if run.report else []
        check(f"{what}: aligned (S3)", all(m in ("aligned", None) for m in modes), modes)
        if None in paths:
            continue
        again = Run("nexmark-q0", parallelism=3, restore__from=paths[0],
                    **{**SLOW, "job__sink_rate": 0})
        finished(f"{what}: restored with another output", again)
        check(f"{what}: its counters say the whole history",
              again.report and again.operator("result")["rows_in"] == len(want),
              again.story())
        check(f"{what}: no row twice", set(again.lines()) <= set(want), again.story())


def failures(want):
    """A savepoint that cannot be made harms nobody."""
    run = Live("nexmark-q5", parallelism=2, **Q5, **chk())
    run.moving()
    for args in (("savepoint", "/proc/nowhere"), ("stop", "--savepoint", "/proc/nowhere"),
                 ("stop", "--drain", "--savepoint", "/proc/nowhere")):
        code, out, err = run.command(*args)
        check(f"failed: {args}", code == 74 and "/proc/nowhere" in err and out == "",
              (code, out, err))
    code, out, err = run.command("savepoint")
    check("failed: no directory", code == 78, (code, out, err))
    over("after failures", run, 0, "FINISHED")
    same_lines("after failures", run.lines(), want)
    code, out, err = run.command("stop", "--savepoint", e2e.fresh("sp"))
    check("a job that is over", code == 69, (code, out, err))


def cancel(want):
    on = chk()
    run = Live("nexmark-q5", parallelism=2, **Q5, **on)
    run.moving()
    code, out, err = run.command("cancel")
    check("cancel", code == 0 and "CANCELED" in out, (code, out, err))
    run.wait()
    check("cancel: exit code 143, CANCELED",
          run.code == 143 and run.report["state"] == "CANCELED", run.story())
    again = Run("nexmark-q5", output=run.output, parallelism=2, restore__from="latest",
                **{**Q5, "job__rate": 0}, **on)
    finished("after cancel", again)
    same_lines("after cancel", again.lines(), want)


# ---- ownership ----

def claim():
    for what, keep in (("no-claim", True), ("claim", False)):
        sp = e2e.fresh("sp")
        run = Live("nexmark-q5", parallelism=2, **Q5, **chk())
        run.moving()
        path = run.savepoint(what, "stop", "--savepoint", sp)
        over(what, run, 0, "SUSPENDED")
        if path is None:
            continue
        again = Run("nexmark-q5", output=run.output, parallelism=2, restore__from=path,
                    restore__claim="false" if keep else "true", **{**Q5, "job__rate": 0}, **chk())
        finished(what, again)
        check(f"{what}: the savepoint {'stays' if keep else 'goes'}", os.path.isdir(path) == keep)


def damaged():
    sp = e2e.fresh("sp")
    run = Live("nexmark-q5", parallelism=2, **Q5)
    run.moving()
    path = run.savepoint("damaged", "stop", "--savepoint", sp)
    over("damaged", run, 0, "SUSPENDED")
    if path is None:
        return
    done = e2e.weir("checkpoint", "list", sp, "--json")
    listed = json.loads(done.stdout) if done.returncode == 0 else []
    check("listed", [entry["path"] for entry in listed] == [path], done.stdout)
    victim = sorted(glob.glob(f"{path}/*.dat"))[0]
    e2e.flip(victim, 5000)
    e2e.refused("one bit", path, victim)
    again = Run("nexmark-q5", parallelism=2, restore__from=path, **Q5)
    check("one bit: restore", again.code == 65 and os.path.basename(victim) in again.err,
          again.story())


def main():
    signal.alarm(int(540 * e2e.PATIENCE))
    want = reference("nexmark-q5", Q5)
    suspend(want)
    fewer(want)
    too_many()
    drain()
    failures(want)
    cancel(want)
    claim()
    damaged()
    back_pressure(reference("nexmark-q0", SLOW))
    e2e.conclude()


main()

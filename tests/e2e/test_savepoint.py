#!/usr/bin/env python3
"""Savepoints, stop, cancel and restore, from outside (B8; S1-S7, S12, K5, C7).

test_savepoint.py WEIR
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import time

import e2e
from e2e import Run, check, finished, same_lines, wait_until

SMALL = {"memory__state": "64MiB", "memory__hugepages": "off"}
# Windows fire while it runs, and about 3 s of work are left when it is stopped after one.
Q5 = {"job__events": 400000, "job__event_rate": 10000, "job__rate": 100000, **SMALL}
# The sink is slower than the source: rings are full.
SLOW = {"job__events": 400000, "job__rebalance": "true", "job__sink_rate": 80000, **SMALL}


class Live(Run):
    """A run that goes on while it is given commands."""

    def start(self, timeout):
        self.timeout = timeout
        self.process = subprocess.Popen(self.args, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, cwd=e2e.scratch)

    def command(self, *args, timeout=60):
        chk = [a.split("=", 1)[1] for a in self.args if a.startswith("checkpoint.dir=")]
        more = ["--set", f"checkpoint.dir={chk[0]}"] if chk else []
        name, *rest = args
        job = self.args[2] if chk else f"{self.args[2]}@{self.process.pid}"
        done = subprocess.run([e2e.WEIR, name, job, *rest, *more], capture_output=True, text=True,
                              timeout=timeout * e2e.PATIENCE, cwd=e2e.scratch, check=False)
        return done.returncode, done.stdout, done.stderr

    def savepoint(self, what, *args):
        """Its path, absolute, or None."""
        code, out, err = self.command(*args)
        path = out.split(" ", 1)[1].strip() if code == 0 and " /" in out else None
        check(f"{what}: {args}", path is not None and os.path.isfile(f"{path}/manifest"),
              (code, out, err))
        return path

    def wait(self):
        out, err = self.process.communicate(timeout=self.timeout)
        self.finish(self.process.returncode, out, err)
        return self

    def moving(self):
        """Wait until it is well under way: a checkpoint, or a part of its time."""
        folders = [a.split("=", 1)[1] for a in self.args if a.startswith("checkpoint.dir=")]
        wait_until(lambda: self.process.poll() is not None or
                   any(glob.glob(f"{f}/*/chk-*/manifest") for f in folders), 60 if folders else 2)
        time.sleep(0.3)


def chk():
    return {"checkpoint__interval": "50ms", "checkpoint__dir": e2e.fresh("chk")}


def inspect(path):
    done = subprocess.run([e2e.WEIR, "checkpoint", "inspect", path], capture_output=True, text=True,
                          check=False)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def good(what, path, kind):
    """Whole, of this kind, and everything of it in its own directory."""
    if path is None:
        return
    done = subprocess.run([e2e.WEIR, "checkpoint", "verify", path], capture_output=True, text=True,
                          check=False)
    check(f"{what}: it verifies", done.returncode == 0, done.stderr)
    seen = inspect(path)
    check(f"{what}: it is a {kind}", seen.get("kind") == kind, seen.get("kind"))
    check(f"{what}: self-contained", all(os.path.dirname(f["path"]) == path
                                         for f in seen.get("files", [{"path": ""}])),
          seen.get("files"))
    check(f"{what}: named savepoint-<id>-<random>",
          re.fullmatch(r"savepoint-[1-9]\d*-[0-9a-f]{12}", os.path.basename(path)), path)


def over(what, run, code, state):
    run.wait()
    check(f"{what}: {state}, exit code {code}",
          run.code == code and run.report and run.report["state"] == state, run.story())
    if run.report and os.path.isdir(run.output):
        check(f"{what}: all that came out is committed",
              sum(o["rows_in"] for o in run.report["operators"] if o["id"] == "result") ==
              len(run.lines()), run.report["operators"])


def reference(job, sets):
    run = Run(job, parallelism=2, **{k: v for k, v in sets.items() if "rate" not in k or "event" in k})
    finished(f"{job} undisturbed", run)
    return run.lines()


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
    done = subprocess.run([e2e.WEIR, "checkpoint", "list", sp, "--json"], capture_output=True,
                          text=True, check=False)
    listed = json.loads(done.stdout) if done.returncode == 0 else []
    check("listed", [entry["path"] for entry in listed] == [path], done.stdout)
    victim = sorted(glob.glob(f"{path}/*.dat"))[0]
    with open(victim, "r+b") as file:
        file.seek(5000)
        byte = file.read(1)
        file.seek(5000)
        file.write(bytes([byte[0] ^ 1]))
    done = subprocess.run([e2e.WEIR, "checkpoint", "verify", path], capture_output=True, text=True,
                          check=False)
    check("one bit: verify", done.returncode == 65 and os.path.basename(victim) in done.stderr,
          done.stderr)
    again = Run("nexmark-q5", parallelism=2, restore__from=path, **Q5)
    check("one bit: restore", again.code == 65 and os.path.basename(victim) in again.err,
          again.story())


def main():
    signal.alarm(int(540 * e2e.PATIENCE))
    want = reference("nexmark-q5", Q5)
    suspend(want)
    drain()
    failures(want)
    cancel(want)
    claim()
    damaged()
    back_pressure(reference("nexmark-q0", SLOW))
    e2e.conclude()


main()

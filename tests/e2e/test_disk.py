#!/usr/bin/env python3
"""A disk whose k-th operation fails (B10): counted, borne or not, older checkpoints whole, no strays.

test_disk.py WEIR

strace makes the kernel's answer to one system call of each thread an error; with job.output=null and
io.backend=posix all of these calls are those of checkpoints. Every single request of a job fails in
tests/unit/engine/core/test_master_disk.c; this is the same with the real program. And a disk may be slow.
"""

import glob
import os
import shutil
import signal
import subprocess
import time

import e2e
import live
from e2e import Run, check

JOB = "nexmark-q5"
SETS = {"job__output": "null", "job__events": 40000, "job__event_rate": 2000, "job__rate": 100000,
        "parallelism": 2, "memory__state": "64MiB", "io__backend": "posix",
        "checkpoint__interval": "20ms", "restart__strategy": "none"}
COUNTED = {"IO_EXCEPTION", "CHECKPOINT_ASYNC_EXCEPTION", "FINALIZE_CHECKPOINT_FAILURE"}
# Calls, errors, and which one of each thread. The first three fsyncs of a thread may be the
# supervisor's, of the counters: without them there is no run.
FAULTS = [("pwrite64", "EIO", 5), ("pwrite64", "ENOSPC", 9), ("fsync", "EIO", 5), ("fsync", "EIO", 8),
          ("renameat2", "EIO", 2)]


def rows(run):
    return [(o["id"], o["rows_in"]) for o in run.report["operators"] if o["type"] == "sink"]


def clean(what, folder):
    """Nothing lies there that is no part of a checkpoint."""
    named = set()
    for chk in glob.glob(f"{folder}/*/chk-*"):
        check(f"{what}: {chk} holds a manifest and nothing else", os.listdir(chk) == ["manifest"],
              os.listdir(chk))
        e2e.whole(what, chk)
        named |= {f["path"] for f in e2e.inspect(chk).get("files", [])}
    there = set(glob.glob(f"{folder}/*/data/*"))
    check(f"{what}: no strays", there == named, f"{sorted(there - named)} {sorted(named - there)}")


def one(call, error, k, tolerable, undisturbed):
    what = f"{error} at {call} {k}, {tolerable} tolerable"
    folder = e2e.fresh("chk")
    sets = {**SETS, "checkpoint__dir": folder, "checkpoint__tolerable_failures": tolerable}
    trace = e2e.fresh("trace")
    run = Run(JOB, prefix=("strace", "-f", "-qq", "-o", trace, "-e", f"trace={call}",
                           "-e", f"inject={call}:error={error}:when={k}"), **sets)
    if not check(f"{what}: a report", run.report, run.story()):
        return
    c = run.report["checkpoints"]
    failed = [e for e in c["list"] if e["status"] == "failed"]
    with open(trace, encoding="ascii", errors="replace") as file:
        struck = "INJECTED" in file.read()
    check(f"{what}: counted reasons", {e["reason"] for e in failed} <= COUNTED, failed)
    check(f"{what}: if something went wrong, it is said", not struck or failed or
          "cannot delete" in run.err, run.story())
    if tolerable == 0 and failed:
        check(f"{what}: the first one fails the job", len(failed) == 1, failed)
        check(f"{what}: 74", run.code == 74 and run.report["state"] == "FAILED", run.story())
    else:
        check(f"{what}: the job goes on", run.code == 0 and run.report["attempts"] == 1, run.story())
        check(f"{what}: all rows", rows(run) == undisturbed, rows(run))
    clean(what, folder)
    again = Run(JOB, **sets, restore__from="latest")
    check(f"{what}: the next run ends well", again.code == 0 and rows(again) == undisturbed,
          again.story())
    clean(f"{what}, the next run", folder)


def committed(folder):
    """Lines in files that have their final name."""
    lines = 0
    for path in glob.glob(f"{folder}/part-*"):
        with open(path, "rb") as file:
            lines += file.read().count(b"\n")
    return lines


def cancel_behind_a_checkpoint():
    """R7: what a complete checkpoint covers is there, also when renames take their time."""
    folder, output = e2e.fresh("chk"), e2e.fresh("out")
    slow = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2", "-e",
            "inject=renameat2:delay_enter=200000")
    run = live.Live("nexmark-q0", prefix=slow, **{**SETS, "job__output": output, "job__events": 400000,
                                                  "checkpoint__dir": folder})
    e2e.wait_until(lambda: os.path.exists(f"{folder}/nexmark-q0/chk-2/manifest") or
                   run.process.poll() is not None, 60)
    time.sleep(0.03)
    for supervisor in e2e.children(run.process.pid):
        e2e.kill(supervisor, signal.SIGTERM)
    run.wait()
    check("cancelled: exit code 143", run.code == 143, run.story())
    kept = glob.glob(f"{folder}/nexmark-q0/chk-*")
    if not check("cancelled: one checkpoint is kept", run.report and len(kept) == 1, kept):
        return
    sink = next(o for o in live.inspect(kept[0])["operators"] if o["id"] == "result")
    covered = sum(subtask["rows_in"] for subtask in sink["subtasks"])
    check("cancelled: all of its output is there, nothing else, and that is counted",
          run.operator("result")["rows_in"] == committed(output) == covered > 0,
          (covered, os.listdir(output), run.story()))


def main():
    tried = shutil.which("strace") and subprocess.run(
        ["strace", "-f", "-qq", "-o", "/dev/null", "true"], check=False).returncode == 0
    if not tried:
        e2e.skip("no strace, or no right to trace: a failing disk is not tried")
        e2e.conclude()
    run = Run(JOB, **SETS, checkpoint__dir=e2e.fresh("chk"))
    e2e.finished("undisturbed", run)
    undisturbed = rows(run)
    for number, (call, error, k) in enumerate(FAULTS):
        one(call, error, k, (0, 3)[number % 2], undisturbed)
        one(call, error, k + 1, (3, 0)[number % 2], undisturbed)
    cancel_behind_a_checkpoint()
    e2e.conclude()


main()

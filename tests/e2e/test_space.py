#!/usr/bin/env python3
"""No space: 74, with words, nothing lost. Needs root for a small tmpfs.

test_space.py WEIR
"""

import contextlib
import os
import subprocess

import e2e
import kill_loop
from e2e import Run, check, same_lines


# Seconds of work are left when the disk is full.
SLOWLY = 15000


@contextlib.contextmanager
def tmpfs(size):
    folder = e2e.new_folder("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


def fill(folder):
    """Take all that is free."""
    with open(f"{folder}/ballast", "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(65536))
        with contextlib.suppress(OSError):
            while True:
                file.write(b"\0")


def failed(what, run):
    check(f"{what}: 74", run.code == 74, run.story())
    check(f"{what}: says why", "No space left on device" in run.err, run.story())
    check(f"{what}: report FAILED, 74", run.report and run.report["state"] == "FAILED" and
          run.report["exit_code"] == 74, run.story())


def too_small(kind):
    """Not even the first checkpoint, or the output, fits."""
    restart = {"restart__attempts": 2}
    with tmpfs("48k") as folder:
        run = Run(kind.name, checkpoint__interval="20ms", checkpoint__dir=f"{folder}/chk",
                  memory__state="64MiB", **kind.sets, **restart)
        failed("checkpoints do not fit", run)
        check("checkpoints do not fit: no output", run.lines() == [], run.lines()[:3])
    with tmpfs("48k") as folder:
        for sets in ({}, {"checkpoint__interval": "20ms", "checkpoint__dir": e2e.fresh("chk")}):
            run = Run("nexmark-q0", output=f"{folder}/out{len(sets)}", parallelism=2,
                      job__events=100000, memory__state="64MiB", **sets, **restart)
            what = f"output does not fit, {sorted(sets)}"
            failed(what, run)
            if not sets:
                kept = [n for n in os.listdir(run.output) if not n.startswith(".")]
                check(f"{what}: nothing is committed", kept == [], kept)


def full_later(kind, what, place):
    """The disk fills up in the middle; when there is room again, the job goes on where it was."""
    with tmpfs("64m") as folder:
        mine = e2e.new_folder()
        more = {place: f"{folder}/it", "restart__attempts": 2}
        run = kill_loop.Started(kind, mine, **more, job__rate=SLOWLY)
        chk = f"{folder}/it" if place == "checkpoint__dir" else f"{mine}/chk"
        e2e.wait_until(lambda: e2e.newest(chk), 10)
        fill(folder)
        failed(what, run.ended(mine))
        os.unlink(f"{folder}/ballast")
        run = kill_loop.Started(kind, mine, restore__from="latest", **more)
        report = run.end(what, mine)
        check(f"{what}: went on from a checkpoint", report and report["restored"]["checkpoint"],
              kill_loop.tail(mine))
        out = f"{folder}/it" if place == "job__output" else f"{mine}/out"
        same_lines(what, e2e.lines_of(out), kind.lines, kill_loop.tail(mine))


def borne(kind):
    """checkpoint.tolerable-failures: a full disk costs checkpoints, not the job."""
    with tmpfs("64m") as folder:
        mine = e2e.new_folder()
        run = kill_loop.Started(kind, mine, checkpoint__dir=f"{folder}/it", job__rate=SLOWLY,
                                checkpoint__tolerable_failures=1000000)
        e2e.wait_until(lambda: e2e.newest(f"{folder}/it"), 10)
        fill(folder)
        e2e.wait_until(lambda: "failed: " in kill_loop.tail(mine) or run.over(), 10)
        check("failures are borne: the job goes on", not run.over(), kill_loop.tail(mine))
        os.unlink(f"{folder}/ballast")
        report = run.end("failures are borne", mine)
        if report:
            check("failures are borne: one attempt", report["attempts"] == 1, report["attempts"])
            check("failures are borne: some failed", report["checkpoints"]["failed"] > 0,
                  report["checkpoints"])
        same_lines("failures are borne", e2e.lines_of(f"{mine}/out"), kind.lines,
                   kill_loop.tail(mine))


def main():
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        e2e.skip("no right to mount: a full disk is not tried")
        e2e.conclude()
    kind = kill_loop.KINDS["nexmark-q5"]()
    too_small(kind)
    full_later(kind, "checkpoints' disk full", "checkpoint__dir")
    full_later(kill_loop.KINDS["wordcount"](), "output's disk full", "job__output")
    borne(kind)
    e2e.conclude()


main()

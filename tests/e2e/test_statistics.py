#!/usr/bin/env python3
"""What the report says of checkpoints (B11, K16).

test_statistics.py WEIR

  phases     those of the subtask that acknowledged last, with preparation and finalisation, sum to
             the whole within 5 %, over at least 50 checkpoints
  a crash    the list goes on over kill -9 of the worker; what was pending is aborted, or complete
             with its manifest; every checkpoint is counted once
  a restart  a new run that restores the latest one goes on with higher ids
"""

import glob
import os
import signal

import e2e
import kill_loop
from e2e import check

PHASES = ("prepare_ms", "start_delay_ms", "alignment_ms", "sync_ms", "async_ms", "finalize_ms")
FIELDS = {"id", "kind", "status", "reason", "trigger_ms", "duration_ms", "bytes", "full_bytes",
          "mode", "frames_in_flight", "persisted_bytes", *PHASES}


def completed(report):
    return [e for e in report["checkpoints"]["list"] if e["status"] == "completed"]


def check_list(what, report):
    c = report["checkpoints"]
    ids = [e["id"] for e in c["list"]]
    check(f"{what}: ids ascend", ids == sorted(set(ids)), ids)
    for status in ("completed", "failed", "aborted"):
        n = sum(e["status"] == status for e in c["list"])
        check(f"{what}: {status} counted", c[status] == n, f"{c[status]} counted, {n} listed")
    check(f"{what}: every one has ended", c["triggered"] == len(ids) == c["completed"] + c["failed"] +
          c["aborted"], c["triggered"])
    for e in c["list"]:
        check(f"{what}: {e['id']} has all fields", FIELDS <= set(e), sorted(FIELDS - set(e)))
        check(f"{what}: {e['id']} says why", (e["status"] == "completed") != bool(e["reason"]), e)


def check_phases(what, report):
    for e in completed(report):
        whole = sum(e[p] for p in PHASES)
        check(f"{what}: phases of {e['id']} sum to the whole",
              abs(whole - e["duration_ms"]) <= 0.05 * e["duration_ms"], e)
        check(f"{what}: no phase of {e['id']} is negative", min(e[p] for p in PHASES) >= 0, e)
        check(f"{what}: {e['id']} is unaligned if and only if it has frames in flight",
              (e["mode"] == "unaligned") == (e["frames_in_flight"] > 0), e)


def newest(folder):
    return max((int(path.split("chk-")[-1].split("/")[0])
                for path in glob.glob(f"{folder}/chk/*/chk-*/manifest")), default=0)


def go_on(folder):
    """Until a few more checkpoints are there."""
    before = newest(folder)
    e2e.wait_until(lambda: newest(folder) > before + 2, 20)


def stop(run, folder):
    """Cancelled, as it stands: its report."""
    e2e.kill(run.process.pid, signal.SIGTERM)
    run.process.wait(60 * e2e.PATIENCE)
    done = kill_loop.Run.__new__(kill_loop.Run)
    done.args, done.report_path = run.args, run.report
    done.finish(run.process.returncode, b"", kill_loop.tail(folder).encode())
    return done


class Endless:
    """A job that goes on until it is stopped."""

    def __init__(self, name, **sets):
        self.name = name
        self.sets = {"parallelism": 2, "job__event_rate": 2000, "job__rate": 90000, **sets}


def phases(kind):
    what = f"{kind.name} phases"
    folder = e2e.fresh("round")
    os.mkdir(folder)
    run = kill_loop.Started(kind, folder)
    e2e.wait_until(lambda: newest(folder) > 55 or run.over(), 60)
    done = stop(run, folder)
    if not check(f"{what}: cancelled", done.report and done.code == 143, done.story()):
        return
    check_list(what, done.report)
    check_phases(what, done.report)
    check(f"{what}: at least 50 checkpoints", len(completed(done.report)) >= 50,
          len(completed(done.report)))


def restart(kind):
    folder = e2e.fresh("round")
    os.mkdir(folder)
    run = kill_loop.Started(kind, folder)
    for _ in range(3):
        go_on(folder)
        worker = run.worker()
        if worker and not run.over():
            e2e.kill(worker)
    go_on(folder)
    first = stop(run, folder)
    if not check("crashes: a report", first.report, first.story()):
        return
    attempts = first.report["attempts"]
    check("crashes: several attempts", attempts > 1, first.story())
    check_list("crashes", first.report)
    check_phases("crashes", first.report)
    restored = [r["checkpoint"] for r in first.report["restores"] if r["checkpoint"]]
    listed = {e["id"] for e in completed(first.report)}
    check("crashes: what was restored is in the list", set(restored) <= listed,
          f"{restored} {sorted(listed)}")
    check("crashes: the list goes on behind a restore", restored and max(listed) > min(restored),
          f"{restored} {sorted(listed)}")
    last = max(e["id"] for e in first.report["checkpoints"]["list"])
    report = kill_loop.Started(kind, folder, restore__from="latest").end("restart", folder)
    if report:
        check_list("restart", report)
        check_phases("restart", report)
        check("restart: ids go on", min(e["id"] for e in report["checkpoints"]["list"]) > last, last)
        check("restart: from the newest", report["restored"]["checkpoint"] == max(listed),
              report["restored"])


def main():
    phases(Endless("nexmark-q5"))
    phases(Endless("nexmark-q0", job__rebalance="true"))
    restart(kill_loop.KINDS["wordcount"]())
    e2e.conclude()


main()

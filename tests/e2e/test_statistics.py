#!/usr/bin/env python3
"""What the report says of checkpoints (B11, K16).

test_statistics.py WEIR

  phases     those of the subtask that acknowledged last, with preparation and finalisation, sum to
             the whole within 5 %, over at least 50 checkpoints
  a crash    the list goes on over kill -9 of the worker; what was pending is aborted, or complete
             with its manifest; every checkpoint is counted once
  history    the newest ten, with every subtask's phases, outlive worker and supervisor; a torn line
             costs that line
  a restart  a new run that restores the latest one goes on with higher ids
"""

import json
import signal

import e2e
import kill_loop
from e2e import PHASES, check
from kill_loop import newest

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
        e2e.phases_sum(what, e)
        check(f"{what}: {e['id']} is unaligned if and only if it has frames in flight",
              (e["mode"] == "unaligned") == (e["frames_in_flight"] > 0), e)


def go_on(folder):
    """Until a few more checkpoints are there."""
    before = newest(folder)
    e2e.wait_until(lambda: newest(folder) > before + 2, 20)


def stop(run, folder):
    """Cancelled, as it stands: its report."""
    e2e.kill(run.process.pid, signal.SIGTERM)
    return run.ended(folder)


class Endless:
    """A job that goes on until it is stopped."""

    def __init__(self, name, **sets):
        self.name = name
        self.sets = {"parallelism": 2, "job__event_rate": 2000, "job__rate": 90000, **sets}


def phases(kind):
    what = f"{kind.name} phases"
    folder = e2e.new_folder()
    run = kill_loop.Started(kind, folder)
    e2e.wait_until(lambda: newest(folder) > 55 or run.over(), 60)
    done = stop(run, folder)
    if not check(f"{what}: cancelled", done.report and done.code == 143, done.story()):
        return
    check_list(what, done.report)
    check_phases(what, done.report)
    check(f"{what}: at least 50 checkpoints", len(completed(done.report)) >= 50,
          len(completed(done.report)))


PARTS = ("start_delay_ms", "alignment_ms", "sync_ms", "async_ms", "processed_bytes",
         "persisted_bytes", "bytes", "full_bytes", "unaligned")


def history_of(folder):
    done = e2e.weir("checkpoint", "history", f"{folder}/chk", "--json")
    check("history: exit code 0", done.returncode == 0, done.stderr)
    return json.loads(done.stdout or "[]")


def check_tasks(what, e, tasks):
    """K16 of one entry: per task and subtask."""
    check(f"{what}: its tasks", [(t["id"], t["parallelism"], len(t["subtasks"])) for t in e["tasks"]] ==
          tasks, e["tasks"])
    subtasks = [s for t in e["tasks"] for s in t["subtasks"]]
    for s in e["tasks"] + subtasks:
        check(f"{what}: all fields", set(PARTS) <= set(s), s)
        check(f"{what}: unaligned if and only if something was persisted",
              s["unaligned"] == (s["persisted_bytes"] > 0), s)
    check(f"{what}: the subtask that acknowledged last is there",
          any(all(s[p] == e[p] for p in PHASES[1:5]) for s in subtasks), e)
    for t in e["tasks"]:
        check(f"{what}: a task is its subtasks", all(
            t[p] == (max if p.endswith("_ms") or p == "unaligned" else sum)(
                s[p] for s in t["subtasks"]) for p in PARTS), t)
    check(f"{what}: persisted bytes sum up",
          e["persisted_bytes"] == sum(s["persisted_bytes"] for s in subtasks), e)
    check(f"{what}: bytes sum up, but for the files' headers",
          0 <= e["bytes"] - sum(s["bytes"] for s in subtasks) <= 2 * 4096, e)


def history():
    what = "history"
    kind = Endless("nexmark-q0", job__rebalance="true", checkpoint__unaligned="true",
                   job__sink_rate=60000)
    folder = e2e.new_folder()
    run = kill_loop.Started(kind, folder)
    e2e.wait_until(lambda: newest(folder) > 14 or run.over(), 60)
    first = stop(run, folder)
    if not check(f"{what}: cancelled", first.report and first.code == 143, first.story()):
        return
    seen, listed = history_of(folder), first.report["checkpoints"]["list"][-10:]
    check(f"{what}: the newest ten", [e["id"] for e in seen] == [e["id"] for e in listed], seen)
    check(f"{what}: as in the report", all(e[f] == r[f] for e, r in zip(seen, listed)
                                           for f in FIELDS if f in e), (seen, listed))
    for e in seen:
        if e["status"] == "completed":
            check_tasks(f"{what}: {e['id']}", e, [("bids", 2, 2), ("result", 2, 2)])
    # Worker and supervisor are killed; the last lines are torn; the next run notes little.
    run = kill_loop.Started(kind, folder, restore__from="latest")
    go_on(folder)
    worker = run.worker()
    e2e.kill(run.process.pid)
    if worker:
        e2e.kill(worker)
    run.process.wait()
    e2e.wait_until(lambda: worker is None or not e2e.alive(worker), 10)
    before, last = history_of(folder), newest(folder)
    with open(f"{folder}/chk/nexmark-q0/history", "ab") as file:
        file.write(b'{"id":999999,"kind":"per')
    report = kill_loop.Started(kind, folder, restore__from="latest", job__events=1000,
                               checkpoint__interval="1h").end(what, folder)
    after = history_of(folder)
    check(f"{what}: it goes on in the next run", report and len(after) == 10 and
          [e["id"] for e in after][:-2] == [e["id"] for e in before if e["id"] < last][-8:] and
          after[-2]["id"] == last and after[-2]["status"] == "completed" and
          after[-1]["kind"] == "final" and after[-1]["run_id"] != after[0]["run_id"],
          ([(e["id"], e["status"]) for e in before], last, [(e["id"], e["status"]) for e in after]))


def restart(kind):
    folder = e2e.new_folder()
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
    for timeout in ("0", "20ms"):
        phases(Endless("nexmark-q0", job__rebalance="true", checkpoint__unaligned="true",
                       checkpoint__aligned_timeout=timeout, job__sink_rate=60000))
    history()
    restart(kill_loop.KINDS["wordcount"]())
    e2e.conclude()


main()

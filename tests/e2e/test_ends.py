#!/usr/bin/env python3
"""How runs end and what they report: pipes, signals, standard output, report fields.

test_ends.py WEIR
"""

import glob
import json
import os
import re
import signal
import subprocess
import time

import e2e
import kill_loop
from e2e import Run, check, finished, same_lines
from live import Live

STATES = {"FINISHED", "CANCELED", "FAILED", "SUSPENDED"}
FIELDS = ("weir job name state exit_code wall_s attempts restored restores checkpoints operators "
          "tasks edges cores sources latency_us environment config warnings").split()
NESTED = {
    "restored": "checkpoint path frames_in_flight bytes",
    "checkpoints": "triggered completed failed aborted list",
    "operators": "id type parallelism rows_in rows_out dropped truncated state_bytes",
    "tasks": "id operators subtask cpu node",
    "edges": "from to partitioner combiner transport alignment",
    "cores": "cpu thread busy_s idle_s back_pressured_s snapshot_s housekeeping_s "
             "longest_turn_us rows allocations",
    "sources": "id splits rows bytes warnings",
    "environment": "kernel cpu governor hugepages io_backend o_direct dpdk allocator git",
}
CHECKPOINT = ("id kind status reason trigger_ms duration_ms bytes full_bytes mode frames_in_flight "
              "persisted_bytes prepare_ms start_delay_ms alignment_ms sync_ms async_ms finalize_ms").split()


def shape(what, report):
    check(f"{what}: the report's fields", list(report) == FIELDS, list(report))
    check(f"{what}: state", report["state"] in STATES, report["state"])
    for name, fields in NESTED.items():
        some = report[name] if isinstance(report[name], list) else [report[name]]
        for entry in some:
            check(f"{what}: fields of {name}", sorted(entry) == sorted(fields.split()), entry)
    for entry in report["checkpoints"]["list"]:
        check(f"{what}: fields of a checkpoint", sorted(entry) == sorted(CHECKPOINT), entry)


def conserved(what, report):
    """Rows into an operator are the rows that came out of the one before; sources account for all."""
    for source in report["sources"]:
        operator = next(o for o in report["operators"] if o["id"] == source["id"])
        total = operator["rows_out"] + sum(operator["dropped"].values())
        check(f"{what}: source rows = rows out + dropped", source["rows"] == total, operator)
    by_id = {o["id"]: o for o in report["operators"]}
    for edge in report["edges"]:
        up, down = by_id.get(edge["from"]), by_id.get(edge["to"])
        combined = f"{edge['to']}-combine" in by_id and edge["from"] != f"{edge['to']}-combine"
        if up and down and not combined and down["type"] != "union":
            check(f"{what}: {up['id']} -> {down['id']} loses nothing",
                  up["rows_out"] == down["rows_in"], (up, down))


def phases(what, report):
    done = [c for c in report["checkpoints"]["list"] if c["status"] == "completed"]
    check(f"{what}: there are checkpoints", done, report["checkpoints"])
    for c in done:
        e2e.phases_sum(what, c)
    ids = [c["id"] for c in report["checkpoints"]["list"]]
    check(f"{what}: ids only grow", ids == sorted(set(ids)), ids)


def reports():
    for job, sets in (("nexmark-q5", {"job__events": 60000, "job__event_rate": 3000}),
                      ("nexmark-q1", {"job__events": 100000, "job__rebalance": "true"}),
                      ("nexmark-q7", {"job__events": 100000, "job__event_rate": 3000,
                                      "exchange__combiner": "off"})):
        run = Run(job, parallelism=2, job__rate=60000, job__latency="true", memory__state="64MiB",
                  checkpoint__interval="50ms", checkpoint__dir=e2e.fresh("chk"), **sets)
        if not finished(job, run):
            continue
        shape(job, run.report)
        conserved(job, run.report)
        phases(job, run.report)
        check(f"{job}: the sink's rows are its lines",
              run.operator("result")["rows_in"] == len(run.lines()),
              f"{run.operator('result')} {len(run.lines())} lines")
        for core in run.report["cores"]:
            total = sum(v for k, v in core.items() if k.endswith("_s"))
            check(f"{job}: the regimes of a core sum to the run", 0.5 <= total / run.report["wall_s"]
                  <= 2, (core, run.report["wall_s"]))
        latency = run.report["latency_us"]["result"]
        check(f"{job}: latencies are counted", latency["count"] > 0 and
              latency["p50"] <= latency["p99"] <= latency["max"], latency)


# ---- standard output ----

def to_stdout():
    nexmark = e2e.reference("nexmark")
    want = sorted(nexmark.run("q2", 1, 20000, 10000000).encode().splitlines(keepends=True))
    run = Run("nexmark-q2", output="-", parallelism=2, job__events=20000)
    if finished("to standard output", run):
        same_lines("to standard output", sorted(run.out.splitlines(keepends=True)), want)
    check("no folder named -", not os.path.exists(f"{e2e.scratch}/-"))
    run = Run("nexmark-q0", output="null", parallelism=2, job__events=20000)
    if finished("to null", run):
        check("to null: rows are counted", run.operator("result")["rows_in"] == 18400, run.report)
    run = Run("nexmark-q2", output="-", job__events=20000, checkpoint__interval="20ms",
              checkpoint__dir=e2e.fresh("chk"))
    check("standard output is warned to be at-least-once",
          run.code == 0 and "standard output" in run.err, run.story())
    same_lines("to standard output, with checkpoints", sorted(run.out.splitlines(keepends=True)),
               want)


def reader_goes():
    """job.output=- | head: no crash, no endless run."""
    report = e2e.fresh("report")
    args = e2e.arguments("nexmark-q0", {"job__output": "-", "parallelism": 2}, report)
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        first = process.stdout.readline()
        process.stdout.close()
        try:
            process.wait(20 * e2e.PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
        err = process.stderr.read().decode()
    check("the reader went: rows came before", first.count(b",") == 3, first)
    check("the reader went: 74 and the reason", process.returncode == 74 and "roken pipe" in err,
          f"{process.returncode}\n{err}")
    with open(report, encoding="utf-8") as file:
        check("the reader went: FAILED", json.load(file)["state"] == "FAILED")


def slow_reader():
    """A pipe that is read slowly blocks no cancel and loses no row."""
    args = e2e.arguments("nexmark-q0", {"job__output": "-", "parallelism": 2,
                                        "job__events": 100000}, e2e.fresh("report"))
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        time.sleep(0.7)
        lines = process.stdout.read().count(b"\n")
        process.wait(20 * e2e.PATIENCE)
    check("a slow reader gets every row", (process.returncode, lines) == (0, 92000),
          (process.returncode, lines))


# ---- signals ----

def running(folder):
    """An endless run that is RUNNING, and for many seconds not where running_from ends."""
    kind = type("Endless", (), {"name": "nexmark-q5", "sets": {
        "parallelism": 2, "job__rate": 5000, "job__event_rate": 2000}})
    run = kill_loop.Started(kind, folder)
    # The first is surely completed when a later one is there.
    ready = e2e.wait_until(lambda: kill_loop.newest(folder) > 1, 20)
    check("an endless run has a checkpoint", ready, kill_loop.tail(folder))
    return run


def cancelled(number, code):
    folder = e2e.new_folder()
    run = running(folder)
    worker = run.worker()
    run.process.send_signal(number)
    what = f"{signal.Signals(number).name}"
    check(f"{what}: at once", e2e.wait_until(run.over, 3), kill_loop.tail(folder))
    run.process.wait(20 * e2e.PATIENCE)
    check(f"{what}: exit code {code}", run.process.returncode == code, kill_loop.tail(folder))
    check(f"{what}: no worker left", not e2e.alive(worker))
    with open(run.report, encoding="utf-8") as file:
        report = json.load(file)
    shape(what, report)
    check(f"{what}: CANCELED", (report["state"], report["exit_code"]) == ("CANCELED", code),
          report["state"])
    check(f"{what}: no words of a crash", "assert" not in kill_loop.tail(folder),
          kill_loop.tail(folder))
    kept = [n for n in os.listdir(f"{folder}/chk/nexmark-q5") if n.startswith("chk-")]
    check(f"{what}: the checkpoint stays", len(kept) == 1, kept)
    again = running_from(folder)
    check(f"{what}: a later run restores it", again, kill_loop.tail(folder))


def running_from(folder):
    kind = type("Bounded", (), {"name": "nexmark-q5", "sets": {
        "parallelism": 2, "job__events": 120000, "job__event_rate": 2000}})
    run = kill_loop.Started(kind, folder, restore__from="latest")
    report = run.end("restored after cancel", folder)
    nexmark = e2e.reference("nexmark")
    want = sorted(nexmark.run("q5", 1, 120000, 2000).encode().splitlines(keepends=True))
    check("restored after cancel: one attempt", report and report["attempts"] == 1, report)
    same_lines("restored after cancel", e2e.lines_of(f"{folder}/out"), want,
               kill_loop.tail(folder))
    return report and report["restored"]["checkpoint"]


def second_run():
    """One run at a time per checkpoint folder."""
    folder = e2e.new_folder()
    run = running(folder)
    second = Run("nexmark-q5", job__events=10, checkpoint__interval="20ms",
                 checkpoint__dir=f"{folder}/chk")
    check("a second run: 69, names the first", second.code == 69 and
          str(run.process.pid) in second.err, second.story())
    run.process.send_signal(signal.SIGTERM)
    run.process.wait(20 * e2e.PATIENCE)
    check("the first goes on until it is told", run.process.returncode == 143)


def used_output():
    """Another run's committed files are refused, also the same job's."""
    first = Run("nexmark-q2", job__events=20000)
    finished("first into the folder", first)
    before = first.lines()
    for job in ("nexmark-q2", "nexmark-q0"):
        second = Run(job, output=first.output, job__events=20000)
        check(f"{job} into a used folder: 78", second.code == 78, second.story())
        check("the first run's lines are untouched", first.lines() == before)


def commit_fails():
    """T35: what was committed without a checkpoint is not written again, nor silently half there."""
    # Seconds are left to be in the way.
    run = Live("nexmark-q1", parallelism=2, job__events=60000, job__rate=10000, job__rebalance="true",
               memory__state="64MiB", restart__strategy="fixed-delay", restart__delay="1ms")
    e2e.wait_until(lambda: len(glob.glob(f"{run.output}/.part-*")) == 2, 60)
    e2e.write(f"{run.output}/part-result-1-0", b"in the way")
    run.wait()
    check("a commit fails half-way: 78, after one restart", run.code == 78 and
          run.report["attempts"] == 2, run.story())
    check("it says what is there", re.search(r"an earlier attempt of this run committed \(part-result-"
                                             r"[01]-0\), and no checkpoint says what is missing",
                                             run.err), run.story())
    with open(f"{run.output}/part-result-1-0", "rb") as file:
        check("what was in the way is untouched", file.read() == b"in the way")


def restore_after_finish():
    """R11: after FINISHED the final checkpoint is restored, committed again, and that is the end."""
    folder = e2e.new_folder()
    kind = kill_loop.Kind("nexmark-q5", job__events=30000, job__event_rate=2000)
    kill_loop.Started(kind, folder).end("finishes", folder)
    same_lines("finishes", e2e.lines_of(f"{folder}/out"), kind.lines)
    report = kill_loop.Started(kind, folder, restore__from="latest").end("once more", folder)
    same_lines("once more", e2e.lines_of(f"{folder}/out"), kind.lines, kill_loop.tail(folder))
    check("once more: restored", report and report["restored"]["checkpoint"], report)
    check("once more: the rows are the history's", report and
          report["sources"][0]["rows"] == 30000, report and report["sources"])


def main():
    to_stdout()
    reader_goes()
    slow_reader()
    cancelled(signal.SIGINT, 130)
    cancelled(signal.SIGTERM, 143)
    second_run()
    used_output()
    commit_fails()
    restore_after_finish()
    reports()
    e2e.conclude()


main()

#!/usr/bin/env python3
"""Steady state: core threads make no system call and allocate nothing (q1 and q5, output null,
checkpoints off, a CPU for each core thread).

test_steady.py WEIR

strace looks at one core thread at a time while the job runs; allocations are what the report says
of each core. That strace would see something is shown where cores share a CPU and, having little
to do, yield.
"""

import os
import re
import shutil
import signal
import subprocess
import time

import e2e
from e2e import check, conclude, skip

SECONDS = 0.7  # of tracing, per core thread


def core_threads(supervisor):
    """{name: thread id} of the worker's core threads."""
    found = {}
    for worker in e2e.children(supervisor):
        for tid in os.listdir(f"/proc/{worker}/task"):
            with open(f"/proc/{worker}/task/{tid}/comm", encoding="ascii") as file:
                name = file.read().strip()
            if name.startswith("weir-c") and name[6:7].isdigit():
                found[f"{name}/{tid}"] = int(tid)
    return found


def traced(tid):
    """(system calls by name, what strace said) of one thread within SECONDS; None: not attached."""
    strace = subprocess.Popen(["strace", "-c", "-p", str(tid)], stderr=subprocess.PIPE, text=True)
    first = strace.stderr.readline()
    time.sleep(SECONDS)
    strace.send_signal(signal.SIGINT)
    text = first + strace.communicate()[1]
    if "attached" not in first:
        return None, text
    calls = {}
    for line in text.splitlines():
        row = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", line)
        if row and row.group(2) != "total":
            calls[row.group(2)] = int(row.group(1))
    return calls, text


def run(job, **sets):
    """Trace every core thread of an endless job, then cancel it; calls by thread and the report."""
    report = e2e.fresh("report")
    sets = {"job__output": "null", "checkpoint__interval": 0, **sets}
    weir = subprocess.Popen(e2e.arguments(job, sets, report), cwd=e2e.scratch,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)
    seen = {}
    if e2e.wait_until(lambda: core_threads(weir.pid), 20):
        time.sleep(0.5)  # the first rows, the first windows: what is set up, is
        for name, tid in core_threads(weir.pid).items():
            seen[name] = traced(tid)
    weir.send_signal(signal.SIGINT)
    err = weir.communicate(timeout=60 * e2e.PATIENCE)[1]
    return seen, e2e.read_json(report), err


def quiet(job, parallelism, cpus):
    what = f"{job} at parallelism {parallelism}"
    seen, report, err = run(job, parallelism=parallelism, cores=f"{cpus[0]},{cpus[1]}")
    if not check(f"{what}: core threads were found", len(seen) == 2, f"{seen}\n{err}"):
        return
    for name, (calls, text) in seen.items():
        check(f"{what}: no system call on {name}", calls == {}, text)
    if not check(f"{what}: a report", report is not None, err):
        return
    rows = sum(core["rows"] for core in report["cores"])
    check(f"{what}: rows were read", rows > 100000, report["cores"])
    for core in report["cores"]:
        check(f"{what}: no allocation on {core['thread']}", core["allocations"] == 0, core)


def main():
    cpus = sorted(os.sched_getaffinity(0))
    if shutil.which("strace") is None:
        skip("steady state: no strace")
    elif len(cpus) < 2:
        skip("steady state: needs two CPUs")
    else:
        seen, _, err = run("nexmark-q1", cores=f"{cpus[0]},{cpus[0]}", job__rate=1000)
        if any(calls is None for calls, _ in seen.values()):
            skip(f"steady state: strace may not attach here: {seen}")
            conclude()
        check("strace sees the yields of cores that share a CPU",
              any("sched_yield" in calls for calls, _ in seen.values()), f"{seen}\n{err}")
        for job in ("nexmark-q1", "nexmark-q5"):
            for parallelism in (1, 2):
                quiet(job, parallelism, cpus)
    conclude()


main()

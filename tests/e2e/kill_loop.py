#!/usr/bin/env python3
"""Kill -9 at random moments and compare the output with that of an undisturbed run.

kill_loop.py WEIR [--rounds N] [--seed N] [--victim worker|both|supervisor] [--job NAME]...

A round starts a run with checkpoints every 20 ms and kills, once or more,
  worker       the worker; its supervisor starts the next attempt by itself;
  both         supervisor and worker together; a new run with restore.from=latest goes on;
  supervisor   the supervisor alone; the worker must go by itself.
In the end the output, sorted, equals the undisturbed run's, only committed files are there and no
process is left. How many rounds restored a checkpoint is printed and checked; of those that take
unaligned checkpoints under back pressure, also how many restores had frames in flight.
"""

import argparse
import os
import random
import subprocess
import sys
import time

import e2e
from e2e import Run, check, same_lines

TEXT_LINES = 60000
PACKETS = 60000


def text(folder):
    rng = random.Random(1)
    for number in range(3):
        lines = (" ".join(f"w{rng.randrange(5000)}" for _ in range(4))
                 for _ in range(TEXT_LINES // 3))
        e2e.write(f"{folder}/{number}.txt", ("\n".join(lines) + "\n").encode())


def captures(folder):
    import struct

    rng = random.Random(2)
    for number in range(3):
        data = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101)]
        for i in range(PACKETS // 3):
            packet = struct.pack(">BBHHHBBH4s4sHHI", 0x45, 0, 28, 1, 0, 64, 17, 0, b"\x0a\0\0\1",
                                 bytes((10, 0, 1, rng.randrange(50))), 1000, rng.randrange(4), 0)
            data.append(struct.pack("<IIII", 1000 + 60 * number + i // 400, i % 400 * 2000,
                                    len(packet), rng.randrange(28, 1500)) + packet)
        e2e.write(f"{folder}/{number}.pcap", b"".join(data))


class Kind:
    """A job, its input, its undisturbed result."""

    def __init__(self, name, make=None, **sets):
        self.name, self.sets = name, {"parallelism": 2, **sets}
        if make:
            self.sets["job__input"] = e2e.fresh(name)
            make(self.sets["job__input"])
        quiet = {k: v for k, v in self.sets.items()
                 if k not in ("job__rate", "job__sink_rate") and not k.startswith("checkpoint")}
        run = Run(name, **quiet)
        e2e.finished(f"{name} undisturbed", run)
        self.lines = run.lines()
        check(f"{name} undisturbed: has lines", self.lines, run.story())


KINDS = {
    "wordcount": lambda: Kind("wordcount", text, job__rate=40000),
    "flowstats": lambda: Kind("flowstats", captures, job__rate=40000),
    "nexmark-q5": lambda: Kind("nexmark-q5", job__events=100000, job__event_rate=2000,
                               job__rate=60000),
    # Windows of many keys, which fire over many turns, with checkpoints between them (T26).
    "firing": lambda: Kind("nexmark-q5", job__events=4000000, job__event_rate=1000000,
                           job__window="1s", job__rate=1500000,
                           checkpoint__unaligned="true", checkpoint__interval="5ms"),
    "unaligned": lambda: Kind("nexmark-q0", job__events=200000, job__rebalance="true",
                              job__sink_rate=60000, checkpoint__unaligned="true",
                              checkpoint__interval="10ms"),
}
in_flight = [0, 0]  # restores of unaligned checkpoints: all, with frames in flight


class Started:
    """A run that goes on while we look."""

    def __init__(self, kind, folder, **more):
        self.report = e2e.fresh("report")
        sets = {"job__output": f"{folder}/out", "checkpoint__dir": f"{folder}/chk",
                "checkpoint__interval": "20ms", "memory__state": "64MiB", **kind.sets, **more}
        self.log = open(f"{folder}/log", "ab")
        self.args = e2e.arguments(kind.name, sets, self.report)
        self.process = subprocess.Popen(self.args, stdout=self.log, stderr=self.log,
                                        stdin=subprocess.DEVNULL, cwd=folder)

    def worker(self):
        found = e2e.children(self.process.pid)
        return found[0] if found else None

    def over(self):
        return self.process.poll() is not None

    def ended(self, folder):
        """As a run that is over."""
        self.process.wait(60 * e2e.PATIENCE)
        done = Run.__new__(Run)
        done.args, done.report_path, done.output = self.args, self.report, f"{folder}/out"
        done.finish(self.process.returncode, b"", tail(folder).encode())
        return done

    def end(self, what, folder):
        """Wait for its end; the report."""
        try:
            self.process.wait(120 * e2e.PATIENCE)
        except subprocess.TimeoutExpired:
            worker = self.worker()
            subprocess.run(["gdb", "-p", str(worker), "-batch", "-ex", "thread apply all bt 12"],
                           stdout=self.log, stderr=self.log, check=False)
            self.process.kill()
            if worker:
                e2e.kill(worker)
            check(f"{what}: ends", False, tail(folder))
            return None
        done = self.ended(folder)
        check(f"{what}: exit code 0", done.code == 0, done.story())
        check(f"{what}: no words of a crash", "assertion" not in done.err and
              "Sanitizer" not in done.err, done.story())
        return done.report


def tail(folder):
    with open(f"{folder}/log", encoding="utf-8", errors="replace") as file:
        return file.read()[-6000:]


def newest(folder):
    """Number of the newest complete checkpoint of a round; 0: none."""
    return e2e.newest(f"{folder}/chk")


def take_time(rng, kind, folder, least, most):
    """Until the kill. Frames in flight are for whoever has a checkpoint to restore."""
    if "checkpoint__unaligned" in kind.sets:
        e2e.wait_until(lambda: newest(folder), 5)
        most /= 2
    time.sleep(rng.uniform(least, most) * e2e.PATIENCE)


def note_restores(kind, restores):
    """Count them; how many there were."""
    restores = [r for r in restores if (r["checkpoint"] or 0) > 0]
    if "checkpoint__unaligned" in kind.sets:
        in_flight[0] += len(restores)
        in_flight[1] += sum(r["frames_in_flight"] > 0 for r in restores)
    return len(restores)


def kill_worker(rng, kind, folder, what):
    """1 to 3 kills of the worker in one run."""
    run = Started(kind, folder)
    kills = 0
    for _ in range(rng.randrange(1, 4)):
        take_time(rng, kind, folder, 0.02, 1.5)
        worker = run.worker()
        if not run.over() and worker and e2e.kill(worker):
            kills += 1
    report = run.end(what, folder)
    if report is None:
        return 0
    check(f"{what}: attempts", report["attempts"] <= kills + 1, report["attempts"])
    check(f"{what}: one entry in restores for each further attempt",
          len(report["restores"]) == report["attempts"] - 1, report["restores"])
    return note_restores(kind, report["restores"])


def kill_supervisor(rng, kind, folder, what, victim):
    """1 or 2 runs die; the next one restores their latest checkpoint."""
    restore = {}
    for _ in range(rng.randrange(1, 3)):
        run = Started(kind, folder, **restore)
        take_time(rng, kind, folder, 0.05, 1.8)
        worker = run.worker()
        e2e.kill(run.process.pid)
        if worker and victim == "both":
            e2e.kill(worker)
        run.process.wait()
        if worker:
            check(f"{what}: the worker is gone", e2e.wait_until(lambda: not e2e.alive(worker), 2),
                  tail(folder))
        restore = {"restore__from": "latest"}
    run = Started(kind, folder, **restore)
    report = run.end(what, folder)
    if report is None:
        return 0
    check(f"{what}: one attempt", report["attempts"] == 1, report["attempts"])
    return note_restores(kind, [report["restored"]])


def one_round(rng, kind, victim, number):
    folder = e2e.new_folder()
    what = f"round {number}, {kind.name}, {victim} killed"
    if victim == "worker":
        restored = kill_worker(rng, kind, folder, what)
    else:
        restored = kill_supervisor(rng, kind, folder, what, victim)
    if os.path.isdir(f"{folder}/out"):
        same_lines(what, e2e.lines_of(f"{folder}/out"), kind.lines, f"{folder}\n{tail(folder)}")
    return restored > 0


def rounds(names, victims, count, seed):
    rng = random.Random(seed)
    kinds = [KINDS[name]() for name in names]
    restored = 0
    for number in range(count):
        restored += one_round(rng, kinds[number % len(kinds)],
                              victims[number // len(kinds) % len(victims)], number)
    print(f"seed {seed}: {count} rounds, {restored} of them restored a checkpoint")
    check("most rounds restored a checkpoint", restored * 2 > count, f"{restored} of {count}")
    if in_flight[0] > 0:
        print(f"{in_flight[1]} of {in_flight[0]} restores of unaligned checkpoints had frames in flight")
        check("most restores had frames in flight", in_flight[1] * 2 > in_flight[0], in_flight)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("weir")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--victim", action="append", choices=("worker", "both", "supervisor"))
    parser.add_argument("--job", action="append", choices=sorted(KINDS))
    args = parser.parse_args()
    rounds(args.job or sorted(KINDS), args.victim or ["worker"], args.rounds, args.seed)
    e2e.conclude()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Two-phase sinks (R7, R8, T35): a sink that records every call, and files, in every mode.

test_sink.py WEIR LEDGER

  order      completion, abort, end of input with and without checkpoints, savepoints, suspend, drain
  killed     kill -9 in the middle of a call, and a completion that is lost with it
  stuck      a snapshot whose synchronous part does not end (T23)
  files      the file sink under all modes, killed
"""

import array
import collections
import glob
import os
import re
import signal
import subprocess
import sys
import time

import e2e
from e2e import check, finished, wait_until

LEDGER = os.path.abspath(sys.argv[2])
EVENTS = 40000
SPLITS = 12  # as tests/e2e/numbered.h
MODES = {"aligned": {},
         "aligned-timeout": {"checkpoint__unaligned": "true", "checkpoint__aligned_timeout": "10ms"},
         "unaligned": {"checkpoint__unaligned": "true"},
         "at-least-once": {"checkpoint__mode": "at-least-once"}}


class Ledger(e2e.Run):
    """A run of the job with the recording sink; env: LEDGER_DIE and the like."""

    def __init__(self, folder=None, env=(), wait=True, events=EVENTS, **sets):
        self.folder = folder or e2e.fresh("ledger")
        os.makedirs(self.folder, exist_ok=True)
        self.env = {**os.environ, "LEDGER_DIR": self.folder, **dict(env)}
        self.events, self.wait = events, wait
        sets = {"parallelism": 2, "job__events": events, "memory__state": "64MiB",
                "checkpoint__dir": f"{self.folder}/chk", **sets}
        super().__init__(LEDGER, output="null", **sets)

    def start(self, timeout):
        self.process = subprocess.Popen(self.args, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, cwd=e2e.scratch, env=self.env)
        if self.wait:
            self.end(timeout)

    def end(self, timeout=120):
        out, err = self.process.communicate(timeout=timeout)
        self.finish(self.process.returncode, out, err)
        return self

    def command(self, *args):
        more = ["--set", f"checkpoint.dir={self.folder}/chk"]
        on = any(a.startswith("checkpoint.interval=") and a != "checkpoint.interval=0"
                 for a in self.args)
        job = "ledger" if on else f"ledger@{self.process.pid}"
        return e2e.weir(args[0], job, *args[1:], *(more if on else []))

    def calls(self):
        return calls_of(self.folder)


Call = collections.namedtuple("Call", "attempt subtask call tx checkpoint origin")


def calls_of(folder):
    calls = []
    with open(f"{folder}/calls", encoding="ascii") as file:
        for line in file:
            who, call, *rest = line.split()
            attempt, subtask = who.split(".")
            tx, checkpoint, origin = (rest + ["", "", ""])[:3]
            calls.append(Call(int(attempt), int(subtask), call, tx,
                              int(checkpoint) if checkpoint else 0, origin))
    return calls


class Subtask:
    """One subtask of one attempt: may this call come now?"""

    def __init__(self, pre):
        self.pre = pre  # all that was ever pre-committed, of all attempts
        self.opened = self.closed = False
        self.open = None
        self.waiting = []  # pre-committed, not committed; those named at the open in front
        self.named_left = 0
        self.durable = set()
        self.committing = None
        self.newest = 0

    def step(self, c):
        if self.closed:
            return "nothing behind close"
        if not self.opened:
            self.opened, self.named_left = c.call == "open", int(c.tx or 0)
            return None if self.opened else "open comes first"
        return getattr(self, "on_" + c.call)(c)

    def on_begin(self, c):
        fine = self.open is None
        self.open = c.tx
        return None if fine else "one is open already"

    def on_precommit(self, c):
        fine = self.open == c.tx and (c.checkpoint == 0 or c.checkpoint > self.newest)
        self.open, self.newest = None, c.checkpoint
        self.waiting.append(c.tx)
        self.pre.add(c.tx)
        return None if fine else "not the open one, or not a newer checkpoint"

    def on_durable(self, c):
        self.durable.add(c.tx)
        return None if c.tx in self.waiting else "precommit first"

    def on_commit(self, c):
        if self.committing is not None:
            return f"{self.committing} is not through"
        self.committing = c.tx
        if c.origin != "own":
            self.named_left -= 1
            return None if self.named_left >= 0 and c.tx in self.pre else "nobody named it"
        if self.named_left > 0:
            return "those of the checkpoint come first"
        return None if self.waiting[:1] == [c.tx] and c.tx in self.durable else "not its turn"

    def on_committed(self, c):
        fine = self.committing == c.tx
        self.committing = None
        if c.origin == "own" and fine:
            self.waiting.pop(0)
        return None if fine else "commit first"

    def on_abort(self, c):
        return None if c.tx in self.waiting else "nothing to abort"

    def on_close(self, _):
        self.closed = True


def check_order(what, folder):
    """The contract of weir/sink.h, call by call; what is left of each subtask."""
    subtasks, pre, wrong = {}, set(), []
    for number, c in enumerate(calls_of(folder)):
        said = subtasks.setdefault((c.attempt, c.subtask), Subtask(pre)).step(c)
        if said:
            wrong.append(f"line {number + 1}: {c}: {said}")
    check(f"{what}: the calls are in order", not wrong, "\n".join(wrong[:5]))
    return subtasks


def rows_of(folder):
    rows = array.array("Q")
    for path in sorted(glob.glob(f"{folder}/done-*")):
        with open(path, "rb") as file:
            rows.frombytes(file.read())
    return collections.Counter(zip(rows[::2], rows[1::2]))


def expected(events):
    return collections.Counter((s + SPLITS * (i % 50), i // 50) for s in range(SPLITS)
                               for i in range(events // SPLITS))


def complete(what, run, once=True):
    """Everything is committed, each row once, and nothing else is left."""
    subtasks = check_order(what, run.folder)
    last = max(a for a, _ in subtasks)
    left = [s.waiting + [s.open] * (s.open is not None) for (a, _), s in subtasks.items() if a == last]
    check(f"{what}: nothing is left open or uncommitted", not any(left), left)
    got, want = rows_of(run.folder), expected(run.events)
    check(f"{what}: every row {'once' if once else 'at least once'}",
          got == want if once else set(got) == set(want),
          f"{sum(got.values())} rows, {len(got)} different, expected {len(want)}\n{run.story()}")
    strays = glob.glob(f"{run.folder}/open-*") + glob.glob(f"{run.folder}/pre-*")
    check(f"{what}: no strays", not strays, strays)


# ---- order ----

def ends():
    run = Ledger(checkpoint__interval="20ms", job__rate=10000)
    finished("with checkpoints", run)
    complete("with checkpoints", run)
    done = {e["id"] for e in run.report["checkpoints"]["list"] if e["status"] == "completed"}
    covered = {c.checkpoint for c in run.calls() if c.call == "commit"}
    check("with checkpoints: several, and a completed one covers each", len(covered) > 1 and
          max(covered) <= max(done), (sorted(covered), sorted(done)))
    run = Ledger()
    finished("without checkpoints", run)
    complete("without checkpoints", run)
    calls = [c.call for c in run.calls()]
    check("without checkpoints: all pre-commit before any commits (T35)",
          calls.count("precommit") == 2 and calls.index("commit") >
          max(i for i, call in enumerate(calls) if call == "durable"), calls)
    check("without checkpoints: of no checkpoint", {c.checkpoint for c in run.calls()} == {0})
    run = Ledger(events=0, checkpoint__interval="20ms")
    finished("no rows", run)
    check("no rows: no transactions", {c.call for c in run.calls()} == {"open", "close"}, run.calls())


def aborts():
    for mode, sets in MODES.items():
        what = f"abort, {mode}"
        run = Ledger(env={"LEDGER_STALL": "2"}, checkpoint__interval="50ms", job__rate=16000,
                     checkpoint__timeout="250ms", checkpoint__tolerable_failures=100, **sets)
        finished(what, run)
        complete(what, run)
        calls = [c for c in run.calls() if c.call in ("abort", "commit") and c.subtask == 0]
        aborted = [i for i, c in enumerate(calls) if (c.call, c.checkpoint) == ("abort", 2)]
        committed = [i for i, c in enumerate(calls) if (c.call, c.checkpoint) == ("commit", 2)]
        check(f"{what}: aborted once, committed once, later, with the next",
              len(aborted) == len(committed) == 1 and aborted < committed and
              calls[committed[0] + 1:committed[0] + 2] and
              calls[committed[0] + 1].call == "commit", calls)
        second = next(e for e in run.report["checkpoints"]["list"] if e["id"] == 2)
        check(f"{what}: it had expired", second["reason"] == "CHECKPOINT_EXPIRED", second)


def stops():
    for kind, on in (("--savepoint", "20ms"), ("--drain", "20ms"), ("--savepoint", "0")):
        what = f"stop {kind}, interval {on}"
        run = Ledger(wait=False, checkpoint__interval=on, job__rate=5000,
                     savepoint__dir=e2e.fresh("sp"))
        wait_until(lambda: os.path.exists(f"{run.folder}/calls") and
                   any(c.call == "begin" for c in run.calls()), 30)
        if on == "0":  # one that the job outlives: its transaction waits
            wait_until(lambda: run.command("savepoint").returncode == 0, 20)
            calls = run.calls()
            check(f"{what}: a plain savepoint commits nothing (K5)",
                  any(c.call == "durable" for c in calls) and
                  not any(c.call == "commit" for c in calls), calls)
            time.sleep(0.1)
        where = e2e.fresh("sp") if kind == "--savepoint" else ""
        done = run.command("stop", kind, *([where] if where else []))
        check(f"{what}: stopped", done.returncode == 0, done.stderr)
        run.end()
        check(f"{what}: {run.report['state']}, 0", run.code == 0, run.story())
        subtasks = check_order(what, run.folder)
        check(f"{what}: all is committed", not any(s.waiting or s.open for s in subtasks.values()))
        committed = sum(rows_of(run.folder).values())
        check(f"{what}: what came out is what the report says",
              committed == run.operator("ledger")["rows_in"], (committed, run.story()))
        if kind == "--drain" or done.returncode != 0:
            continue
        path = done.stdout.split(" ", 1)[1].strip()
        again = Ledger(folder=run.folder, restore__from=path, parallelism=3)
        finished(f"{what}, restored at 3", again)
        complete(f"{what}, restored at 3", again)


# ---- killed ----

def that_died(**more):
    """A run that LEDGER_DIE met. Where the machine stood still, a run may be over before the call
    in which it should die: then another one."""
    for _ in range(5):
        run = Ledger(**more)
        if os.path.exists(f"{run.folder}/died"):
            break
    return run


def killed():
    for mode, sets in MODES.items():
        for die in ("precommit:3:before", "precommit:3:after", "commit:3:before", "commit:3:after"):
            what = f"killed in {die}, {mode}"
            run = that_died(env={"LEDGER_DIE": die}, checkpoint__interval="50ms", job__rate=80000,
                            restart__initial_backoff="1ms", **sets)
            finished(what, run)
            check(f"{what}: it was", run.report["attempts"] == 2 and
                  os.path.exists(f"{run.folder}/died"), run.story())
            complete(what, run, once=mode != "at-least-once")
            again = [c for c in run.calls() if c.call == "commit" and c.origin == "checkpoint"]
            # The manifest was there: the completion that was lost is made up for at the restore.
            named = die.startswith("commit")
            check(f"{what}: the restored ones are committed at once",
                  (len(again) >= 1) if named else all(c.checkpoint < 3 for c in again), again)


def killed_at_the_end():
    """T35: without checkpoints nobody knows what was committed; started again, all rows come."""
    for die in ("commit:0:before", "commit:0:after"):
        what = f"killed in {die}, without checkpoints"
        run = Ledger(env={"LEDGER_DIE": die}, restart__strategy="fixed-delay", restart__delay="1ms")
        finished(what, run)
        check(f"{what}: it was", run.report["attempts"] == 2, run.story())
        complete(what, run, once=False)


def stuck():
    """T23: a core that sleeps in the synchronous part is found, named, and gone with its worker."""
    for seconds, how in ((30, "goes on for"), (0, None)):
        what = f"a snapshot that sleeps {seconds} s"
        start = time.monotonic()
        run = Ledger(env={"LEDGER_SLEEP": f"2:{seconds}"}, checkpoint__interval="50ms",
                     job__rate=20000, restart__strategy="none", checkpoint__sync_timeout="300ms")
        if how is None:
            finished(what, run)
            continue
        check(f"{what}: 70, not after its sleep", run.code == 70 and
              time.monotonic() - start < seconds, run.story())
        check(f"{what}: named", re.search(
            rf"task 'ledger' subtask 0: the synchronous part of checkpoint 2 {how} \d+\.\d+ s, more "
            r"than checkpoint.sync-timeout \(0.300 s\)", run.err), run.story())
        check(f"{what}: a report is there", run.report and run.report["state"] == "FAILED")


def killed_and_rescaled():
    """One subtask takes over the transactions of three."""
    for after in (1, 2):
        what = f"killed at 3, restored at {after}"
        sets = {"checkpoint__interval": "50ms", "job__rate": 80000}
        run = that_died(env={"LEDGER_DIE": "commit:3:before"}, parallelism=3,
                        restart__strategy="none", **sets)
        check(f"{what}: it was", run.code == 70, run.story())
        again = Ledger(folder=run.folder, parallelism=after, restore__from="latest", **sets)
        finished(what, again)
        complete(what, again)


# ---- files ----

def files():
    for mode, sets in MODES.items():
        what = f"files, {mode}"
        out, chk = e2e.fresh("out"), e2e.fresh("chk")
        sets = {"job__events": 120000, "job__rate": 30000, "job__rebalance": "true",
                "parallelism": 2, "memory__state": "64MiB", "checkpoint__interval": "30ms",
                "checkpoint__dir": chk, "restart__initial_backoff": "1ms", **sets}
        report = e2e.fresh("report")
        with subprocess.Popen(e2e.arguments("nexmark-q0", {"job__output": out, **sets}, report),
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, cwd=e2e.scratch, text=True) as process:
            for target in (3, 20):
                wait_until(lambda t=target: len(glob.glob(f"{out}/part-*")) >= t or
                           process.poll() is not None, 30)
                for worker in e2e.children(process.pid):
                    e2e.kill(worker)
                wait_until(lambda: e2e.children(process.pid) or process.poll() is not None, 20)
            err = process.communicate(timeout=120 * e2e.PATIENCE)[1]
        got = e2e.read_json(report) or {}
        check(f"{what}: FINISHED after kills", process.returncode == 0 and
              got.get("state") == "FINISHED" and got.get("attempts", 0) > 1, err)
        strays = [n for n in os.listdir(out) if not re.fullmatch(r"part-\w+-\d+-\d+", n)]
        check(f"{what}: only committed files", not strays, strays)
        lines = e2e.lines_of(out)
        if mode == "at-least-once":
            check(f"{what}: no line is missing", sorted(set(lines)) == sorted(set(want_q0())),
                  len(lines))
        else:
            e2e.same_lines(what, lines, want_q0(), err)


def want_q0(cache=[]):
    if not cache:
        run = e2e.Run("nexmark-q0", job__events=120000, job__rebalance="true", parallelism=2,
                      memory__state="64MiB")
        finished("undisturbed", run)
        cache.append(run.lines())
    return cache[0]


def main():
    signal.alarm(int(540 * e2e.PATIENCE))
    ends()
    aborts()
    stops()
    killed()
    killed_at_the_end()
    stuck()
    killed_and_rescaled()
    files()
    e2e.conclude()


main()

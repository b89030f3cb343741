"""Runs that are given commands while they go on, and what their savepoints must be."""

import os
import re
import subprocess

import e2e
from e2e import Run, check, finished, inspect, wait_until


class Live(Run):
    """A run that goes on while it is given commands."""

    def start(self, timeout):
        self.timeout = timeout
        self.chk = self.given("checkpoint.dir")
        self.log = e2e.fresh("log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.args, stdout=subprocess.PIPE, stderr=log,
                                            stdin=subprocess.DEVNULL, cwd=e2e.scratch)

    def given(self, key):
        """A setting of its command line; None: not there."""
        return next((a.split("=", 1)[1] for a in self.args if a.startswith(f"{key}=")), None)

    def command(self, *args):
        more = ["--set", f"checkpoint.dir={self.chk}"] if self.chk else []
        name, *rest = args
        job = self.given("job.name") or self.args[2]
        job = job if self.chk else f"{job}@{self.process.pid}"
        done = e2e.weir(name, job, *rest, *more)
        return done.returncode, done.stdout, done.stderr

    def savepoint(self, what, *args):
        """Its path, absolute, or None."""
        code, out, err = self.command(*args)
        path = out.split(" ", 1)[1].strip() if code == 0 and " /" in out else None
        check(f"{what}: {args}", path is not None and os.path.isfile(f"{path}/manifest"),
              (code, out, err))
        return path

    def wait(self):
        out, _ = self.process.communicate(timeout=self.timeout)
        with open(self.log, "rb") as log:
            self.finish(self.process.returncode, out, log.read())
        return self

    def over(self):
        return self.process.poll() is not None

    def rows_said(self):
        """Rows that its sources had sent when it said so last, which it does once a second."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            said = re.findall(r"weir: ([\d.]+) ([kMG]?) ?rows,", file.read())
        return max((float(n) * 1000 ** " kMG".index(unit or " ") for n, unit in said), default=0)

    def moving(self, rows=10000):
        """Wait until its sources have sent so many rows and the newest checkpoint, if it takes any,
        holds what came of them. A command that comes now finds it running."""
        seen = []

        def moves():
            if self.chk is None:
                return self.rows_said() >= rows
            paths = e2e.checkpoints(self.chk)[-1:]
            if paths == seen:
                return False
            seen[:] = paths
            return any(sources_sent(path) >= rows for path in paths)

        wait_until(lambda: self.over() or moves(), 60)
        check(f"{self.args[2]}: it is under way", not self.over())


def sources_sent(path):
    """Rows, by a checkpoint: of the subtasks that have splits."""
    return sum(s["rows_out"] for o in inspect(path).get("operators", []) for s in o["subtasks"]
               if s["current_splits"] or s["finished_splits"])


def chk():
    return {"checkpoint__interval": "50ms", "checkpoint__dir": e2e.fresh("chk")}


def good(what, path, kind):
    """Whole, of this kind, and everything of it in its own directory."""
    if path is None:
        return
    e2e.whole(what, path)
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

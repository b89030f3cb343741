"""Runs that are given commands while they go on, and what their savepoints must be."""

import glob
import json
import os
import re
import subprocess
import time

import e2e
from e2e import Run, check, finished, wait_until


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
        named = [a.split("=", 1)[1] for a in self.args if a.startswith("job.name=")]
        job = named[0] if named else self.args[2]
        job = job if chk else f"{job}@{self.process.pid}"
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

#!/usr/bin/env python3
"""An external command as a master hook (K15): checkpoint.hook.

test_hook.py WEIR
"""

import glob
import os
import subprocess

import e2e
from e2e import Run, check, finished

SETS = {"job__output": "null", "job__events": 60000, "job__event_rate": 2000, "job__rate": 20000,
        "parallelism": 2, "memory__state": "64MiB", "checkpoint__interval": "30ms"}


def log_of(folder):
    try:
        with open(f"{folder}/log", encoding="utf-8") as file:
            return file.read().split("\n")[:-1]
    except OSError:
        return []


def hook(folder, snapshot="echo at-$WEIR_CHECKPOINT"):
    """Notes every call; what comes with a restore stands in the note."""
    return (f'names:test $WEIR_HOOK = snapshot || echo "$WEIR_HOOK $WEIR_JOB $WEIR_CHECKPOINT $(cat)" '
            f'>> {folder}/log; test $WEIR_HOOK != snapshot || {{ {snapshot}; }}')


def stored():
    folder = e2e.new_folder("hook")
    sets = {**SETS, "checkpoint__dir": f"{folder}/chk"}
    run = Run("nexmark-q0", **sets, checkpoint__hook=hook(folder))
    finished("with a hook", run)
    check("with a hook: reset at the start", log_of(folder) == ["reset nexmark-q0 0 "], log_of(folder))
    newest = e2e.newest(f"{folder}/chk")
    run = Run("nexmark-q0", **sets, checkpoint__hook=hook(folder), restore__from="latest")
    finished("restored with the hook", run)
    check("restored with the hook: its state", log_of(folder)[-1] ==
          f"restore nexmark-q0 {newest} at-{newest}", log_of(folder))
    run = Run("nexmark-q0", **sets, restore__from="latest")
    check("without the hook: refused by name", run.code == 65 and "hook 'names'" in run.err, run.story())
    run = Run("nexmark-q0", **sets, restore__from="latest", restore__allow_non_restored_state="true",
              checkpoint__hook=hook(folder).replace("names:", "other:"))
    finished("another hook, allowed", run)
    check("another hook, allowed: it is reset", log_of(folder)[-1].startswith("reset "), log_of(folder))


def failing():
    folder = e2e.new_folder("hook")
    sets = {**SETS, "checkpoint__dir": f"{folder}/chk"}
    # The second checkpoint of all fails, and no other.
    run = Run("nexmark-q0", **sets, checkpoint__hook=hook(folder, "test $WEIR_CHECKPOINT != 2"))
    finished("a failing hook", run)
    second = next(e for e in run.report["checkpoints"]["list"] if e["id"] == 2)
    check("a failing hook: its checkpoint does not complete", second["status"] == "aborted" and
          second["reason"] == "TRIGGER_CHECKPOINT_FAILURE", second)
    check("a failing hook: said", "hook 'names': it ended with exit code 1" in run.err, run.story())
    check("a failing hook: others complete", run.report["checkpoints"]["completed"] > 1,
          run.report["checkpoints"])
    # One that hangs costs its checkpoints, and does not outlive them.
    pids = f"{folder}/pids"
    run = Run("nexmark-q0", **sets, checkpoint__timeout="100ms", checkpoint__tolerable_failures=1000,
              checkpoint__hook=hook(folder, f"echo $$ >> {pids}; test $(wc -l < {pids}) -gt 3 || "
                                            "sleep 1000"))
    finished("a hook that hangs", run)
    expired = [e for e in run.report["checkpoints"]["list"] if e["reason"] == "CHECKPOINT_EXPIRED"]
    # Where the machine stood still, others may expire as well.
    check("a hook that hangs: its checkpoints expire", len(expired) >= 3 and
          expired[:3] == run.report["checkpoints"]["list"][:3], run.report["checkpoints"])
    check("a hook that hangs: others complete", run.report["checkpoints"]["completed"] > 0,
          run.report["checkpoints"])
    with open(pids, encoding="ascii") as file:
        left = [pid for pid in file.read().split() if e2e.alive(pid)]
    check("a hook that hangs: nothing is left of it", left == [], left)
    run = Run("nexmark-q0", **sets, checkpoint__hook="names:exit 3")
    check("a hook that cannot start the job: 70", run.code == 70 and "reset" in run.err, run.story())
    for spec in ("names", "Names:true", ":true", "names:"):
        run = Run("nexmark-q0", **sets, checkpoint__hook=spec)
        check(f"checkpoint.hook={spec} is refused", run.code == 78, run.story())


def command(live, *args):
    done = e2e.weir(args[0], f"nexmark-q0@{live.pid}", *args[1:])
    return done.returncode, done.stdout, done.stderr


def start(sets, **more):
    args = e2e.arguments("nexmark-q0", {**sets, **more}, e2e.fresh("report"))
    return subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, cwd=e2e.scratch)


def stop(live):
    e2e.kill(live.pid, 15)
    live.wait(60 * e2e.PATIENCE)


def savepoints():
    """They hold its state too, also where there are no checkpoints, and say why they fail."""
    folder = e2e.new_folder("hook")
    sets = {**SETS, "checkpoint__interval": "0", "job__events": 100000000}
    live = start(sets, checkpoint__hook=hook(folder, f"test ! -e {folder}/no && echo there"))
    e2e.wait_until(lambda: command(live, "savepoint", "--native", folder)[0] == 0, 20)
    path = next(iter(glob.glob(f"{folder}/savepoint-*")), "")
    check("a savepoint holds it",
          e2e.inspect(path).get("hooks") == [{"name": "names", "bytes": 6}], e2e.inspect(path))
    e2e.write(f"{folder}/no", b"")
    code, _, err = command(live, "savepoint", "--native", folder)
    check("a savepoint whose hook fails: said why", code != 0 and
          "hook 'names': it ended with exit code 1" in err, (code, err))
    stop(live)


def killed():
    """A worker that is killed takes its command along: its successor never meets it."""
    folder = e2e.new_folder("hook")
    pids = f"{folder}/pids"
    hangs = f"echo $$ >> {pids}; exec sleep 1000"
    live = start({**SETS, "job__events": 100000000, "checkpoint__dir": f"{folder}/chk"},
                 checkpoint__hook=hook(folder, hangs))
    e2e.wait_until(lambda: os.path.exists(pids) and os.path.getsize(pids) > 0, 20)
    for worker in e2e.children(live.pid):
        e2e.kill(worker)
    e2e.wait_until(lambda: len(open(pids, encoding="ascii").read().split()) > 1, 20)
    with open(pids, encoding="ascii") as file:
        first, second = file.read().split()[:2]
    check("killed: the command went with its worker", not e2e.alive(first), first)
    check("killed: the next attempt asks again, after a reset",
          e2e.alive(second) and len(log_of(folder)) == 2, log_of(folder))
    stop(live)
    check("cancelled: the command too", not e2e.alive(second), second)


def main():
    stored()
    savepoints()
    killed()
    failing()
    e2e.conclude()


main()

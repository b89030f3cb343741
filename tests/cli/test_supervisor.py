"""Every way a worker can end, seen from outside: exit code, report, restarts, lock, cancel."""

import json
import os
import re
import signal
import subprocess
import time

from lib import WEIR, check, conclude, folder, load, weir

d = folder()
report = os.path.join(d, "r.json")
chk = os.path.join(d, "chk")
job_dir = os.path.join(chk, "nexmark-q1")
ON = ["--set", "checkpoint.interval=100ms", "--set", f"checkpoint.dir={chk}"]
BASE = ["run", "nexmark-q1", "--set", "job.output=null", "--set", "memory.hugepages=off",
        "--report", report]


def run(script, *args, clean=True):
    """(exit code, report or None, standard error)."""
    if clean:
        subprocess.run(["rm", "-rf", chk, report], check=True)
    rc, out, err = weir(*BASE, *args, env={"WEIR_SCRIPT": script, "WEIR_SCRIPT_DIR": job_dir})
    check(f"{script}: standard output is the job's", out == "", out)
    return rc, (load(report) if os.path.exists(report) else None), err


# A run that ends well.
rc, r, err = run("finish")
check("finished", rc == 0 and r["state"] == "FINISHED" and r["exit_code"] == 0, err)
check("report's fields", list(r) == [
    "weir", "job", "name", "state", "exit_code", "wall_s", "attempts", "restored", "restores",
    "checkpoints", "operators", "tasks", "edges", "cores", "sources", "latency_us", "environment",
    "config", "warnings"], list(r))
check("no restore", r["restored"] == {"checkpoint": None, "path": None, "frames_in_flight": 0,
                                      "bytes": 0} and r["restores"] == [], r["restored"])
check("configuration in the report", r["config"] == json.loads(
    weir("show-config", "nexmark-q1", "--json", "--set", "job.output=null", "--set",
         "memory.hugepages=off")[1]), r["config"])
check("MALLOC_CONF from the plan", "narenas:" in r["environment"]["malloc_conf"])
check("warning that is not UTF-8", r["warnings"] == ["a name that is not UTF-8: ?"], r["warnings"])
check("plain progress line", "1.23 M rows, 5.00 M rows/s" in err, err)
check("final table", re.search(r"src +source +2 +10 +8  late 2", err), err)

# Kinds of failure, without checkpoints: no restart.
for code in (64, 65, 66, 69, 70, 74, 78):
    rc, r, err = run(str(code))
    check(f"code {code}", rc == code and r["state"] == "FAILED" and r["exit_code"] == code and
          r["attempts"] == 1, err)
    check(f"code {code} is explained", f"the script says {code}" in err, err)
for script in ("abort", "kill", "silent", "garbage", "1", "255"):
    rc, r, err = run(script)
    check(f"{script} fails the job", rc == 70 and r["state"] == "FAILED" and r["attempts"] == 1, err)

# With checkpoints: restarted, but not where it would be the same again.
for code in (64, 65, 66, 78):
    rc, r, err = run(f"{code},finish", *ON)
    check(f"{code} is never retried", rc == code and r["attempts"] == 1, err)
for script in ("abort,finish", "kill,finish", "70,finish", "74,finish", "silent,finish"):
    rc, r, err = run(script, *ON)
    check(f"{script} is retried", rc == 0 and r["attempts"] == 2 and r["state"] == "FINISHED", err)
    check(f"{script}: restored nothing", r["restores"] == [r["restored"]] and
          r["restored"]["path"] is None, r["restores"])

rc, r, err = run("progress-abort,finish", *ON)
check("restored from the run's own newest", rc == 0 and
      r["restored"]["path"] == f"{job_dir}/chk-1", r["restored"])
check("its checkpoint counts", r["checkpoints"]["triggered"] == 1 and
      r["checkpoints"]["completed"] == 1, r["checkpoints"])
rc, r, err = run("lost,finish", *ON)
check("a durable checkpoint is used though nobody was told", rc == 0 and
      r["restored"]["path"] == f"{job_dir}/chk-1" and r["checkpoints"]["completed"] == 1 and
      r["checkpoints"]["list"][0]["status"] == "completed", r["checkpoints"])
rc, r, err = run("pending-abort,checkpoint", *ON)
check("pending at a crash is aborted", r["checkpoints"]["aborted"] == 1 and
      r["checkpoints"]["completed"] == 1 and r["checkpoints"]["triggered"] == 2 and
      [e["status"] for e in r["checkpoints"]["list"]] == ["aborted", "completed"], r["checkpoints"])

# Attempts are counted over runs, ids too.
rc, r, err = run("finish", *ON, clean=False)
check("the attempt counter outlives the run", r["environment"]["attempt"] == 3, r["environment"])
os.makedirs(os.path.join(job_dir, "chk-7"))
open(os.path.join(job_dir, "chk-7", "manifest"), "w").close()
os.makedirs(os.path.join(job_dir, "chk-9"))
rc, r, err = run("abort,finish", *ON, clean=False)
check("another run's checkpoint is not taken", r["restored"]["path"] is None, r["restored"])
rc, r, err = run("abort,finish", *ON, "--set", "restore.from=latest", clean=False)
check("latest is the newest with a manifest", [x["path"] for x in r["restores"]] ==
      [f"{job_dir}/chk-7"], r["restores"])
rc, r, err = run("abort,finish", *ON, "--set", f"restore.from={job_dir}/chk-7", clean=False)
check("a path is restored from, again after a crash", r["restored"]["path"] == f"{job_dir}/chk-7")
rc, r, err = run("finish", *ON, "--set", "restore.from=latest")
check("latest of nothing", rc == 0 and r["restored"]["path"] is None and
      "no checkpoint in" in err and "starting from the beginning" in err, err)

# Retention: which ends leave the run's checkpoints.
def left(script, retention):
    rc, r, err = run(script, *ON, "--set", f"checkpoint.retention={retention}", "--set",
                     "restart.strategy=none")
    return os.path.exists(f"{job_dir}/chk-1/manifest")


check("retention", [left(script, retention) for script in ("checkpoint", "progress-abort")
                    for retention in ("never", "on-failure", "on-cancel", "always")] ==
      [False, False, False, True, False, True, True, True])
os.makedirs(os.path.join(job_dir, "chk-5"))
open(os.path.join(job_dir, "chk-5", "manifest"), "w").close()
run("checkpoint", *ON, "--set", "checkpoint.retention=never", clean=False)
check("retention never touches another run's", os.path.exists(f"{job_dir}/chk-5/manifest") and
      not os.path.exists(f"{job_dir}/chk-6/manifest"))
rc, out, err = weir("run", "nexmark-q1", "--report", report, *ON, "--set", "memory.state=512GiB",
                    env={"WEIR_SCRIPT": "finish"})
r = load(report)
check("what the host lacks is one warning",
      sum("not at full speed: hugepages" in w for w in r["warnings"]) == 1, r["warnings"])
check("standard output is warned about", any("standard output" in w for w in r["warnings"]))

# Strategies.
FAST = ["--set", "restart.delay=1ms", "--set", "restart.initial-backoff=1ms"]
rc, r, err = run("abort", *ON, *FAST, "--set", "restart.strategy=fixed-delay", "--set",
                 "restart.attempts=2")
check("fixed-delay gives up", rc == 70 and r["attempts"] == 3, err)
rc, r, err = run("progress-abort", *ON, *FAST, "--set", "restart.strategy=failure-rate", "--set",
                 "restart.max-failures=4")
check("failure-rate gives up", rc == 70 and r["attempts"] == 5, err)
rc, r, err = run("74", *ON, *FAST, "--set", "restart.attempts=3")
check("exponential-delay without progress gives up", rc == 74 and r["attempts"] == 4, err)
rc, r, err = run("progress-abort," * 12 + "finish", *ON, *FAST, "--set", "restart.attempts=1")
check("progress starts the count afresh", rc == 0 and r["attempts"] == 13, err)
check("all restores are listed", len(r["restores"]) == 12 and
      r["restores"][-1]["path"] == f"{job_dir}/chk-12", r["restores"])
rc, r, err = run("abort,finish", *ON, "--set", "restart.strategy=none")
check("none", rc == 70 and r["attempts"] == 1, err)


def start(script, *args):
    subprocess.run(["rm", "-rf", report], check=True)
    p = subprocess.Popen([WEIR, *BASE, *args], stderr=subprocess.PIPE, text=True,
                         env={**os.environ, "WEIR_SCRIPT": script, "WEIR_SCRIPT_DIR": job_dir})
    line = p.stderr.readline()
    while "warning" not in line and line:
        line = p.stderr.readline()
    return p


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        return [int(x) for x in f.read().split()]


def gone(pid):
    """Wait up to two seconds until no such process runs (a zombie does not)."""
    for _ in range(200):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


# Cancelling.
for sig, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
    p = start("wait")
    p.send_signal(sig)
    rest = p.stderr.read()
    check(f"signal {sig}: cancelled", p.wait(30) == code and load(report)["state"] == "CANCELED" and
          load(report)["exit_code"] == code, rest)
p = start("deaf")
p.send_signal(signal.SIGINT)
time.sleep(0.05)
p.send_signal(signal.SIGINT)
check("a second Ctrl-C does not wait", p.wait(5) == 130 and load(report)["state"] == "CANCELED")
p = start("wait")
worker = children(p.pid)
check("the worker is the only child", len(worker) == 1, worker)
os.kill(worker[0], signal.SIGTERM)
time.sleep(0.05)
check("a plain SIGTERM to the worker does not lose the run", p.poll() is None)
os.kill(worker[0], signal.SIGKILL)
check("a killed worker fails the job", p.wait(5) == 70 and load(report)["state"] == "FAILED")
p = start("abort", *ON, "--set", "restart.initial-backoff=1min")
time.sleep(0.3)
p.send_signal(signal.SIGINT)
check("cancelled while it waits to restart", p.wait(5) == 130, p.stderr.read())

# The worker goes with its supervisor, and the lock with both.
p = start("deaf", *ON)
worker = children(p.pid)[0]
with open(f"/proc/{worker}/comm", encoding="utf-8") as f:
    check("the worker's main thread is no core", not re.match(r"weir-c\d", f.read()))
rc, out, err = weir(*BASE, *ON, env={"WEIR_SCRIPT": "finish"})
check("a second run is kept out", rc == 69 and str(p.pid) in err, err)
p.kill()
p.wait()
check("the worker is gone with its supervisor", gone(worker))
rc, out, err = weir(*BASE, *ON, env={"WEIR_SCRIPT": "finish"})
check("the next run starts at once", rc == 0, err)
conclude()

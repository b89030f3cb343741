"""Commands of a running job, black box, with a worker that follows a script: outcomes, exit codes,
request ids, and what a peer on the socket may do without harm."""

import json
import os
import re
import socket
import subprocess
import time

from lib import WEIR, check, conclude, folder, load, weir

d = folder()
ENV = {**os.environ, "WEIR_SCRIPT": "wait", "XDG_RUNTIME_DIR": d}


class Job:
    """A job that runs until it is told otherwise."""

    def __init__(self, *args, script="wait", chk=None, name="nexmark-q1"):
        self.chk = chk
        self.report = os.path.join(d, f"report-{time.monotonic_ns()}")
        on = ["--set", "checkpoint.interval=1h", "--set", f"checkpoint.dir={chk}"] if chk else []
        self.on = ["--set", f"checkpoint.dir={chk}"] if chk else []
        self.process = subprocess.Popen(
            [WEIR, "run", "nexmark-q1", "--set", f"job.name={name}", "--set", "job.output=null",
             "--set", "memory.hugepages=off", "--report", self.report, *on, *args],
            env={**ENV, "WEIR_SCRIPT": script}, stderr=subprocess.PIPE, text=True)
        self.path = (f"{chk}/{name}/control" if chk else f"{d}/weir/{name}@{self.process.pid}")
        end = time.monotonic() + 20
        while not self.listens() and time.monotonic() < end:
            time.sleep(0.01)
        check(f"{self.path} is there", self.listens())

    def listens(self):
        peer = socket.socket(socket.AF_UNIX)
        where = os.open(os.path.dirname(self.path), os.O_PATH) if self.exists() else -1
        try:
            peer.connect(f"/proc/self/fd/{where}/{os.path.basename(self.path)}")
            return True
        except OSError:
            return False
        finally:
            peer.close()
            if where >= 0:
                os.close(where)

    def exists(self):
        return os.path.exists(os.path.dirname(self.path))

    def command(self, *args, **kw):
        return weir(*args, *self.on, env={"XDG_RUNTIME_DIR": d}, **kw)

    def end(self, code, state):
        try:
            err = self.process.communicate(timeout=30)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        report = load(self.report)
        check(f"the run ends with {code}, {state}",
              (self.process.returncode, report["state"]) == (code, state),
              (self.process.returncode, report["state"], err))
        check("the socket is gone", not os.path.exists(self.path))
        return err


# Nobody there.
rc, out, err = weir("cancel", "nosuch", env={"XDG_RUNTIME_DIR": d})
check("no such job", rc == 69 and "nosuch" in err and out == "", (rc, err))
for args in (["stop"], ["stop", "a/b"], ["stop", "x", "--drain", "--suspend"],
             ["savepoint", "x", "y", "z"], ["savepoint", "x", "--native", "--canonical"],
             ["trigger", "x", "--full", "--incremental"], ["cancel", "x", "--request-id", "a b"],
             ["cancel", "x", "--drain"]):
    rc, out, err = weir(*args, env={"XDG_RUNTIME_DIR": d})
    check(f"usage: {args}", rc == 64 and out == "", (rc, err))

# Every command and its outcome; with checkpoints and without.
for chk in (None, os.path.join(d, "chk")):
    job = Job(chk=chk)
    check("only the user may", os.stat(job.path).st_mode & 0o777 == 0o600)
    rc, out, err = job.command("trigger", "nexmark-q1")
    check("trigger", rc == 0 and re.fullmatch(r"\d+ /somewhere/it-is\n", out), (rc, out, err))
    rc, out, err = job.command("savepoint", "nexmark-q1", "some/where", "--json")
    check("savepoint", rc == 0 and json.loads(out)["ok"], (rc, out, err))
    rc, out, err = job.command("savepoint", "nexmark-q1", "/fail")
    check("savepoint that fails", rc == 74 and "IO_EXCEPTION: no space" in err and out == "",
          (rc, out, err))
    rc, out, err = job.command("stop", "nexmark-q1", "--savepoint", "/fail")
    check("stop that fails", rc == 74 and "IO_EXCEPTION" in err, (rc, out, err))
    # The same request again: the first outcome, no second checkpoint.
    first = job.command("trigger", "nexmark-q1", "--request-id", "once")
    check("again, the same", job.command("trigger", "nexmark-q1", "--request-id", "once") == first,
          first)
    check("another one is another", job.command("trigger", "nexmark-q1")[1] != first[1])
    rc, out, err = job.command("trigger", "nexmark-q1", "--full", "--request-id", "once")
    check("a request id is for one command", rc == 64 and "once" in err, (rc, err))
    rc, out, err = job.command("stop", "nexmark-q1", "--savepoint", "/good", "--drain")
    check("stop", rc == 0 and out.endswith("/somewhere/it-is\n"), (rc, out, err))
    job.end(0, "FINISHED")

job = Job()
rc, out, err = job.command("stop", "nexmark-q1")
check("stop, suspend", rc == 0, (rc, out, err))
job.end(0, "SUSPENDED")

# S4: the savepoint is complete, the job does not finish: no restart, and everybody hears the path.
job = Job(chk=os.path.join(d, "chk"))
rc, out, err = job.command("stop", "nexmark-q1", "--savepoint", "/lost")
check("stop, the worker dies after the savepoint", rc == 70 and "/somewhere/it-is" in err,
      (rc, out, err))
err = job.end(70, "FAILED")
check("the run names the savepoint", "restore from /somewhere/it-is" in err, err)
check("it was not restarted", load(job.report)["attempts"] == 1)

# A worker that goes before it answers: the command fails, a stop is off.
job = Job(chk=os.path.join(d, "chk"))
asked = subprocess.Popen([WEIR, "stop", "nexmark-q1", "--savepoint", "/mute", *job.on],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
time.sleep(0.3)
rc, out, err = job.command("trigger", "nexmark-q1")
check("no command beside a stop", rc == 69 and "stopped" in err, (rc, err))
children = open(f"/proc/{job.process.pid}/task/{job.process.pid}/children",
                encoding="ascii").read().split()
os.kill(int(children[0]), 9)
err = asked.communicate(timeout=20)[1]
check("the worker went first", asked.returncode == 70 and "TASK_FAILURE" in err,
      (asked.returncode, err))
rc, out, err = job.command("trigger", "nexmark-q1", timeout=30)
check("the next attempt takes commands", rc == 0, (rc, out, err))
rc, out, err = job.command("cancel", "nexmark-q1")
check("cancel", rc == 0 and "CANCELED" in out, (rc, out, err))
job.end(143, "CANCELED")

# Several runs of one name, without checkpoints.
one, two = Job(), Job()
rc, out, err = one.command("cancel", "nexmark-q1")
check("which one?", rc == 64 and "nexmark-q1@" in err, (rc, err))
for job in (one, two):
    rc, out, err = job.command("cancel", f"nexmark-q1@{job.process.pid}")
    check("that one", rc == 0, (rc, err))
    job.end(143, "CANCELED")

# A path that is longer than a socket's address; what a crash left.
deep = os.path.join(d, "x" * 100, "y" * 100)
os.makedirs(f"{deep}/nexmark-q1")
left = socket.socket(socket.AF_UNIX)
here = os.getcwd()
os.chdir(f"{deep}/nexmark-q1")
left.bind("control")
left.close()
os.chdir(here)
rc, out, err = weir("cancel", "nexmark-q1", "--set", f"checkpoint.dir={deep}",
                    env={"XDG_RUNTIME_DIR": d})
check("nobody listens", rc == 69, (rc, err))
job = Job(chk=deep)
rc, out, err = job.command("cancel", "nexmark-q1")
check("a long path", rc == 0, (rc, err))
job.end(143, "CANCELED")

# What comes over the socket harms nobody.
job = Job()


def talk(data, answer=True, half=False):
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(job.path)
    peer.settimeout(20)
    try:
        peer.sendall(data)
        if half:
            peer.shutdown(socket.SHUT_WR)
        got = b""
        while answer and not got.endswith(b"\n"):
            more = peer.recv(65536)
            if not more:
                break
            got += more
    except (BrokenPipeError, ConnectionResetError):
        got = b""
    peer.close()
    return json.loads(got) if got else None


BAD = [b"\n", b"{}\n", b"[]\n", b"null\n", b"nonsense\n", b"\xff\xfe\n", b"{\"command\": 3}\n",
       b"{\"command\": \"trigger\"}\n", b"{\"command\": \"trigger\", \"request_id\": \"\"}\n",
       b"{\"command\": \"trigger\", \"request_id\": \"a\", \"drain\": true}\n",
       b"{\"command\": \"trigger\", \"request_id\": \"a\", \"checkpoint\": \"some\"}\n",
       b"{\"command\": \"stop\", \"request_id\": \"a\", \"directory\": \"here\"}\n",
       b"{\"command\": \"stop\", \"request_id\": \"a\", \"directory\": 7}\n",
       b"{\"command\": \"stop\", \"command\": \"cancel\", \"request_id\": \"a\"}\n",
       b"{\"command\": \"savepoint\", \"request_id\": \"a\", \"directory\": \"/" + b"x" * 2000 + b"\"}\n",
       b"[" * 4000 + b"\n"]
for data in BAD:
    answer = talk(data)
    check(f"refused: {data[:60]}", answer is not None and answer["code"] == 64, answer)
answer = talk(b"x" * 100000)
check("too long", answer is None or answer["code"] == 64, answer)
for data in (b"", b"{\"command\": \"canc", b"{\"command\": \"cancel\", \"request_id\": \"half\"}"):
    check("half a line", talk(data, half=True) is None)
    talk(data, answer=False)
GOOD = b"{\"command\": \"trigger\", \"request_id\": \"left\"}\n"
talk(GOOD, answer=False)
answer = talk(GOOD + b"and more\n" * 3, half=True)
check("asked by a peer that died: done once, told to the next", answer["ok"], answer)
answer = talk(b"{\"command\": \"savepoint\", \"request_id\": \"m\", \"directory\": \"/mute\"}\n",
              answer=False)
crowd = []
for i in range(100):
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(5)
    try:
        peer.connect(job.path)
        peer.send(b"{")
    except OSError:
        pass
    crowd.append(peer)
for peer in crowd:
    peer.close()
rc, out, err = job.command("trigger", "nexmark-q1")
check("after all that, it works", rc == 0, (rc, err))
rc, out, err = job.command("cancel", "nexmark-q1")
check("and ends", rc == 0, (rc, err))
job.end(143, "CANCELED")

# A folder that takes no socket is a warning.
os.chmod(f"{d}/weir", 0o777)
rc, out, err = weir("run", "nexmark-q1", "--set", "job.output=null", "--set",
                    "memory.hugepages=off", env={"XDG_RUNTIME_DIR": d, "WEIR_SCRIPT": "finish"})
check("a run without commands", rc == 0 and "takes no commands" in err, (rc, err))

conclude()

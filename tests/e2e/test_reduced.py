#!/usr/bin/env python3
"""Where things are missing: no hugepages, an ordinary user with 8 MiB memlock, no io_uring.

test_reduced.py WEIR
"""

import os
import resource
import shutil
import sys

import e2e
from e2e import Run, check, finished, same_lines

words = e2e.reference("wordcount")
FORBIDS = f"{e2e.HERE}/no_uring.py"
FORBID = [sys.executable, FORBIDS]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
          "--bounding-set=-all", "--no-new-privs"]
LIMITED = ["sh", "-c", 'ulimit -l 8192; exec "$@"', "sh"]


def text():
    folder = e2e.fresh("text")
    for number in range(4):
        lines = (f"line {i} of {number} has word{i % 700} and w{i * 7919 % 3001}"
                 for i in range(8000))
        e2e.write(f"{folder}/{number}", ("\n".join(lines) + "\n").encode())
    return folder


def run(what, prefix, folder, want, place, says, **sets):
    os.mkdir(place)
    os.chmod(place, 0o777)
    run_ = Run("wordcount", prefix=prefix, output=f"{place}/out", job__input=folder,
               job__rate=40000, parallelism=2, checkpoint__interval="100ms",
               checkpoint__dir=f"{place}/chk", **sets)
    if not finished(what, run_):
        return None
    same_lines(what, run_.lines(), want, run_.story())
    check(f"{what}: checkpoints completed", run_.report["checkpoints"]["completed"] > 1,
          run_.report["checkpoints"])
    for wanted in says:
        about = [line for line in run_.err.splitlines() if wanted in line]
        check(f"{what}: one line is about {wanted}", len(about) == 1, run_.story())
    return run_


def as_nobody(program):
    """The prefix that runs as an ordinary user, if we may, and the one that forbids io_uring.

    Both programs lie where that user can read them: a clone below /root is closed to it.
    """
    if os.geteuid() != 0:
        return LIMITED, FORBID
    if not shutil.which("setpriv"):
        e2e.skip("setpriv is not there: not tried as an ordinary user")
        return None, None
    e2e.WEIR = open_copy(program)
    return [*LIMITED, *NOBODY], [sys.executable, open_copy(FORBIDS)]


def open_copy(program):
    copy = f"{e2e.scratch}/{os.path.basename(program)}"
    shutil.copy(program, copy)
    os.chmod(copy, 0o755)
    return copy


def main():
    folder = text()
    want = sorted(b"%s\t%d\n" % item for item in words.count(folder).items())
    huge = ["hugepages"] if no_hugepages() else []

    run("no hugepages asked for", [], folder, want, e2e.fresh("place"), [],
        memory__hugepages="off")
    plain = run("as it is", [], folder, want, e2e.fresh("place"), huge)
    uring = plain and plain.report["environment"]["io_backend"].startswith("uring")
    if not uring:
        e2e.skip("io_uring does not work here: nothing to forbid")
    forbidden = run("io_uring forbidden", FORBID, folder, want, e2e.fresh("place"),
                    huge + ["io_uring"])
    check("io_uring forbidden: the report says posix",
          forbidden and forbidden.report["environment"]["io_backend"] == "posix",
          forbidden and forbidden.report["environment"])
    asked = Run("wordcount", prefix=FORBID, job__input=folder, io__backend="uring",
                checkpoint__interval="100ms", checkpoint__dir=e2e.fresh("chk"))
    check("io_uring forbidden but asked for: refused with its name",
          asked.code not in (0, 70) and "io_uring" in asked.err, asked.story())
    os.chmod(e2e.scratch, 0o777)
    ordinary, forbid = as_nobody(e2e.WEIR)
    if ordinary is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if hard != resource.RLIM_INFINITY and hard < 8 << 20:
        e2e.skip(f"memlock is limited to {hard} bytes, less than the 8 MiB of the test")
    run("ordinary user, 8 MiB memlock", ordinary, folder, want, e2e.fresh("place"), huge)
    run("ordinary user, io_uring forbidden", [*ordinary, *forbid], folder, want,
        e2e.fresh("place"), huge + ["io_uring"])


def no_hugepages():
    with open("/proc/meminfo", encoding="ascii") as file:
        return any(line.split() == ["HugePages_Free:", "0"] for line in file)


main()
e2e.conclude()

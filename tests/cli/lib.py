"""What the black-box tests share: running the program, counting what holds."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

WEIR = sys.argv[1]
failures = []
checks = 0
folders = []


def check(what, holds, detail=""):
    global checks
    checks += 1
    if not holds:
        failures.append(what)
        print(f"FAIL {what}\n{detail}")


def weir(*args, env=None, cwd=None, stdin=None, timeout=60):
    """Run to the end: (exit code, standard output, standard error)."""
    done = subprocess.run([WEIR, *args], capture_output=True, text=True, timeout=timeout, cwd=cwd,
                          env={**os.environ, **(env or {})}, input=stdin, errors="replace")
    return done.returncode, done.stdout, done.stderr


def folder():
    folders.append(tempfile.mkdtemp(prefix="weir-cli-"))
    return folders[-1]


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def conclude():
    if failures:
        print(f"left for inspection: {' '.join(folders)}")
    else:
        for path in folders:
            shutil.rmtree(path)
    print(f"{checks - len(failures)} of {checks} hold")
    sys.exit(1 if failures else 0)

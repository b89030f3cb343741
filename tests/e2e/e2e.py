"""What the end-to-end tests share: runs of the real program, comparing, counting what holds.

Every test is called as TEST.py WEIR [options]; WEIR is the program under test. A check that cannot be
made here says so loudly in a line that begins with SKIP.
"""

import atexit
import glob
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WEIR = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
# A loaded machine or a sanitizer build is slow, not wrong.
PATIENCE = float(os.environ.get("WEIR_E2E_PATIENCE", "1"))

failures = []
checks = 0
scratch = tempfile.mkdtemp(prefix="weir-e2e-")
os.chmod(scratch, 0o755)


def leave():
    """Also where nothing was concluded: a folder that nobody has used goes."""
    try:
        os.rmdir(scratch)
    except OSError:
        pass


atexit.register(leave)


def check(what, holds, detail=""):
    global checks
    checks += 1
    if not holds:
        failures.append(what)
        print(f"FAIL {what}\n{detail}", flush=True)
    return bool(holds)


def skip(what):
    print(f"SKIP {what}", flush=True)


def conclude():
    if failures:
        print(f"left for inspection: {scratch}")
    else:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{checks - len(failures)} of {checks} hold")
    sys.exit(1 if failures else 0)


def reference(name):
    """A program of tests/reference as a module."""
    spec = importlib.util.spec_from_file_location(name, f"{ROOT}/tests/reference/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


counter = 0


def fresh(kind):
    """A path that nothing has used."""
    global counter
    counter += 1
    return f"{scratch}/{kind}{counter}"


def new_folder(kind="round"):
    path = fresh(kind)
    os.mkdir(path)
    return path


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def flip(path, offset):
    """Change one bit of this byte; a second time, it is as it was."""
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def weir(*args):
    """A command that ends by itself: code, output and errors as text."""
    return subprocess.run([WEIR, *args], capture_output=True, text=True, check=False, cwd=scratch,
                          timeout=60 * PATIENCE)


def number_of(path):
    """Of a checkpoint, by its path."""
    return int(path.rsplit("-", 1)[1])


def checkpoints(folder):
    """Paths of the complete checkpoints of a checkpoint.dir, ascending."""
    found = glob.glob(f"{folder}/*/chk-*/manifest")
    return sorted((os.path.dirname(path) for path in found), key=number_of)


def newest(folder):
    """Number of the newest complete checkpoint; 0: none."""
    return max(map(number_of, checkpoints(folder)), default=0)


def inspect(path):
    """What is in a checkpoint; empty where it is none, or none any more."""
    done = weir("checkpoint", "inspect", path)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def whole(what, path):
    done = weir("checkpoint", "verify", path)
    return check(f"{what}: {path} is whole", done.returncode == 0, done.stderr)


def refused(what, path, victim):
    """Verify refuses the checkpoint, and names the file."""
    done = weir("checkpoint", "verify", path)
    return check(f"{what}: verify", done.returncode == 65 and os.path.basename(victim) in done.stderr,
                 done.stderr)


def arguments(job, sets, report):
    args = [WEIR, "run", job, "--report", report]
    for key, value in sets.items():
        args += ["--set", f"{key.replace('__', '.').replace('_', '-')}={value}"]
    return args


def lines_of(folder):
    """All lines under an output directory, sorted; names that do not belong there are a failure."""
    lines = []
    for name in sorted(os.listdir(folder)):
        if not name.startswith("part-"):
            check(f"only committed files in {folder}", False, name)
            continue
        with open(f"{folder}/{name}", "rb") as file:
            data = file.read()
        check(f"{name} ends with a newline", data == b"" or data.endswith(b"\n"), folder)
        lines += [line + b"\n" for line in data.split(b"\n")[:-1]]
    return sorted(lines)


def read_json(path):
    """None where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


class Run:
    """One run of a job to its end. sets: configuration, job__input for job.input."""

    def __init__(self, job, prefix=(), timeout=120, output=None, **sets):
        self.output = output or fresh("out")
        self.report_path = fresh("report")
        sets = {"job__output": self.output, **sets}
        self.args = [*prefix, *arguments(job, sets, self.report_path)]
        self.start(timeout * PATIENCE)

    def start(self, timeout):
        done = subprocess.run(self.args, capture_output=True, timeout=timeout, check=False,
                              stdin=subprocess.DEVNULL, cwd=scratch)
        self.finish(done.returncode, done.stdout, done.stderr)

    def finish(self, code, out, err):
        self.code, self.out, self.err = code, out, err.decode(errors="replace")
        self.report = read_json(self.report_path)

    def story(self):
        return f"{' '.join(self.args)}\nexit code {self.code}\n{self.err}"

    def lines(self):
        return lines_of(self.output) if os.path.isdir(self.output) else []

    def operator(self, name):
        return next(o for o in self.report["operators"] if o["id"] == name)


def finished(what, run):
    """The run ended well and says so."""
    good = check(f"{what}: exit code 0", run.code == 0, run.story())
    state = run.report["state"] if run.report else None
    return check(f"{what}: FINISHED", state == "FINISHED", run.story()) and good


def first_difference(got, want):
    missing, extra = sorted(set(want) - set(got)), sorted(set(got) - set(want))
    return (f"{len(got)} lines, expected {len(want)}\nmissing {len(missing)}: {missing[:3]}\n"
            f"not expected {len(extra)}: {extra[:3]}")


def same_lines(what, got, want, story=""):
    return check(what, got == want, "" if got == want else
                 f"{first_difference(got, want)}\n{story}")


def kill(pid, signal_number=signal.SIGKILL):
    try:
        os.kill(pid, signal_number)
        return True
    except ProcessLookupError:
        return False


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def alive(pid):
    """Runs, or waits to be reaped by somebody who will: a zombie is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


PHASES = ("prepare_ms", "start_delay_ms", "alignment_ms", "sync_ms", "async_ms", "finalize_ms")


def phases_sum(what, completed):
    """Phases of a completed checkpoint, as the report has it: none is negative, and they sum to the
    whole within 5 %."""
    c = completed
    check(f"{what}: phases of {c['id']} sum to the whole", abs(sum(c[p] for p in PHASES) - c["duration_ms"])
          <= 0.05 * c["duration_ms"] + 0.001, c)
    check(f"{what}: no phase of {c['id']} is negative", min(c[p] for p in PHASES) >= 0, c)


def wait_until(condition, seconds):
    """Whether it came true in time. A machine may stand still for seconds, with all that runs on it:
    that time does not count."""
    left = seconds * PATIENCE
    while left > 0:
        begin = time.monotonic()
        if condition():
            return True
        time.sleep(0.002)
        left -= min(time.monotonic() - begin, 0.5)
    return bool(condition())

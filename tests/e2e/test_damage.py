#!/usr/bin/env python3
"""A checkpoint with any byte changed, or cut short anywhere: verify and restore refuse it with 65.

test_damage.py WEIR [--every]        --every: each byte of the data files too, not a sample
"""

import concurrent.futures
import os
import random
import shutil
import sys

import e2e
from e2e import Run, check

rng = random.Random(11)


def make(folder):
    """A small finished job with its final checkpoint: the path of the chk-n."""
    e2e.write(f"{folder}/in/a", b"some words to count, some of them more than once\n" * 3)
    run = Run("wordcount", job__input=f"{folder}/in", checkpoint__interval="20ms", parallelism=2,
              checkpoint__dir=f"{folder}/chk", checkpoint__retained=2, memory__state="1MiB")
    e2e.finished("the job that makes the checkpoint", run)
    return e2e.checkpoints(f"{folder}/chk")[-1]


def verify(chk):
    done = e2e.weir("checkpoint", "verify", chk)
    return done.returncode, done.stdout + done.stderr


def files_of(chk):
    """The manifest and every data file that the checkpoint uses."""
    return [f"{chk}/manifest"] + sorted({f["path"] for f in e2e.inspect(chk)["files"]})


def changes(path, every):
    """(what, bytes) of damaged versions of a file."""
    with open(path, "rb") as file:
        data = file.read()
    manifest = path.endswith("manifest")
    places = set(range(len(data))) if manifest or every else {
        *range(0, 64), *range(4096, 4096 + 128), *range(0, len(data), 41), len(data) - 1}
    for at in sorted(places):
        changed = bytearray(data)
        changed[at] ^= 1 << rng.randrange(8)
        yield f"byte {at} changed", bytes(changed)
    for size in sorted({*range(0, len(data), 29 if manifest else 509), 1, len(data) - 1}):
        yield f"cut to {size} bytes", data[:size]
    yield "all zeros", bytes(len(data))
    if manifest:
        yield "one byte more", data + b"\0"


def copy_of(chk):
    """Another folder with the same checkpoint: (its root, the chk-n)."""
    root = e2e.fresh("copy")
    folder = os.path.dirname(chk)
    shutil.copytree(folder, f"{root}/wordcount")
    return root, f"{root}/wordcount/{os.path.basename(chk)}"


def refused(what, code, text, name):
    """65, and the text names the file and more than that."""
    reason = text.split(name)[-1].strip(" :\n")
    check(f"{what}: 65", code == 65, f"{code} {text}")
    check(f"{what}: names file and reason", name in text and len(reason) > 5, text)


def one_lane(chk, number, lanes, every):
    """This lane's share of all changes, in a copy of its own."""
    results = []
    _, copy = copy_of(chk)
    for original in files_of(chk):
        path = original.replace(os.path.dirname(chk), os.path.dirname(copy))
        with open(original, "rb") as file:
            data = file.read()
        for turn, (what, changed) in enumerate(changes(original, every)):
            if turn % lanes != number:
                continue
            with open(path, "wb") as file:
                file.write(changed)
            results.append((f"verify, {os.path.basename(original)}, {what}", *verify(copy),
                            os.path.basename(path)))
        with open(path, "wb") as file:
            file.write(data)
    return results


def verify_all(chk, every):
    code, text = verify(chk)
    check("the checkpoint is whole", code == 0, text)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        lanes = [pool.submit(one_lane, chk, number, 4, every) for number in range(4)]
        for lane in lanes:
            for result in lane.result():
                refused(*result)


def restore(chk, sets):
    return Run("wordcount", job__input=f"{os.path.dirname(chk)}/../../in", parallelism=2,
               memory__state="1MiB", checkpoint__interval="20ms",
               **{"checkpoint__dir": e2e.fresh("chk"), **sets})


def restore_some(chk, count):
    """Restore refuses the same: by path, and as latest; nothing is made or deleted."""
    for original in files_of(chk):
        some = list(changes(original, False))
        for what, changed in rng.sample(some, count):
            root, copy = copy_of(chk)
            path = original.replace(os.path.dirname(chk), os.path.dirname(copy))
            with open(path, "wb") as file:
                file.write(changed)
            what = f"restore, {os.path.basename(original)}, {what}"
            run = restore(chk, {"restore__from": copy})
            refused(f"{what}, by path", run.code, run.err.split("FAILED")[0],
                    os.path.basename(path))
            check(f"{what}: report FAILED", run.report and run.report["state"] == "FAILED" and
                  run.report["exit_code"] == 65, run.story())
            check(f"{what}: no output", not run.lines(), run.lines())
            run = restore(chk, {"restore__from": "latest", "checkpoint__dir": root})
            check(f"{what}, as latest: 65", run.code == 65, run.story())
            check(f"{what}, as latest: the next older one is named or there is none",
                  "chk-" in run.err or "there is no older checkpoint" in run.err, run.story())
            check(f"{what}: the checkpoint is still there", os.path.exists(path))


def missing(chk):
    for original in files_of(chk):
        _, copy = copy_of(chk)
        path = original.replace(os.path.dirname(chk), os.path.dirname(copy))
        os.unlink(path)
        code, text = verify(copy)
        allowed = (65, 66) if original.endswith("manifest") else (65,)
        check(f"{path} missing: verify refuses", code in allowed and
              os.path.basename(path) in text, f"{code} {text}")
        run = restore(chk, {"restore__from": copy})
        check(f"{path} missing: restore refuses", run.code in allowed and
              os.path.basename(path) in run.err, run.story())
    _, copy = copy_of(chk)
    files = [f for f in files_of(chk) if f.endswith(".dat")]
    if len(files) > 1:
        swapped = [f.replace(os.path.dirname(chk), os.path.dirname(copy)) for f in files[:2]]
        os.rename(swapped[0], swapped[0] + "x")
        os.rename(swapped[1], swapped[0])
        os.rename(swapped[0] + "x", swapped[1])
        code, text = verify(copy)
        check("two data files exchanged: 65", code == 65, text)
        run = restore(chk, {"restore__from": copy})
        check("two data files exchanged: restore refuses", run.code == 65, run.story())


def main():
    every = "--every" in sys.argv
    folder = e2e.fresh("job")
    chk = make(folder)
    verify_all(chk, every)
    missing(chk)
    restore_some(chk, 12 if every else 3)
    e2e.conclude()


main()

#!/usr/bin/env python3
"""Checkpoints from outside: a real run, then list, inspect, verify and restore, whole and damaged."""

import json
import os
import random
import shutil

from lib import check, conclude, folder, weir

HOME = folder()
INPUT = os.path.join(HOME, "in")
DIR = os.path.join(HOME, "checkpoints")
JOB = os.path.join(DIR, "wordcount")
random.seed(7)


def run(output, *more):
    return weir("run", "wordcount", "--set", f"job.input={INPUT}", "--set", f"job.output={output}",
                "--set", f"checkpoint.dir={DIR}", "--set", "checkpoint.interval=20ms",
                "--set", "checkpoint.retained=3", "--set", "parallelism=2", *more)


def words(output):
    lines = []
    for name in os.listdir(output):
        check(f"{name} is committed", not name.startswith("."))
        with open(os.path.join(output, name), encoding="utf-8") as file:
            lines += file.readlines()
    return sorted(lines)


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << random.randrange(8)]))
    return byte


def put(path, at, byte):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(bytes([byte]))


with open(INPUT, "w", encoding="utf-8") as text:
    for number in range(4000):
        text.write(f"word{number % 700} a b{number % 11}\n")

code, out, err = run(os.path.join(HOME, "out"), "--set", "job.rate=2k")
check("the run finishes", code == 0, err)
expected = words(os.path.join(HOME, "out"))

# list
code, out, err = weir("checkpoint", "list", DIR, "--json")
check("list", code == 0, err)
listed = json.loads(out)
check("three are kept, ascending", len(listed) == 3 and
      [c["id"] for c in listed] == sorted(c["id"] for c in listed), out)
check("all are whole", all(c["status"] == "ok" and c["job"] == "wordcount" for c in listed), out)
check("a job's folder lists the same", json.loads(weir("checkpoint", "list", JOB, "--json")[1]) == listed)
check("text has a line for each", len(weir("checkpoint", "list", DIR)[1].splitlines()) == 3)
empty = folder()
code, out, err = weir("checkpoint", "list", empty, "--json")
check("an empty folder has none", code == 0 and json.loads(out) == [], err)

# inspect
newest = listed[-1]["path"]
code, out, err = weir("checkpoint", "inspect", newest)
check("inspect", code == 0, err)
seen = json.loads(out)
check("inspect says which", seen["id"] == listed[-1]["id"] and seen["kind"] == "final", out[:400])
check("operators by id", {"lines", "words", "counts", "result"} <= {o["id"] for o in seen["operators"]})
source = next(o for o in seen["operators"] if o["id"] == "lines")
check("counters are in it (R12)", sum(s["rows_out"] for s in source["subtasks"]) == 4000, source)
check("ranges are absolute and there", seen["files"] and all(
    os.path.isabs(f["path"]) and f["offset"] + f["bytes"] <= os.path.getsize(f["path"])
    for f in seen["files"]), seen["files"])
check("the manifest is no range", not any(f["path"].endswith("manifest") for f in seen["files"]))

# verify, whole and with every kind of damage
code, out, err = weir("checkpoint", "verify", newest)
check("verify", code == 0, err)
check("verify as JSON", json.loads(weir("checkpoint", "verify", newest, "--json")[1])["ok"])
manifest = os.path.join(newest, "manifest")
places = [(manifest, random.randrange(os.path.getsize(manifest))) for _ in range(15)]
for used in seen["files"]:
    places += [(used["path"], used["offset"] + random.randrange(used["bytes"])) for _ in range(15)]
    places += [(used["path"], used["offset"]), (used["path"], used["offset"] + used["bytes"] - 1)]
for path, at in places:
    byte = flip(path, at)
    code, out, err = weir("checkpoint", "verify", newest)
    check(f"flipped byte {at} of {path}", code == 65 and path in err, err)
    put(path, at, byte)
for path in {path for path, _ in places}:
    size = os.path.getsize(path)
    saved = path + ".saved"
    shutil.copyfile(path, saved)
    for cut in (0, size // 2, size - 1):
        os.truncate(path, cut)
        code, out, err = weir("checkpoint", "verify", newest)
        check(f"{path} cut to {cut}", code == 65 and path in err, err)
        shutil.copyfile(saved, path)
    os.remove(saved)
check("whole again", weir("checkpoint", "verify", newest)[0] == 0)

# R11: a damaged newest is refused, and the older one named; nobody falls back by himself
older = listed[-2]["path"]
data = seen["files"][0]
for path, at in ((manifest, 40), (data["path"], data["offset"] + data["bytes"] // 2)):
    byte = flip(path, at)
    code, out, err = run(os.path.join(HOME, "refused"), "--set", "restore.from=latest")
    check(f"latest damaged at {path} is refused", code == 65 and path in err and older in err, err)
    put(path, at, byte)
renamed = os.path.join(JOB, "chk-99999")
os.rename(newest, renamed)
check("a chk-n under another number", weir("checkpoint", "verify", renamed)[0] == 65)
os.rename(renamed, newest)

# the final checkpoint of a finished run: restored, committed again, ended
code, out, err = run(os.path.join(HOME, "out"), "--set", "restore.from=latest")
check("after FINISHED", code == 0, err)
check("the output is the same", words(os.path.join(HOME, "out")) == expected)
# the one before it: the rest is read again, into a place of its own
code, out, err = run(os.path.join(HOME, "again"), "--set", f"restore.from={older}")
check("from an older one by its path", code == 0, err)
check("the same words", words(os.path.join(HOME, "again")) == expected)

conclude()

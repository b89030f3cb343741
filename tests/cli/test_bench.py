#!/usr/bin/env python3
"""weir bench from outside: fields of its JSON, arithmetic of its result, settings, errors.

test_bench.py WEIR

Runs are as short as they can be: rates are not looked at, only that both sides did the same work.
"""

import json
import os

from lib import check, conclude, folder, load, weir

d = folder()
PAIR = {"weir", "reference", "ratio", "rtt_ns_before", "rtt_ns_after", "valid", "why"}
FIELDS = {"bench", "setup", "references", "pairs", "ratio", "weir", "reference", "unit",
          "environment"}
ENVIRONMENT = {"kernel", "cpu", "governor", "hugepages", "io_backend", "o_direct", "dpdk",
               "allocator", "git"}
SHORT = ["--pairs", "2", "--seconds", "0.02"]
CPUS = sorted(os.sched_getaffinity(0))


def spread_of(values):
    values = sorted(values)
    n = len(values)
    return {"median": (values[(n - 1) // 2] + values[n // 2]) / 2, "min": values[0],
            "max": values[-1]}


def judge(what, result, setup):
    check(f"{what}: its fields", FIELDS <= set(result), result.keys())
    check(f"{what}: environment", ENVIRONMENT <= set(result["environment"]), result["environment"])
    check(f"{what}: git is known", result["environment"]["git"] != "", result["environment"])
    check(f"{what}: back end", result["environment"]["io_backend"]
          in ("uring-registered", "uring", "posix"), result["environment"])
    for key, value in setup.items():
        check(f"{what}: setup.{key}", result["setup"].get(key) == value, result["setup"])
    check(f"{what}: references", all(set(r) == {"name", "what"} for r in result["references"]))
    pairs = result["pairs"]
    check(f"{what}: pairs", 2 <= len(pairs) <= 4 and all(set(p) == PAIR for p in pairs), pairs)
    for p in pairs:
        check(f"{what}: a pair's ratio", abs(p["ratio"] - p["weir"] / p["reference"]) < 1e-3, p)
        check(f"{what}: an invalid pair says why", p["valid"] == (p["why"] == ""), p)
    counted = [p for p in pairs if p["valid"]] or pairs
    for name in ("ratio", "weir", "reference"):
        want = spread_of([p[name] for p in counted])
        good = all(abs(result[name][k] - want[k]) <= 1e-3 * abs(want[k]) + 1e-3 for k in want)
        check(f"{what}: {name} over the pairs that count", good, (result[name], want))


def bench(what, name, *sets, setup):
    path = os.path.join(d, "result.json")
    args = [part for s in sets for part in ("--set", s)]
    rc, out, err = weir("bench", name, *args, *SHORT, "--json", path, timeout=240)
    check(f"{what}: exit code 0", rc == 0, err)
    check(f"{what}: nothing on standard output", out == "", out)
    if rc == 0:
        judge(what, load(path), setup)


def refused(what, code, args, text):
    rc, out, err = weir("bench", *args)
    check(f"{what}: exit code {code}", rc == code, f"got {rc}\n{err}")
    check(f"{what}: says {text!r}", text in err, err)
    check(f"{what}: nothing on standard output", out == "", out)


refused("no bench", 64, [], "expects one bench")
refused("unknown bench", 64, ["rnig"], "rnig: no such bench")
refused("unknown option", 64, ["ring", "--pears", "5"], "not understood")
refused("bad pairs", 64, ["ring", "--pairs", "0"], "--pairs 0")
refused("unknown key", 78, ["fused", "--set", "kyes=5"], "kyes=5")
refused("bad count", 78, ["fused", "--set", "keys=010"], "keys=010")
refused("bad choice", 78, ["exchange", "--set", "combiner=maybe"], "expects true|false")
rc, out, err = weir("bench", "--help")
check("help: on standard output", rc == 0 and "ring" in out and "combiner=true|false" in out, out)
check("help: behind a bench, too", weir("bench", "ring", "--help") == (0, out, ""))

bench("fused", "fused", "keys=1k", setup={"keys": 1000})
if len(CPUS) < 2:
    print("SKIP ring and exchange: need two CPUs")
else:
    bench("ring", "ring", setup={})
    bench("exchange", "exchange", "keys=1000", setup={"keys": 1000, "combiner": False})
    bench("exchange, combined", "exchange", "keys=1000", "combiner=true",
          setup={"combiner": True})
    bench("exchange, one to one", "exchange", "keys=1M", "shape=1-1", setup={"shape": "1-1"})
    refused("one CPU twice", 78, ["ring", "--cpus", f"{CPUS[0]},{CPUS[0]}"], "needs two CPUs")

# Several setups are a list, on standard output if asked.
rc, out, err = weir("bench", "fused", "--sweep", "keys=10,1k", *SHORT, "--json", "-", timeout=240)
if rc == 0:
    results = json.loads(out)
    check("sweep: a list", [r["setup"]["keys"] for r in results] == [10, 1000], out)
else:
    check("sweep: exit code 0", False, err)
conclude()

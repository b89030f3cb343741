#!/usr/bin/env python3
"""nexmark-q0 q1 q2 q5 q7 against tests/reference: seeds, rates, lengths, disorder, placements.

test_nexmark.py WEIR [--recompute]

Short runs are compared line by line with what the reference computes now; for long ones the
reference's digests are kept in DIGESTS (--recompute computes them again, which takes minutes).
"""

import hashlib
import itertools
import sys

import e2e
from e2e import Run, check, finished, same_lines

nexmark = e2e.reference("nexmark")
QUERIES = ("q0", "q1", "q2", "q5", "q7")

# (seed, events, rate): query -> lines, first 16 hex digits of SHA-256 over the sorted lines.
DIGESTS = {
    (1, 1000000, 100000): {
        "q0": (920000, "6144a2b5c301c85e"),
        "q1": (920000, "cfee20a9ba2371d8"),
        "q2": (6789, "7bbd2676603495a1"),
        "q5": (9, "b34123eb0e36b96b"),
        "q7": (1, "fbb1c1d2a5e3d006"),
    },
    (7, 1000003, 20000): {
        "q0": (920000, "8d76b042e62751b2"),
        "q1": (920000, "6c940ed3be05364b"),
        "q2": (6936, "dfee1804132b535a"),
        "q5": (30, "f9e905af8645cd46"),
        "q7": (5, "e73a3fcdd2048987"),
    },
    (42, 3000000, 30000): {
        "q0": (2760000, "c7296ae8fd343759"),
        "q1": (2760000, "1183182c58ce8dbc"),
        "q2": (22299, "f2197ecda8987f66"),
        "q5": (66, "c1462b8131c8810b"),
        "q7": (10, "1f0a648b185cb295"),
    },
    (123456789, 1000003, 10000000): {
        "q0": (920000, "0fd37d78a58cd66b"),
        "q1": (920000, "a351627949605e6f"),
        "q2": (6848, "16652486525e897f"),
        "q5": (5, "d75e04c44a2ab4ac"),
        "q7": (1, "e406ca22aef53637"),
    },
}

# Ways to run the same job; every one gives the same lines.
WAYS = (
    {"parallelism": 1},
    {"parallelism": 2},
    {"parallelism": 4},
    {"cores": "0,0"},
    {"cores": "0,1,0,1"},
    {"cores": "0,0,0,1", "memory__frame_size": "4KiB"},
    {"parallelism": 2, "memory__frame_size": "64KiB"},
    {"parallelism": 3, "memory__frame_size": "4KiB", "exchange__combiner": "off"},
    {"parallelism": 2, "exchange__combiner": "off"},
    {"parallelism": 2, "job__rebalance": "true"},
    {"parallelism": 2, "job__out_of_order_group": 100},
    {"parallelism": 3, "job__out_of_order_group": 7777, "job__rebalance": "true"},
    {"cores": "0,1", "operators__bids__parallelism": 2, "operators__bids__cores": "1,0"},
    {"cores": "0,1", "operators__bids__parallelism": 1, "operators__bids__cores": "0",
     "operators__result__parallelism": 3, "operators__result__cores": "1,0,1",
     "job__rebalance": "true"},
)


def name_of(query, way):
    return f"nexmark-{query} " + " ".join(f"{k.replace('__', '.')}={v}" for k, v in way.items())


def run_query(query, seed, events, rate, way):
    return Run(f"nexmark-{query}", job__seed=seed, job__events=events, job__event_rate=rate, **way)


def rows_are_counted(what, run, events):
    for source in run.report["sources"]:
        check(f"{what}: the source has read {events} events", source["rows"] == events, source)
        operator = run.operator(source["id"])
        total = operator["rows_out"] + sum(operator["dropped"].values())
        check(f"{what}: rows = rows out + dropped", total == source["rows"], operator)


def short():
    """Every way, with lengths around the edges; line by line."""
    lengths = itertools.cycle((0, 1, 4, 5, 49, 50, 51, 1000, 2500, 20011))
    rates = itertools.cycle((100000, 1000, 10000000, 49, 777))
    seeds = itertools.cycle((1, 2, 0, 18446744073709551615, 12345))
    cases = [(query, way) for way in WAYS for query in QUERIES]
    for query, way in cases:
        seed, events, rate = next(seeds), next(lengths), next(rates)
        what = f"{name_of(query, way)} seed={seed} events={events} rate={rate}"
        run = run_query(query, seed, events, rate, way)
        if finished(what, run):
            want = nexmark.run(query, seed, events, rate).encode().splitlines(keepends=True)
            same_lines(what, run.lines(), sorted(want), run.story())
            rows_are_counted(what, run, events)


def long():
    ways = itertools.cycle(WAYS)
    for (seed, events, rate), expected in DIGESTS.items():
        for query in QUERIES:
            way = next(ways)
            what = f"{name_of(query, way)} seed={seed} events={events} rate={rate}"
            run = run_query(query, seed, events, rate, way)
            if not finished(what, run):
                continue
            lines = run.lines()
            digest = hashlib.sha256(b"".join(lines)).hexdigest()[:16]
            check(what, (len(lines), digest) == expected[query],
                  f"{len(lines)} {digest}, expected {expected[query]}\n{run.story()}")
            rows_are_counted(what, run, events)


def refused():
    for group in (953, 1906):
        run = Run("nexmark-q0", job__events=10, job__out_of_order_group=group)
        check(f"out-of-order-group {group}: 78", run.code == 78 and "953" in run.err, run.story())


def recompute():
    for seed, events, rate in (
        (1, 1000000, 100000), (7, 1000003, 20000), (42, 3000000, 30000), (123456789, 1000003, 10000000)
    ):
        bids = list(nexmark.Events(seed, rate).bids(events))
        print(f"    ({seed}, {events}, {rate}): {{")
        for query in QUERIES:
            text = "".join(line + "\n" for line in sorted(nexmark.QUERIES[query](bids)))
            digest = hashlib.sha256(text.encode()).hexdigest()[:16]
            print(f'        "{query}": ({text.count(chr(10))}, "{digest}"),', flush=True)
        print("    },")


def main():
    if "--recompute" in sys.argv:
        recompute()
        return
    short()
    long()
    refused()
    e2e.conclude()


main()

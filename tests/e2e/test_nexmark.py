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

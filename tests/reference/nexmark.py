#!/usr/bin/env python3
"""Expected output of the nexmark jobs, computed from the rules alone.

    nexmark.py QUERY [--seed N] [--events N] [--rate N]     lines, sorted bytewise
    nexmark.py --check [QUERY...]                           compare with known digests

Shares no code with weir. The order in which events come (out-of-order group, parallelism,
rebalance) does not change the result, so it is no argument here.
"""

import argparse
import hashlib
import sys
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal, getcontext

M64 = (1 << 64) - 1
G = 0x9E3779B97F4A7C15
BASE_MS = 1436918400000
ID0 = 1000


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def price_table():
    getcontext().prec = 50
    return [
        int((Decimal(10) ** (Decimal(6 * k) / 1024) * 100).to_integral_value(ROUND_HALF_UP))
        for k in range(1025)
    ]


class Events:
    """Bids by event number."""

    def __init__(self, seed, rate):
        self.seed = seed
        self.rate = rate
        self.table = price_table()

    def time(self, n):
        return BASE_MS + n * 1000 // self.rate

    def bid(self, n):
        """(auction, bidder, price, time) of event n, which is a bid."""
        base = mix((self.seed + n * G) & M64)

        def draw(i):
            return mix((base + (i + 1) * G) & M64)

        def uniform(i, m):
            return (draw(i) * m) >> 64

        epoch = n // 50
        newest_auction = 3 * epoch + min(n % 50, 3) - 1
        newest_person = epoch
        if uniform(0, 2) > 0:
            auction = newest_auction // 100 * 100
        else:
            oldest = max(newest_auction - 100, 0)
            auction = oldest + uniform(1, newest_auction - oldest + 11)
        if uniform(2, 4) > 0:
            bidder = newest_person // 100 * 100 + 1
        else:
            active = min(newest_person + 1, 1000)
            bidder = newest_person + 1 - active + uniform(3, active + 10)
        x = draw(4)
        j = x >> 54
        part = (x >> 22) & 0xFFFFFFFF
        price = self.table[j] + (((self.table[j + 1] - self.table[j]) * part) >> 32)
        return auction + ID0, bidder + ID0, price, self.time(n)

    def bids(self, count):
        for n in range(count):
            if n % 50 >= 4:
                yield self.bid(n)


def q0(bids):
    return ["%d,%d,%d,%d" % bid for bid in bids]


def q1(bids):
    lines = []
    for auction, bidder, price, time in bids:
        thousandths = price * 908
        lines.append(
            "%d,%d,%d.%03d,%d" % (auction, bidder, thousandths // 1000, thousandths % 1000, time)
        )
    return lines


def q2(bids):
    return ["%d,%d" % (b[0], b[2]) for b in bids if b[0] % 123 == 0]


def q5(bids):
    size, slide = 10000, 2000
    windows = defaultdict(lambda: defaultdict(int))
    for auction, _, _, time in bids:
        last = time // slide * slide
        for start in range(last - size + slide, last + slide, slide):
            windows[start][auction] += 1
    lines = []
    for start, counts in windows.items():
        most = max(counts.values())
        lines += ["%d,%d,%d" % (start, a, n) for a, n in counts.items() if n == most]
    return lines


def q7(bids):
    size = 10000
    windows = defaultdict(list)
    for bid in bids:
        best = windows[bid[3] // size * size]
        if best and best[0][2] < bid[2]:
            best.clear()
        if not best or best[0][2] == bid[2]:
            best.append(bid)
    return ["%d,%d,%d,%d,%d" % ((start,) + b) for start, best in windows.items() for b in best]


QUERIES = {"q0": q0, "q1": q1, "q2": q2, "q5": q5, "q7": q7}

# Seed 1, 1,000,000 events at 100,000 a second: first 16 hex digits of SHA-256 over sorted lines.
KNOWN = {
    "q0": "6144a2b5c301c85e",
    "q1": "cfee20a9ba2371d8",
    "q2": "7bbd2676603495a1",
    "q5": "b34123eb0e36b96b",
    "q7": "fbb1c1d2a5e3d006",
}


def run(query, seed, events, rate):
    lines = QUERIES[query](Events(seed, rate).bids(events))
    return "".join(line + "\n" for line in sorted(lines))


def check(queries):
    bad = 0
    bids = list(Events(1, 100000).bids(1000000))
    for query in queries or sorted(KNOWN):
        text = "".join(line + "\n" for line in sorted(QUERIES[query](bids)))
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        good = digest == KNOWN[query]
        print(query, digest, "ok" if good else "WRONG, expected " + KNOWN[query])
        bad += not good
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("query", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events", type=int, default=100000)
    parser.add_argument("--rate", type=int, default=10000000)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    for query in args.query:
        if query not in QUERIES:
            parser.error("no such query: " + query)
    if args.check:
        return check(args.query)
    if len(args.query) != 1:
        parser.error("one query")
    sys.stdout.write(run(args.query[0], args.seed, args.events, args.rate))
    return 0


if __name__ == "__main__":
    sys.exit(main())

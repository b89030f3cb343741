#!/usr/bin/env python3
"""Data in flight across crashes and changes of parallelism: nothing lost, doubled, out of order.

inflight_loop.py WEIR PLUGIN kill    [--rounds N] [--seed N]
                             restart [--rounds N] [--seed N]
                             rescale [--rounds N] [--seed N] [--shape NAME]... [--step A:B]...
                                     [--mode aligned|unaligned]...

  kill      nexmark-q0 with a rebalance, unaligned, under back pressure: kill -9 of the worker at
            random moments; most restores must find frames in flight
  restart   the same worker killed again and again, as soon as it has made a checkpoint after a
            restore, while restored frames are still unconsumed; 20 times without a break between
  rescale   a graph of shapes.c (PLUGIN is shapes.so) dies at one parallelism and goes on at the
            other, with data in flight; rounds: how often the whole matrix
"""

import argparse
import itertools
import os
import random
import sys
import time

import e2e
from e2e import check, same_lines
from kill_loop import Kind, Started, newest, tail

SPLITS, KEYS, SECOND = 12, 50, 10000
SHAPES = ("forward", "rebalance", "hash", "broadcast", "union", "two", "deep", "window", "many")
TIMES = 20  # many: how often it repeats a row
STEPS = ((1, 2), (2, 4), (4, 3), (3, 1), (7, 5))
UNALIGNED = {"checkpoint__unaligned": "true"}
# Edges of these are aligned in every mode.
FORCED = ("forward", "broadcast")


# ---- what shapes.c must write ----

def rows_of(rows, base=0):
    for split, at in itertools.product(range(SPLITS), range(rows // SPLITS)):
        yield base + split + SPLITS * (at % KEYS), at // KEYS, split * (rows // SPLITS) + at


def lines_of_shape(shape, rows):
    if shape == "window":
        counts = {}
        for key, _, at in rows_of(rows):
            for start in range(at // 100 * 100 - 300, at // 100 * 100 + 1, 100):
                counts[key, start] = counts.get((key, start), 0) + 1
        return sorted(f"{key} {start} {cnt}\n".encode() for (key, start), cnt in counts.items())
    if shape == "many":
        return sorted(f"k{key} {seq * TIMES + n} 0\n".encode()
                      for key, seq, _ in rows_of(rows) for n in range(TIMES))
    lines = [f"k{key} {seq} 0\n".encode() for key, seq, _ in rows_of(rows)]
    if shape == "two":
        lines += [f"k{key} {seq} 0\n".encode() for key, seq, _ in rows_of(rows, SECOND)]
    if shape == "forward":
        lines += [f"side {key} {seq}\n".encode() for key, seq, _ in rows_of(rows)]
    return sorted(lines)


class Shape:
    """A graph of shapes.c; stands where kill_loop has a Kind."""

    def __init__(self, plugin, shape, rows):
        self.name, self.shape = plugin, shape
        self.sets = {"job__seed": SHAPES.index(shape), "job__events": rows}
        if shape == "many":
            self.sets["job__out_of_order_group"] = TIMES
        self.lines = lines_of_shape(shape, rows)


# ---- helpers ----

def in_flight(report):
    return [(r or {}).get("frames_in_flight", 0) for r in report["restores"]]


def kill_both(run):
    worker = run.worker()
    e2e.kill(run.process.pid)
    if worker:
        e2e.kill(worker)
    run.process.wait()
    if worker:
        e2e.wait_until(lambda: not e2e.alive(worker), 5)


# ---- kill -9 under back pressure ----

def q0():
    return Kind("nexmark-q0", job__events=150000, job__rebalance="true")


def kill_round(rng, kind, number):
    folder, what = e2e.new_folder(), f"round {number}, killed under back pressure"
    run = Started(kind, folder, checkpoint__interval="10ms", job__sink_rate=60000, **UNALIGNED)
    kills, last = 0, 0
    for _ in range(rng.randrange(1, 4)):
        e2e.wait_until(lambda: newest(folder) > last or run.over(), 20)
        time.sleep(rng.uniform(0, 0.4) * e2e.PATIENCE)
        last, worker = newest(folder), run.worker()
        if not run.over() and worker and e2e.kill(worker):
            kills += 1
    report = run.end(what, folder)
    if report is None:
        return []
    check(f"{what}: attempts", report["attempts"] <= kills + 1, report["attempts"])
    same_lines(what, e2e.lines_of(f"{folder}/out"), kind.lines, f"{folder}\n{tail(folder)}")
    return [r for r in report["restores"] if (r["checkpoint"] or 0) > 0]


def kill_rounds(count, seed):
    rng, kind, restores = random.Random(seed), q0(), []
    for number in range(count):
        restores += kill_round(rng, kind, number)
    held = sum(r["frames_in_flight"] > 0 for r in restores)
    print(f"kill, seed {seed}: {count} rounds, {len(restores)} restores, {held} of them with "
          f"frames in flight, at most {max((r['frames_in_flight'] for r in restores), default=0)}")
    check("most restores found frames in flight", held * 2 > len(restores) > 0,
          f"{held} of {len(restores)}")


# ---- crashes while restored frames are unconsumed ----

def restart_round(rng, kind, number, crashes=20):
    folder, what = e2e.new_folder(), f"round {number}, {crashes} crashes in a row"
    run = Started(kind, folder, checkpoint__interval="10ms", job__sink_rate=20000,
                  restart__strategy="fixed-delay", restart__attempts=100, restart__delay="1ms",
                  **UNALIGNED)
    last, progress = 0, []
    for _ in range(crashes):
        # One more checkpoint than the one it was restored from: then it dies at once.
        if not e2e.wait_until(lambda: newest(folder) > last or run.over(), 20) or run.over():
            break
        last = newest(folder)
        worker = run.worker()
        if worker:
            e2e.kill(worker)
            e2e.wait_until(lambda: run.worker() not in (None, worker) or run.over(), 20)
        progress.append(last)
    check(f"{what}: {crashes} crashes", len(progress) == crashes, f"{progress}\n{tail(folder)}")
    report = run.end(what, folder)
    if report is None:
        return
    same_lines(what, e2e.lines_of(f"{folder}/out"), kind.lines, f"{folder}\n{tail(folder)}")
    held = in_flight(report)
    print(f"restart: checkpoints {progress}, restored frames in flight {held}")
    check(f"{what}: most restores found frames in flight",
          sum(h > 0 for h in held) * 2 > len(held) > 0, held)


def restart_rounds(count, seed, crashes=20):
    rng, kind = random.Random(seed), q0()
    for number in range(count):
        restart_round(rng, kind, number, crashes)


# ---- another parallelism ----

def rescale_round(rng, plugin, shape, steps, unaligned, number):
    """A run dies at each parallelism of steps but the last, where it ends. Restored frames."""
    kind = Shape(plugin, shape, 48000)
    folder = e2e.new_folder()
    what = f"rescale {number}, {shape} {steps} {'unaligned' if unaligned else 'aligned'}"
    # Small frames: many are in flight. Where barriers overtake, the sink is slow; where they would
    # wait for it, the source is.
    sets = {"checkpoint__interval": "10ms", "memory__frame_size": "8KiB",
            **(UNALIGNED if unaligned else {})}
    full = unaligned and shape not in FORCED
    rate = {"job__sink_rate" if full else "job__rate": rng.choice((2000, 4000, 8000))}
    if full and shape == "window":
        rate = {"job__sink_rate": 3000}
    held, last = [], 0
    for parallelism in steps[:-1]:
        run = Started(kind, folder, parallelism=parallelism,
                      restore__from="latest" if last else "none", **rate, **sets)
        want = last + rng.randrange(2, 6)
        good = e2e.wait_until(lambda: newest(folder) >= want or run.over(), 20)
        check(f"{what}: makes checkpoints at {parallelism}", good and not run.over(),
              tail(folder))
        kill_both(run)
        last = newest(folder)
    run = Started(kind, folder, parallelism=steps[-1], restore__from="latest", **sets)
    report = run.end(what, folder)
    if report is not None:
        held = (report["restored"] or {}).get("frames_in_flight", 0)
        check(f"{what}: restored", (report["restored"] or {}).get("checkpoint"), tail(folder))
        same_lines(what, e2e.lines_of(f"{folder}/out"), kind.lines, f"{folder}\n{tail(folder)}")
    return held or 0


def rescale_rounds(plugin, shapes, steps, modes, count, seed):
    rng, held, runs = random.Random(seed), {}, 0
    for number in range(count):
        for shape, step, mode in itertools.product(shapes, steps, modes):
            frames = rescale_round(rng, plugin, shape, step, mode == "unaligned", number)
            held.setdefault((shape, mode), []).append(frames)
            runs += 1
    print(f"rescale, seed {seed}: {runs} runs; restored frames in flight: "
          + ", ".join(f"{shape} {mode} {frames}" for (shape, mode), frames in held.items()))
    for (shape, mode), frames in held.items():
        if mode == "unaligned" and shape not in FORCED:
            check(f"rescale {shape}: most restores found frames in flight",
                  sum(f > 0 for f in frames) * 2 >= len(frames), frames)
        else:
            check(f"rescale {shape} {mode}: no frames in flight", not any(frames), frames)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("weir")
    parser.add_argument("plugin")
    parser.add_argument("what", choices=("kill", "restart", "rescale"))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--step", action="append",
                        type=lambda text: tuple(int(p) for p in text.split(":")))
    parser.add_argument("--mode", action="append", choices=("aligned", "unaligned"))
    args = parser.parse_args()
    if args.what == "kill":
        kill_rounds(args.rounds, args.seed)
    elif args.what == "restart":
        restart_rounds(args.rounds, args.seed)
    else:
        rescale_rounds(os.path.abspath(args.plugin), args.shape or SHAPES, args.step or STEPS,
                       args.mode or ["aligned", "unaligned"], args.rounds, args.seed)
    e2e.conclude()


if __name__ == "__main__":
    sys.exit(main())

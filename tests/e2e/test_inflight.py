#!/usr/bin/env python3
"""A few rounds of inflight_loop.py of each kind, and what is refused; CONTRIBUTING tells how to run
many.

test_inflight.py WEIR PLUGIN
"""

import glob
import os
import random
import sys

import e2e
import inflight_loop as loop
from e2e import Run, check, inspect

PLUGIN = os.path.abspath(sys.argv[2])
# Every shape, every step, both modes: not every pair.
PAIRS = (("rebalance", (1, 2), True), ("hash", (2, 4), True), ("union", (4, 3), True),
         ("two", (3, 1), True), ("deep", (7, 5), True), ("window", (2, 3), True),
         ("hash", (3, 2, 4), True), ("forward", (1, 2), True), ("broadcast", (2, 4), True),
         ("forward", (3, 1), False), ("window", (4, 3), False), ("two", (2, 4), False))


def dead_run(parallelism, **more):
    """A run of the hash graph that died with frames in flight; its folder."""
    folder = e2e.new_folder()
    run = loop.Started(loop.Shape(PLUGIN, "hash", 48000), folder, parallelism=parallelism,
                       checkpoint__interval="10ms", job__sink_rate=4000, **loop.UNALIGNED, **more)
    check("makes checkpoints", e2e.wait_until(lambda: loop.newest(folder) >= 2, 30),
          loop.tail(folder))
    loop.kill_both(run)
    return folder


def committed(folder):
    return sorted(os.path.basename(path) for path in glob.glob(f"{folder}/out/part-*"))


def again(folder, newest, **more):
    sets = {"checkpoint__dir": f"{folder}/chk", "checkpoint__interval": "10ms",
            "memory__state": "64MiB", "parallelism": 2, "job__events": 48000, **loop.UNALIGNED}
    sets = {"job__seed": loop.SHAPES.index("hash"), "restore__from": newest, **sets, **more}
    return Run(PLUGIN, output=f"{folder}/out", **sets)


def refused():
    """S2, R9: by name, before the start; and dropped when asked to."""
    folder = dead_run(2)
    before = committed(folder)
    for what, more, text in (
            ("another frame size", {"memory__frame_size": "32KiB"},
             "'source' -> 'check' holds data in flight, whose columns or frame size"),
            ("another edge", {"job__seed": loop.SHAPES.index("deep")}, "")):
        run = again(folder, "latest", **more)
        if text:
            check(f"{what}: refused by name", run.code == 65 and text in run.err, run.story())
            check(f"{what}: output untouched", committed(folder) == before, run.story())
        else:
            # The edge is still there, and what was added behind it starts empty.
            check(f"{what}: goes on", run.code == 0, run.story())


def ignored():
    folder = dead_run(2)
    newest = loop.newest(folder)
    run = again(folder, e2e.checkpoints(f"{folder}/chk")[-1], restore__ignore_in_flight="true", parallelism=3)
    check("ignore-in-flight: ends", run.code == 0, run.story())
    check("ignore-in-flight: says how many",
          f"frames in flight of checkpoint {newest} are dropped" in run.err, run.story())
    check("ignore-in-flight: rows are missing", len(run.lines()) < 48000, len(run.lines()))
    check("ignore-in-flight: the report says that none came back",
          run.report["restored"]["frames_in_flight"] == 0, run.report["restored"])


def key_groups():
    """R4: those of the checkpoint are taken over, for frames in flight as well; others are refused."""
    folder = dead_run(2, max_parallelism=4)
    before = committed(folder)
    for what, more, text in (("other key groups", {"max_parallelism": 128}, "max-parallelism"),
                             ("more tasks than key groups", {"parallelism": 5},
                              "max-parallelism is 4")):
        run = again(folder, "latest", **more)
        check(f"{what}: refused by name", run.code == 65 and text in run.err, run.story())
        check(f"{what}: output untouched", committed(folder) == before, run.story())
    run = again(folder, "latest", parallelism=3)
    e2e.finished("with the key groups of the checkpoint", run)
    check("with the key groups of the checkpoint: there were frames in flight",
          run.report and run.report["restored"]["frames_in_flight"] > 0, run.story())
    e2e.same_lines("with the key groups of the checkpoint", run.lines(),
                   loop.lines_of_shape("hash", 48000), run.story())
    chk = e2e.checkpoints(f"{folder}/chk")[-1]
    check("they stay", inspect(chk).get("max_parallelism") == 4, inspect(chk))


def main():
    rng = random.Random(6)
    loop.kill_rounds(2, 6)
    loop.restart_rounds(1, 6, crashes=5)
    held = 0
    for number, (shape, steps, unaligned) in enumerate(PAIRS):
        held += loop.rescale_round(rng, PLUGIN, shape, steps, unaligned, number) > 0
    check("most unaligned rescales found frames in flight", held >= 4, held)
    refused()
    ignored()
    key_groups()
    e2e.conclude()


if __name__ == "__main__":
    main()

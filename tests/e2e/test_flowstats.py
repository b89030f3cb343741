#!/usr/bin/env python3
"""flowstats against tests/reference, capinfos and tshark: real captures, damaged ones, made ones.

test_flowstats.py WEIR [CAPTURES]       a directory of captures; else ../shared/data/captures

Beside no such directory only made captures are read.
"""

import collections
import os
import random
import re
import shutil
import struct
import subprocess
import sys

import e2e
from e2e import Run, check, finished, same_lines

flows = e2e.reference("flowstats")
CAPTURES = sys.argv[2] if len(sys.argv) > 2 else f"{os.path.dirname(e2e.ROOT)}/shared/data/captures"
WAYS = (
    {"parallelism": 1},
    {"parallelism": 2},
    {"cores": "0,1,0,1"},
    {"parallelism": 3, "memory__frame_size": "4KiB", "exchange__combiner": "off"},
    {"cores": "0,0", "operators__packets__parallelism": 1},
    {"parallelism": 2, "memory__frame_size": "64KiB"},
)


def expected(path, window=10, bound=10**9, skip=False):
    """The reference's results; None: refused for a link type."""
    stats = flows.Stats(window, bound, skip)
    try:
        for name in flows.files(path):
            stats.file(name)
    except flows.Unsupported:
        return None
    return stats


def sorted_lines(stats):
    return sorted((line + "\n").encode() for line in stats.lines())


def accounted(what, run, stats):
    """Every frame is counted or dropped by its reason, in the report too."""
    source = run.report["sources"][0]
    dropped = {k: v for k, v in run.operator(source["id"])["dropped"].items() if v}
    check(f"{what}: rows", source["rows"] == stats.frames, f"{source['rows']}, {stats.frames}")
    check(f"{what}: dropped", dropped == dict(stats.dropped), f"{dropped}, {stats.dropped}")
    check(f"{what}: rows out", run.operator(source["id"])["rows_out"] == sum(stats.packets.values()),
          run.operator(source["id"]))
    for path, offset in stats.damage:
        about = [w for w in source["warnings"] if path + ":" in w and "only counted" not in w]
        check(f"{what}: one warning names {path}, byte {offset}",
              len(about) == 1 and (re.search(rf"byte {offset}\b", about[0]) or
                                   (offset == 0 and "neither a pcap nor" in about[0])), about)


def compare(what, path, way, stats, **sets):
    run = Run("flowstats", job__input=path, **way, **sets)
    if not finished(what, run):
        return False
    if same_lines(what, run.lines(), sorted_lines(stats), run.story()):
        accounted(what, run, stats)
    return run


# ---- real captures ----

def real():
    if not os.path.isdir(CAPTURES):
        e2e.skip(f"no captures in {CAPTURES}: only made ones are read")
        return
    supported = e2e.fresh("captures")
    os.mkdir(supported)
    for number, name in enumerate(sorted(os.listdir(CAPTURES))):
        path = f"{CAPTURES}/{name}"
        stats = expected(path)
        if stats is None:
            refusals(path)
            continue
        os.symlink(path, f"{supported}/{name}")
        run = compare(name, path, WAYS[number % len(WAYS)], stats)
        if run:
            capinfos(name, path, stats)
            tshark(name, path, run.lines())
    for way in WAYS:
        compare(f"all captures {way}", supported, way, expected(supported))
    compare("all captures, unbounded, 1 s", supported, WAYS[1], expected(supported, 1, None),
            job__window="1s", job__out_of_order="unbounded")
    compare("all captures, no disorder, 60 s", supported, WAYS[2], expected(supported, 60, 0),
            job__window="1min", job__out_of_order="0")
    damaged([f"{CAPTURES}/{name}" for name in os.listdir(CAPTURES)])


def refusals(path):
    run = Run("flowstats", job__input=path)
    check(f"{path}: refused with 65", run.code == 65, run.story())
    check(f"{path}: the refusal names file and link type",
          path in run.err and re.search(r"link type \d+", run.err), run.story())
    compare(f"{path}: counted only", path, {}, expected(path, skip=True),
            job__skip_unsupported="true")


def capinfos(what, path, stats):
    if not shutil.which("capinfos"):
        return
    done = subprocess.run(["capinfos", "-c", "-M", path], capture_output=True, text=True, check=False)
    found = re.search(r"Number of packets: *(\d+)", done.stdout)
    if found and not stats.damage:
        check(f"{what}: capinfos counts the same", int(found.group(1)) == stats.frames, done.stdout)


def tshark(what, path, lines):
    """Packets and bytes per pair of outermost IP addresses, as tshark sees them."""
    if not shutil.which("tshark"):
        return
    fields = ("frame.protocols", "frame.len", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst")
    args = [a for field in fields for a in ("-e", field)]
    done = subprocess.run(["tshark", "-n", "-r", path, "-T", "fields", "-E", "occurrence=f", *args],
                          capture_output=True, text=True, check=False)
    theirs, ours = collections.Counter(), collections.Counter()
    for line in done.stdout.splitlines():
        protocols, length, *addresses = line.split("\t")
        outer = re.match(r"(?:eth|sll|null|raw|loop)(?::ethertype|:vlan)*:(ip|ipv6)\b", protocols)
        if not outer:
            continue
        pair = tuple(addresses[:2] if outer.group(1) == "ip" else addresses[2:])
        if all(pair):
            theirs[pair, "packets"] += 1
            theirs[pair, "bytes"] += int(length)
    for line in lines:
        _, source, _, target, _, _, packets, size = line.decode().split(",")
        ours[(source, target), "packets"] += int(packets)
        ours[(source, target), "bytes"] += int(size)
    check(f"{what}: tshark sees the same conversations", ours == theirs,
          f"only weir: {ours - theirs}\nonly tshark: {theirs - ours}")


# ---- damaged captures ----

def variants(data, rng):
    """The same bytes cut short and changed."""
    for size in (0, 1, 3, 4, 8, 23, 24, 25, 28, 31, 39, 40, 41, 47, 54, 60, 100, len(data) - 1):
        yield f"cut{size}", data[:size]
    for _ in range(12):
        size = rng.randrange(len(data))
        yield f"cut{size}", data[:size]
    for _ in range(25):
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 20))):
            changed[rng.randrange(min(rng.choice((24, 60, 2000, len(data))), len(data)))] ^= \
                1 << rng.randrange(8)
        yield "flip", bytes(changed)
    for _ in range(6):
        at = rng.randrange(24, len(data))
        yield "torn", data[:at] + rng.randbytes(rng.randrange(1, 50)) + data[at:]
    changed = bytearray(data)
    for at in range(24, len(data), 97):
        changed[at] = rng.randrange(256)
    yield "noise", bytes(changed)


def damaged(paths):
    """Many damaged captures in one run; if it is wrong, one run each tells which."""
    rng = random.Random(20)
    folder = e2e.fresh("damaged")
    names = []
    for path in sorted(paths):
        with open(path, "rb") as file:
            data = file.read()[:60000]
        for number, (kind, changed) in enumerate(variants(data, rng)):
            names.append(f"{folder}/{os.path.basename(path)}-{number}-{kind}")
            e2e.write(names[-1], changed)
    stats = expected(folder, skip=True)
    for way in (WAYS[1], WAYS[2]):
        run = Run("flowstats", job__input=folder, job__skip_unsupported="true", **way)
        good = finished(f"{len(names)} damaged captures", run)
        if good and run.lines() == sorted_lines(stats):
            accounted(f"{len(names)} damaged captures", run, stats)
            continue
        check(f"{len(names)} damaged captures: every line", False,
              e2e.first_difference(run.lines(), sorted_lines(stats)))
        before = len(e2e.failures)
        for name in names:
            compare(name, name, way, expected(name, skip=True), job__skip_unsupported="true")
            if len(e2e.failures) > before + 5:
                break
        break
    strict([name for name in names if expected(name, skip=True).damage][:: len(names) // 8],
           [name for name in names if not expected(name, skip=True).damage][:: len(names) // 4])


def strict(broken, sound):
    for name in broken:
        run = Run("flowstats", job__input=name, job__strict="true", job__skip_unsupported="true")
        check(f"{name}: strict refuses with 65", run.code == 65 and name in run.err, run.story())
    for name in sound:
        compare(f"{name}: strict", name, {}, expected(name, skip=True), job__strict="true",
                job__skip_unsupported="true")


# ---- made captures ----

def pcap(frames, link=1, order="<", nano=False):
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    data = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link)]
    per_unit = 1 if nano else 1000
    for time, frame, length in frames:
        data.append(struct.pack(order + "IIII", time // 10**9, time % 10**9 // per_unit, len(frame),
                                length))
        data.append(frame)
    return b"".join(data)


def block(order, kind, body):
    body += b"\0" * (-len(body) % 4)
    size = len(body) + 12
    return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)


def pcapng(frames, links=(1,), order="<"):
    data = [block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for link in links:
        # Resolution 2^-20 s, an offset of 5 s.
        options = (struct.pack(order + "HHB3x", 9, 1, 0x80 | 20) +
                   struct.pack(order + "HHq", 14, 8, 5) + struct.pack(order + "HH", 0, 0))
        data.append(block(order, 1, struct.pack(order + "HHI", link, 0, 0) + options))
    for number, (time, frame, length) in enumerate(frames):
        ticks = ((time - 5 * 10**9) << 20) // 10**9
        head = struct.pack(order + "IIIII", number % len(links), ticks >> 32, ticks & 0xFFFFFFFF,
                           len(frame), length)
        data.append(block(order, 6, head + frame))
    return b"".join(data)


def ipv4(rng, protocol, payload, options=b"", offset=0):
    return struct.pack(">BBHHHBBH4s4s", 0x45 + len(options) // 4, 0, 20 + len(payload), 1, offset, 64,
                       protocol, 0, rng.choice((b"\x0a\0\0\1", b"\x0a\0\0\2")),
                       b"\xc0\xa8\0\1") + options + payload


def ipv6(rng, chain, payload):
    """chain: header types, the last one the payload's."""
    headers = b""
    for here, following in zip(chain, chain[1:]):
        if here == 44:
            headers += struct.pack(">BBHI", following, 0, rng.choice((0, 1, 8, 1480)), 7)
        elif here == 51:
            headers += struct.pack(">BBH", following, 2, 0) + b"\0" * 12
        else:
            headers += struct.pack(">BB", following, 1) + b"\0" * 14
    return struct.pack(">IHBB", 0x60000000, len(headers) + len(payload), chain[0], 64) + \
        bytes(15) + b"\1" + bytes(14) + rng.choice((b"\0\2", b"\0\3")) + headers + payload


def packet(rng):
    ports = struct.pack(">HH", rng.randrange(1, 4), rng.randrange(65536)) + b"\0" * 16
    protocol = rng.choice((1, 6, 17, 33, 47, 58, 132, 136, 255))
    if rng.random() < 0.5:
        return 4, ipv4(rng, protocol, ports, b"\1" * rng.choice((0, 0, 4, 40)),
                       rng.choice((0, 0, 0x4000, 0x2000, 5)))
    chain = [rng.choice((0, 43, 44, 51, 60, 135)) for _ in range(rng.randrange(4))] + [protocol]
    return 6, ipv6(rng, chain, ports)


def framed(rng, link):
    version, body = packet(rng)
    kind = {4: 0x0800, 6: 0x86DD}[version]
    if link == 1:
        tags = b"".join(struct.pack(">HH", rng.choice((0x8100, 0x88A8, 0x9100)), 7)
                        for _ in range(rng.choice((0, 0, 1, 2, 5))))
        return b"\2" * 12 + tags + struct.pack(">H", rng.choice((kind, kind, kind, 0x0806, 60))) + body
    if link in (0, 108):
        family = 2 if version == 4 else rng.choice((10, 23, 24, 28, 30))
        return struct.pack(rng.choice("<>") + "I", rng.choice((family, family, family, 7))) + body
    if link == 113:
        return b"\0" * 14 + struct.pack(">H", kind) + body
    if link == 276:
        return struct.pack(">H", kind) + b"\0" * 18 + body
    return body


def frames(rng, link, count, start):
    """Frames in disorder, some cut short, from about start s on."""
    for i in range(count):
        frame = framed(rng, link)
        time = (start + i // 50) * 10**9 + rng.randrange(-2 * 10**9, 10**9)
        captured = frame[: rng.randrange(len(frame) + 1)] if rng.random() < 0.2 else frame
        yield time, captured, rng.choice((len(frame), 9000, 65535))


def made():
    rng = random.Random(4)
    folder = e2e.fresh("made")
    for number, link in enumerate((1, 0, 108, 113, 276, 12, 14, 101, 228, 229) * 2):
        some = list(frames(rng, link, 2500, 1000 + 17 * number))
        order = "<>"[number % 2]
        e2e.write(f"{folder}/{number}.pcap", pcap(some, link, order, nano=number % 3 == 0))
        e2e.write(f"{folder}/{number}.pcapng", pcapng(some, (link,), order))
    some = list(frames(rng, 1, 50, 5000))
    e2e.write(f"{folder}/two-links.pcapng", pcapng(some, (1, 1, 113)))
    e2e.write(f"{folder}/sections.pcapng", pcapng(some[:20], (1,), "<") + pcapng(some[20:], (1,), ">"))
    e2e.write(f"{folder}/nothing.pcap", pcap([]))
    e2e.write(f"{folder}/sub/long.pcap", pcap(frames(rng, 1, 60000, 8000)))
    for way in WAYS:
        compare(f"made captures {way}", folder, way, expected(folder))
    compare("made captures, unbounded", folder, WAYS[1], expected(folder, 10, None),
            job__out_of_order="unbounded")
    compare("made captures, bound 100 ms, window 3 s", folder, WAYS[2],
            expected(folder, 3, 10**8), job__out_of_order="100ms", job__window="3s")
    e2e.write(f"{folder}/a/unsupported.pcap", pcap(some, 147))
    refusals(f"{folder}/a/unsupported.pcap")
    refusals(folder)
    damaged([f"{folder}/{name}" for name in ("0.pcap", "1.pcap", "2.pcapng", "3.pcapng")])


def main():
    made()
    real()
    run = Run("flowstats", job__input="/nonexistent/x")
    check("input not there: 66", run.code == 66, run.story())
    run = Run("flowstats", job__input=e2e.ROOT, job__window="1500ms")
    check("a window of 1.5 s: 78", run.code == 78, run.story())
    e2e.conclude()


main()

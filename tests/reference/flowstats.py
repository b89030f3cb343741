#!/usr/bin/env python3
"""Expected output of the flowstats job: flowstats.py [options] CAPTURE|DIRECTORY

    --window SECONDS          10
    --out-of-order NS|unbounded   1000000000
    --skip-unsupported        frames of other link types count as dropped, instead of exit 65
    --summary FILE            frames, counted, dropped by reason, damage, as JSON

Reads pcap and pcapng by itself and shares no code with weir.
"""

import argparse
import json
import os
import socket
import struct
import sys
from collections import Counter

CAPTURED_MAX = 262144
BLOCK_MAX = 16 << 20
TIME_MIN, TIME_MAX = -(1 << 63), (1 << 63) - 1

ETHERNET, LOOPBACK, OPENBSD_LOOPBACK, COOKED, COOKED2 = 1, 0, 108, 113, 276
RAW = (12, 14, 101, 228, 229)
SUPPORTED = (ETHERNET, LOOPBACK, OPENBSD_LOOPBACK, COOKED, COOKED2) + RAW
VLAN = (0x8100, 0x88A8, 0x9100)
WITH_PORTS = (6, 17, 33, 132, 136)
SKIPPED_HEADERS = (0, 43, 44, 51, 60, 135)


class Damage(Exception):
    """args[0]: byte offset."""


class Unsupported(Exception):
    """args[0]: link type."""


class Drop(Exception):
    """args[0]: reason."""


def take(data, at, size, start):
    """size bytes at at, or damage at start."""
    if at + size > len(data):
        raise Damage(start)
    return data[at : at + size]


def fits(time, start):
    if not TIME_MIN <= time <= TIME_MAX:
        raise Damage(start)
    return time


def read_pcap(data, order, per_fraction):
    """(link type, time in ns, captured bytes, length) per frame."""
    link = struct.unpack(order + "I", take(data, 20, 4, 0))[0] & 0x03FFFFFF
    major, minor = struct.unpack(order + "HH", data[4:8])
    if major < 2:
        raise Damage(0)
    swapped = major == 543 or (major == 2 and minor < 3)
    yield link, None, None, None
    at = 24
    while at < len(data):
        header = take(data, at, 16, at)
        seconds, fraction, captured, length = struct.unpack(order + "IIII", header)
        if swapped or ((major, minor) == (2, 3) and captured > length):
            captured, length = length, captured
        if captured > CAPTURED_MAX:
            raise Damage(at)
        frame = take(data, at + 16, captured, at)
        yield link, fits(seconds * 10**9 + fraction * per_fraction, at), frame, length
        at += 16 + captured


def interface(body, order, start):
    """(link type, snap length, units per second, offset in seconds)"""
    link, _, snap = struct.unpack(order + "HHI", take(body, 0, 8, start))
    units, offset = 10**6, 0
    at = 8
    while at + 4 <= len(body):
        code, size = struct.unpack(order + "HH", body[at : at + 4])
        value = body[at + 4 : at + 4 + size]
        if code == 0 or len(value) < size:
            break
        if code == 9 and size == 1:
            exponent = value[0] & 0x7F
            units = 2**exponent if value[0] & 0x80 else 10**exponent
        if code == 14 and size == 8:
            offset = struct.unpack(order + "q", value)[0]
        at += 4 + (size + 3) // 4 * 4
    return link, snap, units, offset


def packet_block(kind, body, order, interfaces, start):
    if kind == 3:
        number, ticks = 0, None
        length = struct.unpack(order + "I", take(body, 0, 4, start))[0]
        room, captured = body[4:], length
        if not interfaces:
            raise Damage(start)
        if interfaces[0][1]:
            captured = min(captured, interfaces[0][1])
        captured = min(captured, len(room))
    elif kind == 6:
        number, high, low, captured, length = struct.unpack(
            order + "IIIII", take(body, 0, 20, start)
        )
        ticks, room = high << 32 | low, body[20:]
    else:
        number, _, high, low, captured, length = struct.unpack(
            order + "HHIIII", take(body, 0, 20, start)
        )
        ticks, room = high << 32 | low, body[20:]
    if number >= len(interfaces) or captured > CAPTURED_MAX or captured > len(room):
        raise Damage(start)
    link, _, units, offset = interfaces[number]
    time = 0 if ticks is None else ticks * 10**9 // units + offset * 10**9
    return link, fits(time, start), room[:captured], length


def read_pcapng(data):
    at = 0
    order = None
    first_link = None
    interfaces = []
    while at < len(data):
        if take(data, at, 4, at) == b"\x0a\x0d\x0d\x0a":
            magic = take(data, at + 8, 4, at)
            order = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}.get(magic)
            if order is None:
                raise Damage(at)
            version = struct.unpack(order + "HH", take(data, at + 12, 4, at))
            if version not in ((1, 0), (1, 2)):
                raise Damage(at)
            interfaces = []
        kind, size = struct.unpack(order + "II", take(data, at, 8, at))
        if size < 12 or size % 4 or size > BLOCK_MAX:
            raise Damage(at)
        block = take(data, at, size, at)
        if struct.unpack(order + "I", block[-4:])[0] != size:
            raise Damage(at)
        body = block[8:-4]
        if kind == 1:
            new = interface(body, order, at)
            if first_link is None:
                first_link = new[0]
                yield first_link, None, None, None
            elif new[0] != first_link:
                raise Damage(at)
            interfaces.append(new)
        elif kind in (2, 3, 6):
            yield packet_block(kind, body, order, interfaces, at)
        at += size


def read(data):
    magic = data[:4]
    classic = {
        b"\xa1\xb2\xc3\xd4": (">", 1000),
        b"\xd4\xc3\xb2\xa1": ("<", 1000),
        b"\xa1\xb2\x3c\x4d": (">", 1),
        b"\x4d\x3c\xb2\xa1": ("<", 1),
    }
    if magic in classic:
        return read_pcap(data, *classic[magic])
    if magic == b"\x0a\x0d\x0d\x0a":
        return read_pcapng(data)
    raise Damage(0)


def network_layer(link, frame):
    """(IP version, bytes from the IP header on)"""
    if link in RAW:
        if not frame:
            raise Drop("ip-truncated")
        version, rest = frame[0] >> 4, frame
    elif link in (LOOPBACK, OPENBSD_LOOPBACK):
        if len(frame) < 4:
            raise Drop("link-truncated")
        families = {2: 4, 10: 6, 23: 6, 24: 6, 28: 6, 30: 6}
        little, big = struct.unpack("<I", frame[:4])[0], struct.unpack(">I", frame[:4])[0]
        version, rest = families.get(little, families.get(big)), frame[4:]
    else:
        size, at = {ETHERNET: (14, 12), COOKED: (16, 14), COOKED2: (20, 0)}[link]
        if len(frame) < size:
            raise Drop("link-truncated")
        kind, rest = struct.unpack(">H", frame[at : at + 2])[0], frame[size:]
        while kind in VLAN:
            if len(rest) < 4:
                raise Drop("link-truncated")
            kind, rest = struct.unpack(">H", rest[2:4])[0], rest[4:]
        version = {0x0800: 4, 0x86DD: 6}.get(kind)
    if version not in (4, 6):
        raise Drop("not-ip")
    return version, rest


def ipv4(packet):
    if len(packet) < 20:
        raise Drop("ip-truncated")
    size = (packet[0] & 15) * 4
    if packet[0] >> 4 != 4 or size < 20:
        raise Drop("ip-malformed")
    if len(packet) < size:
        raise Drop("ip-truncated")
    later = struct.unpack(">H", packet[6:8])[0] & 0x1FFF != 0
    return packet[12:16], packet[16:20], packet[9], later, packet[size:]


def ipv6(packet):
    if len(packet) < 40:
        raise Drop("ip-truncated")
    if packet[0] >> 4 != 6:
        raise Drop("ip-malformed")
    protocol, rest, later = packet[6], packet[40:], False
    while protocol in SKIPPED_HEADERS and not later and len(rest) >= 2:
        if protocol == 44:
            size = 8
        elif protocol == 51:
            size = (rest[1] + 2) * 4
        else:
            size = (rest[1] + 1) * 8
        if len(rest) < size:
            break
        if protocol == 44:
            later = struct.unpack(">H", rest[2:4])[0] >> 3 != 0
        protocol, rest = rest[0], rest[size:]
    return packet[8:24], packet[24:40], protocol, later, rest


def flow(link, frame):
    version, packet = network_layer(link, frame)
    source, target, protocol, later, rest = (ipv4 if version == 4 else ipv6)(packet)
    ports = (0, 0)
    if protocol in WITH_PORTS and not later and len(rest) >= 4:
        ports = struct.unpack(">HH", rest[:4])
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    return (
        socket.inet_ntop(family, source),
        ports[0],
        socket.inet_ntop(family, target),
        ports[1],
        protocol,
    )


class Stats:
    def __init__(self, window, bound, skip):
        self.window = window * 10**9
        self.bound = bound
        self.skip = skip
        self.packets = Counter()
        self.bytes = Counter()
        self.dropped = Counter()
        self.frames = 0
        self.damage = []

    def frame(self, link, time, largest, frame, length):
        try:
            if link not in SUPPORTED:
                raise Drop("link-type")
            if self.bound is not None and largest is not None and time < largest - self.bound:
                raise Drop("late")
            key = (time // self.window * self.window // 10**9,) + flow(link, frame)
        except Drop as drop:
            self.dropped[drop.args[0]] += 1
            return
        self.packets[key] += 1
        self.bytes[key] += length

    def file(self, path):
        largest = None
        with open(path, "rb") as file:
            data = file.read()
        try:
            for link, time, frame, length in read(data):
                if time is None:
                    if link not in SUPPORTED and not self.skip:
                        raise Unsupported(path, link)
                    continue
                self.frames += 1
                self.frame(link, time, largest, frame, length)
                largest = time if largest is None else max(largest, time)
        except Damage as damage:
            self.damage.append([os.fsdecode(path), damage.args[0]])

    def lines(self):
        for key, packets in self.packets.items():
            yield "%d,%s,%d,%s,%d,%d,%d,%d" % (key + (packets, self.bytes[key]))

    def summary(self):
        return {
            "frames": self.frames,
            "counted": sum(self.packets.values()),
            "dropped": dict(self.dropped),
            "damage": self.damage,
        }


def files(path):
    if not os.path.isdir(path):
        return [path]
    found = []
    for folder, _, names in os.walk(path, followlinks=True):
        found += [os.path.join(folder, name) for name in names]
    return sorted(name for name in found if os.path.isfile(name))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("input")
    parser.add_argument("--window", type=int, default=10)
    parser.add_argument("--out-of-order", default="1000000000")
    parser.add_argument("--skip-unsupported", action="store_true")
    parser.add_argument("--summary")
    args = parser.parse_args()
    bound = None if args.out_of_order == "unbounded" else int(args.out_of_order)
    stats = Stats(args.window, bound, args.skip_unsupported)
    try:
        for path in files(args.input):
            stats.file(path)
    except Unsupported as other:
        print("%s: link type %d" % other.args, file=sys.stderr)
        return 65
    if args.summary:
        with open(args.summary, "w", encoding="utf-8") as file:
            json.dump(stats.summary(), file)
    sys.stdout.write("".join(line + "\n" for line in sorted(stats.lines())))
    return 0


if __name__ == "__main__":
    sys.exit(main())

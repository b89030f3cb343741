"""One task: exactly-once handler, tracker, snapshot layer. Rules by the numbers of docs/checkpointing.md."""

from collections import OrderedDict

from gate import ALIGNED, Gate, Item

TRACKED = 50


class Options:
    def __init__(self):
        self.mode, self.channels = 'aligned', 1
        self.remote, self.forced = set(), set()
        self.finished = True
        self.timeout = None
        self.size = 1
        self.remember = 128
        self.output_timer = False


class Task:
    def __init__(self, opt):
        self.opt = opt
        self.gate = Gate(opt.channels, opt.remote, opt.forced)
        self.clock = 0
        self.stamps = {}
        self.log = []
        self.held = self.closed = False
        self.timer = None  # input side: due
        self.output = None  # output side: (due, id)
        self.notices = OrderedDict()
        self.last = -1  # highest id triggered, suppressed or aborted
        self.top_notice = -1
        self.kept = {}
        self.metrics = {}
        self.handler = Tracker(self) if opt.mode == 'at-least-once' else ExactlyOnce(self)

    # ---- steps

    def stamp(self, cid):
        return self.stamps.setdefault(cid, self.clock)

    def push(self, item, seq=None):
        c = self.gate.channels[item.ch]
        if c.failed:
            return
        if seq is not None and seq != c.next:
            c.failed = True
            self.log.append(f'fail {item.ch} SEQUENCE')
            return
        if item.kind == 'd':
            c.data_cnt += 1
            if item.label is None:
                item.label = f'{item.ch}.{c.data_cnt}'
        elif item.kind in ('b', 'sp', 'tb', 'ub'):
            self.stamp(item.id)
        self.gate.push(item)
        if item.kind == 'd':
            self.handler.arrived(item)
        if not self.held:
            self.drain()

    def poll(self):
        item = None if self.closed else self.gate.choose()
        if item is not None:
            self.hand_out(item)
        return item

    def drain(self):
        while self.poll() is not None:
            pass

    def run_timers(self):
        while not self.closed:
            due = []
            if self.timer is not None and self.timer <= self.clock:
                due.append((self.timer, 0))
            if self.output is not None and self.output[0] <= self.clock:
                due.append((self.output[0], 1))
            if not due:
                break
            if min(due)[1] == 0:
                self.timer = None
                self.handler.timeout()
            else:
                self.log.append(f'output-timeout {self.output[1]}')
                self.output = None
        if not self.held:
            self.drain()

    def notice(self, cid):
        """Rule 11."""
        if cid > self.last:
            self.notices.setdefault(cid)
            self.top_notice = max(self.top_notice, cid)
            if len(self.notices) > self.opt.remember:
                self.notices.popitem(last=False)
        if self.output is not None and self.output[1] == cid:
            self.output = None  # rule 14: its own abort
        self.handler.noticed(cid)

    def rpc(self, kind, cid):
        self.stamp(cid)
        self.handler.rpc(kind, cid)
        if not self.held:
            self.drain()

    def close(self):
        self.closed = True
        self.timer = self.output = None
        self.handler.close()

    # ---- items

    def hand_out(self, item):
        c = self.gate.channels[item.ch]
        self.gate.take(item)
        if item.kind == 'd':
            self.log.append(('deliver', item.label))
            self.handler.data(item)
        elif item.kind == 'eos':
            c.recovery, c.seen_eos = item, True
            if all(x.seen_eos for x in self.gate.channels):
                for x in self.gate.channels:
                    x.recovery = None
                self.log.append('recovered')
        elif item.kind == 'a':
            self.handler.announced(item)
        elif item.kind == 'x':
            self.handler.cancel(item.id, item.ch)
        elif item.kind == 'eop':
            c.ended = True
            self.handler.end(item.ch)
        else:
            if item.kind in ALIGNED and not c.is_closed() and self.opt.mode != 'at-least-once':
                c.closed_by = item
            self.handler.barrier(item, item.ch)

    # ---- what handlers use

    def open_cnt(self):
        return sum(not c.ended for c in self.gate.channels)

    def snapshot(self, cid, unaligned, timed=False):
        """True if it was taken, False if a notice suppresses it."""
        suppressed = cid in self.notices or cid + self.opt.remember < self.top_notice
        self.last = max(self.last, cid)
        if suppressed:
            self.notices.pop(cid, None)
            self.log.append(f'suppress {cid}')
            return False
        self.log.append(f'trigger {cid} {"unaligned" if unaligned else "aligned"}')
        self.output = None
        if timed and self.opt.output_timer and self.opt.timeout is not None:
            self.output = (self.stamp(cid) + self.opt.timeout, cid)
        return True

    def abort(self, cid, reason):
        self.log.append(f'abort {cid} {reason}')
        self.last = max(self.last, cid)
        for n in [n for n in self.notices if n < self.last]:
            del self.notices[n]
        if self.output is not None and self.output[1] == cid:
            self.output = None


class ExactlyOnce:
    """Aligned, alternating and unaligned: rules 1 to 9, 12, 13."""

    def __init__(self, task):
        self.t, self.gate = task, task.gate
        self.id, self.pending = -1, False
        self.forget()

    def forget(self):
        self.counted, self.barrier_in = set(), False
        self.announcements = set()
        self.switched = self.taken = self.suppressed = self.given_up = False
        self.timed = False  # what opened this id may time out
        self.start = self.bytes = self.delay = None
        self.t.timer = None

    def capturing(self):
        return self.pending and self.taken and self.switched and not self.suppressed and not self.given_up

    def late(self):
        return self.t.opt.timeout is not None and self.t.clock - self.t.stamp(self.id) > self.t.opt.timeout

    # ---- life of an id

    def open(self, item):
        if self.pending:
            self.drop(self.id, 'DECLINED_SUBSUMED', item)
        self.forget()
        self.id, self.pending = item.id, True
        self.target = self.t.open_cnt()
        self.timed = item.kind in ('tb', 'a')
        if self.timed and self.t.opt.timeout is not None:
            self.t.timer = self.t.stamp(self.id) + self.t.opt.timeout

    def drop(self, cid, reason, closer=None):
        """Abort cid; what is pending goes with it."""
        captured = self.capturing()
        old = self.id
        self.t.abort(cid, reason)
        if captured:
            self.t.log.append(f'discard {old}')
            self.t.kept[old] = {}
        self.id, self.pending = cid, False
        self.forget()
        self.gate.open_all(closer)

    def complete(self):
        ms, size = (0, 0) if self.target == 1 else (self.t.clock - self.start, self.bytes)
        if not self.suppressed:
            self.t.metrics[self.id] = (ms, size, self.delay)
        self.pending = False
        self.forget()
        self.gate.open_all()

    def count(self, ch, barrier):
        self.barrier_in |= barrier
        if ch in self.counted:
            return
        if not self.counted:
            self.start, self.bytes = self.t.clock, 0
            self.delay = max(0, self.t.clock - self.t.stamp(self.id))
        self.counted.add(ch)

    # ---- items

    def data(self, item):
        if self.start is not None:
            self.bytes += item.size

    def arrived(self, item):
        """Rule 5, data that comes later."""
        c = self.gate.channels[item.ch]
        if self.capturing() and not c.forced and c.captured_below(self.id) is None:
            self.t.kept[self.id].setdefault(item.ch, []).append(item.label)

    def announced(self, item):
        if item.id < self.id or (item.id == self.id and not self.pending):
            return
        if item.id > self.id:
            self.open(item)
        self.announcements.add(item.ch)
        if self.switched:
            self.gate.overtake(item.ch, self.id)

    def barrier(self, item, ch, by_rpc=False):
        c = self.gate.channels[ch]
        if item.id < self.id or (item.id == self.id and not self.pending):
            if c.closed_by is item:
                c.closed_by = None
            return
        if item.id > self.id:
            self.open(item)
        if item.kind == 'ub' and not self.switched:
            self.switch()
            if not self.pending:
                return
        self.count(ch, True)
        if self.switched:
            self.later(ch, item, by_rpc)
        elif len(self.counted) == self.target:
            self.aligned()
        elif item.kind == 'tb' and self.late():
            self.switch()

    def later(self, ch=None, item=None, by_rpc=False):
        """Rules 4 and 13: once switched."""
        self.try_snapshot(by_rpc)
        if not self.pending:
            return
        if not self.taken and item is not None and item.kind == 'ub' and not by_rpc:
            c = self.gate.channels[ch]
            if not c.is_closed():
                c.closed_by = item
        if self.taken and len(self.counted) == self.target:
            if not self.suppressed and not self.given_up:
                self.t.log.append(f'done {self.id}')
            self.complete()

    def aligned(self):
        self.suppressed = not self.t.snapshot(self.id, False, self.timed)
        self.complete()

    def switch(self):
        self.switched = True
        for ch in sorted(self.announcements):
            self.gate.overtake(ch, self.id)
        self.try_snapshot()

    def try_snapshot(self, by_rpc=False):
        if self.taken or not self.barrier_in:
            return
        if any(c.forced and not c.ended and c.idx not in self.counted for c in self.gate.channels):
            return
        # Rule 6, read with T14: what the channel shows, even behind an older priority item.
        if any(i.id > self.id for c in self.gate.channels for i in c.shown()):
            self.drop(self.id, 'SUBSUMED')
            return
        self.taken = True
        self.suppressed = not self.t.snapshot(self.id, True)
        if not self.suppressed:
            self.capture(by_rpc)
            self.t.metrics[self.id] = (None, None, self.delay)
        for c in self.gate.channels:
            if c.closed_by is not None and c.closed_by.kind == 'ub':
                c.closed_by = None

    def capture(self, by_rpc):
        kept = self.t.kept[self.id] = {}
        for c in self.gate.channels:
            below = c.captured_below(self.id)
            if c.forced:
                continue
            labels = [i.label for i in c.fifo if i.kind == 'd' and (below is None or i.num < below)]
            if labels:
                kept[c.idx] = labels

    def cancel(self, cid, ch):
        """Rule 7."""
        if cid > self.id or (cid == self.id and self.pending):
            self.drop(cid, 'DECLINED_ON_CANCELLATION_BARRIER')

    def end(self, ch):
        """Rule 8."""
        if not self.pending:
            return
        if not self.t.opt.finished:
            self.drop(self.id, 'DECLINED_INPUT_END_OF_STREAM')
            return
        self.count(ch, False)
        if self.switched:
            self.later()
        elif len(self.counted) == self.target:
            self.aligned()
        elif self.barrier_in and self.timed and self.late():
            self.switch()

    def timeout(self):
        if self.pending and not self.switched:
            self.switch()

    # ---- from outside

    def noticed(self, cid):
        if self.capturing() and cid == self.id:
            self.t.log.append(f'discard {cid}')
            self.t.kept[cid] = {}
            self.given_up = True

    def rpc(self, kind, cid):
        """Rule 12."""
        if self.t.open_cnt() > 0:
            for c in self.gate.channels:
                if not c.ended:
                    self.barrier(Item(kind, c.idx, cid), c.idx, True)
            return
        if cid <= max(self.id, self.t.last):
            return
        self.id, self.pending = cid, False
        if self.t.snapshot(cid, kind == 'ub', kind == 'tb'):
            self.t.metrics[cid] = (0, 0, max(0, self.t.clock - self.t.stamp(cid)))
            if kind == 'ub':
                self.t.kept[cid] = {}
                self.t.log.append(f'done {cid}')

    def close(self):
        if self.capturing():
            self.t.log.append(f'discard {self.id}')
            self.t.kept[self.id] = {}
        self.pending = False
        self.forget()

    def pending_ids(self):
        return [self.id] if self.pending else []

    def latest(self):
        return self.id

    def aligning(self):
        return self.start is not None


class Tracker:
    """At-least-once: rule 10."""

    class Count:
        def __init__(self, target):
            self.channels, self.target, self.aborted = set(), target, False

    def __init__(self, task):
        self.t = task
        self.ids = OrderedDict()
        self.highest = -1
        self.measured = None  # id whose alignment is measured
        self.start = self.bytes = self.delay = 0

    def open(self, cid):
        if len(self.ids) == TRACKED:
            oldest, _ = self.ids.popitem(last=False)
            if oldest == self.measured:
                self.measured = None
        self.highest = cid
        self.ids[cid] = self.Count(self.t.open_cnt())
        self.measured, self.start, self.bytes = cid, self.t.clock, 0

    def count(self, cid, ch):
        """True: it is complete."""
        p = self.ids[cid]
        p.channels.add(ch)
        if len(p.channels) < p.target:
            return False
        metrics = (0, 0, 0)
        if cid == self.measured:
            metrics = (0, 0, self.delay) if p.target == 1 else (self.t.clock - self.start, self.bytes, self.delay)
        for i in [i for i in self.ids if i <= cid]:
            del self.ids[i]
        if self.measured is not None and self.measured <= cid:
            self.measured = None
        if not p.aborted and self.t.snapshot(cid, False):
            self.t.metrics[cid] = metrics
        return True

    def barrier(self, item, ch, by_rpc=False):
        if item.id > self.highest:
            self.open(item.id)
            self.delay = max(0, self.t.clock - self.t.stamp(item.id))
        if item.id in self.ids:
            self.count(item.id, ch)

    def abort(self, cid, reason='DECLINED_ON_CANCELLATION_BARRIER'):
        if not self.ids[cid].aborted:
            self.ids[cid].aborted = True
            self.t.abort(cid, reason)
        if self.measured == cid:
            self.measured = None

    def cancel(self, m, ch):
        for cid in [i for i in self.ids if i < m]:
            self.abort(cid)
            del self.ids[cid]
        if m > self.highest:
            self.open(m)
        if m in self.ids:
            self.abort(m)
            self.count(m, ch)

    def end(self, ch):
        if not self.t.opt.finished:
            for cid in list(self.ids):
                self.abort(cid, 'DECLINED_INPUT_END_OF_STREAM')
                del self.ids[cid]
            return
        for cid in reversed(list(self.ids)):
            if self.count(cid, ch):
                break

    def rpc(self, kind, cid):
        if self.t.open_cnt() > 0:
            for c in self.t.gate.channels:
                if not c.ended:
                    self.barrier(Item(kind, c.idx, cid), c.idx, True)
        elif cid > max(self.highest, self.t.last):
            self.highest = cid
            if self.t.snapshot(cid, False):
                self.t.metrics[cid] = (0, 0, max(0, self.t.clock - self.t.stamp(cid)))

    def data(self, item):
        self.bytes += item.size

    def arrived(self, item):
        pass

    def announced(self, item):
        pass

    def timeout(self):
        pass

    def noticed(self, cid):
        pass

    def close(self):
        self.ids.clear()
        self.measured = None

    def pending_ids(self):
        return list(self.ids)

    def latest(self):
        return self.highest

    def aligning(self):
        return self.measured is not None

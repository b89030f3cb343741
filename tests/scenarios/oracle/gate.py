"""Channels of one task, and which item comes out next: the notation of the barrier scenarios.

Written from the notation alone; shares nothing with the engine's gate and handlers.
"""

ALIGNED = ('b', 'sp', 'tb')
BARRIERS = ('b', 'sp', 'tb', 'ub')


class Item:
    """kind: d b sp tb ub x eop eos a."""

    __slots__ = ('kind', 'id', 'ch', 'num', 'arrival', 'label', 'size')

    def __init__(self, kind, ch, cid=None, label=None, size=0):
        self.kind, self.ch, self.id, self.label, self.size = kind, ch, cid, label, size
        self.num = self.arrival = None

    def name(self):
        if self.kind == 'd':
            return f'd:{self.label}@{self.ch}'
        return f'{self.kind}{"" if self.id is None else self.id}@{self.ch}'


class Channel:
    def __init__(self, idx, remote, forced):
        self.idx, self.remote, self.forced = idx, remote, forced
        self.fifo, self.priority = [], []
        self.next = 0  # number of the next item
        self.data_cnt = 0
        self.closed_by = None  # barrier that closed it
        self.recovery = None  # end of channel state that closed it
        self.seen_eos = self.ended = self.failed = False
        self.barriers = []  # (number, id) of all that arrived

    def limit(self):
        nums = [i.num for i in (self.closed_by, self.recovery) if i is not None]
        return min(nums) if nums else None

    def first(self, lane):
        if self.failed:
            return None
        limit = self.limit()
        for item in lane:
            if limit is None or item.num < limit:
                return item
        return None

    def shown(self):
        """Priority items that no closing holds back."""
        limit = self.limit()
        return [] if self.failed else [i for i in self.priority if limit is None or i.num < limit]

    def is_closed(self):
        return self.closed_by is not None or self.recovery is not None

    def captured_below(self, cid):
        """First arrived barrier of an id >= cid; None: there is none."""
        nums = [num for num, i in self.barriers if i >= cid]
        return min(nums) if nums else None


class Gate:
    def __init__(self, cnt, remote, forced):
        self.channels = [Channel(i, i in remote, i in forced) for i in range(cnt)]
        self.arrivals = 0

    def arrive(self, item, lane):
        item.arrival = self.arrivals
        self.arrivals += 1
        lane.append(item)

    def push(self, item):
        """The item is on its way; an announced barrier is also announced."""
        c = self.channels[item.ch]
        item.num = c.next
        c.next += 1
        if item.kind in BARRIERS:
            c.barriers.append((item.num, item.id))
        self.arrive(item, c.priority if item.kind == 'ub' else c.fifo)
        if item.kind == 'tb' and c.remote:
            a = Item('a', item.ch, item.id)
            a.num = item.num
            self.arrive(a, c.priority)

    def choose(self):
        for lane in ('priority', 'fifo'):
            items = [c.first(getattr(c, lane)) for c in self.channels]
            items = [i for i in items if i is not None]
            if items:
                return min(items, key=lambda i: i.arrival)
        return None

    def take(self, item):
        c = self.channels[item.ch]
        (c.priority if item in c.priority else c.fifo).remove(item)

    def overtake(self, ch, cid):
        """An announced barrier that is not out yet goes to the priority lane."""
        c = self.channels[ch]
        for item in c.fifo:
            if item.kind == 'tb' and item.id == cid:
                c.fifo.remove(item)
                self.arrive(item, c.priority)
                return

    def open_all(self, but=None):
        for c in self.channels:
            if c.closed_by is not but:
                c.closed_by = None

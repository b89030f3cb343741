"""Mode output: the producer's own queues. push, take, resume, timeout, abort-output, close."""


class Queue:
    def __init__(self, idx, log):
        self.idx, self.log = idx, log
        self.first, self.rest = [], []  # items overtaking the others, the others
        self.closed, self.open, self.data = False, None, 0  # open: the barrier whose capture is

    def push(self, item):
        if item.kind == 'd':
            self.data += 1
            item.label = item.label or f'{self.idx}.{self.data}'
        if item.kind == 'ub':
            self.overtake(item, self.rest)
            return
        if item.kind == 'tb':
            self.fail('CONCURRENT')
            self.open = item
        self.rest.append(item)

    def overtake(self, item, passed):
        data = ' '.join(i.label for i in passed if i.kind == 'd')
        self.log.append(f'capture {item.id} {self.idx} [{data}]')
        self.first.append(item)
        if len(self.first) == 1 and not self.closed:
            self.log.append(f'priority {self.idx}')

    def fail(self, why):
        if self.open is not None:
            self.log.append(f'capture-failed {self.open.id} {self.idx} {why}')
            self.open = None

    def take(self):
        if self.closed or not (self.first or self.rest):
            return 'none'
        item = (self.first or self.rest).pop(0)
        if item is self.open:
            self.log.append(f'capture {item.id} {self.idx} []')
            self.open = None
        self.closed = item.kind in ('b', 'sp', 'tb')
        return name(item)

    def timeout(self, cid):
        item = self.open
        if item is None or item.id != cid:
            return
        at = self.rest.index(item)
        self.open, item.kind = None, 'ub'
        del self.rest[at]
        self.overtake(item, self.rest[:at])

    def abort(self, cid):
        if self.open is not None and self.open.id == cid:
            self.fail('ABORTED')

    def close(self):
        self.fail('RELEASED')
        self.first, self.rest = [], []

    def show(self):
        return f'queue {self.idx} [{" ".join(name(i) for i in self.first + self.rest)}]'


def name(item):
    return item.label if item.kind == 'd' else f'{item.kind}{"" if item.id is None else item.id}'


class Producer:
    """What scn asks of a task, for the producer's side."""

    def __init__(self, opt):
        self.opt, self.log = opt, []
        self.queues = [Queue(c, self.log) for c in range(opt.channels)]

    def step(self, w, items):
        """Carry out one step; what is wrong with it, or None."""
        if w[0] == 'push':
            for text in w[1:]:
                for item, _ in items(text, self.opt):
                    self.queues[item.ch].push(item)
        elif w[0] == 'take':
            got = self.queues[int(w[1])].take()
            return f'took {got}' if len(w) > 2 and got != w[2] else None
        elif w[0] == 'resume':
            self.queues[int(w[1])].closed = False
        else:
            for q in self.queues:
                getattr(q, {'timeout': 'timeout', 'abort-output': 'abort', 'close': 'close'}[w[0]])(*map(int, w[1:2]))
        return None

    def state(self, w):
        if w[0] == 'queue':
            return self.queues[int(w[1])].show()
        return 'blocked {' + ' '.join(str(q.idx) for q in self.queues if q.closed) + '}'

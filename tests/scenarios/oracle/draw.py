"""Random barrier scenarios. A scenario is drawn step by step while the oracle runs it."""

import random

import scn
from task import Options

KINDS = {'aligned': ('b', 'b', 'b', 'sp'), 'at-least-once': ('b', 'b', 'b', 'sp'), 'unaligned': ('ub',),
         'alternating': ('tb', 'tb', 'tb', 'ub', 'ub', 'b', 'sp', 'mixed', 'mixed')}


class Draw:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.wild = self.pct(35)
        self.opt = self.options()
        self.task = scn.fresh(self.opt)
        self.lines = [f'scenario Z{seed} random, seed {seed}', 'theme fuzz'] + self.header()
        self.seen = 0
        self.kind_of = {}
        self.top = [-1] * self.opt.channels  # last id sent
        self.ended = [False] * self.opt.channels
        self.plan = self.ids()
        self.failed = False
        self.stamped, self.restored, self.reach = set(), set(), 0

    def pct(self, p):
        return self.r.random() * 100 < p

    # ---- header

    def options(self):
        r, o = self.r, Options()
        o.mode = r.choice(('aligned', 'at-least-once', 'unaligned', 'alternating', 'alternating', 'alternating'))
        o.channels = r.choice((1, 2, 2, 3, 3, 4, 5, 6) + ((13, 40) if self.wild else ()))
        if o.mode == 'alternating':
            p = r.choice((0, 50, 100))
            o.remote = {c for c in range(o.channels) if self.pct(p)}
            if self.pct(35) and o.channels > 1:
                o.forced = {c for c in range(o.channels) if self.pct(40)}
            o.timeout = r.choice((None, 0, 1, 5, 10, 20, 50, 100, 1000))
            o.output_timer = self.pct(30) and not o.forced
        elif o.mode == 'unaligned' and self.pct(50):
            o.remote = set(range(o.channels))
        o.finished = self.pct(75)
        o.remember = r.choice((128, 128, 1, 2, 5))
        o.size = r.choice((1, 100))
        return o

    def header(self):
        o = self.opt
        h = [f'mode {o.mode}', f'channels {o.channels}']
        if o.remote:
            h.append('remote ' + ('all' if len(o.remote) == o.channels else ' '.join(map(str, sorted(o.remote)))))
        if o.forced:
            h.append('forced ' + ' '.join(map(str, sorted(o.forced))))
        if not o.finished:
            h.append('option finished-tasks off')
        if o.mode == 'alternating':
            h.append(f'option timeout {"none" if o.timeout is None else o.timeout}')
        if o.output_timer:
            h.append('option output-timer on')
        if o.remember != 128:
            h.append(f'option remember {o.remember}')
        if o.size != 1:
            h.append(f'option size {o.size}')
        return h

    def ids(self):
        cid = self.r.choice((0, 1, 2, 41) + ((2 ** 64 - 900, 2 ** 63 - 3) if self.wild else ()))
        out = []
        for _ in range(self.r.choice((3, 6, 10, 60 if self.opt.mode == 'at-least-once' else 12, 130 if self.wild else 5))):
            out.append(cid)
            cid += 1 if self.pct(80) else self.r.randint(2, 6)
        return out

    # ---- items

    def barrier_kind(self, cid, ch):
        kind = self.kind_of.setdefault(cid, self.r.choice(KINDS[self.opt.mode]))
        if ch in self.opt.forced:
            return 'sp' if kind == 'sp' else 'b'
        return self.r.choice(('tb', 'ub')) if kind == 'mixed' else kind

    def any_item(self):
        """In any order, again and again."""
        chs = [c for c in range(self.opt.channels) if not self.ended[c]]
        if not chs:
            return None
        ch, what = self.r.choice(chs), self.r.random() * 100
        cid = self.r.choice(self.plan[:self.reach + 3])
        self.reach += self.pct(12) and self.reach < len(self.plan)
        if what < 45:
            return self.data(ch)
        if what < 85:
            self.top[ch] = max(self.top[ch], cid)
            return f'{self.barrier_kind(cid, ch)}{cid}@{ch}'
        if what < 97:
            return f'x{cid}@{ch}'
        if what < 98.5 and ch not in self.restored:
            self.restored.add(ch)
            return f'eos@{ch}'
        self.ended[ch] = True
        return f'eop@{ch}'

    def item(self):
        if self.wild:
            return self.any_item()
        chs = [c for c in range(self.opt.channels) if not self.ended[c]]
        if not chs:
            return None
        ch = self.r.choice(chs)
        what = self.r.random() * 100
        later = [i for i in self.plan if i > self.top[ch]]
        if what < 45 or not later:
            if what > 97:
                self.ended[ch] = True
                return f'eop@{ch}'
            return self.data(ch)
        if what < 85:
            cid = later[0] if self.pct(85) else self.r.choice(later[:3])
            self.top[ch] = cid
            return f'{self.barrier_kind(cid, ch)}{cid}@{ch}'
        if what < 92:
            cid = self.r.choice(later[:2] + [self.plan[0], max(self.top[ch], 0)])
            if self.pct(70):
                self.top[ch] = max(self.top[ch], cid)
            return f'x{cid}@{ch}'
        if what < 95:
            self.ended[ch] = True
            return f'eop@{ch}'
        if what < 97 and self.top[ch] > self.plan[0]:  # an older one once more
            cid = self.r.choice([i for i in self.plan if i <= self.top[ch]])
            return f'{self.barrier_kind(cid, ch)}{cid}@{ch}'
        return self.data(ch)

    def data(self, ch):
        text = f'd@{ch}'
        if self.pct(5):
            text += f'*{self.r.randint(2, 3)}'
        if self.pct(5):
            text += f'/{self.r.choice((0, 7, 1000))}'
        return text

    # ---- steps

    def emit(self, line):
        """Carry the step out and write it down with what it causes."""
        self.lines.append(line)
        scn.step(self.task, line.split())
        self.lines += ['  ' + e for e in scn.events(self.task, self.seen)]
        self.seen = len(self.task.log)
        if self.pct(50) and not self.task.closed:
            self.states()

    def states(self):
        t = self.task
        wanted = ['blocked', 'pending', 'latest', 'open', 'remembered', 'aligning']
        wanted = [w for w in wanted if self.pct(30)]
        if t.handler.latest() < 0 and 'latest' in wanted:
            wanted.remove('latest')
        if t.kept and not self.failed and self.pct(60):
            wanted.append(f'keep {max(t.kept)}')
        if t.metrics and self.pct(40):
            wanted.append(f'align {max(t.metrics)}')
        self.lines += ['  ' + scn.state(t, w.split()) for w in wanted]

    def push(self):
        texts = []
        for _ in range(self.r.choice((1, 1, 2, 3, 6))):
            text = self.item()
            if text is not None:
                texts.append(text)
        if texts:
            self.emit('push ' + ' '.join(texts))

    def poll(self):
        gate, n = self.task.gate, self.r.randint(1, 3)
        if self.task.closed or gate.choose() is None:
            self.emit('poll none')
        elif self.pct(50):
            self.emit(f'poll {gate.choose().name()}')
        elif n == 1:
            self.emit('poll')
        else:
            self.emit('poll 1')

    def clock(self):
        self.emit(f'{self.r.choice(("advance", "advance", "skip"))} {self.r.choice((0, 1, 2, 6, 9, 20, 50, 101))}')

    def notice(self):
        near = max(self.task.handler.latest(), self.plan[0])
        a = near + self.r.choice((-1, 0, 1, 1, 2, 3))
        if a >= 0:
            more = self.r.randint(1, 4) if not self.wild or self.pct(80) else self.r.choice((60, 129, 300))
            if a + more < 2 ** 64:
                self.emit(f'notice {a}' if self.pct(80) else f'notice {a}..{a + more}')

    def rpc(self):
        """Only when no more barriers can be on their way, or anyhow."""
        if not (all(self.ended) or self.wild):
            return
        kind = {'unaligned': 'ub', 'alternating': self.r.choice(('b', 'tb', 'ub'))}.get(self.opt.mode, 'b')
        if self.opt.forced:
            kind = 'b'
        cid = max([0] + self.top + [self.task.handler.latest()]) + self.r.choice((0, 1, 1, 2))
        sent = self.kind_of.get(cid)  # one id, one kind
        if sent is not None and not self.opt.forced:
            kind = {'sp': 'b', 'mixed': kind if kind != 'b' else 'tb'}.get(sent, sent)
        self.kind_of.setdefault(cid, kind)
        self.emit(f'rpc {kind}{cid}')

    def stamp(self):
        later = [i for i in self.plan if i > max(self.top) and i not in self.stamped and i not in self.task.stamps]
        if later and self.opt.mode != 'unaligned' or later and self.pct(30):
            self.stamped.add(later[0])
            self.emit(f'stamp {later[0]} {self.task.clock - self.r.choice((0, 1, 4, 30, -5))}')

    def recovery(self):
        """Every channel begins with what was restored."""
        self.restored = set(range(self.opt.channels))
        if self.wild and self.pct(60):  # the rest mixes with what comes
            self.emit('hold')
        first = [f'd@{c}' for c in range(self.opt.channels) if self.pct(40)]
        self.r.shuffle(first)
        if first:
            self.emit('push ' + ' '.join(first))
        chs = list(range(self.opt.channels))
        self.r.shuffle(chs)
        for c in chs:
            extra = f' d@{c}' if self.pct(50) else ''
            self.emit(f'push eos@{c}{extra}')

    def gap(self):
        ch = self.r.randrange(self.opt.channels)
        if not self.ended[ch]:
            self.failed = self.ended[ch] = True
            self.emit(f'push d@{ch}#{self.task.gate.channels[ch].next + self.r.randint(1, 3)}')

    def text(self):
        if self.pct(12):
            self.recovery()
        steps = self.r.choice((4, 10, 25, 40))
        if self.wild and self.pct(20):
            steps = 150
        bad = self.r.randrange(steps) if self.pct(4) else -1
        for i in range(steps):
            what = self.r.random() * 100
            if i == bad and (self.wild or not self.opt.forced):
                self.gap()
            elif what < 60:
                self.push()
            elif what < 68:
                self.emit('release' if self.task.held else 'hold')
            elif what < 78 and self.task.held:
                self.poll()
            elif what < 86:
                self.clock()
            elif what < 89:
                self.emit('fire')
            elif what < 91:
                self.emit('drain')
            elif what < 95:
                self.notice()
            elif what < 97:
                self.rpc()
            else:
                self.stamp()
        if self.task.held:
            self.emit('release')
        if all(self.ended):
            self.rpc()
        if self.pct(8):
            self.emit('close')
            self.push()
        return '\n'.join(self.lines) + '\n\n'


def scenario(seed):
    return Draw(seed).text()

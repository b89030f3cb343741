"""The small kinds: decider, failures, plan and remap. Each has step(words) -> updates and query(words) -> text."""

from cgraph import Failures, Graph, Queue

GROUPS = 32768


class Waiting:
    def __init__(self, name, kind, forced, periodic, now, arrival):
        self.name, self.kind, self.forced, self.periodic, self.time, self.arrival = name, kind, forced, periodic, now, arrival

    def savepoint(self):
        return self.kind == 'savepoint'


class Decider:
    def __init__(self, head):
        opt = {w[0]: int(w[1]) for w in head}
        self.max, self.pause = opt.get('max-concurrent', 1), opt.get('min-pause', 0)
        self.queue, self.arrivals = Queue(opt.get('queue-limit', 1000)), 0
        self.set = {'triggering': 0, 'pending': 0, 'cleaning': 0, 'now': 0, 'last': None}

    def step(self, w):
        if w[0] == 'set':
            for x in w[1:]:
                key, _, n = x.partition('=')
                self.set[key] = int(n)
            return []
        out = []
        if w[0] == 'add':
            self.arrivals += 1
            forced = 'forced' in w or (w[2] == 'savepoint' and 'unforced' not in w)
            r = Waiting(w[1], w[2], forced, 'periodic' in w, self.set['now'], self.arrivals)
            fallen = self.queue.add(r)
            if fallen:
                out.append(f'fail {fallen.name} TOO_MANY_CHECKPOINT_REQUESTS')
        return out + self.decide()

    def decide(self):
        out, s = [], self.set
        while self.queue.items and not s['triggering'] and s['cleaning'] <= self.max:
            head = self.queue.items[0]
            if s['pending'] >= self.max and not head.forced:
                break
            self.queue.items.pop(0)
            wait = None if s['last'] is None else s['last'] + self.pause - s['now']
            if head.forced or not head.periodic or wait is None or wait <= 0:
                out.append(f'run {head.name}')
                break
            out += [f'fail {head.name} MINIMUM_TIME_BETWEEN_CHECKPOINTS', f'rearm {wait}']
        return out

    def query(self, _):
        return ' '.join(r.name for r in self.queue.items) or '-'


class FailureFile:
    def __init__(self, head):
        word = next((w[1] for w in head if w[0] == 'tolerable-failures'), '0')
        self.fm = Failures(None if word == 'unlimited' else int(word))

    def step(self, w):
        if w[0] == 'success':
            self.fm.success(int(w[1]))
            return []
        task = next((x[5:] for x in w if x.startswith('task=')), None)
        return self.fm.failure(None if w[1] == '-' else int(w[1]), w[2], 'savepoint' in w, 'sync' in w, task)

    def query(self, _):
        return str(self.fm.count)


class PlanFile:
    def __init__(self, head):
        self.graph, self.finished = Graph(), True
        for w in head:
            if w[0] == 'vertex':
                self.graph.vertex(w[1], int(w[2]), 'union' in w[3:])
            elif w[0] == 'edge':
                self.graph.edges.append((w[1], w[2], w[3], 'blocking' in w[4:]))
            elif w[0] == 'finished-tasks':
                self.finished = w[1] == 'on'

    def step(self, w):
        for t in self.graph.select(w[1:-1]):
            self.graph.state[t] = w[-1]
        return []

    def ranges(self, tasks):
        out, have = [], set(tasks)
        for v in self.graph.vertices:
            i, n = 0, self.graph.par[v]
            while i < n:
                if (v, i) in have:
                    j = i
                    while (v, j + 1) in have:
                        j += 1
                    out.append(f'{v}.{i}' + (f'-{j}' if j > i else ''))
                    i = j
                i += 1
        return ','.join(out) or '-'

    def query(self, _):
        plan = self.graph.plan(self.finished)
        if isinstance(plan, str):
            return f'reject {plan}'
        trigger, wait, done = plan
        full = [v for v in self.graph.vertices if all((v, i) in done for i in range(self.graph.par[v]))]
        return f'trigger={self.ranges(trigger)} wait={self.ranges(wait)} finished={self.ranges(done)} full={",".join(full) or "-"}'


def mapping(mapper, old, new):
    """new -> old subtasks; None if it cannot be."""
    if mapper == 'unsupported':
        return None
    if mapper == 'full':
        return [list(range(old)) for _ in range(new)]
    if mapper == 'first':
        return [list(range(old)) if i == 0 else [] for i in range(new)]
    if mapper in ('round-robin', 'arbitrary'):
        return [list(range(i, old, new)) for i in range(new)]
    out = []
    for i in range(new):
        first, last = -(-i * GROUPS // new), ((i + 1) * GROUPS - 1) // new
        out.append(list(range(first * old // GROUPS, last * old // GROUPS + 1)) if last >= first else [])
    return out


def table(rows):
    return ' '.join(f'{i}<-{",".join(map(str, r)) or "-"}' for i, r in enumerate(rows))


def identity(rows):
    return all(r == [i] for i, r in enumerate(rows))


class Remap:
    def __init__(self, head):
        self.par, self.edges, self.data = {}, [], set()
        for w in head:
            if w[0] == 'vertex':
                self.par[w[1]] = int(w[2][4:]), int(w[3][4:])
            elif w[0] == 'edge':
                self.edges.append((w[1], w[2], w[3][3:], w[4][5:]))
            elif w[0] == 'state':
                self.data.add((w[1], w[2], w[3]))

    def step(self, _):
        raise ValueError

    def side(self, edge, down):
        """The table of one side of an exchange."""
        mine, other = (edge[1], edge[0]) if down else (edge[0], edge[1])
        mapper = edge[3] if down else edge[2]
        old, new = self.par[mine]
        if old == new and (mapper != 'full' or self.par[other][0] == self.par[other][1]):
            return [[i] for i in range(new)]
        return mapping(mapper, old, new)

    def has(self, edge):
        return any((d, edge[0], edge[1]) in self.data for d in ('in', 'out'))

    def describe(self, task, down):
        v, i = task.rsplit('.', 1)
        i, out, all_same = int(i), [], True
        for e in self.edges:
            if e[1 if down else 0] != v:
                continue
            if not self.has(e):
                out.append('no-state')
                continue
            mine, other = self.side(e, down), self.side(e, not down)
            if mine is None or other is None:
                return 'unsupported'
            all_same &= not mine[i] or (identity(mine) and identity(other))
            wanted = []
            if (e[3] if down else e[2]) in ('range', 'full'):
                wanted = sorted(o for o in {o for r in mine for o in r} if sum(o in r for r in mine) > 1)
            out.append(f'old={",".join(map(str, mine[i])) or "-"} chan=[{table(other)}] ambiguous={",".join(map(str, wanted)) or "-"}')
        return 'no-rescale' if all_same else ' | '.join(out)

    def query(self, w):
        if w[0] == 'map':
            rows = mapping(w[1], int(w[2]), int(w[3]))
            return 'unsupported' if rows is None else table(rows)
        if w[0] in ('in-desc', 'out-desc'):
            return self.describe(w[1], w[0] == 'in-desc')
        down = w[0] == 'input'
        edge = next(e for e in self.edges if e[:2] == (w[1], w[2]))
        if ('in' if down else 'out', w[1], w[2]) not in self.data:
            return 'none'
        rows = self.side(edge, down)
        return 'unsupported' if rows is None else table(rows)


KINDS = {'decider': Decider, 'failures': FailureFile, 'plan': PlanFile, 'remap': Remap}

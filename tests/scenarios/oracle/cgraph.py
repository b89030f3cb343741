"""Coordinator scenarios: the job graph, the plan of a checkpoint, and the operator event valves."""


class Illegal(Exception):
    """The step is impossible in the current state."""


class Graph:
    def __init__(self):
        self.vertices, self.par, self.union, self.edges = [], {}, set(), []
        self.state, self.attempt = {}, {}

    def vertex(self, name, par, union):
        self.vertices.append(name)
        self.par[name] = par
        if union:
            self.union.add(name)
        for i in range(par):
            self.state[name, i], self.attempt[name, i] = 'RUNNING', 0

    def tasks(self):
        return [(v, i) for v in self.vertices for i in range(self.par[v])]

    def order(self, tasks):
        return sorted(tasks, key=lambda t: (self.vertices.index(t[0]), t[1]))

    def select(self, words):
        """Tasks named by `*`, `v.*`, `v.i` and `v.i-j`."""
        out = []
        for w in words:
            if w == '*':
                out += self.tasks()
                continue
            v, i = w.rsplit('.', 1)
            if i == '*':
                out += [(v, k) for k in range(self.par[v])]
            elif '-' in i:
                a, b = i.split('-')
                out += [(v, k) for k in range(int(a), int(b) + 1)]
            else:
                out.append((v, int(i)))
        return out

    def attempt_of(self, word):
        """`v.i` is the current attempt, `v.i#n` is attempt n: (v, i, n)."""
        base, _, n = word.partition('#')
        v, i = base.rsplit('.', 1)
        return v, int(i), int(n) if n else self.attempt[v, int(i)]

    def now(self, t):
        return t[0], t[1], self.attempt[t]

    def finished(self, t):
        return self.state[t] == 'FINISHED'

    def blocking(self):
        return any(b for _, _, _, b in self.edges)

    def active(self):
        return all(s in ('RUNNING', 'FINISHED') for s in self.state.values())

    def producers(self, v, i):
        out = []
        for up, down, kind, _ in self.edges:
            if down != v:
                continue
            m, n = self.par[up], self.par[v]
            if kind == 'all':
                out += [(up, k) for k in range(m)]
            elif m >= n:
                out += [(up, k) for k in range(i * m // n, (i + 1) * m // n)]
            else:
                out += [(up, p) for p in range(m) if -(-p * n // m) <= i < -(-(p + 1) * n // m)]
        return out

    def plan(self, finished_tasks):
        """(trigger, wait, finished) or the reason of the refusal."""
        tasks = self.tasks()
        producing = {up for up, _, _, b in self.edges if b}
        if any(t[0] in producing and self.state[t] == 'RUNNING' for t in tasks):
            return 'BLOCKING_OUTPUT_EXIST'
        done = [t for t in tasks if self.finished(t)]
        wait = [t for t in tasks if not self.finished(t)]
        trigger = [t for t in wait if all(self.finished(p) for p in self.producers(*t))]
        if (done and not finished_tasks) or not wait or any(self.state[t] == 'NONE' for t in tasks) \
                or any(self.state[t] != 'RUNNING' for t in trigger):
            return 'NOT_ALL_REQUIRED_TASKS_RUNNING'
        return trigger, wait, done


def show(attempt):
    v, i, n = attempt
    return f'{v}.{i}' + (f'#{n}' if n else '')


class Valve:
    """One coordinator's valve to one subtask."""

    def __init__(self):
        self.closed = {}

    def close(self, cid):
        self.closed.setdefault(cid, [])

    def keep(self, event):
        self.closed[max(self.closed)].append(event)

    def open(self, cid):
        """The events that go."""
        if cid not in self.closed:
            return []
        events = self.closed.pop(cid)
        lower = [c for c in self.closed if c < cid]
        if not lower:
            return events
        self.closed[max(lower)] += events
        return []

    def lose(self):
        lost = [e for c in sorted(self.closed) for e in self.closed[c]]
        for c in self.closed:
            self.closed[c] = []
        return lost

    def show(self):
        if not self.closed:
            return 'open'
        return ','.join(f'{c}({",".join(self.closed[c])})' for c in sorted(self.closed))


class Failures:
    """The failure manager (K11, K12, K13)."""

    PREFLIGHT = {'PERIODIC_SCHEDULER_SHUTDOWN', 'TOO_MANY_CHECKPOINT_REQUESTS', 'MINIMUM_TIME_BETWEEN_CHECKPOINTS',
                 'NOT_ALL_REQUIRED_TASKS_RUNNING', 'IO_EXCEPTION', 'BLOCKING_OUTPUT_EXIST'}
    COUNTED = {'IO_EXCEPTION', 'CHECKPOINT_ASYNC_EXCEPTION', 'CHECKPOINT_EXPIRED', 'CHECKPOINT_DECLINED',
               'FINALIZE_CHECKPOINT_FAILURE'}

    def __init__(self, tolerable):
        self.tolerable, self.count, self.ids, self.last = tolerable, 0, set(), 0

    def success(self, cid):
        if cid > self.last:
            self.last, self.count, self.ids = cid, 0, set()

    def failure(self, cid, reason, savepoint=False, sync=False, task=None):
        """The update that follows, if any."""
        task_level = task is not None and reason not in self.PREFLIGHT
        if (savepoint or sync) and not task_level:
            return []
        if sync:
            return [f'fail-job {reason}']
        if self.tolerable is None or reason not in self.COUNTED or (cid is not None and (cid <= self.last or cid in self.ids)):
            return []
        self.count += 1
        if cid is not None:
            self.ids.add(cid)
        if self.count <= self.tolerable:
            return []
        self.count, self.ids = 0, set()
        return [f'fail-job {reason}' + (f' {task}' if task_level else '')]


class Queue:
    """The waiting requests and the choice of the next one (C2..C7)."""

    def __init__(self, limit):
        self.limit, self.items = limit, []

    @staticmethod
    def key(r):
        return (not r.savepoint(), not r.forced, r.periodic, r.time, r.arrival)

    def add(self, r):
        """The request that falls out, if any."""
        if len(self.items) >= self.limit:
            if not self.items or not self.items[-1].periodic:
                return r
        self.items.append(r)
        self.items.sort(key=self.key)
        return self.items.pop() if len(self.items) > self.limit else None


class Stored:
    """A completed checkpoint or savepoint."""

    def __init__(self, cid, private, files, acks, hooks, claimed=True, old_savepoint=False):
        self.cid, self.private, self.files, self.acks, self.hooks = cid, private, files, acks, hooks
        self.claimed, self.old_savepoint = claimed, old_savepoint

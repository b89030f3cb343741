"""Random coordinator scenarios: every step is chosen with the oracle's own state in view."""

import random

import cscn
from cgraph import show

REASONS = ['CHECKPOINT_DECLINED', 'CHECKPOINT_ASYNC_EXCEPTION', 'IO_EXCEPTION', 'CHECKPOINT_DECLINED_TASK_NOT_READY',
           'CHECKPOINT_DECLINED_TASK_CLOSING', 'CHECKPOINT_DECLINED_SUBSUMED', 'CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER',
           'CHECKPOINT_DECLINED_INPUT_END_OF_STREAM', 'CHANNEL_STATE_SHARED_STREAM_EXCEPTION', 'TASK_CHECKPOINT_FAILURE']
ABORTS = REASONS + ['CHECKPOINT_EXPIRED', 'CHECKPOINT_SUBSUMED', 'TASK_FAILURE', 'JOB_FAILOVER_REGION',
                    'FINALIZE_CHECKPOINT_FAILURE', 'TRIGGER_CHECKPOINT_FAILURE']
STAGES = ['plan', 'id', 'storage', 'coord', 'hook', 'finalize', 'delete', 'event']
TASK_STATES = ['CREATED', 'DEPLOYING', 'INITIALIZING', 'RUNNING', 'RUNNING', 'RUNNING', 'FINISHED', 'CANCELING',
               'CANCELED', 'FAILED']
QUERIES = ['pending', 'completed', 'savepoints', 'queue', 'registry', 'timers', 'triggering', 'next-id', 'cleaning',
           'failures', 'scheduler', 'force-full']


class Draw:
    def __init__(self, seed, size=None):
        self.rng = random.Random(seed)
        self.seed, self.size = seed, size or self.rng.choice([20, 60, 100, 150])
        self.lines, self.files, self.keys, self.events, self.names = [], 0, 0, 0, 0
        self.sent, self.own, self.over = {}, {}, False
        self.script, self.wild = [], self.chance(0.4)

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        return self.rng.choice(items)

    # -- header

    def header(self):
        r, out = self.rng, []
        if self.chance(0.75):
            out.append(f'interval {self.pick([20, 50, 100, 200])}')
            out.append('init-draw ' + ' '.join(str(r.randrange(300)) for _ in range(r.randint(1, 4))))
        if self.chance(0.5):
            out.append(f'min-pause {self.pick([0, 10, 30, 60, 120, 250])}')
        out.append(f'timeout {self.pick([30, 60, 150, 400, 100000])}')
        unaligned = self.chance(0.3)
        if unaligned:
            out += ['unaligned on', f'aligned-timeout {self.pick([0, 20])}']
        else:
            out.append(f'max-concurrent {self.pick([1, 1, 2, 2, 3, 5])}')
            if self.chance(0.1):
                out.append('mode at-least-once')
        out.append(f'retained {self.pick([1, 1, 2, 3])}')
        out.append(f'tolerable-failures {self.pick([0, 0, 1, 3, "unlimited"])}')
        if self.chance(0.3):
            out.append(f'queue-limit {self.pick([1, 2, 3, 10])}')
        if self.chance(0.2):
            out.append('finished-tasks off')
        if self.chance(0.3):
            out.append(f'backlog-interval {self.pick([0, 0, 10, 200, 300])}')
        if self.chance(0.4):
            out.append(f'retention {self.pick(["never", "on-failure", "on-cancel"])}')
        manual = [s for s in STAGES if self.chance(0.3)]
        if manual:
            out.append('manual ' + ' '.join(manual))
        return out + self.graph()

    def graph(self):
        out, names = [], ['a', 'b', 'c', 'd'][:self.pick([1, 1, 2, 2, 3, 4])]
        for n in names:
            out.append(f'vertex {n} {self.pick([1, 1, 2, 2, 3, 12 if self.wild else 3])}' + (' union' if self.chance(0.2) else ''))
        for i, n in enumerate(names[1:], 1):
            ups = [u for u in names[:i] if self.chance(0.6)] or ([] if self.chance(0.1) else [names[i - 1]])
            for u in ups:
                out.append(f'edge {u} {n} {self.pick(["all", "point"])}' + (' blocking' if self.chance(0.03) else ''))
        for i in range(self.pick([0, 0, 1, 1, 2])):
            out.append(f'coord c{i} {self.pick(names)}')
        out += [f'hook h{i}' for i in range(self.pick([0, 0, 1, 2]))]
        if self.chance(0.1):
            out.append(f'state {self.pick(names)}.0 {self.pick(["DEPLOYING", "FINISHED", "CREATED", "NONE", "CANCELED"])}')
        return out

    # -- running

    def run(self, text):
        self.lines.append(text)
        for u in cscn.step(self.c, text.split()):
            self.lines.append('> ' + u)

    def ask(self, text):
        self.lines.append(f'? {text}: {cscn.query(self.c, text.split())}')

    def write(self):
        head = self.header()
        self.lines = [f'scenario r{self.seed} coordinator random events, seed {self.seed}'] + head + ['begin']
        self.c = cscn.make([h.split() for h in head])
        if self.chance(0.15):
            self.start_from()
        for _ in range(self.size):
            self.one()
        if not self.over and self.chance(0.8):
            self.run(f'job {self.pick(["FINISHED", "CANCELED", "FAILED", "SUSPENDED"])}')
            self.over = True
        for _ in range(self.pick([0, 4, 12])):
            self.answers()
        for q in QUERIES:
            self.ask(q)
        for c, _ in self.c.cfg.coords:
            self.ask(f'valve {c}')
        return '\n'.join(self.lines) + '\n'

    def one(self):
        if self.script and self.chance(0.6):
            step = self.script.pop(0)
            self.run(step() if callable(step) else step)
            return
        moves = MOVES + WILD if self.wild else MOVES
        what = self.rng.choices([w for w, _ in moves], [n for _, n in moves])[0]
        what(self)

    # -- moves

    def clock(self):
        if self.chance(0.1):
            self.run(f'!{self.pick([30, 120, 300])}')
            if self.chance(0.8):
                self.run('fire')
        else:
            self.run(f'+{self.pick([1, 5, 10, 20, 50, 100, 150])}')

    def name(self):
        self.names += 1
        return f'r{self.names}'

    def request(self):
        kind = self.pick(['checkpoint', 'checkpoint', 'checkpoint', 'periodic', 'savepoint', 'savepoint', 'suspend', 'drain'])
        text = f'{kind} {self.name()}'
        if kind == 'checkpoint':
            text += self.pick(['', '', ' full', ' incremental'])
        elif kind == 'savepoint':
            text += self.pick(['', '', ' dir=/sp', ' forced', ' unforced', ' unforced periodic', ' periodic'])
        self.run(text)

    def answers(self):
        c, todo = self.c, []
        asked = (c.prep.asked if c.prep else []) + c.swallow
        if asked:
            todo.append(lambda: self.stage(self.pick(asked)))
        final = [p.cid for p in c.pending.values() if p.finalising] + list(c.writing)
        if final:
            how = self.pick(['ok'] * 7 + ['fail', 'fail', 'unknown'])
            todo.append(lambda: self.run(f'finalized {self.pick(final)} {how}'))
        if c.cleaning:
            todo.append(lambda: self.run(f'deleted {self.pick(c.cleaning)}'))
        if c.way:
            lost = self.chance(0.12)
            todo.append(lambda: self.run(f'event-{"lost" if lost else "acked"} {self.pick(sorted(c.way))}'))
        if todo:
            self.pick(todo)()

    def stage(self, q):
        bad = self.pick(['fail', 'fail io']) if self.chance(0.12) else 'ok'
        if q[0] in ('plan', 'id'):
            self.run(f'{q[0]} {bad}')
        elif q[0] == 'storage':
            self.run(f'storage {q[1]} {bad}')
        elif q[0] == 'coord':
            self.run(f'coord {q[1]} {q[2]} {bad}')
        else:
            state = bad if bad != 'ok' else self.pick([f'ok s{self.rng.randrange(9)}', 'null'])
            self.run(f'hook {q[1]} {q[2]} {state}')

    def file(self):
        self.files += 1
        return f'f{self.files}'

    def states(self, task, cid):
        """What this attempt says for this id, the same each time."""
        if (task, cid) in self.sent:
            return self.sent[task, cid]
        p = self.c.pending.get(cid)
        savepoint = p is not None and p.req.savepoint()
        out = [self.file() for _ in range(self.pick([0, 0, 1, 2]))]
        known = sorted(self.c.registry)
        old = sorted(set(self.rng.sample(self.own.get(task[:2], []), min(2, len(self.own.get(task[:2], []))))))
        if known and self.chance(0.1):
            old = sorted(set(old) | {self.pick(known)})
        for k in old:
            if savepoint or k not in known or self.chance(0.35):
                out.append(f'{k}={self.file()}')
            else:
                out.append(f'{k}=')
        for _ in range(self.pick([0, 0, 1, 2])):
            self.keys += 1
            out.append(f'k{self.keys}={self.file()}')
            self.own.setdefault(task[:2], []).append(f'k{self.keys}')
        if not savepoint and self.chance(0.01):
            out.append(f'k{self.keys + 90}=')
        if self.chance(0.07):
            out.append('!finished')
        elif self.chance(0.03):
            out.append('!finished-on-restore')
        self.sent[task, cid] = out
        return out

    def ack(self):
        pend = list(self.c.pending.values())
        if not pend:
            return
        p = self.pick(pend)
        missing = p.missing()
        if missing:
            self.send_ack(self.pick(missing), p.cid)

    def send_ack(self, task, cid, word=None, tail=''):
        word = word or (show(task) if task[2] != self.c.graph.attempt[task[:2]] or self.chance(0.2) else f'{task[0]}.{task[1]}')
        self.run(' '.join([f'ack {word} {cid}'] + self.states(task, cid)) + tail)

    def odd_ack(self):
        c, t = self.c, self.pick(self.c.graph.tasks())
        cid = self.rng.randint(max(1, c.next_id - 6), c.next_id + 2)
        how = self.rng.random()
        if how < 0.2 and self.sent:
            task, cid = self.pick(sorted(self.sent))
            self.send_ack(task, cid)
        elif how < 0.35:
            self.send_ack((t[0], t[1], 7 + self.rng.randrange(3)), cid)
        elif how < 0.42:
            self.send_ack((t[0], t[1], 50 + self.rng.randrange(3)), cid, c_word(c, t), ' job=other')
        elif how < 0.6:
            self.send_ack((t[0], t[1], self.rng.randint(0, c.graph.attempt[t])), cid)
        else:
            self.send_ack(c.graph.now(t), cid)

    def decline(self):
        c = self.c
        t = c.graph.now(self.pick(c.graph.tasks()))
        cid = self.rng.randint(max(1, c.next_id - 3), c.next_id)
        if c.pending and self.chance(0.6):
            cid = self.pick(list(c.pending))
        self.run(f'decline {show(t)} {cid} {self.pick(REASONS)}' + (' job=other' if self.chance(0.05) else ''))

    def rpc(self):
        ready = [p for p in self.c.pending.values() if p.sent and not p.finalising and p.trigger]
        if ready:
            p = self.pick(ready)
            self.run(f'rpc-failed {show(self.pick(p.trigger))} {p.cid}')
        elif self.chance(0.3):
            t = self.pick(self.c.graph.tasks())
            self.run(f'rpc-failed {t[0]}.{t[1]} {self.c.next_id}')

    def valves(self):
        c = self.c
        if not c.cfg.coords:
            return
        name, v = self.pick(c.cfg.coords)
        i = self.rng.randrange(c.graph.par[v])
        if self.chance(0.5):
            self.events += 1
            self.run(f'send {name} {v}.{i} e{self.events}')
        elif self.chance(0.8):
            shut = sorted({cid for x in c.valves[name].values() for cid in x.closed})
            self.run(f'barrier {v}.{i} {self.pick(shut) if shut and self.chance(0.9) else c.newest[name] or 1}')
        else:
            self.ask(f'valve {name}')

    def backlog(self):
        if self.c.cfg.coords:
            self.run(f'backlog {self.pick(self.c.cfg.coords)[0]} {self.pick(["on", "off"])}')

    def scheduler(self):
        how = self.rng.random()
        if how < 0.35:
            self.run('scheduler start')
        elif how < 0.6:
            self.run('scheduler stop')
        else:
            if not self.c.graph.blocking():
                self.run(f'stop {self.name()} {self.pick(["suspend", "drain"])}')

    def abort(self):
        if self.c.pending:
            ready = [p.cid for p in self.c.pending.values() if not p.finalising]
            if ready:
                self.run(f'abort {self.pick(ready)} {self.pick(ABORTS)}')
        elif self.chance(0.2):
            self.run(f'abort {self.c.next_id} CHECKPOINT_EXPIRED')

    def finish(self):
        t = self.pick(self.c.graph.tasks())
        if self.c.graph.state[t] == 'RUNNING' and self.chance(0.4):
            self.run(f'task {t[0]}.{t[1]} FINISHED')

    def fail_over(self):
        """Some tasks fail and come back, or the job does, or the process dies."""
        c = self.c
        if self.script:
            return
        tasks, how = [f'{v}.{i}' for v, i in c.graph.tasks()], self.rng.random()
        if how < 0.5:
            some = self.some(tasks)
            for n, t in enumerate(some):
                self.script.append(f'task {t} {"FAILED" if n == 0 else self.pick(["FAILED", "CANCELED"])}')
            self.script += ['restart ' + ' '.join(some), 'restore ' + ' '.join(some)] + self.coming_up(some)
        elif how < 0.85:
            if self.chance(0.3):
                self.script.append(f'task {self.pick(tasks)} FAILED')
            self.script += ['job RESTARTING', 'restart *', 'restore *'] + self.coming_up(tasks, 'job RUNNING')
        else:
            self.script += ['crash', 'restore *'] + self.coming_up(tasks, 'job RUNNING')

    def some(self, tasks):
        chosen = set(self.rng.sample(tasks, self.rng.randint(1, len(tasks))))
        return [t for t in tasks if t in chosen]

    def coming_up(self, tasks, tail=None):
        steps = []
        for t in tasks:
            if self.chance(0.3):
                steps.append(f'task {t} {self.pick(["DEPLOYING", "INITIALIZING"])}')
        ups = [f'task {t} RUNNING' for t in tasks] + ([tail] if tail else [])
        self.rng.shuffle(ups)
        return steps + ups

    # -- what nobody would do

    def any_task_state(self):
        c = self.c
        t = self.pick(c.graph.tasks())
        word = self.pick([f'{t[0]}.{t[1]}', f'{t[0]}.{t[1]}', f'{t[0]}.*', '*'])
        state = self.pick(TASK_STATES) if word[-1] != '*' else self.pick(['RUNNING', 'RUNNING', 'INITIALIZING', 'FINISHED'])
        self.run(f'task {word} {state}')

    def any_job_state(self):
        self.run(f'job {self.pick(["RUNNING", "RUNNING", "RESTARTING", "FAILING", "CANCELLING", "CREATED"])}')

    def any_answer(self):
        c = self.c
        cid = self.rng.randint(max(1, c.next_id - 3), c.next_id)
        coord = self.pick(c.cfg.coords)[0] if c.cfg.coords else None
        hook = self.pick(c.cfg.hooks) if c.cfg.hooks else None
        end = self.pick(['ok', 'fail', 'fail io'])
        todo = [f'plan {end}', f'id {end}', f'storage {cid} {end}', f'finalized {cid} {end.split()[0]}', f'deleted {cid}',
                f'event-acked e{self.events}', f'event-lost e{self.events}']
        if coord:
            todo.append(f'coord {coord} {cid} {end}')
        if hook:
            todo.append(f'hook {hook} {cid} ' + ('null' if end == 'ok' else end))
        self.run(self.pick(todo))

    def any_abort(self):
        c = self.c
        if c.pending:
            p = self.pick(list(c.pending.values()))
            how = self.rng.random()
            if how < 0.5:
                self.run(f'abort {p.cid} {self.pick(ABORTS)}')
            else:
                self.run(f'rpc-failed {show(self.pick(p.wait))} {p.cid}')

    def any_restore(self):
        tasks = [f'{v}.{i}' for v, i in self.c.graph.tasks()]
        some = ['*'] if self.chance(0.4) else self.some(tasks)
        self.run(f'{self.pick(["restart", "restore"])} ' + ' '.join(some))

    def any_barrier(self):
        t = self.pick(self.c.graph.tasks())
        self.run(f'barrier {t[0]}.{t[1]} {self.rng.randint(1, self.c.next_id)}')

    def any_start(self):
        if self.c.completed or self.c.pending:
            self.start_from()

    def content(self):
        c = self.c
        ids = [x for x in list(c.pending) + list(c.savepoints) + [s.cid for s in c.completed]]
        if ids:
            cid = self.pick(sorted(ids))
            if not any(s.cid == cid and not s.acks for s in c.completed):
                self.ask(f'content {cid}')

    def query(self):
        if self.names and self.chance(0.1):
            self.ask(f'promise r{self.rng.randint(1, self.names)}')
        else:
            self.ask(self.pick(QUERIES))

    def end(self):
        if self.over or not self.chance(0.1):
            return
        self.over = True
        self.script = []
        self.run('shutdown' if self.chance(0.3) else f'job {self.pick(["FINISHED", "CANCELED", "FAILED", "SUSPENDED"])}')

    def start_from(self):
        n = self.rng.randint(0, 2)
        states = [self.file() for _ in range(n)]
        for _ in range(self.rng.randint(0, 3)):
            self.keys += 1
            states.append(f'k{self.keys}={self.file()}')
            t = self.pick(self.c.graph.tasks())
            self.own.setdefault(t, []).append(f'k{self.keys}')
        hooks = [f'hook:{h}=s{self.rng.randrange(9)}' for h in self.c.cfg.hooks if self.chance(0.5)]
        if self.wild and self.chance(0.4):
            hooks += ['hook:hx=s1'] + (['hook:hy=s2'] if self.chance(0.3) else [])
            hooks += ['allow-non-restored'] if self.chance(0.6) else []
        self.run(' '.join([f'start-from {self.rng.randint(1, 20)} {self.pick(["claim", "no-claim"])} '
                           f'{self.pick(["checkpoint", "savepoint"])}'] + states + hooks))


def c_word(c, t):
    return show(c.graph.now(t))


MOVES = [(Draw.clock, 20), (Draw.request, 12), (Draw.answers, 30), (Draw.ack, 26), (Draw.odd_ack, 8), (Draw.decline, 2),
         (Draw.rpc, 0.7), (Draw.valves, 6), (Draw.backlog, 1), (Draw.scheduler, 1), (Draw.abort, 0.8), (Draw.finish, 1),
         (Draw.fail_over, 1.2), (Draw.query, 14), (Draw.end, 0.5)]

WILD = [(Draw.any_task_state, 1), (Draw.any_job_state, 0.5), (Draw.any_answer, 3), (Draw.any_abort, 0.7), (Draw.any_restore, 0.7),
        (Draw.any_barrier, 2), (Draw.any_start, 0.5), (Draw.content, 3)]


def scenario(seed):
    return Draw(seed).write()

"""The checkpoint coordinator as the notation describes it: one method per step, updates as lines."""

from cgraph import Failures, Graph, Illegal, Queue, Stored, Valve, show
from coord_acks import Acks
from coord_states import SUSPEND, States


class Config:
    def __init__(self):
        self.interval, self.min_pause, self.timeout, self.max_concurrent = None, 0, 600000, 1
        self.retained, self.queue_limit, self.tolerable, self.unaligned = 1, 1000, 0, False
        self.aligned_timeout, self.mode, self.finished_tasks = 0, 'exactly-once', True
        self.backlog_interval, self.retention, self.draws, self.manual = None, 'never', [0], set()
        self.graph, self.coords, self.hooks, self.job = Graph(), [], [], 'RUNNING'


class Request:
    def __init__(self, name, kind, full=False, forced=False, periodic=False, place=None, stop=False):
        self.name, self.kind, self.full, self.forced, self.periodic = name, kind, full, forced, periodic
        self.place, self.stop, self.time, self.arrival, self.ends = place, stop, 0, 0, 'open'

    def savepoint(self):
        return self.kind != 'checkpoint'

    def sync(self):
        return self.kind in ('suspend', 'drain')


class Pending:
    def __init__(self, cid, req, ts, plan):
        self.cid, self.req, self.ts = cid, req, ts
        self.trigger, self.wait, self.done = plan
        self.acks, self.coords, self.hooks, self.hook_state = {}, [], [], {}
        self.sent, self.finalising, self.files = False, False, {}

    def missing(self):
        return [a for a in self.wait if a not in self.acks]

    def keys(self):
        return {s.split('=')[0] for states in self.acks.values() for s in states if '=' in s}

    def private(self):
        out = []
        for states in self.acks.values():
            for s in states:
                if s.startswith('!'):
                    continue
                key, eq, name = s.partition('=')
                if not eq:
                    out.append(key)
                elif self.req.savepoint() and name:
                    out.append(name)
        return out


class Preparation:
    """The request that is being prepared."""

    def __init__(self, req, ts):
        self.req, self.ts, self.stage, self.pend, self.plan = req, ts, None, None, None
        self.asked, self.events, self.closing = [], {}, set()


class Coordinator(Acks, States):
    def __init__(self, cfg):
        self.cfg, self.graph, self.job = cfg, cfg.graph, cfg.job
        self.out, self.now, self.armed, self.starts, self.periodics, self.arrivals = [], 0, 0, 0, 0, 0
        self.next_id, self.requests, self.completed, self.savepoints = 1, {}, [], {}
        self.forget()
        if self.active():
            self.start()

    def forget(self):
        """Everything that a crash takes."""
        self.fm, self.queue = Failures(self.cfg.tolerable), Queue(self.cfg.queue_limit)
        self.prep, self.pending, self.expired, self.swallow = None, {}, [], []
        self.running, self.periodic, self.timers, self.last, self.shut = False, None, {}, None, False
        self.cleaning, self.writing, self.doubt, self.parted = [], {}, [], []
        self.registry, self.full, self.backlog, self.restart_wanted = {}, False, set(), False
        self.valves = {c: {t: Valve() for t in self.coord_tasks(c)} for c, _ in self.cfg.coords}
        self.newest, self.way = {c: 0 for c, _ in self.cfg.coords}, {}

    # -- small things

    def say(self, line):
        self.out.append(line)

    def names(self, attempts):
        return ''.join(' ' + show(a) for a in attempts)

    def current(self, attempts):
        return [self.graph.now(a[:2]) for a in attempts]

    def active(self):
        return self.job == 'RUNNING' and self.graph.active()

    def coord_tasks(self, c):
        v = dict(self.cfg.coords)[c]
        return [(v, i) for i in range(self.graph.par[v])]

    def manual(self, stage):
        return stage in self.cfg.manual

    def arm(self):
        self.armed += 1
        return self.armed

    # -- the periodic timer

    def interval(self):
        """The current one; 0 means none for now."""
        base = max(self.cfg.interval, self.cfg.min_pause)
        if self.backlog and self.cfg.backlog_interval is not None:
            return self.cfg.backlog_interval
        return base

    def set_periodic(self, due):
        self.periodic = (due, self.arm())

    def start(self):
        if self.cfg.interval is None or self.graph.blocking() or self.shut:
            return
        self.start_scheduler()

    def start_scheduler(self):
        if self.running:
            self.stop(SUSPEND)
        self.running = True
        draws = self.cfg.draws
        n = draws[min(self.starts, len(draws) - 1)]
        self.starts += 1
        base = max(self.cfg.interval, self.cfg.min_pause)
        if self.interval():
            self.set_periodic(self.now + self.cfg.min_pause + n % (base - self.cfg.min_pause + 1))

    def stop(self, reason):
        """Timer off, then the queue, the request without an id, the pending by id."""
        self.running, self.periodic = False, None
        waiting, self.queue.items = self.queue.items, []
        for r in waiting:
            self.fail_request(r, reason)
        if self.prep and self.prep.pend is None:
            r = self.end_preparation()
            self.fail_request(r, reason)
        for cid in sorted(self.pending):
            if cid in self.pending:
                self.abort(self.pending[cid], reason)

    def set_backlog(self, c, on):
        (self.backlog.add if on else self.backlog.discard)(c)
        if not self.running:
            return
        now = self.interval()
        if now == 0:
            self.periodic = None
        elif self.periodic is None or self.now + now < self.periodic[0]:
            self.set_periodic(self.now + now)

    def due(self, limit):
        timers = [(d, a, None) for d, a in [self.periodic] if True] if self.periodic else []
        timers += [(d, a, cid) for cid, (d, a) in self.timers.items()]
        timers = [t for t in timers if t[0] <= limit]
        return min(timers) if timers else None

    def run_timer(self, timer):
        due, _, cid = timer
        if cid is None:
            self.periodics += 1
            name = f'p{self.periodics}'
            self.say(f'@{self.now} periodic')
            self.set_periodic(due + self.interval())
            self.request(Request(name, 'checkpoint', periodic=True))
        else:
            self.say(f'@{self.now} timeout {cid}')
            self.abort(self.pending[cid], 'CHECKPOINT_EXPIRED')
        self.settle()

    # -- requests and the decider

    def request(self, r):
        r.time, self.arrivals = self.now, self.arrivals + 1
        r.arrival = self.arrivals
        self.requests[r.name] = r
        if self.shut:
            self.fail_request(r, 'CHECKPOINT_COORDINATOR_SHUTDOWN')
        elif self.job != 'RUNNING':
            self.fail_request(r, 'NOT_ALL_REQUIRED_TASKS_RUNNING')
        else:
            out = self.queue.add(r)
            if out:
                self.fail_request(out, 'TOO_MANY_CHECKPOINT_REQUESTS')

    def fail_request(self, r, reason):
        """Before the id: the promise, then the failure manager."""
        self.promise_fails(r, reason)
        for line in self.fm.failure(None, reason, r.savepoint(), r.sync()):
            self.say(line)

    def promise_fails(self, r, reason):
        self.say(f'promise {r.name} fail {reason}')
        r.ends = f'fail {reason}'
        if r.stop:
            self.restart_wanted = True

    def settle(self):
        """The event is done: what follows from it, then the decider until nothing changes."""
        while True:
            if self.restart_wanted:
                self.restart_wanted = False
                if self.active():
                    self.start()
                continue
            if not self.decide():
                return

    def decide(self):
        if self.prep or self.writing or len(self.cleaning) > self.cfg.max_concurrent or not self.queue.items:
            return False
        head = self.queue.items[0]
        if len(self.pending) >= self.cfg.max_concurrent and not head.forced:
            return False
        self.queue.items.pop(0)
        if head.periodic and not head.forced and self.last is not None and self.now < self.last + self.cfg.min_pause:
            self.fail_request(head, 'MINIMUM_TIME_BETWEEN_CHECKPOINTS')
            if self.running and self.interval():
                self.set_periodic(self.last + self.cfg.min_pause)
            return True
        self.prepare(head)
        return True

    # -- preparation

    def prepare(self, r):
        if r.periodic and not self.running:
            self.fail_request(r, 'PERIODIC_SCHEDULER_SHUTDOWN')
            return
        self.prep = Preparation(r, self.now)
        self.stage('plan')
        if self.manual('plan'):
            self.ask(('plan',), 'need plan')
        else:
            self.plan_done()

    def stage(self, name):
        self.prep.stage = name

    def ask(self, question, line):
        self.prep.asked.append(question)
        self.say(line)

    def end_preparation(self):
        p, self.prep = self.prep, None
        self.swallow += p.asked
        return p.req

    def answer(self, question):
        """True if the preparation waits for it, False if it is to be swallowed."""
        if question in self.swallow:
            self.swallow.remove(question)
            return False
        if not self.prep or question not in self.prep.asked:
            raise Illegal
        self.prep.asked.remove(question)
        return True

    def stage_fails(self, io):
        reason = 'IO_EXCEPTION' if io else 'TRIGGER_CHECKPOINT_FAILURE'
        pend = self.prep.pend
        if pend is None:
            self.fail_request(self.end_preparation(), reason)
            return
        for c, _ in self.cfg.coords:
            self.open_valves(c, pend.cid)
        self.abort(pend, reason)

    def plan_done(self):
        plan = self.graph.plan(self.cfg.finished_tasks)
        if isinstance(plan, str):
            self.fail_request(self.end_preparation(), plan)
            return
        trigger, wait, done = plan
        self.prep.plan = [self.graph.now(t) for t in trigger], [self.graph.now(t) for t in wait], set(done)
        self.stage('id')
        if self.manual('id'):
            self.ask(('id',), 'need id')
        else:
            self.id_known()

    def id_known(self):
        prep = self.prep
        cid, self.next_id = self.next_id, self.next_id + 1
        prep.pend = Pending(cid, prep.req, prep.ts, prep.plan)
        prep.pend.coords, prep.pend.hooks = [c for c, _ in self.cfg.coords], list(self.cfg.hooks)
        self.pending[cid] = prep.pend
        self.timers[cid] = (self.now + self.cfg.timeout, self.arm())
        self.stage('storage')
        if self.manual('storage'):
            kind = 'savepoint' if prep.req.savepoint() else 'checkpoint'
            self.ask(('storage', cid), f'need storage {cid} {kind}' + (f' {prep.req.place}' if prep.req.place else ''))
        else:
            self.storage_known()

    def storage_known(self):
        prep = self.prep
        self.stage('coord')
        for c, _ in self.cfg.coords:
            self.newest[c] = prep.pend.cid
            if self.manual('coord'):
                self.ask(('coord', c, prep.pend.cid), f'need coord {c} {prep.pend.cid}')
        if not self.manual('coord'):
            for c, _ in self.cfg.coords:
                self.coord_known(c)
        self.coords_done()

    def coord_known(self, c):
        """The snapshot: its valves close, and it waits for its events not yet confirmed."""
        prep = self.prep
        waits = {e for e, (cc, _) in self.way.items() if cc == c}
        for v in self.valves[c].values():
            waits |= {e for events in v.closed.values() for e in events}
            v.close(prep.pend.cid)
        prep.events[c] = waits
        if not waits:
            prep.pend.coords.remove(c)

    def coords_done(self):
        prep = self.prep
        if prep is None or prep.stage != 'coord' or prep.pend.coords:
            return
        self.stage('hook')
        for h in self.cfg.hooks:
            if self.manual('hook'):
                self.ask(('hook', h, prep.pend.cid), f'need hook {h} {prep.pend.cid}')
            else:
                prep.pend.hooks.remove(h)
        self.hooks_done()

    def hooks_done(self):
        prep = self.prep
        if prep.pend.hooks:
            return
        pend, req, self.prep = prep.pend, prep.req, None
        kind = req.kind
        if kind == 'checkpoint' and (req.full or self.full):
            kind = 'full'
        if self.cfg.mode == 'at-least-once':
            how = 'at-least-once'
        elif req.savepoint() or not self.cfg.unaligned:
            how = 'aligned'
        else:
            how = f'timeout:{self.cfg.aligned_timeout}' if self.cfg.aligned_timeout else 'unaligned'
        self.say(f'trigger {pend.cid} {kind} {how} ts={pend.ts}{self.names(pend.trigger)}')
        pend.sent = True
        self.maybe_finalise(pend)

    def event_over(self, event, arrived):
        """An event is confirmed or lost: the snapshot that waits for it goes on, or fails."""
        prep = self.prep
        if prep is None:
            return
        for c, waits in prep.events.items():
            if event in waits:
                waits.discard(event)
                if not arrived:
                    self.stage_fails(False)
                    return
                if not waits:
                    prep.pend.coords.remove(c)
        self.coords_done()

    # -- operator events

    def open_valves(self, c, cid):
        for t in self.coord_tasks(c):
            for e in self.valves[c][t].open(cid):
                self.send_now(c, t, e)

    def send_now(self, c, t, event):
        self.say(f'event {c} {show(self.graph.now(t))} {event}')
        self.way[event] = (c, t)
        if not self.manual('event'):
            del self.way[event]
            self.event_over(event, True)

    def send(self, c, t, event):
        if t not in self.valves[c] or self.graph.state[t] != 'RUNNING':
            raise Illegal
        valve = self.valves[c][t]
        if valve.closed:
            valve.keep(event)
        else:
            self.send_now(c, t, event)

    def event_answer(self, event, arrived):
        if event not in self.way:
            raise Illegal
        c, t = self.way.pop(event)
        if not arrived:
            self.say(f'fail-task {show(self.graph.now(t))}')
        self.event_over(event, arrived)

    def lose_events(self, t):
        lost = []
        for c, _ in self.cfg.coords:
            if t in self.valves[c]:
                lost += self.valves[c][t].lose() + [e for e, w in self.way.items() if w == (c, t)]
        for e in lost:
            self.way.pop(e, None)
        return lost

    def barrier(self, t, cid):
        mine = [c for c, _ in self.cfg.coords if t in self.valves[c]]
        if not mine or cid > max(self.newest[c] for c in mine):
            raise Illegal
        for c in mine:
            for e in self.valves[c][t].open(cid):
                self.send_now(c, t, e)

    # -- completion

    def complete(self, p):
        del self.pending[p.cid]
        self.fm.success(p.cid)
        self.last = self.now
        self.doubt = [d for d in self.doubt if d[0] >= p.cid]
        stored = Stored(p.cid, p.private(), dict(p.files), p.acks, p.hook_state)
        stored.plan = p
        subsumed = '-'
        if p.req.savepoint():
            self.savepoints[p.cid] = stored
        else:
            subsumed = self.store(stored)
        self.say(f'promise {p.req.name} ok {p.cid}')
        p.req.ends = f'ok {p.cid}'
        if p.req.kind == 'savepoint':
            return
        for cid in sorted(self.pending):
            old = self.pending.get(cid)
            if old and cid < p.cid and not old.req.savepoint():
                self.abort(old, 'CHECKPOINT_SUBSUMED')
        self.say(f'complete {p.cid} ts={p.ts} subsumed={subsumed}{self.names(self.current(p.wait))}')
        for c, _ in self.cfg.coords:
            self.say(f'coord-complete {c} {p.cid}')
            self.open_valves(c, p.cid)

    def store(self, stored):
        self.full = False
        self.completed.append(stored)
        gone, subsumed = [], '-'
        while len(self.completed) > self.cfg.retained:
            old = self.completed.pop(0)
            if old.claimed:
                gone.append(old)
                subsumed = str(old.cid)
        low = min(s.cid for s in self.completed if s.claimed)
        self.drop_keys([k for k, e in self.registry.items() if e[2] < low])
        self.delete_stored(gone)
        return subsumed

    def drop_keys(self, keys):
        self.discard([self.registry.pop(k)[0] for k in keys])

    def delete_stored(self, gone):
        """A claimed savepoint waits until no registry file that it brought is left."""
        left = {e[0] for e in self.registry.values()}
        waiting, self.parted = self.parted + gone, []
        for s in sorted(waiting, key=lambda s: s.cid):
            if s.old_savepoint and left & set(s.files.values()):
                self.parted.append(s)
            else:
                self.delete(s.cid, s.private)

    # -- abort

    def abort(self, p, reason, task=None, write=None):
        del self.pending[p.cid]
        self.timers.pop(p.cid, None)
        if self.prep and self.prep.pend is p:
            self.end_preparation()
        if reason == 'CHECKPOINT_EXPIRED':
            self.expired = (self.expired + [p.cid])[-16:]
        self.promise_fails(p.req, reason)
        if p.finalising and write is None:
            self.writing[p.cid] = p
        elif write != 'unknown':
            self.delete(p.cid, p.private())
        for line in self.fm.failure(p.cid, reason, p.req.savepoint(), p.req.sync(), task):
            self.say(line)
        latest = self.completed[-1].cid if self.completed else '-'
        self.say(f'abort {p.cid} latest={latest}{self.names(self.current(p.wait))}')
        for c, _ in self.cfg.coords:
            if self.newest[c] >= p.cid:
                self.say(f'coord-abort {c} {p.cid}')
                self.open_valves(c, p.cid)

    def decline(self, word, cid, reason, other):
        p = self.pending.get(cid)
        if other or self.shut or p is None or p.finalising:
            self.say('decline ignored')
        else:
            self.abort(p, reason, show(self.graph.attempt_of(word)))

    def rpc_failed(self, word, cid):
        p = self.pending.get(cid)
        if p is None or not p.sent or self.graph.attempt_of(word) not in p.trigger:
            raise Illegal
        if not p.finalising:
            self.abort(p, 'TRIGGER_CHECKPOINT_FAILURE')

    def abort_step(self, cid, reason):
        p = self.pending.get(cid)
        if p is None or (p.req.savepoint() and reason == 'CHECKPOINT_SUBSUMED'):
            raise Illegal
        if not p.finalising:
            self.abort(p, reason)

"""States of tasks and job, restore, start from a checkpoint, crash."""

from cgraph import Illegal, Stored, Valve, show

SUSPEND = 'CHECKPOINT_COORDINATOR_SUSPEND'
FINAL = ('FINISHED', 'CANCELED', 'FAILED', 'SUSPENDED')


class States:
    """Part of coord.Coordinator."""

    def set_task(self, t, state):
        was, before = self.graph.state[t], self.active()
        self.graph.state[t] = state
        self.left_running(t, was, before)
        if self.active() and not before:
            self.start()

    def left_running(self, t, was, before):
        lost = self.lose_events(t) if was == 'RUNNING' != self.graph.state[t] else []
        if before and not self.active():
            self.stop(SUSPEND)
        if was != 'RUNNING' or self.graph.state[t] == 'RUNNING':
            return
        if not self.graph.finished(t) and not before:
            for cid in sorted(self.pending):
                p = self.pending.get(cid)
                if p and self.graph.now(t) not in p.acks and not p.finalising:
                    self.abort(p, 'TASK_FAILURE')
        for e in lost:
            self.event_over(e, False)

    def set_job(self, state):
        was, before = self.job, self.active()
        self.job = state
        if was == 'RUNNING' and state != 'RUNNING' or before and not self.active():
            self.stop(SUSPEND)
        if state in FINAL:
            self.end_of_job(state)
        elif self.active() and not before:
            self.start()

    def end_of_job(self, state):
        self.stop(SUSPEND)
        self.shut = True
        if state == 'SUSPENDED':
            return
        keep = {'on-cancel': ('CANCELED', 'FAILED'), 'on-failure': ('FAILED',)}.get(self.cfg.retention, ())
        kept = self.completed if state in keep else [s for s in self.completed if not s.claimed]
        used = {k for s in kept if s.claimed for k in s.files}
        gone = [s for s in self.completed if s not in kept]
        self.completed = kept
        self.drop_keys([k for k in self.registry if k not in used])
        self.delete_stored(gone)

    def shutdown(self):
        self.stop('CHECKPOINT_COORDINATOR_SHUTDOWN')
        self.shut = True

    def restart(self, tasks):
        if self.active():
            raise Illegal
        for t in tasks:
            was = self.graph.state[t]
            self.graph.state[t] = 'CREATED'
            self.left_running(t, was, False)
            self.graph.attempt[t] += 1
            for c, _ in self.cfg.coords:
                if t in self.valves[c]:
                    self.valves[c][t] = Valve()

    # -- restore

    def restore(self, tasks):
        for cid in sorted(self.pending):
            if cid in self.pending:
                self.abort(self.pending[cid], 'JOB_FAILOVER_REGION')
        latest = self.completed[-1] if self.completed else None
        if latest:
            self.full = not latest.claimed
        self.tell_restore(latest, self.graph.order(set(tasks)))

    def tell_restore(self, latest, tasks):
        cid = latest.cid if latest else '-'
        self.say(f'restore {cid}{self.names([self.graph.now(t) for t in tasks])}')
        for h in self.cfg.hooks:
            self.say(f'hook-restore {h} {cid} {latest.hooks.get(h) or "-"}' if latest else f'hook-reset {h}')
        for c, _ in self.cfg.coords:
            if len(tasks) == len(self.graph.tasks()):
                self.say(f'coord-reset {c} {cid}')
                self.newest[c] = latest.cid if latest else 0
                self.way = {e: w for e, w in self.way.items() if w[0] != c}
                self.valves[c] = {t: Valve() for t in self.coord_tasks(c)}
                continue
            for t in tasks:
                if t in self.valves[c]:
                    self.say(f'subtask-reset {c} {show(self.graph.now(t))} {cid}')

    def start_from(self, cid, claim, savepoint, states, hooks, allow):
        if self.completed or self.pending or self.savepoints or self.next_id > 1 or self.prep or self.registry:
            raise Illegal
        alien = sorted(h for h in hooks if h not in self.cfg.hooks)
        if alien and not allow:
            self.say('restore-failed' + ''.join(f' hook:{h}' for h in alien))
            return
        private = [s for s in states if '=' not in s]
        files = dict(s.split('=') for s in states if '=' in s)
        stored = Stored(cid, private, files, {}, hooks, claim, savepoint)
        self.completed.append(stored)
        self.next_id = cid + 1
        self.full = not claim
        if claim:
            for k, f in files.items():
                self.registry[k] = [f, cid, cid]
        self.tell_restore(stored, self.graph.tasks())

    def crash(self):
        for r in self.requests.values():
            if r.ends == 'open':
                r.ends = 'lost'
        self.forget()
        self.job = 'RESTARTING'
        for t in self.graph.tasks():
            self.graph.attempt[t] += 1
            self.graph.state[t] = 'CREATED'
        for s in self.completed:
            for k, f in s.files.items() if s.claimed else ():
                self.registry.setdefault(k, [f, s.cid, s.cid])[2] = s.cid

"""Acknowledgements, the registry of shared files, finalising."""

from cgraph import Illegal, show


class Acks:
    """Part of coord.Coordinator."""

    def outcome(self, attempt, cid, states, other):
        if self.shut:
            return 'shutdown'
        if other:
            return 'other-job'
        p = self.pending.get(cid)
        known = p or self.savepoints.get(cid) or next((s for s in self.completed if s.cid == cid), None)
        if known and attempt in known.acks:
            return 'duplicate'
        if p:
            if attempt not in p.wait:
                return 'unknown'
            if any(s.endswith('=') and s[:-1] not in self.registry for s in states):
                return 'broken'
            return 'success'
        return 'expired' if cid in self.expired else 'late'

    def ack(self, word, cid, states, other):
        attempt = self.graph.attempt_of(word)
        what = self.outcome(attempt, cid, states, other)
        self.say(f'ack {what}')
        if what in ('shutdown', 'other-job', 'duplicate'):
            return
        p = self.pending.get(cid)
        private_all = p is not None and p.req.savepoint()
        if not private_all:
            for s in states:
                if '=' in s:
                    self.register(cid, *s.split('='), what == 'success')
        if what != 'success':
            files = [s for s in states if '=' not in s and s[0] != '!']
            if private_all:
                files += [s.split('=')[1] for s in states if '=' in s and s.split('=')[1]]
            self.discard(files)
            if what == 'broken':
                self.abort(p, 'CHECKPOINT_ASYNC_EXCEPTION', show(attempt))
            return
        p.acks[attempt] = states
        self.maybe_finalise(p)

    def register(self, cid, key, name, success):
        entry = self.registry.get(key)
        if entry is None:
            if name:
                self.registry[key] = [name, cid, cid]
            return
        if name and name != entry[0]:
            if success and not self.pinned(key) and entry[2] <= cid:
                name, entry[0] = entry[0], name
            elif not success:
                self.discard([name])
                return
            self.discard([name])
        entry[2] = max(entry[2], cid)

    def pinned(self, key):
        return any(s.claimed and key in s.files for s in self.completed) or \
            any(p.finalising and key in p.keys() and not p.req.savepoint() for p in self.pending.values())

    def discard(self, files):
        kept = {f for _, fs in self.doubt for f in fs}
        files = sorted(f for f in files if f not in kept)
        if files:
            self.say('discard ' + ' '.join(files))

    def delete(self, cid, files):
        self.say(' '.join([f'delete {cid}'] + sorted(files)))
        if self.manual('delete'):
            self.cleaning.append(cid)

    def maybe_finalise(self, p):
        if not p.sent or p.missing() or p.finalising:
            return
        del self.timers[p.cid]
        if self.union_broken(p):
            self.abort(p, 'CHECKPOINT_DECLINED_TASK_CLOSING')
            return
        p.finalising = True
        if not p.req.savepoint():
            p.files = {k: self.registry[k][0] for k in p.keys()}
        if self.manual('finalize'):
            self.say(f'need finalize {p.cid}')
        else:
            self.finalised(p.cid, 'ok')

    def union_broken(self, p):
        for v in self.graph.union:
            acks = {a: s for a, s in p.acks.items() if a[0] == v}
            if not any(not x.startswith('!') for s in acks.values() for x in s):
                continue
            done = sum(t[0] == v for t in p.done)
            ended = sum('!finished' in s for s in acks.values())
            if done or 0 < ended < self.graph.par[v]:
                return True
        return False

    def finalised(self, cid, how):
        if cid in self.writing:
            p = self.writing.pop(cid)
            if how == 'unknown':
                self.doubt.append((cid, set(p.files.values())))
            else:
                self.delete(cid, p.private())
            return
        p = self.pending.get(cid)
        if p is None or not p.finalising:
            raise Illegal
        if how == 'ok':
            self.complete(p)
            return
        if how == 'unknown':
            self.doubt.append((cid, set(p.files.values())))
        self.abort(p, 'FINALIZE_CHECKPOINT_FAILURE', write=how)

"""Coordinator scenario files of kind coordinator: reading them, running their steps, answering queries."""

from cgraph import Illegal, show
from coord import Config, Coordinator, Request

NUMBERS = {'min-pause': 'min_pause', 'timeout': 'timeout', 'max-concurrent': 'max_concurrent', 'retained': 'retained',
           'queue-limit': 'queue_limit', 'aligned-timeout': 'aligned_timeout'}


def words(line):
    if line.startswith('#'):
        return []
    return line.split(' #', 1)[0].split()


def opt_number(w, none):
    return None if w == none else int(w)


def header(cfg, w):
    g = cfg.graph
    if w[0] in NUMBERS:
        setattr(cfg, NUMBERS[w[0]], int(w[1]))
    elif w[0] == 'interval':
        cfg.interval = opt_number(w[1], 'none')
    elif w[0] == 'tolerable-failures':
        cfg.tolerable = opt_number(w[1], 'unlimited')
    elif w[0] == 'backlog-interval':
        cfg.backlog_interval = opt_number(w[1], 'none')
    elif w[0] in ('unaligned', 'finished-tasks'):
        setattr(cfg, w[0].replace('-', '_'), w[1] == 'on')
    elif w[0] in ('mode', 'retention'):
        setattr(cfg, w[0], w[1])
    elif w[0] == 'init-draw':
        cfg.draws = [int(x) for x in w[1:]]
    elif w[0] == 'manual':
        cfg.manual |= set(w[1:])
    elif w[0] == 'vertex':
        g.vertex(w[1], int(w[2]), 'union' in w[3:])
    elif w[0] == 'edge':
        g.edges.append((w[1], w[2], w[3], 'blocking' in w[4:]))
    elif w[0] == 'coord':
        cfg.coords.append((w[1], w[2]))
    elif w[0] == 'hook':
        cfg.hooks.append(w[1])
    elif w[0] == 'job':
        cfg.job = w[1]
    else:
        raise ValueError(w)


def make(lines):
    """A coordinator from the header's lines; states may come before their vertices."""
    cfg, states = Config(), []
    for w in lines:
        if w[0] == 'state':
            states.append(w)
        else:
            header(cfg, w)
    for w in states:
        for t in cfg.graph.select(w[1:-1]):
            cfg.graph.state[t] = w[-1]
    return Coordinator(cfg)


def step(c, w):
    """Run one step; its updates."""
    c.out = []
    try:
        if w[0][0] == '+':
            forward(c, int(w[0][1:]))
        elif w[0][0] == '!':
            c.now += int(w[0][1:])
        elif w[0] == 'fire':
            while c.due(c.now):
                c.run_timer(c.due(c.now))
        else:
            HOW[w[0]](c, w)
            c.settle()
    except Illegal:
        return ['illegal']
    return c.out


def forward(c, n):
    end = c.now + n
    while c.due(end):
        t = c.due(end)
        c.now = max(c.now, t[0])
        c.run_timer(t)
    c.now = end


def do_request(c, w):
    kind, rest = w[0], w[2:]
    forced = kind in ('savepoint', 'suspend', 'drain') and not c.cfg.unaligned
    if 'forced' in rest:
        forced = True
    if 'unforced' in rest:
        forced = False
    place = next((x[4:] for x in rest if x.startswith('dir=')), None)
    periodic = kind == 'periodic' or 'periodic' in rest
    c.request(Request(w[1], 'checkpoint' if kind == 'periodic' else kind, 'full' in rest, forced, periodic, place))


def do_stop(c, w):
    c.stop('CHECKPOINT_COORDINATOR_SUSPEND')
    c.request(Request(w[1], w[2], forced=not c.cfg.unaligned, stop=True))


def do_simple(c, w):
    ok = w[1] == 'ok'
    if not c.answer((w[0],)):
        if w[0] == 'id' and ok:
            c.next_id += 1
    elif not ok:
        c.stage_fails('io' in w)
    elif w[0] == 'plan':
        c.plan_done()
    else:
        c.id_known()


def do_storage(c, w):
    cid = int(w[1])
    if not c.answer(('storage', cid)):
        if w[2] == 'ok':
            c.say(f'drop-location {cid}')
    elif w[2] == 'ok':
        c.storage_known()
    else:
        c.stage_fails('io' in w)


def do_coord(c, w):
    if not c.answer(('coord', w[1], int(w[2]))):
        return
    if w[3] == 'ok':
        c.coord_known(w[1])
        c.coords_done()
    else:
        c.stage_fails('io' in w)


def do_hook(c, w):
    if not c.answer(('hook', w[1], int(w[2]))):
        return
    if w[3] == 'fail':
        c.stage_fails('io' in w)
        return
    pend = c.prep.pend
    if w[3] == 'ok':
        pend.hook_state[w[1]] = w[4]
    pend.hooks.remove(w[1])
    c.hooks_done()


def do_deleted(c, w):
    if int(w[1]) not in c.cleaning:
        raise Illegal
    c.cleaning.remove(int(w[1]))


def do_scheduler(c, w):
    if w[1] == 'stop':
        c.stop('CHECKPOINT_COORDINATOR_SUSPEND')
    elif c.cfg.interval is None or c.shut:
        raise Illegal
    else:
        c.start_scheduler()


def do_start_from(c, w):
    hooks = dict(x[5:].split('=') for x in w[4:] if x.startswith('hook:'))
    allow = 'allow-non-restored' in w
    states = [x for x in w[4:] if not x.startswith('hook:') and x != 'allow-non-restored']
    c.start_from(int(w[1]), w[2] == 'claim', w[3] == 'savepoint', states, hooks, allow)


def do_task(c, w):
    for t in c.graph.select([w[1]]):
        c.set_task(t, w[2])


HOW = {
    'checkpoint': do_request, 'periodic': do_request, 'savepoint': do_request, 'suspend': do_request,
    'drain': do_request, 'stop': do_stop, 'plan': do_simple, 'id': do_simple, 'storage': do_storage,
    'coord': do_coord, 'hook': do_hook, 'deleted': do_deleted, 'scheduler': do_scheduler,
    'start-from': do_start_from, 'task': do_task,
    'finalized': lambda c, w: c.finalised(int(w[1]), w[2]),
    'ack': lambda c, w: c.ack(w[1], int(w[2]), [x for x in w[3:] if x != 'job=other'], 'job=other' in w),
    'decline': lambda c, w: c.decline(w[1], int(w[2]), w[3], 'job=other' in w),
    'rpc-failed': lambda c, w: c.rpc_failed(w[1], int(w[2])),
    'barrier': lambda c, w: c.barrier(c.graph.attempt_of(w[1])[:2], int(w[2])),
    'send': lambda c, w: c.send(w[1], c.graph.attempt_of(w[2])[:2], w[3]),
    'event-acked': lambda c, w: c.event_answer(w[1], True),
    'event-lost': lambda c, w: c.event_answer(w[1], False),
    'backlog': lambda c, w: c.set_backlog(w[1], w[2] == 'on'),
    'job': lambda c, w: c.set_job(w[1]),
    'abort': lambda c, w: c.abort_step(int(w[1]), w[2]),
    'shutdown': lambda c, w: c.shutdown(),
    'restart': lambda c, w: c.restart(c.graph.select(w[1:])),
    'restore': lambda c, w: c.restore(c.graph.select(w[1:])),
    'crash': lambda c, w: c.crash(),
}


def show_pending(c):
    out = []
    for cid in sorted(c.pending):
        p = c.pending[cid]
        if p.finalising:
            out.append(f'{cid}(finalizing)')
            continue
        out.append(f'{cid}(' + ','.join([show(a) for a in p.missing()] + [f'coord:{x}' for x in p.coords] +
                                        [f'hook:{x}' for x in p.hooks]) + ')')
    return ' '.join(out)


def show_timers(c):
    t = [(d, a, f'timeout:{cid}={d}') for cid, (d, a) in c.timers.items()]
    if c.periodic:
        t.append((*c.periodic, f'periodic={c.periodic[0]}'))
    return ' '.join(x[2] for x in sorted(t))


def show_registry(c):
    return ' '.join(f'{k}={f}[{a},{b}]' + ('!' if c.pinned(k) else '') for k, (f, a, b) in sorted(c.registry.items()))


def content_word(state, savepoint):
    """A savepoint's shared files are private."""
    key, eq, name = state.partition('=')
    return key + eq if not (savepoint and name) else name


def show_content(c, cid):
    p = c.pending.get(cid)
    s = None if p else c.savepoints.get(cid) or next((x for x in c.completed if x.cid == cid), None)
    acks, done = (p.acks, p.done) if p else (s.acks, s.plan.done)
    hooks = p.hook_state if p else s.hooks
    savepoint = (p or s.plan).req.savepoint()
    out = []
    for v in c.graph.vertices:
        par = c.graph.par[v]
        mine = {a[1]: states for a, states in acks.items() if a[0] == v}
        ended = {t[1] for t in done if t[0] == v}
        restored = {i for i, states in mine.items() if '!finished-on-restore' in states}
        if len(ended | restored) == par:
            out.append(f'{v}({par})=finished')
        elif mine:
            subs = ['F' if i in ended else '?' if i not in mine else
                    '+'.join(content_word(x, savepoint) for x in mine[i] if x[0] != '!') or '-' for i in range(par)]
            out.append(f'{v}({par})=' + ','.join(subs))
    return ' '.join(out + [f'hook:{h}={hooks[h]}' for h in c.cfg.hooks if h in hooks])


def query(c, w):
    what = w[0]
    if what == 'promise':
        text = c.requests[w[1]].ends
    elif what == 'valve':
        text = ' '.join(f'{v}.{i}={c.valves[w[1]][v, i].show()}' for v, i in c.coord_tasks(w[1]))
    elif what == 'content':
        text = show_content(c, int(w[1]))
    else:
        text = QUERY[what](c)
    return text or '-'


QUERY = {
    'pending': show_pending, 'timers': show_timers, 'registry': show_registry,
    'completed': lambda c: ' '.join(f'{s.cid}' + ('' if s.claimed else 'u') for s in c.completed),
    'savepoints': lambda c: ' '.join(str(i) for i in sorted(c.savepoints)),
    'queue': lambda c: ' '.join(r.name for r in c.queue.items),
    'triggering': lambda c: c.prep.req.name if c.prep else '',
    'next-id': lambda c: str(c.next_id), 'cleaning': lambda c: str(len(c.cleaning)),
    'failures': lambda c: str(c.fm.count), 'scheduler': lambda c: 'on' if c.running else 'off',
    'force-full': lambda c: 'on' if c.full else 'off',
}

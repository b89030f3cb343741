"""Random scenarios of mode output."""

import random

import scn
from task import Options

KINDS = ('d', 'd', 'd', 'd', 'tb', 'tb', 'ub', 'b', 'sp', 'x', 'eop')


def scenario(seed):
    r, opt = random.Random(f'output {seed}'), Options()
    opt.mode, opt.channels = 'output', r.choice((1, 1, 2, 3, 7))
    task, seen = scn.fresh(opt), 0
    lines = [f'scenario Y{seed} output, seed {seed}', 'mode output', f'channels {opt.channels}']
    cid = 0
    for _ in range(r.choice((5, 20, 60))):
        text = step(r, opt, task, cid)
        cid += r.random() < 0.2
        w = text.split()
        if w[0] == 'push' and any(full(task.queues[c]) for c in range(opt.channels)):
            continue
        scn.step(task, w)
        lines += [text] + ['  ' + e for e in task.log[seen:]]
        seen = len(task.log)
        if r.random() < 0.3:
            lines.append('  ' + scn.state(task, ['queue', str(r.randrange(opt.channels))]))
        if r.random() < 0.2:
            lines.append('  ' + scn.state(task, ['blocked']))
        if w[0] == 'close':
            break
    return '\n'.join(lines) + '\n\n'


def full(q):
    """No producer holds more: its task stops first."""
    return len(q.first) > 40 or len(q.first) + len(q.rest) > 200


def step(r, opt, task, cid):
    c = r.randrange(opt.channels)
    near = max(0, cid - r.choice((0, 0, 0, 1, 2)))
    how = r.random()
    if how < 0.5:
        return 'push ' + ' '.join(item(r, opt, cid) for _ in range(r.choice((1, 2, 4))))
    if how < 0.75:
        q = task.queues[c]
        nothing = q.closed or not (q.first or q.rest)
        return f'take {c}' + (' none' if nothing and r.random() < 0.5 else '')
    if how < 0.84:
        return f'resume {c}'
    if how < 0.93 and not any(q.first and q.open is not None and q.open.id == near for q in task.queues):
        return f'timeout {near}'  # whether it goes before or behind other priority items is not said
    return f'abort-output {near}' if how < 0.995 else 'close'


def item(r, opt, cid):
    kind = r.choice(KINDS)
    ch = '*' if r.random() < 0.1 else r.randrange(opt.channels)
    if kind == 'd':
        return f'd@{ch}' + ('*5' if r.random() < 0.05 else '')
    return f'eop@{ch}' if kind == 'eop' else f'{kind}{max(0, cid + r.choice((0, 0, 0, 1, -1)))}@{ch}'

"""Random scenarios of the small coordinator kinds."""

import random

import csmall
from cdraw import ABORTS

MAPPERS = ['range', 'range', 'round-robin', 'arbitrary', 'first', 'full', 'unsupported']
STATES = ['RUNNING', 'FINISHED', 'FINISHED', 'RUNNING', 'DEPLOYING', 'CREATED', 'NONE', 'CANCELED', 'INITIALIZING']


def scenario(seed):
    r = random.Random(f'small {seed}')
    kind = r.choice(['decider', 'failures', 'plan', 'remap'])
    head = HEAD[kind](r)
    model = csmall.KINDS[kind]([h.split() for h in head])
    lines = [f'scenario s{seed} {kind} random, seed {seed}'] + head + ['begin']
    for _ in range(r.choice([5, 20, 60])):
        text = STEP[kind](r, model)
        if text[0] == '?':
            lines.append(f'{text}: {model.query(text[2:].split())}')
        else:
            lines += [text] + [f'> {u}' for u in model.step(text.split())]
    return '\n'.join(lines) + '\n'


def decider_head(r):
    return [f'max-concurrent {r.randint(1, 4)}', f'queue-limit {r.randint(1, 6)}', f'min-pause {r.choice([0, 5, 20])}']


def decider_step(r, m):
    m.names = getattr(m, 'names', 0)
    how = r.random()
    if how < 0.5:
        m.names += 1
        kind = r.choice(['checkpoint', 'savepoint'])
        extra = r.choice(['', ' periodic', ' forced', ' unforced', ' periodic unforced'])
        return f'add r{m.names} {kind}{extra}'
    if how < 0.75:
        now = m.set['now'] + r.choice([0, 1, 7])
        last = f' last={r.randint(0, now)}' if r.random() < 0.4 else ''
        return (f'set triggering={int(r.random() < 0.3)} pending={r.randint(0, m.max + 1)} '
                f'cleaning={r.randint(0, m.max + 2)} now={now}{last}')
    return 'poll' if how < 0.9 else '? queue'


def failures_head(r):
    return [f'tolerable-failures {r.choice([0, 1, 2, 5, "unlimited"])}']


def failures_step(r, m):
    if r.random() < 0.2:
        return '? failures'
    if r.random() < 0.15:
        return f'success {r.randint(1, 12)}'
    cid = r.choice(['-'] + [str(r.randint(1, 12))] * 5)
    return f'failed {cid} {r.choice(ABORTS)}{r.choice(["", "", " savepoint", " sync"])}{r.choice(["", "", " task=v.3#2"])}'


def plan_head(r):
    names, out = 'abcde'[:r.randint(1, 5)], []
    for n in names:
        out.append(f'vertex {n} {r.choice([1, 2, 3, 4, 7, 16])}')
    for i, n in enumerate(names):
        for u in names[:i]:
            if r.random() < 0.5:
                out.append(f'edge {u} {n} {r.choice(["all", "point", "point"])}' + (' blocking' if r.random() < 0.03 else ''))
    return out + (['finished-tasks off'] if r.random() < 0.1 else [])


def plan_step(r, m):
    if r.random() < 0.5:
        return '? plan'
    v = r.choice(m.graph.vertices)
    n, state = m.graph.par[v], r.choice(STATES)
    a = r.randrange(n)
    b = r.randrange(a, n)
    return f'state {r.choice([f"{v}.*", f"{v}.{a}", f"{v}.{a}-{b}", f"{v}.{a}"])} {state}'


def remap_head(r):
    names, out = 'abcd'[:r.randint(2, 4)], []
    for n in names:
        old = r.randint(1, 7)
        out.append(f'vertex {n} old={old} new={r.choice([old, old, r.randint(1, 7)])}')
    edges = [(u, n) for i, n in enumerate(names) for u in names[:i] if r.random() < 0.7] or [('a', 'b')]
    for u, n in edges:
        out.append(f'edge {u} {n} up={r.choice(MAPPERS)} down={r.choice(MAPPERS)}')
        out += [f'state {d} {u} {n}' for d in ('in', 'out') if r.random() < 0.6]
    return out


def remap_step(r, m):
    how = r.random()
    if how < 0.15:
        return f'? map {r.choice(MAPPERS)} {r.randint(1, 40)} {r.randint(1, 40)}'
    e = r.choice(m.edges)
    if how < 0.5:
        return f'? {r.choice(["input", "output"])} {e[0]} {e[1]}'
    v = r.choice([e[0], e[1]])
    return f'? {r.choice(["in-desc", "out-desc"])} {v}.{r.randrange(m.par[v][1])}'


HEAD = {'decider': decider_head, 'failures': failures_head, 'plan': plan_head, 'remap': remap_head}
STEP = {'decider': decider_step, 'failures': failures_step, 'plan': plan_step, 'remap': remap_step}

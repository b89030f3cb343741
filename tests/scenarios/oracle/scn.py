"""Barrier scenario files: reading them, and running their steps through the oracle's task."""

import re

from gate import Item
from output import Producer
from task import Options, Task

STEPS = {'push', 'hold', 'release', 'poll', 'drain', 'advance', 'skip', 'fire', 'stamp', 'notice', 'rpc', 'close'}
OUT_STEPS = {'push', 'take', 'resume', 'timeout', 'abort-output', 'close'}
STATES = {'blocked', 'pending', 'latest', 'open', 'remembered', 'keep', 'aligning', 'align', 'queue'}
ITEM = re.compile(r'(?:d(?::(?P<label>[^@*/#]+))?|(?P<kind>b|sp|tb|ub|x|a)(?P<id>\d+)|(?P<end>eop|eos))@(?P<ch>\d+|\*)'
                  r'(?:\*(?P<n>\d+))?(?:/(?P<size>\d+))?(?:#(?P<seq>\d+))?$')


class Scenario:
    def __init__(self, name):
        self.name, self.opt, self.body = name, Options(), []


def words(line):
    return re.sub(r'(^|\s)#.*', '', line).split()


def header(opt, w):
    if w[0] == 'mode':
        opt.mode = w[1]
    elif w[0] == 'channels':
        opt.channels = int(w[1])
    elif w[0] == 'remote':
        opt.remote = {'all': set(range(opt.channels)), 'none': set()}.get(w[1]) if w[1] in ('all', 'none') else \
            {int(x) for x in w[1:]}
    elif w[0] == 'forced':
        opt.forced = {int(x) for x in w[1:]}
    elif w[0] == 'option':
        key, value = w[1], w[2]
        if key == 'finished-tasks':
            opt.finished = value == 'on'
        elif key == 'timeout':
            opt.timeout = None if value == 'none' else int(value)
        elif key == 'size':
            opt.size = int(value)
        elif key == 'remember':
            opt.remember = int(value)
        elif key == 'output-timer':
            opt.output_timer = value == 'on'
    elif w[0] != 'theme':
        return False
    return True


def read(path):
    scenarios = []
    with open(path, encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            w = words(line)
            if not w:
                continue
            if w[0] == 'scenario':
                scenarios.append(Scenario(w[1]))
            elif scenarios[-1].body or not header(scenarios[-1].opt, w):
                scenarios[-1].body.append((number, w))
    return scenarios


def items(text, opt):
    m = ITEM.match(text)
    if m is None:
        raise ValueError(text)
    chs = range(opt.channels) if m['ch'] == '*' else [int(m['ch'])]
    for ch in chs:
        for _ in range(int(m['n'] or 1)):
            kind = m['end'] or m['kind'] or 'd'
            size = int(m['size']) if m['size'] else opt.size
            yield (Item(kind, ch, int(m['id']) if m['id'] else None, m['label'], size),
                   int(m['seq']) if m['seq'] else None)


def step(task, w):
    """Carry out one step; what poll says that is wrong, or None."""
    opt, wrong = task.opt, None
    if opt.mode == 'output':
        return task.step(w, items)
    if w[0] == 'push':
        for text in w[1:]:
            for item, seq in items(text, opt):
                task.push(item, seq)
    elif w[0] == 'hold':
        task.held = True
    elif w[0] == 'release':
        task.held = False
        task.drain()
    elif w[0] == 'drain':
        task.drain()
    elif w[0] == 'poll':
        wrong = poll(task, w[1:])
    elif w[0] in ('advance', 'skip'):
        task.clock += int(w[1])
        if w[0] == 'advance':
            task.run_timers()
    elif w[0] == 'fire':
        task.run_timers()
    elif w[0] == 'stamp':
        task.stamps[int(w[1])] = int(w[2])
    elif w[0] == 'notice':
        ends = w[1].split('..')
        for cid in range(int(ends[0]), int(ends[-1]) + 1):
            task.notice(cid)
    elif w[0] == 'rpc':
        m = re.match(r'(b|sp|tb|ub)(\d+)$', w[1])
        task.rpc(m[1], int(m[2]))
    elif w[0] == 'close':
        task.close()
    return wrong


def poll(task, what):
    if what == ['none']:
        item = None if task.closed else task.gate.choose()
        return None if item is None else f'{item.name()} can be handed out'
    if not what or what[0].isdigit():
        for _ in range(int(what[0]) if what else 1):
            if task.poll() is None:
                return 'nothing can be handed out'
        return None
    for text in what:
        item = task.poll()
        if item is None or (item.name() != text and not (item.kind == 'd' and text == f'd@{item.ch}')):
            return f'{text}: {item.name() if item else "nothing"}'
    return None


def state(task, w):
    """The line that is true now for a state line."""
    if task.opt.mode == 'output':
        return task.state(w)
    h = task.handler
    if w[0] == 'blocked':
        return 'blocked {' + ' '.join(str(c.idx) for c in task.gate.channels if c.is_closed()) + '}'
    if w[0] == 'pending':
        return 'pending ' + (' '.join(str(i) for i in h.pending_ids()) or 'none')
    if w[0] == 'latest':
        return f'latest {h.latest()}'
    if w[0] == 'open':
        return f'open {task.open_cnt()}'
    if w[0] == 'remembered':
        return f'remembered {len(task.notices)}'
    if w[0] == 'aligning':
        return 'aligning ' + ('yes' if h.aligning() else 'no')
    if w[0] == 'keep':
        kept = task.kept.get(int(w[1]), {})
        return f'keep {w[1]} {{' + ' '.join(f'{c}:[{" ".join(kept[c])}]' for c in sorted(kept)) + '}'
    values = dict(zip(('ms', 'bytes', 'delay'), task.metrics.get(int(w[1]), ('none',) * 3)))
    named = [x.split('=')[0] for x in w[2:]] or list(values)
    return ' '.join([f'align {w[1]}'] + [f'{k}={"?" if values[k] is None else values[k]}' for k in named])


def events(task, start):
    """The log from start on, deliveries grouped."""
    lines = []
    for e in task.log[start:]:
        if isinstance(e, str):
            lines.append(e)
        elif lines and isinstance(lines[-1], list):
            lines[-1].append(e[1])
        else:
            lines.append([e[1]])
    return [x if isinstance(x, str) else f'deliver [{" ".join(x)}]' for x in lines]


def fresh(opt):
    return Producer(opt) if opt.mode == 'output' else Task(opt)


def steps(opt):
    return OUT_STEPS if opt.mode == 'output' else STEPS

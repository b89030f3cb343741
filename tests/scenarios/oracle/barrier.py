#!/usr/bin/env python3
"""barrier.py check FILE...            the oracle against files with expectations
barrier.py random FIRST COUNT [FILE]  scenarios of the seeds FIRST.., with the oracle's expectations"""

import sys

import draw
import draw_output
import program
import scn


def check_one(path, s):
    task = scn.fresh(s.opt)
    shows_data = any(w[0] == 'deliver' for _, w in s.body)
    wanted, seen, bad = [], 0, []

    def settle(number):
        nonlocal seen, wanted
        got = scn.events(task, seen)
        want = [x for x in wanted if x != 'deliver []']
        if not shows_data:
            got = [x for x in got if not x.startswith('deliver')]
        # Groups of deliveries are the writer's choice.
        if flat(got) != flat(want):
            bad.append(f'{path}:{number}: [{s.name}] expected {want}, got {got}')
        seen, wanted = len(task.log), []

    number = 0
    for number, w in s.body:
        line = ' '.join(w).replace(',', ' ')
        if w[0] in scn.steps(s.opt):
            settle(number)
            wrong = scn.step(task, w)
            if wrong:
                bad.append(f'{path}:{number}: [{s.name}] {wrong}')
        elif w[0] in scn.STATES and not (w[0] == 'keep' and len(w) < 3):
            got = scn.state(task, w)
            if ' '.join(got.split()) != ' '.join(line.replace('{ ', '{').replace(' }', '}').split()):
                bad.append(f'{path}:{number}: [{s.name}] expected {line}, got {got}')
        else:
            wanted.append(line)
    settle(number)
    return bad


def flat(lines):
    out = []
    for x in lines:
        if x.startswith('deliver ['):
            out += ['deliver ' + label for label in x[len('deliver ['):-1].split()]
        else:
            out.append(x)
    return out


def draw_one(seed):
    return (draw_output if seed % 10 == 0 else draw).scenario(seed)


if __name__ == '__main__':
    sys.exit(program.main(sys.argv, __doc__, scn.read, check_one, draw_one))

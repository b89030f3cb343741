#!/usr/bin/env python3
"""coordinator.py check FILE...            the oracle against files with expectations
coordinator.py random FIRST COUNT [FILE]  scenarios of the seeds FIRST.., with the oracle's expectations"""

import sys

import cdraw
import cdraw_small
import cscn
import csmall
import program


class Scenario:
    def __init__(self, title):
        self.title, self.head, self.body, self.begun = title, [], [], False


def read(path):
    """Header and body are lists of (line number, words)."""
    scenarios = []
    with open(path, encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            w = cscn.words(line)
            if not w:
                continue
            if w[0] == 'scenario':
                scenarios.append(Scenario(w))
            elif w == ['begin']:
                scenarios[-1].begun = True
            else:
                (scenarios[-1].body if scenarios[-1].begun else scenarios[-1].head).append((number, w))
    return scenarios


def model_of(s):
    """The model, and how it steps and answers."""
    head = [w for _, w in s.head]
    kind = csmall.KINDS.get(s.title[2])
    if kind:
        model = kind(head)
        return model.step, model.query
    model = cscn.make(head)
    return (lambda w: cscn.step(model, w)), (lambda w: cscn.query(model, w))


def check_one(path, s):
    bad, name = [], s.title[1]
    step, query = model_of(s)
    number, got, want = 0, [], []

    def settle():
        if got != want:
            bad.append(f'{path}:{number}: [{name}] expected {want}, got {got}')

    for n, w in s.body:
        if w[0] == '>':
            want.append(' '.join(w[1:]))
        elif w[0] == '?':
            at = next(i for i, x in enumerate(w) if x.endswith(':'))
            expect, answer = ' '.join(w[at + 1:]), query(w[1:at] + [w[at][:-1]])
            if answer != expect:
                bad.append(f'{path}:{n}: [{name}] expected {expect}, got {answer}')
        else:
            settle()
            number, want = n, []
            got = step(w)
    settle()
    return bad


def draw_one(seed):
    return (cdraw_small if seed % 10 == 0 else cdraw).scenario(seed)


if __name__ == '__main__':
    sys.exit(program.main(sys.argv, __doc__, read, check_one, draw_one))

"""What the oracles of both kinds of scenarios are as programs: NAME.py check FILE...,
NAME.py random FIRST COUNT [FILE]."""

import sys


def check(paths, read, check_one):
    """check_one(path, scenario) gives what deviates; True if nothing does in any file."""
    passed = failed = 0
    for path in paths:
        for s in read(path):
            bad = check_one(path, s)
            print('\n'.join(bad), end='\n' if bad else '')
            passed, failed = passed + (not bad), failed + bool(bad)
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return failed == 0


def main(argv, usage, read, check_one, draw):
    """draw(seed) is the text of a scenario. The exit code."""
    if len(argv) >= 3 and argv[1] == 'check':
        return 0 if check(argv[2:], read, check_one) else 1
    if len(argv) in (4, 5) and argv[1] == 'random':
        out = open(argv[4], 'w', encoding='utf-8') if len(argv) == 5 else sys.stdout
        for seed in range(int(argv[2]), int(argv[2]) + int(argv[3])):
            out.write(draw(seed))
        return 0
    print(usage, file=sys.stderr)
    return 64

#!/usr/bin/env python3
"""malformed.py SCENARIO: files that are not in the notation get FILE:LINE and exit code 1, never a crash or a pass;
files with odd ends of lines and comments are as good as others."""

import os
import re
import subprocess
import sys
import tempfile

COORD = 'scenario x coordinator t\nvertex a 1\ncoord c a\nhook h\n'
BAD = [  # text, line of the first deviation
    ('', 1), ('# nothing\n\n', 2), ('scenario a t\n', 1), ('nonsense\n', 1), ('begin\n', 1), ('scenario\nbegin\n', 1),
    ('scenario x coordinator t\n', 1), ('scenario x other t\nbegin\n', 1),
    ('scenario x coordinator t\nvertex a 0\nbegin\n', 2), ('scenario x coordinator t\nvertex a 99999999\nbegin\n', 2),
    ('scenario x coordinator t\nvertex a 1\nvertex a 1\nbegin\n', 3),
    ('scenario x coordinator t\nvertex a 1\nvertex b 1\nedge b a all\nbegin\n', 4),
    ('scenario x coordinator t\ninterval 0\nbegin\n', 2), ('scenario x coordinator t\nretained 0\nbegin\n', 2),
    ('scenario x coordinator t\ntimeout 1e3\nbegin\n', 2), ('scenario x coordinator t\nunaligned on\nmax-concurrent 2\nbegin\n', 4),
    ('scenario x coordinator t\nmanual plan lunch\nbegin\n', 2), ('scenario x coordinator t\nmode twice\nbegin\n', 2),
    (COORD + 'begin\nack a.1 1\n', 6), (COORD + 'begin\nack b.0 1\n', 6), (COORD + 'begin\nack a.0 -1\n', 6),
    (COORD + 'begin\nack a.0 18446744073709551616\n', 6), (COORD + 'begin\n+\n', 6), (COORD + 'begin\n+99999999999999999999\n', 6),
    (COORD + 'begin\ntask a.0 ASLEEP\n', 6), (COORD + 'begin\ntask a.0 RUNNING now\n', 6), (COORD + 'begin\njob DONE\n', 6),
    (COORD + 'begin\nstorage 1 unknown\n', 6), (COORD + 'begin\nhook h 1 ok\n', 6), (COORD + 'begin\ndecline a.0 1 BORED\n', 6),
    (COORD + 'begin\nrestart a.0 b.7\n', 6), (COORD + 'begin\n? pending 1\n', 6), (COORD + 'begin\n? weather: fine\n', 6),
    (COORD + 'begin\n>illegal\n', 6), (COORD + 'begin\nplan ok\n', 6),
    ('scenario x decider t\nbegin\nset moon=1\n', 3), ('scenario x failures t\nbegin\nfailed 1\n', 3),
    ('scenario x remap t\nvertex a old=1 new=0\nbegin\n', 2),
    ('scenario x t\nmode sideways\n', 2), ('scenario x t\nmode aligned\nchannels many\n', 3),
    ('scenario x t\nmode aligned\npush b1@0 b2\n', 3), ('scenario x t\nmode aligned\npush b18446744073709551616@0\n', 3),
    ('scenario x t\nmode aligned\npush d@7\n', 3), ('scenario x t\nmode aligned\nhold\npush d@0*99999999\n', 4),
    ('scenario x t\nmode aligned\nnotice 1..18446744073709551615\n', 3), ('scenario x t\nmode aligned\npoll 4000000000\n', 3),
    ('scenario x t\nmode aligned\nadvance 9223372036854775807\n', 3), ('scenario x t\nmode aligned\njump 3\n', 3),
    ('scenario x t\nmode aligned\npush b1@0\n', 3), ('scenario x t\npush d@0\n', 2),
]
LONG = ' '.join(f'k{i}=f{i}' for i in range(3000))
GOOD = [
    'scenario x t\r\nmode aligned\r\npush b1@0\r\ntrigger 1 aligned\r\n',
    '  scenario x t\n\tmode aligned # one\n# two\npush b1@0 #three\n\n   trigger   1  aligned',
    COORD.replace('\n', '\r\n') + 'begin\r\ncheckpoint r1\r\n> trigger 1 checkpoint aligned ts=0 a.0',
    COORD + 'begin # and so on\n checkpoint  r1\n>   trigger 1 checkpoint  aligned ts=0 a.0 # yes\n?  pending:  1(a.0)\n# end',
    COORD + 'begin\ncheckpoint r1\n> trigger 1 checkpoint aligned ts=0 a.0\nack a.0 1 ' + LONG +
    '\n> ack success\n> promise r1 ok 1\n> complete 1 ts=0 subsumed=- a.0\n> coord-complete c 1\n',
]


def run(program, text, path):
    with open(path, 'w', encoding='utf-8', newline='') as f:
        f.write(text)
    p = subprocess.run([program, path], capture_output=True, text=True, timeout=60, check=False)
    return p.returncode, p.stdout.splitlines(), p.stderr


def main(argv):
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'it.scn')
        for text, line in BAD:
            code, out, err = run(argv[1], text, path)
            ok = code == 1 and not err and out[-1] == '0 passed, 1 failed, 0 skipped'
            if not ok or not re.match(re.escape(f'{path}:{line}: [') + r'.*\] expected .*, got .+', out[0]):
                print(f'{text!r}: exit {code}, {out[:1]} {err}')
                wrong += 1
        for text in GOOD:
            code, out, err = run(argv[1], text, path)
            if (code, out, err) != (0, ['1 passed, 0 failed, 0 skipped'], ''):
                print(f'{text[:80]!r}: exit {code}, {out[:2]} {err}')
                wrong += 1
    print(f'{len(BAD) + len(GOOD) - wrong} passed, {wrong} failed')
    return wrong > 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))

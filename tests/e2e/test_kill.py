#!/usr/bin/env python3
"""A few rounds of kill_loop.py of each kind; CONTRIBUTING tells how to run many.

test_kill.py WEIR
"""

import e2e
import kill_loop

kill_loop.rounds(sorted(kill_loop.KINDS), ["worker", "both", "supervisor"], 9, 6)
e2e.conclude()

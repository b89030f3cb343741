#!/usr/bin/env python3
"""The last line of a test run, from meson's testlog.json: `N passed, N failed[, N skipped]`.

Exit status 1 if a test failed or none ran.
"""

import json
import sys

PASSED = ("OK", "EXPECTEDFAIL")
SKIPPED = ("SKIP", "IGNORED")


def main():
    passed = failed = skipped = 0
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            result = json.loads(line)["result"]
            if result in PASSED:
                passed += 1
            elif result in SKIPPED:
                skipped += 1
            else:
                failed += 1
    tail = f", {skipped} skipped" if skipped else ""
    print(f"{passed} passed, {failed} failed{tail}")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

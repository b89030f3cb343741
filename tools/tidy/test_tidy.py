#!/usr/bin/env python3
"""Breaks every rule once, in a small tree of its own, and sees tidy name it."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

import tidy  # noqa: E402


def header(guard, body):
    return f"#ifndef {guard}\n#define {guard}\n\n/* A contract. */\n{body}\n#endif\n"


GOOD = {
    "include/weir/type.h": header("WEIR_TYPE_H", "#include <stdint.h>\nstruct weir_t {\n\tuint32_t a;\n};"),
    "engine/base/base.h": header("WEIR_ENGINE_BASE_BASE_H", "#include <stdatomic.h>"),
    "engine/memory/pool.h": header("WEIR_ENGINE_MEMORY_POOL_H", '#include "engine/base/base.h"'),
    "engine/memory/pool.c": '#include "engine/memory/pool.h"\n\n#include <string.h>\n\n'
                            'static int\nwrite(int a)\n{\n\treturn a;\n}\n\n'
                            'int\ntwice(int a)\n{\n\t/* malloc(1) and exit(1) are only words here. */\n'
                            '\treturn write(a) + sizeof("sprintf(");\n}\n',
    "engine/base/queue.c": '#include "engine/base/base.h"\n\nint\nget(_Atomic int *v)\n{\n'
                           '\t/* Q1: pairs with Q2; the item is whole. */\n'
                           '\treturn atomic_load_explicit(v, memory_order_acquire);\n}\n\n'
                           'void\nput(_Atomic int *v)\n{\n\t/* Q2: pairs with Q1; publishes. */\n'
                           '\tatomic_store_explicit(v, 1, memory_order_release);\n}\n',
    "jobs/wordcount.c": "#include <weir/type.h>\n\nint x;\n",
}


def function(body):
    return "int\nf(int *a)\n{\n" + body + "}\n"


# (rule that must speak, file, its text)
BAD = [
    ("includes-point-up", "engine/base/a.c", '#include "engine/memory/pool.h"\n'),
    ("includes-point-up", "engine/memory/a.c", '#include "pool.h"\n'),
    ("includes-point-up", "engine/memory/a.c", '#include "app/main.h"\n'),
    ("includes-point-up", "engine/memory/a.c", '#include "elsewhere/main.h"\n'),
    ("includes-point-up", "engine/memory/pool.c",
     '#include "engine/base/base.h"\n#include "engine/memory/pool.h"\n'),
    ("includes-point-up", "jobs/a.c", '#include "engine/graph/plan.h"\n'),
    ("third-party-in-its-folder", "drivers/posix/a.c", "#include <liburing.h>\n"),
    ("third-party-in-its-folder", "app/a.c", "#include <rte_ring.h>\n"),
    ("engine-is-pure", "engine/base/a.c", "#include <unistd.h>\n"),
    ("engine-is-pure", "statebackend/a.c", "#include <pthread.h>\n"),
    ("engine-is-pure", "engine/base/a.c", function('\treturn printf("x");\n')),
    ("engine-is-pure", "engine/base/a.c", function("\treturn (int)__rdtsc();\n")),
    ("no-banned-calls", "app/a.c", function('\treturn sprintf(a, "x");\n')),
    ("no-banned-calls", "drivers/posix/a.c", function("\treturn alloca(4) != 0;\n")),
    ("only-app-exits", "drivers/posix/a.c", function("\texit(1);\n")),
    ("allocation-has-a-reason", "engine/base/a.c", function("\treturn malloc(1) != 0;\n")),
    ("file-size", "app/a.c", "int x;\n" * 1001),
    ("function-size", "app/a.c", function("\ta++;\n" * 69)),
    ("no-recursion", "engine/base/a.c", function("\treturn *a > 0 ? f(a) : 0;\n")),
    ("no-struct-typedef", "app/a.c", "typedef struct {\n\tint a;\n} x;\n"),
    ("memory-order-is-paired", "engine/base/a.c",
     function("\treturn atomic_load_explicit(a, memory_order_acquire);\n")),
    ("memory-order-is-paired", "engine/base/a.c",
     function("\t/* A1: pairs with A9; nobody. */\n"
              "\treturn atomic_load_explicit(a, memory_order_acquire);\n")),
    ("memory-order-is-paired", "engine/base/a.c",
     function("\t/* A1: pairs with Q1; x. */\n\tatomic_load_explicit(a, memory_order_acquire);\n"
              "\tatomic_load_explicit(a, memory_order_acquire);\n")),
    ("memory-order-is-paired", "engine/base/a.c",
     function("\tatomic_thread_fence(memory_order_relaxed);\n")),
    ("memory-order-is-paired", "engine/base/a.c", "volatile int x;\n"),
    ("header-guard-and-contract", "app/a.h", "/* x */\n#ifndef A_H\n#define A_H\n#endif\n"),
    ("header-guard-and-contract", "app/a.h", "#ifndef WEIR_APP_A_H\n#define WEIR_APP_A_H\n#endif\n"),
    ("no-circles", "engine/base/base.h",
     header("WEIR_ENGINE_BASE_BASE_H", '#include "engine/memory/pool.h"')),
    ("exceptions-are-needed", "tools/tidy/rules.py", ""),
    ("header-compiles-alone", "app/a.h", header("WEIR_APP_A_H", "size_t x;")),
    ("header-compiles-alone", "include/weir/b.h",
     header("WEIR_B_H", "static inline int *f(void *p) { return p; }")),
]


def run(files):
    """Exit status and output of tidy on a tree of these files."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        build = os.path.join(root, "build")
        os.mkdir(build)
        with open(os.path.join(build, "compile_commands.json"), "w", encoding="utf-8") as file:
            json.dump([{"directory": build, "command": "cc -I.. -I../include -c x.c"}], file)
        done = subprocess.run([sys.executable, os.path.join(HERE, "tidy.py"), "--root", root,
                               "--build", build], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def main():
    passed = failed = 0
    status, out = run(GOOD)
    if status != 0 or not out.strip().endswith(" 0 failed"):
        print(f"the clean tree is not clean:\n{out}")
        failed += 1
    else:
        passed += 1
    for rule in {rule.__name__[5:].replace("_", "-") for rule in tidy.RULES} - {bad[0] for bad in BAD}:
        print(f"nothing here breaks {rule}")
        failed += 1
    for rule, path, text in BAD:
        status, out = run({**GOOD, path: text})
        if status == 1 and f"{rule}: " in out:
            passed += 1
        else:
            print(f"{rule} says nothing of {path}:\n{text[:200]}\n{out}")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
